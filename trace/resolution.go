package trace

import (
	"math"

	"meridian/clock"
)

// Resolution says how coarse the timestamps of one source and kind are, such as the starts of the spans of a process.
// The zero value is 1 ns.
type Resolution struct {
	// Step is that of all its timestamps in ns, at least 1; 0 stands for 1.
	Step int64
	// Coarser are powers of ten above Step, descending: more timestamps are multiples of them than chance explains, so
	// that these were cut to them. A source has such where it writes down timestamps of several kinds.
	Coarser []int64
}

// Of returns the step of one timestamp of the source, ns.
func (r *Resolution) Of(t clock.HostTime) int64 {
	for _, step := range r.Coarser {
		if int64(t)%step == 0 {
			return step
		}
	}
	return max(r.Step, 1)
}

// Coarsest returns the greatest step that a timestamp of the source may have, ns.
func (r *Resolution) Coarsest() int64 {
	if len(r.Coarser) > 0 {
		return max(r.Coarser[0], r.Step, 1)
	}
	return max(r.Step, 1)
}

// coarsestDecade is the power of ten of the coarsest step that is looked for among finer ones, a millisecond: coarser
// ones are the rhythm of programs.
const coarsestDecade = 6

// stepChance is the probability from which on chance explains that so many timestamps are multiples of a power of ten.
// A greater one than for other decisions does: an error widens the few timestamps that are such multiples.
const stepChance = 0.001

// ResolutionFinder finds the resolution of a source: the step of all its timestamps, as [Granularity] finds it, and
// coarser steps of some of them. The zero value is ready.
type ResolutionFinder struct {
	Granularity
	// multiples counts the timestamps by the greatest power of ten of which each is a multiple.
	multiples [coarsestDecade + 1]int64
}

// Add takes account of a timestamp, ns. It allocates nothing.
func (f *ResolutionFinder) Add(t clock.HostTime) {
	f.Granularity.Add(t)
	if t == 0 { // a multiple of all
		return
	}
	k := 0
	for v := int64(t); k < coarsestDecade && v%10 == 0; v /= 10 {
		k++
	}
	f.multiples[k]++
}

// Resolution returns what the timestamps added so far show.
//
// Timestamps of a unit u are multiples of a power of ten g by chance with a probability of u/g. From the coarsest g on,
// one is taken for a step if there are more multiples than that explains. What the next finer step explains is given
// back to it.
func (f *ResolutionFinder) Resolution() Resolution {
	r := Resolution{Step: f.Step()}
	unit := 0
	for step := int64(1); unit <= coarsestDecade && step != r.Step; step *= 10 {
		unit++
	}
	if unit >= coarsestDecade { // ticks of a clock, or nothing is coarser
		return r
	}
	var n int64
	of := [coarsestDecade + 1]int64{} // timestamps by the decade of their step
	for _, count := range f.multiples {
		n += count
	}
	of[unit] = n
	crowded := []int{}
	free := int64(0) // multiples of the decade that have no step yet
	for k := coarsestDecade; k > unit; k-- {
		free += f.multiples[k]
		if free == 0 || BinomialTail(n, free, math.Pow10(unit-k)) >= stepChance {
			continue
		}
		crowded = append(crowded, k)
		of[k], of[unit], free = free, of[unit]-free, 0
	}
	for i := 0; i+1 < len(crowded); i++ {
		k, next := crowded[i], crowded[i+1]
		if BinomialTail(of[k]+of[next], of[k], math.Pow10(next-k)) >= stepChance {
			of[next] += of[k]
			of[k] = 0
		}
	}
	for _, k := range crowded {
		if of[k] > 0 {
			r.Coarser = append(r.Coarser, int64(math.Pow10(k)))
		}
	}
	return r
}
