package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/wire"
)

// defaultBroker is where 'meridian server' listens and agents look for it, unless they are told.
const defaultBroker = "127.0.0.1:4222"

// reconnectEvery is how often a lost broker is tried again, for ever.
const reconnectEvery = 250 * time.Millisecond

// natsOptions are those of all our clients. say prints a line for people.
func natsOptions(name string, say func(format string, args ...any)) []nats.Option {
	return []nats.Option{
		nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectEvery), nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				say("the connection to the broker is lost: %v", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) { say("connected to %s again", c.ConnectedUrlRedacted()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { say("broker: %v", err) }),
	}
}

// connectAsHost connects to a broker as the agent of a host: answers come on a subject of its own, since it may listen to no other.
func connectAsHost(urls, host string, say func(format string, args ...any)) (*nats.Conn, error) {
	options := append(natsOptions("meridian agent "+host, say), nats.CustomInboxPrefix(wire.OfHost(host, "inbox")))
	c, err := nats.Connect(brokerURLs(urls), options...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: is 'meridian server' running there?", urls, err)
	}
	return c, nil
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
