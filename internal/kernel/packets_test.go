package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/testseed"
	"meridian/trace"
)

// segment is a TCP segment as a test gives it.
type segment struct {
	from, to         netip.AddrPort
	seq, ack         uint32
	flags            uint8
	window           uint16
	id               uint16
	ttl              uint8
	bytes            int
	optionsLength    int // of TCP, in bytes: NOPs
	internetTrailing int // of IPv4's options, in bytes
}

func (g *segment) lengths() (tcp, ip, total int) {
	tcp, ip = 20+g.optionsLength, 20+g.internetTrailing
	if g.from.Addr().Is6() {
		ip = 40
	}
	return tcp, ip, tcp + ip + g.bytes
}

func octets(a netip.Addr) (v []uint64) {
	for _, b := range a.AsSlice() {
		v = append(v, uint64(b))
	}
	return v
}

func words(a netip.Addr) (v []uint64) {
	b := a.As16()
	for i := 0; i < 16; i += 2 {
		v = append(v, uint64(binary.BigEndian.Uint16(b[i:])))
	}
	return v
}

// nested is the event's fields as lttng-modules 2.10 and later write them.
func (g *segment) nested() []field {
	tcp, ip, total := g.lengths()
	header := group("tcp", u("source_port", uint64(g.from.Port())), u("dest_port", uint64(g.to.Port())), u("seq", uint64(g.seq)),
		u("ack_seq", uint64(g.ack)), u("data_offset", uint64(tcp/4)), u("reserved", 0), u("flags", uint64(g.flags)),
		u("window_size", uint64(g.window)), u("checksum", 0x1234), u("urg_ptr", 0))
	transport := []field{u("transport_header_type", 1), variant("transport_header", header)}
	var network field
	if g.from.Addr().Is4() {
		network = variant("network_header", group("ipv4", append([]field{u("version", 4), u("ihl", uint64(ip/4)), u("tos", 0),
			u("tot_len", uint64(total)), u("id", uint64(g.id)), u("frag_off", 0x4000), u("ttl", uint64(g.ttl)), u("protocol", 6),
			u("checksum", 7), list("saddr", octets(g.from.Addr())...), list("daddr", octets(g.to.Addr())...)}, transport...)...))
	} else {
		network = variant("network_header", group("ipv4"), group("ipv6", append([]field{u("version", 6), u("prio", 0),
			list("flow_lbl", 1, 2, 3), u("payload_len", uint64(total-40)), u("nexthdr", 6), u("hop_limit", uint64(g.ttl)),
			list("saddr", words(g.from.Addr())...), list("daddr", words(g.to.Addr())...)}, transport...)...))
	}
	return []field{u("skbaddr", 0xffff8800), u("len", uint64(total)), s("name", "eth0"), u("network_header_type", 1), network}
}

// separate returns the fields as lttng-modules 2.8 wrote them, the transport header after the network header.
func (g *segment) separate() []field {
	tcp, ip, total := g.lengths()
	return []field{u("_skbaddr", 0xffff8800), u("_len", uint64(total)), s("_name", "eth0"), u("_network_header_type", 1),
		variant("_network_header", group("ipv4", u("_version", 4), u("_ihl", uint64(ip/4)), u("_tos", 0),
			u("_tot_len", uint64(total)), u("_id", uint64(g.id)), u("_frag_off", 0x4000), u("_ttl", uint64(g.ttl)), u("_protocol", 6),
			u("_checksum", 7), list("_saddr", octets(g.from.Addr())...), list("_daddr", octets(g.to.Addr())...))),
		u("_transport_header_type", 1),
		variant("_transport_header", group("tcp", u("_source", uint64(g.from.Port())), u("_dest", uint64(g.to.Port())),
			u("_seq", uint64(g.seq)), u("_ack_seq", uint64(g.ack)), u("_flags", uint64(tcp/4)<<12|uint64(g.flags)),
			u("_window", uint64(g.window)), u("_check", 0x1234), u("_urg_ptr", 0)))}
}

