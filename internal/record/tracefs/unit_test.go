package tracefs

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/record/kernel"
	"meridian/internal/testseed"
)

func TestCursorsAreMergedByTheirStamps(t *testing.T) {
	layout := pageLayoutOf(t)
	testseed.Check(t, func(t *rapid.T) {
		m := &merge{}
		var all []uint64
		for cpu := range rapid.IntRange(1, 5).Draw(t, "cursors") {
			var pages [][]byte
			at := uint64(1000)
			for range rapid.IntRange(0, 4).Draw(t, "pages") {
				w := &writer{begin: at, stamp: at}
				for range rapid.IntRange(0, 5).Draw(t, "events") {
					at += rapid.Uint64Range(0, 20).Draw(t, "later")
					w.put(make([]byte, 4), w.advance(at, false))
					all = append(all, at)
				}
				pages = append(pages, w.page(layout.size(), 0, false))
			}
			m.cursors = append(m.cursors, &cursor{cpu: cpu, layout: layout, buffer: make([]byte, layout.size()), readPage: func(b []byte) (int, error) {
				if len(pages) == 0 {
					return 0, nil
				}
				n := copy(b, pages[0])
				pages = pages[1:]
				return n, nil
			}})
		}
		slices.Sort(all)
		limit := uint64(0)
		for range 8 { // in as many steps as may be
			limit += rapid.Uint64Range(0, 1500).Draw(t, "limit")
			want := all[:0:0]
			for len(all) > 0 && all[0] <= limit {
				want, all = append(want, all[0]), all[1:]
			}
			var got []uint64
			n, err := m.until(limit, func(l *cursor) error { got = append(got, l.stamp); return nil })
			if err != nil || n != len(got) || !slices.Equal(got, want) {
				t.Fatalf("up to %d: %v, %v, want %v", limit, got, err, want)
			}
		}
	})
}

