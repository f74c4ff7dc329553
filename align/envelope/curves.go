package envelope

import (
	"math"
	"slices"

	"meridian/clock"
)

// curves are the unknowns of a model that the delays are measured by: for each column a curve, piecewise linear on common
// knots at even distances. The values are ns by which a clock departs from its affine map.
type curves struct {
	column      []int // of each clock among the unknowns, -1 for one that is the timeline
	columns     int
	first, last float64 // extent of the knots, ns after the model's origin
	knots       int
	step        float64   // between knots, ns
	x           []float64 // column by column
}

// locate returns the knot before t and how far t is on the way to the next.
func (v *curves) locate(t float64) (int, float64) {
	u := (t - v.first) / v.step
	k := min(max(int(u), 0), v.knots-2)
	return k, u - float64(k)
}

// at returns a clock's curve at t.
func (v *curves) at(clock int, t float64) float64 {
	c := v.column[clock]
	if c < 0 {
		return 0
	}
	k, f := v.locate(t)
	x := v.x[c*v.knots+k:]
	return x[0] + f*(x[1]-x[0])
}

// residual returns the delay of a message under the present curves.
func (v *curves) residual(e *edge, sent, received float64) float64 {
	return received - sent - v.at(e.to, received) + v.at(e.from, sent)
}

// addStamps fills in where a point's stamps lie.
func (v *curves) addStamps(p *point, e *edge, sent, received float64) {
	p.base = received - sent
	p.sender, p.receiver = -1, -1
	if c := v.column[e.from]; c >= 0 {
		k, f := v.locate(sent)
		p.sender, p.sFrac = int32(c*v.knots+k), f
	}
	if c := v.column[e.to]; c >= 0 {
		k, f := v.locate(received)
		p.receiver, p.rFrac = int32(c*v.knots+k), f
	}
}

// residuals returns the residuals of the first n of an edge's sample. Any part of a random sample is one. The lowest share of
// them, 0 to 1, is ascending, so that [quantile] has the value at any p up to share; the others follow in any order.
func (v *curves) residuals(d *edge, n int, share float64, out []float64) []float64 {
	out = slices.Grow(out[:0], n)
	for i, sent := range d.sample[0][:n] {
		out = append(out, v.residual(d, sent, d.sample[1][i]))
	}
	sortLowest(out, int(share*float64(n))+2) // a quantile lies between two values
	return out
}

// minima takes a point for each of n windows of an edge, given with its number, in which a message was received. The info of
// a point is how many messages it stands for.
func (v *curves) minima(d *edge, number, n int) {
	length := (v.last - v.first) / float64(n) * (1 + 1e-9)
	lowest := make([]float64, n)
	index := make([]int32, n)
	count := make([]float64, n)
	for w := range index {
		lowest[w], index[w] = math.Inf(1), -1
	}
	for i, received := range d.received {
		g := v.residual(d, d.sent[i], received)
		w := min(max(int((received-v.first)/length), 0), n-1)
		count[w] += d.weight[i]
		if g < lowest[w] {
			lowest[w], index[w] = g, int32(i)
		}
	}
	d.least, d.points, d.series = d.least[:0], d.points[:0], d.series[:0]
	for w, i := range index {
		if i < 0 {
			continue
		}
		p := point{edge: int32(number), excess: lowest[w], info: max(count[w], 1)}
		v.addStamps(&p, d, d.sent[i], d.received[i])
		d.points = append(d.points, p)
		d.least = append(d.least, lowest[w])
		d.series = append(d.series, low{d.received[i], lowest[w]})
	}
	slices.Sort(d.least)
}

// statisticsOf returns an edge's statistics under the present curves.
func (v *curves) statisticsOf(d *edge) statistics {
	const blocks = 8
	var least [blocks]float64
	for i := range least {
		least[i] = math.Inf(1)
	}
	n := len(d.received)
	for i, received := range d.received {
		if within(d.shaken, received) {
			continue
		}
		b := &least[i*blocks/n]
		*b = min(*b, v.residual(d, d.sent[i], received))
	}
	residuals := v.residuals(d, len(d.sample[0]), 1.5*lowShares[len(lowShares)-1], nil)
	slices.Sort(least[:])
	if math.IsInf(least[0], 1) { // no window's quickest is outside of the bends
		least[0] = residuals[0]
	}
	s := statistics{extreme: least[0]}
	s.extremeError = (least[blocks/2] - least[0]) / 2
	if math.IsInf(s.extremeError, 0) || math.IsNaN(s.extremeError) {
		s.extremeError = math.Inf(1)
	}
	drawn := float64(len(residuals))
	for i, share := range lowShares {
		s.low[i] = quantile(residuals, share)
		s.lowError[i] = (quantile(residuals, 1.5*share) - quantile(residuals, 0.5*share)) / math.Sqrt(share*drawn)
	}
	return s
}

// extent sets first and last to the extent of the messages.
func (v *curves) extent(edges []edge) {
	v.first, v.last = math.Inf(1), math.Inf(-1)
	for i := range edges {
		for k, received := range edges[i].received {
			sent := edges[i].sent[k]
			v.first = min(v.first, sent, received)
			v.last = max(v.last, sent, received)
		}
	}
}

// curve returns the map of a clock to the timeline: its affine map, less its smoothed curve, less its level.
func (v *curves) curve(clockNumber int, a *affine, origin clock.HostTime, level float64) clock.PairCurve {
	out := make(clock.PairCurve, 0, v.knots)
	for k := range v.knots {
		t := v.first + float64(k)*v.step
		host := a.stamp(t, origin)
		on := a.on(host, origin)
		timeline := origin + clock.HostTime(math.Round(on-v.at(clockNumber, on)-level))
		if n := len(out); n > 0 && (host <= out[n-1].X || timeline < out[n-1].Y) {
			continue
		}
		out = append(out, clock.PairKnot{X: host, Y: timeline})
	}
	return out
}
