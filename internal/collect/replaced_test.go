package collect_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"meridian/internal/collect/ship"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

// replacing is an agent whose recorder puts another file in place of one.
type replacing struct {
	*lab
	dir, stored string
	name        string
	status      atomic.Pointer[wire.AgentStatus]
	ended       chan struct{}
	sum         chan ship.Summary
}

func newReplacing(t *testing.T, name string) *replacing {
	return &replacing{lab: newLab(t), dir: filepath.Join(t.TempDir(), "trace"), stored: t.TempDir(), name: name,
		ended: make(chan struct{}), sum: make(chan ship.Summary, 1)}
}

// begin runs an agent until ended is closed and servers have all, which looks at the directory again when it grows and at the end.
func (c *replacing) begin() {
	c.t.Helper()
	s, err := ship.New(ship.Options{Conn: wire.Over(c.connectAs("web")), Host: "web", Session: "s", Dir: c.dir, Ended: c.ended, Log: c.t.Logf,
		Tell: func(x *wire.AgentStatus) {
			copied := *x
			c.status.Store(&copied)
		}})
	if err != nil {
		c.t.Fatal(err)
	}
	go func() {
		sum, err := s.Run(c.t.Context())
		if err != nil {
			c.t.Error(err)
		}
		c.sum <- sum
	}()
}

// await waits for a state of the agent, which it tells at its begin and each second.
func (c *replacing) await(what string, is func(*wire.AgentStatus) bool) {
	c.t.Helper()
	for until := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if x := c.status.Load(); x != nil && is(x) {
			return
		} else if time.Now().After(until) {
			c.t.Fatalf("%s: %+v", what, x)
		}
	}
}

// put puts a file in place of the one that is there.
func (c *replacing) put(data []byte) {
	c.t.Helper()
	next := filepath.Join(c.dir, ".next")
	err := os.WriteFile(next, data, 0o666)
	if err == nil {
		err = os.Rename(next, filepath.Join(c.dir, c.name))
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// end ends the recording at once, and returns the account when the server has all of the file.
func (c *replacing) end(want []byte) (sum ship.Summary) {
	c.t.Helper()
	close(c.ended)
	select {
	case sum = <-c.sum:
	case <-time.After(60 * time.Second):
		c.t.Fatalf("not all is acknowledged: %+v", c.status.Load())
	}
	got, err := os.ReadFile(filepath.Join(c.stored, "s", "web", c.name))
	if err != nil || !bytes.Equal(got, want) {
		c.t.Errorf("the server has %d bytes of a file of %d, or others: %v; the agent counts %+v", len(got), len(want), err, sum)
	}
	return sum
}

func TestAFileInWhosePlaceAnotherIsPutIsSentFromItsBegin(t *testing.T) {
	t.Parallel()
	large := func(w *traceWriter) []byte { return w.packet(wire.TailSize + 3*wire.BlockSize) }
	for _, test := range []struct {
		what   string
		name   string
		before func(*traceWriter) []byte
		after  func(w *traceWriter, before []byte) []byte
	}{
		{"an empty one", "kernel_1_0", func(*traceWriter) []byte { return nil }, func(w *traceWriter, _ []byte) []byte { return w.packet(4096) }},
		{"an empty capture", "packets/web.pcapng", func(*traceWriter) []byte { return nil }, func(*traceWriter, []byte) []byte { return block(232) }},
		{"a torn one", "kernel_1_0", func(w *traceWriter) []byte { return w.packet(4096)[:100] }, func(w *traceWriter, _ []byte) []byte { return w.packet(4096) }},
		{"by a shorter one", "kernel_1_0", func(w *traceWriter) []byte { return w.packet(8192) }, func(w *traceWriter, _ []byte) []byte { return w.packet(4096) }},
		{"by one as long", "kernel_1_0", func(w *traceWriter) []byte { return w.packet(4096) }, func(w *traceWriter, _ []byte) []byte { return w.packet(4096) }},
		{"by a longer one", "kernel_1_0", func(w *traceWriter) []byte { return w.packet(4096) }, func(w *traceWriter, _ []byte) []byte { return w.packet(8192) }},
		{"by an empty one", "kernel_1_0", func(w *traceWriter) []byte { return w.packet(4096) }, func(*traceWriter, []byte) []byte { return nil }},
		{"by one that differs before the checksums", "kernel_1_0", large, func(_ *traceWriter, before []byte) []byte {
			after := slices.Clone(before)
			after[1000]++
			return after
		}},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			c := newReplacing(t, test.name)
			c.serve("a", c.stored, store.OS{})
			w := newTrace(t, c.dir, 5)
			before := test.before(w)
			w.write(test.name, before)
			c.begin()
			c.await("the first file is to be acknowledged", func(x *wire.AgentStatus) bool {
				return len(before) < 4096 || x.Recorded == int64(len(before)) && x.Acknowledged == x.Recorded
			})
			after := test.after(w, before)
			c.put(after)
			if sum := c.end(after); sum.Recorded != int64(len(after)) || sum.Acknowledged != sum.Recorded || sum.Lost != 0 {
				t.Errorf("%d bytes were recorded: %+v", len(after), sum)
			}
		})
	}
}

// block returns a capture of one block of some size: its section.
func block(size byte) []byte {
	b := make([]byte, size)
	copy(b, []byte{0x0a, 0x0d, 0x0d, 0x0a, size, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a})
	b[size-4] = size
	return b
}

func TestAFileThatIsGoneBeforeItIsSentIsLostWhenAnotherHasItsName(t *testing.T) {
	t.Parallel()
	c := newReplacing(t, "kernel_1_0")
	w := newTrace(t, c.dir, 6)
	w.write(c.name, w.packet(8192))
	w.write("kernel_2_0", w.packet(1024))
	c.begin()
	c.await("both files are to be seen", func(x *wire.AgentStatus) bool { return x.Recorded == 8192+1024 })
	if err := os.Remove(filepath.Join(c.dir, c.name)); err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= 2; n++ { // what the second look finds was listed after the removal
		w.write("kernel_2_0", w.packet(1024))
		c.await("what is written behind is to be seen", func(x *wire.AgentStatus) bool { return x.Recorded == 8192+1024+n*1024 })
	}
	after := w.packet(4096)
	c.put(after)
	c.await("the new file is to be seen", func(x *wire.AgentStatus) bool { return x.Lost == 8192 })
	c.serve("a", c.stored, store.OS{})
	sum := c.end(after)
	if want := int64(8192 + 1024 + 2048 + 4096); sum.Recorded != want || sum.Lost != 8192 || sum.Acknowledged != want-8192 {
		t.Errorf("%+v, of which 8192 are lost and %d recorded", sum, want)
	}
}
