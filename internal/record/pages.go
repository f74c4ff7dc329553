package record

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"unsafe"

	"meridian/clock"
	"meridian/sensor/ring"
)

// pagePackets are packets of a shard that are written by one call, none of which crosses into another page of the file:
//
//	file    |.......|PPPPPPPP|PPPPPPP_|PPPP        . written before, P packets, _ padding of the one before it
//	page    0       1        2        3
//
// The kernel copies what is written into the pages of the file one after another, and the file grows with each of them
// (generic_perform_write, mm/filemap.c): a reader that looks meanwhile sees it end at a page, and so does one after a kill. A packet
// within a page is thus there as a whole or not at all. Only an event of more than a page makes a packet that crosses pages.
//
// The file's pages are also pages of the memory that is written: a copy that the kernel breaks off because memory is not
// there ends at one.
type pagePackets struct {
	mem  []byte // its first byte begins a page
	from int    // of the first packet
	made []madePacket
}

// madePacket is what a shard's file has after one of the packets.
type madePacket struct {
	end                                        int // in pagePackets.mem
	events                                     int
	sequence, first, last, position, discarded uint64
}

// begin forgets all packets. The first that is added will be at an offset of the file.
func (p *pagePackets) begin(offset int64) {
	p.from = int(offset % page)
	p.room(p.from)
	p.mem, p.made = p.mem[:p.from], p.made[:0]
}

// room makes room for so many bytes.
func (p *pagePackets) room(n int) {
	if n <= cap(p.mem) {
		return
	}
	n = max(2*cap(p.mem), (n+page-1)/page*page, 1<<16)
	b := make([]byte, n+page)
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & (page - 1)
	p.mem = append(b[skip:skip:skip+n], p.mem...)
}

// rest returns how much is left of a page that has been begun, 0 at the beginning of one.
func (p *pagePackets) rest() int { return -len(p.mem) & (page - 1) }

// open begins a packet of a head and more, and returns where its page ends, or the one in which that much ends.
func (p *pagePackets) open(head []byte, more int) (limit int) {
	limit = (len(p.mem) + len(head) + more + page - 1) / page * page
	p.room(limit)
	p.mem = append(p.mem, head...)
	return limit
}

// close completes the packet with what is after its head, and pads it to the end of its page where less is left than the next one
// needs.
func (p *pagePackets) close(s *shardFile, head int, next int, m madePacket) {
	le := binary.LittleEndian
	begin, end := p.from, len(p.mem)
	if n := len(p.made); n > 0 {
		begin = p.made[n-1].end
	}
	if left := p.rest(); left < next {
		p.mem = p.mem[:end+left]
		clear(p.mem[end:])
	}
	b := p.mem[begin:]
	le.PutUint64(b[atShard:], uint64(s.shard))
	le.PutUint64(b[atBegin:], m.first)
	le.PutUint64(b[atEnd:], m.last)
	le.PutUint64(b[atContent:], uint64(end-begin)*8)
	le.PutUint64(b[atSize:], uint64(len(b))*8)
	le.PutUint64(b[atSequence:], m.sequence)
	le.PutUint64(b[atDiscarded:], m.discarded)
	le.PutUint32(b[atChecksum:], crc32.Checksum(b[head:end-begin], castagnoli))
	le.PutUint64(b[atPosition:], m.position)
	m.end = len(p.mem)
	p.made = append(p.made, m)
}

// bytes returns the packets.
func (p *pagePackets) bytes() []byte { return p.mem[p.from:] }

// packetHead returns what is before the events of each packet of a ring. Of the fields, those that no other packet has are 0.
func packetHead(trace [16]byte, stream uint64, info *ring.Info) []byte {
	le := binary.LittleEndian
	b := make([]byte, packetFields)
	le.PutUint32(b, packetMagic)
	copy(b[atTrace:], trace[:])
	le.PutUint32(b[atStream:], uint32(stream))
	le.PutUint64(b[atRing:], binary.BigEndian.Uint64(info.UUID[:]))
	le.PutUint64(b[atRing+8:], binary.BigEndian.Uint64(info.UUID[8:]))
	b = append(append(b, strings.ReplaceAll(info.Program, "\x00", "")...), 0)
	b = append(append(b, "process"...), 0)
	return le.AppendUint64(b, uint64(info.PID))
}

// split makes packets of events of a shard, which end at a position of it. Skipped is how many packets are missing before them.
func (d *drain) split(s *shardFile, events []byte, position, discarded, skipped uint64) {
	p := d.packets
	p.begin(s.file.size)
	m := madePacket{sequence: s.sequence, first: s.last, last: s.last, position: s.position, discarded: s.discarded}
	if left := p.rest(); left >= len(d.head) && left < len(d.head)+firstSize(events) { // the first event begins the next page
		p.open(d.head, 0)
		p.close(s, len(d.head), page, m) // fills it
		m.sequence++
	}
	m.sequence += skipped
	m.discarded = discarded
	if len(events) == 0 && m.last == 0 { // a packet that only tells of discarded events, and the first
		m.last = clock.Monotonic.Now()
	}
	for more := true; more; m.sequence++ {
		limit := p.open(d.head, firstSize(events))
		m.first = m.last
		if len(events) >= eventHead {
			m.first = max(m.last, d.at(binary.LittleEndian.Uint64(events)))
		}
		p.mem, events, m.last, m.events = d.appendEvents(p.mem, events, m.first, limit)
		more = len(events) > 0
		m.position = position - uint64(len(events))
		next := len(d.head) + fileEventHead
		if more {
			next = len(d.head) + firstSize(events)
		}
		p.close(s, len(d.head), next, m)
	}
}

// fileEventHead is the size of an event's header in a file: that in a ring without the length.
const fileEventHead = eventHead - 2

// firstSize returns how much of a file the first of some events of a ring takes; 0 for none.
func firstSize(events []byte) int {
	if len(events) < eventHead {
		return 0
	}
	return max(0, int(binary.LittleEndian.Uint16(events[10:]))-2)
}
