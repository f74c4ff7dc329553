//go:build linux

package packet

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"meridian/format/pcap"
	"meridian/internal/netlab"
	"meridian/trace"
)

// kept is a frame that outlives its Read.
type kept struct {
	trace.Frame
	direction trace.Direction
}

// running is a capture that is being read.
type running struct {
	*Capture
	t      *testing.T
	cancel context.CancelFunc
	done   chan error
	frames []kept
	seen   atomic.Int64 // how many frames there are
	last   Stats
}

func namespace(lab *netlab.Lab, host string) string { return lab.Namespace(host) }

// start captures until stop.
func start(t *testing.T, o Options) *running {
	t.Helper()
	r, _ := startAwaiting(t, o, nil)
	return r
}

// startAwaiting is start, and returns a channel that is closed when a frame with these bytes has been captured.
func startAwaiting(t *testing.T, o Options, awaited []byte) (*running, <-chan struct{}) {
	t.Helper()
	captured := make(chan struct{})
	c, err := Open(o)
	if err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Capture: c, t: t, cancel: cancel, done: make(chan error, 1)}
	go func() {
		r.done <- c.Read(ctx, func(f *trace.Frame, d trace.Direction) error {
			k := kept{*f, d}
			k.Data, k.Options = bytes.Clone(f.Data), bytes.Clone(f.Options)
			r.frames = append(r.frames, k)
			r.seen.Add(1)
			if awaited != nil && bytes.Equal(f.Data, awaited) {
				close(captured)
				awaited = nil
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		if r.cancel != nil {
			r.stop()
		}
	})
	return r, captured
}

// awaitFrames waits until so many frames were captured: the kernel may hand over what was sent a while later.
func (r *running) awaitFrames(n int64) {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); r.seen.Load() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("%d frames of %d were captured in a minute", r.seen.Load(), n)
		}
	}
}

// stop returns all frames.
func (r *running) stop() []kept {
	r.t.Helper()
	r.cancel()
	if err := <-r.done; err != nil {
		r.t.Error(err)
	}
	stats, err := r.Stats()
	if err != nil || stats.Received != int64(len(r.frames)) {
		r.t.Errorf("%+v, %v for %d frames", stats, err, len(r.frames))
	}
	r.last = stats
	if err := r.Close(); err != nil {
		r.t.Error(err)
	}
	r.cancel = nil
	return r.frames
}

// write writes frames as the recorder will.
func (r *running) write(frames []kept) string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "ours.pcapng")
	file, err := os.Create(path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer file.Close()
	var ifaces []pcap.WriterInterface
	for _, i := range r.Interfaces() {
		ifaces = append(ifaces, pcap.WriterInterface{Name: i.Name, LinkType: i.LinkType, SnapLength: i.SnapLength})
	}
	w, err := pcap.NewWriter(file, ifaces, "")
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range frames {
		if err := w.Write(frames[i].Interface, &frames[i].Frame); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// read returns the frames of a file.
func read(t *testing.T, path string) []trace.Frame {
	t.Helper()
	r, err := pcap.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var frames []trace.Frame
	var f trace.Frame
	for r.Next(&f) == nil {
		g := f
		g.Data = bytes.Clone(f.Data)
		frames = append(frames, g)
	}
	return frames
}

// traffic is some of everything, in little time.
var traffic = netlab.Traffic{From: "web", To: "db", Bulk: []int64{1 << 20, 1 << 19}, Chats: 2, Requests: 200, Reuses: 5, Datagrams: 200, Pings: 20,
	Over: 200 * time.Millisecond}

// contents counts frames by length on the wire and bytes.
func contents[F any](frames []F, frame func(*F) *trace.Frame) map[string]int {
	m := make(map[string]int)
	for i := range frames {
		f := frame(&frames[i])
		m[string(binary.BigEndian.AppendUint32(nil, f.Wire))+string(f.Data)]++
	}
	return m
}

// same compares captures of the same frames. The kernel counted so many that found no room in a ring.
func same(t *testing.T, what string, got []kept, want []trace.Frame, dropped int64) {
	t.Helper()
	a := contents(got, func(k *kept) *trace.Frame { return &k.Frame })
	b := contents(want, func(f *trace.Frame) *trace.Frame { return f })
	lacking := int64(max(0, len(want)-len(got)))
	for k, n := range a {
		if lacking += int64(max(0, n-b[k])); lacking > dropped {
			t.Errorf("%s: %d times, elsewhere %d: % x; %d were dropped", what, n, b[k], k[:min(60, len(k))], dropped)
			return
		}
	}
	if lacking > dropped {
		t.Errorf("%s: %d frames, elsewhere %d, %d were dropped", what, len(got), len(want), dropped)
	}
}
