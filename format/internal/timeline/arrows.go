package timeline

import "meridian/trace"

// Mark says what an end of a message is to its arrow.
type Mark uint8

const (
	Nothing Mark = iota // a second arrival, or a second send
	Start
	Finish
	Waits // an arrival whose send may follow with the same time: see Arrows.Hold
)

// generation is how many messages are remembered before the oldest are forgotten.
const generation = 1 << 19

// Arrows follows messages while a timeline is written. Viewers infer the direction of an arrow from the order of its ends
// in the file; Arrows says what a format has to write for each end.
//
// An arrival whose send was not seen yet waits until all events of its time are written: with coarse stamps the send may
// follow. A message that arrives before it was sent, which no clocks can make right, keeps its arrow: it starts where the
// message arrived, and Inverted counts it.
//
// Remembered are the messages of which one end was seen: 2^20 at most, of which the older half is then forgotten. A
// message whose send was forgotten still gets its end. An end takes about 100 ns. The zero value is ready.
type Arrows struct {
	Pending []byte // encoded arrivals that wait; only the writer appends, by Hold

	young, old map[uint64]trace.Role // the end that was seen
	forgot     bool
	inverted   int64

	held  []heldArrival
	waits map[uint64]bool // messages of held
}

// heldArrival is an arrival that waits: offset is where in Pending the byte lies that says whether its arrow starts or ends.
type heldArrival struct {
	flow   uint64
	offset int
}

// Next takes the next end of a message, in the order of the file, and says what it is to the arrow. After Waits the writer
// encodes the end behind Pending and calls Hold. Inverted tells of a send that its message arrived before.
func (a *Arrows) Next(e *trace.TimelineEvent) (m Mark, inverted bool) {
	seen, _ := a.find(e.Flow)
	if e.Role == trace.Receives && seen == trace.NoRole {
		if a.waits[e.Flow] {
			return Nothing, false // a second arrival has no arrow
		}
		return Waits, false
	}
	return a.add(e.Flow, e.Role)
}

// Hold keeps an arrival: pending is Pending with the arrival behind it, offset is where in it Release is to put the mark.
func (a *Arrows) Hold(pending []byte, flow uint64, offset int) {
	if a.waits == nil {
		a.waits = make(map[uint64]bool)
	}
	a.Pending = pending
	a.waits[flow] = true
	a.held = append(a.held, heldArrival{flow, offset})
}

// Release appends the arrivals that waited to b and returns it. It calls put for each with the bytes from its offset and
// the mark of the arrow.
func (a *Arrows) Release(b []byte, put func(at []byte, m Mark)) []byte {
	if len(a.held) == 0 {
		return b
	}
	for _, h := range a.held {
		mark, _ := a.add(h.flow, trace.Receives)
		put(a.Pending[h.offset:], mark)
	}
	b = append(b, a.Pending...)
	a.Pending, a.held = a.Pending[:0], a.held[:0]
	clear(a.waits)
	return b
}

// Inverted returns how many messages arrived before they were sent.
func (a *Arrows) Inverted() int64 { return a.inverted }

// add takes an end that does not wait.
func (a *Arrows) add(flow uint64, role trace.Role) (m Mark, inverted bool) {
	was, in := a.find(flow)
	switch {
	case was == role:
		return Nothing, false
	case was != trace.NoRole:
		delete(in, flow)
		if was == trace.Receives {
			a.inverted++
		}
		return Finish, was == trace.Receives
	case a.forgot && role == trace.Receives:
		return Finish, false // more likely forgotten than early
	}
	if len(a.young) >= generation {
		a.forgot = a.forgot || len(a.old) > 0
		a.old, a.young = a.young, a.old
		clear(a.young)
	}
	if a.young == nil {
		a.young = make(map[uint64]trace.Role)
	}
	a.young[flow] = role
	return Start, false
}

func (a *Arrows) find(flow uint64) (trace.Role, map[uint64]trace.Role) {
	if r, ok := a.young[flow]; ok {
		return r, a.young
	}
	return a.old[flow], a.old
}
