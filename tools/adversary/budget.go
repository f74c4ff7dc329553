package main

import "math"

// limits are what the offset x of any two clocks keeps, as a function of true time. At every instant t there is a slope y with
//
//	|x(t+s) - x(t) - y s|  <=  epsilon + wander s²/2     for all s, and |y| <= skew.
//
// A clock is made of parts that are given a share each: if part i of a clock keeps (epsilon_i, wander_i, skew_i), then the pair keeps
// the sums over both clocks' parts, by the triangle inequality. So shares are drawn such that those of any two clocks together
// stay within the limits. What a part keeps:
//
//	rate r                                  (0, 0, |r|)
//	rate that turns at most w a second      (0, w, greatest |rate|)
//	sine of size a, period p, as a turn     (0, a (2 pi/p)², 2 pi a/p)
//	sine as a jitter                        (2 a, 0, 0): two instants of it differ by 2 a, and the slope is the rest's
//	set by h                                (h, 0, 0)
//	rate that jumps once by j               (e, w, greatest |rate|) if j² <= 8 e w: with the slope j/2 at the jump and to either
//	                                        side, the excess j s/2 of every later instant is below e + w s²/2
//
// The command measures time by one of the two clocks, not by true time: at 500 ppm that changes a wander by less than 0.2%,
// which the limits leave room for.
type limits struct {
	epsilon float64 // ns
	wander  float64 // ppb/s
	skew    float64 // ppm
}

// stated is what the command assumes by default, less a margin for the rounding of stamps (two of 1 ns) and for the measure of time.
var stated = limits{epsilon: 95, wander: 29.8, skew: 499}

// keep gives every host a clock within the limits of every pair.
func (b *builder) keep(l limits) {
	n := len(b.Hosts)
	// One clock may take most of what there is, and the others share what is left alike.
	share := func(total float64) []float64 {
		shares := make([]float64, n)
		most := total / 2
		if chance(b.r, 2) {
			most = uniform(b.r, total/2, total)
		}
		for i := range shares {
			shares[i] = total - most
		}
		shares[b.r.IntN(n)] = most
		return shares
	}
	epsilon, wander, skew := share(l.epsilon), share(l.wander), share(l.skew)
	for i := range b.Hosts {
		c := &b.Hosts[i].Clock
		own := limits{epsilon[i], wander[i], skew[i]}
		// Most clocks are some 20 ppm off; some are as far off as they may be.
		rate := min(own.skew*0.9, math.Abs(b.r.NormFloat64()*20))
		if chance(b.r, 5) {
			rate = own.skew * 0.9
		}
		if chance(b.r, 2) {
			rate = -rate
		}
		c.Terms = append(c.Terms, b.turning(rate*1e3, own))
		b.ripple(c, own)
	}
}

// turning is a rate about rate (ppb) that takes a clock's share of the wander.
func (b *builder) turning(rate float64, own limits) Term {
	t := Term{Kind: "rates", Knots: []Knot{{At: 0, Rate: rate}}}
	room := own.skew * 0.05 * 1e3 // ppb; the ripple may take as much again
	switch w := own.wander / 2; b.r.IntN(5) {
	case 0: // constant
	case 1: // turns always one way, as far as there is room
		length := min(float64(b.span)/1e9, room/w)
		t.Knots = append(t.Knots, Knot{At: 0, Rate: rate, Slope: w}, Knot{At: int64(length * 1e9), Rate: rate + w*length})
	case 2: // turns back and forth, at random, always as hard as it may
		b.bang(&t, rate, room, w, func() float64 { return logUniform(b.r, 0.01, 2) })
	case 3: // back and forth in step
		every := logUniform(b.r, 0.01, 0.5)
		b.bang(&t, rate, room, w, func() float64 { return every })
	case 4: // a random walk
		b.walk(&t, rate, room, w)
	}
	return t
}

// bang turns a rate by +w and -w a second in turns of a length relative to the span.
func (b *builder) bang(t *Term, rate, room, w float64, length func() float64) {
	at, now, sign := 0.0, rate, pick(b.r, 1.0, -1)
	for range 200 {
		s := length() * float64(b.span) / 1e9 // seconds
		to := now + sign*w*s
		if math.Abs(to-rate) > room {
			to = rate + sign*room
			s = math.Abs(to-now) / w
		}
		t.Knots = append(t.Knots, Knot{At: int64(at * 1e9), Rate: now, Slope: sign * w})
		// Knots are whole ns: the rate follows from the knots, so that it does not jump.
		at = float64(int64((at+s)*1e9)) / 1e9
		now += sign * w * (at - float64(t.Knots[len(t.Knots)-1].At)/1e9)
		sign = -sign
		if at > 2*float64(b.span)/1e9 {
			break
		}
	}
	t.Knots = append(t.Knots, Knot{At: int64(at * 1e9), Rate: now})
}

// walk turns a rate by up to w a second, at random.
func (b *builder) walk(t *Term, rate, room, w float64) {
	now, steps := rate, 50+b.r.IntN(200)
	for i := range steps {
		at := int64(float64(b.span) * float64(i) / float64(steps))
		next := int64(float64(b.span) * float64(i+1) / float64(steps))
		slope := uniform(b.r, -w, w)
		if s := float64(next-at) / 1e9; math.Abs(now+slope*s-rate) > room {
			slope = 0
		}
		t.Knots = append(t.Knots, Knot{At: at, Rate: now, Slope: slope})
		now += slope * float64(next-at) / 1e9
	}
	t.Knots = append(t.Knots, Knot{At: b.span, Rate: now})
}

// ripple adds what takes a clock's share of epsilon, and the other half of its wander.
func (b *builder) ripple(c *Clock, own limits) {
	e, w := own.epsilon, own.wander/2
	at := int64(b.r.Float64() * float64(b.span))
	switch b.r.IntN(6) {
	case 0:
	case 1: // jitter
		c.Terms = append(c.Terms, Term{Kind: "sine", Size: e / 2, Period: logUniform(b.r, 1e6, max(2e6, float64(b.span)))})
	case 2: // set by little
		c.Terms = append(c.Terms, Term{Kind: "step", At: at, Size: pick(b.r, e, -e)})
	case 3: // a jump of the rate
		j := math.Min(math.Sqrt(8*e*w), own.skew*0.05*1e3)
		c.Terms = append(c.Terms, Term{Kind: "rates", Knots: []Knot{{At: 0, Rate: 0}, {At: at, Rate: pick(b.r, j, -j)}}})
	case 4: // a wave
		period := logUniform(b.r, 0.1, 3) * float64(b.span)
		size := min(w*math.Pow(period/1e9/2/math.Pi, 2), own.skew*0.05*1e3*period/1e9/2/math.Pi)
		c.Terms = append(c.Terms, Term{Kind: "sine", At: at, Size: size, Period: period})
	case 5: // slews out and back within epsilon
		length := logUniform(b.r, 1e6, max(2e6, float64(b.span)/4))
		rate := e / (length / 1e9)
		c.Terms = append(c.Terms, Term{Kind: "rates", Knots: []Knot{{At: 0}, {At: at, Rate: rate}, {At: at + int64(length)},
			{At: at + 2*int64(length), Rate: -rate}, {At: at + 3*int64(length)}}})
	}
}
