package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"meridian/internal/collect/wire"
)

// aroundEvery is how often servers are asked how far hosts are.
const aroundEvery = 300 * time.Millisecond

// instant reads a time: RFC 3339, a time of today, or how long ago.
func instant(text string, now time.Time) (time.Time, error) {
	if strings.HasPrefix(text, "-") {
		if d, err := time.ParseDuration(text); err == nil {
			return now.Add(d), nil
		}
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation("15:04:05", text, now.Location()); err == nil { // a fraction is read as well
		return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), now.Location()), nil
	}
	return now, wrong("--around %q: write a time such as 2026-01-02T15:04:05Z or 15:04:05, or how long ago, such as -30s", text)
}

// runAround has hosts send what they recorded around an instant, and fetches it.
func (f *fetchFlags) runAround(cmd *cobra.Command, name string) error {
	at, err := instant(f.around, time.Now())
	if err != nil {
		return err
	}
	if f.span <= 0 || f.span > wire.MaxSpan {
		return wrong("--span %v: want a time up to %v", f.span, wire.MaxSpan)
	}
	if f.within <= 0 {
		return wrong("--within %v: want a time above 0", f.within)
	}
	for _, h := range f.hosts {
		if err := wire.CheckHost(h); err != nil {
			return wrong("--hosts: %v", err)
		}
	}
	name = cmp.Or(name, "around-"+at.UTC().Format("2006-01-02T15-04-05.000000"))
	c, err := connectAsOperator(f.server, f.key, f.log(cmd))
	if err != nil {
		return err
	}
	defer c.Close()
	from := at.Add(-f.span / 2)
	request := wire.Control{Session: name, Hosts: f.hosts, FromNs: from.UnixNano(), ToNs: from.Add(f.span).UnixNano()}
	hosts, err := f.await(cmd, c, request)
	if err != nil {
		return err
	}
	var lacking []string
	f.hosts = nil
	for _, h := range hosts {
		if h.State == wire.StateEnded {
			f.hosts = append(f.hosts, h.Host)
		}
		if h.State != wire.StateEnded || h.Error != "" {
			lacking = append(lacking, fmt.Sprintf("%s is %s: %s", h.Host, h.State, cmp.Or(h.Error, "it has not sent all of it within "+f.within.String())))
		}
	}
	switch {
	case len(hosts) == 0:
		return fmt.Errorf("no host sends on demand: start agents with --on-demand")
	case len(f.hosts) == 0:
		return fmt.Errorf("session %s: %s", name, strings.Map(printable, strings.Join(lacking, "; ")))
	}
	if err := f.fetch(cmd, c, name); err != nil {
		return err
	}
	if len(lacking) > 0 {
		return &brokenPromise{strings.Map(printable, fmt.Sprintf("session %s: %s", name, strings.Join(lacking, "; ")))}
	}
	return nil
}

// await asks until all hosts have sent what they have, or the time is over. A host that has come to an end is not asked again.
func (f *fetchFlags) await(cmd *cobra.Command, c *nats.Conn, request wire.Control) (hosts []wire.HostState, err error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), f.within)
	defer cancel()
	f.log(cmd)("session %s: from %s to %s", request.Session, time.Unix(0, request.FromNs).UTC().Format(time.RFC3339Nano), time.Unix(0, request.ToNs).UTC().Format(time.RFC3339Nano))
	var pending []wire.HostState
	for first := true; first || len(pending) > 0; first = false {
		out, err := askControl(ctx, c, c.ConnectedUrlRedacted(), wire.ControlAround, request)
		switch {
		case cmd.Context().Err() != nil:
			return nil, cmd.Context().Err()
		case ctx.Err() != nil && !first:
			return append(hosts, pending...), nil
		case err != nil:
			return nil, err
		}
		pending, request.Hosts = nil, nil
		for _, h := range out.Hosts {
			if h.State == wire.StateSending || h.State == wire.StateBusy {
				pending, request.Hosts = append(pending, h), append(request.Hosts, h.Host)
			} else {
				hosts = append(hosts, h)
			}
		}
		if len(pending) > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(aroundEvery):
			}
		}
	}
	slices.SortFunc(hosts, func(a, b wire.HostState) int { return strings.Compare(a.Host, b.Host) })
	return hosts, nil
}
