package ctf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// An invalid packet is skipped, and the reader finds the next one: where LTTng's index says that one begins, or
// where the magic number and the trace's UUID stand, or, in traces without a magic number, behind the size that the
// packet gives. An event that cannot be decoded takes the rest of its packet with it, for nothing says where the next
// event begins. Each is a warning with the file and the offset.

// packetSignature is the constant bytes with which every packet of a trace begins.
type packetSignature struct {
	magic     bool
	at        int64 // where the magic number stands, bytes
	bytes     [4]byte
	uuid      bool
	uuidAt    int64
	uuidValue [16]byte
}

// newPacketSignature finds the constant fields of the packet header.
func newPacketSignature(m *Metadata) packetSignature {
	var k packetSignature
	if m.PacketHeader == nil {
		return k
	}
	plain := compiler{extents: map[*Type]extent{}}
	pos := uint64(0)
	for _, f := range m.PacketHeader.Fields {
		if f.Type == nil {
			break
		}
		x := plain.extent(f.Type)
		pos = alignTo(pos, x.align-1)
		switch {
		case f.Type.Role == PacketMagic && f.Type.Size == 32 && pos%8 == 0:
			k.magic, k.at = true, int64(pos/8)
			binary.LittleEndian.PutUint32(k.bytes[:], packetMagic)
			if f.Type.BigEndian {
				binary.BigEndian.PutUint32(k.bytes[:], packetMagic)
			}
		case f.Type.Role == TraceUUID && m.HasUUID && x.size == 128 && pos%8 == 0:
			k.uuid, k.uuidAt, k.uuidValue = true, int64(pos/8), m.UUID
		}
		if pos += x.size; !x.fixed && f.Type.Slot < 0 || pos > 1<<16 {
			break
		}
	}
	return k
}

// searchChunk is how many bytes of a file are searched at once.
const searchChunk = 1 << 20

// findPacket returns the offset of the first valid packet from offset from on, before limit, or -1.
func (r *Reader) findPacket(from, limit int64) int64 {
	k := &r.plan.signature
	if !k.magic {
		return -1
	}
	r.lookahead.size = r.window.size
	for from < limit {
		n := min(limit-from+3, searchChunk)
		data := r.window.held(from+k.at, n)
		if data == nil {
			data = r.lookahead.from(from+k.at, n)
		}
		if data = data[:min(int64(len(data)), limit-from+3)]; len(data) < 4 {
			return -1
		}
		i := bytes.Index(data, k.bytes[:])
		if i < 0 {
			from += int64(len(data)) - 3
			continue
		}
		from += int64(i)
		if from >= limit {
			return -1
		}
		if r.packetAt(from) {
			return from
		}
		from++
	}
	return -1
}

// packetAt reports whether a valid packet begins at offset. Without a UUID it must also end within the file.
func (r *Reader) packetAt(offset int64) bool {
	p, problem := r.parse(offset)
	return problem == "" && (r.plan.signature.uuid || p.Size/8 <= uint64(r.window.size-offset))
}

// magicAt reports whether the magic number of a packet stands at offset.
func (r *Reader) magicAt(offset int64) bool {
	k := &r.plan.signature
	data := r.lookahead.from(offset+k.at, 4)
	return len(data) >= 4 && [4]byte(data) == k.bytes
}

// checkUUID returns an error if the stream is another trace's: its first packet has another UUID, in more than the one byte
// that damage may have changed, and none of the packets has the trace's.
func (s *Stream) checkUUID() error {
	k := &s.trace.plan.signature
	if !k.magic || !k.uuid {
		return nil
	}
	head := make([]byte, max(k.at+4, k.uuidAt+16))
	if _, err := s.file.file.ReadAt(head, 0); err != nil || [4]byte(head[k.at:]) != k.bytes {
		return nil // damage, of which the reader tells
	}
	found := [16]byte(head[k.uuidAt:])
	differ := 0
	for i := range found {
		if found[i] != k.uuidValue[i] {
			differ++
		}
	}
	if differ <= 1 || s.newReader().findPacket(1, s.file.size) >= 0 {
		return nil
	}
	return fmt.Errorf("%s: a stream of another trace: its packets have the UUID %s, the metadata has %s; put it beside its own metadata",
		s.Path, formatUUID(found), formatUUID(k.uuidValue))
}

