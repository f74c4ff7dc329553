package c_test

import (
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestClassesBeyondTheRingsRoomStayOff: an event of theirs would bear the number of another class.
func TestClassesBeyondTheRingsRoomStayOff(t *testing.T) {
	t.Parallel()
	library := build(t, "gcc", "-std=c11", "-shared", "-fPIC", "-fvisibility=hidden", "testdata/library.c")
	c := command(t, build(t, "clang", "-std=c11", "-rdynamic", "testdata/crowded.c", "-ldl"), "classes=4")
	c.Env = append(c.Env, "LIBRARY="+library)
	if lines := run(t, c); lines[1] != "4" {
		t.Errorf("%s classes are switched on, of the four in the ring", lines[1])
	}
	files := rings(t, c.Args[1])
	if len(files) != 2 {
		t.Errorf("rings of the program and its child: %v", names(files))
	}
	for _, file := range files {
		_, got := takeAll(t, file)
		var said []string
		for _, e := range got.events {
			said = append(said, fmt.Sprintf("%s %d", e.class, e.fields))
		}
		count := 100
		if len(said) > 1 && said[1] == "units:shared_count:counter [200 0 0 0 0 0 0 0]" {
			count = 200 // the child's
		}
		want := []string{"units:shared [3 0 0 0]", fmt.Sprintf("units:shared_count:counter [%d 0 0 0 0 0 0 0]", count)}
		if !slices.Equal(said, want) {
			t.Errorf("%q\nnot %q", said, want)
		}
	}
}

func TestAProgramMayCloseTheRingsFile(t *testing.T) {
	t.Parallel()
	c := command(t, build(t, "gcc", "-std=c11", "testdata/closed.c"), "n=1000", "buffers=16")
	if lines := run(t, c); lines[1] != "0 5" {
		t.Errorf("status of the child and size of the program's own file: %q", lines[1])
	}
	files := rings(t, c.Args[1])
	if len(files) != 2 {
		t.Fatal(names(files))
	}
	for _, file := range files {
		if _, got := takeAll(t, file); len(got.events) != 1000 {
			t.Errorf("%d events of 1000, discarded %v", len(got.events), got.discarded)
		}
	}
}

func TestAnEventIsNoPointWhereAThreadIsCancelled(t *testing.T) {
	t.Parallel()
	c := command(t, build(t, "gcc", "-std=gnu11", "testdata/cancelled.c"), "n=1000", "buffers=16")
	if lines := run(t, c); !slices.Equal(lines[1:], []string{"1000", "1000"}) {
		t.Errorf("%q", lines[1:])
	}
	for _, file := range rings(t, c.Args[1]) {
		if _, got := takeAll(t, file); len(got.events) != 1000 {
			t.Errorf("%d events of 1000, discarded %v", len(got.events), got.discarded)
		}
	}
}

// TestSignalsWhileThreadsEndAndChildrenBegin emit into no ring or shard that is another's.
func TestSignalsWhileThreadsEndAndChildrenBegin(t *testing.T) {
	t.Parallel()
	path := build(t, "gcc", "-std=c11", "testdata/interrupted.c")
	for _, fork := range []string{"fork=0", "fork=1"} {
		c := command(t, path, "n=40", fork, "shards=8", "buffers=256", "size=65536")
		lines := run(t, c)
		var pid, emitted uint64
		if _, err := fmt.Sscan(lines[1], &pid, &emitted); err != nil {
			t.Fatal(err)
		}
		_, got := takeAll(t, lines[0])
		total := uint64(len(got.events))
		for _, e := range got.events {
			if e.class != "interrupted:event" || e.u64(4) != pid*7 || e.u64(0)&0xffffffff != pid {
				t.Fatalf("%s: %s %x of process %d", fork, e.class, e.fields, pid)
			}
		}
		for _, n := range got.discarded {
			total += n
		}
		if total != emitted {
			t.Errorf("%s: %d events emitted, %d read or counted", fork, emitted, total)
		}
	}
}

// TestAChildMayBeginInTheMiddleOfAnEvent: that event is the parent's, all that follow are in a ring of the child's.
func TestAChildMayBeginInTheMiddleOfAnEvent(t *testing.T) {
	t.Parallel()
	c := command(t, build(t, "gcc", "-std=c11", "testdata/forking.c"), "forks=10", "n=50", "buffers=256")
	lines := run(t, c)
	files := rings(t, c.Args[1])
	if fmt.Sprint(len(files)-1) != lines[1] {
		t.Errorf("%s children, %d rings", lines[1], len(files))
	}
	for _, file := range files {
		r, got := takeAll(t, file)
		if r.Info().PID == c.Process.Pid {
			continue
		}
		var numbers []uint64
		for _, e := range got.events {
			if e.class == "forking:child" {
				numbers = append(numbers, e.u64(0))
			}
		}
		if len(numbers) != 50 || numbers[0] != 0 || got.discarded[0] > 1 || len(got.discarded) > 1 { // perhaps the parent's
			t.Errorf("child %d: events %v, discarded %v", r.Info().PID, numbers, got.discarded)
		}
	}
}

// TestSignalsWhileShardsAreExchanged interrupt events that are on their way to a spare shard, most of the time: their handlers
// emit into a writer of their own, or fork, so that a child goes on in the middle of it.
func TestSignalsWhileShardsAreExchanged(t *testing.T) {
	t.Parallel()
	t.Run("emit", func(t *testing.T) {
		t.Parallel()
		c := command(t, build(t, "gcc", "-std=c11", "testdata/signals.c"), "shards=2", "spare=5", "n=2000", "reader=1")
		got, said := whileReading(t, c)
		var program, handler uint64
		if _, err := fmt.Sscan(said, &program, &handler); err != nil {
			t.Fatal(err)
		}
		total := uint64(len(got.events))
		for _, n := range got.discarded {
			total += n
		}
		for _, e := range got.events {
			if e.class == "signals:program" && string(e.fields[8:]) != "text\x00" {
				t.Fatalf("torn: %q", e.fields)
			}
		}
		if total != program+handler {
			t.Errorf("%d events emitted, %d read or counted", program+handler, total)
		}
	})
	t.Run("fork", func(t *testing.T) {
		t.Parallel()
		c := command(t, build(t, "gcc", "-std=c11", "testdata/forking.c"), "forks=20", "n=50", "spare=5", "reader=1")
		_, said := whileReading(t, c)
		files := rings(t, c.Args[1])
		if fmt.Sprint(len(files)-1) != said {
			t.Errorf("%s children, %d rings", said, len(files))
		}
		for _, file := range files {
			r, got := takeAll(t, file)
			if r.Info().PID == c.Process.Pid {
				continue
			}
			if n := len(slices.DeleteFunc(got.events, func(e event) bool { return e.class != "forking:child" })); n != 50 {
				t.Errorf("child %d: %d events of 50, discarded %v", r.Info().PID, n, got.discarded)
			}
		}
	})
}

// whileReading runs a program, with reader=1, and reads its ring meanwhile; it returns what was in it, and what the program said at the end.
func whileReading(t *testing.T, c *exec.Cmd) (got taken, said string) {
	t.Helper()
	in, out, r := beginWaiting(t, c)
	defer r.Close()
	fmt.Fprintln(in)
	over := make(chan struct{})
	go func() {
		defer close(over)
		all, err := io.ReadAll(out)
		if err != nil {
			t.Error(err)
		}
		said = strings.TrimSpace(string(all))
	}()
	for ended := false; !ended; {
		select {
		case <-over:
			ended = true
		default:
		}
		got.take(t, r)
		if err := r.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, c.Stderr)
	}
	return got, said
}
