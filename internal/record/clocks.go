package record

import (
	"errors"

	"meridian/clock"
	"meridian/trace"
)

// clocks is the recorder's own stream: how the clocks of the kernel stood beside the counter that sensors stamp by, as events
// meridian:clock, which are those of package sensor.
type clocks struct {
	rows    *rows
	counter *line
	names   [clock.TAI + 1]trace.Value
	values  [5]trace.Value
}

func newClocks(t *hostTrace, times *times) (*clocks, error) {
	counter := clock.Best().Source
	l, err := times.line(counter)
	if err != nil { // the counter of choice may fail where clocks are a test's
		counter = clock.Monotonic
		if l, err = times.line(counter); err != nil {
			return nil, err
		}
	}
	r, err := newRows(t, "clocks", false)
	if err != nil {
		return nil, err
	}
	c := &clocks{rows: r, counter: l}
	for s := range c.names {
		c.names[s] = trace.OfText(clock.Source(s).String())
	}
	class := trace.Class{Name: "meridian:clock", Category: "meridian", Fields: []trace.Field{
		{Name: "clock", Type: trace.Type{Kind: trace.Text}}, {Name: "counter", Type: trace.Type{Kind: trace.Uint}},
		{Name: "counter_error", Type: trace.Type{Kind: trace.Uint}}, {Name: "ns", Type: trace.Type{Kind: trace.Int}},
		{Name: "ns_error", Type: trace.Type{Kind: trace.Int}},
	}}
	if err := r.declare([]trace.Class{class}); err != nil {
		return nil, err
	}
	return c, r.add([]trace.Stream{{Name: "clocks", Kind: trace.OtherStream, Parent: -1}})
}

// write reads the clocks and writes what they say.
func (c *clocks) write() error {
	s := c.counter.read()
	for _, r := range []clock.Reading{s.Monotonic, s.MonotonicRaw, s.Realtime, s.TAI} {
		if r.Clock == clock.None {
			continue
		}
		c.values = [5]trace.Value{c.names[r.Clock], trace.OfUint(r.Counter), trace.OfUint(r.Error), trace.OfInt(r.Ns), trace.OfInt(r.NsError)}
		// The readings of one snapshot follow each other by microseconds; all are told at the time of the first.
		if err := c.rows.write(&Event{Stamp: uint64(s.Monotonic.Ns), Values: c.values[:]}); err != nil {
			return err
		}
	}
	return c.rows.flush()
}

// finish says how the clocks stand in the end.
func (c *clocks) finish() error { return errors.Join(c.write(), c.rows.close()) }