func formatUUID(u [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// skipDamaged sets next to the first valid packet after a damaged one.
func (r *Reader) skipDamaged(offset int64, p Packet) {
	if at := nextPacketInIndex(r.s.index, offset); at >= 0 && r.packetAt(at) {
		r.next = at
		return
	}
	if r.plan.signature.magic {
		// So that each packet of another trace is counted.
		if p.foreign && p.sizeGiven && p.Size > 0 && p.Size%8 == 0 && p.Size/8 <= uint64(r.window.size-offset) {
			if at := offset + int64(p.Size/8); at == r.window.size || r.magicAt(at) {
				r.next = at
				return
			}
		}
		if at := r.findPacket(offset+1, r.window.size); at >= 0 {
			r.next = at
			return
		}
	} else if p.sizeGiven && p.Size > 0 && p.Size%8 == 0 && p.Size/8 < uint64(r.window.size-offset) {
		r.next = offset + int64(p.Size/8)
		return
	}
	r.gapAt("no packet found after a damaged one: rest of the file skipped", offset)
	r.next = r.window.size
}

// gapAt adds a warning about something that is missing from the packet at offset on.
func (r *Reader) gapAt(kind string, offset int64) {
	r.w.Gap(r.s.Path, kind, fmt.Sprintf("at offset %d", offset), 1)
}

// warnDamaged adds a warning about the packet at offset, which is left out.
func (r *Reader) warnDamaged(kind string, offset int64) {
	r.w.Gap(r.s.Path, "invalid packet skipped: "+kind, fmt.Sprintf("at offset %d", offset), 1)
	r.Damaged++
}

// abandonPacket skips the rest of the packet, because an event cannot be decoded. So it is with the last event of a
// packet that the file's end cuts.
func (r *Reader) abandonPacket() {
	kind, details := "rest of the packet skipped: "+r.fault.kind, fmt.Sprintf("at offset %d, in the packet at offset %d", r.dataAt+int64(r.fault.pos/8), r.packet.Offset)
	if r.packet.cut {
		r.w.Add(r.s.Path, kind, details) // its gap is counted
	} else {
		r.w.Gap(r.s.Path, kind, details, 1)
	}
	r.Broken++
	r.pos, r.readable = r.end, r.end
}

// Tally holds the counters of a stream, or of a whole trace.
type Tally struct {
	Events    int64
	Packets   int64
	Discarded int64 // events that the tracer discarded, having no room for them
	Lost      int64 // packets missing by their sequence numbers, without the damaged ones
	Damaged   int64 // packets skipped
	Broken    int64 // packets of which the rest was skipped
	StepsBack int64 // stamps earlier than the one before in their stream
	Largest   int64 // of those steps, ns
}

func (t *Tally) add(o *Tally) {
	t.Events += o.Events
	t.Packets += o.Packets
	t.Discarded += o.Discarded
	t.Lost += o.Lost
	t.Damaged += o.Damaged
	t.Broken += o.Broken
	t.StepsBack += o.StepsBack
	t.Largest = max(t.Largest, o.Largest)
}

// count takes a packet's counters. Both only grow, and start again from 0 when their bits are used up. What counts is the
// way from the first packet's to the last one's, so that a damaged number in between does no harm.
func (r *Reader) count(p *Packet) {
	r.Packets++
	seen := r.Packets + r.Damaged
	if _, ok := r.role(PacketSequence); ok {
		if r.Packets == 1 {
			r.sequence, r.firstSeen = 1, seen
		} else {
			r.sequence += counterIncrease(r.previous.Sequence, p.Sequence, r.width[PacketSequence])
		}
		r.Lost = max(0, r.sequence-(seen-r.firstSeen+1))
	}
	if _, ok := r.role(EventsDiscarded); ok {
		switch {
		case r.Packets > 1:
			r.discarded += counterIncrease(r.previous.Discarded, p.Discarded, r.width[EventsDiscarded])
		case p.Sequence == 0 && p.Discarded < 1<<62:
			// A stream's first packet; one that begins later follows what was thrown away on purpose.
			r.discarded = int64(p.Discarded)
		}
		r.Discarded = max(0, r.discarded)
	}
	r.previous = *p
}

// counterIncrease returns how much a counter of width bits has grown. One of 32 bits or more that seems to have grown by more than
// half its range has stepped back.
func counterIncrease(before, now uint64, width uint8) int64 {
	if width == 0 || width > 64 {
		width = 64
	}
	d := now - before
	if width >= 32 {
		return int64(signExtend(d, width))
	}
	return int64(d & (1<<width - 1))
}

// finish adds the counters to the warnings, once, and returns io.EOF.
func (r *Reader) finish() error {
	if r.done {
		return io.EOF
	}
	r.pos, r.end, r.readable = 0, 0, 0
	if r.live != nil && !r.live.ended {
		return io.EOF // for now
	}
	r.done = true
	gap := func(n int64, kind string) {
		if n > 0 {
			r.w.Gap(r.s.Path, kind, "", n)
		}
	}
	tell := func(n int64, kind, details string) {
		if n > 0 {
			r.w.AddN(r.s.Path, kind, details, n)
		}
	}
	if size := r.s.file.size; r.window.size < size {
		kind := "file was truncated while it was read: what was read before is used"
		if r.window.err != nil {
			kind = "file cannot be read to its end: " + r.window.err.Error()
		}
		r.w.Gap(r.s.Path, kind, fmt.Sprintf("at offset %d of %d bytes", r.window.size, size), 1)
	}
	tell(r.Discarded, "event discarded by the tracer", "") // counted, and usual on a busy machine
	gap(r.Lost, "packet lost by the tracer")
	tell(r.StepsBack, "stamp earlier than the one before", fmt.Sprintf("at offset %d; the largest step back is %d ns", r.firstStep, r.Largest))
	tell(r.cut, "array element dropped", fmt.Sprintf("an event holds at most %d values", maxValues))
	if r.noTimes {
		tell(r.Events, "event without a timestamp", "")
	}
	return io.EOF
}
