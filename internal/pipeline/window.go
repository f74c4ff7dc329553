package pipeline

import (
	"strconv"
	"strings"
	"time"

	"meridian/clock"
	"meridian/internal/filter"
)

// Wanted says what of the events is written.
type Wanted struct {
	filter.Options
	// FromTime and ToTime crop the timeline: an RFC 3339 time, decimal seconds since 1970, +DURATION from its first event
	// or -DURATION before its last; "" for no edge.
	FromTime, ToTime string
}

// events reports whether events are chosen by what they are.
func (w *Wanted) events() bool { return len(w.Streams) > 0 || len(w.Events) > 0 || len(w.Where) > 0 }

// check refuses what cannot be read, before any work is done.
func (w *Wanted) check() error {
	for _, s := range []string{w.FromTime, w.ToTime} {
		if _, err := instant(s, 0, 0); err != nil {
			return err
		}
	}
	if err := w.Options.Check(); err != nil {
		return &UsageError{err.Error()}
	}
	return nil
}

// wanted returns the filter's options with its times resolved.
func (r *run) wanted() (filter.Options, error) {
	o := r.Filter.Options
	first, last := r.extent()
	for _, edge := range []struct {
		text string
		to   *filter.Edge
	}{{r.Filter.FromTime, &o.From}, {r.Filter.ToTime, &o.To}} {
		if edge.text == "" {
			continue
		}
		t, err := instant(edge.text, first, last)
		if err != nil {
			return o, err
		}
		edge.to.Time, edge.to.Timed = t, true
	}
	if o.From.Timed && o.To.Timed && o.To.Time < o.From.Time {
		return o, usage("--from %s is later than --to %s", r.Filter.FromTime, r.Filter.ToTime)
	}
	return o, nil
}

// instant reads an instant of a timeline that reaches from first to last.
func instant(s string, first, last int64) (int64, error) {
	wrong := func() (int64, error) {
		return 0, usage("%q is no instant; want 2026-01-02T15:04:05.5Z, seconds since 1970, +DURATION from the first event such as +1.5s, or -DURATION before the last", s)
	}
	if s == "" {
		return 0, nil
	}
	if s[0] == '+' || s[0] == '-' {
		d, err := time.ParseDuration(s[1:])
		if err != nil || d < 0 {
			return wrong()
		}
		if s[0] == '+' {
			return clock.Add(first, int64(d)), nil
		}
		return clock.Sub(last, int64(d)), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		if t.Year() < 1900 || t.Year() > 2200 {
			return wrong()
		}
		return t.UnixNano(), nil
	}
	whole, part, _ := strings.Cut(s, ".")
	seconds, err := strconv.ParseUint(whole, 10, 33)
	if err != nil || len(part) > 9 {
		return wrong()
	}
	ns := uint64(0)
	if part != "" {
		if ns, err = strconv.ParseUint(part+"000000000"[len(part):], 10, 32); err != nil {
			return wrong()
		}
	}
	return int64(seconds)*1e9 + int64(ns), nil
}
