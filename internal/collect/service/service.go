// Package service makes a server or an agent a NATS micro service: clients such as 'nats micro ls' find it by requests to $SRV.PING, $SRV.INFO and
// $SRV.STATS, with the endpoints at which it takes requests, how many came, how many failed and how long they took.
//
//	$SRV.STATS.meridian-agent --> name, version of the protocol, endpoints with counts, each with data of ours
//
// A request that is not answered yet holds up others at the same endpoint, and those at no other.
package service

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"meridian/internal/collect/wire"
)

// Names of our services.
const (
	Server = "meridian-server"
	Agent  = "meridian-agent"
)

// Options say what a service is.
type Options struct {
	Name        string // [Server] or [Agent]
	Description string
	Metadata    map[string]string
	Endpoints   []Endpoint
	Log         func(format string, args ...any)
}

// Endpoint is where requests are taken.
type Endpoint struct {
	Name    string
	Subject string
	Queue   string // of the services that share it one answers; "" for all
	// Check refuses a request that is not to be answered at all; nil for none.
	Check func(subject, reply string) error
	// Handle returns the answer, bytes or what becomes JSON, and why the request failed, "" if it did not.
	Handle func(data []byte) (answer any, failed string)
	Stats  func() any // what is told besides the counts; nil for nothing
}

// Start starts a service, and returns when the broker has heard of it, or cannot be reached for a second. stop ends it when its requests
// have been answered. Requests that come while it ends, at endpoints of which one service answers, are answered as if nobody were there:
// they can be asked again.
func Start(c *nats.Conn, o Options) (stop func(), err error) {
	running := new(gate)
	stats := make(map[string]func() any, len(o.Endpoints))
	for _, e := range o.Endpoints {
		stats[e.Name] = e.Stats
	}
	s, err := micro.AddService(c, micro.Config{
		Name: o.Name, Version: fmt.Sprintf("%d.0.0", wire.Version), Description: o.Description, Metadata: o.Metadata,
		StatsHandler: func(e *micro.Endpoint) any {
			if tell := stats[e.Name]; tell != nil {
				return tell()
			}
			return nil
		},
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) { o.Log("%s: %s", err.Subject, err.Description) },
	})
	if err != nil {
		return nil, err
	}
	stop = func() {
		running.close()
		_ = s.Stop() // the connection may be gone
		_ = c.FlushTimeout(brokerWithin)
	}
	for _, e := range o.Endpoints {
		queue := micro.WithEndpointQueueGroup(e.Queue)
		if e.Queue == "" {
			queue = micro.WithEndpointQueueGroupDisabled()
		}
		err := s.AddEndpoint(e.Name, micro.HandlerFunc(func(r micro.Request) {
			if e.Check != nil {
				if err := e.Check(r.Subject(), r.Reply()); err != nil {
					o.Log("%s: refused: %v", r.Subject(), err)
					return
				}
			}
			switch {
			case running.enter():
				defer running.leave()
				e.answer(r, o.Log)
			case e.Queue != "":
				_ = r.Respond(nil, nobody) // the connection may be gone
			}
		}), micro.WithEndpointSubject(e.Subject), queue)
		if err != nil {
			stop()
			return nil, err
		}
	}
	_ = c.FlushTimeout(brokerWithin) // a connection that is away says it when it is there again
	return stop, nil
}

// brokerWithin is how long the broker is waited for until it knows that a service has begun, or has ended: until then it may send requests.
const brokerWithin = time.Second

// nobody makes an answer what a broker answers where nobody listens: [nats.ErrNoResponders].
var nobody = micro.WithHeaders(micro.Headers{"Status": {"503"}})

// answer answers a request.
func (e *Endpoint) answer(r micro.Request, log func(format string, args ...any)) {
	answer, failed := e.Handle(r.Data())
	b, err := bytesOf(answer)
	switch {
	case err != nil:
	case failed != "":
		err = r.Error("400", failed, b)
	default:
		err = r.Respond(b)
	}
	if err != nil {
		log("%s: %v", r.Subject(), err)
	}
}

func bytesOf(answer any) ([]byte, error) {
	if b, is := answer.([]byte); is {
		return b, nil
	}
	return json.Marshal(answer)
}

// gate lets requests in until it is closed, and then waits for those that are inside.
type gate struct {
	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.inside.Add(1)
	}
	return !g.closed
}

func (g *gate) leave() { g.inside.Done() }

func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.inside.Wait()
}
