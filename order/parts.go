package order

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"meridian/clock"
	"meridian/trace"
)

// PartSource is one sequence of frames whose stamps are of one clock, in chunks that can be read by themselves.
type PartSource struct {
	Frames trace.FrameChunks
	Map    *clock.Map
}

// Parts divides the timeline into parts that several goroutines bring into order at the same time, each from the chunks that
// reach into it:
//
//	timeline  |   part 0   |   part 1   |   part 2   | ...
//	source 0  [ c0 ][ c1 ][ c2 ][ c3 ][ c4 ][ c5 ]        part 1 reads c2, c3 and c4, and takes of c2 and c4
//	source 1  [    c0    ][    c1    ][    c2    ]        the frames that lie in it
//
// What is emitted is in the order of [Merge]: time, then source, then number. Frames that come late in their capture are not late
// here, however late they are. No frame goes from one processor's cache to another's, which costs more than all else that is done
// with it.
type Parts struct {
	sources []PartSource
	parts   []part
	total   int64 // bytes of all parts
}

// part is the instants from one up to, but not including, another.
type part struct {
	from, to clock.TimelineTime
	chunks   [][2]int32 // by source: from, to
}

const (
	// partBytes is how many bytes of frames a part has, about: with what is made of them they lie in a core's own cache.
	partBytes = 1 << 20
	// maxPartBytes bounds a part's memory, and maxPartSources the open files of a goroutine.
	maxPartBytes   = 32 << 20
	maxPartSources = 64
	// maxReadTwice is how much may be read more than once, as a part of all bytes: chunks of captures in disorder reach into many parts.
	maxReadTwice = 0.5
)

// NewParts plans the parts of some sources. It returns nil where Merge is to be taken: there are too many sources, or frames of one
// instant, or of a capture in disorder, would take too much memory or time.
func NewParts(sources []PartSource) *Parts {
	if len(sources) == 0 || len(sources) > maxPartSources {
		return nil
	}
	p := &Parts{sources: sources}
	spans := make([]chunkSpans, len(sources))
	for i := range sources {
		s := &sources[i]
		if s.Frames == nil || s.Map == nil || s.Map.Mid.Check() != nil || s.Frames.Len() > math.MaxInt32 {
			return nil
		}
		spans[i] = newChunkSpans(s)
	}
	bounds, total := divide(spans)
	var read int64
	for n := range len(bounds) - 1 {
		x := part{from: bounds[n], to: bounds[n+1], chunks: make([][2]int32, len(sources))}
		var size int64
		for i := range spans {
			from, to := spans[i].reaching(x.from, x.to)
			x.chunks[i] = [2]int32{int32(from), int32(to)}
			size += spans[i].bytes(from, to)
		}
		if size > maxPartBytes {
			return nil
		}
		read += size
		if float64(read) > (1+maxReadTwice)*float64(total)+4*partBytes {
			return nil
		}
		p.parts = append(p.parts, x)
	}
	p.total = read
	return p
}

// divide returns the instants that divide the timeline into parts of about partBytes, the first before and the last behind all frames,
// and the bytes of all chunks.
func divide(spans []chunkSpans) (bounds []clock.TimelineTime, total int64) {
	type begin struct {
		at    clock.TimelineTime
		bytes int64
	}
	var begins []begin
	for i := range spans {
		for n, at := range spans[i].least {
			size := spans[i].bytes(n, n+1)
			begins = append(begins, begin{at, size})
			total += size
		}
	}
	slices.SortFunc(begins, func(a, b begin) int { return cmp.Compare(a.at, b.at) })
	bounds = append(bounds, math.MinInt64)
	var size int64
	for _, b := range begins {
		if size >= partBytes && b.at > bounds[len(bounds)-1] {
			bounds, size = append(bounds, b.at), 0
		}
		size += b.bytes
	}
	return append(bounds, math.MaxInt64), total
}

// chunkSpans is where the chunks of a source lie on the timeline, and what is asked of them for parts that come in order.
type chunkSpans struct {
	least, greatest []clock.TimelineTime
	offsets         []int64 // bytes before each, and of all
	from, to        int     // of the part before
	ahead           []clock.TimelineTime
}

func newChunkSpans(s *PartSource) chunkSpans {
	n := s.Frames.Len()
	x := chunkSpans{
		least: make([]clock.TimelineTime, n), greatest: make([]clock.TimelineTime, n), ahead: make([]clock.TimelineTime, n+1),
		offsets: make([]int64, n+1),
	}
	cursor := clock.NewCursor(s.Map.Mid)
	for i := range n {
		c := s.Frames.Chunk(i)
		x.least[i], x.greatest[i] = cursor.At(c.Least), cursor.At(c.Greatest)
		x.offsets[i+1] = x.offsets[i] + c.Bytes
	}
	x.ahead[n] = math.MaxInt64
	for i := n - 1; i >= 0; i-- {
		x.ahead[i] = min(x.ahead[i+1], x.least[i])
	}
	return x
}

func (x *chunkSpans) bytes(from, to int) int64 { return x.offsets[to] - x.offsets[from] }

// reaching returns the chunks that lie between the first and the last that reach into a part. Parts are asked for in order.
func (x *chunkSpans) reaching(begin, end clock.TimelineTime) (from, to int) {
	// All chunks before from lie before this part, and so before later ones.
	for x.from < len(x.least) && x.greatest[x.from] < begin {
		x.from++
	}
	// ahead[to] is the least instant of all chunks from to on. The last instant of all belongs to the last part.
	for x.to < len(x.least) && (x.ahead[x.to] < end || end == math.MaxInt64) {
		x.to++
	}
	return x.from, max(x.from, x.to)
}

