package align

import (
	"math"
	"sort"

	"meridian/align/pair"
	"meridian/clock"
)

// label says of every point to which piece it belongs. Near a cut order along the axis decides nothing: messages were on
// their way when the clock was set, and a message that either piece allows may have been stamped on either side. There
// only a contradiction counts.
func (v *sweep) label(w float64) {
	for k, r := range v.everyPiece {
		for i := r.from; i < r.to; i++ {
			if v.points[i].piece != wrongPoint {
				v.points[i].piece = int16(k)
			}
		}
	}
	for k := range v.everyPiece[:len(v.everyPiece)-1] {
		v.cuts = append(v.cuts, v.labelCut(k, w))
	}
	v.extents()
	v.wrong = 0
	for i := range v.points {
		if v.points[i].piece == wrongPoint {
			v.wrong++
		}
	}
}

// widths is within how many widths of the corridor a message may still have been on its way at a cut.
const widths = 10

// labelCut labels the points near the cut behind piece k.
func (v *sweep) labelCut(k int, w float64) cut {
	one, two := v.everyPiece[k], v.everyPiece[k+1]
	at, _ := v.at(&v.points[two.from], 0)
	// The corridors of both at the cut, of all their points at first, then of those that lie surely on their side.
	before := v.through(unknown(), one, one.rate, v.slack(one, w), true, nil)
	behind := v.through(unknown(), two, two.rate, v.slack(two, w), false, nil)
	margin := min(widths*max(width(before), width(behind)), v.duration(one)/4, v.duration(two)/4)
	lo := v.index(one, at-margin)
	hi := v.index(two, at+margin)
	before = v.through(unknown(), rated{from: one.from, to: lo}, one.rate, v.slack(one, w), true, nil)
	behind = v.through(unknown(), rated{from: hi, to: two.to}, two.rate, v.slack(two, w), false, nil)

	// Back to the latest point that the new piece does not allow: what lies between may belong to either.
	reached := behind
	for lo > one.from {
		p := &v.points[lo-1]
		t, y := v.at(p, two.rate)
		if reached.move(t, v.slack(two, w)); p.piece != wrongPoint && !reached.allows(y, p.floor) {
			break
		}
		lo--
	}
	for i := lo; i < hi; i++ {
		p := &v.points[i]
		switch old, new := v.allowed(before, p, one, w), v.allowed(behind, p, two, w); {
		case old && new:
			p.piece = unsure(k)
		case old:
			p.piece = int16(k)
		case new:
			p.piece = int16(k + 1)
		default:
			p.piece = wrongPoint
		}
	}
	c := cut{margin: int64(min(margin, 1e15))}
	before.move(at, v.slack(one, w))
	behind.move(at, v.slack(two, w))
	shift := (two.rate - one.rate) * at // both are told less their own rate
	c.lo, c.hi = behind.low-before.high+shift, behind.high-before.low+shift
	return c
}

// slack is how fast a piece's offset may leave its rate; where nothing tells the rate, that is how fast clocks may differ.
func (v *sweep) slack(r rated, w float64) float64 {
	if !r.known {
		return sweepRates[0]
	}
	return w
}

func width(s state) float64 {
	if d := s.high - s.low; d >= 0 && !math.IsInf(d, 0) {
		return d
	}
	return 0
}

// duration returns how long a piece lasts, ns.
func (v *sweep) duration(r rated) float64 {
	return float64(v.stamp(&v.points[r.to-1]) - v.stamp(&v.points[r.from]))
}

// index returns the first point of a stretch at or behind an instant.
func (v *sweep) index(r rated, t float64) int {
	return r.from + sort.Search(r.to-r.from, func(i int) bool {
		at, _ := v.at(&v.points[r.from+i], 0)
		return at >= t
	})
}

// allowed reports whether a piece, of which the state at some instant is known, allows a point.
func (v *sweep) allowed(s state, p *point, r rated, w float64) bool {
	t, y := v.at(p, r.rate)
	s.move(t, v.slack(r, w))
	return s.allows(y, p.floor)
}

// extents notes at every cut the stamps of both clocks next to it.
func (v *sweep) extents() {
	type extent struct{ first, last [2]int64 }
	all := make([]extent, len(v.everyPiece))
	for k := range all {
		all[k] = extent{[2]int64{math.MaxInt64, math.MaxInt64}, [2]int64{math.MinInt64, math.MinInt64}}
	}
	for i := range v.points {
		p := &v.points[i]
		if p.piece < 0 {
			continue
		}
		e := &all[p.piece]
		for n, stamp := range []int64{p.a, p.b} {
			e.first[n], e.last[n] = min(e.first[n], stamp), max(e.last[n], stamp)
		}
	}
	for k := range v.cuts {
		v.cuts[k].before, v.cuts[k].behind = all[k].last, all[k+1].first
	}
}

// broken returns how the offset of two clocks falls into pieces, nil if it does not and nothing about it is wrong, or if
// so much is wrong that it is not for a clock that was set. A clock that was set back shows stamps twice, and along them
// the messages before and behind get mixed; so both clocks are tried.
func broken(p *pair.Problem) *sweep {
	var best *sweep
	for _, alongB := range []bool{false, true} {
		if v := newSweep(p, alongB); v.run() && v.told() && (best == nil || v.cost() < best.cost()) {
			best = v
		}
	}
	if best == nil || best.cost() == 0 || best.wrong > max(min(fewest, len(best.points)/16), len(best.points)/50) {
		return nil
	}
	return best
}

// told reports whether every piece has points that are surely of it.
func (v *sweep) told() bool {
	for _, c := range v.cuts {
		for n := range c.before {
			if c.before[n] == math.MinInt64 || c.behind[n] == math.MaxInt64 {
				return false
			}
		}
	}
	return true
}

// by returns the size of a step and how far it may be off.
func (c *cut) by() (by, give int64) {
	lo, hi := c.lo, c.hi
	switch {
	case math.IsInf(lo, 0) && math.IsInf(hi, 0):
		return 0, 0
	case math.IsInf(lo, 0):
		lo = hi
	case math.IsInf(hi, 0):
		hi = lo
	}
	half := math.Abs(hi-lo) / 2
	limit := float64(clock.Limit)
	return int64(min(max(lo+(hi-lo)/2, -limit), limit)), int64(min(half, limit))
}

// sided tells which of the two clocks was set, 0 or 1, or -1 if their stamps do not tell. One that was set back shows
// stamps twice. One that was set forward has a gap in its stamps where the other has none; had the other been set back
// instead, both would have been silent for as long, by chance.
func (v *sweep) sided(c *cut) int {
	by, _ := c.by()
	forward, back := 1, 0 // b forward or a back
	if by < 0 {
		forward, back = 0, 1
	}
	if c.before[back]-c.behind[back] > c.margin {
		return back
	}
	size := max(by, -by)
	gap := c.behind[forward] - c.before[forward]    // of the clock that went forward, or of silence
	silence := c.behind[back] - c.before[back]      // of the other
	usual := max(2*v.usualGap(), silence, c.margin) // what silence is not surprising
	if gap > 2*usual && size > gap/2 {
		return forward
	}
	return -1
}

// usualGap returns the longest silence within pieces, along the axis, ns.
func (v *sweep) usualGap() (longest int64) {
	for i := 1; i < len(v.points); i++ {
		p, q := &v.points[i-1], &v.points[i]
		if p.piece == q.piece && p.piece >= 0 {
			longest = max(longest, v.stamp(q)-v.stamp(p))
		}
	}
	return longest
}
