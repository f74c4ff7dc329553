package steps

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"meridian/align/pair"
	"meridian/clock"
)

// point is a message as a constraint of the offset x = b - a of two clocks.
type point struct {
	a, b  clock.HostTime // its stamps, ns
	id    int32          // its number among the pair's messages
	label label
	floor bool // from b to a: x is at least b - a; otherwise at most
}

// series is the messages of two clocks in the order of one clock's stamps, which is its axis.
type series struct {
	points []point
	alongB bool           // the axis is b's clock; otherwise a's
	origin clock.HostTime // stamp of the first point on the axis
	base   int64          // b - a of the first point
	// What granularity adds to ceilings and takes from floors, ns, less the least delays.
	up, down float64
}

// segment is a run of consecutive points with the rate of the offset that prevails in it.
type segment struct {
	from, to int     // points [from, to)
	rate     float64 // ns of offset per ns of the axis
	known    bool    // it has both ceilings and floors, without which nothing tells the rate
}

// newSeries returns the points of two clocks in the order of one clock's stamps.
func newSeries(p *pair.Problem, alongB bool) *series {
	v := &series{
		alongB: alongB, points: make([]point, 0, p.AB.Len()+p.BA.Len()),
		up: float64(max(p.B.Granularity, 1)) + 1 - float64(p.MinAB), down: float64(max(p.A.Granularity, 1)) + 1 - float64(p.MinBA),
	}
	for m := range p.AB.All() {
		v.points = append(v.points, point{a: m.Sent, b: m.Received, id: int32(len(v.points))})
	}
	for m := range p.BA.All() {
		v.points = append(v.points, point{a: m.Received, b: m.Sent, id: int32(len(v.points)), floor: true})
	}
	slices.SortFunc(v.points, func(p, q point) int {
		if alongB {
			return cmp.Or(cmp.Compare(p.b, q.b), cmp.Compare(p.id, q.id))
		}
		return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.id, q.id))
	})
	v.origin = v.stamp(&v.points[0])
	v.base = clock.Sub(v.points[0].b, v.points[0].a)
	return v
}

// stamp returns a point's stamp on the axis.
func (v *series) stamp(p *point) clock.HostTime {
	if v.alongB {
		return p.b
	}
	return p.a
}

// at returns a point's instant on the axis and the bound that it sets on the offset, both from the origin, the offset less
// what the rate adds to it since then.
func (v *series) at(p *point, rate float64) (t, y float64) {
	t = float64(v.stamp(p) - v.origin)
	y = float64(clock.Sub(clock.Sub(p.b, p.a), v.base)) - rate*t
	if p.floor {
		return t, y - v.down
	}
	return t, y + v.up
}

// duration returns the length of a segment, ns.
func (v *series) duration(r segment) float64 {
	return float64(v.stamp(&v.points[r.to-1]) - v.stamp(&v.points[r.from]))
}

// index returns the first point of a segment at or behind an instant.
func (v *series) index(r segment, t float64) int {
	return r.from + sort.Search(r.to-r.from, func(i int) bool {
		at, _ := v.at(&v.points[r.from+i], 0)
		return at >= t
	})
}

// corridor is the interval that some messages leave to the offset at an instant. Between two messages dt apart the offset
// moves by at most w dt, w being the slack of its rate. So going forward over the messages,
//
//	high = min(ceiling, high before + w dt),  low = max(floor, low before - w dt)
//
// and a ceiling below low, or a floor above high, proves that a clock was set in between or that a message is an outlier.
// A delay, however long, cannot cause that. The same holds going backward.
type corridor struct {
	t, low, high   float64 // NaN, -Inf and Inf before the first message
	floor, ceiling int     // the points that set low and high, -1 for none
}

func openCorridor() corridor { return corridor{math.NaN(), math.Inf(-1), math.Inf(1), -1, -1} }

// move takes the corridor to an instant, later or, going backward, earlier.
func (s *corridor) move(t, w float64) {
	if !math.IsNaN(s.t) {
		s.low -= w * math.Abs(t-s.t)
		s.high += w * math.Abs(t-s.t)
	}
	s.t = t
}

// allows reports whether a point does not contradict those that the corridor is of.
func (s *corridor) allows(y float64, floor bool) bool {
	if floor {
		return y <= s.high
	}
	return y >= s.low
}

