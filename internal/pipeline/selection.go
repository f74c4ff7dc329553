package pipeline

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"meridian/clock"
	"meridian/internal/filter"
	"meridian/internal/pipeline/usage"
)

// Selection says which events, and which packets, are written.
type Selection struct {
	filter.Options
	// FromTime and ToTime crop the timeline: an RFC 3339 time, +DURATION from its first event, -DURATION before its last, or @SECONDS
	// since 1970, as journalctl and date have it; "" for no limit. A number alone is refused: it could be any of these.
	FromTime, ToTime string
}

// ofEvents reports whether events are chosen by what they are, not only by host and time.
func (s *Selection) ofEvents() bool {
	return len(s.Streams) > 0 || len(s.Events) > 0 || len(s.Where) > 0
}

// check refuses what cannot be read, before any work is done.
func (s *Selection) check() error {
	for _, text := range []string{s.FromTime, s.ToTime} {
		if _, err := parseInstant(text, 0, 0); err != nil {
			return err
		}
	}
	if err := s.Options.Check(); err != nil {
		return &usage.Error{Reason: err.Error()}
	}
	return nil
}

// misses returns what of the selection fits no host, or no instant of the timeline from first to last.
func (s *Selection) misses(a *Aligned, resolved *filter.Options, first, last clock.TimelineTime) (misses []filter.Miss) {
	extent := fmt.Sprintf("the timeline reaches from %s to %s", instantText(first), instantText(last))
	if resolved.From.Timed && resolved.From.Time > last {
		misses = append(misses, filter.Miss{Asked: "--from " + s.FromTime, Why: "is later than all events; " + extent, Absent: true})
	}
	if resolved.To.Timed && resolved.To.Time < first {
		misses = append(misses, filter.Miss{Asked: "--to " + s.ToTime, Why: "is earlier than all events; " + extent, Absent: true})
	}
	var hosts []string
	for i := range a.Clocks {
		hosts = append(hosts, a.Clocks[i].Host)
	}
	return append(misses, filter.MissedHosts(s.Hosts, hosts)...)
}

// instantText writes an instant as --from takes it: a date in UTC, or seconds where stamps count from another origin than 1970.
func instantText(t clock.TimelineTime) string {
	const year2000 = 946_684_800e9
	if t >= year2000 {
		return time.Unix(0, int64(t)).UTC().Format(time.RFC3339Nano)
	}
	return "@" + seconds(int64(t))
}

// resolve returns the options of the filter for a timeline from first to last.
func (s *Selection) resolve(first, last clock.TimelineTime) (filter.Options, error) {
	o := s.Options
	for _, edge := range []struct {
		text string
		to   *filter.Edge
	}{{s.FromTime, &o.From}, {s.ToTime, &o.To}} {
		if edge.text == "" {
			continue
		}
		t, err := parseInstant(edge.text, first, last)
		if err != nil {
			return o, err
		}
		edge.to.Time, edge.to.Timed = t, true
	}
	if o.From.Timed && o.To.Timed && o.To.Time < o.From.Time {
		return o, usage.Errorf("--from %s is later than --to %s", s.FromTime, s.ToTime)
	}
	return o, nil
}

// ParseInstant reads an instant of a timeline that reaches from first to last: +DURATION from first, -DURATION before last, RFC 3339,
// or @SECONDS since 1970. An error is one of usage.
func ParseInstant(s string, first, last clock.TimelineTime) (clock.TimelineTime, error) {
	if s == "" {
		return 0, usage.Errorf("an instant is missing")
	}
	return parseInstant(s, first, last)
}

// parseInstant reads an instant of a timeline that reaches from first to last.
func parseInstant(s string, first, last clock.TimelineTime) (clock.TimelineTime, error) {
	invalid := func() (clock.TimelineTime, error) {
		return 0, usage.Errorf("invalid instant %q; want +DURATION from the first event such as +1.5s, -DURATION before the last, 2026-01-02T15:04:05.5Z, or @SECONDS since 1970", s)
	}
	if s == "" {
		return 0, nil
	}
	if s[0] == '+' || s[0] == '-' {
		d, err := time.ParseDuration(s[1:])
		if err != nil || d < 0 {
			return invalid()
		}
		if s[0] == '+' {
			return clock.Add(first, int64(d)), nil
		}
		return clock.Add(last, -int64(d)), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		if t.Year() < 1900 || t.Year() > 2200 {
			return invalid()
		}
		return clock.TimelineTime(t.UnixNano()), nil
	}
	number, since1970 := strings.CutPrefix(s, "@")
	if _, err := strconv.ParseFloat(s, 64); err == nil && s[0] >= '0' && s[0] <= '9' {
		return 0, usage.Errorf("invalid instant %q: a number alone may be seconds from the first event (+%ss) or since 1970 (@%s); write which", s, s, s)
	}
	if !since1970 {
		return invalid()
	}
	whole, part, _ := strings.Cut(number, ".")
	seconds, err := strconv.ParseUint(whole, 10, 33)
	if err != nil || len(part) > 9 {
		return invalid()
	}
	ns := uint64(0)
	if part != "" {
		if ns, err = strconv.ParseUint(part+"000000000"[len(part):], 10, 32); err != nil {
			return invalid()
		}
	}
	return clock.TimelineTime(int64(seconds)*1e9 + int64(ns)), nil
}
