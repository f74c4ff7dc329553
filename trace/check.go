package trace

import (
	"errors"
	"fmt"
	"math"

	"meridian/clock"
)

// Check returns an error that names the first packet which a capture cannot have: of a flow that the capture does not
// list, of an unknown kind or direction, or stamped outside [clock.Limit]. Readers of files return captures that pass.
func (c *Capture) Check() error {
	if c == nil {
		return errors.New("the capture is nil")
	}
	if c.Granularity < 0 || c.Granularity > clock.Limit {
		return fmt.Errorf("a granularity of %d ns", c.Granularity)
	}
	if n := c.Packets.Len(); n > math.MaxUint32 {
		return fmt.Errorf("%d packets; at most %d can be numbered", n, uint32(math.MaxUint32))
	}
	n := 0
	for chunk := range c.Packets.Chunks() {
		for i := range chunk {
			if err := c.checkPacket(&chunk[i]); err != nil {
				return fmt.Errorf("packet %d: %w", n, err)
			}
			n++
		}
	}
	return nil
}

func (c *Capture) checkPacket(p *Packet) error {
	switch {
	case p.Flow != NoFlow && int(p.Flow>>1) >= len(c.Flows):
		return fmt.Errorf("flow %d of %d; NoFlow marks a packet without one", p.Flow>>1, len(c.Flows))
	case p.Kind > Untimed:
		return fmt.Errorf("unknown kind %d", p.Kind)
	case p.From > Foreign:
		return fmt.Errorf("unknown direction %d", p.From)
	case !clock.Valid(p.Time):
		return fmt.Errorf("a stamp of %d ns is not within ±2^62 ns", p.Time)
	}
	return nil
}
