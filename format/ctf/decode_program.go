package ctf

import "errors"

// A type is compiled twice. Its program, here, skips a field and keeps the values that later fields depend on: a structure
// of integers, however many, is one instruction, because its end does not depend on them. Its fieldDecoder (decode_field.go)
// decodes the values on demand.
//
//	struct { u32 a; u64 b; string s; u8 n; u16 v[n]; }        all aligned to bytes
//
//	    skip 96 | string | load n | run 16 * n

// opcode is what one instruction does, after it has aligned the position.
type opcode uint8

const (
	opSkip    opcode = iota // goes over size bits
	opLoad                  // reads an integer of width bits into a slot or a role
	opLoadVar               // reads a VarInt, whose end is known only then
	opString                // skips a string up to its NUL; code units have width bits
	opRun                   // goes over as many strides of size bits as slot says
	opRepeat                // runs sub as often as slot, or count, says
	opChoose                // runs the alternative that slot selects
	opMark                  // remembers the position for its role, and goes over size bits
	opTooLong               // is larger than any packet
)

type op struct {
	code     opcode
	width    uint8
	big      bool
	reversed bool
	signed   bool
	role     Role
	slot     int32  // opLoad: where the value goes, opRun, opRepeat, opChoose: where it stands; -1 for none
	mask     uint64 // the alignment less one
	size     uint64 // bits
	tail     uint64 // opRun: bits that the last element does not pad
	count    uint64 // opRepeat without a slot
	sub      []op
	alts     [][]op
	chosen   [][]Range // opChoose: what selects each of alts
	choice   bool      // opChoose: of a variant, which must select one; an option may select none
}

// maxPacketBits is more bits than any packet has; the sum of a few of them does not overflow.
const maxPacketBits = uint64(1) << 50

// extent is what is known of a type's size beforehand.
type extent struct {
	align uint64 // bits, a power of two
	size  uint64 // bits from an aligned start, at most longest
	fixed bool   // and nothing in it is remembered
}

// compiler turns types into programs and decoders.
type compiler struct {
	extents map[*Type]extent
	roles   bool   // whether roles count here: not in the fields of events
	slots   int    // how many there are
	align   uint64 // the greatest of all types, bits
	err     error
}

var (
	errAlign = errors.New("invalid alignment (powers of two up to 2^30 bits)")
	errSize  = errors.New("invalid size (integers of 1 to 64 bits, floating-point numbers of 1 to 128)")
	errSlots = errors.New("invalid field reference")
	errType  = errors.New("incomplete field class")
)

// maxSlots limits how many fields of one trace can be lengths or selectors.
const maxSlots = 1 << 20

func (c *compiler) setError(err error) {
	if c.err == nil {
		c.err = err
	}
}

// slot checks and counts a slot.
func (c *compiler) slot(n int) int32 {
	if n < -1 || n >= maxSlots {
		c.setError(errSlots)
		return -1
	}
	c.slots = max(c.slots, n+1)
	return int32(n)
}

// extent computes what is known of a type's size.
func (c *compiler) extent(t *Type) extent {
	if x, ok := c.extents[t]; ok {
		return x
	}
	if t.Align&(t.Align-1) != 0 || t.Align < 0 || t.Align > 1<<30 {
		c.setError(errAlign)
		return extent{align: 1}
	}
	x := extent{align: uint64(max(t.Align, 1))}
	remembered := t.Slot >= 0 || c.roles && t.Role != NoRole
	switch t.Kind {
	case Integer, Boolean, BitArray, Float:
		limit := 64
		if t.Kind == Float {
			limit = 128
		}
		if t.Size < 1 || t.Size > limit {
			c.setError(errSize)
			return x
		}
		x.size, x.fixed = uint64(t.Size), !remembered
	case VarInt, CString, TextSeq, BlobSeq:
		x.align = max(x.align, 8)
	case TextArray, BlobArray:
		x.align = max(x.align, 8)
		x.size, x.fixed = min(t.Length, maxPacketBits/8)*8, !remembered
	case Struct:
		x.fixed = true
		for i := range t.Fields {
			if t.Fields[i].Type == nil {
				c.setError(errType)
				return x
			}
			f := c.extent(t.Fields[i].Type)
			x.align = max(x.align, f.align)
			if x.fixed = x.fixed && f.fixed; x.fixed {
				x.size = min(alignTo(x.size, f.align-1)+f.size, maxPacketBits)
			}
		}
	case FixedArray, Sequence:
		if t.Elem == nil {
			c.setError(errType)
			return x
		}
		f := c.extent(t.Elem)
		x.align = max(x.align, f.align)
		if t.Kind == FixedArray && f.fixed && !remembered {
			x.fixed = true
			x.size = times(t.Length, alignTo(f.size, f.align-1), f.size)
		}
	case Variant, Optional: // aligned as what is chosen
		x.align = 1
	default:
		c.setError(errType)
	}
	c.extents[t], c.align = x, max(c.align, x.align)
	return x
}

func alignTo(pos, mask uint64) uint64 { return (pos + mask) &^ mask }

// times returns the bits of n elements, the last of them without its padding, or longest.
func times(n, stride, size uint64) uint64 {
	if n == 0 || stride == 0 {
		return 0
	}
	if n > maxPacketBits/stride {
		return maxPacketBits
	}
	return (n-1)*stride + size
}

