package trust_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/broker"
)

func TestAKeyHasSoManyConnectionsAndTakesNoRoomOfOthers(t *testing.T) {
	m := initialise(t)
	web, evil := m.invite("web"), m.invite("evil")
	config, err := m.TLS()
	if err != nil {
		t.Fatal(err)
	}
	const limit = 5
	said := make(chan string, 100)
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test", Users: m.users(), TLS: config, Limits: broker.Limits{PerKey: limit},
		Log: func(format string, _ ...any) { said <- format }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	first, err := dial(t, b, web)
	if err != nil {
		t.Fatal(err)
	}
	server := m.read(m.ServerKey())
	for range 3 * limit { // that of servers is not limited
		if _, err := dial(t, b, server); err != nil {
			t.Fatal(err)
		}
	}
	closed := make(chan int, 100)
	const excess = 7
	for i := range limit + excess {
		options := []nats.Option{nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { closed <- i })}
		if i < limit {
			if _, err := dial(t, b, evil, options...); err != nil {
				t.Fatal(err)
			}
		} else if _, err := connect(t, b.URL(), evil, options...); err != nil {
			closed <- i // before the client knew that it was open
		}
	}
	for range excess {
		select {
		case i := <-closed:
			if i < limit {
				t.Errorf("connection %d is closed, one of the first %d", i, limit)
			}
		case <-time.After(60 * time.Second):
			t.Fatal("a key has more connections than it may have")
		}
	}
	for text := ""; !strings.Contains(text, "its key has more than"); { // the broker has other lines to say
		select {
		case text = <-said:
		case <-time.After(60 * time.Second):
			t.Fatal("nothing is said of connections that were closed")
		}
	}
	if _, err := dial(t, b, m.read(m.ServerKey())); errors.Join(err, first.Flush()) != nil {
		t.Errorf("others: %v", err)
	}
	if !first.IsConnected() || len(closed) > 0 {
		t.Errorf("%d more connections are closed; the other host's stands: %v", len(closed), first.IsConnected())
	}
}
