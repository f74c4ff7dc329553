package perfetto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"meridian/clock"
	"meridian/format/internal/arrows"
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
	if c.category != 0 {
		b = number(b, eventCategory, c.category)
	}
	b = number(b, eventName, c.name)
	b = w.annotations(b, c, r)
	if r.Flow != 0 && (r.Role == trace.Enters || r.Role == trace.Leaves) {
		b = number(b, eventCorrelation, r.Flow) // no arrow: the viewer lights up all members
	}
	return b
}

func (w *Writer) instant(uuid uint64, c *class, r *trace.TimelineEvent) {
	if r.Flow != 0 && (r.Role == trace.Sends || r.Role == trace.Receives) {
		w.messageEnd(uuid, c, r)
		return
	}
	b, p := w.event(w.body, r.Time, typeInstant, uuid)
	b = w.describeEvent(b, c, r)
	w.body = p.close(b)
}

// arrival is an end of a message that waits for others of its instant.
type arrival struct {
	flow uint64
	tag  int // where in late the tag of the flow's number is
}

// lateLimit bounds what waits, should very many records have one stamp.
const lateLimit = chunkSize

// messageEnd writes an instant that is an end of a message; c is nil for one that stands beside an event that is more.
//
// Perfetto takes events of one stamp in the order of the file and draws the arrow from the first to the last. An arrival
// whose send was not seen yet therefore waits until all records of its stamp are written.
func (w *Writer) messageEnd(uuid uint64, c *class, r *trace.TimelineEvent) {
	seen := w.ends.Seen(r.Flow)
	waits := r.Role == trace.Receives && seen == trace.NoRole
	if waits && w.waits[r.Flow] {
		waits, seen = false, trace.Receives // a second arrival has no arrow
	}
	b := w.body
	if waits {
		b = w.late
	}
	b, p := w.event(b, r.Time, typeInstant, uuid)
	if c != nil {
		b = w.describeEvent(b, c, r)
	} else {
		b = number(b, eventName, w.endName(r.Role))
	}
	if waits {
		p.slot = len(b)
		b = fixed(b, eventLastFlow, r.Flow)
		w.late = p.close(b)
		w.waits[r.Flow] = true
		w.wait = append(w.wait, arrival{flow: r.Flow, tag: p.slot})
		if len(w.late) > lateLimit {
			w.release()
		}
		return
	}
	mark := arrows.Nothing
	early := false
	if seen != r.Role {
		mark, early = w.ends.Add(r.Flow, r.Role)
	}
	switch mark {
	case arrows.Start:
		b = fixed(b, eventFlow, r.Flow)
	case arrows.Finish:
		b = fixed(b, eventLastFlow, r.Flow)
	}
	if early {
		b = w.extra(b, inverted, noteBool, 1)
	}
	w.body = p.close(b)
}

// release writes the arrivals that waited.
func (w *Writer) release() {
	if len(w.wait) == 0 {
		return
	}
	for _, a := range w.wait {
		field := protowire.Number(eventFlow)
		if mark, _ := w.ends.Add(a.flow, trace.Receives); mark == arrows.Finish {
			field = eventLastFlow
		}
		protowire.AppendTag(w.late[a.tag:a.tag], field, protowire.Fixed64Type)
	}
	w.body = append(w.body, w.late...)
	w.late, w.wait = w.late[:0], w.wait[:0]
	clear(w.waits)
}
