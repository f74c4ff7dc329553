package index

import (
	"encoding/binary"
	"math"

	"github.com/klauspost/compress/s2"

	"meridian/clock"
	"meridian/trace"
)

// Events lie in blocks of mostInBlock, or fewer if they are large, each compressed on its own: the length of the heads,
// the heads, the values. A head is
//
//	flags b, at (signed, from the one before), row, class, clock+1,
//	what the clock showed less the timeline's time (signed, from the one before of this clock),
//	if there are bounds: time-low, high-time (signed, each from those of the one before of this clock),
//	if it came late: by how much it is shown later than it was,
//	how many bytes its values take
const (
	mostInBlock  = 256
	largestBlock = 4 << 20 // an event more may follow, of no more than longestValue and some 700 kB
	mostBlock    = 8 << 20
)

const (
	phaseBits   = 3
	flowBit     = 4 // it is an end of a message
	sendsBit    = 8 // and sends it
	boundedBit  = 16
	lateBit     = 32 // it came after later events
	knownFlags  = 63
	neverBefore = -1
)

// block is where events lie in the file.
type block struct {
	pageRef
	first         int64  // number of its first event
	classes, rows uint64 // which occur: bit n%64 for number n
}

// head is an event without its values.
type head struct {
	at         int64
	row        int
	class      uint32
	clock      int
	recorded   clock.HostTime // ns since 1970
	below      int64
	above      int64
	late       int64 // by how much it is shown later than it was, ns
	flags      uint8
	valueBytes int
}

// stamps is the state of one clock between two of its events in a block.
type stamps struct {
	ahead, below, above int64
	block               int64 // to which this belongs
}

// blockBuilder gathers the events of a block. Full ones go to a goroutine that compresses and writes them.
type blockBuilder struct {
	heads, values []byte
	count         int
	at            int64
	block         block
	clocks        []stamps // by clock+1
	encoder       valueEncoder
	sink          func(r *rawBlock) // takes full ones, if it is set
	full          chan *rawBlock
	free          chan *rawBlock
}

type rawBlock struct {
	block
	raw []byte
}

func newBlockBuilder() *blockBuilder {
	return &blockBuilder{full: make(chan *rawBlock, 8), free: make(chan *rawBlock, 10)}
}

// run writes blocks until there are no more, and returns where they are.
func (b *blockBuilder) run(s *store) (blocks []block, err error) {
	e := extent{s: s, most: 1 << 20}
	var packed []byte
	for r := range b.full {
		if err == nil {
			if n := s2.MaxEncodedLen(len(r.raw)); cap(packed) < n {
				packed = make([]byte, n)
			}
			packed = s2.Encode(packed[:cap(packed)], r.raw)
			if r.pageRef, err = e.put(packed); err == nil {
				blocks = append(blocks, r.block)
			}
		}
		if cap(r.raw) < 1<<20 {
			select {
			case b.free <- r:
			default:
			}
		}
	}
	if err == nil {
		err = e.flush()
	}
	return blocks, err
}

// add appends event number n.
func (b *blockBuilder) add(n int64, h *head, origin clock.TimelineTime, values []trace.Value) {
	if b.count == 0 {
		b.block = block{first: n}
		b.at = 0
	}
	b.count++
	b.block.classes |= 1 << (h.class % 64)
	b.block.rows |= 1 << (h.row % 64)
	x := append(b.heads, h.flags)
	x = binary.AppendVarint(x, h.at-b.at)
	b.at = h.at
	x = binary.AppendUvarint(x, uint64(h.row))
	x = binary.AppendUvarint(x, uint64(h.class))
	x = binary.AppendUvarint(x, uint64(h.clock+1))
	for h.clock+1 >= len(b.clocks) {
		b.clocks = append(b.clocks, stamps{block: neverBefore})
	}
	c := &b.clocks[h.clock+1]
	if c.block != b.block.first {
		*c = stamps{block: b.block.first}
	}
	ahead := int64(h.recorded) - (int64(origin) + h.at) // it may leave int64 and comes back the same way
	x = binary.AppendVarint(x, ahead-c.ahead)
	c.ahead = ahead
	if h.flags&boundedBit != 0 {
		x = binary.AppendVarint(x, h.below-c.below)
		x = binary.AppendVarint(x, h.above-c.above)
		c.below, c.above = h.below, h.above
	}
	if h.flags&lateBit != 0 {
		x = binary.AppendUvarint(x, uint64(h.late))
	}
	before := len(b.values)
	b.encoder.left = mostValues
	for i := range values {
		b.values = b.encoder.append(b.values, &values[i], 0)
	}
	b.heads = binary.AppendUvarint(x, uint64(len(b.values)-before))
	if b.count == mostInBlock || len(b.values) > largestBlock {
		b.send()
	}
}

