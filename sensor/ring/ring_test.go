package ring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// made returns a ring in a directory of the test's own, small unless said otherwise.
func made(t testing.TB, o Options) *Ring {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Shards == 0 {
		o.Shards = 2
	}
	if o.BufferSize == 0 {
		o.BufferSize = minBuffer
	}
	if o.Buffers == 0 {
		o.Buffers = 4
	}
	r, err := Create(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Unmap(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func opened(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func registered(t testing.TB, r *Ring, name string) Handle {
	t.Helper()
	h, err := r.Register(Class{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// emit writes an event of that size whose fields all follow from the stamp.
func emit(s *Shard, id uint16, size int, stamp uint64) bool {
	p := s.Reserve(size)
	if p == nil {
		return false
	}
	PutHead(p, id, size, stamp)
	for i := HeadSize; i < size; i++ {
		*(*byte)(unsafe.Add(p, i)) = byte(stamp) + byte(i)
	}
	s.Commit(size, stamp)
	return true
}

// stamps returns those of the packet's events and fails where an event is not whole.
func stamps(t interface{ Fatalf(string, ...any) }, p *Packet) (all []uint64) {
	b := p.Events
	for len(b) > 0 {
		stamp, size := binary.LittleEndian.Uint64(b), int(binary.LittleEndian.Uint16(b[10:]))
		for i := HeadSize; i < size; i++ {
			if b[i] != byte(stamp)+byte(i) {
				t.Fatalf("shard %d: event %d of %d bytes: byte %d is %#x", p.Shard, stamp, size, i, b[i])
			}
		}
		all = append(all, stamp)
		b = b[size:]
	}
	if len(all) != p.Count || len(all) == 0 || p.First != all[0] || p.Last != all[len(all)-1] {
		t.Fatalf("shard %d: %d events from %d to %d, and the packet has %v", p.Shard, p.Count, p.First, p.Last, all)
	}
	return all
}

// drained takes all there is, by shard.
func drained(t testing.TB, r *Reader) map[int][]uint64 {
	t.Helper()
	all := map[int][]uint64{}
	for p := range packets(t, r) {
		all[p.Shard] = append(all[p.Shard], stamps(t, p)...)
	}
	return all
}

// packets yields the packets until none is there.
func packets(t testing.TB, r *Reader) iter.Seq[*Packet] {
	return func(yield func(*Packet) bool) {
		for {
			var p Packet
			if ok, err := r.Next(&p); err != nil {
				t.Fatal(err)
			} else if !ok || !yield(&p) {
				return
			}
		}
	}
}

func TestWhatIsCommittedIsRead(t *testing.T) {
	w := made(t, Options{Program: "π, a program", Clock: Clock{Kind: 1, Frequency: 3e9, Origin: -5, FrequencyError: 77}})
	class := registered(t, w, "step")
	r := opened(t, w.Path())
	info := r.Info()
	if info.Program != "π, a program" || info.Clock != (Clock{1, 3e9, -5, 77}) || info.PID != os.Getpid() || info.Shards != 2 || info.Overwrite {
		t.Errorf("info is %+v", info)
	}
	if !r.Alive() || r.Closed() {
		t.Error("the writer lives and has not closed the ring")
	}
	for n := range uint64(3) {
		emit(w.Shard(0), class.ID, 40, n)
		emit(w.Shard(1), class.ID, 12, 100+n)
	}
	if p := w.Shard(0).Reserve(50); p == nil {
		t.Fatal("no room")
	}
	if got := fmt.Sprint(drained(t, r)); got != "map[0:[0 1 2] 1:[100 101 102]]" {
		t.Errorf("read %s", got)
	}
	w.Close()
	if !r.Closed() {
		t.Error("the ring is closed")
	}
}

func TestWhatIsNotCommittedIsReadAgain(t *testing.T) {
	w := made(t, Options{})
	class := registered(t, w, "step")
	s := w.Shard(1)
	emit(s, class.ID, 20, 1)
	r := opened(t, w.Path())
	drained(t, r)
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	emit(s, class.ID, 20, 2)
	drained(t, r)
	r.Close()
	if got := fmt.Sprint(drained(t, opened(t, w.Path()))); got != "map[1:[2]]" {
		t.Errorf("the second reader read %s", got)
	}
}

func TestOneReaderAtATime(t *testing.T) {
	w := made(t, Options{})
	r := opened(t, w.Path())
	if _, err := Open(w.Path()); !errors.Is(err, ErrBusy) {
		t.Errorf("a second reader: %v", err)
	}
	r.Close()
	opened(t, w.Path())
}

func TestFullRingCountsWhatItDrops(t *testing.T) {
	w := made(t, Options{})
	class := registered(t, w, "step")
	s := w.Shard(0)
	var kept uint64
	for emit(s, class.ID, 100, kept) {
		kept++
	}
	if want := uint64(4 * (minBuffer / 100)); kept != want {
		t.Errorf("kept %d events, room is for %d", kept, want)
	}
	emit(s, class.ID, 100, 0)
	r := opened(t, w.Path())
	var p Packet
	if ok, err := r.Next(&p); !ok || err != nil || p.Discarded != 2 || r.Discarded(0) != 2 {
		t.Errorf("two events were dropped, the packet says %d, %v", p.Discarded, err)
	}
	if emit(s, class.ID, 100, 0) {
		t.Error("room was used before it was committed")
	}
	r.Commit()
	if !emit(s, class.ID, 100, 0) {
		t.Error("room that was committed is not used")
	}
}

func TestEventsOfImpossibleSizesAreDroppedAndCounted(t *testing.T) {
	w := made(t, Options{})
	s := w.Shard(0)
	for _, size := range []int{minBuffer + 1, 1 << 16, -1, math.MinInt} {
		if s.Reserve(size) != nil {
			t.Errorf("an event of %d bytes found room", size)
		}
	}
	if n := opened(t, w.Path()).Discarded(0); n != 4 {
		t.Errorf("%d were counted", n)
	}
	class := registered(t, w, "all of a sub-buffer")
	if !emit(s, class.ID, minBuffer, 0) {
		t.Error("an event as large as a sub-buffer found no room")
	}
}

func TestSnapshotHasTheNewestAndTakesNothing(t *testing.T) {
	w := made(t, Options{Overwrite: true})
	class := registered(t, w, "step")
	const perBuffer = minBuffer / 64
	for n := range uint64(10*perBuffer + 3) {
		if !emit(w.Shard(0), class.ID, 64, n) {
			t.Fatal("dropped")
		}
	}
	r := opened(t, w.Path())
	for range 2 {
		var got []uint64
		if err := r.Snapshot(func(p *Packet) error { got = append(got, stamps(t, p)...); return nil }); err != nil {
			t.Fatal(err)
		}
		if len(got) != 3*perBuffer+3 || got[0] != 7*perBuffer || got[len(got)-1] != 10*perBuffer+2 {
			t.Errorf("%d events from %d", len(got), got[0])
		}
	}
	var p Packet
	if ok, err := r.Next(&p); !ok || err != nil || p.Overwritten != 7*minBuffer || p.First != 7*perBuffer {
		t.Errorf("%v %v: %d bytes overwritten, first event %d", ok, err, p.Overwritten, p.First)
	}
}

func TestSwitchesAreThoseOfTheProgram(t *testing.T) {
	w := made(t, Options{})
	a, err := w.Register(Class{Name: "a", Category: "net", Fields: " integer { size = 8; } x; "})
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.Register(Class{Name: "b", Off: true})
	if err != nil {
		t.Fatal(err)
	}
	if *a.Switch != 1 || *b.Switch != 0 {
		t.Errorf("switches begin as %d and %d", *a.Switch, *b.Switch)
	}
	r := opened(t, w.Path())
	if n := r.Switch(func(_, category string) bool { return category == "net" }, false); n != 1 || *a.Switch != 0 {
		t.Errorf("%d switched, a is %d", n, *a.Switch)
	}
	if n := r.Switch(func(name, _ string) bool { return name == "b" }, true); n != 1 || *b.Switch != 1 {
		t.Errorf("%d switched, b is %d", n, *b.Switch)
	}
	if got, want := fmt.Sprint(r.Classes()), "[{0 a net false} {1 b  true}]"; got != want {
		t.Errorf("classes are %s", got)
	}
	want := "event {\n\tname = \"net:a\";\n\tid = 0;\n\tstream_id = 0;\n\tfields := struct { integer { size = 8; } x; };\n};\n" +
		"event {\n\tname = \"b\";\n\tid = 1;\n\tstream_id = 0;\n\tfields := struct {};\n};\n"
	if got := r.Metadata(); got != want {
		t.Errorf("metadata is %q", got)
	}
}

func TestRegisterKnowsEqualClassesAndItsLimits(t *testing.T) {
	w := made(t, Options{Classes: 2, Metadata: 200})
	a := registered(t, w, "a")
	if again := registered(t, w, "a"); again != a {
		t.Errorf("%v and %v are one class", a, again)
	}
	for _, test := range []struct {
		class Class
		says  string
	}{
		{Class{Name: ""}, "no name"},
		{Class{Name: strings.Repeat("x", 161)}, "161 bytes"},
		{Class{Name: "x", Category: strings.Repeat("x", 65)}, "65 bytes"},
		{Class{Name: "a\"b"}, "quotes"},
		{Class{Name: "a\nb"}, "control"},
		{Class{Name: "a\xff"}, "UTF-8"},
		{Class{Name: "a", Fields: "\x00"}, "NUL"},
		{Class{Name: "b", Fields: strings.Repeat(" ", 130)}, "left for metadata"},
	} {
		if _, err := w.Register(test.class); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%.20q: %v", test.class.Name, err)
		}
	}
	registered(t, w, "b")
	if _, err := w.Register(Class{Name: "c"}); err == nil || !strings.Contains(err.Error(), "Options.Classes") {
		t.Errorf("a third class: %v", err)
	}
}

func TestShardsAreClaimedByOneAtATime(t *testing.T) {
	w := made(t, Options{})
	a, err := w.Claim()
	b, err2 := w.Claim()
	if err != nil || err2 != nil || a == b {
		t.Fatal("two shards are there", err, err2)
	}
	if _, err := w.Claim(); err == nil {
		t.Error("a third of two shards was claimed")
	}
	w.Release(a)
	if c, err := w.Claim(); c != a {
		t.Error("the shard that was released is free:", err)
	}
}

func TestFindSeesRingsAlone(t *testing.T) {
	dir := t.TempDir()
	w := made(t, Options{Dir: dir})
	os.WriteFile(filepath.Join(dir, "meridian-1.ring"), nil, 0o600)
	os.Symlink(w.Path(), filepath.Join(dir, "meridian-1-00000000-0000-0000-0000-000000000000.ring"))
	if got, err := Find(dir); err != nil || fmt.Sprint(got) != fmt.Sprint([]string{w.Path()}) {
		t.Errorf("%v, %v", got, err)
	}
	info, err := os.Stat(w.Path())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := Open(filepath.Join(dir, "meridian-1-00000000-0000-0000-0000-000000000000.ring")); err == nil {
		t.Error("a link was followed")
	}
}

func TestCreateRefusesWhatVersion1DoesNotAllow(t *testing.T) {
	for _, o := range []Options{{Shards: -1}, {Shards: maxShards + 1}, {Buffers: 3}, {Buffers: 1}, {BufferSize: 100}, {BufferSize: 1 << 25},
		{Classes: -1}, {Classes: maxClasses + 1}, {Metadata: -1}, {Metadata: maxMetadata + 1}} {
		o.Dir = t.TempDir()
		if _, err := Create(o); err == nil {
			t.Errorf("%+v was made", o)
		}
		if left, _ := os.ReadDir(o.Dir); len(left) > 0 {
			t.Errorf("%+v left %v", o, left)
		}
	}
}

// TestFileThatShrinksIsAnError: the kernel says so with a signal that would end the program.
func TestFileThatShrinksIsAnError(t *testing.T) {
	w := made(t, Options{})
	class := registered(t, w, "step")
	emit(w.Shard(0), class.ID, 40, 1)
	r := opened(t, w.Path())
	if err := os.Truncate(w.Path(), headerSize); err != nil {
		t.Fatal(err)
	}
	var p Packet
	if _, err := r.Next(&p); err == nil || !strings.Contains(err.Error(), "truncated") {
		t.Errorf("Next: %v", err)
	}
	if err := r.Commit(); err == nil {
		t.Error("Commit said nothing")
	}
	if err := r.Snapshot(func(*Packet) error { return nil }); err == nil {
		t.Error("Snapshot said nothing")
	}
	r.Classes()
	r.Metadata()
	r.Switch(func(string, string) bool { return true }, true)
}

func TestCreateReadLeavesNoOtherReaderAnInstant(t *testing.T) {
	dir := t.TempDir()
	w, r, err := CreateRead(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Unmap()
	found, err := Find(dir)
	if err != nil || len(found) != 1 || found[0] != w.Path() || r.Info().Path != w.Path() {
		t.Fatalf("found %v, %v; the ring is %s, its reader's %s", found, err, w.Path(), r.Info().Path)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: want the ring alone", entries, err)
	}
	if _, err := Open(w.Path()); !errors.Is(err, ErrBusy) {
		t.Errorf("opening it a second time: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
