package bound

import (
	"math"
	"slices"

	"meridian/align/pair"
)

const (
	// shrunk is the part of the corridor, in its middle, in which two clocks within the assumption should find room. A clock that
	// bends by less than half the corridor contradicts no message, but may leave bounds that rest on its not bending.
	shrunk = 0.1
	// spread is over how many lengths of the window that showed it, on either side, that is assumed.
	spread = 4
	// slewWander is the wander per ns from which on a clock is taken to be slewed: nothing smooth is left to assume.
	slewWander = 1e-11
	// maxWander is the wander per ns beyond which it was no slew but a step.
	maxWander = 1e-3
)

// Factor is how many times the wander that the messages show in the middle of the corridor is assumed there.
const Factor = 8

// Bends returns where the messages show that two clocks depart from the assumption, as clocks do that a daemon steers. The
// bounds of a corridor with these stretches hold if the clocks bend nowhere more sharply than [Factor] times what the messages
// show there, and none ran off and came back between two messages of one direction.
//
// The messages are asked in windows from short ones, of eight messages, to the whole trace: where a window of the shrunk
// corridor allows no offset that keeps what is assumed so far divided by the factor, the least wander that it allows is
// found, and the factor times that is assumed there and around. A window that allows it allows it in all its parts, so most of
// a quiet trace is never looked at closely.
//
// Messages one way show nothing. The cost is O(n) for n messages in order, and some hundred corners for each window that
// does not keep the assumption.
func Bends(p *pair.Problem, a Assumption) []Stretch {
	stretches, _ := bends(p, a, math.Inf(1))
	return stretches
}

// bends is Bends with an upper limit on the least round trip, ns. Relaxed messages overstate it, so their caller passes
// that of the pair. It also returns the median of the least round trips that were found.
func bends(p *pair.Problem, a Assumption, longest float64) (stretches []Stretch, roundTrip float64) {
	c := &Corridor{Assumption: a}
	if !c.around(p) || p.AB.Len() == 0 || p.BA.Len() == 0 || c.first == c.last {
		return nil, longest
	}
	f := newFinder(c, p)
	roundTrip = median(f.roundTrip)
	for i, room := range f.roundTrip {
		f.roundTrip[i] = min(room, longest)
	}
	f.search()
	return f.verified(p), roundTrip
}

// verified returns the stretches after it has widened them until the whole corridor, not the windows alone, allows an offset at
// every instant.
func (f *finder) verified(p *pair.Problem) []Stretch {
	out := f.stretches()
	for width := spread; len(out) > 0; width *= 2 {
		apart := contradictory(New(p, f.Assumption, out...), math.MaxInt)
		if len(apart) == 0 || width > 4*len(f.wander) {
			break
		}
		for _, x := range apart {
			cell := int((x - f.first) / f.cell)
			from, to := min(max(cell-width, 0), len(f.wander)-1), max(min(cell+width+1, len(f.wander)), 1)
			fill(f.wander[from:to], math.Inf(1))
			fill(f.tooSteep[from:to], true)
		}
		out = f.stretches()
	}
	return out
}

// finder looks for the stretches of a corridor.
type finder struct {
	*Corridor
	cell      float64  // half the length of the shortest windows, ns
	ceilings  []blocks // by level: the corners of the hulls of 2^level cells
	floors    []blocks
	wander    []float64  // of each cell, assumed so far, per ns
	blocks    int        // level of the blocks in which the least round trip is looked for
	tooSteep  []bool     // of each cell
	quick     []bool     // of each cell: messages were quicker than usual
	roundTrip []float64  // around each of these blocks: the least round trip, ns
	scratch   [2][]point // for the ceilings and floors of the window that is asked
}

// newFinder gathers the messages in cells: some four messages in each, but at most 16384 cells.
func newFinder(c *Corridor, p *pair.Problem) *finder {
	const minCells, maxCells = 2, 1 << 14
	span, messages := c.last-c.first, p.AB.Len()+p.BA.Len()
	n := minCells
	for n < maxCells && n < messages/4 {
		n *= 2
	}
	f := &finder{Corridor: c, cell: span / float64(n), wander: make([]float64, n), tooSteep: make([]bool, n), quick: make([]bool, n)}
	for i := range f.wander {
		f.wander[i] = c.curvature()
	}
	build := func(messages pair.Messages, at plotter, side float64) []blocks {
		g := gather(messages, at, side, c.first, float64(n)/span, n)
		return levels(g.hulls(), g.all, side)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.ceilings = build(p.AB, c.ceilings(p), 1)
	}()
	f.floors = build(p.BA, c.floors(p), -1)
	<-done
	f.findRoundTrips(p)
	return f
}

// window is two neighbouring blocks of a level.
type window struct {
	level, block   int
	from, to       int     // cells
	ceiling, floor []point // corners, shrunk
}

// reserve makes room for so many points.
func (w *window) reserve(ceilings, floors int) {
	all := make([]point, ceilings+floors)
	w.ceiling, w.floor = all[:0:ceilings], all[ceilings:ceilings]
}

