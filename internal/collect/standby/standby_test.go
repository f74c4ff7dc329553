package standby_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect"
	"meridian/internal/collect/broker"
	"meridian/internal/collect/standby"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

// lab is a broker, a server, and a recorder that writes one packet and waits.
type lab struct {
	t        *testing.T
	b        *broker.Broker
	dir      string // of the agent
	stored   string
	ask      *nats.Conn
	recorded []standby.Recording
	fails    error
	mu       sync.Mutex
}

func newLab(t *testing.T) *lab {
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	l := &lab{t: t, b: b, dir: filepath.Join(t.TempDir(), "agent"), stored: t.TempDir()}
	l.ask = l.connect()
	return l
}

func (l *lab) connect(options ...nats.Option) *nats.Conn {
	l.t.Helper()
	c, err := nats.Connect(l.b.URL(), append(options, nats.Timeout(time.Minute))...)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(c.Close)
	return c
}

// running runs f until the test or the returned function ends it.
func (l *lab) running(f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			l.t.Error(err)
		}
	})
	l.t.Cleanup(stop)
	return stop
}

func (l *lab) serve() (stop func()) {
	l.t.Helper()
	s, err := store.New(l.stored, store.OS{}, store.Limits{})
	if err != nil {
		l.t.Fatal(err)
	}
	server, err := collect.NewServer(collect.ServerOptions{Conn: wire.Over(l.connect()), Name: "s", Store: s, Log: l.t.Logf})
	if err != nil {
		l.t.Fatal(err)
	}
	return l.running(server.Run)
}

func (l *lab) record(ctx context.Context, r standby.Recording) (string, error) {
	l.mu.Lock()
	l.recorded = append(l.recorded, r)
	fails := l.fails
	l.mu.Unlock()
	packet := make([]byte, 4096)
	binary.LittleEndian.PutUint32(packet, 0xc1fc1fc1)
	binary.LittleEndian.PutUint64(packet[56:], uint64(len(packet))*8)
	metadata := `trace { major = 1; minor = 8; byte_order = le; uuid = "2a6422d0-6cee-11e0-8c08-cb07d7b3a564"; };` + "\n"
	if err := errors.Join(os.WriteFile(filepath.Join(r.Dir, "kernel_1_0"), packet, 0o600), os.WriteFile(filepath.Join(r.Dir, "metadata"), []byte(metadata), 0o600)); err != nil {
		return "", err
	}
	if fails != nil {
		return "", fails
	}
	r.Ready()
	<-ctx.Done()
	return "", nil
}

