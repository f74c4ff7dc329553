package steps

import (
	"math"
	"slices"

	"meridian/align/pair"
	"meridian/clock"
)

// label says to which piece of the offset a message belongs. The zero value is the first piece.
type label struct {
	kind  labelKind
	piece uint8
}

type labelKind uint8

const (
	certain   labelKind = iota // it belongs to piece
	uncertain                  // it belongs to piece or to the next one: either allows it, and it lies near the cut
	excluded                   // it is an outlier, which belongs to none
)

// outlier is the label of a message that contradicts all others around it.
var outlier = label{kind: excluded}

// inPiece returns the label of a message that belongs to piece k.
func inPiece(k int) label { return label{certain, uint8(k)} }

// nearCut returns the label of a message that belongs to piece k or to piece k+1.
func nearCut(k int) label { return label{uncertain, uint8(k)} }

// outlier reports whether it is the label of an outlier.
func (l label) outlier() bool { return l.kind == excluded }

// in returns the piece of a message; false if that is not certain.
func (l label) in() (int, bool) { return int(l.piece), l.kind == certain }

// sideOf reports whether a message surely lies before a cut, the one behind piece k, and whether surely behind it.
func (l label) sideOf(k int) (before, behind bool) {
	if l.outlier() {
		return false, false
	}
	piece := int(l.piece)
	return piece < k || piece == k && l.kind == certain, piece > k
}

// cut is a step of the offset between one piece and the next.
type cut struct {
	lo, hi float64 // interval of the step of b - a, ns; one may be infinite
	margin int64   // ns around it within which the order along the axis decides nothing
	// Of each clock: its last stamp surely before the cut and its first surely behind it.
	before, behind [2]clock.HostTime
}

// partition is a series whose points are labelled with their piece.
type partition struct {
	*series
	segments []segment // of each piece
	cuts     []cut     // one less than pieces
	outliers int
}

// partitionOf returns how the offset of two clocks falls into pieces. It returns nil if there is but one piece and no
// outlier, or if there are so many outliers that the cause is not a clock that was set. A clock that was set back shows
// stamps twice, and in the order of its stamps the messages of two pieces are mixed; so either clock is tried as the axis.
//
// A clock that was set back by more than it had shown shows no stamp twice. Along either axis the other clock then turns back, and
// the messages of the two alone do not tell which one did: other is what they show along the second clock; else nil.
func partitionOf(p *pair.Problem) (best, other *partition) {
	for _, alongB := range []bool{false, true} {
		switch v, ok := partitionAlong(p, alongB, rateSlacks); {
		case !ok || !v.distinct():
		case best == nil || v.cost() < best.cost():
			best = v
		case v.cost() == best.cost() && v.turnsBack() && best.turnsBack():
			other = v
		}
	}
	if best == nil || best.cost() == 0 || best.outliers > max(min(minSupport, len(best.points)/16), len(best.points)/50) {
		return nil, nil
	}
	return best, other
}

// turnsBack reports whether the clock that is not the axis shows, behind a cut, stamps before those that it showed before the cut.
func (v *partition) turnsBack() bool {
	n := 1
	if v.alongB {
		n = 0
	}
	return slices.ContainsFunc(v.cuts, func(c cut) bool { return c.behind[n] < c.before[n] })
}

// partitionAlong returns the pieces along one clock's stamps; false if there are too many.
func partitionAlong(p *pair.Problem, alongB bool, slacks []float64) (*partition, bool) {
	s := search{series: newSeries(p, alongB), slacks: slacks}
	if !s.run() {
		return nil, false
	}
	v := &partition{series: s.series, segments: s.segments}
	v.label(s.last())
	return v, true
}

// smallStep looks for one small step of either clock. It returns nil if the offset changed gradually, as where a clock
// was slewed, or if the messages show anything else.
func smallStep(p *pair.Problem) *partition {
	v, ok := partitionAlong(p, false, fineSlacks)
	if !ok || len(v.cuts) != 1 || !v.distinct() || v.outliers > 0 {
		return nil
	}
	if by, tolerance := v.cuts[0].by(); max(by, -by) <= 2*tolerance {
		return nil
	}
	return v
}

// cost compares partitions: outliers and cuts, of which an axis in the wrong order has many.
func (v *partition) cost() int { return v.outliers + minSupport*len(v.cuts) }

// distinct reports whether every piece has points that surely belong to it.
func (v *partition) distinct() bool {
	for _, c := range v.cuts {
		for n := range c.before {
			if c.before[n] == math.MinInt64 || c.behind[n] == math.MaxInt64 {
				return false
			}
		}
	}
	return true
}

// label labels every point. Near a cut the order along the axis decides nothing: messages were on their way when the clock
// was set, and a message that both pieces allow may have been stamped on either side. There only a contradiction counts.
func (v *partition) label(w float64) {
	for k, r := range v.segments {
		for i := r.from; i < r.to; i++ {
			if !v.points[i].label.outlier() {
				v.points[i].label = inPiece(k)
			}
		}
	}
	for k := range v.segments[:len(v.segments)-1] {
		v.cuts = append(v.cuts, v.labelCut(k, w))
	}
	v.extents()
	for i := range v.points {
		if v.points[i].label.outlier() {
			v.outliers++
		}
	}
}

