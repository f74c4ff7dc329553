package c_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meridian/sensor/internal/testrand"
)

// TestKilledWritersLeaveEverythingThatTheyPublished kills after so many events as chance says, which is at any instant of
// one. MERIDIAN_KILLS says how often; the default is small.
func TestKilledWritersLeaveEverythingThatTheyPublished(t *testing.T) {
	t.Parallel()
	kills := 12
	if s := os.Getenv("MERIDIAN_KILLS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		kills = n
	}
	path := build(t, "gcc", "-std=c11", "testdata/killed.c")
	random := testrand.New(t)
	dir := t.TempDir()
	for kill := range kills {
		c := command(t, path, "size=65536", "buffers=2")
		if kill%2 == 1 { // two threads that go on in spare shards all the time
			c = command(t, path, "shards=2", "spare=2")
		}
		c.Args[1] = dir
		file, _ := begin(t, c)
		r := open(t, file)
		var got taken
		for enough := random.IntN(3000); len(got.events) < enough; {
			got.take(t, r)
			if err := r.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err == nil {
			t.Fatal("the writer ended by itself")
		}
		if r.Alive() {
			t.Fatal("a killed writer is alive")
		}
		got.take(t, r)
		said, err := os.ReadFile(filepath.Join(dir, "said"))
		if err != nil {
			t.Fatal(err)
		}
		wholeUpTo(t, &got, func(thread uint64) uint64 { return binary.LittleEndian.Uint64(said[64*thread:]) })
		if err := r.Remove(); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
}

// wholeUpTo holds what was read of killed.c against how many events each thread said it had emitted. Where shards were
// exchanged, only the sum of what both discarded is known.
func wholeUpTo(t *testing.T, got *taken, said func(thread uint64) uint64) {
	t.Helper()
	texts := []string{"", "a", "some text", "the number is said in the text too, more or less"}
	inOrder(t, got.events)
	var read [2]uint64
	exchanged := false
	for _, e := range got.events {
		thread, number := e.u64(0), e.u64(8)
		if string(e.fields[16:]) != texts[number%4]+"\x00" {
			t.Fatalf("torn: thread %d, number %d: %q", thread, number, e.fields)
		}
		read[thread]++
		exchanged = exchanged || e.shard > 1
	}
	if exchanged {
		n := read[0] + read[1]
		for _, d := range got.discarded {
			n += d
		}
		if s := said(0) + said(1); n < s || n > s+2 {
			t.Fatalf("the threads said %d events; %d are read or counted", s, n)
		}
		return
	}
	for i := range read {
		// The event between its publication and its being said is one more; discarded events are known by shard alone.
		n := read[i]
		for shard, d := range got.discarded {
			if slices.ContainsFunc(got.events, func(e event) bool { return e.shard == shard && e.u64(0) == uint64(i) }) {
				n += d
			}
		}
		if s := said(uint64(i)); n < s || n > s+1 {
			t.Fatalf("thread %d said %d events; %d are read or counted", i, s, n)
		}
	}
}

func TestEveryProcessHasARingOfItsOwn(t *testing.T) {
	t.Parallel()
	path := build(t, "gcc", "-std=c11", "testdata/forked.c")
	c := command(t, path, "shards=4", "size=65536")
	lines := run(t, c)
	var child, status1, status2, status3 int
	if _, err := fmt.Sscan(lines[1], &child, &status1, &status2, &status3); err != nil || status1 != 0 || status2 != 0 || status3 != 0 {
		t.Fatalf("%q: %v", lines[1], err)
	}
	files := rings(t, c.Args[1])
	if len(files) != 3 { // neither the silent child nor the one that became another program
		t.Fatalf("rings of three processes emitted, %d are there: %v", len(files), names(files))
	}
	for _, file := range files {
		r, got := takeAll(t, file)
		count := map[string]uint64{}
		for _, e := range got.events {
			who := string(e.fields[:len(e.fields)-9])
			if e.class != "forked:count" || e.u64(len(e.fields)-8) != count[who] {
				t.Fatalf("%s %q", e.class, e.fields)
			}
			count[who]++
		}
		want := "map[grandchild:100 its thread:100]"
		switch r.Info().PID {
		case c.Process.Pid:
			want = "map[before:1 parent:100 thread:100]"
		case child:
			want = "map[child:100 child after:1 child2:100 thread:100]"
		}
		// A thread that comes while the first one makes the ring finds none: its events are counted.
		if s := fmt.Sprint(count); s != want && len(got.discarded) == 0 {
			t.Errorf("process %d: %s, not %s", r.Info().PID, s, want)
		}
		total := uint64(len(got.events))
		for _, n := range got.discarded {
			total += n
		}
		if total != map[string]uint64{"map[grandchild:100 its thread:100]": 200, "map[before:1 parent:100 thread:100]": 201,
			"map[child:100 child after:1 child2:100 thread:100]": 301}[want] {
			t.Errorf("process %d: %d events are read or counted", r.Info().PID, total)
		}
		// Switched off by the parent before.
		for _, class := range r.Classes() {
			if class.On != (class.Name != "off") {
				t.Errorf("%s is on: %t", class.Name, class.On)
			}
		}
	}
}

func TestUnitsOfAProgramShareWhatTheyDeclare(t *testing.T) {
	t.Parallel()
	for _, with := range []string{"g++", "clang++"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			path := build(t, with, "-x", "c", "testdata/units.c", "-x", "c++", "testdata/units_other.cc")
			r, got := takeAll(t, run(t, command(t, path))[0])
			var said []string
			for _, e := range got.events {
				said = append(said, fmt.Sprintf("%s %x", e.class, e.fields))
			}
			slice := "00000100"
			i := slices.IndexFunc(got.events, func(e event) bool { return e.class == "units:scope:begin" })
			if i < 0 {
				t.Fatal(said)
			}
			slice = fmt.Sprintf("%x", got.events[i].fields[:8])
			want := []string{
				"units:shared 01000000",
				"units:shared_count:counter 0200000000000000",
				"units:shared 02000000",
				"units:shared_count:counter 0c00000000000000",
				"units:own 432b2b0001",
				"units:scope:begin " + slice + "0500000000000000",
				"units:scope:end " + slice,
				"units:own 07000000",
			}
			if !slices.Equal(said, want) {
				t.Errorf("%s\nnot\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
			}
			if n := len(r.Classes()); n != 8 { // with two of the name own, message and cut
				t.Errorf("%d classes: %+v", n, r.Classes())
			}
		})
	}
}

func TestLibrariesComeAndGo(t *testing.T) {
	t.Parallel()
	// Other symbols are hidden, as libraries are built that care: what the program has once is found nevertheless.
	library := build(t, "gcc", "-std=c11", "-shared", "-fPIC", "-fvisibility=hidden", "testdata/library.c")
	c := command(t, build(t, "clang", "-std=c11", "-rdynamic", "testdata/loader.c", "-ldl"))
	c.Env = append(c.Env, "LIBRARY="+library)
	_, got := takeAll(t, run(t, c)[0])
	var said []string
	for _, e := range got.events {
		said = append(said, fmt.Sprintf("%s %d", e.class, e.fields[0]))
	}
	want := []string{"units:shared 1", "library:loaded 1", "units:shared 3", "units:shared_count:counter 100",
		"library:loaded 1", "units:shared 3", "units:shared_count:counter 200", "units:shared_count:counter 201"}
	if !slices.Equal(said, want) {
		t.Errorf("%q\nnot %q", said, want)
	}
}

func TestStartSaysWhyNothingIsRecorded(t *testing.T) {
	t.Parallel()
	path := build(t, "gcc", "-std=c11", "testdata/unstarted.c")
	c := command(t, path)
	lines := run(t, c)
	want := []string{"buffers 3: Invalid argument", "metadata 40: No space left on device", "classes 1: No space left on device",
		"dir: No such file or directory"}
	if len(lines) != 5 || !slices.Equal(lines[:4], want) {
		t.Errorf("%q\nnot %q", lines, want)
	}
	if files := rings(t, c.Args[1]); len(files) != 0 {
		t.Errorf("%v are left behind", names(files))
	}
}

func TestEventsAreSwitchedByTheEnvironmentAndFromOutside(t *testing.T) {
	t.Parallel()
	path := build(t, "gcc", "-std=c11", "testdata/threads.c")
	for events, on := range map[string]bool{"": true, "threads": true, "threads:*": true, "thr?ads:c*t": true, " x:y , threads:count ": true,
		"!threads": false, "!threads:x*": true, "*,!*:count": false, "!*,threads": true, "x": false, "thread": false, "threads:coun": false, "*:": false} {
		c := command(t, path, "threads=1", "n=1")
		c.Env = append(c.Env, "MERIDIAN_EVENTS="+events)
		if _, got := takeAll(t, run(t, c)[0]); (len(got.events) == 1) != on {
			t.Errorf("MERIDIAN_EVENTS=%q: %d events", events, len(got.events))
		}
	}

	c := command(t, path, "threads=1", "n=1", "rounds=3", "wait=1")
	in, out, r := beginWaiting(t, c)
	for _, on := range []bool{true, false, true} {
		if n := r.Switch(func(name, _ string) bool { return name == "count" }, on); n != 1 {
			t.Fatalf("%d classes are switched", n)
		}
		fmt.Fprintln(in)
		reads(t, out)
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	var got taken
	got.take(t, r)
	var threads []uint64
	for _, e := range got.events {
		threads = append(threads, e.u64(0))
	}
	if !slices.Equal(threads, []uint64{0, 2}) {
		t.Errorf("events of rounds %v", threads)
	}
}

func TestMeridianNamesTheDirectory(t *testing.T) {
	t.Parallel()
	path := build(t, "gcc", "-std=c11", "testdata/threads.c")
	dir := t.TempDir()
	c := command(t, path)
	c.Args[1] = ""
	c.Env = append(c.Env, "MERIDIAN="+dir)
	if file := run(t, c)[0]; filepath.Dir(file) != dir {
		t.Errorf("%s is not in %s", file, dir)
	}
	if info, err := os.Stat(rings(t, dir)[0]); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
