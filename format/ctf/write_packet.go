package ctf

import (
	"fmt"

	"meridian/trace"
)

// packetMagic is what every packet begins with.
const packetMagic32 = 0xc1fc1fc1

// Begin begins a packet at a time, unless one is open. It is written even if no event follows, so that a stream can say
// what it is, or what was discarded, where nothing was recorded.
func (s *StreamWriter) Begin(cycles uint64) {
	if s.open {
		return
	}
	s.open = true
	if s.begun {
		cycles = max(cycles, s.highest)
	}
	s.last, s.highest, s.begun = cycles, cycles, true
	x := &s.encoder
	x.at = 0
	s.patches = s.patches[:0]
	if h := s.class.header; h != nil {
		s.packetFields(h, nil, cycles)
	}
	if c := s.class.packet; c != nil {
		s.packetFields(c, s.options.Context, cycles)
	}
	s.body = x.at
}

// packetFields writes a packet's header or context: what its fields' roles ask for, and the values given for the rest.
func (s *StreamWriter) packetFields(n *encodeNode, values []trace.Value, cycles uint64) {
	x := &s.encoder
	x.align(n.align)
	next := 0
	for i := range n.fields {
		f := &n.fields[i]
		if f.role == TraceUUID && f.kind == FixedArray {
			x.value(f, &trace.Value{Kind: trace.Bytes, Data: s.owner.m.UUID[:]})
			continue
		}
		if f.kind == Integer {
			v, known := uint64(0), true
			switch f.role {
			case PacketMagic:
				v = packetMagic32
			case StreamClassID:
				v = s.owner.m.Streams[s.id].ID
			case StreamID:
				v = s.options.Instance
			case PacketBegin:
				v = cycles
			case PacketSequence:
				v = s.sequence
			case PacketEnd, PacketContent, PacketSize, EventsDiscarded:
				x.align(f.align)
				s.patches = append(s.patches, patch{x.at, f})
			default:
				known = false
			}
			if known {
				x.integer(f, v)
				continue
			}
			if f.implied {
				x.integer(f, n.implication(f, values))
				continue
			}
		}
		x.value(f, valueAt(values, next))
		next++
	}
}

// Discard adds to the count of discarded events. The packet that is being filled, or else the next, reports it.
func (s *StreamWriter) Discard(n uint64) { s.discarded += n }

// SetContext gives the packet context new values, from the next packet on. It keeps them.
func (s *StreamWriter) SetContext(values []trace.Value) { s.options.Context = values }

// Buffered returns how many bytes the packet that is being filled keeps in memory.
func (s *StreamWriter) Buffered() int { return len(s.encoder.b) }

// room returns how many bytes the page has for the packet that is being filled.
func (s *StreamWriter) room() int { return s.options.PacketSize - s.offset }

// padded returns the size of a packet of so many bytes and notes where in its page the next one begins. A rest of a page
// below a quarter of it, in which the next packet would hardly find room, belongs to the packet too.
func (s *StreamWriter) padded(size int, full bool) int {
	page, unit := s.options.PacketSize, s.options.Unit
	if unit <= 0 {
		return (size + page - 1) / page * page
	}
	end := (s.offset + size + unit - 1) / unit * unit
	if rest := (page - end%page) % page; full || rest < page/4 {
		end += rest
	}
	size, s.offset = end-s.offset, end%page
	return size
}

// NewFile says that the next packet is the first of another file. It must not be called while a packet is being filled.
func (s *StreamWriter) NewFile() { s.offset = 0 }

// Flush ends the packet and writes it out. Without a packet it does nothing.
func (s *StreamWriter) Flush() error { return s.end(false) }

// end ends the packet. Full says that the next event needs the next page.
func (s *StreamWriter) end(full bool) error {
	if !s.open {
		return nil
	}
	x := &s.encoder
	content := x.at
	x.align(8)
	size := (content + 7) >> 3
	if s.options.Fixed {
		size = s.padded(size, full)
	}
	x.zeros(size - x.at>>3)
	for _, p := range s.patches {
		v := s.discarded
		switch p.node.role {
		case PacketEnd:
			v = s.highest
		case PacketContent:
			v = uint64(content)
		case PacketSize:
			v = uint64(size) * 8
		}
		x.over(p.at, v, p.node.size, p.node.big)
	}
	s.open = false
	s.sequence++
	if _, err := s.w.Write(x.b[:size]); err != nil {
		return fmt.Errorf("ctf: stream class %d: %w", s.owner.m.Streams[s.id].ID, err)
	}
	s.Packets++
	s.Bytes += uint64(size)
	return nil
}
