package kernel_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meridian/internal/netlab"
	"meridian/internal/record/kernel"
	"meridian/trace"
)

// tape is what a recorder gave, as a source: the events of all processors by their stamps.
type tape struct {
	classes []trace.Class
	streams []trace.Stream
	events  []taped
	at      int
}

type taped struct {
	trace.Event
	values []trace.Value
}

func (s *tape) Next(e *trace.Event) error {
	if s.at == len(s.events) {
		return io.EOF
	}
	*e = s.events[s.at].Event
	s.at++
	return nil
}

func (s *tape) Values() []trace.Value   { return s.events[s.at-1].values }
func (s *tape) Streams() []trace.Stream { return s.streams }
func (s *tape) Classes() []trace.Class  { return s.classes }
func (s *tape) Close() error            { return nil }

// recording is a recorder that is read while the test goes on.
type recording struct {
	t    *testing.T
	r    *kernel.Recorder
	w    trace.Warnings
	tape tape
	done chan error
}

// open opens a recorder, or skips the test where the machine has no kernel events for us.
func open(t *testing.T, o kernel.Options) *recording {
	t.Helper()
	rec := &recording{t: t, done: make(chan error, 1)}
	r, err := kernel.Open(o, &rec.w)
	var u *kernel.Unavailable
	if errors.As(err, &u) {
		missing(t, u.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	rec.r = r
	rec.tape.classes = r.Classes()
	for cpu := range 1 << 10 {
		rec.tape.streams = append(rec.tape.streams, trace.Stream{Name: "CPU " + strconv.Itoa(cpu), Kind: trace.CPU, ID: int64(cpu), Parent: -1})
	}
	return rec
}

// missing skips the test for what this machine lacks, where not everything must run.
func missing(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("MERIDIAN_CI") == "1" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// record opens a recorder and reads it.
func record(t *testing.T, o kernel.Options) *recording {
	t.Helper()
	rec := open(t, o)
	rec.read()
	return rec
}

func (rec *recording) read() {
	last := map[int]uint64{}
	go func() {
		rec.done <- rec.r.Read(context.Background(), func(e *kernel.Event) error {
			if e.Stamp < last[e.CPU] {
				rec.t.Errorf("processor %d: %d after %d", e.CPU, e.Stamp, last[e.CPU])
			}
			last[e.CPU] = e.Stamp
			at := taped{Event: trace.Event{Time: int64(e.Stamp), Stream: e.CPU, Class: e.Class}}
			for i := range e.Values {
				at.values = append(at.values, e.Values[i].Clone())
			}
			rec.tape.events = append(rec.tape.events, at)
			return nil
		})
	}()
}

// stop ends the recording and returns what was recorded.
func (rec *recording) stop() *tape {
	rec.t.Helper()
	if err := rec.r.Stop(); err != nil {
		rec.t.Fatal(err)
	}
	if err := <-rec.done; err != nil {
		rec.t.Fatal(err)
	}
	slices.SortStableFunc(rec.tape.events, func(a, b taped) int { return int(a.Time - b.Time) })
	return &rec.tape
}

// lost returns how many events there was no room for, or that were missed.
func (rec *recording) lost() (n uint64) {
	rec.t.Helper()
	lost, err := rec.r.Lost()
	if err != nil {
		rec.t.Fatal(err)
	}
	for _, x := range lost {
		n += x
	}
	return n
}

// value returns a field of an event, or fails the test.
func (s *tape) value(t *testing.T, e *taped, name string) *trace.Value {
	t.Helper()
	c := &s.classes[e.Class]
	for i := range c.Fields {
		if c.Fields[i].Name == name {
			return &e.values[i]
		}
	}
	t.Fatalf("%s has no field %s", c.Name, name)
	return nil
}

func (s *tape) name(e *taped) string { return s.classes[e.Class].Name }

// run runs a program to its end and returns its number.
func run(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", c, err, out)
	}
	return c.Process.Pid
}

// netns returns the inode of a host's network namespace.
func netns(t *testing.T, lab *netlab.Lab, host string) uint32 {
	t.Helper()
	out, err := lab.Command(host, "stat", "-Lc", "%i", "/proc/self/ns/net").Output()
	n, bad := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 32)
	if err = errors.Join(err, bad); err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

// program links to a program under another name, which its processes then have.
func program(t *testing.T, path, name string) string {
	t.Helper()
	whole, err := exec.LookPath(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(whole, to); err != nil {
		t.Fatal(err)
	}
	return to
}
