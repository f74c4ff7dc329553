package wire

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// Conn is a connection to a broker as agents and servers use it: [Over] makes one of a NATS connection. A simulation puts another in its place. Any
// goroutine may call its methods.
//
// Each message comes at most once to each subscription. What one connection publishes comes to one subscription in its order; nothing else has an order.
type Conn interface {
	// Publish sends a message. It may keep data until it returns, not longer. The error of a connection that is away tells [Lost].
	Publish(subject string, data []byte) error
	// PublishRequest sends a message that is to be answered on another subject; "" for one that needs no answer.
	PublishRequest(subject, reply string, data []byte) error
	// Subscribe has f called with each message of a subject, one at a time. At most pending bytes wait for f, the rest is lost; 0 for the connection's default.
	Subscribe(subject string, pending int, f nats.MsgHandler) (Subscription, error)
	// Request returns the first answer to a message. Its error is [nats.ErrNoResponders] where nobody listens.
	Request(ctx context.Context, subject string, data []byte) ([]byte, error)
	NewInbox() string    // a subject of its own for answers
	InboxPrefix() string // of all of them
	MaxPayload() int64   // bytes of a message that the broker permits; 0 before the first connection
	IsConnected() bool
	IsClosed() bool // for good
	// FlushTimeout waits until the broker has what was published.
	FlushTimeout(within time.Duration) error
}

// Subscription is a subscription of a Conn.
type Subscription interface {
	Unsubscribe() error
}

// Over returns a NATS connection as a Conn.
func Over(c *nats.Conn) Conn { return natsConn{c} }

type natsConn struct{ *nats.Conn }

func (c natsConn) Subscribe(subject string, pending int, f nats.MsgHandler) (Subscription, error) {
	sub, err := c.Conn.Subscribe(subject, f)
	if err == nil && pending > 0 {
		err = sub.SetPendingLimits(-1, pending)
	}
	if err != nil {
		return nil, err
	}
	return sub, nil
}

// PublishRequest leaves an empty reply out: the library refuses one.
func (c natsConn) PublishRequest(subject, reply string, data []byte) error {
	if reply == "" {
		return c.Publish(subject, data)
	}
	return c.Conn.PublishRequest(subject, reply, data)
}

func (c natsConn) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	m, err := c.RequestWithContext(ctx, subject, data)
	if err != nil {
		return nil, err
	}
	return m.Data, nil
}

func (c natsConn) InboxPrefix() string { return c.Opts.InboxPrefix }
