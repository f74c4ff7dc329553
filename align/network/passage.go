package network

import "meridian/clock"

// passage is one bound of an edge in one direction: the greatest reading (round up) or the least (round down) of clock to at a
// reading of clock from.
type passage struct {
	from, to int
	curve    clock.PairCurve
	cursor   clock.PairCursor // on curve: instants mostly move by little
	r        clock.Rounding
}

// passagesOf returns the upper or the lower bounds of all edges, both ways. The greatest reading of A at one of B is where
// A's lower bound of B reaches it, and the other way round.
func passagesOf(edges []Edge, r clock.Rounding) []passage {
	var ps []passage
	add := func(from, to int, c clock.PairCurve) {
		if len(c) > 0 {
			ps = append(ps, passage{from: from, to: to, curve: c, cursor: clock.NewCursor(c), r: r})
		}
	}
	for _, e := range edges {
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
func (p *passage) at(x clock.HostTime) clock.HostTime { return p.cursor.Rounded(x, p.r) }

// over returns the ends of a straight line over [a, b] which the bound nowhere leaves: its chord, moved outwards by as
// much as a corner between sticks out.
func (p *passage) over(a, b clock.HostTime) (clock.HostTime, clock.HostTime) {
	atA := p.at(a)
	i := p.cursor.Piece()
	atB := p.at(b)
	inward := clock.Down
	if p.r == clock.Down {
		inward = clock.Up
	}
	out := int64(0)
	for _, k := range p.curve[i+1 : max(p.cursor.Piece(), i)+1] {
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
