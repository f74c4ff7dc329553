package lttng

import (
	"encoding/binary"
	"math/bits"

	"meridian/clock"
	"meridian/trace"
)

// kind is what an event tells, whatever its style calls it.
type kind int

const (
	send kind = iota
	receive
	decode // a header after its buffer came in
	sent   // the device took it
	switches
	wakes
	sending
	receiving
	sentCall
	receivedCall
	interrupt
	resume
	softly
	softlyDone
	state
	request
	requestDone
)

// event is one event of a processor, not yet written.
type event struct {
	at       clock.TimelineTime
	kind     kind
	packet   *Packet
	head     header
	buffer   uint64  // of the packet
	on       *thread // the one that ran
	other    *thread // the one it is about, or that runs from now on
	instance int     // of what there are several of: the processor
}

// classes returns the kernel's types of events in a style, and which kind each tells.
func classes(s Style) ([]class, map[kind]int) {
	var all []class
	of := map[kind]int{}
	add := func(k kind, name, fields string) {
		of[k] = len(all)
		all = append(all, class{name, fields})
	}
	packetEvents(s, add)
	if s != Extended {
		add(sent, "net_dev_xmit", integer("skbaddr", 64, "hex")+integer("rc", 32, "signed")+integer("len", 32)+"string _name;\n")
	}
	add(switches, "sched_switch", comm("prev_comm")+integer("prev_tid", 32, "signed")+integer("prev_prio", 32, "signed")+integer("prev_state", 64, "signed")+
		comm("next_comm")+integer("next_tid", 32, "signed")+integer("next_prio", 32, "signed"))
	old := s == Extended || s == Unaddressed
	softirq, entry := "irq_softirq", "syscall_entry_"
	if old {
		softirq, entry = "softirq", "sys_"
		add(wakes, "sched_ttwu", integer("tid", 32, "signed"))
	} else {
		add(wakes, "sched_waking", comm("comm")+integer("tid", 32, "signed")+integer("prio", 32, "signed")+integer("target_cpu", 32, "signed"))
	}
	add(sending, entry+"sendto", integer("fd", 32, "signed")+integer("buff", 64, "hex")+integer("len", 64)+integer("flags", 32, "hex"))
	add(receiving, entry+"recvfrom", integer("fd", 32, "signed")+integer("size", 64)+integer("flags", 32, "hex"))
	if old {
		add(sentCall, "exit_syscall", integer("ret", 64, "signed"))
		of[receivedCall] = of[sentCall]
	} else {
		add(sentCall, "syscall_exit_sendto", integer("ret", 64, "signed"))
		add(receivedCall, "syscall_exit_recvfrom", integer("ret", 64, "signed"))
	}
	add(interrupt, "irq_handler_entry", integer("irq", 32, "signed")+"string _name;\n")
	add(resume, "irq_handler_exit", integer("irq", 32, "signed")+integer("ret", 32, "signed"))
	add(softly, softirq+"_entry", integer("vec", 32))
	add(softlyDone, softirq+"_exit", integer("vec", 32))
	add(state, "lttng_statedump_process_state", integer("tid", 32, "signed")+integer("vtid", 32, "signed")+integer("pid", 32, "signed")+
		integer("vpid", 32, "signed")+integer("ppid", 32, "signed")+integer("vppid", 32, "signed")+comm("name")+integer("type", 32, "signed")+
		integer("mode", 32, "signed")+integer("submode", 32, "signed")+integer("status", 32, "signed")+integer("ns_level", 32, "signed"))
	return all, of
}

