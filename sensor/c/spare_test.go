package c_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"meridian/sensor/internal/testrand"
	"meridian/sensor/ring"
)

// stepped is testdata/stepped.c as it runs.
type stepped struct {
	command *exec.Cmd
	path    string
	in      io.WriteCloser
	out     *bufio.Reader
}

func step(t *testing.T, program string, args ...string) *stepped {
	t.Helper()
	s := &stepped{command: command(t, program, args...)}
	var err error
	if s.in, err = s.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	s.path, s.out = begin(t, s.command)
	t.Cleanup(func() { s.command.Process.Kill() })
	return s
}

// emit returns when the events are emitted.
func (s *stepped) emit(t *testing.T, thread, count, length int) {
	t.Helper()
	fmt.Fprintln(s.in, thread, count, length)
	if said := reads(t, s.out); said != "done" {
		t.Fatalf("the program says %q\n%s", said, s.command.Stderr)
	}
}

func (s *stepped) end(t *testing.T) {
	t.Helper()
	s.in.Close()
	if err := s.command.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, s.command.Stderr)
	}
}

// TestAThreadWhoseShardIsFullGoesOnInASpareOne, as a program does that got no processor for a while and emits at once what
// it did not, while a reader is there who does not come. Without a reader nobody would empty the spare ones.
func TestAThreadWhoseShardIsFullGoesOnInASpareOne(t *testing.T) {
	t.Parallel()
	const whole, tired = 2 * 4096 / 128, 64 // events of 128 bytes in a shard; dropped between two looks for a spare one
	s := step(t, build(t, "gcc", "-std=c11", "testdata/stepped.c"), "shards=2", "spare=3")
	burst := func(n int) { s.emit(t, 0, n, 128-12-8-1) }
	burst(whole + 1)
	burst(tired)
	r := open(t, s.path)
	var got taken
	count := func(events, discarded int) {
		t.Helper()
		got.take(t, r)
		n := 0
		for _, d := range got.discarded {
			n += int(d)
		}
		if len(got.events) != events || n != discarded {
			t.Fatalf("%d events, %d discarded, not %d and %d", len(got.events), n, events, discarded)
		}
	}
	count(whole, 1+tired)
	burst(3*whole + 1) // three spare ones, and one event more
	count(4*whole, 2+tired)
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	burst(4 * whole) // all that it had: where its own has room again, it looks for a spare one at once
	count(8*whole, 2+tired)
	s.emit(t, 1, whole, 128-12-8-1) // the other thread's own was never anybody else's
	count(9*whole, 2+tired)
	s.end(t)
}

// TestAThreadUsesSpareShardsForAReaderThatListens before that has opened the ring: a program that begins fast loses nothing until it has.
func TestAThreadUsesSpareShardsForAReaderThatListens(t *testing.T) {
	t.Parallel()
	const whole, tired = 2 * 4096 / 128, 64 // as above
	program := build(t, "gcc", "-std=c11", "testdata/stepped.c")
	for _, listens := range []bool{false, true} {
		c := command(t, program, "shards=2", "spare=3")
		if listens {
			defer ring.Listen(c.Args[1]).Close()
		}
		s := &stepped{command: c}
		var err error
		if s.in, err = c.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		s.path, s.out = begin(t, c)
		room := whole
		if listens {
			room = 4 * whole
		}
		s.emit(t, 0, room+tired, 128-12-8-1)
		var got taken
		got.take(t, open(t, s.path))
		n := uint64(0)
		for _, d := range got.discarded {
			n += d
		}
		if len(got.events) != room || n != tired {
			t.Errorf("a reader listens: %v: %d events and %d discarded, not %d and %d", listens, len(got.events), n, room, tired)
		}
		s.end(t)
	}
}

// TestSpareShardsMakeTheSameRingInCAndInGo takes the same random steps in both: two writers, and a reader who takes, takes for
// good, leaves and comes again. After each the files are the same.
func TestSpareShardsMakeTheSameRingInCAndInGo(t *testing.T) {
	t.Parallel()
	for _, with := range []string{"gcc -std=c11", "clang++ -x c++ -std=c++17"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			cc := strings.Fields(with)
			program := build(t, cc[0], append(cc[1:], "-O2", "-DMERIDIAN_TEST_CLOCK", "testdata/stepped.c")...)
			random := testrand.New(t)
			for range 4 {
				sameSteps(t, program, random)
				if t.Failed() {
					return
				}
			}
		})
	}
}

