package live

import (
	"context"
	"math"
	"slices"

	"meridian/clock"
	"meridian/internal/kernel"
	offline "meridian/internal/pipeline/input"
	"meridian/match"
	"meridian/trace"
)

// packets matches the packets of several hosts over a window that moves.
//
//	reducer 0   |-----------------------|  is begun anew every 2 windows
//	reducer 1               |-----------------------|
//	matched            from the longer one ^ now: messages with both ends up to Settle ago, of which one is after the round before
//
// Two reducers take turns, so that the one which is matched has seen at least a window. A message is found while both its packets are in
// it: one that was on its way for longer is not.
//
// Hosts come at their own pace. Each has an instant of its clock, settled, up to which its packets have been read. A round uses the
// messages that are sent and received up to these instants, and were not both before. So a sender may be behind its receiver by up
// to a window.
type packets struct {
	s     *Session
	hosts map[int]*packetHost // by number of its clock
	next  int64               // when the next round is due, by Session.time
	ends  messageEnds
}

// packetHost is the packets of a host, whatever recorded them.
type packetHost struct {
	in      *input // the first of the host
	sources []*packetSource
	settled clock.HostTime // up to here all packets were read at the last round
	fresh   clock.HostTime // ends of messages up to here are not shown
}

// packetSource is the packets of one input, in the order of its clock but for some that come up to Settle late.
type packetSource struct {
	in       *input
	reducers [2]reducer
	begun    [2]int64
	latest   clock.HostTime // of a packet
	fed      int64          // when the last one was read, by Session.elapsed
	any      bool
}

// reducer makes packets of what an input reads.
type reducer interface {
	// add takes what the input read last.
	add(in *input)
	Packets() int
	Capture() *trace.Capture
}

// kernelPackets are those among the events of a kernel.
type kernelPackets struct{ *kernel.Reducer }

func (k kernelPackets) add(in *input) { k.Add(in.follower, &in.event) }

// packetWindow is what the matcher sees at least, packetRound how often it is asked, packetIdle how long without packets a source no longer
// holds up others of its host, in ns.
const (
	packetWindow = 10_000_000_000
	packetRound  = 1_000_000_000
	packetIdle   = 3_000_000_000
)

func newPackets(s *Session) *packets {
	return &packets{s: s, hosts: make(map[int]*packetHost), ends: messageEnds{s: s}}
}

func (p *packets) reducer(in *input) reducer {
	if in.capture != nil {
		return newCapturePackets(in)
	}
	return kernelPackets{kernel.NewReducer(in.name, in.dir)}
}

// longer returns the number of the reducer that has seen more.
func (x *packetSource) longer() int {
	if x.begun[1] < x.begun[0] {
		return 1
	}
	return 0
}

// source returns the packets of an input.
func (p *packets) source(in *input) *packetSource {
	if in.packets != nil {
		return in.packets
	}
	h := p.hosts[in.number]
	if h == nil {
		h = &packetHost{in: in, settled: noHostTime, fresh: noHostTime}
		p.hosts[in.number] = h
	}
	x := &packetSource{in: in, latest: noHostTime}
	now := p.s.time()
	for i := range x.reducers {
		x.reducers[i], x.begun[i] = p.reducer(in), now-int64(i)*packetWindow
	}
	h.sources = append(h.sources, x)
	in.packets = x
	return x
}

// see takes what an input read.
func (p *packets) see(in *input) {
	x := p.source(in)
	for _, r := range x.reducers {
		before := r.Packets()
		r.add(in)
		if r.Packets() > before {
			x.latest, x.fed, x.any = max(x.latest, in.event.Time), p.s.elapsed(), true
		}
	}
}

// leave forgets the packets of an input.
func (p *packets) leave(in *input) {
	if h := p.hosts[in.number]; h != nil {
		h.sources = slices.DeleteFunc(h.sources, func(x *packetSource) bool { return x == in.packets })
	}
}

