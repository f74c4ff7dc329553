// Package arrows follows messages on a timeline while it is written: for each end of a message it says what a format that
// infers the direction of an arrow from the order of its ends has to write there.
//
// In go the ends in the order of the file, by the number of the message; out comes for each whether an arrow starts
// there, ends there, or neither. A message that arrives before it was sent, which no clocks can make right, keeps its
// arrow: it starts where the message arrived, and the caller is told.
//
// Remembered are the messages of which one end was seen: 2^20 at most, of which the older half is then forgotten. A
// message whose send was forgotten still gets its end. About 100 ns for each end.
package arrows

import "meridian/trace"

// Mark is what an end of a message is to its arrow.
type Mark uint8

const (
	Nothing Mark = iota // a second arrival, or a second send
	Start
	Finish
)

const generation = 1 << 19

// Ends remembers the messages of which one end was seen. The zero value is ready.
type Ends struct {
	young, old map[uint64]trace.Role // the end that was seen
	forgot     bool
	inverted   int64
}

// Seen returns which end of a message was seen and waits for the other, NoRole if none.
func (e *Ends) Seen(flow uint64) trace.Role {
	role, _ := e.look(flow)
	return role
}

// Add takes the next end of a message and says what it is to the arrow, and whether the message is known now to have
// arrived before it was sent.
func (e *Ends) Add(flow uint64, role trace.Role) (m Mark, inverted bool) {
	was, in := e.look(flow)
	switch {
	case was == role:
		return Nothing, false
	case was != trace.NoRole:
		delete(in, flow)
		if was == trace.Receives {
			e.inverted++
		}
		return Finish, was == trace.Receives
	case e.forgot && role == trace.Receives:
		return Finish, false // more likely forgotten than early
	}
	if len(e.young) >= generation {
		e.forgot = e.forgot || len(e.old) > 0
		e.old, e.young = e.young, e.old
		clear(e.young)
	}
	if e.young == nil {
		e.young = make(map[uint64]trace.Role)
	}
	e.young[flow] = role
	return Start, false
}

// Inverted returns how many messages arrived before they were sent.
func (e *Ends) Inverted() int64 { return e.inverted }

func (e *Ends) look(flow uint64) (trace.Role, map[uint64]trace.Role) {
	if r, ok := e.young[flow]; ok {
		return r, e.young
	}
	return e.old[flow], e.old
}