func TestTheReadersErrorEndsTheMerge(t *testing.T) {
	layout := pageLayoutOf(t)
	w := &writer{}
	w.put(make([]byte, 4), 1)
	w.put(make([]byte, 4), 1)
	pages := [][]byte{w.page(layout.size(), 0, false)}
	m := &merge{cursors: []*cursor{{layout: layout, buffer: make([]byte, layout.size()), readPage: func(b []byte) (int, error) {
		if len(pages) == 0 {
			return 0, errors.New("no more")
		}
		n := copy(b, pages[0])
		pages = nil
		return n, nil
	}}}}
	stop := errors.New("stop")
	if n, err := m.until(10, func(*cursor) error { return stop }); n != 0 || err != stop {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := m.until(10, func(*cursor) error { return nil }); n != 1 || err == nil || err.Error() != "no more" {
		t.Errorf("%d, %v", n, err)
	}
}

func TestAProgramIsCalledAsItsFile(t *testing.T) {
	for path, want := range map[string]string{"/bin/true": "true", "true": "true", "/a/sixteen-letters-": "sixteen-letters", "/": ""} {
		if got := baseName([]byte(path)); got != want {
			t.Errorf("%s is called %q", path, got)
		}
	}
}

func TestWhatProcSaysIsUnderstood(t *testing.T) {
	one, ok := parseStatus("Name:\ta program of names\nUmask:\t0022\nTgid:\t17\nPid:\t18\n")
	if !ok || one.process != 17 || string(kernel.UntilNUL(one.comm[:])) != "a program of na" {
		t.Errorf("%+v", one)
	}
	if _, ok := parseStatus("Name: x\n"); ok {
		t.Error("a process without a number")
	}
}

func TestThreadsHaveTheProcessAndNameThatEventsTell(t *testing.T) {
	asked := 0
	all := newTasks(func(tid int32) (task, bool) {
		asked++
		return task{process: 100}, tid == 101
	})
	all.born(101, 102, []byte("worker"), cloneThread)
	all.born(102, 103, []byte("child"), 0)
	all.rename(103, []byte("renamed"))
	for tid, want := range map[int32]int32{0: 0, 101: 100, 102: 100, 103: 103, 999: 999} {
		if got := all.get(tid); got.process != want {
			t.Errorf("thread %d is of process %d", tid, got.process)
		}
	}
	if name := all.get(103).comm; string(kernel.UntilNUL(name[:])) != "renamed" || asked != 2 || all.guessed != 1 {
		t.Errorf("%s, %d asked, %d guessed", name, asked, all.guessed)
	}
	all.follow(102, true)
	all.follow(103, false)
	if !all.isFollowed(102) || all.isFollowed(101) || all.mayRun(102) || !all.mayRun(103) || all.mayRun(103) {
		t.Error("who is followed")
	}
	all.forget(102)
	all.forget(0)
	if all.isFollowed(102) || len(all.byTID) != 4 {
		t.Error(all.byTID)
	}
}

// scheduled writes a record of sched_switch as the captured kernel has it.
func scheduled(id int, from int32, state uint64, to int32) []byte {
	r := make([]byte, 64)
	binary.LittleEndian.PutUint16(r, uint16(id))
	binary.LittleEndian.PutUint32(r[24:], uint32(from))
	binary.LittleEndian.PutUint64(r[32:], state)
	binary.LittleEndian.PutUint32(r[56:], uint32(to))
	return r
}

func TestTheLastSwitchOfAThreadIsToldOnceWhicheverInstanceHasIt(t *testing.T) {
	l := load(t, filepath.Join("testdata", "linux"))
	id := slices.IndexFunc(l.byID, func(at uint8) bool { return at > 0 && l.bindings[at-1].kind == kernel.SchedSwitch })
	d := newDecoder(kernel.Sched, true, 2, l, newTasks(nobody))
	d.tasks.follow(10, false)
	d.tasks.follow(20, true)
	for i, step := range []struct {
		cpu      int
		everyone bool
		from, to int32
		state    uint64
		want     bool
	}{
		{0, false, 10, 30, 1, true},
		{0, true, 30, 31, 0x10, false},
		{0, false, 10, 20, 0x20, true}, // in both, the next being followed
		{0, true, 10, 20, 0x20, false},
		{1, true, 20, 30, 0x10, true}, // in one
	} {
		e := d.decode(1, step.cpu, step.everyone, scheduled(id, step.from, step.state, step.to))
		if (e != nil) != step.want {
			t.Errorf("step %d: %v", i, e)
		}
	}
	if d.damaged != 0 || d.gaps != 2 { // 10 came back, and 20 was elsewhere before it ended, without a word
		t.Errorf("%d records damaged, %d switches missing", d.damaged, d.gaps)
	}
	if d.decode(1, 0, true, scheduled(id, 1, 0, 2)[:63]) != nil || d.damaged != 1 {
		t.Error("a short record is an event")
	}
}

func TestSwitchesThatMustHaveBeenAreCounted(t *testing.T) {
	l := load(t, filepath.Join("testdata", "linux"))
	id := slices.IndexFunc(l.byID, func(at uint8) bool { return at > 0 && l.bindings[at-1].kind == kernel.SchedSwitch })
	for _, test := range []struct {
		filtered bool
		switches [][2]int32
		gaps     int64
	}{
		{false, [][2]int32{{5, 6}, {6, 0}, {0, 7}}, 0},
		{false, [][2]int32{{5, 6}, {7, 0}, {6, 0}}, 2},
		{true, [][2]int32{{10, 5}, {6, 20}, {20, 10}, {10, 0}}, 0}, // unknownrs come and go
		{true, [][2]int32{{10, 5}, {10, 5}, {20, 5}}, 2},
	} {
		d := newDecoder(kernel.Sched, test.filtered, 1, l, newTasks(nobody))
		d.tasks.follow(10, false)
		d.tasks.follow(20, true)
		for _, s := range test.switches {
			d.decode(1, 0, false, scheduled(id, s[0], 1, s[1]))
		}
		if d.gaps != test.gaps {
			t.Errorf("%v: %d switches are missing, not %d", test.switches, d.gaps, test.gaps)
		}
	}
}

func TestDecodingAllocatesNothing(t *testing.T) {
	l := load(t, filepath.Join("testdata", "linux"))
	d := newDecoder(kernel.Net|kernel.Sched|kernel.IRQ|kernel.Syscalls, true, 2, l, newTasks(nobody))
	b := make([]byte, l.page.size())
	for _, name := range []string{"cpu0.raw", "cpu1.raw"} {
		fill := pages(t, filepath.Join("testdata", "linux", name))
		if n, err := fill(b); n != len(b) || err != nil {
			t.Fatal(n, err)
		}
		var p page
		events := 0
		read := func() {
			if err := p.open(l.page, b); err != nil {
				t.Fatal(err)
			}
			for {
				r, err := p.next()
				if err != nil {
					t.Fatal(err)
				}
				if r == nil {
					return
				}
				events++
				d.decode(p.stamp, 0, false, r)
			}
		}
		read() // threads become known
		if n := testing.AllocsPerRun(10, read); n != 0 || events == 0 {
			t.Errorf("%s: %v allocations for a page, %d events", name, n, events)
		}
	}
}

func TestTheLettersOfARequestTellItsOperation(t *testing.T) {
	for letters, want := range map[string]uint64{"R": 0, "RM": 0, "W": 1, "WFS": 1, "FWS": 1, "FF": 2, "F": 2, "D": 3, "N": 4, "": 4} {
		if got := operationOf([]byte(letters)); got != want {
			t.Errorf("%q is operation %d, not %d", letters, got, want)
		}
	}
}

func TestTheErrorSaysWhatIsMissing(t *testing.T) {
	var err error = &Unavailable{Reason: kernel.NotPermitted, Missing: "not permitted: run as root", Err: errors.New("mkdir")}
	var u *kernel.Unavailable
	if !errors.As(err, &u) || u.Reason != kernel.NotPermitted || !strings.Contains(err.Error(), "tracefs: not permitted: run as root (mkdir)") {
		t.Error(err)
	}
}

func BenchmarkDecode(b *testing.B) {
	l := load(b, filepath.Join("testdata", "linux"))
	d := newDecoder(kernel.Net|kernel.Sched|kernel.IRQ|kernel.Syscalls, false, 2, l, newTasks(nobody))
	buffer := make([]byte, l.page.size())
	if _, err := pages(b, filepath.Join("testdata", "linux", "cpu0.raw"))(buffer); err != nil {
		b.Fatal(err)
	}
	var p page
	events := 0
	b.ReportAllocs()
	for b.Loop() {
		_ = p.open(l.page, buffer)
		for {
			r, _ := p.next()
			if r == nil {
				break
			}
			d.decode(p.stamp, 0, false, r)
			events++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
}
