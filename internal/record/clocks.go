package record

import (
	"errors"
	"time"

	"meridian/clock"
	"meridian/internal/record/clockset"
	"meridian/internal/steering"
	"meridian/trace"
)

// clocks is the recorder's own stream: how the clocks of the kernel stood beside the counter that sensors stamp by.
//
//	meridian:clock      a reading of one clock, each [Options.Interval]: all clocks. Package sensor writes the same events
//	meridian:steering   a reading of MONOTONIC, with how the kernel steers it: at the same time, and wherever its rate changed
//
// MONOTONIC and the counter are read every [steerInterval]. Of readings on one line the ends are stored (steering.Door), so
// that the stored ones tell where the counter stood at any instant, to within an error that follows from them.
type clocks struct {
	rows     *rows
	counter  *line
	kernel   func() steering.Kernel
	packets  func() int64 // by how much stamps of packets may be off the steered clock, ns; nil without packets
	interval time.Duration
	source   string
	names    [clock.TAI + 1]trace.Value
	values   []trace.Value

	door      steering.Door
	last      steering.Reading // the latest
	stored    uint64           // counter of the reading stored last
	nextAll   time.Time        // when all clocks are to be read
	nextSteer time.Time
	at        uint64 // the latest stamp
	off       int64  // what packets returned last

	watcher *clockset.Watcher
	set     chan clock.Snapshot // readings at once when REALTIME was set
}

// steerInterval is the least time between two readings of MONOTONIC; the pauses of the recorder make it 50 ms at most.
const steerInterval = 20 * time.Millisecond

// Numbers of the classes.
const (
	ofClock = iota
	ofSteering
)

var clockClass = trace.Class{Name: "meridian:clock", Category: "meridian", Fields: []trace.Field{
	{Name: "clock", Type: trace.Type{Kind: trace.Text}}, {Name: "counter", Type: trace.Type{Kind: trace.Uint}},
	{Name: "counter_error", Type: trace.Type{Kind: trace.Uint}}, {Name: "ns", Type: trace.Type{Kind: trace.Int}},
	{Name: "ns_error", Type: trace.Type{Kind: trace.Int}},
}}

func newClocks(t *hostTrace, times *times, kernel func() steering.Kernel, interval time.Duration) (*clocks, error) {
	counter := clock.Best().Source
	l, err := times.line(counter)
	if err != nil { // the counter of choice may fail where clocks are a test's
		counter = clock.Monotonic
		if l, err = times.line(counter); err != nil {
			return nil, err
		}
	}
	r, err := newRows(t, steering.Stream, false)
	if err != nil {
		return nil, err
	}
	r.state = true
	c := &clocks{rows: r, counter: l, kernel: kernel, interval: interval, source: counter.String(), set: make(chan clock.Snapshot, 16)}
	for s := range c.names {
		c.names[s] = trace.OfText(clock.Source(s).String())
	}
	if err := r.declare([]trace.Class{ofClock: clockClass, ofSteering: steering.Class()}); err != nil {
		return nil, err
	}
	if err := r.add([]trace.Stream{{Name: steering.Stream, Kind: trace.OtherStream, Parent: -1}}); err != nil {
		return nil, err
	}
	if e := times.early; e != nil && e.snapshot.Counter == counter && counter != clock.Monotonic {
		if err := c.steer(&e.snapshot, e.kernel, true); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// watch has the clocks read at once when REALTIME is set. Where the kernel does not tell, the readings of each interval show it.
func (c *clocks) watch() {
	c.watcher, _ = clockset.Watch(time.Hour, func(set bool) {
		if !set {
			return
		}
		select {
		case c.set <- c.counter.take(c.counter.counter):
		default: // many settings at once
		}
	})
}

// observe reads the clocks where it is time to, and stores what is needed of the readings. It is to be called often.
func (c *clocks) observe(now time.Time) error {
	for len(c.set) > 0 {
		s := <-c.set
		if err := errors.Join(c.writeAll(&s), c.rows.flush()); err != nil {
			return err
		}
	}
	switch {
	case !now.Before(c.nextAll):
		return c.read(now, true)
	case !now.Before(c.nextSteer):
		return c.read(now, false)
	}
	return nil
}

// read reads the clocks: all of them, or how MONOTONIC is steered.
func (c *clocks) read(now time.Time, all bool) error {
	if all && c.packets != nil {
		c.off = max(c.off, c.packets())
	}
	s := c.counter.read()
	c.nextSteer = now.Add(steerInterval)
	if err := c.steer(&s, c.kernel(), all); err != nil {
		return err
	}
	if !all {
		return c.rows.flush() // writes nothing unless a reading was stored
	}
	c.nextAll = now.Add(c.interval)
	return errors.Join(c.writeAll(&s), c.rows.flush())
}

// steer takes a reading of MONOTONIC. It is stored if it must be; if it is not on the line of those before, so is the one before.
func (c *clocks) steer(s *clock.Snapshot, k steering.Kernel, store bool) error {
	m := s.Monotonic
	if m.Clock == clock.None || m.Counter <= c.last.Counter || m.Ns <= c.last.Ns {
		return nil // where clocks are a test's, or the counter was reset, which the readings then show
	}
	r := steering.Reading{Counter: m.Counter, Error: m.Error, Ns: m.Ns, NsError: m.NsError, Kernel: k, Suspended: suspended()}
	p := steering.Point{Counter: r.Counter, Ns: r.Ns, Error: c.counter.errorOf(m)}
	c.door.Note(c.counter.recent + c.off)
	c.counter.recent = 0
	changed := k.Steers(c.last.Kernel)
	switch {
	case !c.door.Began():
		store = true
	case (changed || !c.door.Fits(p)) && c.last.Counter != c.stored:
		if err := c.store(&c.last, c.door.Last()); err != nil {
			return err
		}
	}
	c.door.Add(p)
	c.last = r
	if !store && !changed {
		return nil
	}
	return c.store(&c.last, p)
}

// store writes a reading and begins a line at it.
func (c *clocks) store(r *steering.Reading, p steering.Point) error {
	if c.door.Began() {
		r.Seen = c.door.Seen()
	}
	c.door.Begin(p)
	c.stored = r.Counter
	c.values = r.Values(c.source, c.values[:0])
	return c.write(ofSteering, r.Ns)
}

// writeAll writes the reading of each clock.
func (c *clocks) writeAll(s *clock.Snapshot) error {
	for _, r := range []clock.Reading{s.Monotonic, s.MonotonicRaw, s.Realtime, s.TAI} {
		if r.Clock == clock.None {
			continue
		}
		c.values = append(c.values[:0], c.names[r.Clock], trace.OfUint(r.Counter), trace.OfUint(r.Error), trace.OfInt(r.Ns), trace.OfInt(r.NsError))
		// The readings of one snapshot follow each other by microseconds; all are told at the time of the first.
		if err := c.write(ofClock, s.Monotonic.Ns); err != nil {
			return err
		}
	}
	return nil
}

// write writes an event. A reading that another goroutine took may come after a later one, and is told at the time of that.
func (c *clocks) write(class int, monotonic int64) error {
	c.at = max(c.at, uint64(monotonic))
	return c.rows.write(&Event{Stamp: c.at, Class: class, Values: c.values})
}

// finish says how the clocks stand in the end.
func (c *clocks) finish() error {
	if c.watcher != nil {
		c.watcher.Close()
	}
	return errors.Join(c.observe(time.Time{}), c.read(time.Time{}, true), c.rows.close())
}
