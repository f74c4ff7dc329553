package index

import "slices"

// nest has the open slices of one row, each at a depth of its own, so that no two at one depth overlap. Slices are added
// to a lane as they end. So the lane is sorted by begin and by end alike.
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
func (s *sorter) slice(w *row, depth int, it item) error {
	return s.trees.add(s.sliceLane(w, depth), it)
}

func (s *sorter) sliceLane(w *row, depth int) *lane {
	n := &w.nest
	if n.lanes[depth] == nil {
		n.lanes[depth] = s.trees.newLane(sliced, int(w.host), int(w.number))
		n.lanes[depth].depth = depth
	}
	return n.lanes[depth]
}

func (s *sorter) beginSlice(w *row, m *moment) error {
	if m.slice != 0 && w.nest.begun(m.slice) {
		// The number is used again: the slice before it lost its end.
		o, depth, _ := w.nest.end(m.slice)
		s.lost.reused++
		if err := s.slice(w, depth, item{at: o.at, to: m.at, event: o.event, other: -1, class: o.class, flags: noEnd}); err != nil {
			return err
		}
	}
	depth := w.nest.begin(m.slice, openSlice{class: m.class, at: m.at, event: m.event})
	switch {
	case depth < 0:
		s.lost.deep++
	case s.trees.held: // it is drawn before it ends
		s.sliceLane(w, depth)
	}
	return nil
}

func (s *sorter) endSlice(w *row, m *moment) error {
	o, depth, over := w.nest.end(m.slice)
	if over {
		return nil // counted when it began
	}
	if depth >= 0 {
		return s.slice(w, depth, item{at: o.at, to: m.at, event: o.event, other: m.event, class: o.class})
	}
	// It began before the recording did, or its begin was lost. What is known is that it was there when it ended; and if
	// nothing was on its lane before, nothing stands against its having been there since the first instant.
	s.lost.noBegin++
	if depth = w.nest.free(0); depth < 0 {
		return nil
	}
	from := m.at
	if w.nest.lanes[depth] == nil {
		from = 0
		s.trees.changed(0)
	}
	return s.slice(w, depth, item{at: from, to: m.at, event: m.event, other: m.event, class: m.class, flags: noBegin})
}

// closeSlices ends what is still open at the last instant, the innermost first.
func (s *sorter) closeSlices(last int64) error {
	for _, w := range s.rows {
		for depth, o := range slices.Backward(w.nest.open) {
			if !o.used {
				continue
			}
			s.lost.noEnd++
			if err := s.slice(w, depth, item{at: o.at, to: last, event: o.event, other: -1, class: o.class, flags: noEnd}); err != nil {
				return err
			}
		}
	}
	return nil
}
