package pipeline

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"meridian/align"
	"meridian/clock"
	"meridian/internal/show"
	"meridian/order"
)

// maxSegments is how many times a clock of a capture may step back before the rest is merged as it comes: each step
// costs another reading of the file.
const maxSegments = 64

// segment is what one reader brings of a capture: the packets of one clock between two steps back of it.
type segment struct {
	capture int
	clock   int
	packets order.Run
	whole   bool // it is all of the capture
}

// findSegments divides the captures where a clock was set back: where timestamps are further behind than any that come
// late, and those behind them too. A solution, which may be nil, tells of smaller steps. It also returns how far each
// capture is out of order otherwise.
func (m *Matched) findSegments(solution *align.Solution) ([]segment, []order.Disorder) {
	of, disorder := make([][]segment, len(m.captures)), make([]order.Disorder, len(m.captures))
	var group sync.WaitGroup
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range m.captures {
		turns <- struct{}{}
		group.Go(func() {
			of[i], disorder[i] = segmentsOf(m, solution, i)
			<-turns
		})
	}
	group.Wait()
	return slices.Concat(of...), disorder
}

// segmentsOf divides a capture.
func segmentsOf(m *Matched, solution *align.Solution, capture int) (all []segment, disorder order.Disorder) {
	clocks := &m.Captures[capture]
	numbers := []int{clocks.Sent}
	if clocks.Received != clocks.Sent {
		numbers = append(numbers, clocks.Received)
	}
	for _, number := range numbers {
		runs, outOfOrder := order.Runs(m.stampsOf(capture, number), order.DefaultWindow, order.MaxExcursion, maxSegments)
		disorder = disorder.Sum(outOfOrder)
		if solution != nil {
			runs = m.runsOf(solution, capture, number, runs)
		}
		for _, run := range runs {
			all = append(all, segment{capture, number, run, len(runs) == 1 && len(numbers) == 1})
		}
	}
	return all, disorder
}

// runsOf returns the ranges of a capture between the settings back of a clock that alignment found, if these show in
// the order of its stamps: there are as many stamps behind an earlier one by half of the smallest setting as there were
// settings, and as many by a quarter of it, so none that merely came late. Otherwise it returns those given.
func (m *Matched) runsOf(s *align.Solution, capture, number int, given []order.Run) []order.Run {
	want := len(s.Runs(number))
	if want == 1 || want == len(given) || want > maxSegments {
		return given
	}
	least := int64(math.MaxInt64)
	for _, x := range s.Steps {
		if x.Clock == number && x.By < 0 {
			least = min(least, -x.By)
		}
	}
	runs, _ := order.Runs(m.stampsOf(capture, number), least/2, 0, maxSegments)
	if same, _ := order.Runs(m.stampsOf(capture, number), least/4, 0, maxSegments); len(runs) != want || len(same) != want {
		return given
	}
	return runs
}

// stampsOf iterates over the packets of a capture with the latest stamp of one of its clocks: packets of the other
// clock neither begin nor end a run.
func (m *Matched) stampsOf(capture, number int) func(yield func(int, clock.HostTime) bool) {
	clocks := &m.Captures[capture]
	return func(yield func(int, clock.HostTime) bool) {
		var last clock.HostTime
		seen, n := false, 0
		for chunk := range m.captures[capture].Packets.Chunks() {
			for j := range chunk {
				if clocks.Of(n) == number {
					last, seen = chunk[j].Time, true
				}
				if seen && !yield(n, last) {
					return
				}
				n++
			}
		}
	}
}

// packetFilter returns a filter for the packets of a segment, by number, nil for all packets. It needs the clocks of
// the packets but not the packets.
func (m *Matched) packetFilter(s segment) func(number int) (pass, more bool) {
	if s.whole {
		return nil
	}
	clocks := m.Captures[s.capture]
	return func(n int) (pass, more bool) {
		return n >= s.packets.From && n < s.packets.To && clocks.Of(n) == s.clock, n+1 < s.packets.To
	}
}

// follows reports whether a segment is of the same clock of the same capture as the one before it: the clock was set
// back in between.
func (a *Aligned) follows(i int) bool {
	return i > 0 && a.segments[i-1].capture == a.segments[i].capture && a.segments[i-1].clock == a.segments[i].clock
}

// segmentMaps returns the maps of the segments of a capture's clock; nil where alignment divided the clock otherwise.
func (a *Aligned) segmentMaps(s segment) []clock.Map {
	n := 0
	for _, x := range a.segments {
		if x.capture == s.capture && x.clock == s.clock {
			n++
		}
	}
	if maps := a.Solution.Runs(s.clock); len(maps) == n && !hasLostPiece(a.Solution, s.clock) {
		return maps
	}
	return nil
}

// segmentMap returns the map of a segment. Where a clock was set back it is the map of that piece, since the map of the
// whole clock gives one instant to stamps that the clock showed twice. It is that of the whole clock where the messages
// of the piece do not bound it.
func (a *Aligned) segmentMap(i int) *clock.Map {
	s := a.segments[i]
	if maps := a.segmentMaps(s); maps != nil {
		k := 0
		for _, x := range a.segments[:i] {
			if x.capture == s.capture && x.clock == s.clock {
				k++
			}
		}
		if first, last := a.stampsWithin(s); a.bounds(&maps[k], s.clock, first, last) {
			return &maps[k]
		}
	}
	return &a.coverage.maps[s.clock]
}

// warnOfDisorder counts the packets of captures that are out of order, though the clock was not set. Where no queue
// explains it, a timestamp is wrong, and with it the bounds of its packet.
func warnOfDisorder(f *findings) {
	for i, d := range f.disorder {
		if d.Frames > 0 {
			f.warnings.AddN(f.captures[i].File, "packets are out of order: they came late, or their timestamps are wrong",
				"by up to "+show.Duration(d.Most), int64(d.Frames))
		}
		if d.Most > order.MaxLate {
			f.breakPromise(fmt.Sprintf("a timestamp of %s is wrong: it is %s out of order", f.captures[i].File, show.Duration(d.Most)))
		}
	}
}

// warnOfSegments names the captures whose clocks were set back, except where messages told so and each segment has a
// map of its own.
func (f *findings) warnOfSegments() {
	for i, s := range f.segments {
		if !f.follows(i) || len(f.segmentMaps(s)) > 1 {
			continue
		}
		c := f.captures[s.capture]
		at := s.packets.From
		highest := c.Packets.At(max(at-1, 0)).Time
		for n := f.segments[i-1].packets.From; n < at; n++ {
			if f.Captures[s.capture].Of(n) == s.clock {
				highest = max(highest, c.Packets.At(n).Time)
			}
		}
		back := int64(highest - c.Packets.At(at).Time)
		if show.IsCounterWrap(back) {
			f.warnings.Add(c.File, "timestamps go backwards by "+show.CounterWrap, fmt.Sprintf("by %.6f s at packet %d", float64(back)/1e9, at+1))
			f.breakPromise(fmt.Sprintf("the timestamps of %s wrap during the capture: a 32-bit counter of microseconds", c.Host))
			continue
		}
		f.warnings.Add(c.File, "stamps go backwards: the clock was set during the capture",
			fmt.Sprintf("by %.6f s at packet %d", float64(back)/1e9, at+1))
		f.breakPromise(fmt.Sprintf("the clock of %s was set during the capture", c.Host))
	}
}
