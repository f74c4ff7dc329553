package sensor

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
)

// Tag identifies one message among all that are exchanged, and is carried in it: the process that sent it, and a count.
//
//	text    6f1d0c4a9b3e5827-2a    both in hexadecimal, the first in 16 digits
//	binary  16 bytes, both as big-endian uint64
//
// Process is a random number, drawn at the start of the process. In the trace a message has the number Process + Count, which fits into
// 64 bits: those of a process are an interval, and two of a thousand processes with a million messages each have one
// in common with a probability of 10^-7.
type Tag struct{ Process, Count uint64 }

var tags struct {
	process uint64
	count   atomic.Uint64
}

func init() {
	var b [8]byte
	rand.Read(b[:])
	tags.process = binary.LittleEndian.Uint64(b[:])
}

// NewTag returns the next tag of this process.
func NewTag() Tag { return Tag{tags.process, tags.count.Add(1)} }

// ID returns the number by which the message's ends are found in the trace; never 0, which stands for none.
func (t Tag) ID() uint64 { return max(1, t.Process+t.Count) }

// IsZero says that there is no tag.
func (t Tag) IsZero() bool { return t == Tag{} }

func (t Tag) String() string {
	b, _ := t.AppendText(make([]byte, 0, 33))
	return string(b)
}

// AppendText appends the tag's text.
func (t Tag) AppendText(b []byte) ([]byte, error) {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, digits[t.Process>>shift&15])
	}
	return strconv.AppendUint(append(b, '-'), t.Count, 16), nil
}

// MarshalText returns the tag's text.
func (t Tag) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// UnmarshalText reads the tag's text.
func (t *Tag) UnmarshalText(b []byte) (err error) {
	*t, err = ParseTag(string(b))
	return err
}

// ParseTag reads the text of a tag.
func ParseTag(s string) (Tag, error) {
	process, count, ok := strings.Cut(s, "-")
	if ok && len(process) == 16 && len(count) <= 16 {
		p, err := strconv.ParseUint(process, 16, 64)
		n, err2 := strconv.ParseUint(count, 16, 64)
		if err == nil && err2 == nil {
			return Tag{p, n}, nil
		}
	}
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return Tag{}, fmt.Errorf("sensor: %q is not a tag (16 hexadecimal digits, a dash, 1 to 16 more)", s)
}

// AppendBinary appends the tag's 16 bytes.
func (t Tag) AppendBinary(b []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, t.Process), t.Count), nil
}

// MarshalBinary returns the tag's 16 bytes.
func (t Tag) MarshalBinary() ([]byte, error) { return t.AppendBinary(nil) }

// UnmarshalBinary reads a tag's 16 bytes.
func (t *Tag) UnmarshalBinary(b []byte) error {
	if len(b) != 16 {
		return errors.New("sensor: " + strconv.Itoa(len(b)) + " bytes instead of the 16 of a tag")
	}
	*t = Tag{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
	return nil
}
