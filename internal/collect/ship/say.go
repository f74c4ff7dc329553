package ship

import (
	"time"

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
	return sum.Acknowledged+sum.Lost == sum.Recorded && s.account.settled() && s.plan.documented(s.o.Replicas) && s.described()
}

// final returns how far everything is at the end. Files that nobody can read are not acknowledged: servers lack the metadata that describes them.
func (s *Shipper) final() Summary {
	sum := s.account.sum()
	written := s.plan.documented(s.o.Replicas) || !s.plan.opened(s.o.Replicas) && s.account.Document == s.d.metadata.sum
	if s.d.trace == "" || written && s.described() {
		return sum
	}
	if sum.Acknowledged > 0 {
		s.o.Log("servers lack the newest metadata of %s, without which nobody can read what they have", s.o.Dir)
	}
	sum.Acknowledged = 0
	return sum
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
	reply := ""
	if len(status.Servers) < s.o.Replicas {
		reply = s.hello
	}
	_ = s.o.Conn.PublishRequest(wire.OfHost(s.o.Host, "alive"), reply, wire.Encode(status)) // the next one comes in a second
}
