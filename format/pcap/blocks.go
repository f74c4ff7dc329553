package pcap

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"unsafe"

	"meridian/trace"
)

// Block types of pcapng. All others are passed over.
const (
	sectionBlock    = 0x0a0d0d0a
	interfaceBlock  = 1
	packetBlock     = 2 // obsolete
	simpleBlock     = 3
	namesBlock      = 4
	statisticsBlock = 5
	enhancedBlock   = 6
	secretsBlock    = 10
	customBlock     = 0xbad // may be copied; 0x40000bad must not
)

const (
	byteOrderMagic = 0x1a2b3c4d
	maxBlock       = maxFrame + 1<<20 // of a block that is looked into: a frame and its options
)

// isBlocks recognises pcapng: the type of its first block reads the same in both byte orders, the magic behind the
// length says which it is.
func isBlocks(head []byte) bool {
	if len(head) < 4 || binary.LittleEndian.Uint32(head) != sectionBlock {
		return false
	}
	if len(head) < 12 {
		return true
	}
	magic := binary.LittleEndian.Uint32(head[8:])
	return magic == byteOrderMagic || bits.ReverseBytes32(magic) == byteOrderMagic
}

func (r *Reader) u32(b []byte) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if r.big {
		v = bits.ReverseBytes32(v)
	}
	return v
}

// nextBlock reads blocks up to and including the next packet.
func (r *Reader) nextBlock(f *trace.Frame) error {
	w := &r.in
	for {
		r.at = w.offset()
		if !w.need(12) {
			return r.stop(cutBlock)
		}
		kind := r.u32(w.buf[w.lo:])
		if kind == sectionBlock {
			if magic := binary.LittleEndian.Uint32(w.buf[w.lo+8:]); magic == byteOrderMagic {
				r.big, r.order = false, binary.LittleEndian
			} else if bits.ReverseBytes32(magic) == byteOrderMagic {
				r.big, r.order = true, binary.BigEndian
			} else {
				r.damage(badBlock)
				return io.EOF
			}
		}
		length := r.u32(w.buf[w.lo+4:])
		if length < 12 || length%4 != 0 {
			if kind|length == 0 {
				r.damageZeros()
			} else {
				r.damage(badBlock)
			}
			return io.EOF
		}
		looked := kind == enhancedBlock || kind == simpleBlock || kind == packetBlock ||
			kind == interfaceBlock || kind == sectionBlock
		if length > maxBlock && (kind == interfaceBlock || kind == sectionBlock) {
			r.damage(badBlock) // what follows could not be understood without it
			return io.EOF
		}
		if !looked || length > maxBlock {
			if err := r.otherBlock(kind, length, looked); err != nil {
				return err
			}
			continue
		}
		if !w.need(int(length)) {
			if kind == interfaceBlock || kind == sectionBlock {
				return r.stop(cutBlock)
			}
			return r.stop(cutPacket)
		}
		block := w.buf[w.lo : w.lo+int(length)]
		if r.u32(block[length-4:]) != length {
			r.damage(badBlock)
			return io.EOF
		}
		w.lo += int(length)
		body := block[8 : length-4]
		switch kind {
		case enhancedBlock:
			if r.enhanced(f, body) {
				return nil
			}
		case simpleBlock:
			if r.simple(f, body) {
				return nil
			}
		case packetBlock:
			if r.obsolete(f, body) {
				return nil
			}
		case interfaceBlock:
			if !r.describe(body) {
				return io.EOF
			}
		case sectionBlock:
			if !r.begin(body) {
				return io.EOF
			}
		}
	}
}

// otherBlock takes a block that holds neither packets nor what they need, or one that is too long (bad).
func (r *Reader) otherBlock(kind, length uint32, bad bool) error {
	if bad || r.blocks == nil {
		return r.passOver(length, bad)
	}
	return r.keepBlock(kind, length)
}

// passOver skips a block without bringing it into memory, provided that its two lengths agree.
func (r *Reader) passOver(length uint32, bad bool) error {
	w := &r.in
	if !w.skip(int64(length)-4) || !w.need(4) {
		return r.stop(cutBlock)
	}
	if r.u32(w.buf[w.lo:]) != length {
		r.damage(badBlock)
		return io.EOF
	}
	w.lo += 4
	if bad {
		r.damage(badContent)
	}
	return nil
}

