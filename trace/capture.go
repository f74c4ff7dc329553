package trace

import "meridian/clock"

// Capture is one packet capture in memory: a Packet for every frame of the file, in file order.
type Capture struct {
	Host        string
	File        string
	Packets     Log
	Flows       []Flow
	Interfaces  []Interface
	Whole       bool  // its source counts what it misses, and missed nothing
	Granularity int64 // step of the stamps in ns: of the file's resolution, or of the coarser grid that all stamps are on
}

// Extent returns the earliest and the latest stamp; ok is false for a capture without packets.
func (c *Capture) Extent() (first, last clock.HostTime, ok bool) {
	for _, chunk := range c.Packets.Chunks() {
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

const chunkBits = 16

// Log holds packets in chunks, so that a capture of unknown length grows without copying and without a second half of
// memory in reserve. The zero value is empty.
type Log struct {
	chunks [][]Packet
	length int
}

// Append adds a packet at the end and returns its place in the log, valid until the next Append.
func (l *Log) Append() *Packet {
	last := len(l.chunks) - 1
	if l.length&(1<<chunkBits-1) == 0 {
		l.chunks = append(l.chunks, make([]Packet, 0, min(1<<chunkBits, max(64, l.length))))
		last++
	}
	chunk := l.chunks[last]
	if len(chunk) == cap(chunk) {
		// Only the first chunk starts small: most captures in tests and many in life are.
		grown := make([]Packet, len(chunk), min(1<<chunkBits, 4*cap(chunk)))
		copy(grown, chunk)
		chunk = grown
	}
	chunk = chunk[:len(chunk)+1]
	l.chunks[last] = chunk
	l.length++
	return &chunk[len(chunk)-1]
}

// Len returns the number of packets.
func (l *Log) Len() int { return l.length }

// At returns packet i, 0 <= i < Len.
func (l *Log) At(i int) *Packet { return &l.chunks[i>>chunkBits][i&(1<<chunkBits-1)] }

// Chunks returns the packets in order, in pieces.
func (l *Log) Chunks() [][]Packet { return l.chunks }
