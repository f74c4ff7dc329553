package record

import (
	"fmt"
	"math/bits"
	"time"

	"meridian/clock"
	"meridian/internal/steering"
)

// times are the lines that lead from the counters that programs stamp by to CLOCK_MONOTONIC.
type times struct {
	take  func(clock.Source) clock.Snapshot
	early *Early // may be nil
	lines map[clock.Source]*line
}

func newTimes(take func(clock.Source) clock.Snapshot, early *Early) *times {
	return &times{take: take, early: early, lines: map[clock.Source]*line{}}
}

// Early is a reading of the clocks from before a recorder was made.
type Early struct {
	snapshot clock.Snapshot
	kernel   steering.Kernel
}

// ReadEarly reads the clocks. It is to be called before the first source of events is opened, so that all their events come
// after a reading; see Options.Early.
func ReadEarly() *Early {
	return &Early{snapshot: clock.Take(clock.Best().Source), kernel: steering.ReadKernel()}
}

// baseline is how long the two readings lie apart with which a line begins: it bounds by how much stamps from before the
// first of them may be off, 5 µs a second with readings of 50 ns.
const baseline = 10 * time.Millisecond

// line returns the line of a counter, begun if need be.
func (t *times) line(counter clock.Source) (*line, error) {
	if l := t.lines[counter]; l != nil {
		return l, nil
	}
	l := &line{counter: counter, take: t.take}
	if e := t.early; e != nil && e.snapshot.Counter == counter {
		l.add(e.snapshot)
	}
	if counter != clock.Monotonic {
		if !counter.Available() || counter > clock.Monotonic {
			return nil, fmt.Errorf("its events are stamped by %v, which this machine does not have", counter)
		}
		l.read()
		time.Sleep(baseline)
		for range 100 { // a reading fails where the counter did not move
			if l.read(); len(l.knots) > 1 {
				break
			}
		}
		if len(l.knots) < 2 {
			return nil, fmt.Errorf("its events are stamped by %v, which cannot be compared with CLOCK_MONOTONIC", counter)
		}
	}
	t.lines[counter] = l
	return l, nil
}

// line is a polyline through readings of a counter and MONOTONIC.
type line struct {
	counter clock.Source
	take    func(clock.Source) clock.Snapshot
	knots   []knot
	error   int64  // of the worst reading, ns
	recent  int64  // the same, of those since it was last asked for
	least   uint64 // error of the best reading, counts
	piece   piece  // the one used last
	now     uint64 // of the line of MONOTONIC itself: its last reading
}

type knot struct {
	counter uint64
	ns      int64
}

// mostKnots bounds a line's memory. What is halved then is some seconds old, and read only where a ring holds events that
// old.
const mostKnots = 1 << 13

// A reading with an error of more than badReading times the least is taken again, as often as maxRetries.
const (
	badReading = 4
	maxRetries = 4
)

// read adds a reading and returns all that was read with it.
func (l *line) read() clock.Snapshot {
	s := l.take(l.counter)
	for n := 0; n < maxRetries && l.least > 0 && s.Monotonic.Error > badReading*l.least; n++ {
		s = l.take(l.counter)
	}
	return l.add(s)
}

// add adds a reading and returns it.
func (l *line) add(s clock.Snapshot) clock.Snapshot {
	if s.Monotonic.Clock == clock.None {
		return s
	}
	k := knot{s.Monotonic.Counter, s.Monotonic.Ns}
	n := len(l.knots)
	if n > 0 && (k.counter <= l.knots[n-1].counter || k.ns <= l.knots[n-1].ns) {
		return s
	}
	if n >= mostKnots {
		kept := l.knots[:1]
		for i := 2; i < n/2; i += 2 {
			kept = append(kept, l.knots[i])
		}
		l.knots = append(kept, l.knots[n/2:]...)
	}
	l.knots = append(l.knots, k)
	if n := len(l.knots); n > 1 {
		e := l.errorOf(s.Monotonic)
		l.error, l.recent = max(l.error, e), max(l.recent, e)
	}
	if e := s.Monotonic.Error; l.least == 0 || e < l.least {
		l.least = e
	}
	return s
}

