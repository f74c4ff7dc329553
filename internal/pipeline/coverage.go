package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/show"
	"meridian/trace"
)

// coverage says of every clock where the alignment bounds it, and how many of its events lie elsewhere.
type coverage struct {
	maps      []clock.Map            // those of the solution; without bounds for a clock that is a component of its own
	gaps      [][]clock.HostInterval // by clock: the stretches of its trace in which nothing bounds it
	unbounded []*show.EventRange     // by clock: its events in these; nil for none
	unaligned []*show.EventRange     // by clock: all its events if it shares no component with the reference; else nil
	spreads   []pair.Spread          // by clock: its error outside of the gaps; zero if it has no bound at any instant
	limits    []int64                // by component: how far apart bounds are at most that say something, ns
}

// leastLength is the length of a timeline, ns, that decides which bounds say nothing: a shorter one counts as this long.
const leastLength = 1_000_000_000

// maxWidth limits how far apart bounds are that say something, however long the timeline, ns: a year. A clock that was set by
// decades between two messages has a timeline of decades.
const maxWidth = 365 * 24 * 3600 * 1_000_000_000

// cover finds out where the solution bounds the clocks. An interval that reaches further than all that was recorded on the
// timeline of the clock's component to both sides of it says nothing: bounds further apart than twice its length are none.
func (s *Solved) cover(ctx context.Context) (*coverage, error) {
	x := s.Solution
	n := len(s.Clocks)
	c := &coverage{maps: slices.Clone(x.Maps), gaps: make([][]clock.HostInterval, n), unbounded: make([]*show.EventRange, n),
		unaligned: make([]*show.EventRange, n), spreads: make([]pair.Spread, n)}
	if n == 0 {
		return c, nil
	}
	main := s.Largest(x.Component, s.Options.Reference)
	c.limits = s.widthLimits()
	for i := range s.Clocks {
		k := &s.Clocks[i]
		if x.Component[i] != main {
			c.unaligned[i] = rangeOfAll(k)
			if alone(x.Component, i) {
				c.maps[i].Low, c.maps[i].High = nil, nil
			}
		}
		if k.Events == 0 {
			continue
		}
		c.gaps[i] = c.maps[i].Unbounded(k.First, k.Last, c.limits[x.Component[i]])
		if hasLostPiece(x, i) {
			c.gaps[i] = []clock.HostInterval{{First: k.First, Last: k.Last}}
		}
		c.spreads[i] = spreadOutside(&c.maps[i], k, c.gaps[i])
		if len(c.gaps[i]) == 0 {
			continue
		}
		if c.gaps[i][0] == (clock.HostInterval{First: k.First, Last: k.Last}) {
			c.unbounded[i] = rangeOfAll(k)
			continue
		}
		found, err := eventsIn(ctx, s.Matched, i, c.gaps[i])
		if err != nil {
			return nil, err
		}
		c.unbounded[i] = found
	}
	return c, nil
}

// rangeOfAll is the range of all events of a clock.
func rangeOfAll(k *trace.Clock) *show.EventRange {
	return &show.EventRange{Events: k.Events, FirstNs: k.First, LastNs: k.Last}
}

// widthLimits returns for each component how far apart bounds are at most that say something, ns. The length of a component's
// timeline is what its bounds leave no doubt of, from the first event of a clock to the last.
func (s *Solved) widthLimits() []int64 {
	x := s.Solution
	limits := make([]int64, len(x.References))
	first, last := make([]clock.TimelineTime, len(limits)), make([]clock.TimelineTime, len(limits))
	for c := range limits {
		first[c], last[c] = math.MaxInt64, math.MinInt64
	}
	for i := range s.Clocks {
		k, c := &s.Clocks[i], x.Component[i]
		if k.Events == 0 {
			continue
		}
		if _, high, _, ok := x.Maps[i].Bounds(k.First); ok {
			first[c] = min(first[c], high)
		}
		if low, _, ok, _ := x.Maps[i].Bounds(k.Last); ok {
			last[c] = max(last[c], low)
		}
	}
	for c := range limits {
		length := int64(leastLength)
		if first[c] < last[c] {
			length = max(length, clock.Sub(last[c], first[c]))
		}
		limits[c] = min(clock.Add(length, length), maxWidth)
	}
	return limits
}