// packetEvents adds the events of packets.
func packetEvents(s Style, add func(kind, string, string)) {
	buffer := integer("skbaddr", 64, "hex") + integer("len", 32) + "string _name;\n"
	switch s {
	case Nested:
		fields := buffer + networkHeader(transportHeader(
			network(16, "source_port dest_port")+network(32, "seq ack_seq")+network(4, "data_offset")+network(3, "reserved")+network(9, "flags")+
				network(16, "window_size checksum urg_ptr"), network(16, "source_port dest_port len check")))
		add(send, "net_dev_queue", fields)
		add(receive, "net_if_receive_skb", fields)
	case Separate:
		fields := buffer + networkHeader("") + transportHeader(
			network(16, "source dest")+network(32, "seq ack_seq")+network(16, "flags window check urg_ptr"), network(16, "source dest len check"))
		add(send, "net_dev_queue", fields)
		add(receive, "netif_receive_skb", fields)
	case Extended:
		tcp := integer("saddr", 32) + integer("daddr", 32) + integer("tot_len", 16) + integer("ihl", 8) + integer("source", 16) + integer("dest", 16) +
			integer("seq", 32) + integer("ack_seq", 32) + integer("doff", 8) + integer("ack", 8) + integer("rst", 8) + integer("syn", 8) + integer("fin", 8)
		skb := integer("skb", 64, "hex")
		add(send, "dev_xmit_extended", skb+integer("network_protocol", 16)+integer("transport_protocol", 8)+tcp)
		add(receive, "dev_receive", skb+integer("protocol", 16))
		add(decode, "tcpv4_rcv_extended", skb+tcp)
	case Unaddressed:
		hex := func(name string, bits int) string { return integer(name, bits, "hex", "network") }
		fields := integer("sk", 64, "hex") + hex("seq", 32) + hex("ack_seq", 32) + hex("check", 16) + hex("window", 16) + hex("flags", 16)
		add(send, "inet_sock_local_out", fields)
		add(receive, "inet_sock_local_in", fields)
	}
}

// networkHeader declares an IP header of either version, with more behind it.
func networkHeader(more string) string {
	return variant("network_header", [2]string{"unknown"}, [2]string{"ipv4", network(4, "version ihl") + network(8, "tos") +
		network(16, "tot_len id frag_off") + network(8, "ttl protocol") + network(16, "checksum") + network(8, "saddr[4] daddr[4]") + more},
		[2]string{"ipv6", network(4, "version prio") + network(8, "flow_lbl[3]") + network(16, "payload_len") + network(8, "nexthdr hop_limit") +
			network(16, "saddr[8] daddr[8]") + more})
}

func transportHeader(tcp, udp string) string {
	return variant("transport_header", [2]string{"unknown"}, [2]string{"tcp", tcp}, [2]string{"udp", udp})
}

func userClasses() []class {
	return []class{{"server:request_start", integer("bytes", 32)}, {"server:request_end", integer("bytes", 32)}}
}

// values returns an event's fields.
func (e *event) values(s Style) []trace.Value {
	u, i, text := trace.OfUint, trace.OfInt, trace.OfText
	switch e.kind {
	case send, receive, decode:
		return e.packetValues(s)
	case sent:
		return []trace.Value{u(e.buffer), i(0), u(uint64(e.packet.Wire + link)), text("eth0")}
	case switches:
		return []trace.Value{text(e.on.name), i(e.on.tid), i(20), i(1), text(e.other.name), i(e.other.tid), i(20)}
	case wakes:
		if s == Extended || s == Unaddressed {
			return []trace.Value{i(e.other.tid)}
		}
		return []trace.Value{text(e.other.name), i(e.other.tid), i(20), i(int64(e.instance))}
	case sending:
		return []trace.Value{i(7), u(0x7f0000001000), u(uint64(e.head.payload)), u(0x4000)}
	case receiving:
		return []trace.Value{i(7), u(65536), u(0)}
	case sentCall, receivedCall:
		return []trace.Value{i(int64(e.head.payload))}
	case interrupt:
		return []trace.Value{i(27), text("eth0-rx")}
	case resume:
		return []trace.Value{i(27), i(1)}
	case softly, softlyDone:
		return []trace.Value{u(3)}
	case state:
		t := e.other
		return []trace.Value{i(t.tid), i(t.tid), i(t.pid), i(t.pid), i(1), i(1), text(t.name), i(0), i(5), i(0), i(2), i(0)}
	}
	return []trace.Value{u(uint64(e.head.payload))} // of a request
}

// link is the length of an Ethernet header, which a buffer has when it is queued and no more when it was received.
const link = 14

