package live

import (
	"math"

	"meridian/clock"
)

// component is clocks on one timeline. The timeline follows a clock, its reference: base carries that clock's readings to it.
// A clock that takes over from another goes on with the same timeline, as far as the bounds tell where that is.
type component struct {
	number      int
	reference   *epoch
	base        clock.Map
	established bool   // more than one clock has been aligned to it
	heir        *epoch // the clock that is to take over; rounds are solved for it too
}

// epoch is a clock between two steps: what rounds align.
type epoch struct {
	number    int
	clock     int
	component *component
	first     clock.HostTime // the first reading
	seen      clock.HostTime // the greatest
	earliest  clock.HostTime // the least that it may have shown, if there is an epoch before it
	prepared  clock.HostTime // the same when the round began
	ended     bool
	runs      []*Run // what was shown, the last one open
	fresh     bool   // it has never been aligned
	reach     reach
	// Around the step before it: the last reading that was surely of the epoch before, and the first that was its own.
	step      *stepSeen
	successor *epoch // the epoch behind the step that ended it
}

// reach is from where to where a round bounds an epoch.
type reach struct{ from, to clock.HostTime }

// stepSeen is a step between two epochs.
type stepSeen struct {
	before      *epoch
	last, first clock.HostTime
	by          int64
}

func (e *epoch) see(at clock.HostTime) {
	e.first, e.seen = min(e.first, at), max(e.seen, at)
}

// any reports whether the epoch has shown anything.
func (e *epoch) any() bool { return e.seen != math.MinInt64 }

// knot is an instant of what was shown.
type knot struct {
	x              clock.HostTime
	mid, low, high clock.TimelineTime
}

const forever = clock.HostTime(math.MaxInt64)

// identity shows the epoch as the reference of its component.
func (e *epoch) identity() {
	m := e.component.base
	e.runs = []*Run{{Component: e.component.number, Epoch: e.number, First: math.MinInt64, Last: forever, Until: forever, Map: m}}
}

// open returns the run that goes on.
func (e *epoch) open() *Run { return e.runs[len(e.runs)-1] }

// replace shows another run instead of the last one.
func (e *epoch) replace(r *Run) { e.runs = append(e.runs[:len(e.runs)-1:len(e.runs)-1], r) }

// cut ends what is shown at a reading. An epoch of which nothing was shown by then keeps a run of that reading alone, without bounds.
func (e *epoch) cut(at clock.HostTime) {
	last := e.open()
	for len(e.runs) > 0 && e.open().First > at {
		e.runs = e.runs[: len(e.runs)-1 : len(e.runs)-1]
	}
	if len(e.runs) == 0 {
		e.runs = []*Run{{Component: last.Component, Epoch: e.number, First: at, Last: at, Until: at, Map: clock.Map{Mid: last.Map.Mid}}}
		return
	}
	r := *e.open()
	r.Last = min(r.Last, at)
	if r.Until < r.Last && r.bounded() { // it was shown without bounds behind Until
		bare := r
		bare.First, bare.Map.Low, bare.Map.High = r.Until+1, nil, nil
		r.Last = r.Until
		e.replace(&r)
		e.runs = append(e.runs, &bare)
		return
	}
	e.replace(&r)
}

// shownAt returns the map for a reading, one without bounds where none hold, and the component of its timeline.
func (e *epoch) shownAt(at clock.HostTime) (m *clock.Map, component int) {
	for i := len(e.runs) - 1; i >= 0; i-- {
		if r := e.runs[i]; at >= r.First && at <= r.Last {
			if at <= r.Until {
				return &r.Map, r.Component
			}
			break
		}
	}
	return &clock.Map{}, -1
}

// unbind shows the epoch without bounds behind a reading.
func (e *epoch) unbind(from clock.HostTime) {
	r := e.open()
	e.cut(from)
	if last := e.open().Last; last < forever {
		first := max(from, last) + 1
		bare := &Run{Component: r.Component, Epoch: e.number, First: first, Last: forever, Until: forever, Map: clock.Map{Mid: r.Map.Mid}}
		e.runs = append(e.runs, bare)
	}
}

// forget drops what was shown before a reading.
func (e *epoch) forget(before clock.HostTime) {
	n := 0
	for n < len(e.runs)-1 && e.runs[n].Last < before {
		n++
	}
	e.runs = e.runs[n:]
}