// agent runs one whose other sessions wait for so long until one is sent.
func (l *lab) agent(drain time.Duration) (stop func()) {
	l.t.Helper()
	a, err := standby.New(standby.Options{
		Conn: l.connect(nats.CustomInboxPrefix(wire.OfHost("web", "inbox"))), Host: "web", Dir: l.dir, Record: l.record, Drain: drain, Log: l.t.Logf,
		Check: func(args []string) error {
			if len(args) > 0 {
				return errors.New("no arguments")
			}
			return nil
		},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return l.running(a.Run)
}

// command has the agent do something and returns its answer.
func (l *lab) command(do wire.Verb, session string, args ...string) wire.HostState {
	l.t.Helper()
	b := wire.Encode(wire.Command{Version: wire.Version, Do: do, Session: session, Args: args})
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		m, err := l.ask.Request(wire.OfHost("web", "command"), b, 5*time.Second)
		if (errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout)) && time.Now().Before(until) {
			continue // it is starting, or the one before took the command as it ended
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

// becomes waits until the agent says that it is in a state with a session.
func (l *lab) becomes(session string, state wire.StateName) {
	l.t.Helper()
	sub, err := l.ask.SubscribeSync(wire.OfHost("web", "alive"))
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	for until := time.Now().Add(time.Minute); ; {
		m, err := sub.NextMsg(time.Until(until))
		if err != nil {
			l.t.Fatalf("session %s does not become %s", session, state)
		}
		if s, err := wire.Decode[wire.AgentStatus](m.Data); err == nil && s.Session == session && s.State == state {
			return
		}
	}
}

func (l *lab) expect(got wire.HostState, state wire.StateName, problem string) {
	l.t.Helper()
	if got.State != state || !strings.Contains(got.Error, problem) || problem == "" && got.Error != "" {
		l.t.Errorf("%+v, want %s %q", got, state, problem)
	}
}

func (l *lab) recordings() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.recorded)
}

func TestASessionIsRecordedOnceHoweverOftenItIsCommanded(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve()
	stop := l.agent(time.Minute)
	l.expect(l.command(wire.Start, "night"), wire.StateRecording, "")
	l.expect(l.command(wire.Start, "night"), wire.StateRecording, "")
	l.expect(l.command(wire.Start, "day"), wire.StateBusy, "session night")
	l.expect(l.command(wire.Stop, "day"), wire.StateWaiting, "")
	if s := l.command(wire.Stop, "night"); s.State != wire.StateSending && s.State != wire.StateEnded {
		t.Errorf("%+v", s)
	}
	l.becomes("night", wire.StateEnded)
	l.expect(l.command(wire.Start, "night"), wire.StateEnded, "")
	stop()
	l.agent(time.Minute)
	l.expect(l.command(wire.Start, "night"), wire.StateEnded, "")
	if n := l.recordings(); n != 1 {
		t.Errorf("recorded %d times", n)
	}
	if b, err := os.ReadFile(filepath.Join(l.stored, "night", "web", "kernel_1_0")); err != nil || len(b) != 4096 {
		t.Errorf("%d bytes on the server: %v", len(b), err)
	}
}

func TestAnAgentThatIsStartedAgainGoesOn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	stop := l.agent(0)
	l.expect(l.command(wire.Start, "night"), wire.StateRecording, "")
	stop()
	l.agent(0)
	for until := time.Now().Add(time.Minute); l.recordings() < 2 && time.Now().Before(until); time.Sleep(time.Millisecond) {
	}
	l.becomes("night", wire.StateRecording)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.recorded) != 2 || l.recorded[0].Continued || !l.recorded[1].Continued || l.recorded[0].Dir != l.recorded[1].Dir {
		t.Errorf("%+v", l.recorded)
	}
}

func TestWhatCouldNotBeSentIsSentLater(t *testing.T) {
	t.Parallel()
	l := newLab(t) // without a server
	l.agent(0)
	l.expect(l.command(wire.Start, "night"), wire.StateRecording, "")
	l.expect(l.command(wire.Stop, "night"), wire.StateSending, "")
	l.expect(l.command(wire.Start, "day"), wire.StateRecording, "") // does not wait for what nobody takes
	l.serve()
	l.command(wire.Stop, "day")
	for _, session := range []string{"day", "night"} {
		path := filepath.Join(l.stored, session, "web", "kernel_1_0")
		for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if b, err := os.ReadFile(path); err == nil && len(b) == 4096 {
				break
			} else if time.Now().After(until) {
				t.Fatalf("%s: %d bytes, %v", session, len(b), err)
			}
		}
	}
}

func TestASessionWaitsUntilTheOneBeforeIsSent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.agent(time.Hour)
	l.command(wire.Start, "night")
	l.command(wire.Stop, "night")
	l.expect(l.command(wire.Start, "day"), wire.StateBusy, "rest of session night")
	l.serve()
	l.becomes("night", wire.StateEnded)
	l.expect(l.command(wire.Start, "day"), wire.StateRecording, "")
	l.command(wire.Stop, "day")
	l.becomes("day", wire.StateEnded)
}

func TestARecorderThatFailsIsToldAndNotStartedAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve()
	l.fails = errors.New("no such group")
	l.agent(time.Minute)
	l.expect(l.command(wire.Start, "night"), wire.StateFailed, "no such group")
	l.expect(l.command(wire.Start, "night"), wire.StateFailed, "no such group")
	l.becomes("night", wire.StateFailed)
	if n := l.recordings(); n != 1 {
		t.Errorf("started %d times", n)
	}
}

func TestWhatNoServerMayAskForIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if err := os.MkdirAll(filepath.Join(l.dir, "mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "mine", "metadata"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.agent(time.Minute)
	l.expect(l.command(wire.Start, "x", "-o"), wire.StateRefused, "no arguments")
	l.expect(l.command(wire.Start, "mine"), wire.StateRefused, "another session")
	l.expect(l.command(wire.Start, "../x"), wire.StateRefused, "must not")
	l.expect(l.command("erase", "x"), wire.StateRefused, "erase")
	if n := l.recordings(); n != 0 {
		t.Errorf("recorded %d times", n)
	}
}
