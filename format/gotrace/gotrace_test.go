package gotrace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	rtrace "runtime/trace"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	xtrace "golang.org/x/exp/trace"

	"meridian/clock"
	"meridian/internal/fuzztest"
	"meridian/internal/testseed"
	"meridian/trace"
)

// recorded is a trace of what goes on in work.
func recorded(t testing.TB, work func()) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := rtrace.Start(&b); err != nil {
		t.Skip("a trace is being recorded already:", err)
	}
	work()
	rtrace.Stop()
	return b.Bytes()
}

// recordedSteadily is recorded between two instants of the wall clock, which nobody set meanwhile.
func recordedSteadily(t testing.TB, work func()) (before clock.HostTime, data []byte, after clock.HostTime) {
	t.Helper()
	for {
		begin := time.Now()
		data = recorded(t, work)
		end := time.Now()
		set := end.Round(0).Sub(begin.Round(0)) - end.Sub(begin) // what the wall clock went beyond the monotonic one
		if set.Abs() < time.Millisecond {
			return clock.HostTime(begin.UnixNano()), data, clock.HostTime(end.UnixNano())
		}
	}
}

//go:noinline
func worker(ch chan int, done *sync.WaitGroup) {
	defer done.Done()
	for range ch {
	}
}

// busy does a bit of everything, and logs what the wall clock shows.
func busy() {
	ctx, task := rtrace.NewTask(context.Background(), "job")
	ch := make(chan int)
	var done sync.WaitGroup
	done.Add(1)
	go worker(ch, &done)
	rtrace.WithRegion(ctx, "outer", func() {
		rtrace.WithRegion(ctx, "inner", func() {
			rtrace.Log(ctx, "clock", strconv.FormatInt(time.Now().UnixNano(), 10))
			runtime.GC()
		})
		for range 3 {
			ch <- 1
		}
	})
	close(ch)
	done.Wait()
	task.End()
}

