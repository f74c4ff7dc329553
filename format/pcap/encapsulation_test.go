package pcap

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meridian/internal/encapsulation"
	"meridian/trace"
)

var update = flag.Bool("update", false, "write the captures of testdata/encapsulated anew")

// insidePackets are IP packets of several kinds, both ways.
func insidePackets() []encapsulation.Packet {
	back := func(packet []byte) []byte {
		if packet[0]>>4 == 6 {
			return join(packet[:8], packet[24:40], packet[8:24], packet[40:])
		}
		packet = join(packet[:12], packet[16:20], packet[12:16], packet[20:])
		if packet[9] != icmp4 {
			packet = join(packet[:20], packet[22:24], packet[20:22], packet[24:])
		}
		return packet
	}
	there := [][]byte{
		ip4(tcp, nil, tcpSegment(0x18, timestamps, "a segment of data in both directions"), 0, 7, 0x4000),
		ip4(tcp, nil, tcpSegment(0x10, timestamps, ""), 0, 8, 0x4000),
		ip4(udp, nil, udpDatagram("a datagram that is a little longer than the digest", 0), 0, 9, 0),
		ip4(icmp4, nil, join(8, 0, be16(1), be16(2), be16(3), "an echo of some length"), 0, 10, 0),
		ip6(tcp, tcpSegment(0x18, timestamps, "a segment over IPv6"), 0),
		ip6(udp, udpDatagram("a datagram over IPv6", 0), 0),
		ip6(icmp6, join(128, 0, be16(1), be16(2), be16(3), "an echo over IPv6"), 0),
	}
	var all []encapsulation.Packet
	for i, packet := range there {
		all = append(all, encapsulation.Packet{IP: packet, Way: 0, Number: i}, encapsulation.Packet{IP: back(packet), Way: 1, Number: i})
	}
	return all
}

// encapsulated is a capture with an interface for each encapsulation, by its name: the packets of insidePackets in each.
const encapsulated = "testdata/encapsulated/all.pcapng"

