package perfetto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"meridian/format/internal/timeline"
	"meridian/trace"
)

// names gives numbers to texts that are said again and again, and knows for each class which it needs.
type names struct {
	ids     [internedNote + 1]map[string]uint64 // for each list of InternedData, from 1
	classes timeline.ClassNames[uint64]
	send    uint64
	receive uint64
	extra   [extras]uint64
}

// Annotations of our own beside an event's fields.
const (
	recorded = iota // the stamp on the host's clock
	earlier         // how far the bounds are
	later
	unbounded   // there are none
	endRecorded // and of a slice's end the same, in the same order
	endEarlier
	endLater
	endUnbounded
	component          // of the time
	receivedBeforeSent // a message that arrived before this, its send
	extras
)

func (n *names) init() {
	for i := range n.ids {
		n.ids[i] = make(map[string]uint64)
	}
}

// class has the numbers of a class's names; 0 for no category.
type class = timeline.ClassName[uint64]

// class returns the names of a class, and writes them when they are needed first.
func (w *Writer) class(i int) *class {
	return w.names.classes.Class(w.progress.Schema, i, w.describeClass, w.internField)
}

func (w *Writer) describeClass(name *class, c *trace.Class) {
	name.Name = w.intern(internedEvent, timeline.NameOf(c))
	if c.Category != "" {
		name.Category = w.intern(internedCategory, c.Category)
	}
}

func (w *Writer) internField(name string) uint64 { return w.intern(internedNote, name) }

// intern returns the number of a text in one of InternedData's lists, and writes it when it is new.
func (w *Writer) intern(list protowire.Number, s string) uint64 {
	ids := w.names.ids[list]
	if id, ok := ids[s]; ok {
		return id
	}
	id := uint64(len(ids) + 1)
	ids[s] = id
	b, packet := message(w.head, tracePacket)
	b = number(b, packetSequence, sequence)
	b = number(b, packetFlags, stateNeeded)
	b, data := message(b, packetInterned)
	b, entry := message(b, list)
	b = number(b, internedID, id)
	b = text(b, internedName, s)
	b, _ = end(b, entry)
	b, _ = end(b, data)
	w.head, _ = end(b, packet)
	return id
}

// extraName returns the number of the name of an annotation of our own.
func (w *Writer) extraName(i int) uint64 {
	if w.names.extra[i] == 0 {
		w.names.extra[i] = w.intern(internedNote, [extras]string{
			recorded: "recorded_ns", earlier: "may_be_earlier_ns", later: "may_be_later_ns",
			endRecorded: "end_recorded_ns", endEarlier: "end_may_be_earlier_ns", endLater: "end_may_be_later_ns",
			unbounded: "unbounded", endUnbounded: "end_unbounded", component: "component",
			receivedBeforeSent: "received_before_sent",
		}[i])
	}
	return w.names.extra[i]
}

// endName returns the number of the name of a message's end.
func (w *Writer) endName(r trace.Role) uint64 {
	if w.names.send == 0 {
		w.names.send, w.names.receive = w.intern(internedEvent, "send"), w.intern(internedEvent, "receive")
	}
	if r == trace.Sends {
		return w.names.send
	}
	return w.names.receive
}
