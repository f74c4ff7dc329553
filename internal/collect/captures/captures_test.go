//go:build unix

package captures

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/format/pcap"
	"meridian/internal/collect/broker"
	"meridian/internal/collect/tunnel"
	"meridian/internal/collect/wire"
	"meridian/trace"
)

// lab is a broker with the agent of host web, which permits a directory.
type lab struct {
	t    *testing.T
	url  string
	dir  string // permitted
	out  string // beside it
	stop func() // the agent
}

// moving is a memory that takes every array, and overwrites the one that it was taken from.
type moving struct {
	full       error // of the disk
	done, size int64
	kept       bool
	closed     bool
}

func (m *moving) Keep(array []byte) []byte {
	m.kept = true
	kept := slices.Clone(array)
	clear(array)
	return kept
}
func (*moving) Make(length int) []byte       { return make([]byte, length) }
func (*moving) Free([]byte)                  {}
func (*moving) Touched(int)                  {}
func (m *moving) Progress(done, total int64) { m.done, m.size = done, total }
func (m *moving) Err() error                 { return m.full }
func (m *moving) Close() error               { m.closed = true; return nil }

func newLab(t *testing.T) *lab {
	t.Helper()
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	l := &lab{t: t, url: b.URL(), dir: filepath.Join(t.TempDir(), "permitted")}
	l.out = filepath.Dir(l.dir)
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	dirs, err := CheckDirs([]string{l.dir})
	if err != nil {
		t.Fatal(err)
	}
	agent := &Agent{Dirs: dirs, Log: func(string, ...any) {}, Memory: func(func(error)) Memory { return new(moving) }}
	ctx, cancel := context.WithCancel(context.Background())
	c := l.connect()
	ended := make(chan error, 1)
	go func() {
		ended <- tunnel.Serve(ctx, tunnel.ServeOptions{
			Conn: c, Kind: wire.CaptureStreams, Host: "web", Refuse: func() error { return nil }, Address: func() string { return "" },
			Log: func(string, ...any) {}, Handle: agent.Serve,
		})
	}()
	l.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(l.stop)
	for until := time.Now().Add(time.Minute); c.NumSubscriptions() == 0 && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) connect() *nats.Conn {
	l.t.Helper()
	c, err := nats.Connect(l.url, nats.Timeout(time.Minute))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(c.Close)
	return c
}

func (l *lab) open() *Host {
	l.t.Helper()
	h, err := Open(context.Background(), l.connect(), "web")
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(h.Close)
	return h
}

const sample = "../../../format/pcap/testdata/tcpdump-ns.pcap"