// cutMargin is within how many widths of the corridor a message may still have been on its way at a cut.
const cutMargin = 10

// labelCut labels the points near the cut behind piece k.
func (v *partition) labelCut(k int, w float64) cut {
	one, two := v.segments[k], v.segments[k+1]
	at, _ := v.at(&v.points[two.from], 0)
	// The corridors of both pieces at the cut: first by all their points, then by those surely on their side.
	before := v.through(openCorridor(), one, one.rate, one.slack(w), true, nil)
	behind := v.through(openCorridor(), two, two.rate, two.slack(w), false, nil)
	margin := min(cutMargin*max(before.width(), behind.width()), v.duration(one)/4, v.duration(two)/4)
	lo := v.index(one, at-margin)
	hi := v.index(two, at+margin)
	before = v.through(openCorridor(), segment{from: one.from, to: lo}, one.rate, one.slack(w), true, nil)
	behind = v.through(openCorridor(), segment{from: hi, to: two.to}, two.rate, two.slack(w), false, nil)

	// Go back to the latest point that the new piece does not allow. All points behind it may belong to either.
	reached := behind
	for lo > one.from {
		p := &v.points[lo-1]
		t, y := v.at(p, two.rate)
		if reached.move(t, two.slack(w)); !p.label.outlier() && !reached.allows(y, p.floor) {
			break
		}
		lo--
	}
	for i := lo; i < hi; i++ {
		p := &v.points[i]
		switch old, new := v.allowed(before, p, one, w), v.allowed(behind, p, two, w); {
		case old && new:
			p.label = nearCut(k)
		case old:
			p.label = inPiece(k)
		case new:
			p.label = inPiece(k + 1)
		default:
			p.label = outlier
		}
	}
	c := cut{margin: int64(min(margin, 1e15))}
	before.move(at, one.slack(w))
	behind.move(at, two.slack(w))
	shift := (two.rate - one.rate) * at // each corridor is relative to its own rate
	c.lo, c.hi = behind.low-before.high+shift, behind.high-before.low+shift
	return c
}

// slack returns how far the rate of the offset may depart from the segment's, given that of a segment whose rate is known.
// Where nothing tells the rate it is how far two clocks may differ.
func (r segment) slack(w float64) float64 {
	if !r.known {
		return rateSlacks[0]
	}
	return w
}

// allowed reports whether a piece, of which the corridor at some instant is given, allows a point.
func (v *partition) allowed(s corridor, p *point, r segment, w float64) bool {
	t, y := v.at(p, r.rate)
	s.move(t, r.slack(w))
	return s.allows(y, p.floor)
}

// extents notes at every cut the stamps of both clocks next to it.
func (v *partition) extents() {
	type extent struct{ first, last [2]clock.HostTime }
	all := make([]extent, len(v.segments))
	for k := range all {
		all[k] = extent{[2]clock.HostTime{math.MaxInt64, math.MaxInt64}, [2]clock.HostTime{math.MinInt64, math.MinInt64}}
	}
	for i := range v.points {
		p := &v.points[i]
		k, sure := p.label.in()
		if !sure {
			continue
		}
		e := &all[k]
		for n, stamp := range []clock.HostTime{p.a, p.b} {
			e.first[n], e.last[n] = min(e.first[n], stamp), max(e.last[n], stamp)
		}
	}
	for k := range v.cuts {
		v.cuts[k].before, v.cuts[k].behind = all[k].last, all[k+1].first
	}
}

// by returns the size of a cut and its possible error, ns.
func (c *cut) by() (by, tolerance int64) {
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

// steppedClock returns which of the two clocks was set at a cut, 0 or 1, or -1 if their stamps do not tell. A clock that was
// set back shows stamps twice. A clock that was set forward has a gap in its stamps where the other has none: had the other
// been set back instead, both would have been silent for as long by chance.
func (v *partition) steppedClock(c *cut) int {
	by, _ := c.by()
	forward, back := 1, 0 // b forward or a back
	if by < 0 {
		forward, back = 0, 1
	}
	if clock.Sub(c.before[back], c.behind[back]) > c.margin {
		return back
	}
	size := max(by, -by)
	gap := clock.Sub(c.behind[forward], c.before[forward]) // of the clock that went forward, or of silence
	silence := clock.Sub(c.behind[back], c.before[back])   // of the other
	usual := max(2*v.longestGap(), silence, c.margin)      // a silence as long as this is no surprise
	if gap > 2*usual && size > gap/2 {
		return forward
	}
	return -1
}

// longestGap returns the longest silence within pieces, along the axis, ns.
func (v *partition) longestGap() (longest int64) {
	for i := 1; i < len(v.points); i++ {
		p, q := &v.points[i-1], &v.points[i]
		if p.label == q.label && p.label.kind == certain {
			longest = max(longest, clock.Sub(v.stamp(q), v.stamp(p)))
		}
	}
	return longest
}