// flat is the fields as LTTng 0.x wrote them.
func (g *segment) flat(buffer uint64) []field {
	tcp, ip, total := g.lengths()
	bit := func(name string, flag uint8) field { return u(name, uint64(min(g.flags&flag, 1))) }
	from, to := g.from.Addr().As4(), g.to.Addr().As4()
	return []field{u("skb", buffer), u("saddr", uint64(binary.BigEndian.Uint32(from[:]))), u("daddr", uint64(binary.BigEndian.Uint32(to[:]))),
		u("tot_len", uint64(total)), u("ihl", uint64(ip/4)), u("source", uint64(g.from.Port())), u("dest", uint64(g.to.Port())),
		u("seq", uint64(g.seq)), u("ack_seq", uint64(g.ack)), u("doff", uint64(tcp/4)),
		bit("ack", trace.ACK), bit("rst", trace.RST), bit("syn", trace.SYN), bit("fin", trace.FIN)}
}

// frame is the segment's bytes on the wire.
func (g *segment) frame() []byte {
	tcp, ip, total := g.lengths()
	b := make([]byte, 14, 14+total)
	if g.from.Addr().Is4() {
		b[12] = 8
		b = append(b, byte(4<<4|ip/4), 0)
		b = binary.BigEndian.AppendUint16(b, uint16(total))
		b = binary.BigEndian.AppendUint16(b, g.id)
		b = append(b, 0x40, 0, g.ttl, 6, 0, 7)
	} else {
		b[12], b[13] = 0x86, 0xdd
		b = append(b, 6<<4, 1, 2, 3)
		b = binary.BigEndian.AppendUint16(b, uint16(total-40))
		b = append(b, 6, g.ttl)
	}
	b = append(append(b, g.from.Addr().AsSlice()...), g.to.Addr().AsSlice()...)
	b = append(b, make([]byte, 14+ip-len(b))...)
	b = binary.BigEndian.AppendUint16(b, g.from.Port())
	b = binary.BigEndian.AppendUint16(b, g.to.Port())
	b = binary.BigEndian.AppendUint32(b, g.seq)
	b = binary.BigEndian.AppendUint32(b, g.ack)
	b = append(b, byte(tcp/4)<<4, g.flags)
	b = binary.BigEndian.AppendUint16(b, g.window)
	b = append(b, 0x12, 0x34, 0, 0)
	return append(b, append(bytes.Repeat([]byte{1}, g.optionsLength), make([]byte, g.bytes)...)...)
}

// asCaptured is what format/pcap makes of the frame.
func (g *segment) asCaptured() (trace.Packet, trace.Flow) {
	d := pcap.NewDecoder("x.pcap", nil)
	frame := g.frame()
	var p trace.Packet
	d.Decode(1, &trace.Frame{Data: frame, Wire: uint32(len(frame))}, &p)
	if p.Kind != trace.TCP {
		panic("not a frame")
	}
	f := d.Flows()[0]
	f.Source, f.Target = [2]trace.MAC{}, [2]trace.MAC{}
	return p, f
}

func drawSegment(t *rapid.T, six bool) *segment {
	address := func(label string) netip.AddrPort {
		a := netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, label)))
		if six {
			a = netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, label)))
		}
		return netip.AddrPortFrom(a, rapid.Uint16().Draw(t, label+" port"))
	}
	return &segment{from: address("from"), to: address("to"), seq: rapid.Uint32().Draw(t, "seq"), ack: rapid.Uint32().Draw(t, "ack"),
		flags: rapid.Uint8Range(0, 63).Draw(t, "flags"), window: rapid.Uint16().Draw(t, "window"), id: rapid.Uint16().Draw(t, "id"),
		ttl: rapid.Uint8().Draw(t, "ttl"), bytes: rapid.SampledFrom([]int{0, 1, 1448, 60_000}).Draw(t, "bytes"),
		optionsLength: 4 * rapid.IntRange(0, 10).Draw(t, "options"), internetTrailing: 4 * rapid.IntRange(0, 10).Draw(t, "IP options")}
}

func capture(t interface{ Fatal(...any) }, s *script) (*trace.Capture, []string) {
	var w trace.Warnings
	c, err := Packets(s, "h", "trace", nil, &w)
	if err != nil {
		t.Fatal(err)
	}
	return c, w.Lines()
}

