package align

import (
	"cmp"
	"math"
	"slices"

	"meridian/align/pair"
	"meridian/clock"
)

// The rates within which clocks are followed from message to message. No two clocks differ by more than the first; around
// the rate that prevails in a piece, wander and slewing (500 ppm, adjtime) stay below the last. Between the two a rate
// that a step or a wrong message spoilt is mended; the last is used twice, since one wrong message may hide another.
var sweepRates = []float64{0.05, 0.01, 0.001, 0.001}

const (
	// fewest is by how many messages a piece must be the better explanation: fewer that contradict all others are wrong
	// messages, not a clock that was set and set back.
	fewest = 4
	// mostPieces is how many pieces two clocks may fall into; what falls into more is not a clock that was set now and then.
	mostPieces = 64
	mostRivals = 8
)

// What a point belongs to, besides the pieces from 0.
const wrongPoint = -1 // contradicts the piece it lies in

// unsure stands for a point near the cut behind a piece that may lie on either side of it.
func unsure(piece int) int16 { return int16(-2 - piece) }

// point is a message as a constraint of the offset x = b - a of two clocks.
type point struct {
	a, b  int64 // its stamps
	id    int32 // its number among the pair's messages
	piece int16
	floor bool // from b to a: x was no less
}

// sweep follows the offset of two clocks from message to message along the stamps of one of them. Between two messages
// dt apart it moves by no more than w dt, so that what the messages before leave of it is
//
//	high = min(ceiling + w dt),  low = max(floor - w dt)
//
// and a ceiling below low or a floor above high proves that a clock was set in between, or that a message is wrong. No
// delay, however long, does that.
type sweep struct {
	points     []point // along the axis
	alongB     bool
	origin     int64
	base       int64
	up, down   float64 // what granularity adds to ceilings and takes from floors
	cuts       []cut
	wrong      int
	everyPiece []rated
}

// rated is a stretch of points with the rate that prevails in it.
type rated struct {
	from, to int
	rate     float64
	known    bool // there are ceilings and floors to tell the rate from
}

// cut is a step of the offset between one piece and the next.
type cut struct {
	lo, hi float64 // of the step of x, ns; one may be infinite
	margin int64   // ns around it within which order along the axis decides nothing
	// The stamps of each clock that lie surely before it and surely behind, next to it.
	before, behind [2]int64
}

