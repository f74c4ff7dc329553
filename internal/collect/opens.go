package collect

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"
)

// openers is how many hosts are answered at a time: each answer may read 96 MiB.
const openers = 4

// opens are the requests of hosts to store them, of each the latest: a host that asks often waits for itself alone. Hosts take turns.
type opens struct {
	word chan struct{} // holds a word while somebody waits

	mu      sync.Mutex
	latest  map[string]*nats.Msg // that wait, by host
	turns   []string             // hosts that wait, in the order in which they came
	answers map[string]bool      // hosts that are being answered
}

func newOpens() *opens {
	return &opens{word: make(chan struct{}, 1), latest: make(map[string]*nats.Msg), answers: make(map[string]bool)}
}

// add takes a request of a host.
func (o *opens) add(host string, m *nats.Msg) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.latest[host] == nil {
		if len(o.turns) >= maxAgents {
			return // it asks again
		}
		o.turns = append(o.turns, host)
	}
	o.latest[host] = m
	o.tell()
}

func (o *opens) tell() {
	select {
	case o.word <- struct{}{}:
	default:
	}
}

// next waits for a host that is not being answered, until ctx ends: m is nil then. end is called when it is answered.
func (o *opens) next(ctx context.Context) (host string, m *nats.Msg, end func()) {
	for {
		if host, m := o.take(); m != nil {
			return host, m, func() { o.end(host) }
		}
		select {
		case <-ctx.Done():
			return "", nil, nil
		case <-o.word:
		}
	}
}

func (o *opens) take() (string, *nats.Msg) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, host := range o.turns {
		if o.answers[host] {
			continue
		}
		m := o.latest[host]
		delete(o.latest, host)
		o.turns = append(o.turns[:i], o.turns[i+1:]...)
		o.answers[host] = true
		if len(o.turns) > 0 {
			o.tell() // others that wait for a word
		}
		return host, m
	}
	return "", nil
}

func (o *opens) end(host string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.answers, host)
	if o.latest[host] != nil {
		o.tell()
	}
}