// send hands the block over.
func (b *blockBuilder) send() {
	if b.count == 0 {
		return
	}
	var r *rawBlock
	select {
	case r = <-b.free:
	default:
		r = new(rawBlock)
	}
	b.copy(r)
	b.heads, b.values, b.count = b.heads[:0], b.values[:0], 0
	if b.sink != nil {
		b.sink(r)
		return
	}
	b.full <- r
}

// copy copies the block as far as there is one.
func (b *blockBuilder) copy(r *rawBlock) {
	r.block = b.block
	r.raw = binary.AppendUvarint(r.raw[:0], uint64(len(b.heads)))
	r.raw = append(append(r.raw, b.heads...), b.values...)
}

// blockReader goes over the events of a block.
type blockReader struct {
	heads, values decoder
	left          int
	number        int64 // of the next event
	at            int64
	origin        clock.TimelineTime
	clocks        []stamps // by clock+1
	limits        eventLimits
	raw           []byte
}

// eventLimits are what numbers in a block must be below.
type eventLimits struct {
	rows, classes, clocks int
}

// open begins with a block, which holds count events.
func (r *blockReader) open(packed []byte, first int64, count int) error {
	n, err := s2.DecodedLen(packed)
	if err != nil || n > mostBlock {
		return damaged("the events from %d on cannot be unpacked", first)
	}
	if r.raw, err = s2.Decode(r.raw[:cap(r.raw)], packed); err != nil {
		return damaged("the events from %d on cannot be unpacked (%v)", first, err)
	}
	d := decoder{b: r.raw}
	r.heads = decoder{b: d.bytes(d.length(len(d.b)))}
	r.values = decoder{b: d.b}
	if d.bad {
		return damaged("the events from %d on are cut short", first)
	}
	r.left, r.number, r.at = count, first, 0
	if r.clocks == nil {
		r.clocks = make([]stamps, r.limits.clocks+1)
	}
	clear(r.clocks)
	return nil
}

// next returns the next event and its values, still encoded; false after the last.
func (r *blockReader) next() (number int64, h head, values decoder, ok bool, err error) {
	if r.left == 0 {
		return 0, h, values, false, nil
	}
	r.left--
	number = r.number
	r.number++
	d := &r.heads
	h.flags = d.byte()
	r.at += d.s()
	h.at = r.at
	h.row = d.length(r.limits.rows - 1)
	h.class = uint32(d.length(r.limits.classes - 1))
	h.clock = d.length(r.limits.clocks) - 1
	c := &r.clocks[h.clock+1]
	c.ahead += d.s()
	h.recorded = clock.HostTime(int64(r.origin) + h.at + c.ahead)
	if h.flags&boundedBit != 0 {
		c.below += d.s()
		c.above += d.s()
		h.below, h.above = c.below, c.above
	}
	if h.flags&lateBit != 0 {
		h.late = int64(min(d.u(), math.MaxInt64))
	}
	h.valueBytes = d.length(len(r.values.b))
	values = decoder{b: r.values.bytes(h.valueBytes)}
	if d.bad || h.flags > knownFlags || h.at < 0 || h.at > far || h.late > far {
		return 0, h, values, false, damaged("event %d cannot be read", number)
	}
	return number, h, values, true, nil
}
