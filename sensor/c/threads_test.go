package c_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestEventsOfEveryThreadAreReadInTheirOrder(t *testing.T) {
	t.Parallel()
	path := build(t, "gcc", "-std=c11", "testdata/threads.c")
	lines := run(t, command(t, path, "threads=4", "shards=4", "size=65536", "rounds=3", "buffers=16", "n=1000"))
	r, got := takeAll(t, lines[0])
	counts := map[uint64]uint64{}
	shards := map[int]bool{}
	last := map[int]uint64{}
	for _, e := range got.events {
		thread, number := e.u64(0), e.u64(8)
		if number != counts[thread] {
			t.Fatalf("thread %d: %d follows %d events", thread, number, counts[thread])
		}
		counts[thread]++
		if e.stamp < last[e.shard] {
			t.Fatalf("shard %d: stamp %d after %d", e.shard, e.stamp, last[e.shard])
		}
		last[e.shard], shards[e.shard] = e.stamp, true
	}
	if len(counts) != 12 || len(got.events) != 12000 || len(got.discarded) != 0 {
		t.Errorf("%d threads, %d events, discarded %v", len(counts), len(got.events), got.discarded)
	}
	// Twelve threads, at most four at a time: shards are given back.
	if len(shards) > 4 {
		t.Errorf("%d shards", len(shards))
	}
	if !r.Closed() || r.Alive() {
		t.Error("the ring is not closed, or its dead writer alive")
	}
	if i := r.Info(); i.Program != "test" || i.Clock.Frequency == 0 || i.Clock.Kind == 0 || i.PID == 0 || i.Started == 0 {
		t.Errorf("%+v", i)
	}
}

func TestEventsThatFindNoRoomAreCounted(t *testing.T) {
	t.Parallel()
	path := build(t, "gcc", "-std=c11", "testdata/threads.c")
	_, got := takeAll(t, run(t, command(t, path, "threads=2", "n=5000"))[0])
	for shard := range 2 {
		kept := uint64(0)
		for _, e := range got.events {
			if e.shard == shard {
				if e.u64(8) != kept {
					t.Fatalf("%d follows %d events: those that fit are the first", e.u64(8), kept)
				}
				kept++
			}
		}
		// A sub-buffer of 4096 bytes holds 146 events of 28.
		if kept != 2*146 && kept != 0 {
			t.Errorf("shard %d holds %d events", shard, kept)
		}
	}
	total := uint64(len(got.events))
	for _, n := range got.discarded {
		total += n
	}
	if total != 10000 {
		t.Errorf("%d of 10000 events are read or counted", total)
	}
}

func TestThreadsWithoutAShardAreCounted(t *testing.T) {
	t.Parallel()
	path := build(t, "gcc", "-std=c11", "testdata/threads.c")
	lines := run(t, command(t, path, "shards=1", "threads=5", "n=4000", "buffers=16", "size=65536"))
	_, got := takeAll(t, lines[0])
	if n := uint64(len(got.events)) + got.discarded[0]; n != 20000 {
		t.Errorf("%d of 20000 events are read or counted", n)
	}
}

func TestRoomThatTheReaderMadeIsUsedAgain(t *testing.T) {
	t.Parallel()
	path := build(t, "gcc", "-std=c11", "testdata/threads.c")
	c := command(t, path, "threads=1", "n=140", "rounds=20", "wait=1")
	in, out, r := beginWaiting(t, c)
	var got taken
	for round := range 20 {
		fmt.Fprintln(in)
		if s := reads(t, out); s != "round" {
			t.Fatalf("round %d: %q", round, s)
		}
		got.take(t, r)
		if err := r.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(got.events) != 140*20 || len(got.discarded) != 0 {
		t.Errorf("%d events of %d, discarded %v", len(got.events), 140*20, got.discarded)
	}
}

func TestOverwrittenRingsKeepTheNewest(t *testing.T) {
	t.Parallel()
	path := build(t, "gcc", "-std=c11", "testdata/threads.c")
	_, got := takeAll(t, run(t, command(t, path, "threads=1", "n=10000", "buffers=4", "overwrite=1"))[0])
	if n := len(got.events); n < 3*146 || n > 4*146 {
		t.Fatalf("%d events are kept in four sub-buffers of 146", n)
	}
	for i, e := range got.events {
		if want := uint64(10000 - len(got.events) + i); e.u64(8) != want {
			t.Fatalf("event %d is number %d, not %d", i, e.u64(8), want)
		}
	}
	if len(got.discarded) != 0 || got.overwritten == 0 {
		t.Errorf("discarded %v, overwritten %d bytes", got.discarded, got.overwritten)
	}
}

func TestSignalHandlersEmitAndNothingIsTorn(t *testing.T) {
	t.Parallel()
	path := build(t, "gcc", "-std=c11", "testdata/signals.c")
	lines := run(t, command(t, path, "buffers=256", "size=65536", "shards=2", "n=2000"))
	var program, handler uint64
	if _, err := fmt.Sscan(lines[1], &program, &handler); err != nil {
		t.Fatal(err)
	}
	_, got := takeAll(t, lines[0])
	// Events that interrupted another one have a shard of their own.
	slices.SortStableFunc(got.events, func(a, b event) int { return cmp.Compare(a.stamp, b.stamp) })
	var numbers [2]uint64
	for _, e := range got.events {
		which := 0
		if e.class == "signals:handler" {
			which = 1
		} else if string(e.fields[8:]) != "text\x00" {
			t.Fatalf("torn: %q", e.fields)
		}
		if e.u64(0) < numbers[which] {
			t.Fatalf("%s: %d after %d", e.class, e.u64(0), numbers[which])
		}
		numbers[which] = e.u64(0) + 1
	}
	if len(got.events) != int(program+handler) || len(got.discarded) != 0 {
		t.Errorf("%d events read, discarded %v, of %d and %d", len(got.events), got.discarded, program, handler)
	}
}

// TestSanitizersFindNothing runs the programs under the compiler's own watch.
func TestSanitizersFindNothing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ source, flag, args string }{
		{"types", "-fsanitize=address,undefined", "n=3000"},
		{"types", "-fsanitize=address,undefined", "n=3000 overwrite=1"},
		{"threads", "-fsanitize=thread", "threads=4 rounds=3 n=3000 overwrite=1 shards=2"},
		{"forked", "-fsanitize=address,undefined", "shards=8"},
		{"forked", "-fsanitize=thread", "shards=8"},
	} {
		t.Run(test.source+" "+test.flag+" "+test.args, func(t *testing.T) {
			t.Parallel()
			path := build(t, "gcc", test.flag, "-fno-sanitize-recover=all", "testdata/"+test.source+".c")
			c := command(t, path, strings.Fields(test.args)...)
			run(t, c)
			if s := c.Stderr.(fmt.Stringer).String(); s != "" {
				t.Error(s)
			}
		})
	}
}
