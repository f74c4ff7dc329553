// Package order brings the frames of many captures into the order of the timeline.
//
//	source 0: Next --> keep --> batch --> in order of time --.
//	source 1: Next --> keep --> batch --> in order of time ---+--> earliest first --> emit
//	   ...       (a goroutine each)                       (one goroutine)
//
// Each source's stamps are carried to the timeline by its [clock.Map], whose estimate never runs backwards: frames that
// are in order on the host's clock are so on the timeline. But captures are not quite in order: a card with several
// queues, or a kernel with several cores, hands packets over some microseconds late. As long as no frame is later than
// the source's window, the result is in order of time, ties broken by source and then by number. A clock that was stepped
// back makes frames later than any window: [Runs] finds where, and each run becomes a source of its own.
//
// Merge costs no allocation per frame; its memory is the frames of one window, at most 64 MiB for each source. Where captures can be read in
// chunks, [Parts] does the same on all processors.
package order

import (
	"context"
	"errors"
	"fmt"
	"math"

	"golang.org/x/sync/errgroup"

	"meridian/clock"
	"meridian/trace"
)

// DefaultWindow is how late a frame may come, in ns of its capture's clock, unless the source says otherwise.
const DefaultWindow = 10_000_000

// Source is one sequence of frames whose stamps are of one clock.
type Source struct {
	Frames trace.FrameReader
	Map    *clock.Map
	// Keep says whether a frame belongs to the source and whether any later one may. It allows one capture to be read as
	// several sources. Nil keeps all.
	Keep func(number int) (keep, more bool)
	// Window is how late a frame may come after a later stamp, in ns of the capture's clock. 0 is DefaultWindow.
	Window int64
}

func (s *Source) check() error {
	switch {
	case s.Frames == nil:
		return errors.New("nil Frames")
	case s.Map == nil:
		return errors.New("nil Map")
	}
	return s.Map.Mid.Check()
}

// Stats counts what Merge did, by source.
type Stats struct {
	Frames []int64 // emitted
	Late   []int64 // of these, emitted behind a later one, because they came later than the window or than memory allows
}

// Merge emits the frames of all sources in the order of the timeline, each with its time there; f.Time stays the stamp of its capture. What f refers to is void after
// emit returns. An error of a source or of emit, or the end of ctx, ends the merge; all goroutines have ended when Merge
// returns, which has to wait for a Next that blocks. Emit is called by one goroutine, Next and Keep by one per source.
// Merge returns an error before it reads if emit, or Frames or Map of a source is nil, or a map's estimate does not pass
// [clock.CurveOf.Check].
func Merge(ctx context.Context, sources []Source, emit func(source int, at clock.TimelineTime, f *trace.Frame) error) (Stats, error) {
	stats := Stats{Frames: make([]int64, len(sources)), Late: make([]int64, len(sources))}
	if emit == nil {
		return stats, errors.New("order: emit is nil")
	}
	for i := range sources {
		if err := sources[i].check(); err != nil {
			return stats, fmt.Errorf("order: source %d: %w", i, err)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	heads := make([]*head, len(sources))
	size := batchSize(len(sources))
	for i := range sources {
		f := newFeed(&sources[i], size)
		heads[i] = newHead(i, f)
		group.Go(func() error { return f.run(ctx) })
	}
	group.Go(func() error { return merge(ctx, heads, &stats, emit) })
	return stats, group.Wait()
}

// merge takes the earliest head again and again. The heap is a plain binary one; with few sources it is a comparison or
// two, and mostly none: as long as the first source stays ahead of the second, nothing moves.
func merge(ctx context.Context, heads []*head, stats *Stats, emit func(int, clock.TimelineTime, *trace.Frame) error) error {
	heap := heads[:0:0]
	for _, h := range heads {
		if ok, err := h.advance(ctx); err != nil {
			return err
		} else if ok {
			heap = append(heap, h)
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		siftDown(heap, i, (*head).before)
	}
	var f trace.Frame
	last := clock.TimelineTime(math.MinInt64)
	for n := 1; len(heap) > 0; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		h := heap[0]
		h.batch.frame(h.item, &f)
		stats.Frames[h.source]++
		if h.time < last {
			stats.Late[h.source]++
		} else {
			last = h.time
		}
		if err := emit(h.source, h.time, &f); err != nil {
			return err
		}
		ok, err := h.advance(ctx)
		if err != nil {
			return err
		}
		if !ok {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		siftDown(heap, 0, (*head).before)
	}
	return nil
}

// siftDown moves the element at i of a heap below all that come before it.
func siftDown[T any](heap []T, i int, before func(a, b T) bool) {
	for {
		c := 2*i + 1
		if c >= len(heap) {
			return
		}
		if c+1 < len(heap) && before(heap[c+1], heap[c]) {
			c++
		}
		if !before(heap[c], heap[i]) {
			return
		}
		heap[i], heap[c] = heap[c], heap[i]
		i = c
	}
}