// add appends corners to a window, each direction moved towards the other by so many ns.
func (w *window) add(ceilings, floors []point, by float64) {
	for _, q := range ceilings {
		w.ceiling = append(w.ceiling, point{q.x, q.y - by})
	}
	for _, q := range floors {
		w.floor = append(w.floor, point{q.x, q.y + by})
	}
}

// finest is by how many levels the blocks are finer whose corners stand for a window's messages: what is left out within one of
// them is hidden by a 4096th of the bend that is looked for.
const finest = 5

// window returns a window with its messages; false if they tell nothing.
func (f *finder) window(level, block int) (window, bool) {
	w := window{level: level, block: block, from: block << level, to: (block + 2) << level}
	fine := max(level-finest, 0)
	from, to := block<<(level-fine), (block+2)<<(level-fine)
	by := f.shrinkage(w.from, w.to)
	w.reserve(len(f.ceilings[fine].of(from, to)), len(f.floors[fine].of(from, to)))
	for i := from; i < to; i++ {
		by := by
		if slices.Contains(f.quick[i<<fine:(i+1)<<fine], true) {
			by /= 2
		}
		w.add(f.ceilings[fine].of(i, i+1), f.floors[fine].of(i, i+1), by)
	}
	return w, len(w.ceiling) > 0 && len(w.floor) > 0 && len(w.ceiling)+len(w.floor) >= 3
}

// shrinkage returns by how much the corridor is shrunk from either side between two cells.
func (f *finder) shrinkage(from, to int) float64 {
	least := math.Inf(1)
	for i := from >> f.blocks; i <= (to-1)>>f.blocks && i < len(f.roundTrip); i++ {
		least = min(least, f.roundTrip[i])
	}
	return (1 - shrunk) / 2 * least
}

// search finds the wander of all cells.
func (f *finder) search() {
	for level, blocks := range f.contradictory() {
		next, steep := slices.Clone(f.wander), slices.Clone(f.tooSteep)
		for _, block := range blocks {
			w, _ := f.window(level, block)
			f.raise(&w, next, steep)
		}
		f.wander, f.tooSteep = next, steep
	}
}

// contradictory returns by level the windows whose messages contradict the assumption divided by the factor. A window within one
// that does not contradict it does not either.
func (f *finder) contradictory() [][]int {
	top := len(f.ceilings) - 2 // whose only window is the whole trace
	found := make([][]int, top+1)
	asked := []int{0}
	for level := top; level >= 0 && len(asked) > 0; level-- {
		var below []int
		for _, block := range asked {
			w, tells := f.window(level, block)
			if !tells || f.allows(&w, f.curvature()/Factor, f.steepest(0, 0)) {
				continue
			}
			found[level] = append(found[level], block)
			below = append(below, 2*block, 2*block+1, 2*block+2)
		}
		asked = slices.Compact(below)
	}
	return found
}

// raise raises what is assumed around a window to what its messages allow.
func (f *finder) raise(w *window, next []float64, steep []bool) {
	least := f.curvature() / Factor
	rate := f.Corridor.steepest(0, 0)
	if slices.Contains(f.tooSteep[w.from:w.to], true) {
		rate = MaxRate
	}
	if f.allows(w, least, rate) {
		return
	}
	if f.passes(w, least, rate) {
		return
	}
	width := w.to - w.from
	from, to := max(w.from-spread*width, 0), min(w.to+spread*width, len(next))
	if rate < MaxRate && f.allows(w, least, MaxRate) {
		fill(steep[from:to], true)
		return
	}
	low, high := least, max(least, 1e-21)*8
	for ; high < maxWander && !f.allows(w, high, MaxRate); high *= 8 {
		low = high
	}
	for high < maxWander && high > 1.1*low {
		if middle := math.Sqrt(low * high); f.allows(w, middle, MaxRate) {
			high = middle
		} else {
			low = middle
		}
	}
	if rate < MaxRate && !f.allows(w, high, rate) {
		fill(steep[from:to], true)
	}
	assumed := Factor * high
	if assumed >= slewWander {
		assumed = math.Inf(1)
	}
	for i := from; i < to; i++ {
		next[i] = max(next[i], assumed)
	}
}

// passes reports whether the messages around a window show no bend without those in it, and those in it show none in a corridor
// that is shrunk by half as much. Then messages were quicker for a moment; a clock that was steered would be elsewhere
// behind it than before. The cells are noted as quick.
func (f *finder) passes(w *window, least, rate float64) bool {
	if float64(w.to-w.from)*f.cell > maxPassing {
		return false
	}
	half := slices.Clone(f.quick[w.from:w.to])
	fill(f.quick[w.from:w.to], true)
	if quick, tells := f.window(w.level, w.block); tells && f.allows(&quick, least, rate) && f.quietAround(w, least, rate) {
		return true
	}
	copy(f.quick[w.from:w.to], half)
	return false
}

