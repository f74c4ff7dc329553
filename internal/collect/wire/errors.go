package wire

import (
	"errors"

	"github.com/nats-io/nats.go"
)

// Lost reports whether a message was lost by a connection that comes back, so that it is to be sent again. Other errors stay.
func Lost(err error) bool {
	return err != nil && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrMaxPayload) && !errors.Is(err, nats.ErrBadSubject)
}
