package quality

import (
	"math"

	"meridian/clock"
	"meridian/trace"
)

// Differential sums up how far apart on the timeline the receptions of each broadcast lie, in ns. A broadcast reaches
// all its receivers at once, to within the difference of their delays, and was not used to align them: what is left is
// the error of the alignment and the receivers' jitter (Poirier 2010, section 3.4.1).
type Differential struct {
	Broadcasts      int64 // with receptions to be compared; without any the rest is 0
	Min, Max        int64
	Mean, Deviation float64 // Deviation is the sample's standard deviation, 0 for a single broadcast
}

// Broadcasts takes of each broadcast the largest minus the smallest of its receptions on the timeline. Broadcasts with
// fewer than two receptions are passed over. All receptions of one must be of clocks on one timeline.
func Broadcasts(b []trace.Broadcast, maps []clock.Map) Differential {
	var s summary
	for i := range b {
		if _, delay, ok := Apart(&b[i], maps); ok {
			s.add(delay)
		}
	}
	return s.differential()
}

// Apart returns when on the timeline a broadcast was first received, and how much later last, both in ns; false with
// fewer than two receptions.
func Apart(b *trace.Broadcast, maps []clock.Map) (at clock.TimelineTime, delay int64, ok bool) {
	first, last := clock.TimelineTime(math.MaxInt64), clock.TimelineTime(math.MinInt64)
	for _, r := range b.Receptions {
		t := maps[r.Clock].At(r.Time)
		first, last = min(first, t), max(last, t)
	}
	if len(b.Receptions) < 2 {
		return 0, 0, false
	}
	return first, clock.Sub(last, first), true
}

// Between takes the receptions of two clocks alone, and with their sign: y's minus x's, as Poirier (2010, tables 3.2 and
// 3.5) does. The mean then shows a constant error between the two that magnitudes would hide among the jitter.
func Between(b []trace.Broadcast, maps []clock.Map, x, y int) Differential {
	var s summary
	for i := range b {
		var onX, onY clock.TimelineTime
		var hasX, hasY bool
		for _, r := range b[i].Receptions {
			switch {
			case r.Clock == x && !hasX:
				onX, hasX = maps[x].At(r.Time), true
			case r.Clock == y && !hasY:
				onY, hasY = maps[y].At(r.Time), true
			}
		}
		if hasX && hasY {
			s.add(clock.Sub(onY, onX))
		}
	}
	return s.differential()
}

// summary takes mean and deviation in one pass (Welford 1962), which loses nothing to values that are large and alike.
type summary struct {
	Differential
	squares float64
}

func (s *summary) add(x int64) {
	if s.Broadcasts == 0 {
		s.Min, s.Max = x, x
	}
	s.Broadcasts++
	s.Min, s.Max = min(s.Min, x), max(s.Max, x)
	from := float64(x) - s.Mean
	s.Mean += from / float64(s.Broadcasts)
	s.squares += from * (float64(x) - s.Mean)
}

func (s *summary) differential() Differential {
	if s.Broadcasts > 1 {
		s.Deviation = math.Sqrt(s.squares / float64(s.Broadcasts-1))
	}
	return s.Differential
}
