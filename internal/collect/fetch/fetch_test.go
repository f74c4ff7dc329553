package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"meridian/internal/collect/broker"
	"meridian/internal/collect/fetch"
	"meridian/internal/collect/service"
	"meridian/internal/collect/wire"
)

// lab is a server with a trace of one host, and a client.
type lab struct {
	t        *testing.T
	ask      *nats.Conn
	dir, out string
}

const size = 11<<20 + 123

func newLab(t *testing.T) *lab {
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	connect := func() *nats.Conn {
		c, err := nats.Connect(b.URL(), nats.Timeout(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	l := &lab{t: t, ask: connect(), dir: t.TempDir(), out: t.TempDir()}
	host := filepath.Join(l.dir, "night", "web")
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content) // never fails
	err = errors.Join(os.MkdirAll(filepath.Join(host, "packets"), 0o700), os.WriteFile(filepath.Join(host, "kernel_1_0"), content, 0o600), os.WriteFile(filepath.Join(host, "empty_1_0"), nil, 0o600),
		os.WriteFile(filepath.Join(host, "packets", "web.pcapng"), content[:777], 0o600), os.WriteFile(filepath.Join(host, "metadata"), []byte("/* CTF 1.8 */"), 0o600),
		os.WriteFile(filepath.Join(host, ".trace"), []byte("uuid-1\n"), 0o600), os.WriteFile(filepath.Join(l.dir, "secret"), []byte("x"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	c := connect()
	stop, err := service.Start(c, service.Options{Name: service.Server, Log: t.Logf, Endpoints: fetch.Endpoints(l.dir, "s")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) list() (list wire.FileList) {
	l.t.Helper()
	m, err := l.ask.Request(wire.ControlFiles, wire.Encode(wire.Files{Version: wire.Version, Session: "night", Host: "web"}), time.Minute)
	if err == nil {
		list, err = wire.Decode[wire.FileList](m.Data)
	}
	if err != nil || list.Error != "" {
		l.t.Fatal(err, list.Error)
	}
	return list
}

// fetch fetches the host, until so many bytes are there.
func (l *lab) fetch(until int64) error {
	l.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h := fetch.Host{Conn: l.ask, Session: "night", Name: "web", Lists: []wire.FileList{l.list()}, Out: l.out, Log: l.t.Logf, Told: func(done, _ int64) {
		if done >= until {
			cancel()
		}
	}}
	_, err := h.Run(ctx)
	return err
}

func (l *lab) same() {
	l.t.Helper()
	for _, name := range []string{"kernel_1_0", "empty_1_0", "packets/web.pcapng", "metadata"} {
		want, err := os.ReadFile(filepath.Join(l.dir, "night", "web", name))
		if err != nil {
			l.t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(l.out, "web", name)); err != nil || !bytes.Equal(got, want) {
			l.t.Errorf("%s: %d bytes of %d: %v", name, len(got), len(want), err)
		}
	}
}

func TestWhatIsInterruptedIsNotThereUntilTheNextAttemptHasCompletedIt(t *testing.T) {
	l := newLab(t)
	if err := l.fetch(5 << 20); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(l.out, "web")); err == nil {
		t.Error("half a trace is there")
	}
	partial := filepath.Join(l.out, ".web.partial", "kernel_1_0")
	if info, err := os.Stat(partial); err != nil || info.Size() < 4<<20 || info.Size() >= size {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(filepath.Join(l.out, ".web.partial", "gone_1_0"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.fetch(1 << 40); err != nil {
		t.Fatal(err)
	}
	l.same()
	if _, err := os.Stat(filepath.Join(l.out, "web", "gone_1_0")); err == nil {
		t.Error("a file is there that the server does not have")
	}
	if err := l.fetch(1 << 40); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("again: %v", err)
	}
}

func TestWhatWasDamagedHereMeanwhileIsFetchedAnew(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"a flipped bit": func(b []byte) []byte { b[1000] ^= 1; return b },
		"more than the server has": func(b []byte) []byte {
			return append(b, make([]byte, size)...)
		},
		"nothing": func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			if err := l.fetch(5 << 20); !errors.Is(err, context.Canceled) {
				t.Fatalf("%v", err)
			}
			partial := filepath.Join(l.out, ".web.partial", "kernel_1_0")
			b, err := os.ReadFile(partial)
			if err == nil {
				err = os.WriteFile(partial, damage(b), 0o600)
			}
			if err == nil {
				err = l.fetch(1 << 40)
			}
			if err != nil {
				t.Fatal(err)
			}
			l.same()
		})
	}
}

func TestAnAttemptForAnotherTraceIsNotGoneOnWith(t *testing.T) {
	l := newLab(t)
	_ = l.fetch(5 << 20)
	if err := os.WriteFile(filepath.Join(l.out, ".web.partial", ".trace"), []byte("uuid-2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.fetch(1 << 40); err != nil {
		t.Fatal(err)
	}
	l.same()
}

func TestNothingIsReadOutsideOfAHostsDirectory(t *testing.T) {
	l := newLab(t)
	if err := os.Symlink(filepath.Join(l.dir, "secret"), filepath.Join(l.dir, "night", "web", "link")); err != nil {
		t.Fatal(err)
	}
	for _, r := range []wire.Read{
		{Session: "night", Host: "web", File: "../../secret"}, {Session: "..", Host: "web", File: "metadata"}, {Session: "night", Host: "..", File: "secret"},
		{Session: "night", Host: "web", File: "/etc/passwd"}, {Session: "night", Host: "web", File: ".trace"}, {Session: "night", Host: "web", File: "link"}, {Session: "night", Host: "web", File: "packets"},
		{Session: "night", Host: "web", File: "kernel_1_0", Length: wire.MaxRead + 1}, {Session: "night", Host: "web", File: "kernel_1_0", Offset: -1, Length: 1},
		{Session: "night", Host: "web", File: "kernel_1_0", Length: wire.MaxSum + 1, Sum: true}, {Session: "night", Host: "web", File: "absent", Length: 1},
	} {
		r.Version = wire.Version
		r.Length = max(r.Length, 1)
		m, err := l.ask.Request(wire.ReadFrom("s"), wire.Encode(r), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get(micro.ErrorHeader) == "" {
			t.Errorf("%+v is answered with %d bytes", r, len(m.Data))
		}
	}
}