// put writes a file into a directory, the bytes of the sample up to a length.
func (l *lab) put(dir, name string, length int) string {
	l.t.Helper()
	b, err := os.ReadFile(sample)
	path := filepath.Join(dir, name)
	if err == nil {
		err = os.WriteFile(path, b[:min(length, len(b))], 0o644)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return path
}

func TestACaptureReadAtAnAgentIsTheOneReadHere(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	h := l.open()
	for _, length := range []int{1 << 20, 5000} { // the second is cut, which gives a warning
		path := l.put(l.dir, "web.pcap", length)
		got, warnings, err := h.Read(context.Background(), path, path, "db", nil)
		if err != nil {
			t.Fatal(err)
		}
		var w, said trace.Warnings
		want, err := pcap.Read(context.Background(), path, "db", &w, nil)
		if err != nil {
			t.Fatal(err)
		}
		said.AddAll(warnings)
		if !slices.Equal(said.Lines(), w.Lines()) || (length == 5000) != (len(w.Lines()) > 0) {
			t.Errorf("warnings %q, want %q", said.Lines(), w.Lines())
		}
		if !slices.Equal(slices.Concat(slices.Collect(got.Packets.Chunks())...), slices.Concat(slices.Collect(want.Packets.Chunks())...)) || !reflect.DeepEqual(got.Flows, want.Flows) ||
			got.Granularity != want.Granularity || !reflect.DeepEqual(got.Interfaces, want.Interfaces) || got.Host != want.Host || got.File != want.File {
			t.Errorf("of %d bytes another capture", length)
		}
	}
}

func TestADirectoryStandsForItsCapturesByName(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	b, a := l.put(l.dir, "b.pcap", 1<<20), l.put(l.dir, "a.pcap", 5000)
	l.put(l.dir, ".hidden.pcap", 5000)
	l.put(l.dir, "empty", 0)
	if err := os.WriteFile(filepath.Join(l.dir, "notes.txt"), []byte("no capture"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(l.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(l.dir, "within"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("gone", filepath.Join(l.dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.pcap", filepath.Join(l.dir, "c.pcap")); err != nil {
		t.Fatal(err)
	}
	files, err := l.open().List(context.Background(), l.dir)
	want := []File{{a, 5000}, {b, sizeOf(t, b)}, {filepath.Join(l.dir, "c.pcap"), 5000}}
	if err != nil || !slices.Equal(files, want) {
		t.Errorf("%v, %v, want %v", files, err, want)
	}
}

// A capture that was left out in silence would make the result incomplete.
func TestADirectoryWithWhatMayNotBeOpenedIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.put(l.dir, "a.pcap", 5000)
	if err := os.Symlink(a, filepath.Join(l.dir, "out.pcap")); err != nil { // absolute, which os.Root refuses even though it leads back in
		t.Fatal(err)
	}
	var refused *RefusedError
	files, err := l.open().List(context.Background(), l.dir)
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "out.pcap") {
		t.Errorf("%v, %v", files, err)
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// What is not below a permitted directory is not opened, whatever the path says and wherever links lead. The stream goes on after a refusal.
func TestAnAgentOpensNothingOutsideItsDirectories(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	good, outside := l.put(l.dir, "web.pcap", 1<<20), l.put(l.out, "secret.pcap", 1<<20)
	beside := l.dir + "-beside"
	if err := os.Mkdir(beside, 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"file": outside, "relative": "../secret.pcap", "dir": l.out, "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(l.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(l.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := l.open()
	for _, path := range []string{
		outside, l.out, "/", "/etc/passwd", "/proc/self/environ", "", ".", "web.pcap", l.dir + "/../secret.pcap", l.dir + "/./web.pcap", l.dir + "//web.pcap", l.dir + "/",
		l.put(beside, "web.pcap", 1<<20), filepath.Join(l.dir, "file"), filepath.Join(l.dir, "relative"), filepath.Join(l.dir, "dir"), filepath.Join(l.dir, "dir/secret.pcap"),
		filepath.Join(l.dir, "loop"), filepath.Join(l.dir, "pipe"), filepath.Join(l.dir, "none"), good + "\x00",
	} {
		var refused *RefusedError
		if files, err := h.List(context.Background(), path); !errors.As(err, &refused) {
			t.Errorf("list of %q: %v, %v", path, files, err)
		}
		if _, _, err := h.Read(context.Background(), path, path, "web", nil); !errors.As(err, &refused) {
			t.Errorf("read of %q: %v", path, err)
		}
	}
	if _, _, err := h.Read(context.Background(), good, good, "web", nil); err != nil {
		t.Errorf("after refusals: %v", err)
	}
}

func TestAnAgentThatEndsIsNotARefusal(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	path := l.put(l.dir, "web.pcap", 1<<20)
	h := l.open()
	if _, err := h.List(context.Background(), path); err != nil {
		t.Fatal(err)
	}
	l.stop()
	_, _, err := h.Read(context.Background(), path, path, "web", nil)
	var refused *RefusedError
	if err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), `the agent of "web"`) {
		t.Errorf("%v", err)
	}
	if _, err := Open(context.Background(), l.connect(), "web"); err == nil || !strings.Contains(err.Error(), "--allow-captures") {
		t.Errorf("no agent: %v", err)
	}
}

func TestReadingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	h := l.open()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.List(ctx, l.dir); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestDirectoriesThatAreNotThereAreRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{filepath.Join(t.TempDir(), "none"), sample} {
		if _, err := CheckDirs([]string{dir}); err == nil {
			t.Errorf("%s was taken", dir)
		}
	}
}
