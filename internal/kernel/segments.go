package kernel

import "meridian/trace"

// Segments reads the packets of network events one at a time, where a [Reducer] gathers them. The zero value is ready. It
// is for the events of one trace, whose classes have numbers.
type Segments struct {
	plans map[int]*plan
	flows trace.FlowTable
	made  bool
	head  header
}

// Reads reports whether events of a class have packets with addresses, as they are sent or received.
func (s *Segments) Reads(c *trace.Class) bool {
	p := newPlan(c)
	return p.act == sends || p.act == receives
}

// Of returns the packet of an event, with its ends, if it is of TCP. Time is not set. Packets of the loopback device are within their host: they are
// sent and received there.
func (s *Segments) Of(class int, c *trace.Class, values []trace.Value) (p trace.Packet, from, to trace.Endpoint, within, ok bool) {
	if !s.made {
		s.plans, s.flows, s.made = make(map[int]*plan), trace.NewFlowTable(), true
	}
	of := s.plans[class]
	if of == nil {
		made := newPlan(c)
		of = &made
		s.plans[class] = of
	}
	h := &s.head
	*h = header{}
	h.read(of.nodes, values)
	if !h.hasAll(sourceSlot, targetSlot, protocolSlot) || !h.has(totalSlot) && !h.has(payloadSlot) {
		return p, from, to, false, false
	}
	p.From = trace.Received
	if of.act == sends {
		p.From = trace.Sent
	}
	if !h.packet(&p, &s.flows) || p.Kind != trace.TCP {
		return p, from, to, false, false
	}
	from, to = s.flows.Flows()[p.Flow>>1].Ends(int(p.Flow & 1))
	return p, from, to, string(h.device) == "lo", true
}
