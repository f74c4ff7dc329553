package index

import (
	"encoding/binary"
	"math"
)

func appendFloat(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// varints appends all varints that b consists of; false if it does not.
func varints(out []uint64, b []byte) ([]uint64, bool) {
	for i := 0; i < len(b); {
		v := uint64(b[i])
		i++
		if v >= 0x80 {
			v &= 0x7f
			for shift := 7; ; shift += 7 {
				if i == len(b) || shift > 63 {
					return out, false
				}
				c := b[i]
				i++
				v |= uint64(c&0x7f) << shift
				if c < 0x80 {
					break
				}
			}
		}
		out = append(out, v)
	}
	return out, true
}

func signed(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// decoder takes values from the front of some bytes. What is not there is 0, and bad says so afterwards.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) u() uint64 {
	if b := d.b; len(b) > 0 && b[0] < 0x80 { // nearly all are
		d.b = b[1:]
		return uint64(b[0])
	}
	return d.long()
}

// long is apart so that u is compiled into its callers.
func (d *decoder) long() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.b, d.bad = nil, true
		return 0
	}
	d.b = d.b[n:]
	return v
}

// length returns a number that is not more than limit.
func (d *decoder) length(limit int) int {
	v := d.u()
	if v > uint64(max(limit, 0)) {
		d.b, d.bad = nil, true
		return 0
	}
	return int(v)
}

func (d *decoder) s() int64 {
	return signed(d.u())
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) word() uint64 {
	if len(d.b) < 8 {
		d.b, d.bad = nil, true
		return 0
	}
	v := binary.LittleEndian.Uint64(d.b)
	d.b = d.b[8:]
	return v
}

func (d *decoder) float() float64 { return math.Float64frombits(d.word()) }

// number returns a float that is one.
func (d *decoder) number() float64 {
	v := d.float()
	d.bad = d.bad || math.IsNaN(v) || math.IsInf(v, 0)
	return v
}

// bytes returns the next n, which belong to what is decoded.
func (d *decoder) bytes(n int) []byte {
	if n > len(d.b) {
		d.b, d.bad = nil, true
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

// text returns a string with its length before it.
func (d *decoder) text() string { return string(d.bytes(d.length(len(d.b)))) }
