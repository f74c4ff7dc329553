// Package pull reads JSON piece by piece, so that a file of gigabytes never stands in memory, and so that one broken piece
// costs only itself. In goes a stream; out come raw values, one at a time, that the caller takes apart.
//
//	{"traceEvents": [ {...}, {...}, ... ], "otherData": {...}}
//	 ^ Peek, Take     ^ Value  ^ Value      ^ Skip
//
// A [Reader] walks the outer layers and hands out what lies in them as bytes; [Members], [Elements], [Text], [Decimal]
// take such a value apart without building anything. Numbers become integers by their digits alone, never through a
// float: microseconds since 1970 with three decimals do not fit into one.
//
// Brackets are counted, not matched, and what stands between them is looked at only when it is asked for: a value that is
// none is noticed by the decoder, which can then call [Reader.Resume].
//
// The cost is one look at every byte while it is skipped, one more while it is taken apart, and no allocation but for the
// buffer, which grows to the longest value asked for. Source: RFC 8259.
package pull

import (
	"bytes"
	"errors"
	"io"
)

var (
	// ErrLong is a value longer than it may be. It has been skipped.
	ErrLong = errors.New("value too long")
	// ErrSyntax is something that is no value.
	ErrSyntax = errors.New("not a JSON value")
)

const first = 256 << 10 // bytes of buffer

// Reader walks through a stream of JSON values.
type Reader struct {
	r          io.Reader
	buf        []byte
	start, end int   // what was read and not yet consumed: buf[start:end]
	offset     int64 // of buf[0] in the stream
	err        error // what ended the stream
	last       int   // where in buf the value that Value returned begins
}

// NewReader reads from r.
func NewReader(r io.Reader) *Reader {
	return &Reader{r: r, buf: make([]byte, first), last: -1}
}

// Offset returns how far the stream is consumed.
func (r *Reader) Offset() int64 { return r.offset + int64(r.start) }

// Err returns what ended the stream, nil for a proper end of file, to be asked when it has ended.
func (r *Reader) Err() error {
	if r.err == io.EOF {
		return nil
	}
	return r.err
}

// fill reads more behind what is there, keeping everything from keep on; false at the end of the stream.
func (r *Reader) fill(keep *int) bool {
	if r.err != nil {
		return false
	}
	if k := *keep; k > 0 && (k >= len(r.buf)/2 || r.end == len(r.buf)) {
		copy(r.buf, r.buf[k:r.end])
		r.offset += int64(k)
		r.start, r.end, *keep = r.start-k, r.end-k, 0
		r.last = -1
	}
	if r.end == len(r.buf) {
		buf := make([]byte, 2*len(r.buf)) // append would take a quarter more than that
		copy(buf, r.buf)
		r.buf = buf
	}
	for tries := 0; ; tries++ {
		n, err := r.r.Read(r.buf[r.end:])
		r.end += n
		if err == nil && n == 0 && tries > 100 {
			err = io.ErrNoProgress
		}
		if err != nil {
			r.err = err
		}
		if n > 0 || err != nil {
			return n > 0
		}
	}
}

// Peek returns the next byte that is not white space, without taking it, or io.EOF.
func (r *Reader) Peek() (byte, error) {
	for {
		for r.start < r.end {
			switch c := r.buf[r.start]; c {
			case ' ', '\t', '\r', '\n':
				r.start++
			case 0xef: // a byte order mark, where it may stand
				if r.Offset() == 0 && bytes.HasPrefix(r.buf[:r.end], []byte("\ufeff")) {
					r.start += 3
					continue
				}
				return c, nil
			default:
				return c, nil
			}
		}
		if !r.fill(&r.start) {
			return 0, io.EOF
		}
	}
}

// Take takes the byte that Peek returned.
func (r *Reader) Take() {
	if r.start < r.end {
		r.start++
	}
}

// Value returns the next value as it stands; it lasts until the next call. The error is [ErrLong] for one of more than
// limit bytes, [ErrSyntax] if there is none (nothing is consumed), io.EOF at the end, and io.ErrUnexpectedEOF with what
// there is of the value if the stream ends within it.
func (r *Reader) Value(limit int) ([]byte, error) { return r.value(limit, true) }

// Skip passes over the next value, however long.
func (r *Reader) Skip() error {
	_, err := r.value(0, false)
	return err
}

func (r *Reader) value(limit int, wanted bool) ([]byte, error) {
	c, err := r.Peek()
	if err != nil {
		return nil, err
	}
	var s scanner
	if !s.begin(c) {
		return nil, ErrSyntax
	}
	keep, at, long := r.start, r.start, false
	for {
		n, done := s.scan(r.buf[at:r.end])
		at += n
		if wanted && !long && (at-keep > limit || at-keep == limit && !done) { // it is longer: no buffer beyond the limit
			long = true
		}
		if long || !wanted {
			r.start, keep = at, at
		}
		if done {
			break
		}
		was := keep
		if !r.fill(&keep) {
			if s.scalar() {
				break // the end of the stream ends it
			}
			part := r.buf[keep:at]
			r.start, r.last = at, keep
			if long || !wanted {
				r.last = -1
			}
			return part, io.ErrUnexpectedEOF
		}
		at -= was - keep
	}
	r.start = at
	if !wanted {
		return nil, nil
	}
	if long {
		r.last = -1
		return nil, ErrLong
	}
	r.last = keep
	return r.buf[keep:at], nil
}

// Resume goes back into the value that Value returned last, which turned out to be none, and on to the next object that
// follows another's end and a comma: the next sound element of an array in which one is broken. It returns how many bytes
// it passed over, false if there is no such place within the value.
func (r *Reader) Resume() (int64, bool) {
	if r.last < 0 {
		return 0, false
	}
	from, b := r.last, r.buf[:r.start]
	r.last = -1
	for i := from; ; i++ {
		j := bytes.IndexByte(b[i:], '}')
		if j < 0 {
			return 0, false
		}
		i += j
		comma := space(b, i+1)
		if comma >= len(b) || b[comma] != ',' {
			continue
		}
		object := space(b, comma+1)
		if object >= len(b) || b[object] != '{' {
			continue
		}
		if name := space(b, object+1); name < len(b) && b[name] == '"' {
			r.start = object
			return int64(object - from), true
		}
	}
}

// scanner finds where a value ends, in as many pieces as it comes.
type scanner struct {
	depth   int
	text    bool // within a string
	escaped bool // behind a backslash
	plain   bool // a number or a word
}

func (s *scanner) begin(c byte) bool {
	switch {
	case c == '{' || c == '[' || c == '"':
		return true
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		s.plain = true
		return true
	}
	return false
}

// scalar says whether the value needs nothing to end it.
func (s *scanner) scalar() bool { return s.plain }

// scan returns how many bytes of b belong to the value, and whether it ends there.
func (s *scanner) scan(b []byte) (int, bool) {
	if s.plain {
		for i, c := range b {
			switch c {
			case ',', ']', '}', ' ', '\t', '\r', '\n', ':', '"', '{', '[':
				return i, true
			}
		}
		return len(b), false
	}
	for i := 0; i < len(b); i++ {
		if s.text {
			if s.escaped {
				s.escaped = false
				continue
			}
			for i < len(b) && b[i] != '"' && b[i] != '\\' {
				i++
			}
			if i == len(b) {
				return i, false
			}
			if b[i] == '\\' {
				s.escaped = true
				continue
			}
			s.text = false
			if s.depth == 0 {
				return i + 1, true
			}
			continue
		}
		switch b[i] {
		case '"':
			s.text = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth <= 0 {
				return i + 1, true
			}
		}
	}
	return len(b), false
}
