package ctf

import (
	"strings"

	"meridian/trace"
)

// A trace that Meridian wrote is read back as what it was written from. The name of an event class ends with what its
// events do to their row, the event context says of which slice and which message an event is, and the packet context
// names the row.

var phaseSuffixes = []struct {
	ending string
	phase  trace.Phase
}{{":begin", trace.Begin}, {":end", trace.End}, {":counter", trace.Counter}}

// markSlots is where a program leaves what an event is marked with; -1 for what its class does not have.
type markSlots struct {
	any               bool
	slice, flow, role int
}

// takeMarks finds phase and marks of an event class of Meridian's, and lets its program remember them. The class becomes
// one with the name and the fields that it was written from.
func (p *tracePlan) takeMarks(ep *eventPlan, c *compiler) {
	ep.marks = markSlots{slice: -1, flow: -1, role: -1}
	class := *ep.class
	for _, e := range phaseSuffixes {
		if name, ok := strings.CutSuffix(class.Name, e.ending); ok {
			class.Name, ep.phase = name, e.phase
			break
		}
	}
	if class.Context != nil {
		context := *class.Context
		context.Fields = append([]Field{}, context.Fields...)
		for i := range context.Fields {
			f := &context.Fields[i]
			var to *int
			switch {
			case f.Type == nil || f.Type.Kind != Integer || f.Type.Size > 64:
				continue
			case f.Name == "slice":
				to = &ep.marks.slice
			case f.Name == "flow":
				to = &ep.marks.flow
			case f.Name == "role":
				to = &ep.marks.role
			default:
				continue
			}
			t := *f.Type
			if t.Slot < 0 {
				t.Slot = max(p.slots, c.slots)
				p.slots = t.Slot + 1
			}
			f.Type, *to, ep.marks.any = &t, t.Slot, true
			ep.taken = append(ep.taken, i)
		}
		class.Context = &context
	}
	ep.class = &class
}

// mark fills in what the program remembered.
func (ep *eventPlan) mark(e *trace.Event, slots []uint64) {
	if s := ep.marks.slice; s >= 0 {
		e.Slice = slots[s]
	}
	if s := ep.marks.flow; s >= 0 {
		e.Flow = slots[s]
	}
	if s := ep.marks.role; s >= 0 && slots[s] <= uint64(trace.Leaves) {
		e.Role = trace.Role(slots[s])
	}
}

// without takes those values away that the event itself has.
func (ep *eventPlan) without(v []trace.Value) []trace.Value {
	kept := v[:0]
	next := 0
	for i := range v {
		if next < len(ep.taken) && ep.taken[next] == i {
			next++
			continue
		}
		kept = append(kept, v[i])
	}
	return kept
}

// rowFields is where a packet context names its row; -1 for what it does not have.
type rowFields struct{ name, kind, id int }

func rowFieldsOf(t *Type) rowFields {
	f := rowFields{-1, -1, -1}
	if t == nil {
		return f
	}
	for i := range t.Fields {
		switch t.Fields[i].Name {
		case "row":
			f.name = i
		case "row_kind":
			f.kind = i
		case "row_id":
			f.id = i
		}
	}
	return f
}

func kindNamed(name []byte) trace.StreamKind {
	for k := range trace.StreamKinds {
		if k.String() == string(name) {
			return k
		}
	}
	return trace.OtherStream
}
