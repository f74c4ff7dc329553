//go:build unix

package netlab

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"meridian/clock"
)

// packet is what the tests want to know of one, decoded by gopacket.
type packet struct {
	time                   clock.TimelineTime
	wire, kept             int
	kinds                  []string
	kind                   string // of its transport
	source, target         string
	sourcePort, targetPort uint16
	tcp                    segment
}

// segment identifies a TCP segment whatever a NAT did to it.
type segment struct {
	seq, ack uint32
	length   int
	flags    byte
	options  string
}

func linkType(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return int(binary.LittleEndian.Uint32(b[20:]))
}

// readAll decodes a capture of this machine's byte order. Like readers under test it is strict about the end.
func readAll(t *testing.T, file string) []packet {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	order := binary.LittleEndian
	unit := int64(1)
	if order.Uint32(b) == magicMicros {
		unit = 1000
	}
	link := layers.LinkType(order.Uint32(b[20:]))
	var all []packet
	for b = b[fileHeader:]; len(b) > 0; {
		n := int(order.Uint32(b[8:]))
		p := decode(b[packetHeader:packetHeader+n], link)
		p.time = clock.TimelineTime(int64(order.Uint32(b))*1e9 + int64(order.Uint32(b[4:]))*unit)
		p.kept, p.wire = n, int(order.Uint32(b[12:]))
		all = append(all, p)
		b = b[packetHeader+n:]
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", file)
	}
	return all
}

func decode(b []byte, link layers.LinkType) (p packet) {
	decoded := gopacket.NewPacket(b, link, gopacket.DecodeOptions{NoCopy: true})
	for _, layer := range decoded.Layers() {
		p.kinds = append(p.kinds, layer.LayerType().String())
		switch layer := layer.(type) {
		case *layers.IPv4:
			p.source, p.target = layer.SrcIP.String(), layer.DstIP.String()
			p.tcp.length = int(layer.Length) - 4*int(layer.IHL)
		case *layers.IPv6:
			p.source, p.target = layer.SrcIP.String(), layer.DstIP.String()
			p.tcp.length = int(layer.Length)
		case *layers.TCP:
			p.kind = "TCP"
			p.sourcePort, p.targetPort = uint16(layer.SrcPort), uint16(layer.DstPort)
			p.tcp.seq, p.tcp.ack = layer.Seq, layer.Ack
			p.tcp.length -= 4 * int(layer.DataOffset)
			p.tcp.flags = layer.Contents[13]
			p.tcp.options = string(layer.Contents[20:])
		case *layers.UDP:
			p.kind = "UDP"
			p.sourcePort, p.targetPort = uint16(layer.SrcPort), uint16(layer.DstPort)
		}
	}
	return p
}

func count(packets []packet, kind string) (n int) {
	for _, p := range packets {
		for _, k := range p.kinds {
			if k == kind {
				n++
			}
		}
	}
	return n
}

func countFrom(packets []packet, source string) (n int) {
	for _, p := range packets {
		if p.source == source {
			n++
		}
	}
	return n
}

func largest(captures ...[]packet) (n int) {
	for _, c := range captures {
		for _, p := range c {
			n = max(n, p.wire)
		}
	}
	return n
}

// oneClock checks the promise on which the truth rests: of all TCP segments that both captures have once, none is
// received before it was sent. The sender is known from the connection's first packet, the SYN.
func oneClock(t *testing.T, client, server []packet) {
	t.Helper()
	const granularity = 1000
	unique := func(packets []packet) map[segment]packet {
		seen := make(map[segment]packet)
		twice := make(map[segment]bool)
		for _, p := range packets {
			if p.kind != "TCP" {
				continue
			}
			if _, again := seen[p.tcp]; again {
				twice[p.tcp] = true
			}
			seen[p.tcp] = p
		}
		for s := range twice {
			delete(seen, s)
		}
		return seen
	}
	at := unique(server)
	matched := 0
	for s, here := range unique(client) {
		there, ok := at[s]
		if !ok {
			continue
		}
		matched++
		delay := int64(there.time - here.time)
		if here.sourcePort == 7000 || here.sourcePort == 7001 || here.sourcePort == 8080 {
			delay = -delay
		}
		if delay < -granularity {
			t.Fatalf("%+v was received %d ns before it was sent", here, -delay)
		}
	}
	if matched < 1000 {
		t.Errorf("only %d TCP segments found at both ends", matched)
	}
}
