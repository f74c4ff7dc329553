package ctf

import (
	"errors"
	"fmt"

	"meridian/trace"
)

// Declare returns the event class for events of a class, for use with a [StreamWriter]: as [Writer]
// lays values out, so that a [Source] returns the same values. The class's context fields become the event's own context.
// It adds the slots that the class needs to the metadata; the caller appends the event class to a stream class.
func (c *Encoder) Declare(id uint64, class *trace.Class) (EventClass, error) {
	if c.m == nil || class == nil {
		return EventClass{}, errors.New("ctf: missing metadata or class")
	}
	if class.Context < 0 || class.Context > len(class.Fields) {
		return EventClass{}, fmt.Errorf("ctf: class %q: invalid count of context fields %d (0 to %d)", class.Name, class.Context, len(class.Fields))
	}
	h := &hostWriter{enc: c, slots: c.m.Slots}
	payload, context := structOfFields(), structOfFields()
	for i := range class.Fields {
		f := &class.Fields[i]
		to := payload
		if i >= len(class.Fields)-class.Context {
			to = context
		}
		p := newPresence(&f.Type, 0)
		to.Fields = append(to.Fields, h.fieldsFor(f.Name, &f.Type, &p, 0)...)
	}
	c.m.Slots = h.slots
	e := EventClass{ID: id, Payload: payload}
	e.Name, e.URI = eventName(class, trace.Instant)
	if class.Context > 0 {
		e.Context = context
	}
	return e, nil
}
