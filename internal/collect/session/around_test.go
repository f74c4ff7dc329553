package session_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/session"
	"meridian/internal/collect/wire"
)

// Hosts that send on demand are asked all at once where none is named; one that is away is told as that, and what no agent may be
// asked is asked of none.
func TestASpanIsAskedOfTheHostsThatSendOnDemand(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.direct("a", t.TempDir())
	web, waiting := l.agent("web"), l.agent("waiting")
	web.mu.Lock()
	web.status = wire.AgentStatus{Version: wire.Version, OnDemand: true, Session: "fleet"}
	web.mu.Unlock()
	now := time.Now().UnixNano()
	span := wire.Control{Session: "crash", FromNs: now - 1e9, ToNs: now}
	var out wire.Outcome
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if out = l.ask(wire.ControlAround, span); out.Error != "" || len(out.Hosts) > 0 || time.Now().After(end) {
			break
		}
	}
	if out.Error != "" || len(out.Hosts) != 1 || out.Hosts[0].Host != "web" {
		t.Fatalf("%+v", out)
	}
	web.next(t, wire.Send, "crash")
	named := span
	named.Hosts = []string{"away", "web", "away"}
	if out := l.ask(wire.ControlAround, named); len(out.Hosts) != 2 || out.Hosts[0].State != wire.StateAway || out.Hosts[0].Error == "" || out.Hosts[1].Host != "web" {
		t.Errorf("%+v", out)
	}
	for says, c := range map[string]wire.Control{
		"span":          {Session: "crash", FromNs: 2, ToNs: 1},
		"../crash":      {Session: "../crash", FromNs: 1, ToNs: 2},
		"known already": {Session: "night", FromNs: 1, ToNs: 2},
	} {
		if c.Session == "night" {
			if out := l.ask(wire.ControlStart, wire.Control{Session: "night", Hosts: []string{"waiting"}}); out.Error != "" {
				t.Fatal(out.Error)
			}
		}
		if out := l.ask(wire.ControlAround, c); !strings.Contains(out.Error, says) {
			t.Errorf("%+v: %+v", c, out)
		}
	}
	waiting.mu.Lock()
	defer waiting.mu.Unlock()
	if slices.ContainsFunc(waiting.commands, func(c wire.Command) bool { return c.Do == wire.Send }) {
		t.Error("an agent that does not send on demand was asked")
	}
}

// A host records one session at a time. Which one is in the way is said, with what mends it.
func TestASessionOnAHostThatRecordsAnotherIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.direct("a", t.TempDir())
	start := func(name string, hosts ...string) string {
		return l.ask(wire.ControlStart, wire.Control{Session: name, Hosts: hosts}).Error
	}
	if err := start("night", "web", "db"); err != "" {
		t.Fatal(err)
	}
	if err := start("night", "web", "db"); err != "" {
		t.Errorf("asked for twice: %s", err)
	}
	for _, test := range []struct {
		name  string
		hosts []string
		says  string
	}{
		{"night", []string{"web"}, "known already"},
		{"day", []string{"cache", "db"}, "session night runs on host db"},
		{"all", nil, "session night runs on host db"},
		{"other", []string{"cache"}, ""},
		{"third", []string{"cache"}, "session other runs on host cache"},
	} {
		if err := start(test.name, test.hosts...); err != test.says && (test.says == "" || !strings.Contains(err, test.says)) {
			t.Errorf("%s on %v: %q", test.name, test.hosts, err)
		}
	}
	for _, name := range []string{"night", "other"} {
		if out := l.ask(wire.ControlStop, wire.Control{Session: name}); out.Error != "" {
			t.Error(out.Error)
		}
	}
	if err := start("all"); err != "" {
		t.Error(err)
	}
	if err := start("one", "web"); !strings.Contains(err, "session all runs on host web") {
		t.Error(err)
	}
	if err := start("every"); !strings.Contains(err, "session all runs on all hosts") {
		t.Error(err)
	}
}

// Of servers that all know a session the first by name commands. The others are passive until it is silent, and none believes a server
// whose name or version is none.
func TestOnlyTheFirstServerCommandsHosts(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	c := l.connect()
	for _, status := range []string{`{"version":99,"server":"0"}`, `{"version":1,"server":"../0"}`, `{`} {
		stop := make(chan struct{})
		said := make(chan struct{})
		go func() {
			defer close(said)
			for {
				_ = c.Publish(wire.ServerAlive("0"), []byte(status))
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		}()
		t.Cleanup(func() { close(stop); <-said })
	}
	stopB := l.direct("b", t.TempDir())
	l.direct("a", t.TempDir())
	web := l.agent("web")
	l.settled("a", "b")
	if out := l.ask(wire.ControlStart, wire.Control{Session: "night"}); out.Error != "" {
		t.Fatal(out.Error)
	}
	web.next(t, wire.Start, "night")
	stopB()
	web.mu.Lock()
	web.status.Session, web.status.State = "", wire.StateWaiting
	web.mu.Unlock()
	web.next(t, wire.Start, "night")
}

func TestADirectorWhoseConnectionIsClosedEnds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	c := l.connect()
	c.Close()
	d := session.NewDirector(session.Options{Conn: c, Server: "a", Registry: open(t, t.TempDir()), Stored: func() (map[string]map[string]int64, error) { return nil, nil }})
	if err := d.Run(context.Background()); err == nil || !strings.Contains(err.Error(), nats.ErrConnectionClosed.Error()) {
		t.Error(err)
	}
}
