package order

import "math/bits"

// chunks hands out places in memory that comes in pieces of one size. Places are given out one behind the other, and a piece is begun anew when
// nothing in it is used. So events that come and go in about one order lie in that order, which processors read ahead:
//
//	piece: used used used free free ... <- the next place      pieces without a used place: the next to be begun
//
// Single free places, between those that are used for longer, are given out once a third of all are such. So the places are at most
// half more than were ever used at a time, and a piece.
type chunks struct {
	size    int32 // places in a piece, a power of two, at most 1<<16
	bits    uint8 // of size
	all     []chunk
	empty   []int32 // pieces in which nothing is used, but for the current one; the last in use is the last
	current int32   // that places are taken from; none
	used    int     // places
}

type chunk struct {
	used  int32
	next  int32    // places from here on were not given out since the piece was begun
	freed []uint16 // places before that which are not used
}

func newChunks(size int32) chunks {
	return chunks{size: size, bits: uint8(bits.TrailingZeros32(uint32(size))), current: none}
}

// take gives out a place. There is a new piece behind the others if it is grown: its memory is the caller's.
func (p *chunks) take() (place int32, grown bool) {
	if p.current == none || p.all[p.current].full(p.size) {
		grown = p.choose()
	}
	c := &p.all[p.current]
	p.used++
	c.used++
	if n := len(c.freed); n > 0 && c.next == p.size {
		place = int32(c.freed[n-1])
		c.freed = c.freed[:n-1]
	} else {
		place = c.next
		c.next++
	}
	return p.current<<p.bits | place, grown
}

func (c *chunk) full(size int32) bool { return c.next == size && len(c.freed) == 0 }

// choose makes a piece with free places the current one.
func (p *chunks) choose() (grown bool) {
	if n := len(p.empty); n > 0 {
		p.current, p.empty = p.empty[n-1], p.empty[:n-1]
		return false
	}
	if free := len(p.all)*int(p.size) - p.used; free > 0 && free >= p.used/2 {
		p.current = 0
		for i := range p.all {
			if p.all[i].used < p.all[p.current].used {
				p.current = int32(i)
			}
		}
		return false
	}
	p.current = int32(len(p.all))
	p.all = append(p.all, chunk{freed: make([]uint16, 0, p.size)})
	return true
}

// free takes a place back.
func (p *chunks) free(place int32) {
	n := place >> p.bits
	c := &p.all[n]
	p.used--
	if c.used--; c.used > 0 {
		c.freed = append(c.freed, uint16(place&(p.size-1)))
		return
	}
	c.next, c.freed = 0, c.freed[:0]
	if n != p.current {
		p.empty = append(p.empty, n)
	}
}
