package order

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sort"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// frames is a reader of frames that a test made. Each frame's bytes are overwritten by the next, as a file's are.
type frames struct {
	list []trace.Frame
	next int
	err  error // after the last, instead of io.EOF
	data []byte
}

func (s *frames) Next(f *trace.Frame) error {
	for i := range s.data {
		s.data[i] = 0xee
	}
	if s.next == len(s.list) {
		if s.err != nil {
			return s.err
		}
		return io.EOF
	}
	*f = s.list[s.next]
	s.data = append(append(s.data[:0], f.Data...), f.Options...)
	n := len(f.Data)
	f.Data = s.data[:n]
	if f.Options != nil {
		f.Options = s.data[n:]
	}
	s.next++
	return nil
}

func (s *frames) Interfaces() []trace.Interface { return nil }

func label(source, number int) string { return fmt.Sprintf("frame %d of source %d", number, source) }

// made makes frames with the given stamps.
func made(source int, stamps []clock.HostTime) *frames {
	s := &frames{}
	for i, t := range stamps {
		f := trace.Frame{Number: i, Time: t, Interface: i % 3, Wire: uint32(1000 + i), Data: []byte(label(source, i))}
		if i%5 == 0 {
			f.Options = []byte("\x01\x00\x04\x00note")
		}
		s.list = append(s.list, f)
	}
	return s
}

type emitted struct {
	time           clock.TimelineTime
	source, number int
}

// collect merges and checks each frame's content.
func collect(t interface{ Fatalf(string, ...any) }, sources []Source) ([]emitted, Stats) {
	var got []emitted
	stats, err := Merge(context.Background(), sources, func(source int, at clock.TimelineTime, f *trace.Frame) error {
		if string(f.Data) != label(source, f.Number) || f.Wire != uint32(1000+f.Number) || f.Interface != f.Number%3 ||
			(f.Options != nil) != (f.Number%5 == 0) || f.Options != nil && string(f.Options) != "\x01\x00\x04\x00note" {
			t.Fatalf("source %d: %+v with %q", source, f, f.Data)
		}
		got = append(got, emitted{at, source, f.Number})
		return nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return got, stats
}

// disordered draws stamps none of which is more than window behind the latest before it.
func disordered(t *rapid.T, n int, window int64) []clock.HostTime {
	var stamps []clock.HostTime
	latest := clock.HostTime(0)
	for range n {
		now := latest - clock.HostTime(rapid.Int64Range(0, window).Draw(t, "late"))
		if rapid.Bool().Draw(t, "forward") {
			now = latest + clock.HostTime(rapid.Int64Range(0, 3*window).Draw(t, "step"))
		}
		latest = max(latest, now)
		stamps = append(stamps, now)
	}
	return stamps
}

func drawMap(t *rapid.T) *clock.Map {
	c := clock.Curve{{X: clock.HostTime(rapid.Int64Range(-1000, 1000).Draw(t, "host")), Y: clock.TimelineTime(rapid.Int64Range(-1000, 1000).Draw(t, "timeline"))}}
	for range rapid.IntRange(0, 5).Draw(t, "knots") {
		last := c[len(c)-1]
		c = append(c, clock.Knot{X: last.X + clock.HostTime(rapid.Int64Range(1, 500).Draw(t, "run")), Y: last.Y + clock.TimelineTime(rapid.Int64Range(0, 900).Draw(t, "rise"))})
	}
	return &clock.Map{Mid: c}
}

func TestTheMergeIsTheSortByTimeThenSourceThenNumber(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		var sources []Source
		var want []emitted
		for i := range rapid.IntRange(0, 6).Draw(t, "sources") {
			window := rapid.Int64Range(1, 50).Draw(t, "window")
			stamps := disordered(t, rapid.IntRange(0, 60).Draw(t, "frames"), window)
			s := Source{Frames: made(i, stamps), Map: drawMap(t), Window: window}
			every := rapid.IntRange(1, 3).Draw(t, "every")
			end := rapid.IntRange(0, 80).Draw(t, "end")
			if rapid.Bool().Draw(t, "some") {
				s.Keep = func(n int) (bool, bool) { return n%every == 0 && n < end, n < end-1 }
			}
			for n, at := range stamps {
				if s.Keep == nil || n%every == 0 && n < end {
					want = append(want, emitted{s.Map.At(at), i, n})
				}
			}
			sources = append(sources, s)
		}
		sort.Slice(want, func(i, j int) bool {
			a, b := want[i], want[j]
			if a.time != b.time {
				return a.time < b.time
			}
			if a.source != b.source {
				return a.source < b.source
			}
			return a.number < b.number
		})
		got, stats := collect(t, sources)
		if len(got) != len(want) {
			t.Fatalf("%d frames, want %d", len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("frame %d: %+v, want %+v", i, got[i], want[i])
			}
		}
		for i := range sources {
			if stats.Late[i] != 0 {
				t.Fatalf("%+v", stats)
			}
		}
	})
}

