package ctf

import "fmt"

// Packet is what the header and the context of a packet say.
type Packet struct {
	Offset    int64  // of its first byte in the file
	Size      uint64 // bits, padding included
	Content   uint64 // bits that mean something
	Begin     uint64 // cycles; 0 if not said
	End       uint64 // cycles; 0 if not said
	Discarded uint64 // the tracer's counter of events that it had to discard, in the stream so far
	Sequence  uint64 // the packet's number in its stream
	CPU       uint64
	HasCPU    bool
	Stream    uint64 // which stream of its class; 0 if not said

	class     *streamPlan
	header    uint64 // bits of header and context
	sizeGiven bool   // Size was said
	foreign   bool   // its UUID is another trace's
	cut       bool   // the end of the file cuts it
}

const packetMagic = 0xC1FC1FC1

// maxHeaderBytes limits the size of a packet's header and context.
const maxHeaderBytes = 256 << 10

// minHeaderBytes is how much is read of a packet's header and context at first.
const minHeaderBytes = 1 << 10

// parse reads the header and the context of the packet at offset. Problem is "" if they are valid as far as they
// alone show. The caller checks the size against the end of the file.
func (r *Reader) parse(offset int64) (p Packet, problem string) {
	for n := int64(minHeaderBytes); ; n = maxHeaderBytes {
		data := r.window.from(offset, n)
		p, problem = r.parseHeader(offset, data)
		// What is wrong may be that not all of the header was read.
		if problem == "" || len(data) >= maxHeaderBytes || int64(len(data)) >= r.window.size-offset {
			return p, problem
		}
	}
}

// parseHeader is parse for the bytes from offset on.
func (r *Reader) parseHeader(offset int64, data []byte) (p Packet, problem string) {
	p.Offset = offset
	rest := uint64(max(r.window.size-offset, 0)) * 8
	r.data, r.end = data, min(uint64(len(data))*8, rest)
	r.has, r.zeroSizeLeft = 0, maxZeroSizeElements
	pos, ok := r.run(r.plan.header, 0)
	if !ok {
		return p, "packet header: " + r.fault.kind
	}
	if magic, ok := r.role(PacketMagic); ok && magic != packetMagic {
		return p, fmt.Sprintf("magic number 0x%08x instead of 0x%x", magic, uint32(packetMagic))
	}
	if at, ok := r.role(TraceUUID); ok && r.plan.m.HasUUID && !r.isUUID(at) {
		p.foreign = true
	}
	if problem = r.parseContext(&p, pos); p.foreign {
		problem = "UUID of another trace"
	}
	return p, problem
}

// parseContext reads the stream class and the context of a packet; pos is behind its header.
func (r *Reader) parseContext(p *Packet, pos uint64) (problem string) {
	rest := uint64(max(r.window.size-p.Offset, 0)) * 8
	id, ok := r.role(StreamClassID)
	if p.class = r.plan.streams[id]; !ok && len(r.plan.streams) == 1 {
		for _, p.class = range r.plan.streams {
		}
	}
	if p.class == nil {
		return fmt.Sprintf(unknownStreamClass+" %d", id)
	}
	if pos, ok = r.run(p.class.context, pos); !ok {
		return "packet context: " + r.fault.kind
	}
	p.header = pos
	size, hasSize := r.role(PacketSize)
	content, hasContent := r.role(PacketContent)
	switch {
	case !hasSize && !hasContent:
		size, content = rest, rest
	case !hasSize:
		size = (content + 7) &^ 7
	case !hasContent:
		content = size
	}
	p.Size, p.Content, p.sizeGiven = size, content, hasSize || hasContent
	switch {
	case size%8 != 0 || size == 0:
		return fmt.Sprintf("invalid packet size of %d bits", size)
	case content > size:
		return fmt.Sprintf("content size of %d bits exceeds the packet size of %d", content, size)
	case content < pos:
		return fmt.Sprintf("content size of %d bits is less than the header and context, %d", content, pos)
	}
	p.Begin, _ = r.role(PacketBegin)
	p.Begin = extendStamp(r.cycles, p.Begin, r.width[PacketBegin], 0, 0)
	if p.End, ok = r.role(PacketEnd); ok {
		p.End = extendStamp(p.Begin, p.End, r.width[PacketEnd], 0, 0)
	}
	p.Discarded, _ = r.role(EventsDiscarded)
	p.Sequence, _ = r.role(PacketSequence)
	p.CPU, p.HasCPU = r.role(CPU)
	p.Stream, _ = r.role(StreamID)
	return ""
}

func (r *Reader) isUUID(at uint64) bool {
	i := at >> 3
	return at&7 == 0 && i+16 <= uint64(len(r.data)) && [16]byte(r.data[i:i+16]) == r.plan.m.UUID
}

const unknownStreamClass = "unknown stream class"

// flawAt returns what a Follower found out of the packet at an offset, nil for nothing.
func (r *Reader) flawAt(offset int64) *flaw {
	if r.live == nil {
		return nil
	}
	return r.live.flawAt(offset)
}

