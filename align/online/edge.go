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
	old     int // messages older than the window in a row
	step    int64
	trips   leastOf
}

func newEdge(o Options) *edge {
	return &edge{
		strict: NewStrict(o.Assumption, o.Window.Nanoseconds(), o.LocalStep, o.RemoteStep, o.MinDelay, o.MinDelay),
		trips:  leastOf{length: o.Window.Nanoseconds() / 2},
		step:   max(o.LocalStep, 1),
	}
}

// forward and back add a message. What is from before the step that began the piece is dropped: its bound would span the step.
func (e *edge) forward(x Exchange) (stepped, ok bool) {
	out := x.outward()
	if min(x.Errors.Sent, x.Errors.Received) < 0 || !inRange(clock.Sub(out.Received, out.Sent)) {
		e.invalid++
		return false, false
	}
	m := trace.Message{Sent: out.Sent, Received: out.Received}
	return e.add(out.Sent, false, func() { e.strict.AB(m) })
}

func (e *edge) back(x Exchange) (stepped, ok bool) {
	out := x.outward()
	if min(x.Errors.Replied, x.Errors.Returned) < 0 || !inRange(clock.Sub(out.Replied, out.Returned)) {
		e.invalid++
		return false, false
	}
	m := trace.Message{Sent: out.Replied, Received: out.Returned}
	return e.add(out.Returned, true, func() { e.strict.BA(m) })
}

// maxOld is how many arrivals older than the window come in a row before the local clock is taken to have been set back. Fewer are
// messages that were added late.
const maxOld = 6

// add adds a message that was sent or has arrived at a local instant.
func (e *edge) add(local clock.HostTime, arrived bool, take func()) (stepped, ok bool) {
	if !e.began {
		e.began, e.since = true, local
	}
	last, any := e.strict.Last()
	old := any && clock.Sub(last, local) > int64(e.strict.ceiling.window)
	switch {
	case old && !arrived:
		return false, false
	case old:
		if e.old++; e.old < maxOld {
			return false, false
		}
	case arrived:
		e.old = 0
	}
	if !old {
		// Of the same step of a coarse clock a message may be from before, too.
		if e.steps > 0 && clock.Sub(local, e.since) < e.step-1 {
			return false, false
		}
		if take(); !e.strict.Contradictory() {
			return false, true
		}
	}
	e.strict.Reset()
	e.trips.n = 0
	e.old = 0
	e.steps++
	if any && local < last && !old {
		// A late one. The step lies before the latest message, and nothing says between which: the next piece begins behind that.
		e.since = clock.Add(last, e.step)
		return true, false
	}
	// The message alone begins the next piece. The others of its exchange may be from before the step.
	e.since = local
	take()
	return true, true
}

// halves says which messages of an exchange are of the present piece.
type halves struct{ there, back bool }

// exchange adds both ways and the round trip. A clock that was set within the exchange parts it: the way back is of the new piece, the
// way there is not.
func (e *edge) exchange(x Exchange) (stepped bool, of halves) {
	if x.check() != nil {
		e.invalid++
		return false, of
	}
	first, there := e.forward(x)
	second, back := e.back(x)
	of = halves{there && !second, back}
	if of.there && of.back {
		out := x.outward()
		e.trips.add(out.Returned, out.RoundTrip())
	}
	return first || second, of
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
