package main_test

import (
	"encoding/binary"
	"net"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"meridian/clock"
)

// The frames of a world are made by gopacket: what Meridian decodes is written by somebody else.

// tcp plays a connection: handshake, n requests of b's service, each acknowledged and answered, and the end.
func (w *world) tcp(t *talk) {
	w.ports++
	c := connection{world: w, talk: t, port: w.ports, seq: map[*host]uint32{t.a: w.random.Uint32(), t.b: w.random.Uint32()}}
	const turn = 20_000 // ns between receiving and answering
	at := c.segment(t.a, t.start, "S", 0)
	at = c.segment(t.b, at+turn, "SA", 0)
	c.segment(t.a, at+turn, "A", 0)
	for i := range t.n {
		asked := c.segment(t.a, max(t.start+clock.TimelineTime(int64(i+1)*int64(t.every)), at+2*turn), "PA", 100+i%7)
		c.segment(t.b, asked+turn, "A", 0)
		at = c.segment(t.b, asked+2*turn, "PA", 1000)
		c.segment(t.a, at+turn, "A", 0)
	}
	at = c.segment(t.a, at+1_000_000, "FA", 0)
	at = c.segment(t.b, at+turn, "FA", 0)
	c.segment(t.a, at+turn, "A", 0)
}

type connection struct {
	*world
	*talk
	port uint16
	seq  map[*host]uint32
}

// segment sends one segment and returns when it arrives.
func (c *connection) segment(from *host, at clock.TimelineTime, flags string, length int) clock.TimelineTime {
	to, source, target := c.b, c.port, uint16(443)
	if from == c.b {
		to, source, target = c.a, target, source
	}
	tcp := &layers.TCP{
		SrcPort: layers.TCPPort(source), DstPort: layers.TCPPort(target), Window: 64000, Seq: c.seq[from],
		Options: []layers.TCPOption{timestamps(from.tx.At(at), to.tx.At(at))},
	}
	for _, f := range flags {
		switch f {
		case 'S':
			tcp.SYN = true
		case 'F':
			tcp.FIN = true
		case 'P':
			tcp.PSH = true
		case 'A':
			tcp.ACK, tcp.Ack = true, c.seq[to]
		}
	}
	c.seq[from] += uint32(length)
	if tcp.SYN || tcp.FIN {
		c.seq[from]++
	}
	return c.send(c.talk, from, at, frame(from, to, layers.IPProtocolTCP, tcp, c.payload(length)))
}

func timestamps(own, other clock.HostTime) layers.TCPOption {
	data := make([]byte, 8)
	binary.BigEndian.PutUint32(data, uint32(int64(own)/1_000_000))
	binary.BigEndian.PutUint32(data[4:], uint32(int64(other)/1_000_000))
	return layers.TCPOption{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10, OptionData: data}
}

// udp plays n datagrams from a to b, each answered if the talk wants replies.
func (w *world) udp(t *talk) {
	w.ports++
	there := &layers.UDP{SrcPort: layers.UDPPort(w.ports), DstPort: 9000}
	back := &layers.UDP{SrcPort: 9000, DstPort: layers.UDPPort(w.ports)}
	for i := range t.n {
		at := w.send(t, t.a, t.start+clock.TimelineTime(int64(i+1)*int64(t.every)), frame(t.a, t.b, layers.IPProtocolUDP, there, w.payload(80)))
		if t.reply {
			w.send(t, t.b, at+20_000, frame(t.b, t.a, layers.IPProtocolUDP, back, w.payload(80)))
		}
	}
}

func (w *world) payload(length int) []byte {
	data := make([]byte, length)
	for i := range data {
		data[i] = byte(w.random.Uint32())
	}
	return data
}

// transport is a TCP or UDP header, whose checksum covers the addresses.
type transport interface {
	gopacket.SerializableLayer
	SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
}

func frame(from, to *host, protocol layers.IPProtocol, header transport, payload []byte) []byte {
	from.ids++
	ip := &layers.IPv4{
		Version: 4, TTL: 64, Id: from.ids, Protocol: protocol, Flags: layers.IPv4DontFragment,
		SrcIP: from.addr.AsSlice(), DstIP: to.addr.AsSlice(),
	}
	ethernet := &layers.Ethernet{SrcMAC: from.mac(), DstMAC: to.mac(), EthernetType: layers.EthernetTypeIPv4}
	if err := header.SetNetworkLayerForChecksum(ip); err != nil {
		panic(err) // an IPv4 header is a network layer
	}
	out := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(out, options, ethernet, ip, header, gopacket.Payload(payload)); err != nil {
		panic(err) // all lengths are small
	}
	return out.Bytes()
}

func (h *host) mac() net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 0, byte(h.number)} }
