package envelope

import (
	"math"

	"meridian/clock"
	"meridian/trace"
)

// offsetPoint is a message as a point over one clock: at instant t the offset is at most (a ceiling) or at least v.
type offsetPoint struct{ t, v float64 }

// maxSlope is the greatest rate between two clocks that the first line considers.
const maxSlope = 0.5

// widestLine returns offset and rate of the line that leaves the widest corridor to the messages of both ways, or that
// breaks in least deep where none passes (Sirdey and Maurice 2008). It is where smoothing starts from, no more.
func widestLine(ceiling, floor []offsetPoint) (offset, rate float64) {
	top := func(y float64) float64 {
		v := math.Inf(1)
		for _, p := range ceiling {
			v = min(v, p.v-y*p.t)
		}
		return v
	}
	bottom := func(y float64) float64 {
		v := math.Inf(-1)
		for _, p := range floor {
			v = max(v, p.v-y*p.t)
		}
		return v
	}
	const golden = 0.6180339887498949
	lo, hi := -maxSlope, maxSlope
	gap := func(y float64) float64 { return top(y) - bottom(y) }
	a, b := hi-golden*(hi-lo), lo+golden*(hi-lo)
	fa, fb := gap(a), gap(b)
	for hi-lo > 1e-14 {
		if fa < fb {
			lo, a, fa = a, b, fb
			b = lo + golden*(hi-lo)
			fb = gap(b)
		} else {
			hi, b, fb = b, a, fa
			a = hi - golden*(hi-lo)
			fa = gap(a)
		}
	}
	rate = (lo + hi) / 2
	return (top(rate) + bottom(rate)) / 2, rate
}

// corners returns the corners of all windows' hulls as points over the time of the clock that stamped them at `at`.
func (r *Reducer) corners(origin clock.HostTime, base int64, ceiling bool) []offsetPoint {
	var all []trace.Message
	for i := range r.windows[:r.used] {
		all = append(all, r.windows[i].corners...)
	}
	if len(all) > 0 {
		all = lowerHull(all)
	}
	out := make([]offsetPoint, len(all))
	for i, m := range all {
		if ceiling {
			out[i] = offsetPoint{float64(m.Received - origin), float64(int64(m.Received-m.Sent) - base)}
		} else {
			out[i] = offsetPoint{float64(m.Sent - origin), float64(int64(m.Sent-m.Received) - base)}
		}
	}
	return out
}

// alignBy returns the affine map of b's clock to a's from the messages both ways.
func alignBy(there, back *Reducer) affine {
	first := there.first()
	base := int64(first.Received - first.Sent)
	ceiling, floor := there.corners(first.Received, base, true), back.corners(first.Received, base, false)
	offset, rate := widestLine(ceiling, floor)
	// On b's time t the offset b - a is base + offset + rate (t - first).
	whole := math.Round(offset)
	return affine{at: first.Received, timeline: first.Received - clock.HostTime(base) - clock.HostTime(whole), rate: 1 - rate}
}

// first returns some message.
func (r *Reducer) first() trace.Message { return r.sample[0] }
