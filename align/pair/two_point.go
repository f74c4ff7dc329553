package pair

import (
	"cmp"
	"slices"

	"meridian/clock"
)

// TwoPoint returns the estimate from the offsets of two exchanges, chosen to be quick and far apart (Ashton 1995;
// Poirier 2010, section 2.2.3, eq. (2.31)-(2.34)). Trying all pairs is quadratic, so the choice is by heuristic
// (algorithm 2.1): the time that exchanges cover is divided into ten even intervals, in each the ten quickest are kept,
// and of all pairs among these hundred the one counts whose skew has the smallest margin,
//
//	Δβ = (δ1 + δ2) / 2 |t1 - t2|
//
// The line of that skew goes through the quickest exchange of all. Exchanges begun by either clock count. Residual is
// the margin of that exchange, half of its round trip in ns; Exchanges is how many there were to choose from.
//
// It takes O(n) for messages in order. It fails, and the hull's estimate is returned, where there are no two exchanges
// at different instants. The bounds are those of [Hull]; the line may leave them, and messages may be inverted. What is
// not seen is a queue that lasts: where all exchanges of an interval are slow one way, the line leans by half of it.
func TwoPoint(p *Problem) (Estimate, error) {
	e, c := hull(p)
	exchanges, base := exchangesBothWays(p)
	if len(exchanges) == 0 {
		return e, nil
	}
	chosen := quickestOfIntervals(exchanges, 10, 10)
	first, second, ok := steadiest(chosen)
	if !ok {
		return e, nil
	}
	through := chosen[0]
	for _, x := range chosen[1:] {
		if magnitude(x.delay) < magnitude(through.delay) {
			through = x
		}
	}
	line := regressionLine{
		origin: through.at, offset: through.offset,
		skew: (second.offset - first.offset) / float64(clock.Sub(second.at, first.at)),
	}
	if e.setLine(c, line, base) {
		e.Exchanges, e.Residual = len(exchanges), through.margin
	}
	return e, nil
}

// quickestOfIntervals returns the quickest exchanges, at most each of them, in every one of the even intervals.
func quickestOfIntervals(exchanges []exchange, intervals, each int64) []exchange {
	first, last := exchanges[0].at, exchanges[0].at
	for _, x := range exchanges {
		first, last = min(first, x.at), max(last, x.at)
	}
	span := max(clock.Sub(last, first), 1)
	quicker := func(x, y exchange) int {
		return cmp.Or(cmp.Compare(magnitude(x.delay), magnitude(y.delay)), cmp.Compare(x.at, y.at), cmp.Compare(x.offset, y.offset))
	}
	kept := make([][]exchange, intervals)
	for _, x := range exchanges {
		i := min(clock.MulDiv(clock.Sub(x.at, first), intervals, span, clock.Down), intervals-1)
		// Invariant: the kept ones of an interval are in order, quickest first.
		best := kept[i]
		if int64(len(best)) == each {
			if quicker(x, best[each-1]) >= 0 {
				continue
			}
			best = best[:each-1]
		}
		at, _ := slices.BinarySearchFunc(best, x, quicker)
		kept[i] = slices.Insert(best, at, x)
	}
	return slices.Concat(kept...)
}

// steadiest returns the two exchanges whose skew has the smallest margin, decided exactly, the earlier one first; false
// where all are at one instant.
func steadiest(exchanges []exchange) (first, second exchange, ok bool) {
	var sum, apart int64
	for i, x := range exchanges {
		for _, y := range exchanges[i+1:] {
			s, d := clock.Add(int64(magnitude(x.delay)), int64(magnitude(y.delay))), distance(x.at, y.at)
			if d > 0 && (!ok || compareProducts(s, apart, sum, d) < 0) {
				first, second, sum, apart, ok = x, y, s, d, true
			}
		}
	}
	if first.at > second.at {
		first, second = second, first
	}
	return first, second, ok
}
