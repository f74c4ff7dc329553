package trace

import (
	"crypto/sha256"
	"encoding/binary"

	"meridian/clock"
)

// Role says which end of a message, or of a stay in a collective, an event is.
type Role uint8

// The roles.
const (
	NoRole   Role = iota // no end of anything
	Sends                // the message left here
	Receives             // the message arrived here
	Enters               // a member entered the collective
	Leaves               // a member left the collective
)

// Key names a message or a collective, the same at all its ends, in whatever file they stand.
type Key [16]byte

// KeyOf returns the key of what names a message. The first part is the kind of name, so that names of different formats never give
// one key.
func KeyOf(parts ...string) Key {
	var room [128]byte
	b := room[:0]
	for _, p := range parts {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(p)))
		b = append(b, p...)
	}
	sum := sha256.Sum256(b)
	return Key(sum[:16])
}

// Mark is an event that names the message of which it is an end: a tagged send or receive, an end of a span, the entry
// into a collective.
type Mark struct {
	Time   clock.HostTime // the stamp, an instant on the clock of the host
	Key    Key
	Host   int // index into the hosts of its Marks
	Stream int // the row on which it lies, as its source numbers it; -1 for none
	Role   Role
}

// Marks is the marks of one file. A host named "" is the one that the user gave the input.
type Marks struct {
	File  string
	Hosts []string
	Marks []Mark
	// Granularity is the step of the stamps in ns where the format knows it; 0 where the stamps themselves must tell.
	Granularity int64
	// Spans are those of a file of spans, in the order of the file, with the resources that they are of; else nil. What
	// they say of messages is judged as a whole, so that they stand for Marks.
	Spans     []SpanMark
	Resources []SpanResource
}