// begin takes the header of a section: interfaces are counted anew.
func (r *Reader) begin(body []byte) bool {
	r.section = len(r.ifaces)
	if len(body) >= 16 && r.order.Uint16(body[4:]) == 1 {
		if minor := r.order.Uint16(body[6:]); minor != 0 && minor != 2 {
			r.damage(fmt.Sprintf("sections in version 1.%d of pcapng instead of 1.0 or 1.2; read as 1.0", minor))
		}
		return true
	}
	r.damage(badVersion)
	return false
}

// maxDescribed is how many bytes of memory the descriptions of all interfaces of a file may take: some 160,000 with short names. A compressed
// file of a megabyte can hold millions.
const maxDescribed = 32 << 20

// describe takes the description of an interface. Every one counts, or the numbers behind it would be wrong: false if there are too many.
func (r *Reader) describe(body []byte) bool {
	i, u := trace.Interface{}, microseconds
	if len(body) >= 8 {
		i.LinkType = r.order.Uint16(body)
		i.SnapLength = r.u32(body[4:])
		var description string
		eachOption(body[8:], r.order, func(code uint16, value []byte) {
			switch {
			case code == 2:
				i.Name = text(value)
			case code == 3:
				description = text(value)
			case code == 9 && len(value) == 1:
				offset := u.offset
				u = newUnit(value[0])
				u.offset = offset
			case code == 14 && len(value) == 8:
				u.offset = int64(r.order.Uint64(value))
			}
		})
		if i.Name == "" {
			i.Name = description
		}
	} else {
		i.LinkType = math.MaxUint16 // none, so that its packets are left out of matching
		r.damage(badContent)
	}
	if r.described += int(unsafe.Sizeof(i)+unsafe.Sizeof(u)) + len(i.Name); r.described > maxDescribed {
		r.damage(tooMany)
		return false
	}
	r.units = append(r.units, u)
	r.addInterface(i)
	return true
}

// enhanced takes an enhanced packet block: interface, high and low half of the stamp, kept, wire, data, options.
func (r *Reader) enhanced(f *trace.Frame, body []byte) bool {
	if len(body) < 20 {
		r.damage(badContent)
		return false
	}
	return r.packet(f, r.u32(body), body[4:])
}

// obsolete takes a packet block: as the enhanced one, but for a count of drops in the upper half of the interface.
func (r *Reader) obsolete(f *trace.Frame, body []byte) bool {
	if len(body) < 20 {
		r.damage(badContent)
		return false
	}
	return r.packet(f, uint32(r.order.Uint16(body)), body[4:])
}

// packet takes what both have in common, from the stamp on.
func (r *Reader) packet(f *trace.Frame, local uint32, b []byte) bool {
	kept, wire := r.u32(b[8:]), r.u32(b[12:])
	data := b[16:]
	i := r.section + int(local)
	if int64(kept) > int64(len(data)) || int64(local) >= int64(len(r.ifaces)-r.section) || kept > maxFrame {
		r.damage(badContent)
		return false
	}
	t, ok := r.units[i].time(uint64(r.u32(b))<<32 | uint64(r.u32(b[4:])))
	if !ok {
		r.damage(badStamp)
		return false
	}
	f.Data = data[:kept:kept]
	f.Options = nil
	if padded := (int(kept) + 3) &^ 3; len(data) > padded {
		f.Options = r.takeOptions(data[padded:])
	}
	f.Time, f.Interface, f.Wire = t, i, max(wire, kept)
	if kept > wire {
		r.damage(shortWire)
	}
	f.Number = r.number
	r.number++
	r.last, r.unknown = t, false
	r.step = max(r.step, r.units[i].step())
	return true
}

// simple takes a simple packet block: length on the wire and data, of the section's first interface, at no known time.
func (r *Reader) simple(f *trace.Frame, body []byte) bool {
	if len(body) < 4 || r.section == len(r.ifaces) {
		r.damage(badContent)
		return false
	}
	wire, data := r.u32(body), body[4:]
	kept := min(wire, maxFrame)
	if snap := r.ifaces[r.section].SnapLength; snap != 0 {
		kept = min(kept, snap)
	}
	if int64(kept) > int64(len(data)) {
		r.damage(badContent)
		return false
	}
	r.damage(noStamp)
	*f = trace.Frame{Number: r.number, Time: r.last, Interface: r.section, Wire: wire, Data: data[:kept:kept]}
	r.number++
	r.unknown = true
	return true
}

// text makes an option's value a name: some writers end it with zeros.
func text(value []byte) string {
	for i, c := range value {
		if c == 0 {
			value = value[:i]
			break
		}
	}
	if len(value) > math.MaxUint8 {
		value = value[:math.MaxUint8]
	}
	return string(value)
}
