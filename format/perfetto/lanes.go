package perfetto

import (
	"slices"

	"meridian/clock"
	"meridian/format/internal/timeline"
	"meridian/trace"
)

// Slices that begin and end by a number of their own may overlap, and Perfetto's may only nest. Which of two slices
// contains the other is known when one has ended; until then both lie in the body with their tracks left open. When the
// body is written, what begins in its first half gets its place:
//
//	written <-- | first half: gets its place now | second half: seen already | what comes is not known
//	               [a ............................................. ]          a and b: ends known, b within a
//	                    [b ......]                                             c ends after a: aside
//	                           [c ..........................................   d ends before c, whenever that is: within
//	                                [d ...........]
//
// A slice goes to the first track on which it lies within all that is open. Of two whose ends are both not known, neither
// is put within the other: the second gets a track of its own.
type lanes struct {
	open   timeline.OpenSlices[int32] // by index into slices
	slices []slice
	free   []int32
	ops    []op // begins and ends without a place, in the order of the file
	done   int  // how many of them have one
	count  int64
}

// lane is one of the tracks of a row.
type lane struct {
	uuid uint64
	open []int32 // the slices that lie on it, outermost first
}

// slice is one that lies in the body or is open.
type slice struct {
	stream int32
	lane   int32
	begun  int64 // the place of its begin, and of its end, in the order of all of them; end is 0 while not known
	end    int64
	last   clock.TimelineTime // time of the end
	bare   bool               // its end says nothing but the time
}

type op struct {
	at    int64 // where in the file its packet is
	slot  int32 // and where in that the track's number is to be filled in
	slice int32
	begin bool
}

func (w *Writer) beginSlice(row *row, c *class, r *trace.TimelineEvent) {
	if r.Slice == 0 {
		if row.nest < 0 {
			if row.numbered {
				w.addLane(row)
			}
			row.nest = len(row.lanes) - 1
		}
		row.nested++
		b, p := w.event(w.body, r.Time, typeBegin, row.lanes[row.nest].uuid)
		b = w.describeEvent(b, c, r)
		w.body = p.close(b)
		return
	}
	row.numbered = true
	l := &w.lanes
	if s, ok := l.open.End(r); ok { // its end is missing: the number is used again
		w.tally.Open++
		w.endNumbered(s.Value, r.Time, nil, nil)
	}
	i := int32(len(l.slices))
	if n := len(l.free); n > 0 {
		i, l.free = l.free[n-1], l.free[:n-1]
	} else {
		l.slices = append(l.slices, slice{})
	}
	l.count++
	l.slices[i] = slice{stream: int32(r.Stream), begun: l.count}
	l.open.Begin(r, i)
	b, p := w.event(w.body, r.Time, typeBegin, 0)
	b = w.describeEvent(b, c, r)
	w.body = p.close(b)
	l.ops = append(l.ops, op{at: w.base + int64(p.start()), slot: int32(p.slot - p.start()), slice: i, begin: true})
}

func (w *Writer) endSlice(row *row, c *class, r *trace.TimelineEvent) {
	if r.Slice != 0 {
		if s, ok := w.lanes.open.End(r); ok {
			w.endNumbered(s.Value, r.Time, c, r)
		} else {
			w.tally.LoneEnds++
		}
		return
	}
	if row.nested == 0 {
		w.tally.LoneEnds++
		return
	}
	row.nested--
	b, p := w.event(w.body, r.Time, typeEnd, row.lanes[row.nest].uuid)
	b = w.annotations(b, c, r)
	w.body = p.close(b)
}

// endNumbered ends a slice; r is nil where no event ended it.
func (w *Writer) endNumbered(i int32, t clock.TimelineTime, c *class, r *trace.TimelineEvent) {
	l := &w.lanes
	b, p := w.event(w.body, t, typeEnd, 0)
	said := len(b)
	if r != nil {
		b = w.annotations(b, c, r)
	}
	l.count++
	s := &l.slices[i]
	s.end, s.last, s.bare = l.count, t, len(b) == said
	w.body = p.close(b)
	l.ops = append(l.ops, op{at: w.base + int64(p.start()), slot: int32(p.slot - p.start()), slice: i})
}

// place gives all that begins or ends before a place in the file its track, and returns up to where the body is complete:
// always the end of a packet, for what goes before the next part of the body must not come into the midst of one.
func (w *Writer) place(limit int64) int {
	l := &w.lanes
	for ; l.done < len(l.ops) && l.ops[l.done].at < limit; l.done++ {
		o := l.ops[l.done]
		s := &l.slices[o.slice]
		row := &w.tracks.rows[s.stream]
		if o.begin {
			s.lane = w.choose(row, s)
			on := &row.lanes[s.lane]
			on.open = append(on.open, o.slice)
			if s.lane > 0 {
				w.tally.Aside++
			}
		} else {
			on := &row.lanes[s.lane]
			k := len(on.open) - 1
			for on.open[k] != o.slice { // above it lie only those that end at the same time
				k--
			}
			on.open = slices.Delete(on.open, k, k+1)
			l.free = append(l.free, o.slice)
		}
		fillSlot(w.body[o.at-w.base+int64(o.slot):], row.lanes[s.lane].uuid)
	}
	if l.done == len(l.ops) {
		l.ops, l.done = l.ops[:0], 0
		return len(w.body)
	}
	if l.done > len(l.ops)/2 {
		l.ops, l.done = l.ops[:copy(l.ops, l.ops[l.done:])], 0
	}
	return int(l.ops[l.done].at - w.base)
}

// choose returns the first lane of a row on which a slice nests.
func (w *Writer) choose(row *row, s *slice) int32 {
	for i := range row.lanes {
		if i == row.nest {
			continue // how its slices nest is not known in advance
		}
		open := row.lanes[i].open
		if len(open) == 0 || s.within(&w.lanes.slices[open[len(open)-1]]) {
			return int32(i)
		}
	}
	w.addLane(row)
	return int32(len(row.lanes) - 1)
}

// within says whether a slice that begins within another surely ends there too. Two that end at the same time nest
// either way, but Perfetto gives the first end to the inner one, so neither may have anything to say.
func (s *slice) within(outer *slice) bool {
	switch {
	case s.end == 0:
		return false
	case outer.end == 0 || s.end < outer.end:
		return true
	}
	return s.last == outer.last && s.bare && outer.bare
}

func (w *Writer) addLane(row *row) {
	row.lanes = append(row.lanes, lane{uuid: w.newUUID()})
	w.describeLane(row, len(row.lanes)-1)
}

// closeSlices ends what is still open at the time of the last record, the innermost first.
func (w *Writer) closeSlices() {
	for _, s := range w.lanes.open.EndAll() {
		w.tally.Open++
		w.endNumbered(s.Value, w.progress.Last, nil, nil)
	}
	for i := range w.tracks.rows {
		row := &w.tracks.rows[i]
		for ; row.nested > 0; row.nested-- {
			w.tally.Open++
			b, p := w.event(w.body, w.progress.Last, typeEnd, row.lanes[row.nest].uuid)
			w.body = p.close(b)
		}
	}
}
