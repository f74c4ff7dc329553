// Package stream opens a file for reading from its beginning to its end, plain or compressed with gzip or zstd, which it
// tells by the first bytes and never by the name.
//
//	file --> count --> [gzip | zstd --> pieces, run ahead in a goroutine] --> Read
//
// A plain file is read straight into the caller's buffer. Decompression runs ahead of the caller on another core, up to
// four pieces of 256 KiB; the goroutine belongs to the stream and has ended when Close returns.
//
// What went wrong is told apart, because what to do differs: a [Damage] is compressed data that is cut or corrupt, and
// all that came before it has been delivered; every other error is the operating system's.
package stream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"meridian/format/internal/files"
)

// Damage says that compressed data end too early or are not what they should be.
type Damage struct {
	Compression string // gzip or zstd
	Err         error
}

// Cut reports whether the data only end too early: what is there is whole up to its end. Otherwise something is left out.
func (d *Damage) Cut() bool { return errors.Is(d.Err, io.ErrUnexpectedEOF) }

func (d *Damage) Error() string {
	if d.Cut() {
		return d.Compression + " data cut short"
	}
	return fmt.Sprintf("%s data corrupt: %v", d.Compression, d.Err)
}

func (d *Damage) Unwrap() error { return d.Err }

// Stream is an open file. Only Consumed may be called by another goroutine than the reading one.
type Stream struct {
	in          *counter
	head        []byte // the bytes that were read to recognise the compression, not yet delivered
	close       func() error
	compression string
	ahead       *runner // nil for plain data
}

// Open opens a file. Errors name it.
func Open(path string) (*Stream, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	s, err := New(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.close = f.Close
	return s, nil
}

// ReadFile opens a file, gives its content to read and closes it. Errors of opening name the file.
func ReadFile[T any](path string, read func(io.Reader) (T, error)) (T, error) {
	s, err := Open(path)
	if err != nil {
		var none T
		return none, err
	}
	defer s.Close()
	return read(s)
}

// New reads from r, which stays the caller's to close; a call of r.Read that never returns keeps Close waiting.
func New(r io.Reader) (*Stream, error) {
	s := &Stream{in: &counter{r: r}, close: func() error { return nil }}
	head := make([]byte, 4)
	n, err := io.ReadFull(s.in, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	s.head = head[:n]
	s.compression = Compression(s.head)
	if s.compression == "" {
		return s, nil
	}
	input := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(s.head), s.in), 64<<10)
	s.head = nil
	decoder, err := newDecoder(s.compression, input)
	if err != nil {
		if s.in.err != nil {
			return nil, s.in.err
		}
		return nil, &Damage{s.compression, unexpected(err)}
	}
	s.ahead = startRunner(decoder)
	return s, nil
}

// Compression names what the first bytes of a file say it is compressed with: gzip, zstd, or nothing.
func Compression(head []byte) string {
	switch {
	case len(head) >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8:
		return "gzip"
	case len(head) >= 4 && head[0] == 0x28 && head[1] == 0xb5 && head[2] == 0x2f && head[3] == 0xfd:
		return "zstd"
	case len(head) >= 4 && head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18:
		return "zstd" // begins with a skippable frame, as parallel compressors write it
	}
	return ""
}

// maxWindow is how far back a zstd frame may refer, and so what it may make us allocate: as much as the zstd command
// accepts without being told otherwise.
const maxWindow = 128 << 20

func newDecoder(compression string, r io.Reader) (io.ReadCloser, error) {
	if compression == "gzip" {
		return gzip.NewReader(r)
	}
	// One goroutine, ours, does the work: the decoder has none of its own that could outlive Close.
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// Read delivers the decompressed bytes.
func (s *Stream) Read(p []byte) (int, error) {
	if s.ahead != nil {
		n, err := s.ahead.Read(p)
		if err != nil && err != io.EOF {
			if s.in.err != nil {
				return n, s.in.err
			}
			err = &Damage{s.compression, unexpected(err)}
		}
		return n, err
	}
	if len(s.head) > 0 {
		n := copy(p, s.head)
		s.head = s.head[n:]
		return n, nil
	}
	return s.in.Read(p)
}

// Close ends the decompression and closes the file.
func (s *Stream) Close() error {
	if s.ahead == nil {
		return s.close()
	}
	// The file first: a decoder that waits for a pipe is woken by it.
	close(s.ahead.quit)
	err := s.close()
	<-s.ahead.done
	return err
}

// Consumed returns how many bytes of the file were read so far, compressed ones where it is compressed.
func (s *Stream) Consumed() int64 { return s.in.n.Load() }

// Compressed names the compression, empty for plain data.
func (s *Stream) Compressed() string { return s.compression }

// unexpected makes an end of file inside compressed data what it is.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// counter counts what is read, and remembers the error of the file, to be told from errors of its content.
type counter struct {
	r   io.Reader
	n   atomic.Int64
	err error
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}