func TestPacketOfTheKernelIsThatOfACaptureFile(t *testing.T) {
	for _, version := range []struct {
		name   string
		fields func(*segment) []field
		six    bool
	}{
		{"header within header", (*segment).nested, false},
		{"IPv6", (*segment).nested, true},
		{"separate headers", (*segment).separate, false},
	} {
		t.Run(version.name, func(t *testing.T) {
			testseed.Check(t, func(t *rapid.T) {
				g := drawSegment(t, version.six)
				want, flow := g.asCaptured()
				for from, name := range map[trace.Direction]string{trace.Sent: "net_dev_queue", trace.Received: "net_if_receive_skb"} {
					var s script
					s.cpus(1).add(99, 0, name, version.fields(g)...)
					c, warnings := capture(t, &s)
					if c.Packets.Len() != 1 || len(warnings) != 0 {
						t.Fatalf("%d packets, warnings %q", c.Packets.Len(), warnings)
					}
					want.Time, want.From, want.Point = 99, from, 0 // no link header is recorded
					if got := *c.Packets.At(0); got != want || c.Flows[0] != flow {
						t.Fatalf("%+v %v\nwant %+v %v", got, c.Flows[0], want, flow)
					}
				}
			})
		})
	}
}

func endpoints() (a, b netip.AddrPort) {
	return netip.MustParseAddrPort("10.0.0.1:4000"), netip.MustParseAddrPort("10.0.0.2:80")
}

func TestOldReceptionIsStampedWhereItsBufferCameIn(t *testing.T) {
	a, b := endpoints()
	g := segment{from: a, to: b, seq: 5, ack: 9, flags: trace.ACK, bytes: 100}
	var s script
	s.cpus(1)
	s.add(10, 0, "dev_receive", u("skb", 0xaa), u("protocol", 8))
	s.add(11, 0, "dev_receive", u("skb", 0xbb), u("protocol", 8))
	s.add(15, 0, "tcpv4_rcv_extended", g.flat(0xaa)...)
	s.add(16, 0, "tcpv4_rcv_extended", g.flat(0xbb)...)
	s.add(17, 0, "tcpv4_rcv_extended", g.flat(0xbb)...) // its arrival was lost, or it was decoded twice
	sent := append([]field{u("network_protocol", 0x0800), u("transport_protocol", 6)}, g.flat(0xcc)...)
	s.add(20, 0, "dev_xmit_extended", sent...)
	sent[0], sent[1] = u("network_protocol", 0x0806), u("transport_protocol", 0x77)
	s.add(21, 0, "dev_xmit_extended", sent...) // ARP: the rest of the event is whatever was there
	c, warnings := capture(t, &s)
	var times []clock.HostTime
	for i := range c.Packets.Len() {
		p := c.Packets.At(i)
		times = append(times, p.Time)
		if p.Kind != trace.TCP || p.Seq != 5 || p.Ack != 9 || p.Length != 100 || p.Flags != trace.ACK || (p.From == trace.Sent) != (i == 3) {
			t.Errorf("%+v", *p)
		}
	}
	if len(times) != 4 || times[0] != 10 || times[1] != 11 || times[2] != 17 || times[3] != 20 {
		t.Errorf("stamps %v", times)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "at which TCP saw them") {
		t.Errorf("warnings %q", warnings)
	}
}

func TestDatagramsAreKnownByLengthAndIdentification(t *testing.T) {
	datagram := func(name string, protocol, id, part uint64, transport ...field) *script {
		var z script
		z.cpus(1).add(1, 0, name, u("len", 114), s("name", "eth1"), u("network_header_type", 1),
			variant("network_header", group("ipv4", append([]field{u("version", 4), u("ihl", 5), u("tot_len", 100), u("id", id),
				u("frag_off", part), u("ttl", 64), u("protocol", protocol), list("saddr", 10, 0, 0, 1), list("daddr", 10, 0, 0, 2)}, transport...)...)))
		return &z
	}
	udp := variant("transport_header", group("tcp"), group("udp", u("source_port", 53), u("dest_port", 999), u("len", 70), u("check", 4)))
	for _, test := range []struct {
		name     string
		s        *script
		length   uint32
		low      string
		protocol uint8
	}{
		{"UDP", datagram("net_dev_queue", 17, 7, 0, udp), 62, "10.0.0.1:53", 17},
		{"UDP, ports not recorded", datagram("net_dev_queue", 17, 7, 0), 72, "10.0.0.1", 17},
		{"fragment", datagram("netif_receive_skb", 17, 7, 0x20b9, udp), 80, "10.0.0.1", 17},
		{"ICMP", datagram("net_dev_queue", 1, 7, 0, variant("transport_header", group("icmp", u("type", 8), u("checksum", 3)))), 72, "10.0.0.1", 1},
		{"another", datagram("net_dev_queue", 89, 7, 0), 80, "10.0.0.1", 89},
	} {
		c, warnings := capture(t, test.s)
		if c.Packets.Len() != 1 || len(warnings) > 0 {
			t.Fatalf("%s: %d packets, %q", test.name, c.Packets.Len(), warnings)
		}
		p, f := c.Packets.At(0), &c.Flows[0]
		if p.Kind != trace.Datagram || p.Length != test.length || p.ID != 7 || p.Digest != 0 || f.Low.String() != test.low || f.Protocol != test.protocol {
			t.Errorf("%s: %+v of %v", test.name, *p, f)
		}
	}
}

