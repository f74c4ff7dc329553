package index

import (
	"encoding/binary"
	"math"
)

// dominant finds which of many classes has most weight, in the room of few (Misra and Gries 1982, in the form that can
// be merged: Agarwal et al. 2012). The weight that it gives for a class is never too large, and too small by at most a
// fifth of the total. So a class of more than a fifth is never missed. The class that it names weighs at most a fifth of
// the total less than the heaviest.
type dominant struct {
	few [4]weight
	any uint32 // one of those added: what is named where all have outweighed each other
}

type weight struct {
	class uint32
	w     int64 // 0: free
}

func (d *dominant) add(class uint32, w int64) {
	d.any = class
	free, least := -1, w
	few := &d.few
	for i := range few {
		switch {
		case few[i].w == 0:
			free = i
		case few[i].class == class:
			few[i].w = sum(few[i].w, w)
			return
		default:
			least = min(least, few[i].w)
		}
	}
	if free < 0 {
		// Every class here and the new one give up as much as the lightest has.
		for i := range few {
			if few[i].w -= least; few[i].w == 0 {
				free = i
			}
		}
		w -= least
	}
	if w > 0 {
		few[free] = weight{class, w}
	}
}

func (d *dominant) merge(o *dominant) {
	for _, x := range o.few {
		if x.w > 0 {
			d.add(x.class, x.w)
		}
	}
	d.any = o.any
}

// most returns the heaviest class, of equals the first.
func (d *dominant) most() uint32 {
	best := weight{class: d.any}
	for _, x := range d.few {
		if x.w > best.w || x.w == best.w && x.w > 0 && x.class < best.class {
			best = x
		}
	}
	return best.class
}

// sum adds what is not negative, and stays at the largest number rather than leave it.
func sum(a, b int64) int64 {
	if s := a + b; s >= 0 {
		return s
	}
	return 1<<63 - 1
}

// appendDominant encodes how many classes are left and each with its weight, or the one to be named where none is.
func appendDominant(b []byte, d *dominant) []byte {
	n := byte(0)
	for _, x := range d.few {
		if x.w > 0 {
			n++
		}
	}
	b = append(b, n)
	if n == 0 {
		return binary.AppendUvarint(b, uint64(d.any))
	}
	for _, x := range d.few {
		if x.w > 0 {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(x.class)), uint64(x.w))
		}
	}
	return b
}

func (d *decoder) dominant(l limits) (out dominant) {
	n := int(d.byte())
	if n == 0 {
		class := d.u()
		d.bad = d.bad || class >= l.classes
		out.any = uint32(class)
		return out
	}
	if n > len(out.few) {
		d.bad = true
		return out
	}
	for i := range n {
		class, w := d.u(), d.u()
		d.bad = d.bad || class >= l.classes || w == 0 || w > math.MaxInt64
		out.few[i], out.any = weight{uint32(class), int64(w)}, uint32(class)
	}
	return out
}
