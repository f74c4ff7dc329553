package network

import (
	"math"

	"meridian/clock"
)

// passage is one bound of an edge in one direction: the greatest reading (round up) or the least (round down) of clock to at a
// reading of clock from.
type passage struct {
	from, to int
	curve    clock.PairCurve
	cursor   clock.PairCursor // on curve: instants mostly move by little
	r        clock.Rounding
	edge     *clock.PairMap
	back     bool // from the edge's B to its A
}

// passagesOf returns the upper or the lower bounds of all edges, both ways. The greatest reading of A at one of B is where
// A's lower bound of B reaches it, and the other way round.
func passagesOf(edges []Edge, r clock.Rounding) []passage {
	var ps []passage
	for i := range edges {
		e := &edges[i]
		add := func(from, to int, c clock.PairCurve) {
			if len(c) > 0 {
				ps = append(ps, passage{from: from, to: to, curve: c, cursor: clock.NewCursor(c), r: r, edge: &e.Map, back: from == e.B})
			}
		}
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
// much as a corner between sticks out. Where it is so far from a corner, on either side, that two shorter lines were better,
// that is at the instant cut; otherwise cut is a.
func (p *passage) over(a, b clock.HostTime) (from, to, cut clock.HostTime) {
	atA := p.at(a)
	i := p.cursor.Piece()
	atB := p.at(b)
	inward := clock.Down
	if p.r == clock.Down {
		inward = clock.Up
	}
	out, most, where := int64(0), int64(0), clock.PairKnot{X: a, Y: atA}
	for _, k := range p.curve[i+1 : max(p.cursor.Piece(), i)+1] {
		if k.X <= a || k.X >= b {
			continue
		}
		chord := clock.Add(atA, clock.MulDiv(clock.Sub(k.X, a), clock.Sub(atB, atA), clock.Sub(b, a), inward))
		d := clock.Sub(k.Y, chord)
		if p.r == clock.Up {
			out = max(out, d)
		} else {
			out = min(out, d)
		}
		if d = max(d, -d); d > most {
			most, where = d, k
		}
	}
	if most > 0 && most > p.slack(where) {
		cut = where.X
	} else {
		cut = a
	}
	return clock.Add(atA, out), clock.Add(atB, out), cut
}

// maxAside is the part of the width between an edge's bounds by which a straight line may pass a corner before it is cut.
const maxAside = 1.0 / 32

// slack returns by how many ns a line may pass a corner before it is cut.
func (p *passage) slack(k clock.PairKnot) int64 {
	if len(p.edge.Low) == 0 || len(p.edge.High) == 0 {
		return math.MaxInt64
	}
	x := k.X
	if p.back {
		x = k.Y
	}
	low, high, _, _ := p.edge.Bounds(x)
	return int64(float64(clock.Sub(high, low)) * maxAside)
}