func TestLoopbackAndOtherProtocolsAreLeftOut(t *testing.T) {
	a, b := endpoints()
	g := segment{from: a, to: b, flags: trace.ACK}
	var z script
	fields := g.nested()
	fields[2] = s("name", "lo")
	z.cpus(1).add(1, 0, "net_dev_queue", fields...)
	fields[2] = s("name", "eth0")
	fields[4].value = trace.Value{Kind: trace.Variant, Items: []trace.Value{{Kind: trace.Struct}}} // the unknown one
	z.add(2, 0, "net_dev_queue", fields...)                                                        // ARP
	if c, warnings := capture(t, &z); c.Packets.Len() != 0 || len(warnings) != 0 {
		t.Errorf("%d packets, %q", c.Packets.Len(), warnings)
	}
}

func TestSegmentsOfTheLoopbackDeviceAreWithinTheirHost(t *testing.T) {
	a, b := endpoints()
	g := segment{from: a, to: b, flags: trace.ACK}
	var z script
	fields := g.nested()
	z.cpus(1).add(1, 0, "net_dev_queue", fields...)
	fields[2] = s("name", "lo")
	z.add(2, 0, "netif_receive_skb", fields...)
	var of Segments
	for i, want := range []struct {
		within bool
		from   trace.Direction
	}{{false, trace.Sent}, {true, trace.Received}} {
		e := &z.events[i]
		p, from, to, within, ok := of.Of(e.Class, &z.classes[e.Class], e.values)
		if !ok || within != want.within || p.From != want.from || from.Port != a.Port() || to.Addr != b.Addr() {
			t.Errorf("event %d: %+v from %v to %v, within %v, %v", i, p, from, to, within, ok)
		}
	}
}

func TestHeaderThatContradictsItselfIsCountedAndLeftOut(t *testing.T) {
	a, b := endpoints()
	for name, g := range map[string]segment{
		"data offset":   {from: a, to: b, optionsLength: -4},
		"header length": {from: a, to: b, internetTrailing: -4},
		"total length":  {from: a, to: b, bytes: -1},
	} {
		var z script
		z.cpus(1).add(1, 0, "net_dev_queue", g.nested()...)
		z.add(2, 0, "net_dev_queue", g.nested()...)
		c, warnings := capture(t, &z)
		if c.Packets.Len() != 0 || len(warnings) != 1 || !strings.Contains(warnings[0], "inconsistent header") || !strings.Contains(warnings[0], "2 times") {
			t.Errorf("%s: %d packets, %q", name, c.Packets.Len(), warnings)
		}
	}
}

func TestSuperSegmentLongerThanItsFieldHasTheBuffersLength(t *testing.T) {
	a, b := endpoints()
	for name, whole := range map[string]uint64{"net_dev_queue": 14 + 40 + 200_000, "netif_receive_skb": 40 + 200_000} {
		g := segment{from: a, to: b, bytes: -40} // tot_len 0
		var z script
		fields := g.nested()
		fields[1] = u("len", whole)
		z.cpus(1).add(1, 0, name, fields...)
		c, _ := capture(t, &z)
		if c.Packets.Len() != 1 || c.Packets.At(0).Length != 200_000 {
			t.Errorf("%s: %d packets", name, c.Packets.Len())
		}
	}
}

