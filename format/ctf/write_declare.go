package ctf

import (
	"fmt"

	"meridian/trace"
)

// Declare returns the event class for events of a class, for who writes streams of his own with this encoder: as [Writer]
// lays values out, so that a Source brings them back as they were. The class's context fields must be none. The metadata gets
// the slots that it needs.
func (c *Encoder) Declare(id uint64, class *trace.Class) (EventClass, error) {
	if class.Context != 0 {
		return EventClass{}, fmt.Errorf("ctf: class %q: it has %d fields of context, and none can be declared here", class.Name, class.Context)
	}
	h := &hostWriter{enc: c, slots: c.m.Slots}
	payload := structOfFields()
	for i := range class.Fields {
		f := &class.Fields[i]
		p := newPart(&f.Type, 0)
		payload.Fields = append(payload.Fields, h.member(f.Name, &f.Type, &p, 0)...)
	}
	c.m.Slots = h.slots
	e := EventClass{ID: id, Name: class.Name, Payload: payload}
	if class.Category != "" {
		e.URI = categoryURI + class.Category
	}
	return e, nil
}
