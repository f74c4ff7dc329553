package live

import (
	"context"

	"meridian/clock"
	"meridian/internal/kernel"
	"meridian/match"
	"meridian/trace"
)

// packets matches the packets among the events of kernels over a window that moves.
//
//	reducer 0   |-----------------------|  is begun anew every 2 windows
//	reducer 1               |-----------------------|
//	matched            from the longer one ^ now: what was received up to Settle ago, and after the round before
//
// Two reducers take turns, so that the one which is matched has seen at least a window. A message is found while both its packets are in
// it: one that was on its way for longer is not.
type packets struct {
	s     *Session
	hosts map[int]*packetHost // by input's clock
	next  int64               // when the next round is due, by Session.time
	ends  messageEnds
}

// packetHost is the packets of a host.
type packetHost struct {
	in       *input
	reducers [2]*kernel.Reducer
	begun    [2]int64
	latest   clock.HostTime // of a packet
	used     clock.HostTime // messages received up to here are used
	any      bool
	fresh    clock.HostTime // ends of messages up to here are not shown
	shown    clock.HostTime // messages received up to here were shown by an earlier session
}

// packetWindow is what the matcher sees at least, packetRound how often it is asked, in ns.
const (
	packetWindow = 10_000_000_000
	packetRound  = 1_000_000_000
)

func newPackets(s *Session) *packets {
	return &packets{s: s, hosts: make(map[int]*packetHost), ends: messageEnds{s: s}}
}

// longer returns the reducer that has seen more.
func (h *packetHost) longer() int {
	if h.begun[1] < h.begun[0] {
		return 1
	}
	return 0
}

// see takes the event that an input read.
func (p *packets) see(in *input) {
	h := p.hosts[in.number]
	if h == nil {
		h = &packetHost{in: in, fresh: noHostTime, shown: p.s.resumed.messages(in)}
		h.latest, h.used = noHostTime, noHostTime
		now := p.s.time()
		for i := range h.reducers {
			h.reducers[i], h.begun[i] = kernel.NewReducer(in.name, in.dir), now-int64(i)*packetWindow
		}
		p.hosts[in.number] = h
	}
	for _, x := range h.reducers {
		before := x.Packets()
		x.Add(in.follower, &in.event)
		if x.Packets() > before {
			h.latest, h.any = max(h.latest, in.event.Time), true
		}
	}
}

// skip leaves out of what is shown the messages of which an input has read an end so far.
func (p *packets) skip(in *input) {
	if h := p.hosts[in.number]; h != nil && h.any {
		h.fresh = h.latest
	}
}

// advance shows the messages of the round before, by the maps that they helped to make. It matches what has come, if a round is due, and
// hands the messages to alignment.
func (p *packets) advance(ctx context.Context, now int64) error {
	if !p.s.warming {
		if err := p.ends.write(false); err != nil {
			return err
		}
	}
	if now < p.next {
		return nil
	}
	p.next = now + packetRound
	return p.round(ctx, now, int64(p.s.o.Settle))
}

// finish shows what there is when nothing more comes.
func (p *packets) finish(ctx context.Context) error {
	if err := p.round(ctx, p.s.time(), 0); err != nil {
		return err
	}
	if _, err := p.s.clocks.Round(ctx); err != nil {
		return err
	}
	return p.ends.write(true)
}

// round matches what has come up to a time before the latest packet of each host.
func (p *packets) round(ctx context.Context, now, settle int64) error {
	byName := make(map[string]*packetHost)
	var captures []*trace.Capture
	for _, in := range p.s.inputs {
		h := p.hosts[in.number]
		if h == nil || !h.any || byName[in.name] != nil { // a host may have several directories
			continue
		}
		captures = append(captures, h.reducers[h.longer()].Capture())
		byName[in.name] = h
	}
	if len(captures) > 1 {
		if err := p.match(ctx, captures, byName, settle); err != nil {
			return err
		}
	}
	for _, h := range byName {
		// Only the longer one: what was received last is matched by the next round, which needs the other.
		i := h.longer()
		if now-h.begun[i] >= 2*packetWindow {
			h.reducers[i], h.begun[i] = kernel.NewReducer(h.in.name, h.in.dir), now
		}
	}
	return nil
}

// match finds messages, and uses those that no round has used.
func (p *packets) match(ctx context.Context, captures []*trace.Capture, hosts map[string]*packetHost, settle int64) error {
	found, err := match.Match(ctx, captures, match.Options{}, nil)
	if err != nil {
		return err
	}
	for i := range found.Channels {
		c := &found.Channels[i]
		from, to := hosts[found.Clocks[c.From].Name], hosts[found.Clocks[c.To].Name]
		if from == nil || to == nil {
			continue // a second clock of a host: live alignment has one for each
		}
		settled := clock.Add(to.latest, -settle)
		for _, m := range c.Messages {
			if m.Received > to.used && m.Received <= settled {
				p.s.clocks.Add(from.in.number, to.in.number, m)
				if m.Sent > from.fresh && m.Received > to.fresh && m.Received > to.shown {
					p.ends.add(from.in, to.in, m)
				}
			}
		}
	}
	for _, h := range hosts {
		h.used = max(h.used, clock.Add(h.latest, -settle))
	}
	return nil
}
