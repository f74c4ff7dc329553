package ondemand_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect"
	"meridian/internal/collect/broker"
	"meridian/internal/collect/ondemand"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

// lab is a broker, a server and an agent over a directory.
type lab struct {
	t           *testing.T
	url         string
	dir, stored string
	asks        *nats.Conn
}

func (l *lab) connect(options ...nats.Option) *nats.Conn {
	l.t.Helper()
	c, err := nats.Connect(l.url, append(options, nats.Timeout(time.Minute))...)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(c.Close)
	return c
}

// run runs something until the test ends.
func (l *lab) run(f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	l.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			l.t.Error(err)
		}
	})
}

func newLab(t *testing.T, settle time.Duration) *lab {
	t.Helper()
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	l := &lab{t: t, url: b.URL(), dir: t.TempDir(), stored: t.TempDir()}
	l.asks = l.connect()
	s, err := store.New(l.stored, store.OS{}, store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	server, err := collect.NewServer(collect.ServerOptions{Conn: wire.Over(l.connect()), Name: "s", Store: s, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	l.run(server.Run)
	left := filepath.Join(l.dir, ondemand.Folder, "left") // by an agent that was killed
	if err := os.MkdirAll(left, 0o777); err != nil {
		t.Fatal(err)
	}
	a, err := ondemand.New(ondemand.Options{Conn: l.connect(nats.CustomInboxPrefix(wire.OfHost("web", "inbox"))), Host: "web", Session: "fleet", Dir: l.dir, Settle: settle, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Errorf("%s is there still", left)
	}
	l.run(a.Run)
	return l
}

// metadata makes the directory a trace.
func (l *lab) metadata() {
	l.t.Helper()
	text := `/* CTF 1.8 */
trace { major = 1; minor = 8; uuid = "06434ed9-4c1d-4bf1-aebd-a67cc9560c3a"; byte_order = le; };
clock { name = monotonic; freq = 1000000000; offset_s = 1700000000; offset = 0; absolute = true; };
`
	if err := os.WriteFile(filepath.Join(l.dir, "metadata"), []byte(text), 0o666); err != nil {
		l.t.Fatal(err)
	}
}

// send commands the agent to send a span.
func (l *lab) send(session string, from, to time.Time) wire.HostState {
	l.t.Helper()
	c := wire.Command{Version: wire.Version, Do: wire.Send, Session: session, FromNs: from.UnixNano(), ToNs: to.UnixNano()}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		m, err := l.asks.Request(wire.OfHost("web", "command"), wire.Encode(c), time.Minute)
		if err == nats.ErrNoResponders && time.Now().Before(end) {
			continue // the agent has not begun
		}
		if err != nil {
			l.t.Fatal(err)
		}
		state, err := wire.Decode[wire.HostState](m.Data)
		if err != nil {
			l.t.Fatal(err)
		}
		return state
	}
}

// becomes sends until the state is another than sending.
func (l *lab) becomes(session string, from, to time.Time) (state wire.HostState) {
	l.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if state = l.send(session, from, to); state.State != wire.StateSending {
			return state
		}
	}
	l.t.Fatalf("it is %+v still", state)
	return state
}

func TestASpanIsSentOnceHoweverOftenItIsAskedFor(t *testing.T) {
	t.Parallel()
	l := newLab(t, 0)
	at := time.Now().Add(-time.Second)
	if s := l.becomes("first", at, at); s.State != wire.StateFailed {
		t.Errorf("without a trace: %+v", s)
	}
	l.metadata()
	for range 3 {
		if s := l.becomes("first", at, at); s.State != wire.StateEnded || !strings.Contains(s.Error, "nothing was recorded") {
			t.Errorf("%+v", s)
		}
	}
	if _, err := os.Stat(filepath.Join(l.stored, "first", "web", "metadata")); err != nil {
		t.Error(err)
	}
	if s := l.send("first", at, at.Add(1)); s.State != wire.StateRefused || !strings.Contains(s.Error, "another span") {
		t.Errorf("another span by the same name: %+v", s)
	}
	if s := l.send("fleet", at, at); s.State != wire.StateRefused {
		t.Errorf("the recorder's own session: %+v", s)
	}
	if s := l.send("far", at, at.Add(10*time.Minute)); s.State != wire.StateRefused || !strings.Contains(s.Error, "ahead") {
		t.Errorf("a span far ahead: %+v", s)
	}
	if left, err := os.ReadDir(filepath.Join(l.dir, ondemand.Folder)); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestOneSpanIsSentAtATimeAndStopsWithTheAgent(t *testing.T) {
	t.Parallel()
	l := newLab(t, time.Hour)
	l.metadata()
	at := time.Now()
	if s := l.send("first", at, at); s.State != wire.StateSending {
		t.Errorf("%+v", s)
	}
	for n := range 3 {
		if s := l.send(fmt.Sprint("other ", n), at, at); s.State != wire.StateBusy {
			t.Errorf("%+v", s)
		}
	}
}