func (e *event) packetValues(s Style) []trace.Value {
	h, u := &e.head, trace.OfUint
	be16 := func(b []byte, at int) trace.Value { return u(uint64(binary.BigEndian.Uint16(b[at:]))) }
	be32 := func(b []byte, at int) trace.Value { return u(uint64(binary.BigEndian.Uint32(b[at:]))) }
	t := h.transport
	switch s {
	case Nested, Separate:
		length := e.packet.Wire
		if e.kind == send {
			length += link
		}
		all := []trace.Value{u(e.buffer), u(uint64(length)), trace.OfText("eth0")}
		if s == Nested {
			return append(all, networkValue(h, transportValue(h, s)))
		}
		return append(all, networkValue(h), transportValue(h, s))
	case Extended:
		if e.kind == receive {
			kind := uint64(0x0800)
			if h.six {
				kind = 0x86dd
			}
			return []trace.Value{u(e.buffer), u(kind)}
		}
		all := []trace.Value{u(e.buffer)}
		if e.kind == send {
			all = append(all, u(0x0800), u(protocolTCP))
		}
		bit := func(n int) trace.Value { return u(uint64(t[13] >> n & 1)) }
		return append(all, be32(h.ip, 12), be32(h.ip, 16), be16(h.ip, 2), u(uint64(h.ip[0]&15)), be16(t, 0), be16(t, 2),
			be32(t, 4), be32(t, 8), u(uint64(t[12]>>4)), bit(4), bit(2), bit(1), bit(0))
	}
	// The addons' bit fields lie the other way round, and what they stored in the host's order is read in the network's.
	flags := bits.ReverseBytes16(uint16(t[12]>>4)<<8 | uint16(bits.Reverse8(t[13])))
	socket := 0xffff888000000000 | h.flow()<<10&0xffffffff00 // one for both directions
	return []trace.Value{u(socket), be32(t, 4), be32(t, 8), be16(t, 16), be16(t, 14), u(uint64(flags))}
}

// networkValue is the chosen network header, with more behind it.
func networkValue(h *header, more ...trace.Value) trace.Value {
	u := trace.OfUint
	bytes := func(b []byte) trace.Value { return numbers(b, 1) }
	b, which := h.ip, uint64(1)
	var v []trace.Value
	word := func(at int) trace.Value { return u(uint64(binary.BigEndian.Uint16(b[at:]))) }
	if h.six {
		which = 2
		v = []trace.Value{u(6), u(uint64(b[0] & 15)), bytes(b[1:4]), word(4), u(uint64(b[6])), u(uint64(b[7])), numbers(b[8:24], 2), numbers(b[24:40], 2)}
	} else {
		v = []trace.Value{u(4), u(uint64(b[0] & 15)), u(uint64(b[1])), word(2), word(4), word(6), u(uint64(b[8])), u(uint64(b[9])), word(10),
			bytes(b[12:16]), bytes(b[16:20])}
	}
	return chosen(which, append(v, more...)...)
}

func transportValue(h *header, s Style) trace.Value {
	t, u := h.transport, trace.OfUint
	word := func(at int) trace.Value { return u(uint64(binary.BigEndian.Uint16(t[at:]))) }
	long := func(at int) trace.Value { return u(uint64(binary.BigEndian.Uint32(t[at:]))) }
	switch {
	case t == nil:
		return chosen(0)
	case h.protocol == protocolUDP:
		return chosen(2, word(0), word(2), word(4), word(6))
	case s == Nested:
		return chosen(1, word(0), word(2), long(4), long(8), u(uint64(t[12]>>4)), u(uint64(t[12]>>1&7)), u(uint64(t[12]&1)<<8|uint64(t[13])),
			word(14), word(16), word(18))
	}
	return chosen(1, word(0), word(2), long(4), long(8), word(12), word(14), word(16), word(18))
}

func chosen(which uint64, values ...trace.Value) trace.Value {
	return trace.Value{Kind: trace.Variant, Bits: which, Items: []trace.Value{{Kind: trace.Struct, Items: values}}}
}

// numbers is an array of unsigned numbers of so many bytes each.
func numbers(b []byte, width int) trace.Value {
	a := trace.Value{Kind: trace.Array}
	for ; len(b) > 0; b = b[width:] {
		n := uint64(0)
		for _, x := range b[:width] {
			n = n<<8 | uint64(x)
		}
		a.Items = append(a.Items, trace.OfUint(n))
	}
	return a
}
