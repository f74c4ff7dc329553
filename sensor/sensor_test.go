package sensor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"meridian/sensor/internal/testrand"
	"meridian/sensor/internal/testtrace"
)

// inGoroutines calls emit for every writer, each in a goroutine of its own, with the numbers below each in turn.
func inGoroutines(writers, each int64, emit func(w, n int64)) {
	var all sync.WaitGroup
	for w := range writers {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := range each {
				emit(w, n)
			}
		}()
	}
	all.Wait()
}

func TestEventsOfManyGoroutinesAreAllThere(t *testing.T) {
	const writers, each = 8, 500
	dir := record(t, Options{}, func() {
		inGoroutines(writers, each, func(w, n int64) { testNumbered.Emit(w, n) })
	})
	seen := map[[2]int64]int{}
	for _, e := range testtrace.Read(t, dir).Named("test:numbered") {
		seen[[2]int64{e.Int(0), e.Int(1)}]++
	}
	for w := range int64(writers) {
		for n := range int64(each) {
			if seen[[2]int64{w, n}] != 1 {
				t.Fatalf("event %d of writer %d is there %d times", n, w, seen[[2]int64{w, n}])
			}
		}
	}
	babeltrace(t, dir)
}

func TestEveryEventIsRecordedOrCountedAsDiscarded(t *testing.T) {
	const emitted = 5000
	if err := Start(Options{Dir: t.TempDir(), Buffers: 2, BufferSize: 4096}); err != nil {
		t.Fatal(err)
	}
	ringFile := Ring()
	for i := range int64(emitted) {
		testNumbered.Emit(0, i)
	}
	if err := Stop(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "trace")
	if err := Recover(ringFile, dir, Options{}); err != nil {
		t.Fatal(err)
	}
	all := testtrace.ReadLossy(t, dir).Events
	kept := len(all.Named("test:numbered"))
	other := len(all) - kept // of the sensors' own, which may be among the discarded
	discarded := testtrace.ReadLossy(t, dir).Discarded
	if kept == 0 || kept == emitted || kept+discarded < emitted || kept+other+discarded > emitted+16 {
		t.Errorf("%d events of %d are there, %d others, %d discarded", kept, emitted, other, discarded)
	}
}

