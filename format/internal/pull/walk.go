package pull

import (
	"bytes"
	"io"
)

// maxName is how long the name of a member may be that is not skipped unread.
const maxName = 64 << 10

// Object takes the object that begins here. It calls member with the name of each and the reader before its value, of which
// member takes as much as it likes to; what it leaves is skipped. A comma too many or too few is no matter. The error is
// [ErrSyntax] where it is none, io.ErrUnexpectedEOF where the stream ends within it, and otherwise what member says.
func (r *Reader) Object(member func(name string) error) error {
	if err := r.opening('{'); err != nil {
		return err
	}
	for {
		c, err := r.inside()
		if err != nil {
			return err
		}
		if c == '}' {
			r.Take()
			return nil
		}
		if c != '"' {
			return ErrSyntax
		}
		raw, err := r.Value(maxName)
		if err == io.ErrUnexpectedEOF {
			return err
		}
		text, _ := Text(nil, raw)
		if c, err = r.inside(); err != nil {
			return err
		}
		if c != ':' {
			return ErrSyntax
		}
		r.Take()
		if _, err = r.inside(); err != nil {
			return err
		}
		at := r.Offset()
		if err = member(string(text)); err != nil {
			return err
		}
		if r.Offset() == at {
			if err = r.Skip(); err != nil {
				return err
			}
		}
	}
}

// Array takes the array that begins here. It calls element with the reader before each, as [Reader.Object] does.
func (r *Reader) Array(element func() error) error {
	if err := r.opening('['); err != nil {
		return err
	}
	for {
		c, err := r.inside()
		if err != nil {
			return err
		}
		if c == ']' {
			r.Take()
			return nil
		}
		at := r.Offset()
		if err := element(); err != nil {
			return err
		}
		if r.Offset() == at {
			if err = r.Skip(); err != nil {
				return err
			}
		}
	}
}

func (r *Reader) opening(bracket byte) error {
	c, err := r.Peek()
	if err != nil {
		return err
	}
	if c != bracket {
		return ErrSyntax
	}
	r.Take()
	return nil
}

// inside returns the next byte that is neither white space nor a comma.
func (r *Reader) inside() (byte, error) {
	for {
		c, err := r.Peek()
		if err != nil {
			return 0, io.ErrUnexpectedEOF
		}
		if c != ',' {
			return c, nil
		}
		r.Take()
	}
}

// Line passes over the rest of the line, to where the next one begins; io.EOF if there is none.
func (r *Reader) Line() error {
	r.last = -1
	for {
		if i := bytes.IndexByte(r.buf[r.start:r.end], '\n'); i >= 0 {
			r.start += i + 1
			return nil
		}
		r.start = r.end
		if !r.fill(&r.start) {
			return io.EOF
		}
	}
}
