package trace

import (
	"iter"
	"unsafe"

	"meridian/clock"
)

// Capture is one packet capture in memory: a Packet for every frame of the file, in file order.
type Capture struct {
	Host        string
	File        string
	Packets     Log
	Flows       []Flow
	Interfaces  []Interface
	StampSum    uint64      // of the stamps of its file, modulo 1<<64: a later reading of the file tells by it whether that was changed
	Frames      FrameChunks // nil where the file can only be read from its beginning
	Whole       bool        // its source counts what it misses, and missed nothing
	WholeStamps bool        // a frame that the receiver merged (GRO) was stamped after its last byte came, as kernels do; adapters stamp the first byte
	PTP         int64       // frames of PTP over Ethernet, which belong to no flow
	Granularity int64       // step of the stamps in ns: of the file's resolution, or of the coarser grid that all stamps are on
	Retimed     []Retimed   // the Untimed packets whose frames have other timestamps, in order
	Blocks      []FileBlock // what its file holds beside packets, in order; nil where the file is not read again
	BlocksLeft  int         // blocks of the file that must not or cannot be copied, or are too many
}

// Extent returns the earliest and the latest timestamp, of [Untimed] packets those beside them; ok is false for a capture without packets.
func (c *Capture) Extent() (first, last clock.HostTime, ok bool) {
	for chunk := range c.Packets.Chunks() {
		for i := range chunk {
			t := chunk[i].Time
			if !ok {
				first, last, ok = t, t, true
				continue
			}
			first, last = min(first, t), max(last, t)
		}
	}
	return first, last, ok
}

const (
	chunkBits    = 16
	chunkPackets = 1 << chunkBits
)

// Log holds packets in chunks, so that a capture of unknown length grows without copying and without a second half of
// memory in reserve. The zero value is empty, and is kept on Go's heap.
type Log struct {
	chunks [][]Packet
	length int
	memory Memory   // of full chunks; nil: Go's heap
	moved  bool     // some of them are there
	spare  []Packet // of one chunk, to be filled again
}

// NewLog returns an empty log that keeps its packets in a memory, but for the last 65,536 of them at most.
func NewLog(m Memory) Log { return Log{memory: m} }

// LogOf returns a log of packets that are there already. It refers to them.
func LogOf(packets []Packet) Log {
	l := Log{length: len(packets)}
	for len(packets) > 0 {
		n := min(chunkPackets, len(packets))
		l.chunks = append(l.chunks, packets[:n:n])
		packets = packets[n:]
	}
	return l
}

// Append adds a packet at the end and returns its place in the log, valid until the next Append.
func (l *Log) Append() *Packet {
	last := len(l.chunks) - 1
	if l.length&(chunkPackets-1) == 0 {
		l.begin()
		last++
	}
	chunk := l.chunks[last]
	if len(chunk) == cap(chunk) {
		// Only the first chunk starts small: most captures in tests and many in life are.
		grown := make([]Packet, len(chunk), min(chunkPackets, 4*cap(chunk)))
		copy(grown, chunk)
		chunk = grown
	}
	chunk = chunk[:len(chunk)+1]
	l.chunks[last] = chunk
	l.length++
	return &chunk[len(chunk)-1]
}

// begin keeps the last chunk, which is full, and begins another.
func (l *Log) begin() {
	l.keep()
	next := l.spare
	if l.spare = nil; next == nil {
		next = make([]Packet, 0, min(chunkPackets, max(64, l.length)))
	}
	l.chunks = append(l.chunks, next)
}

// keep puts the last chunk into the log's memory.
func (l *Log) keep() {
	last := len(l.chunks) - 1
	if last < 0 || l.memory == nil {
		return
	}
	full := l.chunks[last]
	kept, moved := KeepIn(l.memory, full)
	if l.chunks[last] = kept; moved {
		l.moved = true
		if cap(full) == chunkPackets {
			l.spare = full[:0]
		}
	}
}

// Finish puts what is left of the log into its memory. Packets can be appended afterwards, though slowly.
func (l *Log) Finish() {
	l.keep()
	l.spare = nil
}

// Memory returns where the log is kept; nil for Go's heap.
func (l *Log) Memory() Memory { return l.memory }

// Moved reports whether its memory has taken packets of the log from Go's heap: they should be read in their order.
func (l *Log) Moved() bool { return l.moved }

// Len returns the number of packets.
func (l *Log) Len() int { return l.length }

// At returns packet i, 0 <= i < Len.
func (l *Log) At(i int) *Packet { return &l.chunks[i>>chunkBits][i&(chunkPackets-1)] }

// Chunks iterates over the packets in order, in pieces, which its memory is told of as they are done with.
func (l *Log) Chunks() iter.Seq[[]Packet] {
	return func(yield func([]Packet) bool) {
		for _, chunk := range l.chunks {
			if !yield(chunk) {
				return
			}
			if l.moved {
				l.memory.Touched(len(chunk) * int(unsafe.Sizeof(chunk[0])))
			}
		}
	}
}