// readEncapsulated returns the capture, after it was made anew if that was asked for. It must be what package encapsulation makes.
func readEncapsulated(t *testing.T) *trace.Capture {
	t.Helper()
	b := &blockFile{order: binary.LittleEndian}
	b.section()
	inside := insidePackets()
	for i, e := range encapsulation.All() {
		b.iface(e.Link, 262144, b.option(2, []byte(e.Name)), b.option(9, []byte{9}))
		for k, p := range inside {
			b.enhanced(uint32(i), uint64(1_700_000_000_000_000_000+(i*len(inside)+k)*1_000_000), e.Frame(p), 0)
		}
	}
	if *update {
		if err := os.WriteFile(encapsulated, b.bytes, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(encapsulated); err != nil || !bytes.Equal(got, b.bytes) {
		t.Fatalf("%s is not what package encapsulation makes; write it anew with -update (%v)", encapsulated, err)
	}
	var w trace.Warnings
	c, err := Read(context.Background(), encapsulated, "h", &w, nil)
	if err != nil || len(w.Lines()) > 0 {
		t.Fatal(err, w.Lines())
	}
	if want := len(inside) * len(encapsulation.All()); c.Packets.Len() != want {
		t.Fatalf("%d packets, not %d", c.Packets.Len(), want)
	}
	return c
}

func TestEveryEncapsulationLeadsToThePacketInside(t *testing.T) {
	c, inside := readEncapsulated(t), insidePackets()
	for i, e := range encapsulation.All() {
		t.Run(e.Name, func(t *testing.T) {
			for k, p := range inside {
				bare, d, _ := decode(linkRaw, p.IP, 0)
				got := *c.Packets.At(i*len(inside) + k)
				if got.Flow == trace.NoFlow {
					t.Errorf("packet %d: %+v", k+1, got)
					continue
				}
				flow, want := c.Flows[got.Flow>>1], d.Flows()[0]
				if flow.Low != want.Low || flow.High != want.High || flow.Protocol != want.Protocol || got.Flow&1 != bare.Flow&1 {
					t.Errorf("packet %d: flow %v, want %v", k+1, flow, want)
				}
				bare.Time, bare.Flow, bare.From, bare.TTL, bare.Point = got.Time, got.Flow, got.From, got.TTL, got.Point
				if got != bare {
					t.Errorf("packet %d: %+v, want %+v", k+1, got, bare)
				}
			}
		})
	}
}

// What tshark calls the fields of the innermost packet: of all that it finds, the last.
var insideFields = strings.Fields(`frame.protocols ip.src ip.dst ip.id ipv6.src ipv6.dst tcp.srcport tcp.dstport tcp.seq_raw tcp.ack_raw
	tcp.flags tcp.len tcp.options.timestamp.tsval udp.srcport udp.dstport udp.length icmp.seq icmpv6.echo.sequence_number`)

func TestTsharkFindsThePacketInside(t *testing.T) {
	c, inside := readEncapsulated(t), len(insidePackets())
	args := []string{"-r", encapsulated, "-n", "-T", "fields", "-E", "occurrence=l",
		"-d", "mpls.label==18,pwethcw"} // what a pseudowire carries no header says
	for _, f := range insideFields {
		args = append(args, "-e", f)
	}
	out, err := exec.Command(peer(t, "tshark"), args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) != c.Packets.Len() {
		t.Fatalf("%d packets, tshark has %d", c.Packets.Len(), len(lines))
	}
	for i, e := range encapsulation.All() {
		if e.Link == linkMPLS || e.Link == linkPPPDaemon {
			continue // tshark 4.0 does not read these link types
		}
		t.Run(e.Name, func(t *testing.T) {
			for k := range inside {
				want := make(map[string]string)
				for n, v := range strings.Split(lines[i*inside+k], "\t") {
					want[insideFields[n]] = v
				}
				compareInside(t, i*inside+k, want, c)
			}
		})
	}
}

// compareInside compares a packet with the fields of the innermost one that tshark found.
func compareInside(t *testing.T, i int, want map[string]string, c *trace.Capture) {
	t.Helper()
	p := c.Packets.At(i)
	if p.Flow == trace.NoFlow {
		t.Errorf("packet %d: %+v, tshark has %v", i+1, p, want)
		return
	}
	from, to := c.Flows[p.Flow>>1].Ends(int(p.Flow & 1))
	layers := strings.Split(want["frame.protocols"], ":")
	fields := map[string]any{}
	switch {
	case last(layers, "ip", "ipv6") == "ip":
		fields["ip.src"], fields["ip.dst"], fields["ip.id"] = from.Addr, to.Addr, p.ID
	default:
		fields["ipv6.src"], fields["ipv6.dst"] = from.Addr, to.Addr
	}
	switch last(layers, "tcp", "udp", "icmp", "icmpv6") {
	case "tcp":
		fields["tcp.srcport"], fields["tcp.dstport"], fields["tcp.seq_raw"], fields["tcp.ack_raw"] = from.Port, to.Port, p.Seq, p.Ack
		fields["tcp.flags"], fields["tcp.len"], fields["tcp.options.timestamp.tsval"] = p.Flags, p.Length, p.TSVal
	case "udp":
		fields["udp.srcport"], fields["udp.dstport"], fields["udp.length"] = from.Port, to.Port, p.Length+8
	case "icmp":
		fields["icmp.seq"] = 3
	case "icmpv6":
		fields["icmpv6.echo.sequence_number"] = 3
	}
	for name, got := range fields {
		w := want[name]
		if n, err := strconv.ParseInt(w, 0, 64); err == nil {
			w = strconv.FormatInt(n, 10)
		}
		if g := fmt.Sprint(got); g != w {
			t.Errorf("packet %d: %s is %q, not %q (%s)", i+1, name, w, g, want["frame.protocols"])
		}
	}
}

// last returns the last of the layers that is one of some.
func last(layers []string, some ...string) string {
	for _, l := range slices.Backward(layers) {
		if slices.Contains(some, l) {
			return l
		}
	}
	return ""
}

func TestWhatNoHeaderBringsToIPIsNamedAndCounted(t *testing.T) {
	packet := ip4(udp, nil, udpDatagram("x", 0), 0, 7, 0)
	station := "\x02\x00\x00\x00\x00\x0a"
	wireless := func(control, flags, sequence int, body []byte) []byte {
		return join(control, flags, be16(0), station, station, station, sequence, 0, body)
	}
	deep := join(be16(typeBackbone), be32(0))
	for range maxDepth {
		deep = join(deep, station, station, be16(typeBackbone), be32(0))
	}
	for name, c := range map[string]struct {
		link uint16
		data []byte
		want string
	}{
		"MACsec":               {linkEthernet, ether(typeMACsec, join(0x2c, 0, be32(1), station, be16(1), packet)), encryptedMACsec},
		"MACsec, cut":          {linkEthernet, ether(typeMACsec, join(0x20, 0)), cutLink},
		"an EtherType":         {linkEthernet, ether(0x8906, packet), "packets of EtherType 0x8906 (FCoE), which is not known here, are left out of matching"},
		"multilink PPP":        {linkPPP, join(be16(0x3d), packet), "packets of PPP protocol 0x003d (multilink), which cannot be read, are left out of matching"},
		"encrypted 802.11":     {linkWireless, wireless(0x08, 0x41, 0, join("\x00\x00\x00\x20\x00\x00\x00\x00", packet)), encryptedWireless},
		"a part of 802.11":     {linkWireless, wireless(0x08, 0x05, 0, packet), partsOfWireless},
		"a later part":         {linkWireless, wireless(0x08, 0x01, 1, packet), partsOfWireless},
		"radiotap, cut":        {linkRadiotap, join(0, 0, 40, 0, be32(0)), cutLink},
		"radiotap, too short":  {linkRadiotap, join(0, 0, 4, 0, be32(0)), badLink},
		"NFLOG without packet": {linkNFLOG, join(2, 0, be16(0), 8, 0, 1, 0, be16(typeIPv4), 1, 0), cutLink},
		"NFLOG, bad length":    {linkNFLOG, join(2, 0, be16(0), 3, 0, 1, 0, be16(typeIPv4), 1, 0), badLink},
		"too many links":       {linkEthernet, join(station, station, deep, packet), tooDeep},
		"labels without end":   {linkMPLS, make([]byte, 64), cutLink},
		"PPI in PPI":           {linkPPI, join(0, 0, 8, 0, linkPPI, 0, 0, 0, packet), badLink},
	} {
		p, _, w := decode(c.link, c.data, 0)
		if lines := w.Lines(); p.Kind != trace.Other || len(lines) != 1 || !strings.Contains(lines[0], c.want) {
			t.Errorf("%s: %+v %v", name, p, lines)
		}
	}
}

// A hostile file names more protocols than a warning can list, and each costs a search.
func TestWarningsNameNoMoreProtocolsThanPeopleRead(t *testing.T) {
	var w trace.Warnings
	d := NewDecoder("x.pcap", &w)
	var p trace.Packet
	for kind := 0xa000; kind < 0xb000; kind++ {
		d.Decode(linkEthernet, &trace.Frame{Data: ether(kind, nil), Wire: 14}, &p)
	}
	d.Flush()
	if n := len(w.Lines()); n != maxNamed+1 {
		t.Errorf("%d warnings", n)
	}
}

func TestTheFirstPacketOfA80211AggregateIsMatchedAndTheRestCounted(t *testing.T) {
	packet := ip4(udp, nil, udpDatagram("x", 0), 0, 7, 0)
	station := "\x02\x00\x00\x00\x00\x0a"
	data := join(0x88, 0x01, be16(0), station, station, station, be16(0), 0x80, 0, station, station, be16(8+len(packet)),
		"\xaa\xaa\x03\x00\x00\x00", be16(typeIPv4), packet)
	p, _, w := decode(linkWireless, data, 0)
	if lines := w.Lines(); p.Kind != trace.Datagram || p.ID != 7 || len(lines) != 1 || !strings.Contains(lines[0], aggregates) {
		t.Errorf("%+v %v", p, lines)
	}
}

func TestNetfilterLogsOfEitherByteOrderTellTheDirection(t *testing.T) {
	packet := ip4(udp, nil, udpDatagram("x", 0), 0, 7, 0)
	for hook, want := range []trace.Direction{trace.Received, trace.Received, trace.Unknown, trace.Sent, trace.Sent} {
		for name, number := range map[string]func(int) []byte{"big-endian": be16, "little-endian": func(v int) []byte { return join(v&255, v>>8) }} {
			data := join(2, 0, be16(0), number(8), number(nflogHeader), be16(typeIPv4), hook, 0, number(4+len(packet)), number(nflogPayload), packet)
			if p, _, w := decode(linkNFLOG, data, 0); p.Kind != trace.Datagram || p.From != want || len(w.Lines()) > 0 {
				t.Errorf("%s, hook %d: %+v %v", name, hook, p, w.Lines())
			}
		}
	}
}