// PartSink takes the frames of one part after the other. What f refers to is void after Finish.
type PartSink interface {
	Emit(source int, at clock.TimelineTime, f *trace.Frame) error
	// Finish ends a part. It is called in the order of the parts, by one goroutine at a time.
	Finish() error
}

// Merge emits the frames of all parts in the order of the timeline, each to one of as many sinks as there are workers. An error of a source or of a
// sink, or the end of ctx, ends it; all goroutines have ended when Merge returns.
func (p *Parts) Merge(ctx context.Context, workers int, sink func() PartSink) error {
	group, ctx := errgroup.WithContext(ctx)
	order := &turns{}
	order.changed.L = &order.mu
	stop := context.AfterFunc(ctx, order.end)
	defer stop()
	for range min(max(workers, 1), len(p.parts)) {
		group.Go(func() error {
			w, err := newPartWorker(p.sources, sink())
			if err != nil {
				return err
			}
			defer w.close()
			for n := order.take(); n < len(p.parts); n = order.take() {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := w.merge(&p.parts[n]); err != nil {
					return err
				}
				if !order.await(n) {
					return ctx.Err()
				}
				if err := w.sink.Finish(); err != nil {
					return err
				}
				order.done(n)
			}
			return nil
		})
	}
	return group.Wait()
}

// turns numbers the parts, and lets them be finished in their order.
type turns struct {
	mu       sync.Mutex
	changed  sync.Cond
	taken    int
	finished int
	ended    bool
}

func (t *turns) take() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken++
	return t.taken - 1
}

// await waits until all parts before one are finished, and reports whether they are.
func (t *turns) await(n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.finished < n && !t.ended {
		t.changed.Wait()
	}
	return t.finished == n
}

func (t *turns) done(n int) {
	t.mu.Lock()
	t.finished = n + 1
	t.mu.Unlock()
	t.changed.Broadcast()
}

func (t *turns) end() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.changed.Broadcast()
}

// partWorker brings parts into order, one after the other.
type partWorker struct {
	sink    PartSink
	sources []partFrames
	heap    []*partFrames
}

// partFrames is the frames of a source that lie in a part, in the order of the timeline.
type partFrames struct {
	number int // of the source
	reader trace.ChunkReader
	cursor clock.Cursor
	frames []trace.Frame
	times  []clock.TimelineTime
	order  []int32 // of the frames; empty where they stand in it
	next   int
	time   clock.TimelineTime // of the next frame
}

func newPartWorker(sources []PartSource, sink PartSink) (*partWorker, error) {
	w := &partWorker{sink: sink, sources: make([]partFrames, len(sources))}
	for i := range sources {
		r, err := sources[i].Frames.Open()
		if err != nil {
			w.close()
			return nil, err
		}
		w.sources[i] = partFrames{number: i, reader: r, cursor: clock.NewCursor(sources[i].Map.Mid)}
	}
	return w, nil
}

func (w *partWorker) close() {
	for i := range w.sources {
		if r := w.sources[i].reader; r != nil {
			r.Close() // was only read
		}
	}
}

// merge emits the frames of a part.
func (w *partWorker) merge(p *part) error {
	w.heap = w.heap[:0]
	for i := range w.sources {
		s := &w.sources[i]
		if err := s.load(p, i); err != nil {
			return err
		}
		if s.advance() {
			w.heap = append(w.heap, s)
		}
	}
	for i := len(w.heap)/2 - 1; i >= 0; i-- {
		siftDown(w.heap, i)
	}
	for len(w.heap) > 0 {
		s := w.heap[0]
		if err := w.sink.Emit(s.number, s.time, s.current()); err != nil {
			return err
		}
		if !s.advance() {
			last := len(w.heap) - 1
			w.heap[0] = w.heap[last]
			w.heap = w.heap[:last]
		}
		siftDown(w.heap, 0)
	}
	return nil
}

// load reads the frames of a part.
func (s *partFrames) load(p *part, source int) error {
	s.frames, s.times, s.order, s.next = s.frames[:0], s.times[:0], s.order[:0], 0
	if err := s.reader.Load(int(p.chunks[source][0]), int(p.chunks[source][1])); err != nil {
		return err
	}
	sorted, last := true, clock.TimelineTime(math.MinInt64)
	for {
		n := len(s.frames)
		s.frames = slices.Grow(s.frames, 1)[:n+1]
		f := &s.frames[n]
		if err := s.reader.Next(f); err != nil {
			s.frames = s.frames[:n]
			if errors.Is(err, io.EOF) {
				break
			}
			return fmt.Errorf("order: source %d: %w", source, err)
		}
		at := s.cursor.At(f.Time)
		if at < p.from || at >= p.to && p.to < math.MaxInt64 {
			s.frames = s.frames[:n]
			continue
		}
		s.times = append(s.times, at)
		sorted = sorted && at >= last
		last = at
	}
	if sorted {
		return nil
	}
	for i := range s.frames {
		s.order = append(s.order, int32(i))
	}
	slices.SortFunc(s.order, func(a, b int32) int {
		if c := cmp.Compare(s.times[a], s.times[b]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	return nil
}

// advance goes on to the next frame; false if there is none.
func (s *partFrames) advance() bool {
	if s.next == len(s.frames) {
		return false
	}
	s.time = s.times[s.place(s.next)]
	s.next++
	return true
}

// current returns the frame that advance went on to.
func (s *partFrames) current() *trace.Frame { return &s.frames[s.place(s.next-1)] }

func (s *partFrames) place(i int) int {
	if len(s.order) > 0 {
		return int(s.order[i])
	}
	return i
}

func (s *partFrames) before(o *partFrames) bool {
	return s.time < o.time || s.time == o.time && s.number < o.number
}
