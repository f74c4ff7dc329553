package collect_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect"
	"meridian/internal/collect/broker"
	"meridian/internal/collect/ship"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

// lab is a broker, servers and what they store, on this machine.
type lab struct {
	t      *testing.T
	broker *broker.Broker
	urls   string // of the broker, where that is another
}

func newLab(t *testing.T) *lab {
	t.Helper()
	return newLabOf(t, broker.Limits{})
}

func newLabOf(t *testing.T, limits broker.Limits) *lab {
	t.Helper()
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test", Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return &lab{t: t, broker: b}
}

func (l *lab) connect(options ...nats.Option) *nats.Conn {
	l.t.Helper()
	if l.urls != "" {
		return l.connectTo(l.urls, options...)
	}
	return l.connectTo(l.broker.URL(), options...)
}

func (l *lab) connectTo(url string, options ...nats.Option) *nats.Conn {
	l.t.Helper()
	options = append(options, nats.Timeout(10*time.Second), nats.ReconnectWait(10*time.Millisecond), nats.MaxReconnects(-1))
	c, err := nats.Connect(url, options...)
	// On a busy machine the broker may need longer than a client waits for it.
	for late := time.Now().Add(time.Minute); err != nil && time.Now().Before(late); {
		c, err = nats.Connect(url, options...)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(c.Close)
	return c
}

// connectAs connects as a host's agent does.
func (l *lab) connectAs(host string) *nats.Conn {
	l.t.Helper()
	return l.connect(nats.CustomInboxPrefix(wire.OfHost(host, "inbox")))
}

// serve runs a server over a directory until the test or the returned function ends it.
func (l *lab) serve(name, dir string, disk store.Disk) (stop func()) {
	l.t.Helper()
	s, err := store.New(dir, disk, store.Limits{})
	if err != nil {
		l.t.Fatal(err)
	}
	server, err := collect.NewServer(collect.ServerOptions{Conn: wire.Over(l.connect()), Name: name, Store: s, Log: l.t.Logf})
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			l.t.Error(err)
		}
		_ = s.Close() // a disk that fails fails here too
	}
	l.t.Cleanup(stop)
	return stop
}

// ship runs a shipper until everything is acknowledged.
func (l *lab) ship(o ship.Options) (sum ship.Summary) {
	l.t.Helper()
	return l.shipOver(l.connectAs(o.Host), o)
}

// runs runs a shipper until the returned function ends it.
func runs(t *testing.T, s *ship.Shipper) (stop func() ship.Summary) {
	ctx, cancel := context.WithCancel(context.Background())
	var sum ship.Summary
	ended := make(chan error, 1)
	go func() {
		var err error
		sum, err = s.Run(ctx)
		ended <- err
	}()
	return func() ship.Summary {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		return sum
	}
}

// shipOver runs a shipper over a connection until everything is acknowledged.
func (l *lab) shipOver(c *nats.Conn, o ship.Options) (sum ship.Summary) {
	l.t.Helper()
	ended := make(chan struct{})
	close(ended)
	o.Conn, o.Ended, o.Log = wire.Over(c), ended, l.t.Logf
	s, err := ship.New(o)
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if sum, err = s.Run(ctx); err != nil {
		l.t.Fatal(err)
	}
	if ctx.Err() != nil {
		l.t.Fatalf("not all is acknowledged: %+v", sum)
	}
	return sum
}

// traceWriter writes a directory as a recorder does: whole packets of random bytes.
type traceWriter struct {
	t   testing.TB
	dir string
	r   *rand.Rand
}

const uuid = "2a6422d0-6cee-11e0-8c08-cb07d7b3a564"

func newTrace(t testing.TB, dir string, seed uint64) *traceWriter {
	w := &traceWriter{t, dir, rand.New(rand.NewPCG(seed, 1))}
	if err := os.MkdirAll(filepath.Join(dir, "packets"), 0o777); err != nil {
		t.Fatal(err)
	}
	w.metadata(0)
	return w
}

func (w *traceWriter) metadata(version int) {
	w.longMetadata(version, 0)
}

// longMetadata replaces the metadata by one that has so many bytes more.
func (w *traceWriter) longMetadata(version, more int) {
	path, next := filepath.Join(w.dir, "metadata"), filepath.Join(w.dir, ".metadata.new")
	text := fmt.Sprintf("/* CTF 1.8 */\ntrace { major = 1; minor = 8; uuid = %q; byte_order = le; };\n/* %d %s */\n", uuid, version, hex.EncodeToString(w.random(more/2)))
	if err := os.WriteFile(next, []byte(text), 0o666); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		w.t.Fatal(err)
	}
}

