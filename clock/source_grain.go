package clock

import (
	"math"
	"slices"
)

const (
	grainSteps = 400     // as many are looked at, which takes some 10 µs
	coarseStep = 8       // of a source that stands still most of the time so many are enough,
	coarseRead = 1 << 16 // once it has been read so often,
	stillRead  = 1 << 21 // and one that never moves in so many readings has no steps
)

// grain returns a length that the steps of a counter, all alike, do not exceed by more than they are rounded.
//
// A counter that goes by g and shows whole numbers shows v while it stands from v up to v+1+g. The difference of two readings is
// k*g for some k, rounded down or up. So two differences that are 2 or more apart belong to different k and are more than
// g-2 apart: the least such distance plus 3 is more than 1+g. And three differences in a row, such as 28, 29 and 30, belong
// to at least two k that are 2 or less apart: g is below 3.
func grain(read func() uint64) int64 {
	differences := stepsOf(read)
	if len(differences) == 0 {
		return math.MaxInt64
	}
	slices.Sort(differences)
	differences = slices.Compact(slices.Insert(differences, 0, 0))
	least := int64(math.MaxInt64)
	for i := 1; i < len(differences); i++ {
		gap := differences[i] - differences[i-1]
		// 0 stands for k = 0 without rounding: what is next to it cannot be of the same k.
		if gap == 1 && i > 1 {
			if i > 2 && differences[i-2] == differences[i]-2 {
				return 4
			}
			continue
		}
		least = min(least, Add(gap, 3))
	}
	return least
}

// stepsOf returns by how much a counter moved from one reading to the next, where it did.
func stepsOf(read func() uint64) []int64 {
	var steps []int64
	last := read()
	for n := 0; n < stillRead && len(steps) < grainSteps && (n < coarseRead || len(steps) < coarseStep); n++ {
		now := read()
		if now > last { // a clock that is set back makes no step of its own
			steps = append(steps, int64(min(now-last, math.MaxInt64)))
		}
		last = now
	}
	return steps
}
