package perfetto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"meridian/clock"
	"meridian/format/internal/timeline"
	"meridian/trace"
)

// places says where in a buffer the parts of a packet are that is being written.
type places struct {
	packet, event int
	slot          int // of the track's number, if that is filled in later
}

// event begins the packet of an event; a track of number 0 leaves a slot.
func (w *Writer) event(b []byte, t clock.TimelineTime, kind, uuid uint64) ([]byte, places) {
	var p places
	b, p.packet = message(b, tracePacket)
	b = number(b, packetTimestamp, w.stamp(t))
	b = number(b, packetSequence, sequence)
	b = number(b, packetFlags, stateNeeded)
	b, p.event = message(b, packetTrackEvent)
	b = number(b, eventType, kind)
	if uuid != 0 {
		return number(b, eventTrack, uuid), p
	}
	b = protowire.AppendTag(b, eventTrack, protowire.VarintType)
	p.slot = len(b)
	return append(b, make([]byte, slotSize)...), p
}

// start returns where the packet begins: at its tag, the one byte before its length.
func (p *places) start() int { return p.packet - 1 }

func (p *places) close(b []byte) []byte {
	b, inner := end(b, p.event)
	b, outer := end(b, p.packet)
	p.slot += inner + outer
	return b
}

// describeEvent appends what an event is and holds.
func (w *Writer) describeEvent(b []byte, c *class, r *trace.TimelineEvent) []byte {
	if c.Category != 0 {
		b = number(b, eventCategory, c.Category)
	}
	b = number(b, eventName, c.Name)
	b = w.annotations(b, c, r)
	if r.Flow != 0 && (r.Role == trace.Enters || r.Role == trace.Leaves) {
		b = number(b, eventCorrelation, r.Flow) // no arrow: the viewer lights up all members
	}
	return b
}

func (w *Writer) instant(uuid uint64, c *class, r *trace.TimelineEvent) {
	if timeline.IsMessageEnd(r) {
		w.messageEnd(uuid, c, r)
		return
	}
	b, p := w.event(w.body, r.Time, typeInstant, uuid)
	b = w.describeEvent(b, c, r)
	w.body = p.close(b)
}

// pendingLimit bounds what waits, should very many events have one stamp.
const pendingLimit = chunkSize

// messageEnd writes an instant that is an end of a message; c is nil for one that stands beside an event that is more.
//
// Perfetto takes events of one stamp in the order of the file and draws the arrow from the first to the last.
func (w *Writer) messageEnd(uuid uint64, c *class, r *trace.TimelineEvent) {
	mark, inverted := w.arrows.Next(r)
	b := w.body
	if mark == timeline.Waits {
		b = w.arrows.Pending
	}
	b, p := w.event(b, r.Time, typeInstant, uuid)
	if c != nil {
		b = w.describeEvent(b, c, r)
	} else {
		b = number(b, eventName, w.endName(r.Role))
	}
	p.slot = len(b)
	if mark != timeline.Nothing {
		b = fixed(b, eventFlow, r.Flow)
		putFlowTag(b[p.slot:], mark)
	}
	if inverted {
		b = w.extra(b, receivedBeforeSent, noteBool, 1)
	}
	b = p.close(b)
	if mark != timeline.Waits {
		w.body = b
		return
	}
	w.arrows.Hold(b, r.Flow, p.slot)
	if len(b) > pendingLimit {
		w.release()
	}
}

// putFlowTag makes a number of a flow, which begins with its tag, terminate the flow if its arrow ends there. Both tags
// are two bytes.
func putFlowTag(at []byte, m timeline.Mark) {
	if m == timeline.Finish {
		protowire.AppendTag(at[:0], eventLastFlow, protowire.Fixed64Type)
	}
}

// release writes the arrivals that waited.
func (w *Writer) release() { w.body = w.arrows.Release(w.body, putFlowTag) }
