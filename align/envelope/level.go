package envelope

import (
	"math"
)

// statistics is what an edge's residuals say about its least delay.
type statistics struct {
	extreme, extremeError float64
	low, lowError         [3]float64 // low quantiles
}

// lowShares are the quantiles that may stand for the least delay: the delays of both ways are taken to be alike, and a
// quantile of many is surer than the extreme.
var lowShares = [3]float64{0.003, 0.01, 0.03}

// above takes the least delay possible off: what is left must not be negative.
func (s statistics) above(least int64) statistics {
	s.extreme -= float64(least)
	for i := range s.low {
		s.low[i] -= float64(least)
	}
	return s
}

// levelOf returns what must be added to the receiver's curve of the first edge, less the sender's, so that the least
// delays of both ways are alike, and the error of that. What the two differ by in truth, no method can see.
func levelOf(there, back *statistics) (level, deviation float64) {
	extreme := (there.extreme - back.extreme) / 2
	deviation = math.Hypot(there.extremeError, back.extremeError) / 2
	chosen := -1
	var low, lowError [3]float64
	for i := range low {
		low[i] = (there.low[i] - back.low[i]) / 2
		lowError[i] = math.Hypot(there.lowError[i], back.lowError[i]) / 2
		if lowError[i] < 0.7*deviation && math.Abs(low[i]-extreme) < 2*deviation &&
			(chosen < 0 || lowError[i] < 0.7*lowError[chosen]) {
			chosen = i
		}
	}
	level = extreme
	if chosen >= 0 {
		level = low[chosen]
	}
	if -back.extreme <= there.extreme { // no delay is below what is possible
		level = max(-back.extreme, min(there.extreme, level))
	}
	if chosen < 0 {
		return level, deviation
	}
	return level, max(lowError[chosen], math.Abs(extreme-level)/2)
}

// quickest returns the statistics of the messages from one clock to another under the present curves; where a route changed,
// those of its quickest part.
func (v *curves) quickest(edges []edge, from, to int) statistics {
	best := statistics{extreme: math.Inf(1)}
	for i := range edges {
		d := &edges[i]
		if d.from != from || d.to != to || len(d.least) == 0 {
			continue
		}
		if s := v.statisticsOf(d); s.extreme < best.extreme {
			best = s
		}
	}
	return best
}
