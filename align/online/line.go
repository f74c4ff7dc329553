package online

import (
	"math"
	"slices"
)

// line estimates the offset at the leading edge as the mean over all lines between two hulls. The wander of its hulls is soft:
// how much the clocks do wander, where the wander of [Strict] is how much they may.
//
// Just above the least delay a message's excess is taken as exponential, with alpha messages per ns from the local host to
// the remote one and beta back. For a line that passes t at v with the rate y, and one least delay for both ways,
//
//	J(y)   = alpha (top(y) - y A) - beta (bottom(y) - y A)      the density of y is proportional to exp(J)
//	E[v|y] = (top(y) + bottom(y))/2 + (1/beta - 1/alpha)/2
//
// where A is half of how far back messages count. J is concave and made of straight pieces. Equal densities and the greatest J alone
// would give the widest corridor (Sirdey and Maurice). Unequal ones let the quiet way decide the rate, which a congested link
// needs, and the mean lowers the large errors further.
type line struct {
	ceiling, floor hull
	least          [2]stretches // of the ceilings and the floors
	density        [2]float64   // alpha, beta; 0 while unknown
	learnAt        float64

	known bool
	at    float64    // the instant of the estimate
	v, y  float64    // offset and rate there
	edge  [2]float64 // how far the hulls are from v: messages of a direction are at least so late
}

func newLine(wander, window float64) *line {
	k := wander * 1e-18
	return &line{ceiling: hull{side: 1, k: k, window: window}, floor: hull{side: -1, k: k, window: window}}
}

// The directions of a message.
const (
	there = iota // a ceiling
	back         // a floor
)

// maxStretches is of how many stretches the least message is kept.
const maxStretches = 64

// stretches keeps the least message of each of the last stretches of time.
type stretches struct {
	c     [maxStretches]corner
	n     int // ever
	until float64
}

// add takes a message, whose excess is side times its offset, along a line of the rate y.
func (s *stretches) add(p corner, side, y, length float64) {
	if s.n > 0 && p.x < s.until {
		if q := &s.c[(s.n-1)%maxStretches]; side*(p.u-q.u-y*(p.x-q.x)) < 0 {
			*q = p
		}
		return
	}
	s.c[s.n%maxStretches] = p
	s.n++
	s.until = p.x + length
}

func (s *stretches) move(x, u float64) {
	for i := range s.c {
		s.c[i].x -= x
		s.c[i].u -= u
	}
	s.until -= x
}

// setWindow changes how far back messages count, ns.
func (l *line) setWindow(window float64) { l.ceiling.window, l.floor.window = window, window }

func (l *line) add(direction int, p corner) {
	side, h := 1.0, &l.ceiling
	if direction == back {
		side, h = -1, &l.floor
	}
	l.least[direction].add(p, side, l.y, h.window/hullParts)
	h.take(p)
}

func (l *line) move(x, u float64) {
	l.ceiling.move(x, u)
	l.floor.move(x, u)
	l.least[there].move(x, u)
	l.least[back].move(x, u)
	l.learnAt -= x
	l.at -= x
	l.v -= u
}

// Constants of the estimate.
const (
	usualDensity = 1e-3 // messages per ns, while there are too few to tell
	minExcess    = 4.0  // ns: densities above 1/minExcess a rank are noise of the stamps
	ageNoise     = 4.0  // messages count as far back as the wander's lift stays below so many mean excesses
	fallen       = 5.0  // the mean is taken where J is within so much of its greatest
	halfSteps    = 12   // of the sum, on either side of the greatest
	minReach     = 1e-11
	maxLineRate  = 1e-3 // ns per ns
)

// posterior is what the estimate at an instant needs.
type posterior struct {
	*line
	t, age, alpha, beta float64
	level               float64 // near the hulls: what J is relative to
}

// at returns J and its slope, the middle between the hulls and their distance, for a rate.
func (p *posterior) at(y float64) (j, slope, middle, room float64) {
	i, k := p.ceiling.touch(p.t, y), p.floor.touch(p.t, y)
	top, bottom := p.ceiling.value(i, p.t, y), p.floor.value(k, p.t, y)
	j = p.alpha*(top-p.level-y*p.age) - p.beta*(bottom-p.level-y*p.age)
	slope = p.alpha*(p.t-p.ceiling.c[i].x-p.age) - p.beta*(p.t-p.floor.c[k].x-p.age)
	return j, slope, (top + bottom) / 2, top - bottom
}

