package online

import (
	"math"

	"meridian/align/bound"
	"meridian/clock"
	"meridian/trace"
)

// Strict keeps the strict bound of two clocks at the leading edge: at instants that no message lies behind. It is that of
// [bound.Corridor] over the messages of a window, and costs about a microsecond a message and a bound.
//
// A message from a to b is a ceiling (x, u): at the instant x of a's clock the offset, b less a, is at most u. One back is a
// floor. With s = t - x, at an instant t and for a rate y,
//
//	top(y)    = min over ceilings of  u + y s + epsilon + wander s²/2
//	bottom(y) = max over floors   of  u + y s - epsilon - wander s²/2
//
// At the leading edge no s is negative, so both rise with y. The offset is at most top at the greatest rate that leaves room
// between the two, and at least bottom at the least one. The room is concave and made of straight pieces: Newton's method
// from outside goes from corner to corner and never passes its root.
type Strict struct {
	assumed        bound.Assumption
	stepA, stepB   int64 // granularities
	minAB, minBA   int64
	began          bool
	origin         clock.HostTime // of x
	base           int64          // of u
	last           float64        // the latest x
	apart          bool           // a message is further from base than offsets of one piece can be
	ceiling, floor hull
}

// NewStrict returns the bound of clocks with the given steps of their stamps, over messages of the last window ns. It keeps up
// to a sixtieth of the window more. minAB and minBA are the least delays possible.
func NewStrict(a bound.Assumption, window, stepA, stepB, minAB, minBA int64) *Strict {
	p := &Strict{assumed: a, stepA: max(stepA, 1), stepB: max(stepB, 1), minAB: minAB, minBA: minBA}
	k, w := a.Wander*1e-18, float64(max(window, hullParts))
	p.ceiling, p.floor = hull{side: 1, k: k, window: w}, hull{side: -1, k: k, window: w}
	return p
}

// Reset forgets all messages.
func (p *Strict) Reset() {
	*p = *NewStrict(p.assumed, int64(p.ceiling.window), p.stepA, p.stepB, p.minAB, p.minBA)
}

// AB adds a message from a to b, BA one from b to a. Messages may come in any order. One that is older than the window is
// dropped.
func (p *Strict) AB(m trace.Message) {
	p.begin(m.Sent, clock.Sub(m.Received, m.Sent))
	u := p.above(clock.Sub(m.Received, m.Sent)) + float64(p.stepB-p.minAB)
	p.take(&p.ceiling, corner{float64(clock.Sub(m.Sent, p.origin)), u})
}

func (p *Strict) BA(m trace.Message) {
	p.begin(m.Received, clock.Sub(m.Sent, m.Received))
	// The message arrived up to a step of a's stamps after its stamp. Within the step the offset may have fallen.
	down := float64(p.stepA)
	if p.stepA > 1 {
		down += down * p.steepest()
	}
	u := p.above(clock.Sub(m.Sent, m.Received)) - down + float64(p.minBA)
	p.take(&p.floor, corner{float64(clock.Sub(m.Received, p.origin)), u})
}

// maxApart is how far the offsets of one piece may be from its base, ns: 63 years.
const maxApart = 2e18

// above returns an offset above the base. Where it is too far from it, the messages contradict each other.
func (p *Strict) above(offset int64) float64 {
	d := clock.Sub(clock.HostTime(offset), clock.HostTime(p.base)) // it saturates
	if d < -maxApart || d > maxApart {
		p.apart = true
	}
	return float64(d)
}

// rebaseAfter is how far x may grow, ns: squares of it times the wander stay exact to far less than a nanosecond.
const rebaseAfter = 1e12

func (p *Strict) begin(x clock.HostTime, u int64) {
	if !p.began {
		p.began, p.origin, p.base, p.last = true, x, u, math.Inf(-1)
		return
	}
	if float64(clock.Sub(x, p.origin)) < rebaseAfter {
		return
	}
	by, lift := float64(clock.Sub(x, p.origin)), float64(clock.Add(u, -p.base))
	p.ceiling.move(by, lift)
	p.floor.move(by, lift)
	p.last -= by
	p.origin, p.base = x, u
}

func (p *Strict) take(h *hull, c corner) {
	if c.x < p.last-h.window {
		return
	}
	p.last = max(p.last, c.x)
	h.take(c)
}

// steepest returns the greatest rate, ns per ns.
func (p *Strict) steepest() float64 {
	if p.assumed.MaxSkew > 0 {
		return min(p.assumed.MaxSkew*1e-6, bound.MaxRate)
	}
	return bound.MaxRate
}

// Last returns the latest instant of a's clock that a message speaks of; false without any.
func (p *Strict) Last() (clock.HostTime, bool) {
	return clock.Add(p.origin, int64(max(p.last, -1e18))), p.began
}