// errorOf returns the error of a reading, ns: the counts at the rate of the last piece, rounded up.
func (l *line) errorOf(r clock.Reading) int64 {
	counts := int64(min(r.Error, 1<<40))
	if n := len(l.knots); n > 1 {
		a, b := l.knots[n-2], l.knots[n-1]
		counts = clock.MulDiv(counts, b.ns-a.ns, int64(b.counter-a.counter), clock.Up)
	}
	return clock.Add(counts, r.NsError)
}

// reach reads the clocks if a stamp lies behind the last reading, so that the line reaches beyond it.
func (l *line) reach(stamp uint64) {
	switch {
	case l.counter == clock.Monotonic:
		if stamp > l.now {
			l.now = clock.Monotonic.Now()
		}
	case stamp > l.knots[len(l.knots)-1].counter:
		l.read()
	}
}

// at returns MONOTONIC when the counter stood at a stamp. What lies behind the last reading, reach having been called,
// was not a reading of this counter: it becomes the last one's time. A stamp of before 0 becomes 0.
func (l *line) at(stamp uint64) uint64 {
	if l.counter == clock.Monotonic {
		return min(stamp, l.now)
	}
	p := &l.piece
	if stamp < p.from || stamp >= p.to {
		l.seek(stamp)
	}
	return p.at(stamp)
}

// piece is a straight part of a line: from and to are counts, of which the first is in it.
type piece struct {
	from, to     uint64
	begin, end   knot
	rate         uint64 // ns a count, in 2^-32; 0 where that is too much
	before, last bool   // it stands for all that lies before, or behind, the readings
}

func (l *line) seek(stamp uint64) {
	n := len(l.knots)
	first, last := l.knots[0], l.knots[n-1]
	switch {
	case stamp < first.counter:
		l.piece = piece{from: 0, to: first.counter, begin: first, end: last, before: true}
	case stamp >= last.counter:
		// A new reading changes what is behind the last one, so this piece is good for one stamp.
		l.piece = piece{begin: last, last: true}
	default:
		// From the newest on: that is where stamps mostly are.
		i := n - 2
		for i > 0 && l.knots[i].counter > stamp {
			if i < n-64 {
				low, high := 0, i
				for low < high {
					if mid := (low + high + 1) / 2; l.knots[mid].counter <= stamp {
						low = mid
					} else {
						high = mid - 1
					}
				}
				i = low
				break
			}
			i--
		}
		a, b := l.knots[i], l.knots[i+1]
		l.piece = piece{from: a.counter, to: b.counter, begin: a, end: b}
		if counts, ns := b.counter-a.counter, uint64(b.ns-a.ns); ns>>32 < counts && counts < 1<<32 {
			l.piece.rate, _ = bits.Div64(ns>>32, ns<<32, counts)
		}
	}
}

func (p *piece) at(stamp uint64) uint64 {
	switch {
	case p.last:
		return uint64(p.begin.ns)
	case p.before:
		back := p.begin.counter - stamp
		counts := int64(p.end.counter - p.begin.counter)
		return uint64(max(0, clock.Sub(p.begin.ns, clock.MulDiv(int64(min(back, 1<<62)), p.end.ns-p.begin.ns, counts, clock.Nearest))))
	case p.rate != 0:
		high, low := bits.Mul64(stamp-p.begin.counter, p.rate)
		return uint64(p.begin.ns) + high<<32 + low>>32
	}
	return uint64(p.begin.ns + clock.MulDiv(int64(stamp-p.begin.counter), p.end.ns-p.begin.ns, int64(p.end.counter-p.begin.counter), clock.Down))
}