func file(t testing.TB, data []byte) string {
	path := filepath.Join(t.TempDir(), "trace.out")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

type shown struct {
	trace.Event
	class, category, row string
	kind                 trace.StreamKind
	fields               map[string]string
}

func all(t testing.TB, s trace.Source) (list []shown) {
	defer s.Close()
	for {
		var e trace.Event
		err := s.Next(&e)
		if err == io.EOF {
			for i := range list { // names are completed later
				list[i].row = s.Streams()[list[i].Stream].Name
			}
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		c := s.Classes()[e.Class]
		x := shown{Event: e, class: c.Name, category: c.Category, kind: s.Streams()[e.Stream].Kind, fields: map[string]string{}}
		for i, v := range s.Values() {
			x.fields[c.Fields[i].Name] = string(v.Append(nil, &c.Fields[i].Type))
		}
		list = append(list, x)
	}
}

func read(t testing.TB, path string) ([]shown, []string) {
	t.Helper()
	var w trace.Warnings
	f, err := Read(path, &w)
	if err != nil {
		t.Fatal(err)
	}
	if m := f.Marks(); len(m.Marks) != 0 || m.File != path || len(m.Hosts) != 1 {
		t.Errorf("%+v", m)
	}
	events := all(t, f.Events())
	return events, w.Lines()
}

// find returns the number of events of a class and a phase, and the last of them.
func find(events []shown, phase trace.Phase, category, class string) (n int, last shown) {
	for _, e := range events {
		if e.Phase == phase && e.category == category && e.class == class {
			n, last = n+1, e
		}
	}
	return n, last
}

func TestARealProgramIsRowsSlicesAndCounters(t *testing.T) {
	before, data, after := recordedSteadily(t, busy)
	if !Recognises(data) {
		t.Fatalf("%q is not recognised", data[:16])
	}
	events, warnings := read(t, file(t, data))
	if len(warnings) > 0 {
		t.Errorf("%q", warnings)
	}
	// The runtime reads the wall clock and its own one after the other, between which its processor may be taken away.
	const reading = 100e6
	for _, e := range events {
		if e.Time < before-reading || e.Time > after+reading {
			t.Fatalf("%+v is not within %d and %d", e, before, after)
		}
	}
	_, log := find(events, trace.Instant, "log", "clock")
	wall, err := strconv.ParseInt(log.fields["message"], 10, 64)
	_, inner := find(events, trace.Begin, "region", "inner")
	if err != nil || log.Time < clock.HostTime(wall-reading) || inner.Time > clock.HostTime(wall+reading) {
		t.Errorf("what was logged behind %s by the wall clock has %d, and the region around it %d", log.fields["message"], log.Time, inner.Time)
	}
	_, outer := find(events, trace.Begin, "region", "outer")
	_, outerEnd := find(events, trace.End, "region", "outer")
	_, task := find(events, trace.Begin, "task", "job")
	if outer.Slice == 0 || outer.Slice == inner.Slice || outer.Slice != outerEnd.Slice || outer.Stream != inner.Stream || outer.fields["task"] != task.fields["task"] {
		t.Errorf("regions %+v, %+v, %+v of task %+v", outer, inner, outerEnd, task)
	}
	if n, e := find(events, trace.Begin, "waiting", "chan receive"); n == 0 || e.fields["place"] == "" {
		t.Errorf("nobody waited: %+v", e)
	}
	if n, _ := find(events, trace.Begin, "runtime", "GC concurrent mark phase"); n == 0 {
		t.Error("no garbage collection")
	}
	if n, e := find(events, trace.Counter, "metric", "/memory/classes/heap/objects:bytes"); n == 0 || e.fields["value"] == "0" || e.fields["value"] == "" {
		t.Errorf("%+v", e)
	}
	named := false
	for _, e := range events {
		named = named || strings.HasSuffix(e.row, ".worker") && e.kind == trace.Thread
	}
	if !named {
		t.Error("no goroutine has its function's name")
	}
}

// The truth is the library's own sequence of transitions.
func TestStatesAreThoseOfTheTransitions(t *testing.T) {
	data := recorded(t, busy)
	r, err := xtrace.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]int)
	for {
		e, err := r.ReadEvent()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind() == xtrace.EventStateTransition && e.StateTransition().Resource.Kind == xtrace.ResourceGoroutine {
			st := e.StateTransition()
			if _, to := st.Goroutine(); to != xtrace.GoNotExist {
				want[fmt.Sprint(st.Resource.Goroutine(), " ", map[xtrace.GoState]string{xtrace.GoRunning: "running", xtrace.GoRunnable: "runnable",
					xtrace.GoWaiting: "waiting", xtrace.GoSyscall: "syscall"}[to])]++
			}
		}
	}
	var w trace.Warnings
	f, err := Read(file(t, data), &w)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	src := f.Events()
	open := make(map[int]int) // rows of states and of processors: one slice at a time
	for _, e := range all(t, src) {
		if e.Slice != 0 || e.Phase != trace.Begin && e.Phase != trace.End {
			continue
		}
		if e.Phase == trace.End {
			if open[e.Stream] != e.Class+1 {
				t.Fatalf("%+v ends, %d is open", e, open[e.Stream])
			}
			open[e.Stream] = 0
			continue
		}
		if open[e.Stream] != 0 {
			t.Fatalf("%+v begins within another", e)
		}
		open[e.Stream] = e.Class + 1
		switch e.category {
		case "state":
			got[fmt.Sprint(src.Streams()[e.Stream].ID, " ", e.class)]++
		case "waiting":
			got[fmt.Sprint(src.Streams()[e.Stream].ID, " waiting")]++
		}
	}
	for k, n := range want {
		if got[k] != n {
			t.Errorf("goroutine %s: %d, want %d", k, got[k], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d, want %d", len(got), len(want))
	}
}

func TestATraceCutShortGivesWhatCameBefore(t *testing.T) {
	// The runtime closes a generation once a second, or later where it has no processor; without it nothing can be used.
	for pause := 1500 * time.Millisecond; ; pause *= 2 {
		data := recorded(t, func() {
			busy()
			time.Sleep(pause)
			busy()
		})
		if cutShort(t, data) {
			return
		}
		if pause > 20*time.Second {
			t.Fatal("no cut left anything to be used")
		}
	}
}

// cutShort cuts a trace at ten places, and reports whether any of them left something.
func cutShort(t *testing.T, data []byte) (used bool) {
	whole, _ := read(t, file(t, data))
	for i := 1; i <= 10; i++ {
		path := file(t, data[:len(data)-i*len(data)/12])
		var w trace.Warnings
		f, err := Read(path, &w)
		if err != nil { // nothing of the first generation is whole
			if !strings.HasPrefix(err.Error(), path+": ") {
				t.Error(err)
			}
			continue
		}
		events := all(t, f.Events())
		if len(events) == 0 || len(events) >= len(whole) || len(w.Lines()) != 1 || !strings.Contains(w.Lines()[0], "cut short or damaged") {
			t.Errorf("cut %d: %d of %d events, %q", i, len(events), len(whole), w.Lines())
		}
		used = true
	}
	return used
}

func TestOldTracesKeepTheMonotonicClockAndSaySo(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil && os.Getenv("MERIDIAN_CI") == "1" {
		t.Fatal("no go command, and MERIDIAN_CI=1 says there must be one")
	}
	var found []string
	for _, pattern := range []string{"src/internal/trace/internal/tracev1/testdata/*_1_2*_good", "src/internal/trace/tracev1/testdata/*_1_2*_good", "src/internal/trace/internal/oldtrace/testdata/*_1_2*_good"} {
		list, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), pattern))
		found = append(found, list...)
	}
	if len(found) == 0 {
		t.Skip("no old traces in this installation of Go")
	}
	for _, path := range found[:1] {
		events, warnings := read(t, path)
		if len(events) == 0 || len(warnings) == 0 || !strings.Contains(warnings[0], "times are of the monotonic clock") {
			t.Errorf("%s: %d events, %q", path, len(events), warnings)
		}
	}
}

func TestOtherFilesAreNotRecognised(t *testing.T) {
	if !Recognises([]byte("go 1.22 trace\x00\x00\x00rest")) || !Recognises([]byte("go 1.9 trace\x00\x00\x00\x00")) {
		t.Error("a trace is not recognised")
	}
	for _, text := range []string{"", "go 1.22", "go 1.22 trace", "go 1.22 traces\x00\x00more", "go 1.x trace\x00\x00\x00", "go to the db 1 2\n", "go 1.  trace\x00\x00\x00\x00"} {
		if Recognises([]byte(text)) {
			t.Errorf("%q", text)
		}
	}
	for _, text := range []string{"", "web db 1 2", "go 1.25 trace\x00\x00\x00", "go 1.99 trace\x00\x00\x00"} {
		var w trace.Warnings
		path := file(t, []byte(text))
		if _, err := Read(path, &w); err == nil || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	data := recorded(f, busy)
	f.Add(data)
	f.Add([]byte("go 1.25 trace\x00\x00\x00"))
	for _, data := range fuzztest.Real(f, "*.trace") {
		f.Add(data)
	}
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		Recognises(data)
		var w trace.Warnings
		r, err := newReader(bytes.NewReader(data))
		if err != nil {
			return
		}
		s := newSource("f", &w, 0)
		s.read = func() (xtrace.Event, error) { return next(r) }
		var e trace.Event
		for s.Next(&e) == nil {
			s.Values()
		}
		s.Close()
	})
}