// spreadOutside returns the error of a clock over its trace but for the gaps, the mean over time.
func spreadOutside(m *clock.Map, k *trace.Clock, gaps []clock.HostInterval) pair.Spread {
	var all pair.Spread
	var sum, length float64
	add := func(first, last clock.HostTime) {
		if last < first {
			return
		}
		s, ok := pair.SpreadOf(m, first, last)
		if !ok {
			return
		}
		if length == 0 {
			all = s
		}
		all.Best, all.Worst = min(all.Best, s.Best), max(all.Worst, s.Worst)
		span := float64(clock.Sub(last, first)) + 1
		sum, length = sum+span*float64(s.Mean), length+span
	}
	from := k.First
	for _, g := range gaps {
		add(from, clock.Add(g.First, -1))
		from = clock.Add(g.Last, 1)
	}
	add(from, k.Last)
	if length > 0 {
		all.Mean = int64(sum / length)
	}
	return all
}

// eventsIn counts the events of a clock in some stretches of its trace; nil if there are none.
func eventsIn(ctx context.Context, m *Matched, number int, within []clock.HostInterval) (*show.EventRange, error) {
	var found *show.EventRange
	err := m.eachStamp(ctx, number, func(t clock.HostTime) {
		if !inAny(within, t) {
			return
		}
		if found == nil {
			found = &show.EventRange{FirstNs: t, LastNs: t}
		}
		found.Events++
		found.FirstNs, found.LastNs = min(found.FirstNs, t), max(found.LastNs, t)
	})
	return found, err
}

// inAny reports whether an instant lies in one of some intervals that are in order.
func inAny(intervals []clock.HostInterval, t clock.HostTime) bool {
	i, _ := slices.BinarySearchFunc(intervals, t, func(x clock.HostInterval, t clock.HostTime) int {
		if x.Last < t {
			return -1
		}
		return 1
	})
	return i < len(intervals) && intervals[i].Holds(t)
}

// eachStamp calls see with the stamps of all events of a clock, as far as the clock's Events count them. It reads recordings
// again.
func (m *Matched) eachStamp(ctx context.Context, number int, see func(clock.HostTime)) error {
	for i, c := range m.captures {
		if !m.isFile(c) {
			continue // its packets are among the events of a recording
		}
		n := 0
		for chunk := range c.Packets.Chunks() {
			for j := range chunk {
				if m.Captures[i].Of(n) == number {
					see(chunk[j].Time)
				}
				n++
			}
		}
	}
	for _, c := range m.Channels[m.listed:m.recorded[0]] {
		for i := range c.Messages {
			if c.From == number {
				see(c.Messages[i].Sent)
			}
			if c.To == number {
				see(c.Messages[i].Received)
			}
		}
	}
	for _, o := range m.operations[number] {
		see(o.At)
	}
	for _, x := range m.recordings {
		for k, h := range x.Hosts {
			if x.clocks[k] != number {
				continue
			}
			if err := eachRecorded(ctx, x, h.Name, see); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachRecorded calls see with the stamps that a recording has of a host.
func eachRecorded(ctx context.Context, x recording, host string, see func(clock.HostTime)) error {
	s, err := x.Open(false, new(trace.Warnings))
	if err != nil {
		return err
	}
	defer s.Close()
	only := x.Only(host, s)
	var e trace.Event
	for n := 0; ; n++ {
		if n&0xffff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.Next(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if only == nil || only(&e) {
			see(e.Time)
		}
	}
}

// unboundedByChoice reports whether the method, which places all clocks at once, bounds none of them: of broadcasts, and of
// samples before or after. There is no promise then that could be broken.
func (f *findings) unboundedByChoice() bool {
	return f.Solution.Network == "" && f.Report.Assumption == ""
}

// warnOfUnbounded names the hosts with events that nothing bounds, but for those that another line has named.
func (f *findings) warnOfUnbounded() {
	if f.unboundedByChoice() {
		return
	}
	var names []string
	for i, r := range f.coverage.unbounded {
		if r == nil || f.coverage.unaligned[i] != nil || f.named[i] {
			continue
		}
		names = append(names, fmt.Sprintf("%s (%s)", f.Clocks[i].Name, r.Of(f.Clocks[i].Events)))
	}
	if len(names) > 0 {
		f.breakPromise("unbounded: " + firstOf(names))
	}
}