// program is a list of instructions in the making. The position in the packet is known modulo mod: it is rest.
type program struct {
	c         *compiler
	ops       []op
	mod, rest uint64
}

// compile returns the program for types that follow each other; nil ones are left out.
func (c *compiler) compile(types ...*Type) []op {
	p := program{c: c, mod: 1}
	for _, t := range types {
		if t != nil {
			p.add(t)
		}
	}
	return p.ops
}

// step aligns the next instruction: what is left to do when it runs, and the padding already known.
func (p *program) step(align uint64) (mask, pad uint64) {
	if align <= p.mod {
		pad = -p.rest & (align - 1)
		p.rest = (p.rest + pad) & (p.mod - 1)
		return 0, pad
	}
	p.mod, p.rest = align, 0
	return align - 1, 0
}

// skip goes over size bits, in one instruction with those before where it can.
func (p *program) skip(align, size uint64) {
	mask, pad := p.step(align)
	p.rest = (p.rest + size) & (p.mod - 1)
	size += pad
	if size == 0 && mask == 0 {
		return
	}
	if size >= maxPacketBits {
		p.ops = append(p.ops, op{code: opTooLong, slot: -1})
		return
	}
	if n := len(p.ops); n > 0 && mask == 0 && p.ops[n-1].code == opSkip && p.ops[n-1].size+size < maxPacketBits {
		p.ops[n-1].size += size
		return
	}
	p.ops = append(p.ops, op{code: opSkip, mask: mask, size: size, slot: -1})
}

// put appends an instruction that starts aligned, and after which the position is known modulo mod.
func (p *program) put(o op, align, size, mod uint64) {
	mask, pad := p.step(align)
	if pad > 0 {
		p.ops = append(p.ops, op{code: opSkip, size: pad, slot: -1})
	}
	o.mask = mask
	p.ops = append(p.ops, o)
	if mod > 0 {
		p.mod, p.rest = mod, 0
		return
	}
	p.rest = (p.rest + size) & (p.mod - 1)
}

func (p *program) add(t *Type) {
	c := p.c
	x := c.extent(t)
	if c.err != nil {
		return
	}
	if x.fixed {
		p.skip(x.align, x.size)
		return
	}
	o := op{big: t.BigEndian, reversed: t.Reversed, signed: t.Signed, slot: c.slot(t.Slot), width: uint8(min(t.Size, 255))}
	if c.roles {
		o.role = t.Role
	}
	switch t.Kind {
	case Integer, Boolean, BitArray, Float:
		if t.Size > 64 { // nothing refers to such a float
			p.skip(x.align, uint64(t.Size))
			return
		}
		o.code = opLoad
		p.put(o, x.align, uint64(t.Size), 0)
	case VarInt:
		o.code = opLoadVar
		p.put(o, x.align, 0, 8)
	case CString:
		o.code, o.width, o.slot = opString, t.Encoding.codeUnit()*8, -1
		p.put(o, x.align, 0, 8)
	case TextArray, BlobArray: // only with a role
		o.code, o.size, o.slot = opMark, x.size, -1
		p.put(o, x.align, x.size, 0)
	case TextSeq, BlobSeq:
		p.put(op{code: opRun, size: 8, slot: c.slot(t.LengthSlot)}, x.align, 0, 8)
	case Struct:
		p.skip(x.align, 0)
		for i := range t.Fields {
			p.add(t.Fields[i].Type)
		}
	case FixedArray:
		p.array(t, x, op{code: opRepeat, slot: -1, count: t.Length})
	case Sequence:
		p.array(t, x, op{code: opRepeat, slot: c.slot(t.LengthSlot)})
	case Variant:
		o = op{code: opChoose, slot: c.slot(t.TagSlot), signed: t.TagSigned, choice: true, chosen: t.Select}
		for i := range t.Fields {
			if t.Fields[i].Type == nil {
				c.setError(errType)
				return
			}
			o.alts = append(o.alts, c.compile(t.Fields[i].Type))
		}
		p.put(o, 1, 0, 1)
	case Optional:
		if t.Elem == nil {
			c.setError(errType)
			return
		}
		o = op{code: opChoose, slot: c.slot(t.TagSlot), signed: t.TagSigned, chosen: t.Select, alts: [][]op{c.compile(t.Elem)}}
		p.put(o, 1, 0, 1)
	}
}

// array adds an array whose elements, or whose length, are not known beforehand.
func (p *program) array(t *Type, x extent, o op) {
	f := p.c.extent(t.Elem)
	switch {
	case p.c.roles && t.Role != NoRole && t.Kind == FixedArray && f.fixed:
		size := times(t.Length, alignTo(f.size, f.align-1), f.size)
		p.put(op{code: opMark, role: t.Role, size: size, slot: -1}, x.align, size, 0)
	case f.fixed && t.Kind == Sequence:
		stride := alignTo(f.size, f.align-1)
		p.put(op{code: opRun, slot: o.slot, size: stride, tail: stride - f.size}, x.align, 0, 1)
		p.mod, p.rest = 1, 0
		if f.size&7 == 0 && f.align >= 8 {
			p.mod = 8
		}
	default:
		o.sub = p.c.compile(t.Elem)
		p.put(o, x.align, 0, 1)
	}
}

// unit is how many bytes a code unit of text has.
func (e Encoding) codeUnit() uint8 {
	switch e {
	case UTF16BE, UTF16LE:
		return 2
	case UTF32BE, UTF32LE:
		return 4
	}
	return 1
}
