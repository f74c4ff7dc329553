package steps

import (
	"math"
	"slices"

	"meridian/align/internal/curves"
	"meridian/clock"
)

// Join returns one map for the pieces of a clock, in the order of time. Pieces without a map, which share no component with
// the others, are left out.
//
// Where the clock was set forward its readings have a gap. Stamps of no message may lie in it: between the last message
// before the step and the step, or between the step and the first message behind. The estimate follows both pieces up to the
// middle of the silence. The bounds there state only that time does not run back.
//
// Where the clock was set back it showed readings twice. For these the estimate is that of the first time, and the bounds
// contain both times. If, by their bounds, a piece ended after the next began, both bounds are nil. So they are
// where knots saturate: decades from the trace.
func Join(all []Piece) clock.Map {
	return join(slices.DeleteFunc(slices.Clone(all), func(p Piece) bool { return p.Map.Mid == nil }))
}

// join joins pieces that all have a map.
func join(pieces []Piece) clock.Map {
	switch len(pieces) {
	case 0:
		return clock.Identity()
	case 1:
		return pieces[0].Map
	}
	m := clock.Map{Mid: curves.Rising(joinEstimates(pieces))}
	m.Low = joinBounds(pieces, false)
	m.High = joinBounds(pieces, true)
	if !curves.ValidBounds(&m) || crossed(m.Low, m.High) || overlapping(pieces) {
		m.Low, m.High = nil, nil
	}
	return m
}

// overlapping reports whether a piece ended, by its bounds, after the next one began.
func overlapping(pieces []Piece) bool {
	for k := range len(pieces) - 1 {
		p, q := &pieces[k], &pieces[k+1]
		low, _, lowOK, _ := p.Map.Bounds(p.Last)
		_, high, _, highOK := q.Map.Bounds(q.First)
		if lowOK && highOK && low > high {
			return true
		}
	}
	return false
}

// crossed reports whether a lower bound lies above an upper one.
func crossed(low, high clock.Curve) bool {
	if low == nil || high == nil {
		return false
	}
	return slices.ContainsFunc(low, func(k clock.Knot) bool { return k.Y > high.At(k.X, clock.Up) }) ||
		slices.ContainsFunc(high, func(k clock.Knot) bool { return k.Y < low.At(k.X, clock.Down) })
}

// far is how far before the first piece and behind the last one a curve has its outermost knots, ns. Beyond them it follows
// the slope of its outermost pieces.
const far = int64(1) << 40

