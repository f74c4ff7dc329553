package pcap

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"meridian/clock"
	"meridian/format/internal/files"
	"meridian/trace"
)

// chunkFrames is how many frames make a chunk: some tens of kilobytes, so that little is read twice where a range of time
// begins within a chunk, and an index of 100 million packets has 10 MB.
const chunkFrames = 512

// chunks is where frames of a capture stand in its file. It implements [trace.FrameChunks].
//
//	file     header | frames 0 to 511 | frames 512 to 1023 | ... | end
//	all[0].offset --^    all[1].offset --^                       ^-- end
//
// Interfaces that are described between two chunks belong to the earlier one; the layout of the later one has them.
type chunks struct {
	path   string
	all    []chunk
	end    int64
	frames int
	sum    uint64 // of the stamps of all frames, modulo 1<<64
}

// chunk is one of them.
type chunk struct {
	offset          int64 // of its first frame's record or block
	least, greatest clock.HostTime
	before          clock.HostTime // Reader.last where it begins
	sum             uint64         // of the stamps of all frames before it, modulo 1<<64
	layout          *layout
}

// newChunks returns an empty index of a file; nil where its frames can be read from the beginning alone: it is compressed, a pipe, or
// elsewhere.
func newChunks(r *Reader, path string) *chunks {
	if r.source.Compressed() != "" || files.Mounted(path) {
		return nil
	}
	if info, err := files.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return &chunks{path: path}
}

// add takes account of the frame that r brought. Before is r.last from before it.
func (x *chunks) add(r *Reader, f *trace.Frame, before clock.HostTime) {
	x.end = r.in.offset()
	if f.Number%chunkFrames == 0 {
		c := chunk{offset: r.at, least: math.MaxInt64, greatest: math.MinInt64, before: before, sum: x.sum}
		if n := len(x.all); n > 0 && x.all[n-1].layout.same(&r.layout) {
			c.layout = x.all[n-1].layout
		} else {
			c.layout = r.layout.clone()
		}
		x.all = append(x.all, c)
	}
	c := &x.all[len(x.all)-1]
	c.least, c.greatest = min(c.least, f.Time), max(c.greatest, f.Time)
	x.frames++
	x.sum += uint64(f.Time)
}

// same reports whether two layouts of one file, which only grow, are the same.
func (l *layout) same(o *layout) bool {
	return len(l.ifaces) == len(o.ifaces) && l.section == o.section && l.big == o.big
}

// clone returns a copy to which the other can add without changing it.
func (l *layout) clone() *layout {
	c := *l
	c.ifaces, c.units = slices.Clip(c.ifaces), slices.Clip(c.units)
	return &c
}

func (x *chunks) Len() int { return len(x.all) }

func (x *chunks) Chunk(i int) trace.FrameChunk {
	c := &x.all[i]
	return trace.FrameChunk{Least: c.least, Greatest: c.greatest, Bytes: x.offset(i+1) - c.offset}
}

// offset returns where a chunk begins, or the last one ends.
func (x *chunks) offset(i int) int64 {
	if i == len(x.all) {
		return x.end
	}
	return x.all[i].offset
}

// upTo returns how many frames stand before a chunk, or all, and the sum of their stamps.
func (x *chunks) upTo(i int) (frames int, sum uint64) {
	if i == len(x.all) {
		return x.frames, x.sum
	}
	return i * chunkFrames, x.all[i].sum
}

func (x *chunks) Open() (trace.ChunkReader, error) {
	f, err := files.Open(x.path)
	if err != nil {
		return nil, err
	}
	return &chunkReader{chunks: x, file: f}, nil
}

// chunkReader reads chunks by a Reader whose window is all that was loaded.
type chunkReader struct {
	chunks *chunks
	file   files.File
	buf    []byte
	reader *Reader
	frames int    // that are still to come
	sum    uint64 // of their stamps
}

func (c *chunkReader) Load(from, to int) error {
	c.reader = nil
	if from >= to {
		return nil
	}
	first, begin := &c.chunks.all[from], c.chunks.offset(from)
	n := int(c.chunks.offset(to) - begin)
	if cap(c.buf) < n {
		c.buf = make([]byte, n+n/4)
	}
	c.buf = c.buf[:n]
	switch read, err := c.file.ReadAt(c.buf, begin); {
	case read == n:
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s: %d bytes at offset %d are not there any more: %w", c.chunks.path, n, begin, errChanged)
	default:
		return fmt.Errorf("%s: %w", c.chunks.path, err)
	}
	r := &Reader{
		file: c.chunks.path, layout: *first.layout, number: from * chunkFrames, last: first.before,
		in: window{buf: c.buf, hi: n, base: begin, err: io.EOF},
	}
	r.shown.Store(&r.ifaces)
	if r.header > 0 {
		r.next = r.nextRecord
	} else {
		r.next = r.nextBlock
	}
	c.reader = r
	before, sum := c.chunks.upTo(from)
	c.frames, c.sum = c.chunks.upTo(to)
	c.frames, c.sum = c.frames-before, c.sum-sum
	return nil
}

func (c *chunkReader) Next(f *trace.Frame) error {
	if c.reader == nil {
		return io.EOF
	}
	c.reader.options = nil // those of the frame before last as well
	return nextAgain(c.reader, f, &c.frames, &c.sum)
}

func (c *chunkReader) Close() error { return c.file.Close() }