// addonFields are those of LTTng's addons: the flags the other way round, in the wrong byte order.
func addonFields(seq, ack uint32, flags uint8, window, check uint16) []field {
	var reversed uint16
	for bit := range 8 {
		if flags&(1<<bit) != 0 {
			reversed |= 0x80 >> bit
		}
	}
	word := 8<<8 | reversed
	return []field{u("_sk", 0xffff880012345678), u("_seq", uint64(seq)), u("_ack_seq", uint64(ack)), u("_check", uint64(check)),
		u("_window", uint64(window)), u("_flags", uint64(word>>8|word<<8))}
}

func TestEventsWithoutAddressesAreBare(t *testing.T) {
	for flags := range uint8(64) {
		if flags&(trace.ACK|trace.SYN|trace.RST) == 0 {
			continue
		}
		var z script
		z.cpus(1).add(1, 0, "inet_sock_local_out", addonFields(3, 4, flags, 500, 0xbeef)...)
		z.add(2, 0, "inet_sock_local_in", addonFields(5, 6, flags, 501, 0)...)
		c, _ := capture(t, &z)
		if c.Packets.Len() != 2 {
			t.Fatal(c.Packets.Len(), "packets")
		}
		p, q := c.Packets.At(0), c.Packets.At(1)
		if p.Kind != trace.Unaddressed || p.From != trace.Sent || p.Seq != 3 || p.Ack != 4 || p.Flags != flags || p.Digest != 500<<16|0xbeef || p.TSVal == 0 {
			t.Fatalf("%+v, flags %#x", *p, flags)
		}
		if q.Kind != trace.Unaddressed || q.From != trace.Received || q.Seq != 5 || q.Flow != trace.NoFlow {
			t.Fatalf("%+v", *q)
		}
	}
}

func TestPacketsSeenWithAddressesAreNotBareAsWell(t *testing.T) {
	a, b := endpoints()
	there, back := segment{from: a, to: b, flags: trace.ACK}, segment{from: b, to: a, flags: trace.ACK}
	var z script
	z.cpus(1).add(1, 0, "inet_sock_local_out", addonFields(3, 4, trace.ACK, 500, 1)...)
	z.add(2, 0, "net_dev_queue", there.nested()...)
	z.add(3, 0, "net_if_receive_skb", back.nested()...)
	c, _ := capture(t, &z)
	for i, kind := range []trace.Kind{trace.Other, trace.TCP, trace.TCP} {
		if got := c.Packets.At(i).Kind; got != kind {
			t.Errorf("packet %d is of kind %d, want %d", i, got, kind)
		}
	}
}

func TestTraceWhoseNetworkEventsSayNothingIsNamed(t *testing.T) {
	var z script
	z.cpus(1).add(1, 0, "net_dev_queue", u("skbaddr", 1), u("len", 66), s("name", "eth0"))
	z.add(2, 0, "netif_receive_skb", u("skbaddr", 1), u("len", 66), s("name", "eth0"))
	c, warnings := capture(t, &z)
	if c.Packets.Len() != 0 || len(warnings) != 1 || !strings.Contains(warnings[0], "nothing can be matched (2 times)") {
		t.Errorf("%d packets, %q", c.Packets.Len(), warnings)
	}
}

func TestErrorOfTheSourceIsPassedOn(t *testing.T) {
	broken := errors.New("broken")
	if _, err := Packets(&script{fail: broken}, "h", "f", nil, nil); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// oneFlow is so many packets of one flow.
func oneFlow(packets int) *script {
	from, to := endpoints()
	g := segment{from: from, to: to, flags: trace.ACK, bytes: 10}
	var z script
	z.cpus(1)
	for k := range clock.HostTime(packets) {
		z.add(k, 0, "net_dev_queue", g.nested()...)
	}
	return &z
}

func TestPacketsAllocateNothingPerEvent(t *testing.T) {
	z := oneFlow(4000)
	n := testing.AllocsPerRun(3, func() {
		z.at = 0
		if _, err := Packets(z, "h", "f", nil, nil); err != nil {
			t.Fatal(err)
		}
	})
	if n > 60 {
		t.Errorf("%v allocations for 4000 events of one flow", n)
	}
}
