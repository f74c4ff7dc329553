package pair

import (
	"slices"

	"meridian/clock"
)

// RestoreOrder returns the curve nearest to a given one, from a's clock to b's, that inverts none of the messages beyond their
// granularity and 2 ns, to which knots at whole ns are rounded: where the curve already keeps them it stays as it is, and
// around a message that it inverts it is pushed aside by no more than it must, its rate by as little as lets all messages
// be kept (from 0.1 ppm up, in decades). It reports false, and returns the curve as it was, where messages contradict each
// other under any clock, and for a curve without knots.
//
// The correction is 0 clamped between the cones over all floors and under all ceilings (see fallback.go), so the cost is
// a sort of the messages.
func RestoreOrder(p *Problem, curve clock.PairCurve) (clock.PairCurve, bool) {
	if len(curve) == 0 {
		return curve, false
	}
	ceiling, floor := residuals(p, curve)
	w := int64(100)
	for ; !consistent(ceiling, floor, w); w *= 10 {
		if w > maxWander {
			return curve, false
		}
	}
	high := cones(ceiling, w)
	low := reflected(cones(reflected(floor), w))
	var xs []clock.HostTime
	for _, k := range curve {
		xs = append(xs, k.X)
	}
	touched := false
	touch := func(corners []point, w int64, wrong func(int64) bool) {
		for i, p := range corners {
			if !wrong(p.y) {
				continue
			}
			touched = true
			// The push ends where its cone meets zero, or another's.
			reach := clock.MulDiv(max(p.y, -p.y), ppb, max(w, -w), clock.Up) + 1
			xs = append(xs, clock.Add(p.x, -reach), p.x, clock.Add(p.x, reach))
			for _, j := range []int{i - 1, i} {
				if j >= 0 && j+1 < len(corners) {
					q, r := corners[j], corners[j+1]
					meet := q.x + clock.HostTime(int64(r.x-q.x)/2) + clock.HostTime(clock.MulDiv(r.y-q.y, ppb, 2*max(w, -w), clock.Down)*sign(w))
					xs = append(xs, meet, meet+1)
				}
			}
		}
	}
	touch(high, w, func(y int64) bool { return y < 0 })
	touch(low, -w, func(y int64) bool { return y > 0 })
	if !touched {
		return curve, true
	}
	restored := knotted(xs, func(x clock.HostTime) clock.HostTime {
		push := int64(0)
		if len(low) > 0 {
			push = max(push, coneAt(low, x, -w, clock.Nearest))
		}
		if len(high) > 0 {
			push = min(push, coneAt(high, x, w, clock.Nearest))
		}
		return clock.Add(curve.At(x, clock.Nearest), push)
	})
	// A curve slower than the push falls would have run back; it stands still instead, which may invert a message.
	if !passesWithin(p, restored, restoredSlack) {
		return curve, false
	}
	return restored, true
}

// restoredSlack is by how many ns a restored curve may invert a message because its knots are whole ns.
const restoredSlack = 2

// passesWithin reports whether a curve inverts no message beyond its granularity and slack ns.
func passesWithin(p *Problem, curve clock.PairCurve, slack int64) bool {
	ceiling, floor := residuals(p, curve)
	return !slices.ContainsFunc(ceiling, func(q point) bool { return q.y < -slack }) &&
		!slices.ContainsFunc(floor, func(q point) bool { return q.y > slack })
}