// nextPacket goes to the next packet that can be used, or returns io.EOF.
func (r *Reader) nextPacket() error {
	for {
		if r.live != nil {
			r.adopt()
		}
		if r.next >= r.window.size || r.done {
			return r.finish()
		}
		offset := r.next
		if flaw := r.flawAt(offset); flaw != nil && flaw.problem != "" {
			r.warnDamaged(flaw.problem, offset)
			r.next = flaw.limit
			continue
		}
		p, problem := r.parse(offset)
		if problem == "" && !r.verify(&p) {
			problem = wrongChecksum
		}
		if problem != "" {
			r.warnDamaged(problem, offset)
			r.skipDamaged(offset, p)
			continue
		}
		limit := r.packetLimit(&p)
		r.next = limit
		if !r.enter(&p, limit) {
			r.warnDamaged("it changed while it was read", offset)
			continue
		}
		return nil
	}
}

const wrongChecksum = "wrong checksum"

// verify reports whether the checksum of a packet that was parsed last is right. It passes a packet without one, and
// one that the end of the file cuts. A Follower has verified its packets.
func (r *Reader) verify(p *Packet) bool {
	if r.live != nil || p.Size/8 > uint64(r.window.size-p.Offset) {
		return true
	}
	return r.isSound(p)
}

// packetLimit returns where a packet ends and the next begins, in bytes of the file. It ignores the size in the context
// where it says that the packet reaches into the next one, or behind the end of the file.
func (r *Reader) packetLimit(p *Packet) int64 {
	limit := r.window.size
	if flaw := r.flawAt(p.Offset); flaw != nil {
		limit = flaw.limit
	}
	torn := p.Size/8 > uint64(limit-p.Offset)
	from := p.Offset + int64((p.header+7)/8)
	if !torn {
		limit = p.Offset + int64(p.Size/8)
		// Padding holds no packet.
		from = p.Offset + int64((p.Content+7)/8)
	}
	found := int64(-1)
	if torn || p.sizeGiven && r.plan.signature.magic {
		if found = r.findPacket(from, limit); found >= 0 && found < limit {
			limit = found
		} else {
			found = -1
		}
		if r.data = nil; found >= 0 {
			r.gapAt("packet size reaches into the next packet: size ignored", p.Offset)
		}
	}
	if p.cut = torn && found < 0; p.cut {
		r.gapAt(EndsWithinPacket, p.Offset)
	}
	if gap := uint64(limit-p.Offset) * 8; p.Content > gap {
		p.Content = gap
	}
	return limit
}

// enter makes a packet the one that is read. It is false if the packet is no longer what was parsed: only a file that
// is changed meanwhile has such.
func (r *Reader) enter(p *Packet, limit int64) bool {
	head := int64(p.header+7) / 8
	data := r.window.from(p.Offset, min(limit-p.Offset, max(readAhead, head)))
	// What was searched has left other fields behind.
	again, problem := r.parseHeader(p.Offset, data)
	if problem != "" || again.header != p.header || again.class != p.class {
		r.pos, r.end = 0, 0
		return false
	}
	r.dataAt, r.readable = p.Offset, p.Content
	if r.end = min(p.Content, uint64(len(data))*8); r.end < p.Content {
		r.head = append(r.head[:0], data[:head]...)
	}
	r.zeroSizeLeft = maxZeroSizeElements + int64(min(p.Content, maxPacketBits))
	r.zeroSizeBefore = r.zeroSizeLeft
	r.packet, r.sp = *p, p.class
	r.pos = p.header
	r.count(p)
	r.packetEvents, r.cyclesBefore = 0, r.cycles
	if r.clockOf != p.class {
		r.clock, r.clockOf = newCycleClock(r.plan.m, p.class.class.Clock), p.class
	}
	r.noTimes = r.noTimes || !r.clock.known
	if _, ok := r.role(PacketBegin); ok {
		r.cycles = p.Begin
	}
	r.packetIndex++
	return true
}

// maxEventBytes limits the memory for one event of a packet that is not read at once.
const maxEventBytes = 1 << 30

// readMore moves the buffer on within a packet that is longer than it, or makes it longer if an event is. It is false
// if all of the packet was read. The caller then decodes the event at pos again.
func (r *Reader) readMore() bool {
	read := r.dataAt + int64(len(r.data))
	if r.end >= r.readable {
		return false
	}
	skip := int64(r.pos/8) &^ (r.plan.alignment - 1)
	at := r.dataAt + skip
	need := 2*(read-at) + readAhead // what is left of the buffer was not enough
	if need > maxEventBytes {
		return false
	}
	rest := r.readable - uint64(skip)*8
	data := r.window.from(at, min(need, int64((rest+7)/8)))
	if at+int64(len(data)) <= read { // the file has become shorter
		r.readable = r.end
		return false
	}
	r.data, r.dataAt, r.readable = data, at, rest
	r.end = min(rest, uint64(len(data))*8)
	r.pos -= uint64(skip) * 8
	r.zeroSizeLeft = r.zeroSizeBefore
	return true
}