// packet returns a packet of a recorder, of some size.
func (w *traceWriter) packet(size int) []byte {
	b := w.random(size)
	binary.LittleEndian.PutUint32(b, 0xc1fc1fc1)
	binary.LittleEndian.PutUint64(b[56:], uint64(size)*8)
	return b
}

func (w *traceWriter) random(size int) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, size+8), w.r.Uint64())
	for len(b) < size {
		b = binary.LittleEndian.AppendUint64(b, w.r.Uint64())
	}
	return b[:size]
}

func (w *traceWriter) write(name string, b []byte) {
	f, err := os.OpenFile(filepath.Join(w.dir, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		w.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// block returns a block of a capture.
func (w *traceWriter) block(kind uint32, size int) []byte {
	b := w.random(size)
	binary.LittleEndian.PutUint32(b, kind)
	binary.LittleEndian.PutUint32(b[4:], uint32(size))
	binary.LittleEndian.PutUint32(b[8:], 0x1a2b3c4d)
	binary.LittleEndian.PutUint32(b[size-4:], uint32(size))
	return b
}

// files returns the content of a directory, without what begins with a dot.
func files(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name()[0] == '.' {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		out[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(t testing.TB, want, got string) {
	t.Helper()
	a, b := files(t, want), files(t, got)
	for name, content := range a {
		if !bytes.Equal(content, b[name]) {
			t.Errorf("%s: %d bytes, of which the server has %d, or others", name, len(content), len(b[name]))
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			t.Errorf("the server has %s, and the host has not", name)
		}
	}
}

func TestATraceArrivesByteForByte(t *testing.T) {
	for _, compress := range []bool{false, true} {
		t.Run(fmt.Sprint("compressed ", compress), func(t *testing.T) {
			l := newLab(t)
			dir := filepath.Join(t.TempDir(), "trace")
			w := newTrace(t, dir, 1)
			for i := range 200 {
				w.write(fmt.Sprintf("kernel_1_%d", i%3), w.packet(64+8*w.r.IntN(2000)))
			}
			w.write("packets/web.pcapng", w.block(0x0a0d0d0a, 28))
			w.write("packets/web.pcapng", w.block(6, 100))
			servers := t.TempDir()
			l.serve("a", servers, store.OS{})
			sum := l.ship(ship.Options{Host: "web.example.org", Session: "s", Dir: dir, Chunk: 8192, Compress: compress})
			if sum.Lost != 0 || sum.Recorded == 0 {
				t.Errorf("%+v", sum)
			}
			same(t, dir, filepath.Join(servers, "s", "web.example.org"))
		})
	}
}

func TestHalfAPacketIsNotSent(t *testing.T) {
	l := newLab(t)
	dir := filepath.Join(t.TempDir(), "trace")
	w := newTrace(t, dir, 2)
	first, second := w.packet(4096), w.packet(1024)
	w.write("sensor_1_web_0", append(first, second[:1000]...))
	section, packet := w.block(0x0a0d0d0a, 28), w.block(6, 64)
	w.write("packets/web.pcapng", append(section, packet[:60]...))
	servers := t.TempDir()
	l.serve("a", servers, store.OS{})
	l.ship(ship.Options{Host: "web", Session: "s", Dir: dir})
	got := files(t, filepath.Join(servers, "s", "web"))
	if n := len(got["sensor_1_web_0"]); n != 4096 {
		t.Errorf("%d bytes of a stream with one whole packet of 4096", n)
	}
	if n := len(got["packets/web.pcapng"]); n != 28 {
		t.Errorf("%d bytes of a capture with one whole block of 28", n)
	}
	// The recorder that goes on cuts off the half, and writes others.
	if err := os.Truncate(filepath.Join(dir, "sensor_1_web_0"), 4096); err != nil {
		t.Fatal(err)
	}
	w.write("sensor_1_web_0", w.packet(2048))
	w.write("packets/web.pcapng", packet[60:])
	l.ship(ship.Options{Host: "web", Session: "s", Dir: dir})
	same(t, dir, filepath.Join(servers, "s", "web"))
}
