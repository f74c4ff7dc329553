//go:build unix

package schedule

import (
	"context"
	"time"

	"meridian/internal/experiment/protocol"
)

// Clocks of hosts: a block starts at an instant that every host gets by its own CLOCK_MONOTONIC.
//
//	controller  s ------.            .--> r     the host's reading h was made between s and r:
//	                     \          /           h - r <= offset <= h - s
//	host                  '--> h --'
//
// The middle of the shortest exchange is off by at most half its round trip, and by what the clocks drift apart until the next exchanges.
const (
	asksAtOnce = 8                    // exchanges with each host
	clockFor   = 10 * time.Second     // until the next: two clocks that drift by 100 ppm are then 1 ms apart
	lead       = 5 * time.Millisecond // between the order and the instant, beyond the way to the host
	maxLead    = protocol.LongestLead / 2
)

// hostClock is the CLOCK_MONOTONIC of a host, against that of the controller.
type hostClock struct {
	offsetNs int64 // host minus controller
	tripNs   int64 // of the exchange that it is from; 0: none
}

// answered takes in an exchange: sent and come by the controller's clock, host by the host's.
func (k *hostClock) answered(sent, host, come int64) {
	if trip := max(come-sent, 1); k.tripNs == 0 || trip < k.tripNs {
		k.offsetNs, k.tripNs = host-sent-trip/2, trip
	}
}

// of returns an instant of the controller by the host's clock.
func (k *hostClock) of(at int64) int64 { return at + k.offsetNs }

// askClocks exchanges readings with all hosts, unless it did so shortly before. It returns when all have answered, so they are there.
func (c *controller) askClocks(ctx context.Context) error {
	if now := protocol.Monotonic(); c.clocksNs != 0 && now-c.clocksNs < int64(clockFor) {
		return nil
	}
	c.clocksNs = protocol.Monotonic()
	for _, s := range c.seats {
		s.clock = hostClock{}
	}
	for range asksAtOnce {
		c.asks++
		for _, s := range c.seats {
			s.asked = protocol.Monotonic()
			if err := s.out.Write(protocol.Order{Ask: c.asks}); err != nil {
				return c.unreachable(s, err)
			}
		}
		answered := func(s *seat) bool { return s.alive == c.asks }
		err := c.await(ctx, setupWithin, func() string { return "no answer from " + c.lacking(answered) }, c.all(answered))
		if err != nil {
			return err
		}
	}
	return nil
}

// instant returns when a block is to start, CLOCK_MONOTONIC of the controller: every host has been told by then.
func (c *controller) instant(hosts []string) int64 {
	way := int64(0)
	for _, host := range hosts {
		way = max(way, c.byHost[host].clock.tripNs)
	}
	return protocol.Monotonic() + min(int64(lead)+way, int64(maxLead))
}
