package service

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/broker"
)

// A service that cannot be offered is no service: nothing of it is left for others to find.
func TestAServiceThatCannotBeOfferedIsAnError(t *testing.T) {
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	bad := Options{Name: Server, Log: t.Logf, Endpoints: []Endpoint{{Name: "good", Subject: "a.b"}, {Name: "bad", Subject: "a b"}}}
	if _, err := Start(c, bad); err == nil {
		t.Error("a subject with a space is served")
	}
	if _, err := c.Request("a.b", nil, nats.DefaultTimeout); err == nil || !strings.Contains(err.Error(), nats.ErrNoResponders.Error()) {
		t.Errorf("the other endpoint answers still: %v", err)
	}
	c.Close()
	if _, err := Start(c, Options{Name: Server, Log: t.Logf}); err == nil {
		t.Error("a service on a closed connection")
	}
}
