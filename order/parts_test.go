package order

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// chunked is frames that a test made, in chunks that take so many bytes each as the test says.
type chunked struct {
	*frames
	ends  []int // of the chunks, as numbers of frames
	bytes int64
	fails error // of Load
}

func (c *chunked) Len() int { return len(c.ends) }

func (c *chunked) begin(i int) int {
	if i == 0 {
		return 0
	}
	return c.ends[i-1]
}

func (c *chunked) Chunk(i int) trace.FrameChunk {
	x := trace.FrameChunk{Least: c.list[c.begin(i)].Time, Greatest: c.list[c.begin(i)].Time, Bytes: c.bytes}
	for _, f := range c.list[c.begin(i):c.ends[i]] {
		x.Least, x.Greatest = min(x.Least, f.Time), max(x.Greatest, f.Time)
	}
	return x
}

func (c *chunked) Open() (trace.ChunkReader, error) { return &chunkedReader{chunked: c}, nil }

type chunkedReader struct {
	*chunked
	next, end int
}

func (r *chunkedReader) Load(from, to int) error {
	r.next, r.end = 0, 0
	if from < to {
		r.next, r.end = r.begin(from), r.ends[to-1]
	}
	return r.fails
}

func (r *chunkedReader) Next(f *trace.Frame) error {
	if r.next >= r.end {
		return io.EOF
	}
	*f = r.list[r.next]
	r.next++
	return nil
}

func (r *chunkedReader) Close() error { return nil }

// gathered is what sinks were given, in the order in which parts were finished.
type gathered struct {
	mu  sync.Mutex
	all []emitted
}

type gatheringSink struct {
	*gathered
	part  []emitted
	fails error // of Finish
}

func (s *gatheringSink) Emit(source int, at clock.TimelineTime, f *trace.Frame) error {
	if string(f.Data) != label(source, f.Number) {
		return errors.New("another frame's bytes")
	}
	s.part = append(s.part, emitted{at, source, f.Number})
	return nil
}

func (s *gatheringSink) Finish() error {
	if !s.mu.TryLock() {
		return errors.New("two parts are finished at the same time")
	}
	defer s.mu.Unlock()
	s.all = append(s.all, s.part...)
	s.part = s.part[:0]
	return s.fails
}

func chunksOf(f *frames, ends []int, bytes int64) *chunked {
	return &chunked{frames: f, ends: ends, bytes: bytes}
}

func TestPartsTogetherAreTheSortByTimeThenSourceThenNumber(t *testing.T) {
	several := 0
	testseed.Check(t, func(t *rapid.T) {
		var sources []PartSource
		var want []emitted
		for i := range rapid.IntRange(1, 6).Draw(t, "sources") {
			stamps := disordered(t, rapid.IntRange(0, 200).Draw(t, "frames"), rapid.Int64Range(1, 50).Draw(t, "window"))
			var ends []int
			for at := 0; at < len(stamps); {
				at = min(at+rapid.IntRange(1, 4).Draw(t, "chunk"), len(stamps))
				ends = append(ends, at)
			}
			s := PartSource{Frames: chunksOf(made(i, stamps), ends, rapid.Int64Range(1, partBytes).Draw(t, "bytes")), Map: drawMap(t)}
			sources = append(sources, s)
			for n, at := range stamps {
				want = append(want, emitted{s.Map.At(at), i, n})
			}
		}
		slices.SortFunc(want, func(a, b emitted) int {
			return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.source, b.source), cmp.Compare(a.number, b.number))
		})
		parts := NewParts(sources)
		if parts == nil {
			t.Skip("too much disorder")
		}
		if len(parts.parts) > 2 {
			several++
		}
		var got gathered
		if err := parts.Merge(context.Background(), rapid.IntRange(1, 4).Draw(t, "workers"), func() PartSink { return &gatheringSink{gathered: &got} }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.all, want) {
			t.Fatalf("%v\nwant %v", got.all, want)
		}
	})
	if several < 10 && !testing.Short() { // which draws a fifth of the cases
		t.Errorf("%d times more than two parts", several)
	}
}

// Captures of which each part needs all, and instants with more frames than memory may hold, are for Merge.
func TestPartsThatWouldTakeTooMuchAreNotMade(t *testing.T) {
	same := &clock.Map{Mid: clock.Curve{{}}}
	var stamps []clock.HostTime
	var ends []int
	for i := range 100 {
		stamps = append(stamps, clock.HostTime(i), clock.HostTime(100-i))
		ends = append(ends, len(stamps))
	}
	if NewParts([]PartSource{{chunksOf(made(0, stamps), ends, partBytes), same}}) != nil {
		t.Error("a capture in disorder is read again for each part")
	}
	if NewParts([]PartSource{{chunksOf(made(0, make([]clock.HostTime, 200)), ends, partBytes), same}}) != nil {
		t.Error("all frames of one instant are held in memory")
	}
	if NewParts(make([]PartSource, maxPartSources+1)) != nil || NewParts(nil) != nil || NewParts([]PartSource{{nil, same}}) != nil {
		t.Error("sources without chunks, none or too many")
	}
}

func TestAnErrorEndsAllParts(t *testing.T) {
	same := &clock.Map{Mid: clock.Curve{{}}}
	var stamps []clock.HostTime
	var ends []int
	for i := range 400 {
		stamps, ends = append(stamps, clock.HostTime(i)), append(ends, i+1)
	}
	lost := errors.New("the file is gone")
	source := chunksOf(made(0, stamps), ends, partBytes)
	source.fails = lost
	if err := NewParts([]PartSource{{source, same}}).Merge(context.Background(), 3, func() PartSink { return &gatheringSink{gathered: new(gathered)} }); !errors.Is(err, lost) {
		t.Error(err)
	}
	source.fails = nil
	parts := NewParts([]PartSource{{source, same}})
	if err := parts.Merge(context.Background(), 3, func() PartSink { return &gatheringSink{gathered: new(gathered), fails: lost} }); !errors.Is(err, lost) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := parts.Merge(ctx, 3, func() PartSink { return &gatheringSink{gathered: new(gathered)} }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
