package quality

import (
	"cmp"
	"math"
	"slices"

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

// Between is the differential delay of two receivers with its sign: the reception on clock y less that on clock x, as
// Poirier (2010, section 3.4.2, tables 3.2 and 3.5) has it. A positive mean says that y is put too late, or hears later.
// The magnitudes of [Broadcasts] would hide that among the jitter.
func Between(b []trace.Broadcast, maps []clock.Map, x, y int) Differential {
	var s summary
	for i := range b {
		first := firstReceptions(&b[i], maps, nil)
		onX, hasX := timeOn(first, x)
		onY, hasY := timeOn(first, y)
		if hasX && hasY {
			s.add(clock.Sub(onY, onX))
		}
	}
	return s.differential()
}

// PairDifferential is the differential delay of two receivers: Y's reception less X's.
type PairDifferential struct {
	X, Y int // indices of clocks, X < Y
	Differential
}

// BetweenAll is [Between] for every two clocks that received the same broadcasts, ordered by X, then Y. All receptions of one
// broadcast must be of clocks on one timeline. A broadcast with k receivers costs k² steps.
func BetweenAll(b []trace.Broadcast, maps []clock.Map) []PairDifferential {
	sums := make(map[[2]int]*summary)
	var first []reception
	for i := range b {
		first = firstReceptions(&b[i], maps, first[:0])
		for k, y := range first {
			for _, x := range first[:k] {
				key := [2]int{x.clock, y.clock}
				if sums[key] == nil {
					sums[key] = new(summary)
				}
				sums[key].add(clock.Sub(y.at, x.at))
			}
		}
	}
	var out []PairDifferential
	for key, s := range sums {
		out = append(out, PairDifferential{key[0], key[1], s.differential()})
	}
	slices.SortFunc(out, func(p, q PairDifferential) int { return cmp.Or(cmp.Compare(p.X, q.X), cmp.Compare(p.Y, q.Y)) })
	return out
}

// reception is when a clock received a broadcast, on the timeline.
type reception struct {
	clock int
	at    clock.TimelineTime
}

// firstReceptions appends to out what each clock recorded first of a broadcast, in ascending order of clocks.
func firstReceptions(b *trace.Broadcast, maps []clock.Map, out []reception) []reception {
	for _, r := range b.Receptions {
		if _, again := timeOn(out, r.Clock); !again {
			out = append(out, reception{r.Clock, maps[r.Clock].At(r.Time)})
		}
	}
	slices.SortFunc(out, func(p, q reception) int { return cmp.Compare(p.clock, q.clock) })
	return out
}

// timeOn returns a clock's reception.
func timeOn(all []reception, number int) (clock.TimelineTime, bool) {
	i := slices.IndexFunc(all, func(r reception) bool { return r.clock == number })
	if i < 0 {
		return 0, false
	}
	return all[i].at, true
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
