// Package reduced writes a capture that is in memory, reduced to what matching needs, as a stream of bytes that is small enough to travel, and
// reads it again. What is read equals what was written in every field, so that messages, clocks and bounds do not depend on where a
// capture was read.
//
//	"MRC1" | head | block ... | end
//
//	head   length, zstd of JSON: file, granularity, interfaces, warnings; then length, zstd of the flows
//	block  number of packets, 1 to 65,536; for each of 13 columns: number of planes, then length and bytes of each
//	end    0, the number of all packets
//
// All numbers are varints. A column has one field of the packets, as its difference from what the field was expected to be:
//
//	time                       the packet before
//	flow                       the flow of the packet before, or its other direction
//	sequence number            the end of what its direction sent last
//	acknowledgement            what its direction acknowledged last, or the end of what the other one sent, whichever was right last time
//	timestamp, identification  that of its direction before
//	all others but digest      equal to that of its direction before
//
// Plane k of a column has byte k of those of its varints that are so long, compressed by zstd. Bytes of one significance are alike, so they become
// smaller than whole varints. A packet of a bulk transfer takes about 3 bytes, an acknowledgement without data 7, of which 4 are its digest.
//
// The reader believes no length: it allocates in proportion to what has arrived, and what a capture cannot have is an error.
package reduced

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"meridian/trace"
)

const (
	magic        = "MRC1"
	blockPackets = 1 << 16
	maxHead      = 64 << 20  // bytes of the head, decompressed
	maxFlows     = 1 << 30   // bytes of the flows, decompressed
	maxPlane     = 1<<17 + 1 // bytes of a compressed plane; zstd of 65,536 bytes takes less
	maxVarint    = binary.MaxVarintLen64
)

// head is what precedes the packets.
type head struct {
	File        string
	Whole       bool
	WholeStamps bool
	PTP         int64
	Granularity int64
	Interfaces  []trace.Interface
	Warnings    []trace.Warning
}

// Write writes a capture, with the warnings that its reading gave. Its host is not written: the reader names it.
func Write(ctx context.Context, w io.Writer, c *trace.Capture, warnings []trace.Warning) error {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(true), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		return err
	}
	defer encoder.Close()
	out := bufio.NewWriterSize(w, 128<<10)
	text, err := json.Marshal(head{File: c.File, Whole: c.Whole, WholeStamps: c.WholeStamps, PTP: c.PTP, Granularity: c.Granularity, Interfaces: c.Interfaces, Warnings: warnings})
	if err != nil {
		return err
	}
	b := []byte(magic)
	for _, part := range [][]byte{text, appendFlows(nil, c.Flows)} {
		packed := encoder.EncodeAll(part, nil)
		b = append(binary.AppendUvarint(b, uint64(len(packed))), packed...)
	}
	if _, err := out.Write(b); err != nil {
		return err
	}
	p := newPredictor(len(c.Flows))
	var planes [columns]planeWriter
	for block := range c.Packets.Chunks() {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := range block {
			p.write(&planes, &block[i])
		}
		b = binary.AppendUvarint(b[:0], uint64(len(block)))
		for k := range planes {
			b = planes[k].appendTo(b, encoder)
		}
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	b = binary.AppendUvarint(append(b[:0], 0), uint64(c.Packets.Len()))
	if _, err := out.Write(b); err != nil {
		return err
	}
	return out.Flush()
}

// reader reads a stream. The first error stays.
type reader struct {
	in      *bufio.Reader
	decoder *zstd.Decoder
	packed  bytes.Buffer
}

// Read reads a capture of a host, and the warnings that its reading gave. m keeps the packets, unless it is nil. It reads no further than the end of the capture as long as r is a
// [bufio.Reader]. Damage, a capture that ends early, and one that does not pass [trace.Capture.Check] are errors.
func Read(ctx context.Context, r io.Reader, host string, m trace.Memory) (*trace.Capture, []trace.Warning, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxFlows))
	if err != nil {
		return nil, nil, err
	}
	defer decoder.Close()
	in, is := r.(*bufio.Reader)
	if !is {
		in = bufio.NewReaderSize(r, 128<<10)
	}
	x := &reader{in: in, decoder: decoder}
	c, warnings, err := x.capture(ctx, m)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		c.Host = host
		err = c.Check()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("a reduced capture: %w", err)
	}
	return c, warnings, nil
}

func (x *reader) capture(ctx context.Context, m trace.Memory) (*trace.Capture, []trace.Warning, error) {
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(x.in, start); err != nil {
		return nil, nil, err
	}
	if string(start) != magic {
		return nil, nil, fmt.Errorf("it begins with %q instead of %q", start, magic)
	}
	text, err := x.section("head", maxHead)
	if err != nil {
		return nil, nil, err
	}
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, nil, fmt.Errorf("head: %w", err)
	}
	flows, err := x.section("flows", maxFlows)
	if err != nil {
		return nil, nil, err
	}
	c := &trace.Capture{Packets: trace.NewLog(m), File: h.File, Whole: h.Whole, WholeStamps: h.WholeStamps, PTP: h.PTP, Granularity: h.Granularity, Interfaces: h.Interfaces}
	if c.Flows, err = parseFlows(flows); err != nil {
		return nil, nil, err
	}
	return c, h.Warnings, x.packets(ctx, c)
}

// section reads a compressed section of at most so many bytes.
func (x *reader) section(name string, most int64) ([]byte, error) {
	n, err := binary.ReadUvarint(x.in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if n > uint64(most) {
		return nil, fmt.Errorf("%s: %d bytes, more than %d", name, n, most)
	}
	x.packed.Reset()
	if _, err := io.CopyN(&x.packed, x.in, int64(n)); err != nil { // grows with what arrives
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b, err := x.decoder.DecodeAll(x.packed.Bytes(), nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case int64(len(b)) > most:
		return nil, fmt.Errorf("%s: %d bytes, more than %d", name, len(b), most)
	}
	return b, nil
}

func (x *reader) packets(ctx context.Context, c *trace.Capture) error {
	p := newPredictor(len(c.Flows))
	var planes [columns]planeReader
	for {
		size, err := binary.ReadUvarint(x.in)
		if err != nil {
			return fmt.Errorf("behind packet %d: %w", c.Packets.Len(), err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if size == 0 {
			break
		}
		if size > blockPackets {
			return fmt.Errorf("behind packet %d: a block of %d packets, more than %d", c.Packets.Len(), size, blockPackets)
		}
		for k := range planes {
			if err := planes[k].read(x, int(size)); err != nil {
				return fmt.Errorf("behind packet %d: column %d: %w", c.Packets.Len(), k, err)
			}
		}
		for range size {
			if err := p.read(&planes, c.Packets.Append()); err != nil {
				return fmt.Errorf("packet %d: %w", c.Packets.Len()-1, err)
			}
		}
		for k := range planes {
			if !planes[k].empty() {
				return fmt.Errorf("behind packet %d: column %d has more than its packets", c.Packets.Len(), k)
			}
		}
	}
	c.Packets.Finish()
	switch n, err := binary.ReadUvarint(x.in); {
	case err != nil:
		return fmt.Errorf("end: %w", err)
	case n != uint64(c.Packets.Len()):
		return fmt.Errorf("it has %d packets, and says %d", c.Packets.Len(), n)
	}
	return nil
}
