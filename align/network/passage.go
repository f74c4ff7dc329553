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
		add(e.B, e.A, against.InverseBound(r))
	}
	return ps
}

// at returns the bound at x.
func (p *passage) at(x int64) int64 {
	c := p.curve
	if len(c) == 1 {
		return clock.Add(c[0].Y, clock.Sub(x, c[0].X))
	}
	i := p.piece
	for steps := 0; ; steps++ {
		switch {
		case steps == 8: // far away
			i = sort.Search(len(c), func(i int) bool { return c[i].X > x }) - 1
			i = min(max(i, 0), len(c)-2)
		case i+2 < len(c) && x >= c[i+1].X:
			i++
			continue
		case i > 0 && x < c[i].X:
			i--
			continue
		}
		break
	}
	p.piece = i
	a, b := c[i], c[i+1]
	return clock.Add(a.Y, clock.MulDiv(clock.Sub(x, a.X), b.Y-a.Y, b.X-a.X, p.r))
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
		if k.X <= a || k.X >= b {
			continue
		}
		chord := clock.Add(atA, clock.MulDiv(clock.Sub(k.X, a), clock.Sub(atB, atA), clock.Sub(b, a), inward))
		if p.r == clock.Up {
			out = max(out, clock.Sub(k.Y, chord))
		} else {
			out = min(out, clock.Sub(k.Y, chord))
		}
	}
	return clock.Add(atA, out), clock.Add(atB, out)
}
