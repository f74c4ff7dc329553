package main

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/trust"
	"meridian/internal/collect/wire"
)

// defaultBroker is where 'meridian server' listens and agents look for it, unless they are told.
const defaultBroker = "127.0.0.1:4222"

// How often a lost broker is tried again, for ever, and one that refuses the key: it may have been started without its keys.
const (
	reconnectEvery = 250 * time.Millisecond
	refusedEvery   = 5 * time.Second
)

// natsOptions are those of all our clients. key is nil where the broker asks for none. say prints a line for people.
func natsOptions(name string, key *trust.Key, say func(format string, args ...any)) ([]nats.Option, error) {
	var refused atomic.Bool
	failed := func(err error) (told bool) {
		if !trust.Refused(err) {
			return false
		}
		if !refused.Swap(true) {
			say("%v", trust.Explain(err, key))
		}
		return true
	}
	options := []nats.Option{
		nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.IgnoreAuthErrorAbort(),
		nats.CustomReconnectDelay(func(int) time.Duration {
			every := reconnectEvery
			if refused.Load() {
				every = refusedEvery
			}
			return every + rand.N(every/4)
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				say("the connection to the broker is lost: %v", err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			if !failed(err) {
				refused.Store(false)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) {
			refused.Store(false)
			say("connected to %s again", c.ConnectedUrlRedacted())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if !failed(err) {
				say("broker: %v", err)
			}
		}),
	}
	if key == nil {
		return options, nil
	}
	own, err := key.Options()
	return append(options, own...), err
}

// connectTo connects to a broker.
func connectTo(urls, name string, key *trust.Key, say func(format string, args ...any), more ...nats.Option) (*nats.Conn, error) {
	if err := checkBrokers(urls); err != nil {
		return nil, err
	}
	options, err := natsOptions(name, key, say)
	if err != nil {
		return nil, err
	}
	c, err := trust.Connect(brokerURLs(urls), append(options, more...)...)
	switch {
	case err == nil:
		return c, nil
	case trust.Refused(err):
		return nil, fmt.Errorf("%s: %w", urls, trust.Explain(err, key))
	}
	return nil, fmt.Errorf("%s: %w: is 'meridian server' running there?", urls, err)
}

// connectAsOperator connects to a broker with the key of operators from a file; "" for none. Without URLs those of the key are meant.
func connectAsOperator(urls, file string, say func(format string, args ...any)) (*nats.Conn, error) {
	key, err := keyFile("key", file, wire.OperatorRole, say)
	if err != nil {
		return nil, err
	}
	switch {
	case urls == "" && key != nil:
		urls = key.URLs()
	case urls == "":
		urls = defaultBroker
	}
	return connectTo(urls, "meridian operator", key, say)
}

// keyFile reads a key of a role from the file that a flag names; nil for "".
func keyFile(flag, file string, role wire.Role, say func(format string, args ...any)) (*trust.Key, error) {
	if file == "" {
		return nil, nil
	}
	key, exposed, err := trust.ReadKey(file)
	if err != nil {
		return nil, wrong("--%s: %v", flag, err)
	}
	if exposed != nil {
		say("warning: %v", exposed)
	}
	if key.Role != role {
		return nil, wrong("--%s: %s is the key of %s %s, and one of the role %s is wanted", flag, file, key.Role, key.Name, role)
	}
	return key, nil
}

// checkBrokers refuses what leads to no broker, however long one waits.
func checkBrokers(list string) error {
	for u := range strings.SplitSeq(brokerURLs(list), ",") {
		x, err := url.Parse(u)
		if err != nil || x.Hostname() == "" || strings.Contains(x.Hostname(), ":") && x.Host[0] != '[' || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, x.Scheme) {
			return wrong("%q is no address of a broker: want one such as nats://collector:4222", u)
		}
	}
	return nil
}

// brokerURLs adds the scheme that addresses lack.
func brokerURLs(list string) string {
	urls := strings.Split(list, ",")
	for i, u := range urls {
		if u = strings.TrimSpace(u); !strings.Contains(u, "://") {
			u = "nats://" + u
		}
		urls[i] = u
	}
	return strings.Join(urls, ",")
}
