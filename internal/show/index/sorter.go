package index

import (
	"fmt"
	"math"
	"sync/atomic"

	"meridian/trace"
)

// sorter puts events onto the lanes of their rows, in a goroutine of its own, parallel to the one that reads and merges traces.
type sorter struct {
	minDelay int64
	trees    trees
	rows     []*row
	runs     int     // of all rows
	first    []int32 // of each host, the first row; -1 for none
	pairs    pairs
	lost     lostLanes
	full     chan *batch
	free     chan *batch
	done     chan struct{}
	failed   atomic.Bool
	err      error // to be read when failed, or done
}

// lostLanes counts what of slices and messages could not be shown as it was.
type lostLanes struct {
	ends    int64 // of messages, without their other
	folded  int64 // messages on the link of other rows
	noBegin int64
	noEnd   int64
	reused  int64
	deep    int64
}

// batch is events on their way to the sorter, and the numbers of counters among them.
type batch struct {
	moments []moment
	numbers []counted
}

const batchSize = 512

// moment is what the lanes need of an event.
type moment struct {
	event        int64
	at           int64 // on its lane
	time         int64 // since the origin; before at if it came late
	recorded     int64 // the stamp, ns since 1970
	slice, flow  uint64
	below, above int64
	step         int64 // of the stamps of its clock
	first, end   int   // of the batch's numbers
	row, host    int32
	clock        int32
	class        uint32
	phase        trace.Phase
	bounded      bool
	sends        bool
}

type counted struct {
	field int
	value float64
}

type row struct {
	number   int32
	host     int32
	clock    int32 // the one that most of its events have, as far as one has (Boyer and Moore 1981)
	votes    int64
	runs     []Run
	mixed    bool // there were too many
	events   int64
	instants *lane
	counters []counterLane
	nest     nest
}

type counterLane struct {
	class, field int
	lane         *lane
}

func newSorter(s *store, minDelay int64) *sorter {
	return &sorter{minDelay: minDelay, trees: trees{s: s}, pairs: newPairs(),
		full: make(chan *batch, 4), free: make(chan *batch, 6), done: make(chan struct{})}
}

// empty returns a batch to be filled.
func (s *sorter) empty() *batch {
	select {
	case b := <-s.free:
		b.moments, b.numbers = b.moments[:0], b.numbers[:0]
		return b
	default:
		return &batch{moments: make([]moment, 0, batchSize)}
	}
}

// take sorts a batch some time, and returns an empty one.
func (s *sorter) take(b *batch) (*batch, error) {
	s.full <- b
	if s.failed.Load() {
		return s.empty(), s.err
	}
	return s.empty(), nil
}

// direct sorts a batch at once and empties it.
func (s *sorter) direct(b *batch) error {
	for i := range b.moments {
		if err := s.sort(&b.moments[i], b); err != nil {
			return err
		}
	}
	b.moments, b.numbers = b.moments[:0], b.numbers[:0]
	return nil
}

// finish sorts the last batch and waits until all are sorted.
func (s *sorter) finish(b *batch) error {
	s.full <- b
	close(s.full)
	<-s.done
	return s.err
}

// run sorts batches until there are no more. After an error it lets them pass.
func (s *sorter) run() {
	defer close(s.done)
	for b := range s.full {
		for i := range b.moments {
			if s.err != nil {
				break
			}
			if err := s.sort(&b.moments[i], b); err != nil {
				s.err = err
				s.failed.Store(true)
			}
		}
		select {
		case s.free <- b:
		default:
		}
	}
}

func (s *sorter) sort(m *moment, b *batch) error {
	for int(m.row) >= len(s.rows) {
		s.rows = append(s.rows, &row{number: int32(len(s.rows)), host: -1, clock: -1})
	}
	for int(m.host) >= len(s.first) {
		s.first = append(s.first, -1)
	}
	w := s.rows[m.row]
	if w.events == 0 {
		w.host = m.host
	} else if w.host != m.host {
		return fmt.Errorf("index: event %d of host %d is on a row of host %d", m.event, m.host, w.host)
	}
	if s.first[m.host] < 0 {
		s.first[m.host] = m.row
	}
	w.events++
	w.vote(m.clock)
	s.turn(w, m.at, m.clock)
	var err error
	switch m.phase {
	case trace.Begin:
		err = s.beginSlice(w, m)
	case trace.End:
		err = s.endSlice(w, m)
	case trace.Counter:
		err = s.count(w, m, b.numbers[m.first:m.end])
	default:
		err = s.mark(w, m)
	}
	if err == nil && m.flow != 0 {
		err = s.meet(m.flow, end{event: m.event, time: m.time, recorded: m.recorded, stamped: true, below: m.below, above: m.above, step: m.step, row: m.row, host: m.host,
			clock: m.clock, bounded: m.bounded, sent: m.sends})
	}
	return err
}

// vote finds the clock that most events of a row have.
func (w *row) vote(clock int32) {
	switch {
	case w.votes == 0:
		w.clock, w.votes = clock, 1
	case w.clock == clock:
		w.votes++
	default:
		w.votes--
	}
}

// mark puts an instant on its row.
func (s *sorter) mark(w *row, m *moment) error {
	if w.instants == nil {
		w.instants = s.trees.newLane(instants, int(w.host), int(w.number))
	}
	s.trees.changed(m.at) // an end of a message may be long before what was shown last
	return s.trees.add(w.instants, item{at: m.at, to: m.at, event: m.event, other: -1, class: m.class})
}

// count puts the numbers of a counter onto their lanes. An event without a number is an instant, lest it be nowhere.
func (s *sorter) count(w *row, m *moment, numbers []counted) error {
	for _, n := range numbers {
		it := item{at: m.at, to: int64(math.Float64bits(n.value)), event: m.event, other: -1}
		if err := s.trees.add(s.counterLane(w, int(m.class), n.field), it); err != nil {
			return err
		}
	}
	if len(numbers) > 0 {
		return nil
	}
	return s.mark(w, m)
}

func (s *sorter) counterLane(w *row, class, field int) *lane {
	for i := range w.counters {
		if c := &w.counters[i]; c.class == class && c.field == field {
			return c.lane
		}
	}
	l := s.trees.newLane(counter, int(w.host), int(w.number))
	l.class, l.field = class, field
	w.counters = append(w.counters, counterLane{class, field, l})
	return l
}
