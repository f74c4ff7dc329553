package align

import (
	"math"
	"slices"

	"meridian/clock"
)

// joined returns one map of a clock's pieces.
//
// Where a clock was set forward its stamps have a gap, into which stamps between the last message before and the first one
// behind may fall: the estimate goes on along both pieces up to the middle of the silence, and the bounds say no more than
// that time does not run back. Where it was set back it showed stamps twice: the estimate is the first time's, and the
// bounds hold both. Pieces of which one ended after the next began, by what bounds them, are bounded by nothing.
func joined(pieces []Piece) clock.Map {
	switch len(pieces) {
	case 0:
		return clock.Identity()
	case 1:
		return pieces[0].Map
	}
	m := clock.Map{Mid: joinedMid(pieces)}
	m.Low = joinedBound(pieces, false)
	m.High = joinedBound(pieces, true)
	if crossed(m.Low, m.High) {
		m.Low, m.High = nil, nil
	}
	return m
}

// crossed reports whether a lower bound lies above an upper one.
func crossed(low, high clock.Curve) bool {
	if low == nil || high == nil {
		return false
	}
	return slices.ContainsFunc(low, func(k clock.Knot) bool { return k.Y > high.At(k.X, clock.Up) }) ||
		slices.ContainsFunc(high, func(k clock.Knot) bool { return k.Y < low.At(k.X, clock.Down) })
}

// Runs returns a map for each stretch of a clock's trace in which its stamps do not run back, in the order of time: one
// for a clock that was never set back. Who reads a trace in the order in which it was recorded, and sees its stamps run
// back as often, knows of which stretch each is.
func (s *Solution) Runs(c int) []clock.Map {
	if s.Pieces == nil || s.Pieces[c] == nil {
		return s.Maps[c : c+1]
	}
	var runs []clock.Map
	from := 0
	for i, n := 0, 0; i < len(s.Steps); i++ {
		if s.Steps[i].Clock != c {
			continue
		}
		if n++; s.Steps[i].By < 0 {
			runs, from = append(runs, joined(placed(s.Pieces[c][from:n]))), n
		}
	}
	return append(runs, joined(placed(s.Pieces[c][from:])))
}

// far is how far before the first piece and behind the last one a curve has its outer knots, ns: the slope beyond them is
// that between them and the next.
const far = int64(1) << 40

// joinedMid follows each piece over the stamps that none before it had.
func joinedMid(pieces []Piece) clock.Curve {
	var out clock.Curve
	add := func(host, timeline int64) {
		if n := len(out); n > 0 {
			if host <= out[n-1].X {
				return
			}
			timeline = max(timeline, out[n-1].Y)
		}
		out = append(out, clock.Knot{X: host, Y: timeline})
	}
	for k, p := range pieces {
		mid := p.Map.Mid
		from, to := p.First, p.Last
		if k == 0 {
			from = clock.Sub(min(from, mid[0].X), far)
		} else {
			from = clock.Sub(from, half(&pieces[k-1], &p))
		}
		if k == len(pieces)-1 {
			to = clock.Add(max(to, mid[len(mid)-1].X), far)
		} else {
			to = clock.Add(to, half(&p, &pieces[k+1]))
		}
		if len(out) > 0 {
			from = max(from, out[len(out)-1].X+1)
		}
		if from > to {
			continue
		}
		add(from, mid.At(from, clock.Nearest))
		for _, x := range mid {
			if x.X > from && x.X < to {
				add(x.X, x.Y)
			}
		}
		add(to, mid.At(to, clock.Nearest))
	}
	return out
}

// half is half of the silence between two pieces, ns of the timeline.
func half(p, q *Piece) int64 {
	return max(clock.Sub(q.Map.At(q.First), p.Map.At(p.Last)), 0) / 2
}