func sameSteps(t *testing.T, program string, random *rand.Rand) {
	spare := random.IntN(5)
	args := []string{"shards=3"}
	if spare > 0 { // else the program asks for none
		args = append(args, fmt.Sprintf("spare=%d", spare))
	}
	c := step(t, program, args...)
	w, err := ring.Create(ring.Options{Dir: t.TempDir(), Program: "test", Shards: 3, Spare: spare, Buffers: 2, BufferSize: 4096,
		Clock: ring.Clock{Kind: 3, Frequency: 1e9}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Unmap()
	g := &writtenInGo{t: t, ring: w, ids: map[string]uint16{}, size: 4096}
	g.declare("stepped", "event", "", integer("64", "thread", "false"), "string _text;")
	g.declare("message", "message", strings.NewReplacer("_slice;X", "_flow;").Replace(message))
	g.declare("meridian", "cut:counter", "", integer("64", "cut", "true"))
	paths := [2]string{c.path, w.Path()}
	var writers [2]*ring.Shard
	var readers [2]*ring.Reader
	done := ""
	for range 60 {
		switch what := random.IntN(8); {
		case what < 4:
			thread, count, length := random.IntN(2), random.IntN(200), []int{0, 10, 83, 4000}[random.IntN(4)]
			done = fmt.Sprintf("%d events of a text of %d by thread %d", count, length, thread)
			c.emit(t, thread, count, length)
			if writers[thread] == nil && count > 0 {
				if writers[thread], err = w.Claim(); err != nil {
					t.Fatal(err)
				}
			}
			for g.shard = writers[thread]; count > 0; count-- {
				g.emit("stepped:event", uint64(thread), strings.Repeat("x", length))
			}
		case readers[0] == nil:
			done = "a reader comes"
			for i, path := range paths {
				readers[i] = open(t, path)
			}
		case what < 7:
			done = "the reader takes what there is"
			for _, r := range readers {
				var got taken
				got.take(t, r)
				if what == 6 {
					continue
				}
				if err := r.Commit(); err != nil {
					t.Fatal(err)
				}
			}
		default:
			done = "the reader leaves"
			for i, r := range readers {
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
				readers[i] = nil
			}
		}
		got, want := unnamed(t, paths[0]), unnamed(t, paths[1])
		if !bytes.Equal(got, want) {
			at := 0
			for at < min(len(got), len(want))-1 && got[at] == want[at] {
				at++
			}
			t.Fatalf("%s: offset %d is %x in C, %x in Go; the data begin at %d", done, at, got[at:min(at+32, len(got))], want[at:min(at+32, len(want))],
				binary.LittleEndian.Uint64(want[136:]))
		}
	}
	for _, r := range readers {
		if r != nil {
			r.Close()
		}
	}
	c.end(t)
}

// unnamed reads a ring without what no two processes have in common: of owners only whether there is one.
func unnamed(t *testing.T, path string) []byte {
	t.Helper()
	b := withoutProcess(t, path)
	control := b[binary.LittleEndian.Uint64(b[128:]):]
	for range binary.LittleEndian.Uint32(b[24:]) {
		owner := (*uint32)(unsafe.Pointer(&control[24]))
		*owner = min(*owner, 1)
		control = control[256:]
	}
	return b
}

// TestThreadsShareSpareShards has more threads than there are spare ones, one generation after another, and a reader at the same
// time: each event is read once, in its thread's order, or counted.
func TestThreadsShareSpareShards(t *testing.T) {
	t.Parallel()
	const threads, rounds, events = 4, 3, 20_000
	for _, flags := range [][]string{{"-std=c11", "-O2"}, {"-fsanitize=thread", "-fno-sanitize-recover=all"}} {
		t.Run(flags[0], func(t *testing.T) {
			t.Parallel()
			c := command(t, build(t, "gcc", append(flags, "testdata/threads.c")...), "shards=4", "spare=3", "reader=1",
				fmt.Sprintf("threads=%d", threads), fmt.Sprintf("rounds=%d", rounds), fmt.Sprintf("n=%d", events))
			got, _ := whileReading(t, c)
			inOrder(t, got.events)
			total, spare := uint64(len(got.events)), false
			for _, n := range got.discarded {
				total += n
			}
			for _, e := range got.events {
				spare = spare || e.shard >= 4
			}
			if total != threads*rounds*events || !spare {
				t.Errorf("%d events of %d are read or counted; spare shards were used: %t", total, threads*rounds*events, spare)
			}
		})
	}
}

// inOrder holds that stamps ascend within a shard, and the numbers of a thread with its stamps.
func inOrder(t *testing.T, events []event) {
	t.Helper()
	last := map[int]uint64{}
	for _, e := range events {
		if e.stamp < last[e.shard] {
			t.Fatalf("shard %d: stamp %d after %d", e.shard, e.stamp, last[e.shard])
		}
		last[e.shard] = e.stamp
	}
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.stamp, b.stamp) })
	next := map[uint64]uint64{}
	for _, e := range events {
		thread, number := e.u64(0), e.u64(8)
		if number < next[thread] {
			t.Fatalf("thread %d: number %d comes after %d", thread, number, next[thread]-1)
		}
		next[thread] = number + 1
	}
}
