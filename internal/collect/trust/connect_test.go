package trust_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/trust"
)

// A broker closes the connections that are being made while it reads its users anew.
func TestAHostThatConnectsWhileOthersAreInvitedIsNotRefused(t *testing.T) {
	m := initialise(t)
	web := m.invite("web")
	few := m.users()
	m.invite("db")
	many := m.users()
	b := m.start()
	options, err := web.Options()
	if err != nil {
		t.Fatal(err)
	}
	options = append(options, nats.Timeout(time.Minute))
	for range 40 {
		changed := make(chan error, 1)
		go func() {
			time.Sleep(rand.N(5 * time.Millisecond))
			changed <- b.SetUsers(many)
		}()
		c, err := trust.Connect(b.URL(), options...)
		if err != nil {
			t.Error(err)
		} else {
			c.Close()
		}
		if err := <-changed; err != nil {
			t.Fatal(err)
		}
		few, many = many, few
	}
}
