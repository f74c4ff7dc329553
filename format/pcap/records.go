package pcap

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"meridian/clock"
	"meridian/trace"
)

const (
	headerLength = 24
	maxFrame     = 16 << 20 // no link carries more; a longer one is a corrupt length
	// plausible is the longest frame that a file's snap length, often wrong, does not speak against: what tcpdump keeps
	// unless told otherwise.
	plausible = 256 << 10
)

// dialect is one of the formats that go by the name of pcap.
type dialect struct {
	magic  uint32
	header int
	scale  int64
}

var dialects = []dialect{
	{0xa1b2c3d4, 16, 1000},
	{0xa1b23c4d, 16, 1},
	{0xa1b2cd34, 24, 1000}, // Kuznetzov's: interface, protocol and packet type behind the usual header
}

// dialectOf recognises the magic number in either byte order.
func dialectOf(head []byte) (big, ok bool) {
	for _, d := range dialects {
		switch d.magic {
		case binary.LittleEndian.Uint32(head):
			return false, true
		case binary.BigEndian.Uint32(head):
			return true, true
		}
	}
	return false, false
}

// beginRecords takes the header of a pcap file.
func (r *Reader) beginRecords(head []byte) error {
	r.big, _ = dialectOf(head)
	r.order = binary.LittleEndian
	if r.big {
		r.order = binary.BigEndian
	}
	if len(head) < headerLength {
		r.next = func(*trace.Frame) error { return r.stop(cutHeader) }
		return nil
	}
	for _, d := range dialects {
		if d.magic == r.order.Uint32(head) {
			r.header, r.scale = d.header, d.scale
		}
	}
	major, minor := r.order.Uint16(head[4:]), r.order.Uint16(head[6:])
	if major != 2 || minor != 4 {
		r.tally.warn(fmt.Sprintf("version %d.%d of pcap instead of 2.4; read as 2.4", major, minor), "at offset 4")
	}
	// Until 2.3 the length on the wire came first, in 2.3 it depends on the writer (libpcap, sf-pcap.c); 543.0 is DG/UX's.
	r.swapped = major == 2 && minor < 4 || major == 543 && minor == 0
	r.step, r.fraction = r.scale, uint32(1_000_000_000/r.scale)
	snap := r.order.Uint32(head[16:])
	r.limit = maxFrame
	if snap != 0 {
		r.limit = min(max(snap, plausible), maxFrame)
	}
	// The upper bits say whether a frame check sequence follows each frame; the IP length passes over it.
	link := uint16(r.order.Uint32(head[20:]))
	r.addInterface(trace.Interface{LinkType: link, SnapLength: snap})
	r.in.lo += headerLength
	r.next = r.nextRecord
	return nil
}

// nextRecord reads one packet record of a pcap file.
func (r *Reader) nextRecord(f *trace.Frame) error {
	w := &r.in
	r.at = w.offset()
	if !w.need(r.header) {
		return r.stop(cutPacket)
	}
	h := w.buf[w.lo : w.lo+16]
	seconds := binary.LittleEndian.Uint32(h)
	fraction := binary.LittleEndian.Uint32(h[4:])
	kept := binary.LittleEndian.Uint32(h[8:])
	wire := binary.LittleEndian.Uint32(h[12:])
	if r.big {
		seconds, fraction = bits.ReverseBytes32(seconds), bits.ReverseBytes32(fraction)
		kept, wire = bits.ReverseBytes32(kept), bits.ReverseBytes32(wire)
	}
	if r.swapped && kept > wire {
		kept, wire = wire, kept
	}
	switch {
	case kept > r.limit, kept > wire && fraction >= r.fraction:
		r.damage(badLength)
		return io.EOF
	case seconds|fraction|kept|wire == 0:
		r.damageZeros()
		return io.EOF
	}
	whole := r.header + int(kept)
	if !w.need(whole) {
		return r.stop(cutPacket)
	}
	f.Data = w.buf[w.lo+r.header : w.lo+whole : w.lo+whole]
	w.lo += whole
	f.Time = clock.HostTime(int64(seconds)*1_000_000_000 + int64(fraction)*r.scale)
	f.Interface = 0
	f.Wire = max(wire, kept)
	f.Options = nil
	if r.unknown = fraction >= r.fraction; r.unknown {
		r.impossible(f, seconds)
	} else {
		r.last = f.Time
	}
	if kept > wire {
		r.damage(shortWire)
	}
	f.Number = r.number
	r.number++
	return nil
}

// impossible gives a frame whose fraction of a second is a second or more the stamp of the frame before, the first its second.
func (r *Reader) impossible(f *trace.Frame, seconds uint32) {
	r.damage(badFraction)
	r.badFractions++
	if r.number == 0 {
		r.last = clock.HostTime(int64(seconds) * 1_000_000_000)
	}
	f.Time = r.last
}
