package main

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/broker"
	"meridian/internal/collect/wire"
)

// The broker tells the two apart. That a server is silent does not: on a busy machine it answers late.
func TestAServerThatAnswersLateIsThereAndNoneIsNot(t *testing.T) {
	t.Parallel()
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	c, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ask := func() ([]wire.SessionList, []string, error) {
		return askAll[wire.SessionList](t.Context(), c, wire.ControlSessions, nil, nil, time.Hour)
	}
	if _, _, err := ask(); !errors.Is(err, errNoServer) {
		t.Errorf("without a server: %v", err)
	}
	if _, err := c.Subscribe(wire.ControlSessions, func(m *nats.Msg) {
		time.Sleep(2 * serversSpeak)
		_ = m.Respond(wire.Encode(wire.SessionList{Version: wire.Version, Server: "s"})) // the answer is missed otherwise
	}); err != nil {
		t.Fatal(err)
	}
	if lists, missing, err := ask(); err != nil || len(lists) != 1 || lists[0].Server != "s" || len(missing) > 0 {
		t.Errorf("%v, %q, %v", lists, missing, err)
	}
}
