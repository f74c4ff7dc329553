package network

import (
	"sort"

	"meridian/clock"
)

// passage is one bound of an edge in one direction: the most (round up) or the least (round down) that clock to can show
// when clock from shows so much. It keeps its place, for instants that move little.
type passage struct {
	from, to int
	curve    clock.Curve
	r        clock.Rounding
	piece    int
}

// passages returns all of the edges' upper or lower bounds, both ways. The greatest reading of A at one of B is where
// A's lower bound of B reaches it, and the other way round.
func (g *graph) passages(r clock.Rounding) []passage {
	var ps []passage
	add := func(from, to int, c clock.Curve) {
		if len(c) > 0 {
			ps = append(ps, passage{from: from, to: to, curve: c, r: r})
		}
	}
	for _, e := range g.edges {
		along, against := e.Map.High, e.Map.Low
		if r == clock.Down {
			along, against = against, along
		}
		add(e.A, e.B, along)
		add(e.B, e.A, outward(against, r))
	}
	return ps
}

// at returns the bound at x.
func (p *passage) at(x int64) int64 {
	c := p.curve
	if len(c) == 1 {
		return clock.Add(c[0].Timeline, clock.Sub(x, c[0].Host))
	}
	i := p.piece
	for steps := 0; ; steps++ {
		switch {
		case steps == 8: // far away
			i = sort.Search(len(c), func(i int) bool { return c[i].Host > x }) - 1
			i = min(max(i, 0), len(c)-2)
		case i+2 < len(c) && x >= c[i+1].Host:
			i++
			continue
		case i > 0 && x < c[i].Host:
			i--
			continue
		}
		break
	}
	p.piece = i
	a, b := c[i], c[i+1]
	return clock.Add(a.Timeline, clock.MulDiv(clock.Sub(x, a.Host), b.Timeline-a.Timeline, b.Host-a.Host, p.r))
}

// over returns the ends of a straight line over [a, b] which the bound nowhere leaves: its chord, moved outwards by as
// much as a corner between sticks out.
func (p *passage) over(a, b int64) (int64, int64) {
	atA := p.at(a)
	i := p.piece
	atB := p.at(b)
	inward := clock.Down
	if p.r == clock.Down {
		inward = clock.Up
	}
	out := int64(0)
	for _, k := range p.curve[i+1 : max(p.piece, i)+1] {
		if k.Host <= a || k.Host >= b {
			continue
		}
		chord := clock.Add(atA, clock.MulDiv(clock.Sub(k.Host, a), clock.Sub(atB, atA), clock.Sub(b, a), inward))
		if p.r == clock.Up {
			out = max(out, clock.Sub(k.Timeline, chord))
		} else {
			out = min(out, clock.Sub(k.Timeline, chord))
		}
	}
	return clock.Add(atA, out), clock.Add(atB, out)
}

// far is how far beyond its knots a curve is followed, ns: 18 minutes, over which a rounded nanosecond turns no slope.
const far = int64(1) << 40

// outward returns the inverse of a bound as the bound of the other direction: nowhere below the inverse if r is up,
// nowhere above if it is down. Where the bound stands still its inverse jumps, and the outer end is kept; a bound whose
// last (first) piece stands still bounds nothing that way, and nil is returned.
func outward(c clock.Curve, r clock.Rounding) clock.Curve {
	n := len(c)
	if n == 0 {
		return nil
	}
	up := r == clock.Up
	still := func(i int) bool { return i >= 0 && i+1 < n && c[i].Timeline == c[i+1].Timeline }
	if up && still(n-2) || !up && still(0) {
		return nil
	}
	inv := make(clock.Curve, 0, n+1)
	// A jump at the inner end of the piece that goes on without end would turn that piece: it is fixed far outside.
	if up && still(1) && !still(0) {
		rise := clock.MulDiv(far, c[1].Timeline-c[0].Timeline, c[1].Host-c[0].Host, clock.Up)
		inv = append(inv, clock.Knot{Host: clock.Sub(c[0].Timeline, rise), Timeline: clock.Sub(c[0].Host, far)})
	}
	for _, k := range c {
		if m := len(inv); m == 0 || inv[m-1].Host != k.Timeline {
			inv = append(inv, clock.Knot{Host: k.Timeline, Timeline: k.Host})
		} else if up {
			inv[m-1].Timeline = k.Host
		}
	}
	if !up && still(n-3) && !still(n-2) {
		a, b := c[n-2], c[n-1]
		rise := clock.MulDiv(far, b.Timeline-a.Timeline, b.Host-a.Host, clock.Up)
		inv = append(inv, clock.Knot{Host: clock.Add(b.Timeline, rise), Timeline: clock.Add(b.Host, far)})
	}
	return inv
}
