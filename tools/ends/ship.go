//go:build linux

package ends

import (
	"context"
	"fmt"
	"os"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/ship"
	"meridian/internal/collect/wire"
)

// Ship sends a directory as an agent does until its recording has ended and all of it is acknowledged, or ctx ends. Options are without a connection. What is
// lost, or not acknowledged, is an error.
func Ship(ctx context.Context, url string, o ship.Options) (sum ship.Summary, err error) {
	c, err := nats.Connect(url, nats.CustomInboxPrefix(wire.OfHost(o.Host, "inbox")))
	if err != nil {
		return sum, err
	}
	defer c.Close()
	o.Conn = wire.Over(c)
	o.Log = func(format string, args ...any) { fmt.Fprintf(os.Stderr, o.Host+": "+format+"\n", args...) }
	s, err := ship.New(o)
	if err != nil {
		return sum, err
	}
	sum, err = s.Run(ctx)
	if err == nil && ctx.Err() == nil && (sum.Lost > 0 || sum.Acknowledged != sum.Recorded) {
		err = fmt.Errorf("%s: not all was acknowledged: %+v", o.Host, sum)
	}
	return sum, err
}
