package record

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/retention"
	"meridian/internal/testseed"
	"meridian/trace"
)

// sizeOf returns how many bytes the files in a directory and below have.
func sizeOf(t *testing.T, dir string) (total int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		total += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// wholeFrom checks that all numbers of a program are there, once each, from the first whose event is later than what was
// dropped. Lost is how many events the ring had no room for, which happens where the recorder gets no processor: as many may be
// missing. It returns how many there are.
func wholeFrom(t *testing.T, all []event, pid int, emitted []int, from int64, lost uint64) (n int) {
	t.Helper()
	missing := uint64(0)
	found := map[[2]int]int{}
	numbers(all, pid, found)
	first := append([]int{}, emitted...)
	for _, e := range all {
		if e.class.Name == "test:number" && int64(e.Time) > from {
			g := int(e.values[0].Int())
			first[g] = min(first[g], int(e.values[1].Int()))
		}
	}
	for g := range emitted {
		for i := range emitted[g] {
			times := found[[2]int{g, i}]
			if times == 0 && i >= first[g] {
				missing++
			}
			if times > 1 || missing > lost {
				t.Fatalf("event %d of goroutine %d is there %d times; from %d on the trace is said to be whole but for %d lost events", i, g, times, first[g], lost)
			}
		}
	}
	for _, e := range all {
		if e.row.Kind == trace.Process && e.row.ID == int64(pid) {
			n++
		}
	}
	return n
}

func TestKeptSizeHoldsAndWhatIsDroppedIsCountedAndNotLost(t *testing.T) {
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	const keep = 1 << 20
	p := program(t, "steady", rings, "GOROUTINES=2", "EVENTS=40000", "BUFFERS=64")
	each := p.emitted(t)
	p.in.Close()
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	s := untilEnded(t, Options{Dir: dir, Rings: []string{rings}, Keep: Keep{Bytes: keep}}, 1)
	if s.Dropped == nil || s.Total.Lost > 0 {
		t.Fatalf("%+v", s)
	}
	// Beside what is kept: a chunk, the metadata, and what the retention itself says.
	if size := sizeOf(t, dir); size > keep+keep/chunksOfBytes+256<<10 || size < keep/2 {
		t.Errorf("%d bytes are kept of %d", size, keep)
	}
	all := read(t, dir)
	n := wholeFrom(t, all, p.Process.Pid, each, s.Dropped.WholeFrom, 0)
	if n == 0 || uint64(n)+s.Dropped.Events != s.Total.Events {
		t.Errorf("%d events are there, %d were dropped, %d recorded", n, s.Dropped.Events, s.Total.Events)
	}
	if d, ok, err := retention.Of(dir); err != nil || !ok || d.All.Events != s.Dropped.Events || int64(d.Until) > s.Dropped.WholeFrom {
		t.Errorf("the trace says %+v, %v, the recorder %+v", d, err, s.Dropped)
	}
	if babeltrace(t, dir) == 0 { // fails on what it takes for a loss
		t.Error("babeltrace2 reads nothing")
	}
}

func TestKilledRecordersThatDropLoseAndRepeatNothing(t *testing.T) {
	random := testseed.New(t)
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	p := program(t, "victim", rings, "GOROUTINES=2", "BUFFERS=64")
	for range 10 {
		r := started(t, "recorder", "RING="+rings, "DIR="+dir, fmt.Sprint("KEEP=", MinKeepBytes))
		for events := 0; events == 0; {
			if !r.lines.Scan() {
				t.Fatal("a recorder died by itself")
			}
			fmt.Sscanf(r.lines.Text(), "counted %d", &events)
		}
		go func() { // else it would wait for a reader
			for r.lines.Scan() {
			}
		}()
		<-time.After(time.Duration(random.Int64N(int64(60 * time.Millisecond))))
		r.Process.Kill()
		r.Process.Wait()
	}
	p.in.Close()
	each := p.emitted(t)
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	s := untilEnded(t, Options{Dir: dir, Rings: []string{rings}, Keep: Keep{Bytes: MinKeepBytes}}, 1)
	from := int64(0)
	if s.Dropped != nil {
		from = s.Dropped.WholeFrom
	}
	lost := discardedIn(t, dir)
	n := wholeFrom(t, read(t, dir), p.Process.Pid, each, from, lost)
	t.Logf("%d of %v events left, %d lost, %+v", n, each, lost, s.Dropped)
	babeltraceWithLoss(t, dir)
}

// lossySource brings many events and loses some, as often as it is asked what it lost.
type lossySource struct {
	fakeKernel
	events int
	asked  atomic.Uint64
}

func (k *lossySource) Lost() []uint64 { return []uint64{k.asked.Add(1), 0} }

func (k *lossySource) Read(ctx context.Context, each func(*Event) error) error {
	for i := range k.events {
		values := []trace.Value{trace.OfText("a name of some length, so that there are many chunks"), trace.OfInt(int64(i))}
		if err := each(&Event{Stamp: uint64(clock.Monotonic.Now()), Values: values}); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// TestLossBetweenTwoChunksIsCounted reads a trace of many chunks of which none is dropped: what was lost between two of them must
// not be taken for what was lost before.
func TestLossBetweenTwoChunksIsCounted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	k := &lossySource{events: 200_000}
	tr, err := openTrace(&Options{Dir: dir, Warnings: new(trace.Warnings)}, clock.Take(clock.Monotonic))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	if tr.keeper, err = newKeeper(tr, &Options{Keep: Keep{Bytes: 32 << 20}}); err != nil {
		t.Fatal(err)
	}
	tr.keeper.bytes = 64 << 10
	w, err := newSourceWriter(tr, k, time.Millisecond)
	if err == nil {
		err = tr.writeMetadata()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.flush(true); err != nil {
		t.Fatal(err)
	}
	n := 0
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err = k.Read(ctx, func(e *Event) error {
		if n++; n%97 == 0 {
			if err := w.flush(true); err != nil {
				return err
			}
		}
		return w.take(e)
	})
	if err := errors.Join(err, w.finish(), tr.keeper.close()); err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "kernel_*_0_*"))
	if len(paths) < 20 {
		t.Fatalf("only %d chunks", len(paths))
	}
	events := 0
	_, tally := scan(t, dir, func(*trace.Event, trace.Source) { events++ })
	if lost := k.asked.Load(); uint64(tally.Discarded) != lost || tally.Lost > 0 || events != k.events {
		t.Errorf("%d of %d lost events are told, %d packets are missing, %d events are there", tally.Discarded, lost, tally.Lost, events)
	}
}

// TestFileOfASilentStreamIsDroppedAndItsNextLossIsCounted drops the file that is being written, which got too old.
func TestFileOfASilentStreamIsDroppedAndItsNextLossIsCounted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	tr, err := openTrace(&Options{Dir: dir, Warnings: new(trace.Warnings)}, clock.Take(clock.Monotonic))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	if tr.keeper, err = newKeeper(tr, &Options{Keep: Keep{Time: time.Hour}}); err != nil {
		t.Fatal(err)
	}
	k := &lossySource{}
	w, err := newSourceWriter(tr, k, time.Millisecond)
	if err == nil {
		err = tr.writeMetadata()
	}
	if err != nil {
		t.Fatal(err)
	}
	values := []trace.Value{trace.OfText("a"), trace.OfInt(1)}
	for i, age := range []time.Duration{2 * time.Hour, 90 * time.Minute, time.Minute} {
		now := int64(clock.Monotonic.Now())
		stamp := uint64(max(now-int64(age), int64(i)+1)) // the machine may have been started since
		if err := w.take(&Event{Stamp: stamp, Values: values}); err != nil {
			t.Fatal(err)
		}
		if err := w.flush(true); err != nil {
			t.Fatal(err)
		}
		tr.keeper.check = 0
		tr.keeper.keep.Time = map[int]time.Duration{0: 1, 1: 1, 2: time.Hour}[i]
		if err := tr.keeper.enforce(); err != nil {
			t.Fatal(err)
		}
		if paths, _ := filepath.Glob(filepath.Join(dir, "kernel_*_0_*")); (len(paths) == 0) != (i < 2) {
			t.Fatalf("after event %d there are %q", i, paths)
		}
	}
	if err := errors.Join(w.finish(), tr.keeper.close()); err != nil {
		t.Fatal(err)
	}
	// Told were 1, 2, 3, 4; the first two with files that were dropped.
	if _, tally := scan(t, dir, func(*trace.Event, trace.Source) {}); tally.Discarded != 2 || tally.Lost != 0 {
		t.Errorf("%+v", tally)
	}
}

func TestKeptPacketsAreTheLastInWholeFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	const frames, keep = 20000, 2 << 20
	c := &fakeCapture{frames: frames}
	ctx, cancel := context.WithCancel(context.Background())
	o := Options{Dir: dir, Host: "web", Rings: []string{t.TempDir()}, Packets: c, Keep: Keep{Bytes: keep}, Interval: time.Millisecond}
	o.Counts = func(s Summary) {
		if s.Total.Events >= frames {
			cancel()
		}
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.dropped.Store(7) // before the second file begins
	s, err := r.Run(ctx)
	if err != nil || s.Dropped == nil || s.Total.Events != frames {
		t.Fatalf("%+v, %v", s, err)
	}
	if size := sizeOf(t, dir); size > keep+keep/chunksOfBytes+200<<10 || size < keep/2 {
		t.Errorf("%d bytes are kept of %d", size, keep)
	}
	paths, _ := filepath.Glob(filepath.Join(dir, packetFiles, "web_*.pcapng"))
	there := map[int]bool{}
	for _, path := range paths {
		var w trace.Warnings
		in, err := pcap.Open(path, &w)
		if err != nil {
			t.Fatal(err)
		}
		var f trace.Frame
		for in.Next(&f) == nil {
			there[int(binary.BigEndian.Uint64(f.Data))] = true
		}
		if err := in.Close(); err != nil || len(w.Lines()) > 0 {
			t.Errorf("%s: %q, %v", path, w.Lines(), err)
		}
	}
	for i := frames - len(there); i < frames; i++ {
		if !there[i] {
			t.Fatalf("of the last %d packets number %d is missing", len(there), i)
		}
	}
	if uint64(len(there))+s.Dropped.Events != frames {
		t.Errorf("%d packets are there, %d were dropped", len(there), s.Dropped.Events)
	}
	if _, err := os.Stat(filepath.Join(dir, packetFiles, "web_0.pcapng")); err == nil {
		t.Error("the first file is still there")
	}
}
