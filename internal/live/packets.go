package live

import (
	"cmp"
	"context"
	"math"
	"net/netip"
	"slices"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/internal/kernel"
	offline "meridian/internal/pipeline/input"
	"meridian/match"
	"meridian/trace"
)

// packets matches the packets of several hosts over windows that move.
//
//	window 0   |-----------------------|  is begun anew every 2*packetWindow
//	window 1               |-----------------------|
//	matched            the longer one ^ now
//
// The windows take turns, so that the one which is matched has seen at least packetWindow. A message is found while both its packets are in
// it: one that was on its way for longer is not.
//
// Hosts come at their own pace. Each has an instant of its clock, settled, up to which its packets have been read. A round uses the messages
// that are sent and received up to these instants and that no round has used. Most are those of the second before. Others are older: which
// host sent the packets of a flow, and how often its packets repeat, may be known only by later ones. What it has used each window notes
// itself (window.go).
type packets struct {
	s         *Session
	hosts     map[int]*packetHost // by number of its clock
	sources   []*packetSource     // in the order of the inputs
	windows   [2]messageWindow
	addresses hostAddresses
	learnt    map[string][]netip.Addr // by host: its addresses, as matching last knew them
	unseen    offline.Unseen          // of the addresses that are given
	at        int64                   // how far the packets have come, ns: windows go by that, however fast or late they are read
	next      int64                   // when the next round is due, by Session.time
	rounds    uint32
	withdrawn int64 // messages that were used and are not found any more
	ends      messageEnds
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
	capture  bool // not of a kernel
	reducers [2]reducer
	first    [2]clock.HostTime // that each window has of it
	early    [2]bool           // what comes may still be from before the window
	began    clock.HostTime    // its first packet
	beganAt  int64             // how far the packets of all had come then
	latest   clock.HostTime    // of a packet
	fed      int64             // when the last one was read, by Session.elapsed
	any      bool
	over     bool // its input follows another trace or capture
}

// reducer makes packets of what an input reads.
type reducer interface {
	// add takes what the input read last.
	add(in *input)
	Packets() int
	Capture() *trace.Capture
}

// kernelPackets are those among the events of a kernel.
type kernelPackets struct {
	*kernel.Reducer
	of *ctf.Follower
}

func (k kernelPackets) add(in *input) { k.Add(in.follower, &in.event) }

// Capture returns the packets, which are all that there were unless the tracer says that it lost some, here or before.
func (k kernelPackets) Capture() *trace.Capture {
	c := k.Reducer.Capture()
	t := k.of.Tally()
	c.Whole = c.Whole && t.Discarded+t.Lost+t.Damaged+t.Broken == 0
	return c
}

// packetWindow is what the matcher sees at least, packetRound how often it is asked, packetIdle how long without packets a source no longer
// holds up others of its host, captureIdle how long without packets a capture is taken to have ended, in ns.
const (
	packetWindow = 10_000_000_000
	packetRound  = 1_000_000_000
	packetIdle   = 3_000_000_000
	captureIdle  = 5_000_000_000
)

func newPackets(s *Session) *packets {
	p := &packets{s: s, learnt: make(map[string][]netip.Addr), hosts: make(map[int]*packetHost), unseen: offline.NewUnseen(s.o.Addresses), ends: messageEnds{s: s}}
	for i := range p.windows {
		p.windows[i] = messageWindow{begun: -int64(i) * packetWindow, whole: true, used: make(map[messageKey]messageUse)}
	}
	return p
}

func (p *packets) reducer(in *input) reducer {
	if in.capture != nil {
		return newCapturePackets(in)
	}
	return kernelPackets{kernel.NewReducer(in.name, in.dir), in.trace}
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
	x := &packetSource{in: in, capture: in.capture != nil, latest: noHostTime}
	for i := range x.reducers {
		x.reducers[i] = p.reducer(in)
	}
	h.sources = append(h.sources, x)
	p.sources = append(p.sources, x)
	place := func(x *packetSource) int { return slices.Index(p.s.inputs, x.in) }
	slices.SortStableFunc(p.sources, func(a, b *packetSource) int { return cmp.Compare(place(a), place(b)) })
	in.packets = x
	return x
}

// see takes what an input read.
func (p *packets) see(in *input) {
	p.addresses.see(in, &p.unseen)
	x := p.source(in)
	for i, r := range x.reducers {
		if x.early[i] {
			if x.early[i] = p.windows[i].before(p.s, in); x.early[i] {
				continue
			}
		}
		before := r.Packets()
		r.add(in)
		if r.Packets() == before {
			continue
		}
		if before == 0 {
			x.first[i] = in.event.Time
		}
		if !x.any {
			x.began, x.beganAt = in.event.Time, p.at
		}
		p.at = max(p.at, x.beganAt+clock.Sub(in.event.Time, x.began))
		x.latest, x.fed, x.any = max(x.latest, in.event.Time), p.s.elapsed(), true
	}
}