// quietAround reports whether the messages on either side of a window, over its length, show no bend together.
func (f *finder) quietAround(w *window, least, rate float64) bool {
	width := w.to - w.from
	around := window{level: w.level, from: max(w.from-width, 0), to: min(w.to+width, len(f.wander))}
	by := f.shrinkage(around.from, around.to)
	ceilings, floors := &f.ceilings[0], &f.floors[0]
	around.reserve(len(ceilings.of(around.from, around.to)), len(floors.of(around.from, around.to)))
	for _, side := range [...][2]int{{around.from, w.from}, {w.to, around.to}} {
		if side[0] < side[1] {
			around.add(ceilings.of(side[0], side[1]), floors.of(side[0], side[1]), by)
		}
	}
	return len(around.ceiling) == 0 || len(around.floor) == 0 || f.allows(&around, least, rate)
}

// maxPassing is the length of the longest window in which messages may have been quicker for a moment, ns. Over longer times the
// cause is rather a clock.
const maxPassing = 2e8

func fill[T any](s []T, v T) {
	for i := range s {
		s[i] = v
	}
}

// allows reports whether some offset keeps, within a window of the shrunk corridor, what is assumed so far divided by the factor
// but at least a wander per ns, and a greatest rate. Cells without any bound on the wander part a window.
func (f *finder) allows(w *window, least, rate float64) bool {
	for from := w.from; from < w.to; {
		if math.IsInf(f.wander[from], 1) {
			from++
			continue
		}
		to := from + 1
		for to < w.to && !math.IsInf(f.wander[to], 1) {
			to++
		}
		if !f.allowsPart(w, from, to, least, rate) {
			return false
		}
		from = to
	}
	return true
}

// allowsPart reports whether some offset keeps that within some cells of a window.
func (f *finder) allowsPart(w *window, first, end int, least, rate float64) bool {
	var more []interval
	for i := first; i < end; i++ {
		v := f.wander[i] / Factor
		if v <= least {
			continue
		}
		from, to := f.first+float64(i)*f.cell, f.first+float64(i+1)*f.cell
		if n := len(more); n > 0 && more[n-1].wander == v && more[n-1].to == from {
			more[n-1].to = to
		} else {
			more = append(more, interval{from, to, v})
		}
	}
	from, to := f.first+float64(first)*f.cell, f.first+float64(end)*f.cell
	s := segment{profile: newProfile((from+to)/2, least, more)}
	whole := first == w.from && end == w.to
	lifted := func(scratch *[]point, points []point, side float64) []point {
		out := (*scratch)[:0]
		for _, q := range points {
			if whole || !(q.x < from || q.x > to) {
				out = append(out, q)
			}
		}
		*scratch = out
		return s.lifted(out, f.Epsilon, side)
	}
	s.ceiling, s.floor = lifted(&f.scratch[0], w.ceiling, 1), lifted(&f.scratch[1], w.floor, -1)
	if len(s.ceiling) == 0 || len(s.floor) == 0 {
		return true
	}
	guard := 1e-6
	for _, q := range [...]point{s.ceiling[0], s.ceiling[len(s.ceiling)-1], s.floor[0], s.floor[len(s.floor)-1]} {
		guard = max(guard, math.Abs(q.y)*0x1p-47)
	}
	holds := func(x float64) bool {
		p := s.program(x, x, rate, guard)
		_, _, ok := p.bounds()
		return ok
	}
	const instants = 8
	for i := range instants + 1 {
		if !holds(from + (to-from)*float64(i)/instants) {
			return false
		}
	}
	for _, corners := range [][]point{s.ceiling, s.floor} {
		for _, q := range corners {
			if !holds(q.x) {
				return false
			}
		}
	}
	return true
}

// lift lifts points by the segment's profile, in place.
func (s *segment) lift(points []point, epsilon, side float64) {
	for i := range points {
		q := &points[i]
		value, _ := s.profile.at(q.x)
		q.y += side * (epsilon + value)
	}
}

// unlifted returns a point as it was before it was lifted.
func (s *segment) unlifted(q point, epsilon, side float64) point {
	value, _ := s.profile.at(q.x)
	return point{q.x, q.y - side*(epsilon+value)}
}

// lifted lifts points by the segment's profile and returns their hull, in place.
func (s *segment) lifted(points []point, epsilon, side float64) []point {
	s.lift(points, epsilon, side)
	return scan(points, side)
}

// alike is by how much the wander may differ within one stretch.
const alike = 1.5

// stretches returns the cells in which more is assumed than the assumption says, joined where they are alike.
func (f *finder) stretches() []Stretch {
	var out []Stretch
	least := math.Inf(1) // of the stretch, per ns
	for i, v := range f.wander {
		if v <= f.curvature() && !f.tooSteep[i] {
			continue
		}
		from, to := f.instant(f.first+float64(i)*f.cell), f.instant(f.first+float64(i+1)*f.cell)+1
		if n := len(out); n > 0 && out[n-1].To+1 >= from && out[n-1].Steep == f.tooSteep[i] &&
			math.IsInf(v, 1) == math.IsInf(out[n-1].Wander, 1) && (math.IsInf(v, 1) || max(v*1e18, out[n-1].Wander) <= alike*min(v, least)*1e18) {
			out[n-1].To, out[n-1].Wander, least = to, max(out[n-1].Wander, v*1e18), min(least, v)
			continue
		}
		out, least = append(out, Stretch{from, to, v * 1e18, f.tooSteep[i]}), v
	}
	return out
}
