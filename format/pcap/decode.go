package pcap

import (
	"encoding/binary"

	"meridian/trace"
)

// What can be wrong with a packet, as it reads after the file's name.
const (
	cutLink           = "packets cut before the end of their link header are left out of matching"
	cutIP             = "packets cut before the end of their IP header are left out of matching"
	cutPorts          = "packets cut before the end of their port numbers are matched by their identification alone, if they have one; capture with a larger snap length (-s)"
	cutTCP            = "packets cut before the end of their TCP flags and window are matched by what is left of their numbers, acknowledgements by identification alone; capture with a larger snap length (-s)"
	cutInside         = "packets cut before the end of the headers inside a tunnel are matched by what is left of them, if a number there tells them apart; capture with a larger snap length (-s)"
	badIP             = "packets with an IP header that contradicts itself are left out of matching"
	badTCP            = "packets with a TCP header that contradicts itself are left out of matching"
	badLink           = "packets with a link header that contradicts itself are left out of matching"
	encryptedMACsec   = "packets encrypted by MACsec are left out of matching; capture on the macsec interface"
	encryptedWireless = "encrypted 802.11 frames are left out of matching; capture on the interface of a host instead"
	partsOfWireless   = "parts of 802.11 frames are left out of matching"
	aggregates        = "802.11 frames hold several packets each, of which only the first is matched"
	tooDeep           = "packets in more than 8 headers of links and tunnels are left out of matching"
)

const (
	shortestTCP  = 20 // bytes of its header
	headerOfIPv6 = 40
	noMAC        = -1
	maxDepth     = 8 // links and tunnels that are taken off a packet, as tooDeep says
)

// Decoder reduces frames to packets and gathers their flows.
type Decoder struct {
	flows trace.FlowTable
	tally tally
	ptp   int64             // frames of PTP over Ethernet
	named map[uint32]string // warnings that name a number: of a link type, an EtherType or a PPP protocol

	// Of the frame being decoded
	number         int
	frame          []byte
	depth          int    // links and tunnels taken off
	passed         uint32 // digest of what other links than Ethernet tell of the observation point, 0 for nothing
	outer          outer  // what the packet is inside of
	source, target int    // where the link-layer addresses stand in frame, or noMAC
	payload        []byte // of TCP, as far as the frame has it
}

// NewDecoder returns a decoder without flows. File is the subject of its warnings; w may be nil.
func NewDecoder(file string, w *trace.Warnings) *Decoder {
	return &Decoder{flows: trace.NewFlowTable(), tally: tally{file: file, w: w}}
}

// Flows returns the flows met so far, in the order of their first packets.
func (d *Decoder) Flows() []trace.Flow { return d.flows.Flows() }

// Flush reports what was wrong with packets since the last call.
func (d *Decoder) Flush() { d.tally.flush() }

// Decode reduces a frame of the given link type to p, all of which it sets. A frame that cannot be matched becomes
// a packet of Kind Other.
func (d *Decoder) Decode(link uint16, f *trace.Frame, p *trace.Packet) {
	*p = trace.Packet{Time: f.Time, Flow: trace.NoFlow}
	d.number, d.frame = f.Number, f.Data
	d.source, d.target, d.depth, d.passed, d.outer.tunnels = noMAC, noMAC, 0, 0, 0
	d.payload = nil
	if link == linkEthernet {
		d.ethernet(p, f.Data, f.Wire)
	} else {
		d.link(link, p, f.Data, f.Wire)
	}
	p.Point = d.point(link, f.Interface)
	if f.Options != nil {
		switch packetFlags(f.Options) & 3 {
		case 1:
			p.From = trace.Received
		case 2:
			p.From = trace.Sent
		}
	}
}

// Payload returns what the frame decoded last has of a TCP segment's payload: nil for other packets, and less than the packet's
// Length where the capture cut it. It is a part of the frame's Data.
func (d *Decoder) Payload() []byte { return d.payload }

// drop says why a packet is left out of matching. One inside a tunnel is not yet: the tunnel's own packet may do.
func (d *Decoder) drop(kind string) {
	if d.outer.tunnels > 0 {
		d.outer.reason = kind
		return
	}
	d.tally.add(kind, d.number, -1)
}

func (d *Decoder) ethernet(p *trace.Packet, b []byte, wire uint32) {
	if len(b) < 14 {
		d.drop(cutLink)
		return
	}
	if d.depth == 0 {
		d.target, d.source = len(d.frame)-len(b), len(d.frame)-len(b)+6
	}
	kind := binary.BigEndian.Uint16(b[12:])
	switch b = b[14:]; kind {
	case typeIPv4:
		d.ipv4(p, b, wire-14)
	case typeIPv6:
		d.ipv6(p, b, wire-14)
	default:
		d.network(p, kind, b, wire-14)
	}
}

// internet goes on at an IP header whose version nothing but itself tells.
func (d *Decoder) internet(p *trace.Packet, b []byte, wire uint32) {
	switch {
	case len(b) == 0:
		d.drop(cutIP)
	case b[0]>>4 == 4:
		d.ipv4(p, b, wire)
	case b[0]>>4 == 6:
		d.ipv6(p, b, wire)
	default:
		d.drop(badIP)
	}
}