// At returns what b's clock showed when a's showed t, which is not before [Strict.Last]: at least low and at most high. A side
// without messages is unbounded. ok is false where the messages contradict the assumption; then nothing is bounded.
//
// Long after the last message the tangent at t is as good as unknown. There the one at the last message says more: the offset
// departs from it by epsilon and the wander, and runs away from where it was by no more than the greatest rate.
func (p *Strict) At(t clock.HostTime) (low, high clock.HostTime, lowOK, highOK, ok bool) {
	lowOK, highOK = len(p.floor.c) > 0, len(p.ceiling.c) > 0
	if !p.began || !lowOK && !highOK {
		return 0, 0, false, false, true
	}
	x, last := float64(clock.Sub(t, p.origin)), p.lastCorner()
	x = max(x, last)
	least, most, ok := p.rates(x)
	if !ok || p.apart {
		return 0, 0, false, false, false
	}
	ahead, epsilon := x-last, p.assumed.Epsilon
	beyond := epsilon + p.ceiling.k*ahead*ahead/2
	reach := epsilon + p.steepest()*ahead
	down, up := p.bottom(x, least), p.top(x, most)
	if ahead > 0 {
		if least, most, ok = p.rates(last); !ok {
			return 0, 0, false, false, false
		}
		d, u := p.bottom(last, least), p.top(last, most)
		down = max(down, d+least*ahead-beyond, d-reach)
		up = min(up, u+most*ahead+beyond, u+reach)
	}
	if highOK = highOK && up < maxApart; highOK {
		high = sum(t, p.base, int64(math.Ceil(max(up, -maxApart)))+1)
	}
	if lowOK = lowOK && down > -maxApart; lowOK {
		low = sum(t, p.base, int64(math.Floor(min(down, maxApart)))-1)
	}
	return low, high, lowOK, highOK, true
}

// sum adds two differences to an instant. Only what comes out saturates: what has another sign than the instant is added first.
func sum(t clock.HostTime, a, b int64) clock.HostTime {
	if (t < 0) == (a < 0) {
		a, b = b, a
	}
	return clock.Add(clock.Add(t, a), b)
}

// lastCorner returns where the messages end.
func (p *Strict) lastCorner() float64 {
	last := math.Inf(-1)
	for _, h := range []*hull{&p.ceiling, &p.floor} {
		if n := len(h.c); n > 0 {
			last = max(last, h.c[n-1].x)
		}
	}
	return last
}

// rates returns the least and the greatest rate that leave room at x, which is not before the last corner.
func (p *Strict) rates(x float64) (least, most float64, ok bool) {
	if len(p.floor.c) == 0 || len(p.ceiling.c) == 0 {
		return -p.steepest(), p.steepest(), true
	}
	if most, ok = p.slope(x, 1); ok {
		least, ok = p.slope(x, -1)
	}
	return least, most, ok
}

// top returns the greatest offset at x with a rate, bottom the least; infinite without messages that bound it.
func (p *Strict) top(x, rate float64) float64 {
	if len(p.ceiling.c) == 0 {
		return math.Inf(1)
	}
	return p.ceiling.value(p.ceiling.touch(x, rate), x, rate) + p.assumed.Epsilon
}

func (p *Strict) bottom(x, rate float64) float64 {
	if len(p.floor.c) == 0 {
		return math.Inf(-1)
	}
	return p.floor.value(p.floor.touch(x, rate), x, rate) - p.assumed.Epsilon
}

// Contradictory reports whether no clocks that keep the assumption could have shown the messages.
func (p *Strict) Contradictory() bool {
	if p.apart {
		return true
	}
	_, _, ok := p.rates(p.lastCorner())
	return !ok
}

// slope returns the greatest (side 1) or least (side -1) rate that leaves room between ceilings and floors at x.
func (p *Strict) slope(x, side float64) (float64, bool) {
	const slack = 1e-3 // ns, of rounding; bounds are rounded outwards by more
	limit := p.steepest()
	y := side * limit
	for range maxNewton {
		i, j := p.ceiling.touch(x, y), p.floor.touch(x, y)
		room := p.ceiling.value(i, x, y) - p.floor.value(j, x, y) + 2*p.assumed.Epsilon
		if room >= -slack {
			return y, true
		}
		d := p.floor.c[j].x - p.ceiling.c[i].x // d(room)/dy
		if side*d >= 0 {
			return 0, false
		}
		next := y - room/d
		if side*next < -limit {
			return 0, false
		}
		if side*next >= side*y { // too small a step for float64
			return y, true
		}
		y = next
	}
	return y, true // from outside: wider than the root
}

// maxNewton bounds the steps of Newton's method; it takes three to six.
const maxNewton = 64