func TestAnEventAllocatesNothing(t *testing.T) {
	if err := Start(Options{Dir: t.TempDir(), Overwrite: true, Interval: time.Hour}); err != nil {
		t.Fatal(err)
	}
	defer Stop()
	raw := []byte("raw")
	for name, emit := range map[string]func(){
		"other": func() { testOther.Emit(1, 2, true, "text", raw, time.Second, "label", false) },
		"slice": func() { testSlice3.Begin(1, "text", true).End() },
		"mark":  func() { Send(NewTag().ID()) },
		"gauge": func() { testGauge.Set(1) },
	} {
		if n := testing.AllocsPerRun(100, emit); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestNothingIsRecordedThatIsSwitchedOff(t *testing.T) {
	defer func(before []rule) { rules = before }(slices.Clone(rules))
	quiet := NewEvent1[int64]("switched", "quiet", "n")
	loud := NewEvent1[int64]("switched", "loud", "n")
	dir := record(t, Options{Events: "switched:*, !switched:quiet"}, func() {
		if quiet.Enabled() || !loud.Enabled() || testNothing.Enabled() {
			t.Error("switches are not as the options say")
		}
		quiet.Emit(1)
		loud.Emit(1)
		testNothing.Emit()
		Enable("*:qui?t")
		Disable("switched:loud")
		quiet.Emit(2)
		loud.Emit(2)
		late := NewEvent1[int64]("switched", "late", "n")
		late.Emit(2)
		Disable("switched")
		late.Emit(3)
		quiet.Emit(3)
	})
	quiet.Emit(4)
	var got []string
	for _, e := range testtrace.Read(t, dir) {
		if e.Category != "meridian" {
			got = append(got, e.Category+":"+e.Name+string('0'+rune(e.Int(0))))
		}
	}
	slices.Sort(got)
	if want := []string{"switched:late2", "switched:loud1", "switched:quiet2"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestPatternsMatchAsGlobsDo(t *testing.T) {
	testrand.Check(t, func(t *testing.T, r *rand.Rand) {
		pattern, s := testrand.Text(r, "ab*?", 0, 6), testrand.Text(r, "ab", 0, 6)
		want, err := filepath.Match(pattern, s)
		if got := matches(pattern, s); err != nil || got != want {
			t.Fatalf("%q and %q: %v, want %v (%v)", pattern, s, got, want, err)
		}
	})
}

func TestATagIsReadBackFromItsTextAndItsBytes(t *testing.T) {
	testrand.Check(t, func(t *testing.T, r *rand.Rand) {
		tag := Tag{r.Uint64() >> r.IntN(65), r.Uint64() >> r.IntN(65)} // with few bits too, and 0
		text, _ := tag.MarshalText()
		var a, b Tag
		if err := a.UnmarshalText(text); err != nil || a != tag {
			t.Fatalf("%v from %s: %v", a, text, err)
		}
		raw, _ := tag.MarshalBinary()
		if err := b.UnmarshalBinary(raw); err != nil || b != tag || len(raw) != 16 {
			t.Fatalf("%v from %x: %v", b, raw, err)
		}
	})
	if a, b := NewTag(), NewTag(); a == b || a.ID() == b.ID() || a.Process != b.Process {
		t.Errorf("%v and %v", a, b)
	}
}

func FuzzParseTag(f *testing.F) {
	f.Add("6f1d0c4a9b3e5827-2a")
	f.Add("-")
	f.Add("0123456789abcdef")
	f.Fuzz(func(t *testing.T, s string) {
		var binary Tag
		if err := binary.UnmarshalBinary([]byte(s)); (err == nil) != (len(s) == 16) {
			t.Errorf("%q: %v", s, err)
		} else if b, _ := binary.MarshalBinary(); err == nil && string(b) != s {
			t.Errorf("%q becomes %q", s, b)
		}
		tag, err := ParseTag(s)
		if err != nil {
			return
		}
		if again, err := ParseTag(tag.String()); err != nil || again != tag {
			t.Errorf("%q is %v, whose text is %v: %v", s, tag, again, err)
		}
	})
}

func TestBucketsHoldWhatTheirBoundsSay(t *testing.T) {
	testrand.Check(t, func(t *testing.T, r *rand.Rand) {
		v := r.Int64() >> r.IntN(64)
		k := bucketOf(v)
		if k < 0 || k >= bucketCount || lowest(k) > v || k+1 < bucketCount && lowest(k+1) <= v {
			t.Fatalf("%d is in bucket %d from %d", v, k, lowest(k))
		}
		if low := lowest(k); v-low > low/8 {
			t.Fatalf("%d is %d above its bucket's bound", v, v-low)
		}
	})
	if k := bucketOf(math.MaxInt64); k != bucketCount-1 {
		t.Errorf("the last bucket is %d of %d", k, bucketCount)
	}
}

func TestAHistogramTellsWhatWasAddedToIt(t *testing.T) {
	h := NewHistogram("test", "histogram")
	dir := record(t, Options{}, func() {
		for v := range int64(1000) {
			h.Add(v)
		}
		h.Add(-1)
	})
	e := testtrace.Read(t, dir).Named("test:histogram")
	if len(e) != 1 || e[0].Phase != testtrace.Counter {
		t.Fatalf("%+v", e)
	}
	for i, want := range []int64{1001, 499500, 0, 999} {
		if e[0].Int(i) != want {
			t.Errorf("field %d is %d, not %d", i, e[0].Int(i), want)
		}
	}
	for i, want := range map[int]int64{4: 499, 5: 899, 6: 989} {
		if got := e[0].Int(i); got > want || want-got > want/8 {
			t.Errorf("field %d is %d, and truly %d", i, got, want)
		}
	}
	total := int64(0)
	for _, b := range e[0].Values[7].([][2]int64) {
		total += b[1]
	}
	if total != 1001 {
		t.Errorf("the buckets hold %d: %v", total, e[0].Values)
	}
	babeltrace(t, dir)
}

func TestASumThatIsTooLargeStaysAtTheLargestAndIsTold(t *testing.T) {
	h := NewHistogram("test", "large")
	before := saturated.Value()
	dir := record(t, Options{Interval: time.Hour}, func() {
		h.Add(math.MaxInt64 - 1)
		h.Add(1)
		histograms.flush() // as large as it can be, and true
		h.Add(math.MaxInt64 - 1)
		histograms.flush()
		var all sync.WaitGroup
		for range 8 {
			all.Add(1)
			go func() {
				defer all.Done()
				for range 1000 { // wraps more than once, to every value that 64 bits have
					h.Add(math.MaxInt64 / 3)
				}
			}()
		}
		all.Wait()
	})
	all := testtrace.Read(t, dir)
	var got [][2]int64
	for _, e := range all.Named("test:large") {
		got = append(got, [2]int64{e.Int(0), e.Int(1)})
	}
	if want := [][2]int64{{2, math.MaxInt64}, {1, math.MaxInt64 - 1}, {8000, math.MaxInt64}}; !slices.Equal(got, want) {
		t.Errorf("counts and sums are %d, not %d", got, want)
	}
	told := all.Named("meridian:saturated")
	if len(told) != 2 || told[1].Int(0) != before+2 {
		t.Errorf("meridian:saturated is there %d times, not 2: %v", len(told), told)
	}
	babeltrace(t, dir)
}

func TestADirectoryWithATraceIsNotWrittenInto(t *testing.T) {
	dir := record(t, Options{}, func() {})
	rings := t.TempDir()
	if _, err := Record(dir, Options{Dir: rings}); err == nil || !strings.Contains(err.Error(), "a trace already") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(rings); err != nil || len(left) > 0 || Ring() != "" {
		t.Errorf("a ring is left: %v %v", left, err)
	}
}

func TestASnapshotHoldsTheLastThatHappened(t *testing.T) {
	const emitted = 5000
	if err := Start(Options{Dir: t.TempDir(), Buffers: 2, BufferSize: 4096, Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	defer Stop()
	for i := range int64(emitted) {
		testNumbered.Emit(0, i)
	}
	dir := filepath.Join(t.TempDir(), "trace")
	if err := Snapshot(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	last := map[int64]bool{}
	for _, e := range testtrace.ReadLossy(t, dir).Events.Named("test:numbered") {
		last[e.Int(1)] = true
	}
	if len(last) < 100 || len(last) >= emitted || !last[emitted-1] {
		t.Errorf("%d events, the last among them: %v", len(last), last[emitted-1])
	}
}

func TestWithoutAGoodCounterEventsAreStampedByTheMonotonicClock(t *testing.T) {
	withoutCounter = true
	defer func() { withoutCounter = false }()
	before := time.Now().UnixNano()
	dir := record(t, Options{}, func() { testNothing.Emit() })
	e := testtrace.Read(t, dir).Named("test:nothing")
	if len(e) != 1 || e[0].Time < before-int64(time.Millisecond) || e[0].Time > time.Now().UnixNano()+int64(time.Millisecond) {
		t.Errorf("%+v, begun at %d", e, before)
	}
	text, err := os.ReadFile(filepath.Join(dir, "metadata"))
	if err != nil || !strings.Contains(string(text), "freq = 1000000000;") {
		t.Errorf("%v\n%s", err, text)
	}
	babeltrace(t, dir)
}

func TestTheFrequencyIsKnownBetterAtTheEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	stop, err := Record(dir, Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	known := func() (ppm float64) {
		text, err := os.ReadFile(filepath.Join(dir, "metadata"))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "known to ")
		if _, err := fmt.Sscanf(rest, "%g ppm", &ppm); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return ppm
	}
	before := known()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if after := known(); after > before {
		t.Errorf("known to %g ppm, and to %g at the beginning", after, before)
	}
}

func TestADeclarationMadeTwiceIsOne(t *testing.T) {
	if a, b := NewEvent1[int64]("test", "twice", "n"), NewEvent1[int64]("test", "twice", "n"); a != b {
		t.Error("two events of one declaration")
	}
	if a, b := NewEvent1[int64]("test", "twice", "n"), NewEvent1[int64]("test", "twice", "m"); a == b {
		t.Error("one event of two declarations")
	}
}

// TestWhatAStartSwitchedOffIsOnAtTheNext holds Options.Events to one recording.
func TestWhatAStartSwitchedOffIsOnAtTheNext(t *testing.T) {
	t.Setenv("MERIDIAN_EVENTS", "")
	e := NewEvent0("restart", "event")
	for _, events := range []string{"", "!restart:*", "", "other:*", ""} {
		if err := Start(Options{Dir: t.TempDir(), Events: events}); err != nil {
			t.Fatal(err)
		}
		if on := e.Enabled(); on != (events == "") {
			t.Errorf("with %q it is on: %t", events, on)
		}
		ring := Ring()
		if err := Stop(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(ring); err != nil {
			t.Fatal(err)
		}
	}
}
