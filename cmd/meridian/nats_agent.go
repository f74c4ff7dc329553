package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/trust"
	"meridian/internal/collect/wire"
)

// Times of an agent that begins. A client holds its lock while it dials, so dialling must not last.
const (
	dialWithin = 2 * time.Second // name look-up included
	lookAgain  = 20 * time.Millisecond
)

// reachWithin is how long an agent that begins waits for a connection. Then recording begins without a broker. A test makes it longer.
var reachWithin = 3 * time.Second

// agentConn is the connection of an agent, which may come to stand later than the agent.
//
// A client that retries its first connection does so without a word: an attempt that is refused is seen in the last error and in the number of attempts
// alone. Its own first attempt would hold up the agent, so the dialer fails it.
type agentConn struct {
	*nats.Conn
	key *trust.Key
	say func(format string, args ...any)

	dial    atomic.Bool           // the client's own attempt is over
	again   atomic.Bool           // an attempt was made beside the agent: the first does not wait
	failed  atomic.Int64          // attempts that reached nobody
	refused atomic.Bool           // the broker refuses the agent, which was told
	away    atomic.Pointer[error] // why the last of these attempts failed; nil before
}

// connectAsHost connects to a broker as the agent of a host: answers come on a subject of its own, since it may listen to no other. A broker that
// refuses the key is an error. One that cannot be reached is none: the connection is made when the broker is there. Run [agentConn.watch] beside it.
func connectAsHost(urls, host string, key *trust.Key, say func(format string, args ...any)) (*agentConn, error) {
	if err := checkBrokers(urls); err != nil {
		return nil, err
	}
	options, err := natsOptions("meridian agent "+host, key, say)
	if err != nil {
		return nil, err
	}
	a := &agentConn{key: key, say: say}
	a.Conn, err = nats.Connect(brokerURLs(urls), append(options, nats.CustomInboxPrefix(wire.OfHost(host, "inbox")), a.retry)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", redacted(urls), err)
	}
	a.dial.Store(true)
	switch connected, err := a.wait(int64(len(strings.Split(urls, ",")))); {
	case err != nil:
		a.Close()
		return nil, fmt.Errorf("%s: %w", redacted(urls), trust.Explain(err, key))
	case !connected:
		say("%s cannot be reached yet (%s): what is recorded meanwhile is sent later; is 'meridian server' running there?", redacted(urls), a.whyAway(strings.Contains(urls, ",")))
	}
	return a, nil
}

// retry is the option of the client.
func (a *agentConn) retry(o *nats.Options) error {
	failed, delay := o.ReconnectErrCB, o.CustomReconnectDelayCB
	o.ReconnectErrCB = func(c *nats.Conn, err error) {
		if !errors.Is(err, errNotTried) {
			a.away.Store(&err)
			a.failed.Add(1)
			failed(c, err)
		}
	}
	o.ConnectedCB = func(c *nats.Conn) {
		if a.failed.Load() > 0 || a.refused.Load() {
			a.say("connected to %s", c.ConnectedUrlRedacted())
		}
		a.refused.Store(false)
	}
	o.CustomReconnectDelayCB = func(attempts int) time.Duration {
		switch {
		case !a.again.Swap(true):
			return 0
		case a.refused.Load():
			return refusedEvery
		}
		return delay(attempts)
	}
	// The dialer looks names up, within its time.
	o.RetryOnFailedConnect, o.SkipHostLookup, o.CustomDialer = true, true, a
	return nil
}

var errNotTried = errors.New("not tried yet")

// Dial is that of a [nats.CustomDialer].
func (a *agentConn) Dial(network, address string) (net.Conn, error) {
	if !a.dial.Load() {
		return nil, errNotTried
	}
	return net.DialTimeout(network, address, dialWithin)
}

// wait waits for the connection until a broker refuses it, or none of so many addresses answers, or for a while.
func (a *agentConn) wait(addresses int64) (connected bool, err error) {
	for until := time.Now().Add(reachWithin); time.Now().Before(until); time.Sleep(lookAgain) {
		if a.IsConnected() {
			return true, nil
		}
		err := a.refusal()
		if err != nil && a.Stats().Reconnects >= uint64(trust.Believed(err)) {
			return false, err
		}
		if err == nil && a.failed.Load() >= addresses {
			break
		}
	}
	return false, nil
}

// whyAway says why no broker was reached. Of several brokers it says which one is meant.
func (a *agentConn) whyAway(several bool) string {
	last := a.away.Load()
	if last == nil || *last == nil {
		return fmt.Sprintf("no answer within %v", reachWithin)
	}
	err := *last
	var op *net.OpError
	if errors.As(err, &op) && !several {
		err = op.Err
		var call *os.SyscallError
		if errors.As(err, &call) {
			err = call.Err // without the name of the system call
		}
	}
	return err.Error()
}

// refusal returns the error of a broker that refused the last attempt.
func (a *agentConn) refusal() error {
	if err := a.LastError(); !a.IsConnected() && trust.Refused(err) {
		return err
	}
	return nil
}

// watch says that the broker refuses the agent, until there was a connection: from then on the client does. It returns when ctx ends.
func (a *agentConn) watch(ctx context.Context) {
	tick := time.NewTicker(reconnectEvery)
	defer tick.Stop()
	for !a.IsConnected() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := a.refusal(); err != nil && !a.refused.Swap(true) {
			a.say("%v", trust.Explain(err, a.key))
		}
	}
}

// redacted returns URLs without passwords.
func redacted(list string) string {
	urls := strings.Split(list, ",")
	for i, s := range urls {
		if u, err := url.Parse(s); err == nil {
			urls[i] = u.Redacted()
		}
	}
	return strings.Join(urls, ",")
}
