package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"meridian/clock"
)

// ReadTruth reads what [Truth.Write] writes:
//
//	{"seed":1,
//	"hosts":[
//	{"name":"host0","clock":
//	[[HOST,TRUE],[HOST,TRUE],...]},
//	{"name":"host1","steps":[{"at_ns":TRUE,"before_ns":HOST,"by_ns":NS}],"clock":
//	[...]}],
//	"links":[
//	{"from":"host0","to":"host1","min_delay_ns":NS,"routes":[{"at_ns":TRUE,"min_delay_ns":NS}]},
//	...]}
//
// Whatever else the objects hold is passed over, so that a truth made otherwise than by a simulation may say more. The
// error says where: the byte, the host or the link. What it returns without one has hosts whose curves pass
// [clock.Curve.Check], and links between them.
func ReadTruth(r io.Reader) (*Truth, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("truth: %w", err)
	}
	var file struct {
		Seed  uint64
		Hosts []struct {
			Name  string
			Steps []TrueStep
			Clock [][]clock.HostTime
		}
		Links []TrueLink
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("truth: %w", locate(err))
	}
	t := &Truth{Seed: file.Seed, Links: file.Links}
	foreign := len(file.Hosts) > 0 // no host has a clock
	for i, h := range file.Hosts {
		foreign = foreign && h.Clock == nil
		host := TrueHost{Name: h.Name, Steps: h.Steps, Clock: make(clock.Curve, len(h.Clock))}
		for k, knot := range h.Clock {
			if len(knot) != 2 {
				return nil, fmt.Errorf("truth: host %d, %q: knot %d has %d numbers, want 2", i+1, h.Name, k, len(knot))
			}
			host.Clock[k] = clock.Knot{X: knot[0], Y: clock.TimelineTime(knot[1])}
		}
		t.Hosts = append(t.Hosts, host)
	}
	if foreign {
		return nil, errors.New("not a truth file (meridian simulate writes truth.json)")
	}
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("truth: %w", err)
	}
	return t, nil
}

// locate adds to an error of JSON the byte at which it was found.
func locate(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("at byte %d: %w", syntax.Offset, err)
	case errors.As(err, &kind):
		return fmt.Errorf("at byte %d: %w", kind.Offset, err)
	}
	return err
}

// check returns the first thing in which t is not a valid truth.
func (t *Truth) check() error {
	if len(t.Hosts) == 0 {
		return errors.New("no hosts")
	}
	known := make(map[string]bool)
	for i := range t.Hosts {
		h := &t.Hosts[i]
		fail := func(err error) error { return fmt.Errorf("host %d, %q: %w", i+1, h.Name, err) }
		switch {
		case h.Name == "":
			return fail(errors.New("no name"))
		case known[h.Name]:
			return fail(errors.New("duplicate host name"))
		}
		known[h.Name] = true
		if err := h.Clock.Check(); err != nil {
			return fail(err)
		}
		for _, k := range h.Clock {
			if !shown(clock.TimelineTime(k.X)) || !shown(k.Y) {
				return fail(fmt.Errorf("knot at %d, %d is out of range", k.X, k.Y))
			}
		}
		for j, s := range h.Steps {
			if !shown(s.At) || !shown(clock.TimelineTime(s.Before)) || !shown(clock.TimelineTime(s.By)) {
				return fail(fmt.Errorf("step of %d ns at %d is out of range", s.By, s.At))
			}
			if j > 0 && s.At <= h.Steps[j-1].At {
				return fail(fmt.Errorf("the step at %d is not later than the one at %d", s.At, h.Steps[j-1].At))
			}
		}
	}
	joined := make(map[[2]string]bool)
	for i, l := range t.Links {
		fail := func(what string) error {
			return fmt.Errorf("link %d, from %q to %q: %s", i+1, l.From, l.To, what)
		}
		key := [2]string{l.From, l.To}
		switch {
		case !known[l.From] || !known[l.To]:
			return fail("unknown host")
		case l.From == l.To:
			return fail("from a host to itself")
		case joined[key]:
			return fail("duplicate link")
		case l.MinDelayNs < 0 || !shown(clock.TimelineTime(l.MinDelayNs)):
			return fail(fmt.Sprintf("invalid delay %d ns", l.MinDelayNs))
		}
		joined[key] = true
		for j, r := range l.Routes {
			if r.MinDelayNs < 0 || !shown(clock.TimelineTime(r.MinDelayNs)) || !shown(r.At) {
				return fail(fmt.Sprintf("invalid delay %d ns from %d on", r.MinDelayNs, r.At))
			}
			if j > 0 && r.At < l.Routes[j-1].At {
				return fail(fmt.Sprintf("the route at %d is earlier than the one at %d", r.At, l.Routes[j-1].At))
			}
		}
	}
	return nil
}

// shown reports whether an instant is within the range of clocks, [clock.Limit].
func shown(t clock.TimelineTime) bool { return t >= -clock.Limit && t <= clock.Limit }