// replaced says that an input follows another trace or capture from now on.
func (p *packets) replaced(in *input) {
	p.addresses.replaced(in)
	if in.packets != nil {
		in.packets.over = true
		in.packets = nil
	}
}

// leave forgets the packets of an input.
func (p *packets) leave(in *input) {
	p.drop(func(x *packetSource) bool {
		if x.in == in {
			p.unseen.SeeFlows(x.reducers[p.longer()].Capture())
		}
		return x.in == in
	})
}

func (p *packets) drop(which func(*packetSource) bool) {
	for _, h := range p.hosts {
		h.sources = slices.DeleteFunc(h.sources, which)
	}
	p.sources = slices.DeleteFunc(p.sources, which)
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
		case x.over:
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
	return p.round(ctx, int64(p.s.o.Settle))
}

// finish shows what there is when nothing more comes.
func (p *packets) finish(ctx context.Context) error {
	if err := p.round(ctx, 0); err != nil {
		return err
	}
	p.account(p.longer())
	p.s.release(true)
	if _, err := p.s.clocks.Round(ctx); err != nil {
		return err
	}
	return p.ends.write(true)
}

// round matches what has come up to a time before the latest packet of each host.
func (p *packets) round(ctx context.Context, settle int64) error {
	longer := p.longer()
	var captures []*trace.Capture
	reach := make(map[*packetHost]clock.HostTime)
	for _, x := range p.sources {
		if !x.any {
			continue
		}
		h := p.hosts[x.in.number]
		if _, known := reach[h]; !known {
			reach[h] = h.reach(p.s.elapsed(), settle)
		}
		if x.reducers[longer].Packets() > 0 {
			c := h.capture(x, longer, p.s.elapsed())
			p.unseen.SeeFlows(c)
			captures = append(captures, c)
		}
	}
	if len(reach) > 1 {
		if err := p.match(ctx, captures, reach, longer); err != nil {
			return err
		}
	}
	for h, at := range reach {
		h.settled = at
	}
	// Only the longer one: what was received last is matched by the next round, which needs the other.
	if p.at-p.windows[1-longer].begun >= packetWindow {
		p.account(longer)
		p.begin(longer)
	}
	return nil
}

// capture returns the packets of a source in a window. Those that a capture of the same host has are not among those of its kernel.
func (h *packetHost) capture(x *packetSource, window int, elapsed int64) *trace.Capture {
	left := *x.reducers[window].Capture()
	if step := x.in.s.o.granularityOf(x.in.name); step > 0 {
		left.Granularity = step
	}
	if x.capture {
		return &left
	}
	for _, y := range h.sources {
		if !y.capture || !y.any {
			continue
		}
		last := clock.HostTime(math.MaxInt64)
		if y.over || elapsed-y.fed >= captureIdle {
			last = y.latest
		}
		offline.DropCaptured(&left, y.reducers[window].Capture(), y.began, last)
	}
	return &left
}

// match finds messages, and uses those that no round has used.
func (p *packets) match(ctx context.Context, captures []*trace.Capture, reach map[*packetHost]clock.HostTime, window int) error {
	found, err := match.Match(ctx, captures, match.Options{Addresses: p.addresses.own(p.s.o.Addresses)}, nil)
	if err != nil {
		return err
	}
	byName := make(map[string]*packetHost)
	for h := range reach {
		byName[h.in.name] = h
	}
	for i, list := range found.Addresses {
		if name := found.Clocks[i].Name; len(list) > 0 && byName[name] != nil {
			p.learnt[name] = list
		}
	}
	p.rounds++
	w := &p.windows[window]
	inside := w.inside(reach, window)
	for i := range found.Channels {
		c := &found.Channels[i]
		from, to := byName[found.Clocks[c.From].Name], byName[found.Clocks[c.To].Name]
		if from == nil || to == nil {
			continue // a second clock of a host: live alignment has one for each
		}
		steps := [2]int64{max(found.Clocks[c.From].Granularity, 1), max(found.Clocks[c.To].Granularity, 1)}
		for _, m := range c.Messages {
			if m.Sent > reach[from] || m.Received > reach[to] {
				continue
			}
			late := m.Sent <= from.settled && m.Received <= to.settled
			safe := m.Sent >= inside[from] && m.Received >= inside[to]
			key := messageKey{from.in.number, to.in.number, m.Sent, m.Received}
			if late && !safe || !w.use(key, p.rounds, safe) {
				continue
			}
			p.windows[1-window].note(key)
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
