package session_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"meridian/internal/collect/broker"
	"meridian/internal/collect/disktest"
	"meridian/internal/collect/session"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
	"meridian/internal/testseed"
)

func open(t testing.TB, dir string) *session.Registry {
	t.Helper()
	r, err := session.OpenRegistry(dir, store.OS{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What servers know of a session does not depend on the order in which they heard of it, nor on how often, and a power cut takes none of it.
func TestServersAgreeInWhateverOrderRecordsCome(t *testing.T) {
	testseed.Check(t, func(r *rapid.T) {
		at := func(label string) time.Time {
			return time.Unix(rapid.Int64Range(1, 3).Draw(r, label), 0).UTC()
		}
		var records []wire.Session
		for range rapid.IntRange(1, 6).Draw(r, "records") {
			x := wire.Session{Version: wire.Version, Name: rapid.SampledFrom([]string{"a", "b"}).Draw(r, "session"), Since: at("since"), Args: rapid.SliceOfN(rapid.SampledFrom([]string{"-q", "--x"}), 0, 2).Draw(r, "args")}
			if rapid.Bool().Draw(r, "stopped") {
				x.Stopped = at("stop")
			}
			records = append(records, x)
		}
		know := func(order []wire.Session) (out []string) {
			disk := disktest.New(rapid.Uint64().Draw(r, "seed"))
			g, err := session.OpenRegistry("dir", disk)
			for _, x := range order {
				if err == nil {
					_, _, err = g.Put(x)
				}
			}
			if err == nil {
				g, err = session.OpenRegistry("dir", disk.Cut()) // as the next process reads it after a power cut
			}
			if err != nil {
				r.Fatal(err)
			}
			for _, x := range g.All() {
				out = append(out, string(wire.Encode(x)))
			}
			return out
		}
		want := know(records)
		again := append(rapid.Permutation(records).Draw(r, "order"), rapid.Permutation(records).Draw(r, "once more")...)
		if got := know(again); !slices.Equal(got, want) {
			r.Errorf("%v, and in another order %v", want, got)
		}
	})
}

func TestARecordThatIsNotAServersIsNamed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{", `{"session":"other","since":"2026-01-01T00:00:00Z"}`, `{"session":"../x"}`} {
		dir := t.TempDir()
		path := filepath.Join(dir, ".sessions", "night.json")
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := session.OpenRegistry(dir, store.OS{}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// lab is a broker and directors.
type lab struct {
	t *testing.T
	b *broker.Broker
}

func newLab(t *testing.T) *lab {
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return &lab{t, b}
}

func (l *lab) connect() *nats.Conn {
	l.t.Helper()
	c, err := nats.Connect(l.b.URL(), nats.Timeout(time.Minute))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(c.Close)
	return c
}

// direct runs the director of a server.
func (l *lab) direct(name, dir string) (stop func()) {
	l.t.Helper()
	c := l.connect()
	d := session.NewDirector(session.Options{Conn: c, Server: name, Registry: open(l.t, dir), Log: l.t.Logf,
		Stored: func() (map[string]map[string]int64, error) { return nil, nil }})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			l.t.Error(err)
		}
		c.Close()
	})
	l.t.Cleanup(stop)
	return stop
}

// agent is one that does what it is told, and says so.
type agent struct {
	mu       sync.Mutex
	status   wire.AgentStatus
	commands []wire.Command
	told     chan struct{}
	stop     func()
}

func (l *lab) agent(host string) *agent {
	l.t.Helper()
	a := &agent{status: wire.AgentStatus{Version: wire.Version, State: wire.StateWaiting}, told: make(chan struct{}, 64)}
	c := l.connect()
	if _, err := c.Subscribe(wire.OfHost(host, "command"), func(m *nats.Msg) {
		x, err := wire.Decode[wire.Command](m.Data)
		if err != nil || x.Check() != nil {
			l.t.Errorf("%s", m.Data)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.commands = append(a.commands, x)
		a.status.Session, a.status.State = x.Session, wire.StateRecording
		if x.Do == wire.Stop {
			a.status.State = wire.StateEnded
		}
		_ = m.Respond(wire.Encode(wire.HostState{Host: "forged", State: a.status.State}))
		a.told <- struct{}{}
	}); err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	speak := func() {
		a.mu.Lock()
		b := wire.Encode(a.status)
		a.mu.Unlock()
		_ = c.Publish(wire.OfHost(host, "alive"), b)
	}
	var speaking sync.WaitGroup
	speaking.Go(func() {
		for ctx.Err() == nil {
			speak()
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	a.stop = sync.OnceFunc(func() {
		cancel()
		speaking.Wait()
		speak()
		_ = c.Flush() // what an agent says that stops later comes behind it
		c.Close()
	})
	l.t.Cleanup(a.stop)
	return a
}

// next waits for a command. The one before may come once more meanwhile: an agent says after it what it said before it.
func (a *agent) next(t *testing.T, do wire.Verb, name string) {
	t.Helper()
	for late := time.After(60 * time.Second); ; {
		select {
		case <-a.told:
		case <-late:
			t.Fatalf("no command to %s session %s", do, name)
		}
		a.mu.Lock()
		c := a.commands[len(a.commands)-1]
		a.mu.Unlock()
		if c.Do == do && c.Session == name {
			return
		}
	}
}

func (l *lab) ask(subject string, c wire.Control) wire.Outcome {
	l.t.Helper()
	c.Version = wire.Version
	asker := l.connect()
	// Servers are starting, or end.
	m, err := asker.Request(subject, wire.Encode(c), time.Minute)
	for until := time.Now().Add(60 * time.Second); errors.Is(err, nats.ErrNoResponders) && time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		m, err = asker.Request(subject, wire.Encode(c), time.Minute)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	out, err := wire.Decode[wire.Outcome](m.Data)
	if err != nil {
		l.t.Fatal(err)
	}
	return out
}

// settled waits until servers answer, which they do when they have heard each other.
func (l *lab) settled(servers ...string) {
	l.t.Helper()
	c := l.connect()
	for until := time.Now().Add(60 * time.Second); len(servers) > 0; {
		inbox, err := c.SubscribeSync(c.NewInbox())
		if err == nil {
			err = c.PublishRequest(wire.ControlSessions, inbox.Subject, nil)
		}
		for err == nil && len(servers) > 0 {
			var m *nats.Msg
			if m, err = inbox.NextMsg(2 * time.Second); err == nil {
				list, _ := wire.Decode[wire.SessionList](m.Data)
				servers = slices.DeleteFunc(servers, func(s string) bool { return s == list.Server })
			}
		}
		if time.Now().After(until) {
			l.t.Fatalf("no answer from %q: %v", servers, err)
		}
	}
}

func TestAServerThatMissedTheStopDoesNotBeginTheSessionAnew(t *testing.T) {
	t.Parallel()
	l, first, second := newLab(t), t.TempDir(), t.TempDir()
	stop := l.direct("a", first)
	l.direct("b", second)
	web := l.agent("web")
	if out := l.ask(wire.ControlStart, wire.Control{Session: "night", Hosts: []string{"web"}}); out.Error != "" || len(out.Hosts) != 1 || out.Hosts[0].Host != "web" {
		t.Fatalf("%+v", out)
	}
	web.next(t, wire.Start, "night")
	for deadline := time.Now().Add(60 * time.Second); len(open(t, first).All()) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the other server has not heard of the session")
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	l.ask(wire.ControlStop, wire.Control{Session: "night"})
	web.next(t, wire.Stop, "night")
	l.direct("a", first) // it is the first by name and commands hosts
	if out := l.ask(wire.ControlStart, wire.Control{Session: "morning"}); out.Error != "" {
		t.Fatalf("%+v", out)
	}
	web.next(t, wire.Start, "morning")
	l.settled("a", "b")
	if x, _ := open(t, first).Get("night"); x.Running() {
		t.Error("the server believes that the session runs")
	}
	web.mu.Lock()
	defer web.mu.Unlock()
	stopped := slices.IndexFunc(web.commands, func(c wire.Command) bool { return c.Do == wire.Stop })
	for _, c := range web.commands[stopped:] {
		if c.Do == wire.Start && c.Session == "night" {
			t.Errorf("%+v", web.commands)
		}
	}
}

func TestAHostThatWasAwayJoins(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.direct("a", t.TempDir())
	out := l.ask(wire.ControlStart, wire.Control{Session: "night", Hosts: []string{"web", "db"}})
	if len(out.Hosts) != 2 || out.Hosts[0].State != wire.StateAway || out.Hosts[0].Error == "" {
		t.Errorf("%+v", out)
	}
	web := l.agent("web")
	web.next(t, wire.Start, "night")
	other := l.agent("other") // which is none of the session's
	if out := l.ask(wire.ControlStart, wire.Control{Session: "x", Hosts: []string{"other"}}); out.Error != "" {
		t.Errorf("%+v", out)
	}
	other.next(t, wire.Start, "x")
	web.mu.Lock() // as one that was started again and has forgotten what it was told
	web.status.Session, web.status.State = "", wire.StateWaiting
	web.mu.Unlock()
	web.next(t, wire.Start, "night")
}

// TestASilentHostIsNamedWhenItsSessionIsStopped stops a session of all hosts when its hosts have been silent for longer than one that is there.
// One of them had ended, and all of it is stored: nothing is left to be told.
func TestASilentHostIsNamedWhenItsSessionIsStopped(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.direct("a", t.TempDir())
	web, db := l.agent("web"), l.agent("db")
	l.settled("a")
	for until := time.Now().Add(60 * time.Second); ; { // until they are heard
		out := l.ask(wire.ControlStart, wire.Control{Session: "night"})
		if out.Error != "" || time.Now().After(until) {
			t.Fatalf("%+v", out)
		}
		if len(out.Hosts) == 2 {
			break
		}
	}
	web.next(t, wire.Start, "night")
	db.next(t, wire.Start, "night")
	db.mu.Lock()
	db.status.State, db.status.Ended, db.status.Recorded, db.status.Acknowledged = wire.StateEnded, true, 100, 100
	db.mu.Unlock()
	web.mu.Lock()
	web.status.Recorded = 100
	web.mu.Unlock()
	l.says("night", "web", wire.StateRecording)
	l.says("night", "db", wire.StateEnded)
	db.stop() // first: it has been silent for longer
	web.stop()
	l.says("night", "web", wire.StateAway)
	out := l.ask(wire.ControlStop, wire.Control{Session: "night"})
	if len(out.Hosts) != 1 || out.Hosts[0].Host != "web" || out.Hosts[0].State != wire.StateAway || !strings.Contains(out.Hosts[0].Error, "it is told when it comes") {
		t.Errorf("%+v", out)
	}
}

// says waits until servers tell that a host of a session is in a state.
func (l *lab) says(session, host string, state wire.StateName) {
	l.t.Helper()
	c := l.connect()
	for until := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		m, err := c.Request(wire.ControlSessions, nil, 10*time.Second)
		if err == nil {
			list, _ := wire.Decode[wire.SessionList](m.Data)
			for _, x := range list.Sessions {
				if x.Name == session && slices.ContainsFunc(x.Stats, func(h wire.SessionOfHost) bool { return h.Host == host && h.State == state }) {
					return
				}
			}
		}
		if time.Now().After(until) {
			l.t.Fatalf("%s of session %s is not %s: %v", host, session, state, err)
		}
	}
}

func TestRequestsThatNobodyMayMakeAreRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.direct("a", t.TempDir())
	for _, c := range []wire.Control{{Session: "../x"}, {}, {Session: "x", Hosts: []string{"a/b"}}, {Session: "x", Args: []string{"a\x00"}}, {Session: "x", Args: []string{strings.Repeat("x", 1<<20)}}} {
		if out := l.ask(wire.ControlStart, c); out.Error == "" {
			t.Errorf("%.100v: %+v", c, out)
		}
	}
	if out := l.ask(wire.ControlStop, wire.Control{Session: "x"}); !strings.Contains(out.Error, "not known") {
		t.Errorf("%+v", out)
	}
	c := l.connect()
	l.settled("a")
	m, err := c.Request(wire.ControlStart, []byte(`{"version":99,"session":"x"}`), time.Minute)
	if err != nil || !strings.Contains(string(m.Data), "version 99") {
		t.Errorf("%v, %s", err, m.Data)
	}
	heard, err := c.SubscribeSync(wire.OfHost("web", "ack")) // where no operator listens
	if err != nil {
		t.Fatal(err)
	}
	if err := c.PublishRequest(wire.ControlStop, wire.OfHost("web", "ack"), wire.Encode(wire.Control{Version: wire.Version, Session: "x"})); err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	l.ask(wire.ControlStop, wire.Control{Session: "x"}) // which comes behind it
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := heard.Pending(); n != 0 || err != nil {
		t.Errorf("%d answers at another host's subject: %v", n, err)
	}
}