func TestManyBatchesStayInOrder(t *testing.T) {
	var sources []Source
	total := 0
	identity := clock.Identity()
	for i := range 5 {
		var stamps []clock.HostTime
		for n := range 30_000 + i {
			late := int64(0)
			if n%11 == 0 {
				late = int64(n*7919) % 9_000_000
			}
			stamps = append(stamps, clock.HostTime(int64(n)*1000*int64(i+1)-late))
		}
		total += len(stamps)
		sources = append(sources, Source{Frames: made(i, stamps), Map: &identity})
	}
	got, stats := collect(t, sources)
	if len(got) != total {
		t.Fatalf("%d frames of %d", len(got), total)
	}
	for i := 1; i < len(got); i++ {
		if got[i].time < got[i-1].time {
			t.Fatalf("frame %d: %+v after %+v", i, got[i], got[i-1])
		}
	}
	for i, n := range stats.Late {
		if n != 0 || stats.Frames[i] != int64(30_000+i) {
			t.Errorf("%+v", stats)
		}
	}
}

func TestFramesBeyondTheWindowAreEmittedAndCounted(t *testing.T) {
	identity := clock.Identity()
	stamps := make([]clock.HostTime, 10_000)
	for i := range stamps {
		stamps[i] = clock.HostTime(int64(i) * 1000)
	}
	stamps[9000] = 5
	got, stats := collect(t, []Source{{Frames: made(0, stamps), Map: &identity, Window: 1_000_000}})
	if len(got) != 10_000 || stats.Frames[0] != 10_000 || stats.Late[0] != 1 {
		t.Errorf("%d frames, %+v", len(got), stats)
	}
}

// A clock that stands still would keep all frames waiting; memory ends that.
func TestEqualStampsDoNotFillTheMemory(t *testing.T) {
	identity := clock.Identity()
	const n = 3000
	s := &giants{left: n}
	most := 0
	stats, err := Merge(context.Background(), []Source{{Frames: s, Map: &identity}}, func(_ int, at clock.TimelineTime, f *trace.Frame) error {
		most = max(most, int(s.read.Load())-f.Number)
		return nil
	})
	if err != nil || stats.Frames[0] != n || stats.Late[0] != 0 {
		t.Errorf("%v %+v", err, stats)
	}
	if most > 2*memory/giantSize {
		t.Errorf("%d frames of %d bytes waited", most, giantSize)
	}
}

const giantSize = 100_000

type giants struct {
	left int
	read atomic.Int64
	data [giantSize]byte
}

func (g *giants) Next(f *trace.Frame) error {
	n := int(g.read.Add(1)) - 1
	if n >= g.left {
		return io.EOF
	}
	*f = trace.Frame{Number: n, Time: 1, Data: g.data[:]}
	return nil
}

func (g *giants) Interfaces() []trace.Interface { return nil }