// joinedBound returns the lower or the upper bound of all pieces that may have had a stamp: nil where nothing bounds one
// of them.
func joinedBound(pieces []Piece, upper bool) clock.Curve {
	var parts []part
	last := len(pieces) - 1
	for k := range pieces {
		p := &pieces[k]
		x := part{curve: p.Map.Low, from: p.First, to: p.Last}
		if upper {
			x.curve = p.Map.High
		}
		// A piece that nothing bounds lies before what follows it, or behind what went before.
		if x.curve == nil {
			var ok bool
			if x.flat, ok = beyond(pieces, k, upper); !ok {
				return nil
			}
		}
		if k == 0 {
			x.from = clock.Sub(x.first(), far)
		}
		if k == last {
			x.to = clock.Add(x.last(), far)
		}
		x.openLeft, x.openRight = k == 0, k == last
		parts = append(parts, x)
		if k < last {
			// What lies in the silence behind the piece: between its last message and the next piece's first.
			edge, ok := silence(p, &pieces[k+1], upper)
			if !ok {
				if edge, ok = beyond(pieces, k+boolToInt(!upper), upper); !ok {
					return nil
				}
			}
			reach := widest(p, &pieces[k+1])
			parts = append(parts, part{flat: edge, from: p.Last, to: clock.Add(p.Last, reach)})
			parts = append(parts, part{flat: edge, from: clock.Sub(pieces[k+1].First, reach), to: pieces[k+1].First})
		}
	}
	return outermost(parts, upper)
}

// silence returns the bound of what lies between two pieces.
func silence(p, q *Piece, upper bool) (int64, bool) {
	if upper {
		_, high, _, ok := q.Map.Bounds(q.First)
		return high, ok
	}
	low, _, ok, _ := p.Map.Bounds(p.Last)
	return low, ok
}

// beyond returns the bound of a piece that nothing else bounds: the nearest piece's before it, or behind it.
func beyond(pieces []Piece, k int, upper bool) (int64, bool) {
	if upper {
		for j := k + 1; j < len(pieces); j++ {
			if _, high, _, ok := pieces[j].Map.Bounds(pieces[j].First); ok {
				return high, true
			}
		}
		return 0, false
	}
	for j := k - 1; j >= 0; j-- {
		if low, _, ok, _ := pieces[j].Map.Bounds(pieces[j].Last); ok {
			return low, true
		}
	}
	return 0, false
}

// widest is how far a clock's readings may go between two pieces at most, ns: twice as fast as the timeline.
func widest(p, q *Piece) int64 {
	low, _, okLow, _ := p.Map.Bounds(p.Last)
	_, high, _, okHigh := q.Map.Bounds(q.First)
	if !okLow || !okHigh {
		low, high = p.Map.At(p.Last), q.Map.At(q.First)
	}
	d := max(clock.Sub(high, low), 0)
	return clock.Add(clock.Add(d, d), 1)
}

// part is a bound over some stamps: a curve, or the same for all.
type part struct {
	curve               clock.Curve
	flat                int64
	from, to            int64
	openLeft, openRight bool // it holds for all stamps before, or behind, as well
}

func (p *part) first() int64 {
	if p.curve == nil {
		return p.from
	}
	return min(p.from, p.curve[0].X)
}

func (p *part) last() int64 {
	if p.curve == nil {
		return p.to
	}
	return max(p.to, p.curve[len(p.curve)-1].X)
}

func (p *part) at(t int64, r clock.Rounding) int64 {
	if p.curve == nil {
		return p.flat
	}
	return p.curve.At(t, r)
}

// outermost returns the outermost of all parts. Between two of its knots each part is straight, and the chord of the
// outermost of straight lines lies outside them.
func outermost(parts []part, upper bool) clock.Curve {
	var hosts []int64
	for _, p := range parts {
		hosts = append(hosts, p.from, p.to)
		if !p.openLeft {
			hosts = append(hosts, p.from-1)
		}
		if !p.openRight {
			hosts = append(hosts, p.to+1)
		}
		for _, k := range p.curve {
			if k.X > p.from && k.X < p.to {
				hosts = append(hosts, k.X)
			}
		}
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	out := make(clock.Curve, len(hosts))
	for i, h := range hosts {
		v, any := int64(math.MaxInt64), false
		for j := range parts {
			p := &parts[j]
			if h < p.from && !p.openLeft || h > p.to && !p.openRight {
				continue
			}
			w := p.at(h, clock.Down)
			if upper {
				w = -p.at(h, clock.Up)
			}
			v, any = min(v, w), true
		}
		if upper {
			v = -v
		}
		if !any { // no stamp is here
			v = math.MaxInt64
			if upper {
				v = math.MinInt64
			}
		}
		out[i] = clock.Knot{X: h, Y: v}
	}
	if upper {
		for i := 1; i < len(out); i++ {
			out[i].Y = max(out[i].Y, out[i-1].Y)
		}
	} else {
		for i := len(out) - 2; i >= 0; i-- {
			out[i].Y = min(out[i].Y, out[i+1].Y)
		}
	}
	return out
}
