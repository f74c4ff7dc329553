package collect_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

// An agent that looks for servers does not wait until they speak by themselves.
func TestAServerAnswersAnAgentThatLooksForOneAndNobodyElse(t *testing.T) {
	l := newLab(t)
	l.serve("a", t.TempDir(), store.OS{})
	c := l.connectAs("web")
	answers := make(chan *nats.Msg, 16)
	if _, err := c.ChanSubscribe(wire.OfHost("web", "inbox")+".>", answers); err != nil {
		t.Fatal(err)
	}
	ask := func(host, reply string) {
		state := wire.Encode(wire.AgentStatus{Version: wire.Version, Host: host, Session: "s"})
		if err := c.PublishRequest(wire.OfHost(host, "alive"), reply, state); err != nil {
			t.Fatal(err)
		}
	}
	own := wire.OfHost("web", "inbox") + ".own"
	await := time.After(time.Minute)
	again := time.NewTicker(200 * time.Millisecond) // the server may not have subscribed yet
	defer again.Stop()
	for {
		ask("db", wire.OfHost("web", "inbox")+".of-db") // of another host
		ask("mail", wire.OfHost("web", "inbox"))
		ask("web", own)
		select {
		case m := <-answers:
			if len(m.Data) == 0 {
				continue // the broker's: nobody listens yet
			}
			if m.Subject != own {
				t.Fatalf("an answer at %s", m.Subject)
			}
			if s, err := wire.Decode[wire.ServerStatus](m.Data); err != nil || s.Server != "a" || s.Version != wire.Version {
				t.Fatalf("%+v, %v", s, err)
			}
			return
		case <-again.C:
		case <-await:
			t.Fatal("no answer")
		}
	}
}
