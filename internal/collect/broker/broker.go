// Package broker is a NATS server within a program, without JetStream: it carries messages and stores nothing.
//
// With users it asks each client for a key, and permits what [wire.PermissionsOf] says of the user's role. Without users it permits all to everybody.
package broker

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"meridian/internal/collect/wire"
)

// Options say how the broker listens.
type Options struct {
	Listen string // HOST:PORT; port 0 for a free one
	Name   string
	// Users are those who may connect; nil permits all to everybody. TLS is how they know the broker; nil for a connection that is not encrypted.
	Users []wire.User
	TLS   *tls.Config
	Log   func(format string, args ...any) // lines for people; nil for none
	Limits
}

// Limits of a broker. A field that is 0 has the default.
type Limits struct {
	Connections   int // at a time, 8192
	PerKey        int // of them with one key, 64; those of servers are not limited
	Subscriptions int // of a connection, 16384: a server has two for each host
	Message       int // bytes, what a chunk needs at most
}

func (l Limits) withDefaults() Limits {
	if l.Connections == 0 {
		l.Connections = 8192
	}
	if l.PerKey == 0 {
		l.PerKey = 64
	}
	if l.Subscriptions == 0 {
		l.Subscriptions = 16384
	}
	if l.Message == 0 {
		l.Message = wire.MaxRange + wire.MaxOverhead
	}
	return l
}

// Times of a broker.
const (
	startWithin    = 10 * time.Second // it listens
	writeWithin    = 10 * time.Second // a client takes something
	encryptWithin  = 10 * time.Second // a client has ended the handshake of TLS: many come at once when a broker is started again
	identifyWithin = 12 * time.Second // and said who it is
	answerWithin   = 5 * time.Minute  // a message is answered
)

// pendingPerClient is what may wait for a slow client before the broker lets go of it. All of an agent's window must fit.
const pendingPerClient = 256 << 20

// Broker is a running server.
type Broker struct {
	s    *server.Server
	o    Options
	port int

	mu    sync.Mutex
	users map[string]wire.User // by their keys

	stop  chan struct{} // closed to end what watches connections
	ended chan struct{}
}

// Start starts a broker that listens at an address.
func Start(o Options) (*Broker, error) {
	if err := CheckFree(o.Listen); err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	b := &Broker{o: o, port: number, stop: make(chan struct{}), ended: make(chan struct{})}
	options, err := b.options(host)
	if err != nil {
		return nil, err
	}
	if b.s, err = server.NewServer(options); err != nil {
		return nil, err
	}
	if o.Log != nil {
		b.s.SetLogger(&refusals{say: o.Log}, false, false)
	}
	b.s.Start()
	b.setKeys(o.Users)
	go b.watchConnections()
	if !b.s.ReadyForConnections(startWithin) {
		b.Close()
		return nil, fmt.Errorf("listen address %q: the broker did not listen within %v: start it again", o.Listen, startWithin)
	}
	b.port = b.s.Addr().(*net.TCPAddr).Port
	return b, nil
}

// options are those of the NATS server.
func (b *Broker) options(host string) (*server.Options, error) {
	limits := b.o.withDefaults()
	o := &server.Options{
		ServerName: b.o.Name, Host: host, Port: b.port,
		NoSigs: true, NoLog: true,
		NoFastProducerStall: true, // a slow subscriber misses messages, and holds up nobody
		MaxPayload:          int32(limits.Message), MaxPending: pendingPerClient,
		MaxConn: limits.Connections, MaxSubs: limits.Subscriptions,
		WriteDeadline: writeWithin,
		TLSConfig:     b.o.TLS, TLSTimeout: encryptWithin.Seconds(), AuthTimeout: identifyWithin.Seconds(),
	}
	if b.port == 0 {
		o.Port = server.RANDOM_PORT
	}
	for _, u := range b.o.Users {
		p, err := wire.PermissionsOf(u.Role, u.Name)
		if err != nil {
			return nil, err
		}
		o.Nkeys = append(o.Nkeys, &server.NkeyUser{Nkey: u.Key, Permissions: permissions(p)})
	}
	return o, nil
}

func permissions(p wire.Permissions) *server.Permissions {
	out := &server.Permissions{Publish: &server.SubjectPermission{Allow: p.Publish}, Subscribe: &server.SubjectPermission{Allow: p.Subscribe}}
	if p.Answers {
		out.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: answerWithin}
	}
	return out
}

// SetUsers replaces those who may connect. Connections of others are closed before it returns. The broker must have been started with users.
func (b *Broker) SetUsers(users []wire.User) error {
	if b.o.Users == nil || len(users) == 0 {
		return errors.New("a broker with users stays one, and one without them too")
	}
	host, _, err := net.SplitHostPort(b.o.Listen)
	if err != nil {
		return err
	}
	next := &Broker{o: b.o, port: b.port}
	next.o.Users = users
	options, err := next.options(host)
	if err != nil {
		return err
	}
	if err := b.s.ReloadOptions(options); err != nil {
		return err
	}
	b.o.Users = users
	b.setKeys(users)
	return nil
}

// URL returns the address for clients on this machine.
func (b *Broker) URL() string {
	host, _, _ := net.SplitHostPort(b.o.Listen)
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "nats://"
	if b.o.TLS != nil {
		scheme = "tls://"
	}
	return scheme + net.JoinHostPort(host, strconv.Itoa(b.port))
}

// CheckListen refuses an address that other machines reach: a broker without users permits all to everybody there.
func CheckListen(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, err)
	}
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("address %q is reached from other machines, where anybody could send and read traces", address)
}

// InProcess returns the address and the option of a client in the same process, which needs neither a socket nor TLS, but its key.
func (b *Broker) InProcess() (url string, option nats.Option) {
	_, address, _ := strings.Cut(b.URL(), "://")
	return "nats://" + address, func(o *nats.Options) error {
		o.Secure, o.TLSConfig, o.InProcessServer = false, nil, b.s
		return nil
	}
}

// Close ends the broker and waits until it has ended.
func (b *Broker) Close() {
	close(b.stop)
	<-b.ended
	b.s.Shutdown()
	b.s.WaitForShutdown()
}
