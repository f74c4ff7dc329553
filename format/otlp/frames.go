package otlp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	v1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/format/internal/stream"
)

// looked is how much of a file decides how it was written.
const looked = 64 << 10

// peek returns the beginning of a stream and a reader of all of it.
func peek(s io.Reader) ([]byte, io.Reader, error) {
	head := make([]byte, looked)
	n, err := io.ReadFull(s, head)
	head = head[:n]
	var damage *stream.Damage
	if err == io.EOF || err == io.ErrUnexpectedEOF || n > 0 && errors.As(err, &damage) {
		err = nil // it comes again behind the head, or the end does
	}
	return head, io.MultiReader(bytes.NewReader(head), s), err
}

// counted counts what is read, for the places in warnings.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

func (c *counted) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(c, b[:])
	return b[0], err
}

// body reads n bytes, which need not come: memory grows with what does.
func (c *counted) body(n uint64) ([]byte, error) {
	if n > longest {
		return nil, fmt.Errorf("a length of %d bytes, more than %d", n, longest)
	}
	var b bytes.Buffer
	m, err := io.CopyN(&b, c, int64(n))
	if err == io.EOF && uint64(m) < n {
		err = io.ErrUnexpectedEOF
	}
	return b.Bytes(), err
}

// message reads one message of any length, resource by resource.
func (r *reader) message(s io.Reader) error {
	c := &counted{r: bufferOf(s)}
	for {
		at := c.n
		tag, err := binary.ReadUvarint(c)
		if err == io.EOF {
			return nil
		}
		var length uint64
		if err == nil && tag != 1<<3|2 {
			err = fmt.Errorf("tag %d instead of ResourceSpans", tag)
		} else if err == nil {
			length, err = binary.ReadUvarint(c)
		}
		var b []byte
		if err == nil {
			b, err = c.body(length)
		}
		if err != nil {
			return r.cut(err, at)
		}
		var rs v1.ResourceSpans
		if err := proto.Unmarshal(b, &rs); err != nil {
			r.skip("spans of a resource left out: broken protobuf", fmt.Sprintf("at offset %d: %v", at, err))
			continue
		}
		r.resource(&rs, at)
	}
}

// frames reads messages behind their lengths.
func (r *reader) frames(s io.Reader) error {
	c := &counted{r: bufferOf(s)}
	for {
		at := c.n
		var length [4]byte
		if _, err := io.ReadFull(c, length[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return r.cut(err, at)
		}
		b, err := c.body(uint64(binary.BigEndian.Uint32(length[:])))
		if err != nil {
			return r.cut(err, at)
		}
		if err := r.frame(b, at); err != nil {
			r.skip("messages left out: broken", fmt.Sprintf("at offset %d: %v", at, err))
		}
	}
}

func (r *reader) frame(b []byte, at int64) error {
	if stream.Compression(b) == "zstd" {
		s, err := stream.New(bytes.NewReader(b))
		if err != nil {
			return err
		}
		defer s.Close()
		if b, err = io.ReadAll(io.LimitReader(s, longest+1)); err != nil {
			return err
		}
		if len(b) > longest {
			return fmt.Errorf("more than %d bytes when decompressed", longest)
		}
	}
	if kindOf(b) == asJSON {
		return r.json(bytes.NewReader(b))
	}
	var data v1.TracesData
	if err := proto.Unmarshal(b, &data); err != nil {
		return err
	}
	for _, rs := range data.ResourceSpans {
		r.resource(rs, at)
	}
	return nil
}

// cut warns of a message that ends too early or is none, behind which nothing can be found again. Damage of the compression
// and errors of the system are handed on.
func (r *reader) cut(err error, at int64) error {
	var damage *stream.Damage
	if errors.As(err, &damage) {
		return err
	}
	if r.set.Len() == 0 && r.whole == nil {
		return fmt.Errorf("at offset %d: %w", at, err)
	}
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		r.skip("cut short, what came before is used", fmt.Sprintf("at offset %d", at))
		return nil
	}
	r.w.Gap(r.path, "broken, what came before is used", fmt.Sprintf("at offset %d: %v", at, err), 1)
	return nil
}