func TestErrorsEndTheMergeAndAllItsGoroutines(t *testing.T) {
	identity := clock.Identity()
	ascending := make([]clock.HostTime, 100_000)
	for i := range ascending {
		ascending[i] = clock.HostTime(i)
	}
	broken, enough := errors.New("disk on fire"), errors.New("enough")
	source := func(i int) Source { return Source{Frames: made(i, ascending), Map: &identity} }

	bad := made(1, ascending[:500])
	bad.err = broken
	_, err := Merge(context.Background(), []Source{source(0), {Frames: bad, Map: &identity}}, func(int, clock.TimelineTime, *trace.Frame) error { return nil })
	if !errors.Is(err, broken) {
		t.Errorf("a source's error: %v", err)
	}
	n := 0
	_, err = Merge(context.Background(), []Source{source(0), source(1)}, func(int, clock.TimelineTime, *trace.Frame) error {
		if n++; n == 1000 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || n != 1000 {
		t.Errorf("emit's error: %v after %d", err, n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err = Merge(ctx, []Source{source(0), source(1)}, func(int, clock.TimelineTime, *trace.Frame) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Merge(context.Background(), []Source{{Frames: bad, Map: &clock.Map{}}}, nil); err == nil {
		t.Error("a map without knots was taken")
	}
}

func sequence(stamps []int64) iter.Seq2[int, clock.HostTime] {
	return func(yield func(int, clock.HostTime) bool) {
		for i, t := range stamps {
			if !yield(i, clock.HostTime(t)) {
				return
			}
		}
	}
}

func TestRunsCoverAllFrames(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		window := rapid.Int64Range(0, 20).Draw(t, "window")
		limit := rapid.IntRange(0, 4).Draw(t, "limit")
		stamps := rapid.SliceOfN(rapid.Int64Range(-50, 50), 0, 200).Draw(t, "stamps")
		runs, disorder := Runs(sequence(stamps), window, rapid.IntRange(0, MaxExcursion).Draw(t, "excursion"), limit)
		if limit > 0 && len(runs) > limit || (len(runs) == 0) != (len(stamps) == 0) {
			t.Fatalf("%d runs of %d frames", len(runs), len(stamps))
		}
		if disorder.Frames > len(stamps) || disorder.Most > 100 || (disorder.Frames == 0) != (disorder.Most == 0) {
			t.Fatalf("%+v of %d frames", disorder, len(stamps))
		}
		at := 0
		for _, r := range runs {
			if r.From != at || r.To <= r.From {
				t.Fatalf("%v", runs)
			}
			at = r.To
		}
		if at != len(stamps) {
			t.Fatalf("%v do not cover %d", runs, len(stamps))
		}
	})
}

// Packets of a clock that is set back now and then, of which some come late and some timestamps are wrong: the runs are those of the clock.
func TestRunsEndWhereTheClockWasSetBackAndNowhereElse(t *testing.T) {
	const ms = 1_000_000
	testseed.Check(t, func(t *rapid.T) {
		origin := rapid.SampledFrom([]int64{0, -1 << 60, 1_790_000_000_000_000_000}).Draw(t, "origin")
		var stamps []int64
		var want []Run
		now := origin
		for range rapid.IntRange(1, 4).Draw(t, "pieces") {
			from := len(stamps)
			n := rapid.IntRange(130, 300).Draw(t, "packets")
			piece := make([]int64, n)
			for i := range piece {
				now += rapid.Int64Range(ms, ms*3/2).Draw(t, "gap")
				piece[i] = now
			}
			// Wrong timestamps, few and not at the ends, where none tells what they leave.
			for range rapid.IntRange(0, 3).Draw(t, "wrong") {
				i := rapid.IntRange(20, n-20).Draw(t, "at")
				piece[i] += rapid.SampledFrom([]int64{-3_600_000 * ms, -700 * ms, 900 * ms, 86_400_000 * ms}).Draw(t, "by")
			}
			// Packets in a row that came late.
			if late := rapid.IntRange(0, 12).Draw(t, "late"); late > 0 {
				i := rapid.IntRange(20, n-90).Draw(t, "late at")
				moved := slices.Clone(piece[i : i+late])
				piece = slices.Insert(slices.Delete(piece, i, i+late), i+60, moved...)
			}
			stamps = append(stamps, piece...)
			want = append(want, Run{from, len(stamps)})
			now -= rapid.SampledFrom([]int64{100 * ms, 5_000 * ms, 3_600_000 * ms}).Draw(t, "set back by")
		}
		if got, _ := Runs(sequence(stamps), 10*ms, MaxExcursion, 0); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestFramesOutOfOrderAreCountedWithHowFarTheyAreOff(t *testing.T) {
	const ms = 1_000_000
	even := func(n int) (stamps []int64) {
		for i := range n {
			stamps = append(stamps, int64(i)*ms)
		}
		return stamps
	}
	moved := func(from, to, n int) []int64 {
		stamps := even(200)
		late := slices.Clone(stamps[from : from+n])
		return slices.Insert(slices.Delete(stamps, from, from+n), to-n, late...)
	}
	changed := func(by int64, numbers ...int) []int64 {
		stamps := even(200)
		for _, i := range numbers {
			stamps[i] += by
		}
		return stamps
	}
	for name, c := range map[string]struct {
		stamps []int64
		want   Disorder
	}{
		"in order":                  {even(200), Disorder{}},
		"within the window":         {moved(50, 59, 1), Disorder{}},
		"one came late":             {moved(50, 150, 1), Disorder{1, 91 * ms}},   // of those ahead, eight may be wrong
		"twenty came late together": {moved(50, 150, 20), Disorder{20, 89 * ms}}, // and of those behind, two

		"one is ahead":        {changed(5000*ms, 50), Disorder{1, 4999 * ms}},
		"one is behind":       {changed(-5000*ms, 50), Disorder{1, 4991 * ms}},
		"eight are ahead":     {changed(5000*ms, 50, 51, 52, 53, 54, 55, 56, 57), Disorder{8, 4999 * ms}},
		"one of few is ahead": {changed(60*ms, 3), Disorder{1, 59 * ms}},
	} {
		runs, got := Runs(sequence(c.stamps), 10*ms, MaxExcursion, 0)
		if len(runs) != 1 || got != c.want {
			t.Errorf("%s: %v, %+v, want %+v", name, runs, got, c.want)
		}
	}
}

// endless repeats one frame, later each time.
type endless struct {
	f    trace.Frame
	left int
}

func (e *endless) Next(f *trace.Frame) error {
	if e.left == 0 {
		return io.EOF
	}
	e.left--
	e.f.Number++
	e.f.Time += 1000
	*f = e.f
	return nil
}

func (e *endless) Interfaces() []trace.Interface { return nil }

func BenchmarkMerge(b *testing.B) {
	const each = 500_000
	m := clock.Map{Mid: clock.Curve{{X: 0, Y: 5}, {X: 1e8, Y: 1e8 + 4000}, {X: 2e8, Y: 2e8 + 4001}}}
	for _, n := range []int{2, 16} {
		b.Run(fmt.Sprintf("%d sources", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var sources []Source
				for range n {
					sources = append(sources, Source{Frames: &endless{trace.Frame{Data: make([]byte, 128), Wire: 1514}, each}, Map: &m})
				}
				if _, err := Merge(context.Background(), sources, func(int, clock.TimelineTime, *trace.Frame) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n*each), "ns/frame")
		})
	}
}

func TestNothingIsAllocatedPerFrame(t *testing.T) {
	identity := clock.Identity()
	stamps := make([]clock.HostTime, 200_000)
	for i := range stamps {
		stamps[i] = clock.HostTime(int64(i) * 1000)
	}
	s := made(0, stamps)
	allocations := testing.AllocsPerRun(1, func() {
		s.next = 0
		if _, err := Merge(context.Background(), []Source{{Frames: s, Map: &identity}}, func(int, clock.TimelineTime, *trace.Frame) error { return nil }); err != nil {
			t.Fatal(err)
		}
	})
	// Batches, rings and goroutines, whose number grows with the window but not with the frames.
	if allocations > 500 {
		t.Errorf("%.0f allocations for %d frames", allocations, len(stamps))
	}
}
