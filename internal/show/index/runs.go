package index

// Events of a row may come by several clocks: one that was set back is a clock of its own from there on. Where raw time is
// shown each is to stand where its own clock put it, so a row notes from which instants on its events came by which.
//
//	clock 0 ........... clock 3 ........ clock 0 ..
//	[0, 0]              [at, 3]          [at, 0]
//
// Of events at one instant by two clocks the last decides. A clock is not set often. Rows with events of several clocks
// in turn would have too many such runs. They get the clock of most of their events, and are counted.
const (
	mostRowRuns = 256     // of one row
	mostRuns    = 1 << 16 // of all rows
)

// turn notes by which clock an event of a row came, in order of time.
func (s *sorter) turn(w *row, at int64, clock int32) {
	n := len(w.runs)
	switch {
	case w.mixed || n > 0 && w.runs[n-1].Clock == int(clock):
		return
	case n > 0 && w.runs[n-1].At >= at: // before it: an end of a message, which may come in any order
		if w.runs[n-1].Clock = int(clock); n > 1 && w.runs[n-2].Clock == int(clock) {
			w.runs = w.runs[:n-1]
			s.runs--
		}
		return
	case n == mostRowRuns || s.runs == mostRuns:
		s.runs -= n
		w.runs, w.mixed = nil, true
		return
	}
	w.runs = append(w.runs, Run{At: at, Clock: int(clock)})
	s.runs++
}

// clocks returns the clock of a row, and its runs if its events came by several clocks.
func (w *row) clocks() (clock int, runs []Run) {
	if len(w.runs) == 1 { // perhaps not that of most: of those of one instant it is the last one's
		return w.runs[0].Clock, nil
	}
	return int(w.clock), w.runs
}

// sound reports whether runs are in order, within the timeline and of clocks that there are.
func sound(runs []Run, span int64, clocks int) bool {
	for i, r := range runs {
		if r.At < 0 || r.At > span || r.Clock < -1 || r.Clock >= clocks || i > 0 && r.At <= runs[i-1].At {
			return false
		}
	}
	return len(runs) <= mostRowRuns
}

// ClockAt returns the clock by which events of a row came at an instant.
func (r *Row) ClockAt(at int64) int {
	clock := r.Clock
	for i := range r.Clocks {
		if i > 0 && r.Clocks[i].At > at {
			break
		}
		clock = r.Clocks[i].Clock
	}
	return clock
}
