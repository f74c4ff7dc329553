package kernel

import (
	"errors"
	"fmt"
	"io"

	"meridian/clock"
	"meridian/trace"
)

// Warnings of network events; they follow the file's name.
const (
	badHeader  = "network events with an inconsistent header are left out of matching"
	noHeader   = "its network events have neither addresses nor sequence numbers, so nothing can be matched"
	lateStamps = "packets have the later time at which TCP saw them, because the event of their arrival is missing"
	forgotten  = "arrivals were dropped before TCP saw their packets: too many at a time"
)

// act is the step in a packet's way that an event records.
type act uint8

const (
	ignored  act = iota
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
	act        act
	nodes      []node
	tcp        bool // its packets are all TCP, and no field says so
	headerless bool // its events are of packets, without their headers
}

func newPlan(c *trace.Class) plan {
	p := plan{act: acts[c.Name]}
	if p.act == ignored {
		return p
	}
	p.nodes = resolve(c)
	p.tcp = p.act == decodes
	addressed, numbered, buffered := fills(p.nodes, sourceSlot), fills(p.nodes, seqSlot), fills(p.nodes, bufferSlot)
	switch {
	case p.act == arrives && buffered || addressed || numbered && p.act != arrives:
	case p.act == receives && buffered:
		p.act, p.headerless = arrives, true // a version that recorded no header
	default:
		p.act, p.headerless = ignored, true
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

// Reducer makes packets of the network events of one trace. Packets of the loopback device are left out.
type Reducer struct {
	capture     *trace.Capture
	flows       trace.FlowTable
	plans       []plan
	pending     arrivals
	head        header
	granularity trace.Granularity

	addressed             [2]bool // TCP with addresses was received, sent
	bad, headerless, late int64
}

// NewReducer returns a reducer of a host's trace. File is the subject of warnings.
func NewReducer(host, file string) *Reducer {
	return &Reducer{capture: &trace.Capture{Host: host, File: file, WholeStamps: true}, flows: trace.NewFlowTable()}
}

// Add takes the event that src brought last, of which the reducer must see all. Events of other kinds cost a look at their class.
func (r *Reducer) Add(src trace.Source, e *trace.Event) {
	if e.Class >= len(r.plans) {
		for _, c := range src.Classes()[len(r.plans):] {
			r.plans = append(r.plans, newPlan(&c))
		}
	}
	if e.Class < 0 || e.Class >= len(r.plans) {
		return
	}
	p := &r.plans[e.Class]
	if p.headerless {
		r.headerless++
	}
	if p.act != ignored {
		r.granularity.Add(e.Time)
		r.see(p, e.Time, src.Values())
	}
}

// Packets returns how many packets there are so far.
func (r *Reducer) Packets() int { return r.capture.Packets.Len() }

// Capture returns the packets so far. It belongs to the reducer, which must not be given more events while it is used.
func (r *Reducer) Capture() *trace.Capture {
	r.capture.Granularity = r.granularity.Step()
	r.capture.Flows = r.flows.Flows()
	r.preferAddressed()
	r.capture.Whole = r.bad+r.headerless+r.late+r.pending.lost == 0 // as far as the trace is
	return r.capture
}

// Warnings says what became of events that gave no packet, or one with another time than its own; w may be nil.
func (r *Reducer) Warnings(w *trace.Warnings) {
	headerless := r.headerless
	if r.capture.Packets.Len() > 0 {
		headerless = 0
	}
	for _, x := range []struct {
		kind string
		n    int64
	}{{badHeader, r.bad}, {noHeader, headerless}, {lateStamps, r.late}, {forgotten, r.pending.lost}} {
		if x.n > 0 && w != nil {
			w.AddN(r.capture.File, x.kind, "", x.n)
		}
	}
}

// Packets reduces the network events of a trace to a capture, reading the source to its end. File is the subject of warnings; w
// may be nil. m keeps the packets, unless it is nil.
func Packets(src trace.Source, host, file string, m trace.Memory, w *trace.Warnings) (*trace.Capture, error) {
	r := NewReducer(host, file)
	r.capture.Packets = trace.NewLog(m)
	var e trace.Event
	for {
		if err := src.Next(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("network events: %w", err)
		}
		r.Add(src, &e)
	}
	c := r.Capture()
	c.Packets.Finish()
	r.Warnings(w)
	return c, nil
}

// see handles one network event.
func (r *Reducer) see(p *plan, time clock.HostTime, values []trace.Value) {
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
	r.moveBack()
}

// maxMoveBack is the most packets that a late one is moved back by.
const maxMoveBack = 256

// moveBack moves the last packet back to its place in order of time. Tracers write some events late, and an arrival is known
// only when its header is. Matching follows connections, and needs the packets in order.
func (r *Reducer) moveBack() {
	log := &r.capture.Packets
	for n := log.Len() - 1; n > max(0, log.Len()-maxMoveBack); n-- {
		last, before := log.At(n), log.At(n-1)
		if before.Time <= last.Time {
			return
		}
		*last, *before = *before, *last
	}
}

// preferAddressed drops the packets without addresses if both directions were also seen with addresses.
func (r *Reducer) preferAddressed() {
	if !r.addressed[0] || !r.addressed[1] {
		return
	}
	for chunk := range r.capture.Packets.Chunks() {
		for i := range chunk {
			if chunk[i].Kind == trace.Unaddressed {
				chunk[i].Kind = trace.Other
			}
		}
	}
}

// arrivals has the time at which each buffer came in, until an event has its header. Addresses are used again, so there
// are few. A packet whose arrival was dropped has the later stamp of its header.
type arrivals struct {
	at   map[uint64]clock.HostTime
	lost int64
}

// maxArrivals bounds the addresses; maxJoinDelay, in ns, the time until a packet's header: both happen in one interrupt.
const (
	maxArrivals  = 1 << 16
	maxJoinDelay = 100_000_000
)

func (a *arrivals) add(buffer uint64, time clock.HostTime) {
	if a.at == nil {
		a.at = make(map[uint64]clock.HostTime)
	}
	if len(a.at) == maxArrivals {
		a.lost += maxArrivals
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
	return time, now >= time && now-time <= maxJoinDelay
}