// newSweep gathers the points of two clocks in the order of one clock's stamps.
func newSweep(p *pair.Problem, alongB bool) *sweep {
	v := &sweep{
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

func (v *sweep) stamp(p *point) int64 {
	if v.alongB {
		return p.b
	}
	return p.a
}

// at returns a point's instant and the offset that it allows, less what the rate makes of it since the origin.
func (v *sweep) at(p *point, rate float64) (t, y float64) {
	t = float64(v.stamp(p) - v.origin)
	y = float64(clock.Sub(clock.Sub(p.b, p.a), v.base)) - rate*t
	if p.floor {
		return t, y - v.down
	}
	return t, y + v.up
}

// state is what some messages leave of the offset.
type state struct {
	t, low, high   float64
	floor, ceiling int // the points of which low and high are
}

func unknown() state { return state{math.NaN(), math.Inf(-1), math.Inf(1), -1, -1} }

// move goes to an instant, later or, sweeping backward, earlier.
func (s *state) move(t, w float64) {
	if !math.IsNaN(s.t) {
		s.low -= w * math.Abs(t-s.t)
		s.high += w * math.Abs(t-s.t)
	}
	s.t = t
}

func (s *state) allows(y float64, floor bool) bool {
	if floor {
		return y <= s.high
	}
	return y >= s.low
}

// take takes point i into account.
func (s *state) take(i int, y float64, floor bool) {
	switch {
	case floor && y > s.low:
		s.low, s.floor = y, i
	case !floor && y < s.high:
		s.high, s.ceiling = y, i
	}
}

// against returns the point because of which another is not allowed.
func (s *state) against(floor bool) int {
	if floor {
		return s.ceiling
	}
	return s.floor
}

// run splits the points into pieces.
func (v *sweep) run() bool {
	v.everyPiece = []rated{{from: 0, to: len(v.points), known: true}}
	for _, w := range sweepRates {
		var next []rated
		for _, r := range v.everyPiece {
			if !r.known {
				next = append(next, r)
				continue
			}
			starts := v.split(r, w)
			if len(next)+len(starts) > mostPieces {
				return false
			}
			for k, from := range starts {
				to := r.to
				if k+1 < len(starts) {
					to = starts[k+1]
				}
				next = append(next, v.rate(from, to))
			}
		}
		v.everyPiece = next
		v.merge(w)
	}
	v.pardon(sweepRates[len(sweepRates)-1])
	v.label(sweepRates[len(sweepRates)-1])
	return true
}

// rival is a piece that would begin in the midst of another.
type rival struct {
	state
	start         int
	floor         bool // the point that began it is one
	votes, others int  // points that only it allows; of the other kind, that it allows
	against       int  // points that it does not allow and the piece before does
}

// split returns where pieces begin: at the first point that the piece before does not allow, if enough others follow that
// only a new piece allows. Where they do not, the points that nothing allows are wrong.
func (v *sweep) split(r rated, w float64) []int {
	starts := []int{r.from}
	old := unknown()
	var rivals []rival
	var unfit [][2]int // points of the piece that contradict each other, the later one second
	restart := func(i int) int {
		starts = append(starts, i)
		v.blame(slices.DeleteFunc(unfit, func(x [2]int) bool { return x[1] >= i }), r, w)
		old, rivals, unfit = unknown(), rivals[:0], unfit[:0]
		return i - 1
	}
	for i := r.from; i < r.to; i++ {
		p := &v.points[i]
		if p.piece == wrongPoint {
			continue
		}
		t, y := v.at(p, r.rate)
		old.move(t, w)
		fits := old.allows(y, p.floor)
		if fits {
			old.take(i, y, p.floor)
		} else {
			unfit = append(unfit, [2]int{old.against(p.floor), i})
		}
		supported := fits
		for k := range rivals {
			x := &rivals[k]
			x.move(t, w)
			switch ok := x.allows(y, p.floor); {
			case ok:
				x.take(i, y, p.floor)
				if p.floor != x.floor {
					x.others++
				}
				if !fits {
					x.votes++
					supported = true
				}
			case fits:
				x.against++
			}
		}
		rivals = slices.DeleteFunc(rivals, func(x rival) bool { return x.against-x.votes >= fewest })
		if !supported {
			if len(rivals) == mostRivals {
				rivals = slices.Delete(rivals, 0, 1)
			}
			x := rival{state: unknown(), start: i, floor: p.floor, votes: 1}
			x.move(t, w)
			x.take(i, y, p.floor)
			rivals = append(rivals, x)
		}
		for k := range rivals {
			x := &rivals[k]
			enough := x.votes-x.against >= fewest
			if enough && (x.others >= 2 || i == r.to-1 && x.against == 0) {
				i = restart(x.start)
				break
			}
		}
		if len(starts) > mostPieces {
			break
		}
	}
	restart(r.to)
	return starts[:len(starts)-1]
}

// rate finds the rate that prevails in a piece: the least at which a line passes, or, where none does, that of the line
// which is contradicted least. The room that a line has is concave in the slope.
func (v *sweep) rate(from, to int) rated {
	r := rated{from: from, to: to}
	var floors, ceilings int
	for i := from; i < to; i++ {
		switch p := &v.points[i]; {
		case p.piece == wrongPoint:
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
		s := unknown()
		for _, i := range corners {
			_, y := v.at(&v.points[i], rate)
			s.take(i, y, v.points[i].floor)
		}
		return s.high - s.low
	}
	r.known = true
	if room(0) >= 0 {
		return r
	}
	lo, hi := -sweepRates[0], sweepRates[0]
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
	// Of the rates that do, the one nearest to none: a few messages at either end leave room for any.
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

// corners returns the points of the upper hull of a stretch's floors, or of the lower one of its ceilings: lines that pass
// all others pass them.
func (v *sweep) corners(from, to int, floors bool) (hull []int) {
	side := 1.0
	if floors {
		side = -1
	}
	for i := from; i < to; i++ {
		p := &v.points[i]
		if p.floor != floors || p.piece == wrongPoint {
			continue
		}
		x, y := v.at(p, 0)
		for n := len(hull); n > 1; n-- {
			x1, y1 := v.at(&v.points[hull[n-2]], 0)
			x2, y2 := v.at(&v.points[hull[n-1]], 0)
			if side*((x2-x1)*(y-y1)-(x-x1)*(y2-y1)) > 0 {
				break
			}
			hull = hull[:n-1]
		}
		hull = append(hull, i)
	}
	return hull
}

// merge joins pieces of which too few points contradict the next: those are wrong, however the sweep came upon them.
func (v *sweep) merge(w float64) {
	for k := 0; k+1 < len(v.everyPiece); {
		one, two := v.everyPiece[k], v.everyPiece[k+1]
		if both := v.rate(one.from, two.to); both.known && v.holds(both, w) { // only the rates were wrong
			v.everyPiece = slices.Replace(v.everyPiece, k, k+2, both)
			k = max(k-1, 0)
			continue
		}
		wrong, other := v.contradictions(two, one, w), v.contradictions(one, two, w)
		if len(wrong) >= fewest && len(other) >= fewest {
			k++
			continue
		}
		if len(other) < len(wrong) {
			wrong = other
		}
		for _, i := range wrong {
			v.points[i].piece = wrongPoint
		}
		v.everyPiece = slices.Replace(v.everyPiece, k, k+2, v.rate(one.from, two.to))
		k = max(k-1, 0)
	}
}

// holds reports whether no points of a stretch contradict each other.
func (v *sweep) holds(r rated, w float64) bool {
	ok := true
	v.through(unknown(), r, r.rate, w, true, func(int) { ok = false })
	return ok
}

// contradictions returns the points of a piece that its neighbour does not allow.
func (v *sweep) contradictions(of, in rated, w float64) (found []int) {
	forward := in.from > of.from
	s := v.through(unknown(), of, of.rate, w, forward, nil)
	v.through(s, in, of.rate, w, forward, func(i int) { found = append(found, i) })
	return found
}

// through sweeps over a stretch, forward or backward, and returns the state at its end. Points that the state does not
// allow are passed over and named to refused, if that is not nil.
func (v *sweep) through(s state, r rated, rate, w float64, forward bool, refused func(i int)) state {
	from, to, step := r.from, r.to, 1
	if !forward {
		from, to, step = r.to-1, r.from-1, -1
	}
	for i := from; i != to; i += step {
		p := &v.points[i]
		if p.piece == wrongPoint {
			continue
		}
		t, y := v.at(p, rate)
		s.move(t, w)
		if s.allows(y, p.floor) {
			s.take(i, y, p.floor)
		} else if refused != nil {
			refused(i)
		}
	}
	return s
}

// cost weighs an axis against the other: wrong points and cuts, each of which a wrong order multiplies.
func (v *sweep) cost() int { return v.wrong + fewest*len(v.cuts) }
