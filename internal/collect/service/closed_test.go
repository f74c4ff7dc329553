package service

import (
	"errors"
	"strings"
	"testing"
	"time"

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
	c, err := nats.Connect(b.URL(), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	bad := Options{Name: Server, Log: t.Logf, Endpoints: []Endpoint{{Name: "good", Subject: "a.b"}, {Name: "bad", Subject: "a b"}}}
	if _, err := Start(c, bad); err == nil {
		t.Error("a subject with a space is served")
	}
	if _, err := c.Request("a.b", nil, time.Minute); err == nil || !strings.Contains(err.Error(), nats.ErrNoResponders.Error()) {
		t.Errorf("the other endpoint answers still: %v", err)
	}
	c.Close()
	if _, err := Start(c, Options{Name: Server, Log: t.Logf}); err == nil {
		t.Error("a service on a closed connection")
	}
}

// A request that a service has been sent before it ends is not lost: the answer says that it can be asked again.
func TestRequestsThatComeWhileAServiceEndsAreAnsweredAsIfNobodyWereThere(t *testing.T) {
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	serving, asking := connect(t, b.URL()), connect(t, b.URL())
	begun, release := make(chan struct{}, 2), make(chan struct{})
	stop, err := Start(serving, Options{Name: Server, Log: t.Logf, Endpoints: []Endpoint{{Name: "slow", Subject: "slow", Queue: "one", Handle: func([]byte) (any, string) {
		begun <- struct{}{}
		<-release
		return []byte("done"), ""
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	ask := func() <-chan string {
		inbox, err := asking.SubscribeSync(asking.NewInbox())
		if err == nil {
			err = asking.PublishRequest("slow", inbox.Subject, nil)
		}
		if err == nil {
			err = asking.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		out := make(chan string, 1)
		go func() {
			m, err := inbox.NextMsg(time.Minute)
			if err != nil { // ErrNoResponders is one
				out <- err.Error()
			} else {
				out <- string(m.Data)
			}
		}()
		return out
	}
	first := ask()
	<-begun
	second := ask() // it waits behind the first
	if err := serving.Flush(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		stop()
		close(ended)
	}()
	time.Sleep(50 * time.Millisecond) // until it takes nothing more
	close(release)
	if got := <-first; got != "done" {
		t.Errorf("the request that was at work was answered %q", got)
	}
	if got := <-second; got != nats.ErrNoResponders.Error() && got != "done" {
		t.Errorf("the request behind it was answered %q", got)
	}
	<-ended
	if _, err := asking.Request("slow", nil, time.Minute); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("a request afterwards: %v", err)
	}
}

func connect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	c, err := nats.Connect(url, nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