// skip leaves out of what is shown the messages of which an input has read an end so far.
func (p *packets) skip(in *input) {
	if x := in.packets; x != nil && x.any {
		h := p.hosts[in.number]
		h.fresh = max(h.fresh, x.latest)
	}
}

// reach returns up to when the packets of a host have been read: of each source up to settle before its latest, or up to that if
// nothing has come for so long. Sources that are idle hold up no other.
func (h *packetHost) reach(elapsed, settle int64) clock.HostTime {
	least, most := clock.HostTime(math.MaxInt64), noHostTime
	for _, x := range h.sources {
		if !x.any {
			continue
		}
		most = max(most, x.latest)
		idle := elapsed - x.fed
		switch {
		case idle < settle:
			least = min(least, clock.Add(x.latest, -settle))
		case settle > 0 && idle < packetIdle:
			least = min(least, x.latest)
		}
	}
	return max(h.settled, min(least, most))
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
	p.s.release(true)
	if _, err := p.s.clocks.Round(ctx); err != nil {
		return err
	}
	return p.ends.write(true)
}

// round matches what has come up to a time before the latest packet of each host.
func (p *packets) round(ctx context.Context, now, settle int64) error {
	var captures []*trace.Capture
	reach := make(map[*packetHost]clock.HostTime)
	for _, h := range p.hosts {
		for _, x := range h.sources {
			if x.any {
				reach[h] = h.reach(p.s.elapsed(), settle)
			}
		}
	}
	for _, in := range p.s.inputs { // in an order that is always the same
		if x := in.packets; x != nil && x.any {
			captures = append(captures, p.hosts[in.number].capture(x))
		}
	}
	if len(reach) > 1 {
		if err := p.match(ctx, captures, reach); err != nil {
			return err
		}
	}
	for h, at := range reach {
		h.settled = at
		for _, x := range h.sources {
			// Only the longer one: what was received last is matched by the next round, which needs the other.
			if i := x.longer(); now-x.begun[i] >= 2*packetWindow {
				x.reducers[i], x.begun[i] = p.reducer(x.in), now
			}
		}
	}
	return nil
}

// capture returns the packets of a source. Those that a capture of the same host has are not among those of its kernel.
func (h *packetHost) capture(x *packetSource) *trace.Capture {
	c := x.reducers[x.longer()].Capture()
	if x.in.capture != nil {
		return c
	}
	left := *c
	for _, y := range h.sources {
		if y.in.capture != nil && y.any {
			offline.DropCaptured(&left, y.reducers[y.longer()].Capture(), true)
		}
	}
	return &left
}

// match finds messages, and uses those that no round has used.
func (p *packets) match(ctx context.Context, captures []*trace.Capture, reach map[*packetHost]clock.HostTime) error {
	found, err := match.Match(ctx, captures, match.Options{}, nil)
	if err != nil {
		return err
	}
	byName := make(map[string]*packetHost)
	for h := range reach {
		byName[h.in.name] = h
	}
	for i := range found.Channels {
		c := &found.Channels[i]
		from, to := byName[found.Clocks[c.From].Name], byName[found.Clocks[c.To].Name]
		if from == nil || to == nil {
			continue // a second clock of a host: live alignment has one for each
		}
		steps := [2]int64{max(found.Clocks[c.From].Granularity, 1), max(found.Clocks[c.To].Granularity, 1)}
		for _, m := range c.Messages {
			used := m.Sent <= from.settled && m.Received <= to.settled
			if used || m.Sent > reach[from] || m.Received > reach[to] {
				continue
			}
			known := m // a stamp is up to a step before the event
			known.Received = clock.Add(m.Received, steps[1]-1)
			p.s.add(from.in.number, to.in.number, known)
			if m.Sent > from.fresh && m.Received > to.fresh && !p.s.resumed.shown(from.in, to.in, m) {
				p.ends.add(foundMessage{from.in, to.in, m, steps})
			}
		}
	}
	return nil
}