// narrow narrows the corridor by point i.
func (s *corridor) narrow(i int, y float64, floor bool) {
	switch {
	case floor && y > s.low:
		s.low, s.floor = y, i
	case !floor && y < s.high:
		s.high, s.ceiling = y, i
	}
}

// opponent returns the point that contradicts one which the corridor does not allow.
func (s *corridor) opponent(floor bool) int {
	if floor {
		return s.ceiling
	}
	return s.floor
}

// width returns the width of a corridor, ns; 0 where it is open or crossed.
func (s *corridor) width() float64 {
	if d := s.high - s.low; d >= 0 && !math.IsInf(d, 0) {
		return d
	}
	return 0
}

// through takes a corridor over a segment, forward or backward, and returns it at the end. Outliers are passed over, and so
// are points that the corridor does not allow, which are named to refused unless that is nil.
func (v *series) through(s corridor, r segment, rate, w float64, forward bool, refused func(i int)) corridor {
	from, to, step := r.from, r.to, 1
	if !forward {
		from, to, step = r.to-1, r.from-1, -1
	}
	for i := from; i != to; i += step {
		p := &v.points[i]
		if p.label.outlier() {
			continue
		}
		t, y := v.at(p, rate)
		s.move(t, w)
		if s.allows(y, p.floor) {
			s.narrow(i, y, p.floor)
		} else if refused != nil {
			refused(i)
		}
	}
	return s
}

// consistent reports whether no points of a segment contradict each other.
func (v *series) consistent(r segment, w float64) bool {
	ok := true
	v.through(openCorridor(), r, r.rate, w, true, func(int) { ok = false })
	return ok
}

// contradictions returns the points of a segment that its neighbour does not allow.
func (v *series) contradictions(neighbour, in segment, w float64) (found []int) {
	forward := in.from > neighbour.from
	s := v.through(openCorridor(), neighbour, neighbour.rate, w, forward, nil)
	v.through(s, in, neighbour.rate, w, forward, func(i int) { found = append(found, i) })
	return found
}

// segment returns the points [from, to) as a segment with the rate that prevails in it. That is the least rate at which a
// straight line passes between ceilings and floors; where no line passes, that of the line which is contradicted least. The
// room that the points leave to a line is a concave function of its rate, so a ternary search finds the rate of most room.
func (v *series) segment(from, to int) segment {
	r := segment{from: from, to: to}
	var floors, ceilings int
	for i := from; i < to; i++ {
		switch p := &v.points[i]; {
		case p.label.outlier():
		case p.floor:
			floors++
		default:
			ceilings++
		}
	}
	if floors == 0 || ceilings == 0 {
		return r
	}
	corners := append(v.corners(from, to, true), v.corners(from, to, false)...)
	room := func(rate float64) float64 {
		s := openCorridor()
		for _, i := range corners {
			_, y := v.at(&v.points[i], rate)
			s.narrow(i, y, v.points[i].floor)
		}
		return s.high - s.low
	}
	r.known = true
	if room(0) >= 0 {
		return r
	}
	lo, hi := -rateSlacks[0], rateSlacks[0]
	for hi-lo > 1e-6 {
		third := (hi - lo) / 3
		if room(lo+third) < room(hi-third) {
			lo += third
		} else {
			hi -= third
		}
	}
	r.rate = (lo + hi) / 2
	if room(r.rate) < 0 {
		return r
	}
	// Of the rates at which a line passes, take the one nearest to zero: a few messages at either end would allow any.
	near, far := 0.0, r.rate
	for range 30 {
		if m := (near + far) / 2; room(m) >= 0 {
			far = m
		} else {
			near = m
		}
	}
	r.rate = far
	return r
}

// corners returns the points on the upper hull of the floors of [from, to), or on the lower hull of the ceilings. A line
// that passes these passes all.
func (v *series) corners(from, to int, floors bool) (hull []int) {
	sign := 1.0
	if floors {
		sign = -1
	}
	for i := from; i < to; i++ {
		p := &v.points[i]
		if p.floor != floors || p.label.outlier() {
			continue
		}
		x, y := v.at(p, 0)
		for n := len(hull); n > 1; n-- {
			x1, y1 := v.at(&v.points[hull[n-2]], 0)
			x2, y2 := v.at(&v.points[hull[n-1]], 0)
			if sign*((x2-x1)*(y-y1)-(x-x1)*(y2-y1)) > 0 {
				break
			}
			hull = hull[:n-1]
		}
		hull = append(hull, i)
	}
	return hull
}