// estimate takes the estimate at t, an instant not before the latest message.
func (l *line) estimate(t float64) {
	if len(l.ceiling.c) == 0 || len(l.floor.c) == 0 {
		return
	}
	p := posterior{line: l, t: t, alpha: l.density[there], beta: l.density[back]}
	if p.alpha == 0 || p.beta == 0 {
		p.alpha, p.beta = usualDensity, usualDensity
	}
	p.level = l.ceiling.c[len(l.ceiling.c)-1].u
	p.age = t - max(l.ceiling.c[0].x, l.floor.c[0].x)
	if k := l.ceiling.k; k > 0 {
		p.age = min(p.age, math.Sqrt(2*ageNoise*(1/p.alpha+1/p.beta)/k))
	}
	p.age /= 2
	y, middle, room := p.mean(p.mode())
	if t >= l.learnAt {
		l.y = y
		l.density[there] = l.densityOf(there, t, middle+room/2)
		l.density[back] = l.densityOf(back, t, middle-room/2)
		l.learnAt = t + l.ceiling.window/hullParts
	}
	shift := (1/p.beta - 1/p.alpha) / 2
	shift = min(max(shift, -room/4), room/4)
	l.known, l.at, l.y, l.v = true, t, y, middle+shift
	l.edge = [2]float64{there: room/2 - shift, back: room/2 + shift}
}

// mode returns the rate with the greatest J: tangents at both ends meet at the next rate to try.
func (p *posterior) mode() float64 {
	lo, hi := -maxLineRate, maxLineRate
	jl, sl, _, _ := p.at(lo)
	jh, sh, _, _ := p.at(hi)
	if sl <= 0 {
		return lo
	}
	if sh >= 0 {
		return hi
	}
	for range maxNewton {
		m := (jh - sh*hi - jl + sl*lo) / (sl - sh)
		if !(m > lo && m < hi) { // by rounding: between them J is as good as straight
			if m = (lo + hi) / 2; !(m > lo && m < hi) {
				break
			}
		}
		j, s, _, _ := p.at(m)
		if s == 0 || jl+sl*(m-lo)-j < 1e-9 { // the tangents meet on the curve
			return m
		}
		if s > 0 {
			lo, jl, sl = m, j, s
		} else {
			hi, jh, sh = m, j, s
		}
	}
	if jh > jl {
		return hi
	}
	return lo
}

// mean returns the means of the rate, of the middle and of the room over the posterior, by a sum over the rates about the mode.
func (p *posterior) mean(mode float64) (y, middle, room float64) {
	best, _, _, _ := p.at(mode)
	var reach [2]float64 // below and above the mode
	for i, way := range [2]float64{-1, 1} {
		limit := max(maxLineRate-way*mode, 0)
		for reach[i] = min(minReach, limit); reach[i] < limit; reach[i] = min(2*reach[i], limit) {
			if j, _, _, _ := p.at(mode + way*reach[i]); j < best-fallen {
				break
			}
		}
	}
	type sample struct{ at, width, j, middle, room float64 }
	var samples [2*halfSteps + 1]sample
	for i := range samples {
		s := sample{at: mode, width: (reach[0] + reach[1]) / 2}
		if step := float64(i - halfSteps); step != 0 {
			side := 0
			if step > 0 {
				side = 1
			}
			s.width = reach[side]
			s.at += step * reach[side] / halfSteps
		}
		s.j, _, s.middle, s.room = p.at(s.at)
		best = max(best, s.j) // the mode is as near as rounding permits
		samples[i] = s
	}
	var sum float64
	for _, s := range samples {
		w := s.width * math.Exp(s.j-best)
		sum += w
		y += w * s.at
		middle += w * s.middle
		room += w * s.room
	}
	return y / sum, middle / sum, room / sum
}

// densityOf returns how dense messages of a direction lie just above the least, per ns: by one of the least of the stretches'
// least messages, over the line through edge at t. 0 while there are too few.
func (l *line) densityOf(direction int, t, edge float64) float64 {
	side := 1 - 2*float64(direction)
	var buffer [maxStretches]float64
	n := 0
	s, k := &l.least[direction], l.ceiling.k
	for i := range min(s.n, maxStretches) {
		c := s.c[i]
		if age := t - c.x; age <= l.ceiling.window {
			buffer[n] = max(side*(c.u+l.y*age-edge)+k*age*age/2, 0)
			n++
		}
	}
	if n < 4 {
		return 0
	}
	excess := buffer[:n]
	slices.Sort(excess)
	rank := min(max(n/4, 3), 8)
	return float64(rank) / max(excess[rank]-excess[0], minExcess)
}
