package collect_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

// lines are what is said to people.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

// A host that speaks for others, or listens to them, is refused by the broker, and people are told.
func TestWhoTakesAnothersNameIsRefusedAndTold(t *testing.T) {
	s := besiege(t, store.Limits{})
	if answer := s.open(wire.Open{Session: "s", Trace: uuid}); answer.Error != "" {
		t.Fatal(answer.Error)
	}
	s.goodGoesOn()
	before := files(t, filepath.Join(s.servers, "s", "web"))
	x := []byte("x")
	chunk := rawChunk(1, 0, "s", "kernel_1_0", 0, 1, x, x)
	cut := rawChunk(3, 0, "s", "kernel_1_0", 0, 0, nil, nil)
	request := wire.Encode(wire.Open{Version: wire.Version, Session: "forged", Trace: uuid})
	alive := wire.Encode(wire.AgentStatus{Version: wire.Version, Host: "web", Session: "s", Recorded: 666})
	ack := wire.Encode(wire.Ack{Server: "a", Session: "s", Files: []wire.State{{Name: "kernel_1_0", Have: 1 << 40}}})
	attempts := 0
	for _, m := range []struct {
		subject string
		b       []byte
	}{
		{wire.OfHost("web", "data"), chunk}, {wire.OfHost("web", "data"), cut}, {wire.OfHostServer("web", "fill", "a"), cut}, {wire.OfHostServer("web", "open", "a"), request},
		{wire.OfHost("web", "alive"), alive}, {wire.OfHost("web", "ack"), ack}, {wire.OfHost("evil", "ack"), ack}, {wire.OfHost("web", "plan"), x}, {wire.OfHost("web", "command"), x},
		{wire.OfHost("web", "inbox") + ".x", ack}, {wire.ServerAlive("a"), x}, {wire.ServerAlive("ghost"), wire.Encode(wire.ServerStatus{Version: wire.Version, Server: "ghost"})},
		{wire.SessionRecord("a"), x}, {wire.ControlStart, x}, {wire.ControlStop, x}, {wire.ReadFrom("a"), x}, {wire.OfSession("s", wire.EventsJSON), x}, {"$SYS.REQ.SERVER.PING", x}, {"_INBOX.x", x},
	} {
		s.publish(m.subject, m.b)
		attempts++
	}
	for _, subject := range []string{wire.OfHost("web", "data"), wire.OfHost("web", "ack"), wire.OfHost("web", "command"), wire.AllAgentsAlive, wire.OfSession("*", ">"), "meridian.>", ">", "_INBOX.>", "$SYS.>"} {
		if _, err := s.evil.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		attempts++
	}
	for i := range attempts {
		select {
		case err := <-s.refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%v", err)
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("%d of %d attempts are refused", i, attempts)
		}
	}
	if _, err := nats.Connect(s.broker.URL(), nats.Secure(&tls.Config{InsecureSkipVerify: true})); err == nil {
		t.Error("a client without a key connects")
	}
	for until := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) { // a line a second
		if text := s.said.text(); strings.Contains(text, "Publish Violation") && strings.Contains(text, "lines more)") {
			break
		} else if time.Now().After(until) {
			t.Fatalf("people are told %q", text)
		}
		_, _ = nats.Connect(s.broker.URL(), nats.Secure(&tls.Config{InsecureSkipVerify: true}))
	}
	if a := s.agent("web"); a.Recorded == 666 {
		t.Error("a forged state is believed")
	}
	if got := files(t, filepath.Join(s.servers, "s", "web")); !equal(before, got) {
		t.Errorf("the other host has %v, and had %v", sizes(got), sizes(before))
	}
	if files := s.stored(); files != nil {
		t.Errorf("%v are written", files)
	}
}
