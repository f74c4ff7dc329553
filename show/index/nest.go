package index

import "slices"

// nest keeps the slices of one row that are open, each at a depth of its own, so that no two at one depth overlap: a lane
// of slices is then sorted by begin and by end alike when they are put there as they end.
//
// Slices without a number nest: each lies deeper than the one it is within. Those with one take the least depth that is
// free.
type nest struct {
	open  []openSlice // by depth
	stack []int       // depths of open slices without a number
	over  int         // of these, how many more are too deep
	named map[uint64]int
	lanes []*lane // by depth
}

type openSlice struct {
	used  bool
	class uint32
	name  uint64
	at    int64
	event int64
}

// deepest is how many slices of a row may overlap.
const deepest = 256

// free returns the least free depth from one on; -1 if all are taken.
func (n *nest) free(from int) int {
	for d := from; d < deepest; d++ {
		if d == len(n.open) {
			n.open = append(n.open, openSlice{})
			n.lanes = append(n.lanes, nil)
		}
		if !n.open[d].used {
			return d
		}
	}
	return -1
}

// begin opens a slice of a name, 0 for none, and returns its depth; -1 if that would be too deep.
func (n *nest) begin(name uint64, s openSlice) int {
	from := 0
	if name == 0 && len(n.stack) > 0 {
		from = n.stack[len(n.stack)-1] + 1
	}
	d := -1
	if n.over == 0 || name != 0 {
		d = n.free(from)
	}
	if d < 0 {
		if name == 0 {
			n.over++
		}
		return -1
	}
	s.used, s.name = true, name
	n.open[d] = s
	if name == 0 {
		n.stack = append(n.stack, d)
	} else {
		if n.named == nil {
			n.named = make(map[uint64]int)
		}
		n.named[name] = d
	}
	return d
}

// end closes a slice and returns its depth; -1 if it was never begun, and over if it was, but too deep.
func (n *nest) end(name uint64) (s openSlice, depth int, over bool) {
	if name == 0 {
		if n.over > 0 {
			n.over--
			return s, -1, true
		}
		if len(n.stack) == 0 {
			return s, -1, false
		}
		depth = n.stack[len(n.stack)-1]
		n.stack = n.stack[:len(n.stack)-1]
	} else {
		var ok bool
		if depth, ok = n.named[name]; !ok {
			return s, -1, false
		}
		delete(n.named, name)
	}
	s = n.open[depth]
	n.open[depth] = openSlice{}
	return s, depth, false
}

// begun reports whether a slice of a name is open.
func (n *nest) begun(name uint64) bool {
	_, ok := n.named[name]
	return ok
}

// slice puts a slice that ended onto the lane of its depth.
func (b *Builder) slice(r *row, depth int, it item) error {
	n := &r.nest
	if n.lanes[depth] == nil {
		n.lanes[depth] = b.trees.newLane(sliced, r.host)
	}
	return b.trees.add(n.lanes[depth], it)
}

func (b *Builder) beginSlice(r *row, name uint64, class uint32, at, event int64) error {
	if name != 0 && r.nest.begun(name) {
		// The number is used again: the slice before it lost its end.
		s, depth, _ := r.nest.end(name)
		b.lost.reused++
		if err := b.slice(r, depth, item{at: s.at, to: at, event: s.event, other: -1, class: s.class, flags: noEnd}); err != nil {
			return err
		}
	}
	if r.nest.begin(name, openSlice{class: class, at: at, event: event}) < 0 {
		b.lost.deep++
	}
	return nil
}

func (b *Builder) endSlice(r *row, name uint64, class uint32, at, event int64) error {
	s, depth, over := r.nest.end(name)
	if over {
		return nil // counted when it began
	}
	if depth >= 0 {
		return b.slice(r, depth, item{at: s.at, to: at, event: s.event, other: event, class: s.class})
	}
	// It began before the recording did, or its begin was lost. What is known is that it was there when it ended; and if
	// nothing was on its lane before, nothing stands against its having been there since the first instant.
	b.lost.noBegin++
	if depth = r.nest.free(0); depth < 0 {
		return nil
	}
	from := at
	if r.nest.lanes[depth] == nil {
		from = 0
	}
	return b.slice(r, depth, item{at: from, to: at, event: event, other: event, class: class, flags: noBegin})
}

// closeSlices ends what is still open at the last instant, the innermost first.
func (b *Builder) closeSlices() error {
	for _, r := range b.rows {
		for depth, s := range slices.Backward(r.nest.open) {
			if !s.used {
				continue
			}
			b.lost.noEnd++
			if err := b.slice(r, depth, item{at: s.at, to: b.last, event: s.event, other: -1, class: s.class, flags: noEnd}); err != nil {
				return err
			}
		}
	}
	return nil
}
