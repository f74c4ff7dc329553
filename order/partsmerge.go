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
		siftDown(w.heap, i, (*partFrames).before)
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
		siftDown(w.heap, 0, (*partFrames).before)
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
