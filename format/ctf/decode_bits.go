package ctf

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// loadBits reads width bits (1 to 64) that start at bit pos of data. Bits beyond the end of data are 0.
//
// In little-endian order the first bit of a byte is its lowest, and the first bit of an integer the lowest; in
// big-endian order both are the highest.
func loadBits(data []byte, pos uint64, width uint8, big bool) uint64 {
	i, shift := pos>>3, uint8(pos&7)
	if i+8 <= uint64(len(data)) && shift+width <= 64 {
		if big {
			return binary.BigEndian.Uint64(data[i:]) << shift >> (64 - width)
		}
		return binary.LittleEndian.Uint64(data[i:]) >> shift & (^uint64(0) >> (64 - width))
	}
	return loadEdge(data, pos, width, big)
}

// loadEdge is loadBits where fewer than eight bytes are left, or where the bits lie in nine.
func loadEdge(data []byte, pos uint64, width uint8, big bool) uint64 {
	var b [9]byte
	if i := pos >> 3; i < uint64(len(data)) {
		copy(b[:], data[i:])
	}
	shift := uint8(pos & 7)
	if big {
		v := binary.BigEndian.Uint64(b[:]) << shift
		v |= uint64(b[8]) >> (8 - shift)
		return v >> (64 - width)
	}
	v := binary.LittleEndian.Uint64(b[:]) >> shift
	v |= uint64(b[8]) << (63 - shift) << 1
	return v & (^uint64(0) >> (64 - width))
}

// loadReversed reads an integer whose bit order is the reverse of the one that goes with its byte order.
func loadReversed(data []byte, pos uint64, width uint8, big bool) uint64 {
	return bits.Reverse64(loadBits(data, pos, width, !big)) >> (64 - width)
}

// signExtend takes the lower width bits as a number in two's complement.
func signExtend(v uint64, width uint8) uint64 {
	shift := (64 - width) & 63
	return uint64(int64(v<<shift) >> shift)
}

// loadVar reads a LEB128 integer at byte i and returns where it ends; ok is false if it has more than 64 bits or does
// not end.
func loadVar(data []byte, i uint64, signed bool) (v, end uint64, ok bool) {
	for shift := uint(0); i < uint64(len(data)); shift += 7 {
		b := data[i]
		i++
		if shift == 63 && b&0x7f != 0 && b&0x7f != 1 && !(signed && b&0x7f == 0x7f) || shift > 63 {
			return 0, i, false
		}
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if signed && b&0x40 != 0 && shift+7 < 64 {
				v |= ^uint64(0) << (shift + 7)
			}
			return v, i, true
		}
	}
	return 0, i, false
}

// loadFloat reads an IEEE 754 number of up to 128 bits as a float64, rounding what does not fit.
func loadFloat(data []byte, pos uint64, t *Type) float64 {
	load := loadBits
	if t.Reversed {
		load = loadReversed
	}
	switch {
	case t.Size == 64 && t.Exponent <= 11:
		return math.Float64frombits(load(data, pos, 64, t.BigEndian))
	case t.Size == 32 && (t.Exponent == 8 || t.Exponent == 0):
		return float64(math.Float32frombits(uint32(load(data, pos, 32, t.BigEndian))))
	}
	// The sign and the exponent stand at the top; of a long fraction the 60 highest bits are enough.
	exponent, fraction := t.Exponent, t.Mantissa-1
	if exponent+fraction+1 > t.Size || exponent < 2 || exponent > 15 || fraction < 1 {
		switch {
		case t.Size >= 80:
			exponent = 15
		case t.Size == 16:
			exponent = 5
		default:
			exponent = max(2, min(8, t.Size/4))
		}
		fraction = t.Size - 1 - exponent
	}
	part := func(top, width int) uint64 { // width bits of which the highest is top, counted from the least significant
		var v uint64
		for k := range width {
			b := top - k
			at := uint64(b)
			if t.BigEndian {
				at = uint64(t.Size - 1 - b)
			}
			v = v<<1 | load(data, pos+at, 1, t.BigEndian)
		}
		return v
	}
	if t.Reversed {
		load = func(data []byte, pos uint64, width uint8, big bool) uint64 { return loadBits(data, pos, width, !big) }
	}
	negative := part(t.Size-1, 1) == 1
	e := int(part(t.Size-2, exponent))
	kept := min(fraction, 60)
	f := part(t.Size-2-exponent, kept)
	explicit := t.Size == 80 && fraction == 64 // x87: the integer bit is written out
	bias := 1<<(exponent-1) - 1
	var x float64
	switch {
	case e == 1<<exponent-1:
		if explicit {
			f &= 1<<(kept-1) - 1
		}
		x = math.Inf(1)
		if f != 0 {
			x = math.NaN()
		}
	case explicit:
		x = math.Ldexp(float64(f), e-bias-kept+1)
	case e == 0:
		x = math.Ldexp(float64(f), 1-bias-kept)
	default:
		x = math.Ldexp(float64(f|1<<kept), e-bias-kept)
	}
	if negative {
		x = math.Copysign(x, -1)
	}
	return x
}
