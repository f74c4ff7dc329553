package ship

import (
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/wire"
)

// complete reports whether all that was recorded is on the disks of as many servers as are wanted, or lost.
func (s *Shipper) complete() bool {
	switch {
	case s.unread != nil:
		return false // there may be more
	case s.d.trace == "":
		return true // nothing was recorded
	}
	sum := s.account.sum()
	return sum.Acknowledged+sum.Lost == sum.Recorded && s.account.settled() && s.plan.documented(s.o.Replicas)
}

// beat counts and tells.
func (s *Shipper) beat(now time.Time) {
	s.level = false
	s.account.update(now, s.peers)
	s.say(s.account.sum())
}

// say tells servers how far everything is. While too few of them store this host, it asks all that are there to say so.
func (s *Shipper) say(sum Summary) {
	if s.o.Silent {
		return
	}
	status := wire.AgentStatus{
		Version: wire.Version, Host: s.o.Host, Session: s.o.Session, Servers: []string{},
		Recorded: sum.Recorded, Acknowledged: sum.Acknowledged, Lost: sum.Lost, LostPackets: sum.LostPackets, Ended: s.ended,
	}
	for _, p := range s.plan.peers {
		if p.state == open {
			status.Servers = append(status.Servers, p.name)
		}
	}
	now := time.Now()
	s.troubles.count(len(status.Servers), s.o.Replicas, now)
	if len(status.Servers) < s.o.Replicas || sum.Acknowledged+sum.Lost < sum.Recorded { // else it is over
		status.Error = s.troubles.text(len(status.Servers), s.o.Replicas, now)
	}
	if s.o.Probing != nil {
		status.Probing = s.o.Probing()
	}
	if s.o.Tell != nil {
		s.o.Tell(&status)
	}
	message := &nats.Msg{Subject: wire.OfHost(s.o.Host, "alive"), Data: wire.Encode(status)}
	if len(status.Servers) < s.o.Replicas {
		message.Reply = s.hello
	}
	_ = s.o.Conn.PublishMsg(message) // the next one comes in a second
}