// joinEstimates returns the curve that follows each piece over the readings that no piece before it had.
func joinEstimates(pieces []Piece) clock.Curve {
	var out clock.Curve
	add := func(host clock.HostTime, timeline clock.TimelineTime) {
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
			from = clock.Add(min(from, mid[0].X), -far)
		} else {
			from = clock.Add(from, -halfSilence(&pieces[k-1], &p))
		}
		if len(out) > 0 {
			from = max(from, out[len(out)-1].X+1)
		}
		if k == len(pieces)-1 { // all later readings are of this piece, also where it was set far back
			to = clock.Add(max(to, mid[len(mid)-1].X, from), far)
		} else {
			to = clock.Add(to, halfSilence(&p, &pieces[k+1]))
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

// halfSilence returns half of the silence between two pieces, ns of the timeline.
func halfSilence(p, q *Piece) int64 {
	return max(clock.Sub(q.Map.At(q.First), p.Map.At(p.Last)), 0) / 2
}

// joinBounds returns the curve that contains, on one side, the bounds of all pieces that may have shown a reading. It is nil
// where one of them has no bound on that side.
func joinBounds(pieces []Piece, upper bool) clock.Curve {
	var spans []span
	last := len(pieces) - 1
	for k := range pieces {
		p := &pieces[k]
		x := span{curve: p.Map.Low, from: p.First, to: p.Last}
		if upper {
			x.curve = p.Map.High
		}
		// A piece without a bound of its own is bounded by its order: it lies before the next piece, and behind the last.
		if x.curve == nil {
			var ok bool
			if x.constant, ok = beyond(pieces, k, upper); !ok {
				return nil
			}
		}
		if k == 0 {
			x.from = clock.Add(x.first(), -far)
		}
		if k == last {
			x.to = clock.Add(x.last(), far)
		}
		x.openLeft, x.openRight = k == 0, k == last
		spans = append(spans, x)
		if k < last {
			// Readings in the silence behind the piece lie between its last message and the next piece's first.
			edge, ok := silence(p, &pieces[k+1], upper)
			if !ok {
				if edge, ok = beyond(pieces, edgeOf(k, upper), upper); !ok {
					return nil
				}
			}
			reach := maxReadings(p, &pieces[k+1])
			end, begin := clock.Add(p.Last, reach), clock.Add(pieces[k+1].First, -reach)
			if p.StoodStill {
				end, begin = min(end, pieces[k+1].First), max(begin, p.Last)
			}
			spans = append(spans, span{constant: edge, from: p.Last, to: end})
			spans = append(spans, span{constant: edge, from: begin, to: pieces[k+1].First})
		}
	}
	return outermost(spans, upper)
}

// edgeOf returns the piece whose order bounds the silence behind piece k.
func edgeOf(k int, upper bool) int {
	if upper {
		return k
	}
	return k + 1
}

// silence returns the bound of instants between two pieces: the first message of the later one, or the last of the earlier.
func silence(p, q *Piece, upper bool) (clock.TimelineTime, bool) {
	if upper {
		_, high, _, ok := q.Map.Bounds(q.First)
		return high, ok
	}
	low, _, ok, _ := p.Map.Bounds(p.Last)
	return low, ok
}

// beyond returns the bound of piece k by its order: that of the nearest bounded piece behind it, or before it.
func beyond(pieces []Piece, k int, upper bool) (clock.TimelineTime, bool) {
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

// maxReadings returns how far a clock's readings can go in the silence between two pieces, ns: the clock may run twice as
// fast as the timeline.
func maxReadings(p, q *Piece) int64 {
	low, _, okLow, _ := p.Map.Bounds(p.Last)
	_, high, _, okHigh := q.Map.Bounds(q.First)
	if !okLow || !okHigh {
		low, high = p.Map.At(p.Last), q.Map.At(q.First)
	}
	d := max(clock.Sub(high, low), 0)
	return clock.Add(clock.Add(d, d), 1)
}

// span is a bound for the readings in an interval: a curve or, where that is nil, a constant.
type span struct {
	curve               clock.Curve
	constant            clock.TimelineTime
	from, to            clock.HostTime
	openLeft, openRight bool // it also holds for all readings before from, or behind to
}

func (p *span) first() clock.HostTime {
	if p.curve == nil {
		return p.from
	}
	return min(p.from, p.curve[0].X)
}

func (p *span) last() clock.HostTime {
	if p.curve == nil {
		return p.to
	}
	return max(p.to, p.curve[len(p.curve)-1].X)
}

func (p *span) at(t clock.HostTime, r clock.Rounding) clock.TimelineTime {
	if p.curve == nil {
		return p.constant
	}
	return p.curve.At(t, r)
}

// outermost returns the curve that contains all spans on one side. Between two of its knots each span is straight; the
// chord of the outermost of straight lines lies outside all of them.
func outermost(spans []span, upper bool) clock.Curve {
	var hosts []clock.HostTime
	for _, p := range spans {
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
	// Two knots behind the last jump, and before the first: beyond them the curve follows the open span alone.
	hosts = append(hosts, clock.Add(slices.Min(hosts), -far), clock.Add(slices.Max(hosts), far))
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	out := make(clock.Curve, len(hosts))
	for i, h := range hosts {
		v, any := clock.TimelineTime(math.MaxInt64), false
		for j := range spans {
			p := &spans[j]
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
		if !any { // no reading is here
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
