package ctf

import "encoding/binary"

// bitWriter puts values at bits of a packet. Bytes behind the position may hold anything; a value's own write clears the
// bits that share its last byte.
type bitWriter struct {
	b     []byte // as long as its capacity
	at    int    // bits
	usual int    // bytes that are mostly enough
}

// room makes sure that n bytes, and a few more that fast writes touch, can follow.
func (w *bitWriter) room(n int) {
	if need := w.at>>3 + n + 9; need > len(w.b) {
		size := max(2*len(w.b), 4096)
		if len(w.b) < w.usual {
			size = min(size, w.usual)
		}
		grown := make([]byte, max(need, size))
		copy(grown, w.b[:(w.at+7)>>3])
		w.b = grown
	}
}

// align goes on at the next multiple of n bits, a power of two, with zeros up to there.
func (w *bitWriter) align(n int) {
	to := (w.at + n - 1) &^ (n - 1)
	if to == w.at {
		return
	}
	w.room((to - w.at) >> 3)
	clear(w.b[(w.at+7)>>3 : (to+7)>>3])
	w.at = to
}

// put writes the low size bits of v, 1 to 64. In little-endian order the first bit of the packet's byte is its least, and
// that of the value; in big-endian order both are the greatest.
func (w *bitWriter) put(v uint64, size int, big bool) {
	w.room(0)
	v &= ^uint64(0) >> (64 - size)
	p := w.at >> 3
	if w.at&7 == 0 {
		if !big {
			binary.LittleEndian.PutUint64(w.b[p:], v)
		} else {
			binary.BigEndian.PutUint64(w.b[p:], v<<(64-size))
		}
		w.at += size
		return
	}
	for size > 0 {
		p, off := w.at>>3, w.at&7
		n := min(8-off, size)
		if !big {
			w.b[p] = w.b[p]&(1<<off-1) | byte(v<<off)
			v >>= n
		} else {
			w.b[p] = w.b[p]&^(0xff>>off) | byte(v>>(size-n)<<(8-off-n))&(0xff>>off)
		}
		w.at += n
		size -= n
	}
}

// bytes writes whole bytes; the position is at one.
func (w *bitWriter) bytes(b []byte) {
	w.room(len(b))
	copy(w.b[w.at>>3:], b)
	w.at += 8 * len(b)
}

// over writes the low size bits of v over what stands at a bit, and nothing beside them.
func (w *bitWriter) over(at int, v uint64, size int, big bool) {
	for i := range size {
		bit, mask := byte(v>>i), byte(1)<<((at+i)&7)
		p := (at + i) >> 3
		if big { // the least significant bit comes last
			last := at + size - 1 - i
			p, mask = last>>3, 0x80>>(last&7)
		}
		if w.b[p] &^= mask; bit&1 != 0 {
			w.b[p] |= mask
		}
	}
}
