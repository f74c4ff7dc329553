package online

import (
	"math"

	"meridian/clock"
	"meridian/trace"
)

// edge is what all synchronisers share: the strict bound, pieces where a clock was set, and the least round trip.
type edge struct {
	strict  *Strict
	began   bool
	since   clock.HostTime // the first message of the piece
	steps   int
	invalid int
	trips   leastOf
}

func newEdge(o Options) *edge {
	return &edge{
		strict: NewStrict(o.Assumption, o.Window.Nanoseconds(), o.LocalStep, o.RemoteStep, o.MinDelay, o.MinDelay),
		trips:  leastOf{length: o.Window.Nanoseconds() / 2},
	}
}

// forward and back add a message. What is from before the step that began the piece is dropped: its bound would span the step.
func (e *edge) forward(sent, received clock.HostTime) (stepped, ok bool) {
	if !inRange(clock.Sub(received, sent)) {
		e.invalid++
		return false, false
	}
	m := trace.Message{Sent: sent, Received: received}
	return e.add(sent, func() { e.strict.AB(m) })
}

func (e *edge) back(sent, received clock.HostTime) (stepped, ok bool) {
	if !inRange(clock.Sub(sent, received)) {
		e.invalid++
		return false, false
	}
	m := trace.Message{Sent: sent, Received: received}
	return e.add(received, func() { e.strict.BA(m) })
}

func (e *edge) add(local clock.HostTime, take func()) (stepped, ok bool) {
	if !e.began {
		e.began, e.since = true, local
	}
	if e.steps > 0 && local < e.since {
		return false, false
	}
	take()
	if !e.strict.Contradictory() {
		return false, true
	}
	// The message alone begins the next piece. The others of its exchange may be from before the step.
	e.strict.Reset()
	e.trips.n = 0
	e.steps++
	e.since = local
	take()
	return true, true
}

// exchange adds both ways and the round trip.
func (e *edge) exchange(x Exchange) (stepped, ok bool) {
	if x.check() != nil {
		e.invalid++
		return false, false
	}
	there, _ := e.forward(x.Sent, x.Received)
	back, _ := e.back(x.Replied, x.Returned)
	e.trips.add(x.Returned, x.RoundTrip())
	return there || back, true
}

// read returns a reading with the bound, and the estimate clamped to it.
func (e *edge) read(local clock.HostTime, offset int64, skew float64, known bool) Reading {
	r := Reading{Skew: skew, Known: known, Offset: offset, Steps: e.steps, Since: e.since, Invalid: e.invalid, MinRTT: e.trips.least()}
	if last, any := e.strict.Last(); !any || local < last {
		return r
	}
	low, high, lowOK, highOK, ok := e.strict.At(local)
	if r.Bounded = ok && lowOK && highOK; !r.Bounded {
		return r
	}
	r.Low, r.High = clock.Sub(low, local), clock.Sub(high, local)
	if !known {
		r.Offset, r.Known = r.Low+(r.High-r.Low)/2, true
	}
	r.Offset = min(max(r.Offset, r.Low), r.High)
	return r
}

// leastOf is the least of the values of the last one to two lengths.
type leastOf struct {
	length int64
	n      int
	until  clock.HostTime
	value  [2]int64 // of the present length and of the one before
}

func (l *leastOf) add(at clock.HostTime, v int64) {
	switch {
	case l.n == 0 || clock.Sub(at, l.until) > l.length:
		l.value = [2]int64{v, math.MaxInt64}
		l.until = clock.Add(at, l.length)
	case at > l.until:
		l.value = [2]int64{v, l.value[0]}
		l.until = clock.Add(l.until, l.length)
	}
	l.value[0] = min(l.value[0], v)
	l.n++
}

func (l *leastOf) least() int64 {
	if l.n == 0 {
		return 0
	}
	return min(l.value[0], l.value[1])
}
