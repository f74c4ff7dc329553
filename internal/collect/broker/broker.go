// Package broker is a NATS server within a program, without JetStream: it carries messages and stores nothing.
package broker

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"meridian/internal/collect/wire"
)

// Options say how the broker listens.
type Options struct {
	Listen string // HOST:PORT; port 0 for a free one
	Name   string
}

// startWithin is how long a broker may take until it listens.
const startWithin = 10 * time.Second

// pendingPerClient is what may wait for a slow client before the broker lets go of it. All of an agent's window must fit.
const pendingPerClient = 256 << 20

// Broker is a running server.
type Broker struct{ s *server.Server }

// Start starts a broker that listens at an address.
func Start(o Options) (*Broker, error) {
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen address %q: %w", o.Listen, err)
	}
	number, err := strconv.Atoi(port)
	if err != nil || number < 0 || number > 65535 {
		return nil, fmt.Errorf("listen address %q: %q is no port: write a number from 0 to 65535", o.Listen, port)
	}
	if number == 0 {
		number = server.RANDOM_PORT
	}
	s, err := server.NewServer(&server.Options{
		ServerName: o.Name, Host: host, Port: number,
		NoSigs: true, NoLog: true,
		NoFastProducerStall: true, // a slow subscriber misses messages, and holds up nobody
		MaxPayload:          int32(wire.MaxRange + wire.MaxOverhead), MaxPending: pendingPerClient,
		WriteDeadline: 10 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(startWithin) {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, errors.New("the broker does not listen at " + o.Listen + ": is the port in use?")
	}
	return &Broker{s}, nil
}

// URL returns the address for clients.
func (b *Broker) URL() string { return b.s.ClientURL() }

// InProcess is the option of a client in the same process, which needs no socket.
func (b *Broker) InProcess() nats.Option { return nats.InProcessServer(b.s) }

// Close ends the broker and waits until it has ended.
func (b *Broker) Close() {
	b.s.Shutdown()
	b.s.WaitForShutdown()
}
