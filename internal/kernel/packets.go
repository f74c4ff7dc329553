package kernel

import (
	"errors"
	"fmt"
	"io"

	"meridian/clock"
	"meridian/trace"
)

// What can be wrong with network events, as it reads after the file's name.
const (
	badHeader  = "network events with a header that contradicts itself are left out of matching"
	noHeader   = "its network events say nothing of addresses or sequence numbers, so nothing can be matched"
	lateStamps = "packets are stamped where TCP saw them, because no event tells when they came in"
	forgotten  = "packets that came in were forgotten before TCP saw them: too many at a time"
)

// act is what an event does to a packet.
type act uint8

const (
	nothing  act = iota
	sends        // it leaves
	receives     // it comes in
	arrives      // it comes in, and a later event will say what it is
	decodes      // this is what came in before
)

// acts are the events of packets by name. LTTng 0.x had the name of the channel before that of the event.
var acts = map[string]act{
	"net_dev_queue":      sends,
	"dev_xmit_extended":  sends,
	"netif_receive_skb":  receives,
	"net_if_receive_skb": receives,
	"dev_receive":        arrives,
	"tcpv4_rcv_extended": decodes,

	"net_dev_xmit_extended":  sends,
	"net_dev_receive":        arrives,
	"net_tcpv4_rcv_extended": decodes,

	"inet_sock_local_out": sends,
	"inet_sock_local_in":  receives,
}

// plan is what to do with the events of one class.
type plan struct {
	act   act
	nodes []node
	tcp   bool // nothing but TCP comes here, and the event does not say so
	mute  bool // its events are of packets and say nothing of them
}

func newPlan(c *trace.Class) plan {
	p := plan{act: acts[c.Name]}
	if p.act == nothing {
		return p
	}
	p.nodes = resolve(c)
	p.tcp = p.act == decodes
	addressed, numbered, buffered := fills(p.nodes, sourceSlot), fills(p.nodes, seqSlot), fills(p.nodes, bufferSlot)
	switch {
	case p.act == arrives && buffered || addressed || numbered && p.act != arrives:
	case p.act == receives && buffered:
		p.act, p.mute = arrives, true // a version that recorded no header
	default:
		p.act, p.mute = nothing, true
	}
	return p
}

// fills reports whether any field fills the slot.
func fills(nodes []node, s slot) bool {
	for i := range nodes {
		if nodes[i].slot == s || fills(nodes[i].parts, s) {
			return true
		}
	}
	return false
}

// reducer makes packets of network events.
type reducer struct {
	capture *trace.Capture
	flows   trace.FlowTable
	plans   []plan
	pending arrivals
	head    header

	addressed       [2]bool // TCP with addresses was received, sent
	bad, mute, late int64
}

// Packets reduces the network events of a trace to a capture, reading the source to its end. What the host says to
// itself over its loopback device is left out. File is the subject of warnings; w may be nil.
func Packets(src trace.Source, host, file string, w *trace.Warnings) (*trace.Capture, error) {
	r := &reducer{capture: &trace.Capture{Host: host, File: file, Granularity: 1}, flows: trace.NewFlowTable()}
	var e trace.Event
	for {
		if err := src.Next(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("network events: %w", err)
		}
		if e.Class >= len(r.plans) {
			for _, c := range src.Classes()[len(r.plans):] {
				r.plans = append(r.plans, newPlan(&c))
			}
		}
		if e.Class < 0 || e.Class >= len(r.plans) {
			continue
		}
		p := &r.plans[e.Class]
		if p.mute {
			r.mute++
		}
		if p.act != nothing {
			r.see(p, e.Time, src.Values())
		}
	}
	r.capture.Flows = r.flows.Flows()
	r.preferAddressed()
	if r.capture.Packets.Len() > 0 {
		r.mute = 0
	}
	for _, x := range []struct {
		kind string
		n    int64
	}{{badHeader, r.bad}, {noHeader, r.mute}, {lateStamps, r.late}, {forgotten, r.pending.lost}} {
		if x.n > 0 && w != nil {
			w.AddN(file, x.kind, "", x.n)
		}
	}
	return r.capture, nil
}

// see takes one network event.
func (r *reducer) see(p *plan, time clock.HostTime, values []trace.Value) {
	h := &r.head
	*h = header{}
	h.read(p.nodes, values)
	if string(h.device) == "lo" {
		return
	}
	// LTTng 0.x wrote all fields whatever the packet was: those of no TCP over IPv4 hold what was there before.
	if h.has(networkSlot) && (h.network != 0x0800 || h.protocol != protocolTCP) {
		return
	}
	if p.tcp && !h.has(protocolSlot) {
		h.protocol, h.seen = protocolTCP, h.seen|1<<protocolSlot
	}
	from := trace.Received
	switch p.act {
	case sends:
		from = trace.Sent
	case arrives:
		r.pending.add(h.buffer, time)
		return
	case decodes:
		if came, ok := r.pending.take(h.buffer, time); ok {
			time = came
		} else {
			r.late++
		}
	}
	packet := trace.Packet{Time: time, Flow: trace.NoFlow, From: from}
	switch {
	case h.hasAll(sourceSlot, targetSlot, protocolSlot) && (h.has(totalSlot) || h.has(payloadSlot)):
		if !h.packet(&packet, &r.flows) {
			r.bad++
			return
		}
		if packet.Kind == trace.TCP {
			r.addressed[from-trace.Received] = true
		}
	case h.hasAll(seqSlot, ackSlot, flagsSlot):
		h.unaddressed(&packet)
	default:
		return // a packet of another protocol (ARP), or one that the kernel had not put its headers to yet
	}
	*r.capture.Packets.Append() = packet
	r.settle()
}

// farthest is how many packets one may have to go back to its place.
const farthest = 256

// settle puts the last packet where its time belongs: tracers write some events late, and an arrival is known only when
// its header is. Who follows connections reads packets in their order.
func (r *reducer) settle() {
	log := &r.capture.Packets
	for n := log.Len() - 1; n > max(0, log.Len()-farthest); n-- {
		last, before := log.At(n), log.At(n-1)
		if before.Time <= last.Time {
			return
		}
		*last, *before = *before, *last
	}
}

// preferAddressed voids the packets without addresses where the same ones were seen with them, both ways.
func (r *reducer) preferAddressed() {
	if !r.addressed[0] || !r.addressed[1] {
		return
	}
	for _, chunk := range r.capture.Packets.Chunks() {
		for i := range chunk {
			if chunk[i].Kind == trace.Unaddressed {
				chunk[i].Kind = trace.Other
			}
		}
	}
}

// arrivals holds when buffers came in until an event says what is in them. An address is used again and again, so there
// are few; one that was forgotten costs a packet its early stamp.
type arrivals struct {
	at   map[uint64]clock.HostTime
	lost int64
}

// mostArrivals bounds the addresses, joinWithin the time (ns) until a packet's decoding: both happen in one interrupt.
const (
	mostArrivals = 1 << 16
	joinWithin   = 100_000_000
)

func (a *arrivals) add(buffer uint64, time clock.HostTime) {
	if a.at == nil {
		a.at = make(map[uint64]clock.HostTime)
	}
	if len(a.at) == mostArrivals {
		a.lost += mostArrivals
		clear(a.at)
	}
	a.at[buffer] = time
}

func (a *arrivals) take(buffer uint64, now clock.HostTime) (time clock.HostTime, ok bool) {
	time, ok = a.at[buffer]
	if !ok {
		return 0, false
	}
	delete(a.at, buffer)
	return time, now >= time && now-time <= joinWithin
}
