package ctf

import "bytes"

// packetState is what a program runs on: the bytes of one packet, and the values that its fields left in slots and roles.
type packetState struct {
	data         []byte // from the first byte of the packet; may reach beyond its content
	end          uint64 // bits of data that mean something
	slots        []uint64
	roles        [Stamp + 1]uint64 // of fields with a role: their values, or bit positions
	width        [Stamp + 1]uint8  // and their bits
	has          uint32            // which of roles were there
	zeroSizeLeft int64             // how many more elements of no size the packet may have
	fault        fault
}

// fault is what was wrong where a program stopped.
type fault struct {
	kind         string
	pos          uint64
	unknownClass bool // the metadata does not have the event's class
}

// atEnd reports whether the program might go on with more bytes than there were.
func (f *fault) atEnd() bool {
	return f.kind == faultEnd || f.kind == faultVar || f.kind == faultString || f.kind == faultLong
}

func (m *packetState) fail(kind string, pos uint64) bool {
	m.fault = fault{kind: kind, pos: pos}
	return false
}

// maxZeroSizeElements is how many array elements of zero size a packet may have beyond one a bit. Without a limit they would
// keep a reader busy forever.
const maxZeroSizeElements = 1 << 16

const (
	faultEnd      = "field extends beyond the packet's content"
	faultVar      = "variable-length integer is unterminated or longer than 64 bits"
	faultString   = "unterminated string"
	faultSelector = "selector matches no option"
	faultZeroSize = "too many zero-size array elements"
	faultLong     = "array longer than its packet"
)

// run runs a program from bit pos on and returns the bit behind. If it is false, fault says why.
func (m *packetState) run(ops []op, pos uint64) (uint64, bool) {
	for i := range ops {
		o := &ops[i]
		pos = (pos + o.mask) &^ o.mask
		switch o.code {
		case opSkip:
			pos += o.size
			if pos > m.end {
				return pos, m.fail(faultEnd, pos-o.size)
			}
		case opLoad:
			if pos+uint64(o.width) > m.end {
				return pos, m.fail(faultEnd, pos)
			}
			load := loadBits
			if o.reversed {
				load = loadReversed
			}
			v := load(m.data, pos, o.width, o.big)
			if o.signed {
				v = signExtend(v, o.width)
			}
			m.store(o, v)
			pos += uint64(o.width)
		case opLoadVar:
			v, end, ok := loadVar(m.data[:m.end>>3], pos>>3, o.signed)
			if !ok {
				return pos, m.fail(faultVar, pos)
			}
			m.store(o, v)
			pos = end << 3
		case opString:
			n, ok := textEnd(m.data, pos>>3, m.end>>3, uint64(o.width>>3))
			if !ok {
				return pos, m.fail(faultString, pos)
			}
			pos = (n + uint64(o.width>>3)) << 3
		case opRun:
			n := m.slots[o.slot]
			if n == 0 {
				break
			}
			if n > (m.end-min(pos, m.end)+o.tail)/max(o.size, 1) && o.size > 0 {
				return pos, m.fail(faultLong, pos)
			}
			pos += n*o.size - o.tail
		case opRepeat:
			n := o.count
			if o.slot >= 0 {
				n = m.slots[o.slot]
			}
			for ; n > 0; n-- {
				next, ok := m.run(o.sub, pos)
				if !ok {
					return next, false
				}
				if next == pos {
					if m.zeroSizeLeft--; m.zeroSizeLeft < 0 {
						return pos, m.fail(faultZeroSize, pos)
					}
				}
				pos = next
			}
		case opChoose:
			k := selectOption(o.chosen, m.slots[o.slot], o.signed)
			if k < 0 || k >= len(o.alts) {
				if o.choice {
					return pos, m.fail(faultSelector, pos)
				}
				break
			}
			next, ok := m.run(o.alts[k], pos)
			if !ok {
				return next, false
			}
			pos = next
		case opMark:
			m.roles[o.role], m.has = pos, m.has|1<<o.role
			pos += o.size
			if pos > m.end {
				return pos, m.fail(faultEnd, pos-o.size)
			}
		default:
			return pos, m.fail(faultLong, pos)
		}
	}
	if pos > m.end {
		return pos, m.fail(faultEnd, pos)
	}
	return pos, true
}

func (m *packetState) store(o *op, v uint64) {
	if o.slot >= 0 {
		m.slots[o.slot] = v
	}
	if o.role != NoRole {
		m.roles[o.role], m.width[o.role], m.has = v, o.width, m.has|1<<o.role
	}
}

// role returns the value of a field with a role, if there was one.
func (m *packetState) role(r Role) (uint64, bool) {
	if m.has>>r&1 == 0 {
		return 0, false
	}
	return m.roles[r], true
}

// selectOption returns the first option whose ranges contain the selector's value, or -1.
func selectOption(alts [][]Range, v uint64, signed bool) int {
	for k, ranges := range alts {
		if containsValue(ranges, v, signed) {
			return k
		}
	}
	return -1
}

// containsValue reports whether a value lies in one of the ranges.
func containsValue(ranges []Range, v uint64, signed bool) bool {
	for i := range ranges {
		r := &ranges[i]
		if signed && int64(v) >= r.Low && int64(v) <= r.High ||
			!signed && v >= uint64(r.Low) && v <= uint64(r.High) {
			return true
		}
	}
	return false
}

// textEnd returns the byte at which the NUL of a string stands that begins at byte i.
func textEnd(data []byte, i, end, unit uint64) (uint64, bool) {
	if i >= end || end > uint64(len(data)) {
		return 0, false
	}
	if unit == 1 {
		n := bytes.IndexByte(data[i:end], 0)
		return i + uint64(n), n >= 0
	}
	for ; i+unit <= end; i += unit {
		var any byte
		for _, b := range data[i : i+unit] {
			any |= b
		}
		if any == 0 {
			return i, true
		}
	}
	return 0, false
}
