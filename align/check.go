package align

import (
	"errors"
	"fmt"

	"meridian/clock"
	"meridian/trace"
)

// checked returns a problem whose fields are valid, or what is wrong with it. Clocks whose extent was left zero get that of
// their messages; the given problem is not changed.
func checked(p *trace.Problem) (*trace.Problem, error) {
	if p == nil {
		return nil, errors.New("the problem is nil")
	}
	c := checker{Problem: p, extents: make([]extent, len(p.Clocks))}
	for _, check := range []func() error{c.clocks, c.channels, c.broadcasts, c.samples} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return c.complete(), nil
}

// checker checks a problem. Its methods are to be called in the order in which they stand here, since later ones rely on
// what earlier ones checked.
type checker struct {
	*trace.Problem
	extents []extent // of each clock: the stamps of its messages
}

type extent struct {
	first, last clock.HostTime
	events      int64
}

func (x *extent) add(stamp clock.HostTime) {
	if x.events == 0 {
		x.first, x.last = stamp, stamp
	}
	x.first, x.last = min(x.first, stamp), max(x.last, stamp)
	x.events++
}

// maxGranularity is the coarsest step of stamps that a clock may have, ns: an hour.
const maxGranularity = 3_600_000_000_000

func (c *checker) clocks() error {
	known := make(map[string]int)
	for i := range c.Clocks {
		k := &c.Clocks[i]
		other, twice := known[k.Name]
		known[k.Name] = i
		switch {
		case k.Name == "":
			return fmt.Errorf("clock %d has no name", i)
		case twice:
			return fmt.Errorf("clocks %d and %d are both named %q", other, i, k.Name)
		case k.Granularity < 0 || k.Granularity > maxGranularity:
			return fmt.Errorf("clock %q: granularity of %d ns is out of range: 0 to 1 h", k.Name, k.Granularity)
		case k.Events < 0:
			return fmt.Errorf("clock %q: number of events %d is negative", k.Name, k.Events)
		case !clock.Valid(k.First) || !clock.Valid(k.Last):
			return fmt.Errorf("clock %q: extent [%d, %d] ns is not within ±2^62 ns", k.Name, k.First, k.Last)
		case k.First > k.Last:
			return fmt.Errorf("clock %q: its first stamp, %d ns, is after its last, %d ns", k.Name, k.First, k.Last)
		}
		if err := checkFree(k); err != nil {
			return err
		}
	}
	return nil
}

// clock checks an index of a clock.
func (c *checker) clock(i int) error {
	if i < 0 || i >= len(c.Clocks) {
		return fmt.Errorf("clock %d is not one of the %d clocks", i, len(c.Clocks))
	}
	return nil
}

func (c *checker) channels() error {
	for i := range c.Channels {
		x := &c.Channels[i]
		for _, end := range []int{x.From, x.To} {
			if err := c.clock(end); err != nil {
				return fmt.Errorf("channel %d from clock %d to clock %d: %w", i, x.From, x.To, err)
			}
		}
		from, to := &c.extents[x.From], &c.extents[x.To]
		for k, m := range x.Messages {
			if !clock.Valid(m.Sent) || !clock.Valid(m.Received) {
				return fmt.Errorf("channel %d from %q to %q: message %d, sent at %d ns and received at %d ns, is not within ±2^62 ns",
					i, c.Clocks[x.From].Name, c.Clocks[x.To].Name, k, m.Sent, m.Received)
			}
			from.add(m.Sent)
			to.add(m.Received)
		}
	}
	return nil
}

func (c *checker) broadcasts() error {
	for i := range c.Broadcasts {
		for k, x := range c.Broadcasts[i].Receptions {
			if err := c.clock(x.Clock); err != nil {
				return fmt.Errorf("broadcast %d, reception %d: %w", i, k, err)
			}
			if !clock.Valid(x.Time) {
				return fmt.Errorf("broadcast %d, reception %d by %q: %d ns is not within ±2^62 ns", i, k, c.Clocks[x.Clock].Name, x.Time)
			}
		}
	}
	return nil
}

func (c *checker) samples() error {
	for i, x := range c.Samples {
		for _, k := range []int{x.Clock, x.Against} {
			if err := c.clock(k); err != nil {
				return fmt.Errorf("sample %d: %w", i, err)
			}
		}
		switch name := c.Clocks[x.Clock].Name; {
		case x.Clock == x.Against:
			return fmt.Errorf("sample %d: clock %q is sampled against itself", i, name)
		case !clock.Valid(x.Host) || !clock.Valid(x.Reference):
			return fmt.Errorf("sample %d of clock %q: host %d ns, reference %d ns are not within ±2^62 ns", i, name, x.Host, x.Reference)
		case x.Error < 0 || x.Error > clock.Limit:
			return fmt.Errorf("sample %d of clock %q: error of %d ns", i, name, x.Error)
		}
	}
	return nil
}

// complete returns the problem with the extents that were left zero.
func (c *checker) complete() *trace.Problem {
	var clocks []trace.Clock
	for i, x := range c.extents {
		if k := &c.Clocks[i]; k.First != 0 || k.Last != 0 || k.Events != 0 || x.events == 0 {
			continue
		}
		if clocks == nil {
			clocks = append(clocks, c.Clocks...)
		}
		clocks[i].First, clocks[i].Last, clocks[i].Events = x.first, x.last, x.events
	}
	if clocks == nil {
		return c.Problem
	}
	p := *c.Problem
	p.Clocks = clocks
	return &p
}
