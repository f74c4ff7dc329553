package order

import (
	"iter"
	"math"

	"meridian/clock"
)

// Run is a range of a capture's frame numbers, From up to but not including To.
type Run struct{ From, To int }

// Runs splits a capture into ranges within which no stamp is more than window behind the latest before it, so that
// a clock that was stepped back begins a new one. Times yields frame numbers, counting up from 0, with their stamps.
// At most limit runs are made, since each means reading the file again: the last holds all that is left, in disorder. A
// limit below 1 is none.
func Runs(times iter.Seq2[int, clock.HostTime], window int64, limit int) []Run {
	var runs []Run
	latest := clock.HostTime(math.MinInt64)
	for number, t := range times {
		behind := len(runs) > 0 && clock.Sub(latest, t) > window
		if len(runs) == 0 || behind && (limit < 1 || len(runs) < limit) {
			runs = append(runs, Run{From: number})
			latest = t
		}
		latest = max(latest, t)
		runs[len(runs)-1].To = number + 1
	}
	return runs
}
