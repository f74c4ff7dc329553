package bound

import (
	"fmt"
	"math"
	"slices"

	"meridian/align/internal/pieces"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// Tolerance says how many messages of a pair may be false (their timestamps or their match are wrong) without the
// bounds being wrong. It counts by direction and by blocks of consecutive messages, of at most [BlockSize] each. The
// zero value tolerates none.
type Tolerance struct {
	// Automatic allows, in each block, what [Tolerance.Allowed] says for its size; Count and Share do not count then.
	Automatic bool
	Count     int     // messages that may be false in each block
	Share     float64 // share of the messages of a block that may be false, if that is more; 0 to 1
	// Found is where messages were found to be false and left out: a's clock, ascending. Each stands for others that
	// were not found, and allows [eachHides] more in its block.
	Found []clock.HostTime
}

// BlockSize is the greatest number of consecutive messages of one direction for which a tolerance counts by itself.
const BlockSize = 2048

// The least numbers of messages of a block from which on one, and two, of them may be false by default. Of fewer
// messages each one is needed: bounds that do without their tightest ones are wider by a third and more.
const (
	oneOf = 12
	twoOf = 500
)

// DefaultTolerance allows two false messages in each block, one in directions of fewer than 500 messages, and none in
// those of fewer than a dozen; and for each message that was found to be false and left out two more, one in directions
// of fewer than 500.
var DefaultTolerance = Tolerance{Automatic: true}

// Check refuses numbers and shares of messages that cannot be.
func (t *Tolerance) Check() error {
	if t.Count < 0 || !(t.Share >= 0 && t.Share < 0.5) {
		return fmt.Errorf("a tolerance of %d messages or a share of %g: a number must not be negative, and a share be from 0 to less than a half", t.Count, t.Share)
	}
	return nil
}

// eachHides is how many false messages that contradict nothing are expected for each one that was found: those that are
// early by less than the round trip are found only where they meet quick ones.
const eachHides = 2

// None reports whether the tolerance allows no false message at all.
func (t *Tolerance) None() bool { return !t.Automatic && t.Count == 0 && t.Share == 0 }

// Allowed returns how many messages of each block may be false, besides those that were found, for a direction with so
// many in all.
func (t *Tolerance) Allowed(messages int) int {
	messages = min(messages, BlockSize)
	switch {
	case !t.Automatic:
		return max(t.Count, int(math.Ceil(t.Share*float64(messages))))
	case messages >= twoOf:
		return 2
	case messages >= oneOf:
		return 1
	}
	return 0
}

// LeastFor returns how many messages a direction must have in all for so many of each block to be allowed to be false
// by default.
func (t *Tolerance) LeastFor(wrong int) int {
	switch wrong {
	case 0:
		return 0
	case 1:
		return oneOf
	}
	return twoOf
}

// allowedWithin returns how many messages of a block between two instants may be false, in a direction with so many in
// all: those that Allowed says, and eachHides (one in short directions) for each message that was found to be false
// between the two.
func (t *Tolerance) allowedWithin(messages int, first, last clock.HostTime) int {
	from, _ := slices.BinarySearch(t.Found, first)
	to, _ := slices.BinarySearch(t.Found, last+1)
	if t.None() {
		return 0
	}
	each := eachHides
	if messages < twoOf {
		each = 1
	}
	return t.Allowed(messages) + each*(to-from)
}

// groupSize is how many consecutive messages are looked at together to leave out those that bind nothing.
const groupSize = 32

// block is consecutive messages of one direction: the points of those that may bind something, in the order of x.
type block struct {
	points      []point
	first, last float64 // extent of all
}

// blocksOf yields the messages of one direction in blocks of nearly even size. A block is valid until the next. keep
// appends to the points of a block those of a group that count.
func blocksOf(messages pair.Messages, at plotter, side float64, size int, keep func(points, group []point) []point) func(yield func(block) bool) {
	return func(yield func(block) bool) {
		n := messages.Len()
		blocks := max((n+size-1)/size, 1)
		b := block{first: math.Inf(1), last: math.Inf(-1)}
		group := make([]point, 0, groupSize)
		var merge merger
		seen, done := 0, 0 // messages, blocks
		for piece := range pieces.Of(messages) {
			for _, m := range piece {
				q := at(m)
				group = append(group, q)
				b.first, b.last = min(b.first, q.x), max(b.last, q.x)
				seen++
				full := seen == (done+1)*n/blocks
				if len(group) < groupSize && !full {
					continue
				}
				b.points = keep(b.points, group)
				group = group[:0]
				if !full {
					continue
				}
				merge.inOrder(b.points, side)
				if !yield(b) {
					return
				}
				b = block{b.points[:0], math.Inf(1), math.Inf(-1)}
				done++
			}
		}
	}
}

// merger puts points in order that consist of a few ascending runs, as connections that follow each other do.
type merger struct {
	ends []int // of the runs
	free []point
}

// inOrder does what the function inOrder does.
func (m *merger) inOrder(points []point, side float64) {
	const fewRuns = 16
	m.ends = m.ends[:0]
	for i := 1; i < len(points) && len(m.ends) < fewRuns; i++ {
		if !(points[i-1].x < points[i].x) {
			m.ends = append(m.ends, i)
		}
	}
	m.ends = append(m.ends, len(points))
	if len(m.ends) > fewRuns {
		inOrder(points, side)
		return
	}
	for len(m.ends) > 1 {
		begin, n := 0, 0
		for i := 0; i < len(m.ends); i += 2 {
			end := m.ends[min(i+1, len(m.ends)-1)]
			m.merge(points[begin:end], m.ends[i]-begin, side)
			m.ends[n], begin = end, end
			n++
		}
		m.ends = m.ends[:n]
	}
}

// merge merges the first points with the others, both in order.
func (m *merger) merge(points []point, first int, side float64) {
	m.free = append(m.free[:0], points[:first]...)
	out, rest := points[:0], points[first:]
	left := m.free
	for len(left) > 0 && len(rest) > 0 {
		if p, q := &left[0], &rest[0]; p.x < q.x || p.x == q.x && side*p.y <= side*q.y {
			out, left = append(out, *p), left[1:]
		} else {
			out, rest = append(out, *q), rest[1:]
		}
	}
	copy(points[len(out):], left)
}

// keepAll keeps all points of a group.
func keepAll(points, group []point) []point { return append(points, group...) }

// keepOutermost returns a function that keeps those points of a group for which no more than f others of it lie farther
// out by more than a line of the greatest slope rises over the group. Of the others f+1 lie farther out at every slope.
func keepOutermost(side float64, f int, steepest float64) func(points, group []point) []point {
	const most = 4
	if f >= most || steepest > MaxRate {
		return keepAll
	}
	return func(points, group []point) []point {
		var outermost [most]float64 // f+1 of them, ascending
		for i := range outermost {
			outermost[i] = math.Inf(1)
		}
		first, last := math.Inf(1), math.Inf(-1)
		for i := range group {
			first, last = min(first, group[i].x), max(last, group[i].x)
			v := side * group[i].y
			if v >= outermost[f] {
				continue
			}
			k := f
			for ; k > 0 && outermost[k-1] > v; k-- {
				outermost[k] = outermost[k-1]
			}
			outermost[k] = v
		}
		limit := outermost[f] + steepest*(last-first)
		for i := range group {
			if side*group[i].y <= limit {
				points = append(points, group[i])
			}
		}
		return points
	}
}

// A bound that holds although f messages of a block are false is the level f of the block's lines in the dual plane. A
// line with slope r and height v over the block's middle passes below the ceiling (d, y), d from the middle, if
//
//	v <= y - r d
//
// The least of these over all ceilings is the bound where all are true; the f+1st least, the level, is that where f are
// false. The level is not concave, but its concave majorant is the least of some lines v <= y' - r d' again: each of
// them is a ceiling (d', y') that nobody measured. A corridor of these ceilings contains all lines that violate at most
// f of the block:
//
//	v ^       a     .-'.
//	  |         . -'    '.  level 1 of three lines, and its majorant (dotted) from a to b
//	  |      .-' '\  /'-.  b
//	  |   .-'      \/     '.
//	  +----------------------------> r
//
// The idea is Marzullo's (1984), as NTP has it (RFC 5905, 11.2.1), for lines instead of numbers.
//
// level returns those ceilings for side 1, or floors for side -1, in no order. The points are lifted and in the order
// of x, which is kept. It returns none if all of them may be false. steepest is the greatest slope of a line that
// counts.
func level(points []point, side float64, f int, steepest float64) []point {
	if len(points) <= f {
		return nil
	}
	if f == 0 {
		return scan(slices.Clone(points), side)
	}
	middle := (points[0].x + points[len(points)-1].x) / 2
	l := leveller{lines: peel(points, side, f+1), rank: f}
	for i := range l.lines {
		q := &l.lines[i]
		q.x, q.y = q.x-middle, side*q.y
	}
	out := l.majorant(steepest)
	for i := range out {
		q := &out[i]
		q.x, q.y = q.x+middle, side*(q.y+2*l.tolerance)
	}
	return out
}

// peel returns the points of the outermost hulls, one around the other. A line with fewer points on its wrong side than
// there are hulls has only these points there.
func peel(points []point, side float64, hulls int) []point {
	if len(points) <= 2*hulls {
		return slices.Clone(points)
	}
	var out []point
	rest, hull := slices.Clone(points), make([]int, 0, 64)
	for range hulls {
		hull = hull[:0]
		for i := range rest {
			p := &rest[i]
			if n := len(hull); n > 0 && rest[hull[n-1]].x == p.x {
				continue // the first of several over one x is farthest out
			}
			for n := len(hull); n > 1; n-- {
				q, r := &rest[hull[n-2]], &rest[hull[n-1]]
				if side*((r.x-q.x)*(p.y-q.y)-(p.x-q.x)*(r.y-q.y)) > 0 {
					break
				}
				hull = hull[:n-1]
			}
			hull = append(hull, i)
		}
		left, next := 0, 0 // of rest, and of the hull
		for i := range rest {
			if next < len(hull) && hull[next] == i {
				out = append(out, rest[i])
				next++
				continue
			}
			rest[left] = rest[i]
			left++
		}
		rest = rest[:left]
	}
	return out
}

// leveller walks along a level of lines y - r d; a line is the point (d, y).
type leveller struct {
	lines     []point
	rank      int // lines below the level
	tolerance float64
	values    []float64 // scratch
	together  []int
}

// at returns the height of a line over a slope.
func (l *leveller) at(i int, r float64) float64 { return l.lines[i].y - r*l.lines[i].x }

// after returns the height of the level over a slope, and the line that the level follows behind it. Of lines that meet
// there, the one with the greatest d is lowest behind it.
func (l *leveller) after(r float64) (height float64, line int) {
	l.values = l.values[:0]
	for i := range l.lines {
		l.values = append(l.values, l.at(i, r))
	}
	slices.Sort(l.values)
	height = l.values[l.rank]
	below := 0
	l.together = l.together[:0]
	for i := range l.lines {
		switch v := l.at(i, r); {
		case v < height-l.tolerance:
			below++
		case v <= height+l.tolerance:
			l.together = append(l.together, i)
		}
	}
	slices.SortFunc(l.together, func(i, j int) int {
		switch {
		case l.lines[i].x > l.lines[j].x:
			return -1
		case l.lines[i].x < l.lines[j].x:
			return 1
		}
		return 0
	})
	return height, l.together[min(l.rank-below, len(l.together)-1)]
}

// majorant returns the lines of the concave majorant of the level over slopes of at most so much.
func (l *leveller) majorant(steepest float64) []point {
	reach := 0.0
	for _, q := range l.lines {
		reach = max(reach, math.Abs(q.y)+steepest*math.Abs(q.x))
	}
	l.tolerance = 1e-3 + reach*0x1p-48
	var corners []point // (r, v): the upper hull of the level's corners
	add := func(q point) {
		for n := len(corners); n > 1; n-- {
			a, b := &corners[n-2], &corners[n-1]
			if (b.x-a.x)*(q.y-a.y)-(q.x-a.x)*(b.y-a.y) < 0 {
				break
			}
			corners = corners[:n-1]
		}
		corners = append(corners, q)
	}
	r := -steepest
	height, line := l.after(r)
	add(point{r, height})
	for r < steepest {
		next := steepest
		from := &l.lines[line]
		for i := range l.lines {
			if slices.Contains(l.together, i) {
				continue
			}
			if q := &l.lines[i]; q.x != from.x {
				if x := (q.y - from.y) / (q.x - from.x); x > r && x < next {
					next = x
				}
			}
		}
		// Lines that met at r part behind it, and those that the level left there do not come back to it.
		r = next
		height, line = l.after(r)
		add(point{r, height})
	}
	out := make([]point, 0, len(corners)-1)
	for i := 1; i < len(corners); i++ {
		a, b := corners[i-1], corners[i]
		d := (a.y - b.y) / (b.x - a.x)
		out = append(out, point{d, a.y + a.x*d})
	}
	return out
}

// relaxed replaces each block of so many consecutive messages of a direction by messages that nobody sent. They
// constrain the clocks no more than all messages of the block do but the wrong ones, whichever these are. The
// assumption must hold within each block.
func relaxed(p *pair.Problem, a Assumption, size, wrong int) *pair.Problem {
	c := &Corridor{Assumption: a}
	out := *p
	out.AB, out.BA = nil, nil
	if !c.around(p) {
		return &out
	}
	half := c.curvature() / 2
	reduce := func(messages pair.Messages, at plotter, side float64, message func(point) trace.Message) pair.Messages {
		var made []trace.Message
		for b := range blocksOf(inTime(messages, at), at, side, size, keepAll) {
			middle := (b.first + b.last) / 2
			lift := func(q *point) float64 { return side * half * (q.x - middle) * (q.x - middle) }
			for i := range b.points {
				b.points[i].y += lift(&b.points[i])
			}
			for _, q := range level(b.points, side, wrong, 2*MaxRate) {
				q.x = math.Round(q.x)
				q.y -= lift(&q)
				made = append(made, message(q))
			}
		}
		return pair.Messages{made}
	}
	zero := trace.Message{Sent: c.middle, Received: c.middle}
	ceilings, floors := c.ceilings(p), c.floors(p)
	up, down := ceilings(zero).y+float64(c.base), floors(zero).y+float64(c.base)
	out.AB = reduce(p.AB, ceilings, 1, func(q point) trace.Message {
		sent := clock.Add(c.middle, int64(q.x))
		return trace.Message{Sent: sent, Received: clock.Add(sent, c.base+int64(math.Ceil(q.y-up)))}
	})
	out.BA = reduce(p.BA, floors, -1, func(q point) trace.Message {
		received := clock.Add(c.middle, int64(q.x))
		return trace.Message{Sent: clock.Add(received, c.base+int64(math.Floor(q.y-down))), Received: received}
	})
	return &out
}

// inTime returns messages in the order of x: as they are, where they are one piece in that order.
func inTime(messages pair.Messages, at plotter) pair.Messages {
	ordered, last := true, math.Inf(-1)
	for m := range messages.All() {
		x := at(m).x
		ordered, last = ordered && x >= last, x
	}
	if ordered {
		return messages
	}
	all := slices.Concat(messages...)
	slices.SortStableFunc(all, func(m, n trace.Message) int {
		switch x, y := at(m).x, at(n).x; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return pair.Messages{all}
}
