package trace

import (
	"fmt"
	"net/netip"

	"meridian/clock"
)

// Kind says how a packet can be recognised on another host.
type Kind uint8

const (
	Other    Kind = iota // not an IP packet, or a damaged one: it cannot be matched
	TCP                  // Seq, Ack, TSVal, Flags are set
	Datagram             // UDP (QUIC too), ICMP and every other protocol over IP: by content
	// Unaddressed is a TCP packet of which neither addresses nor ports nor length are known, only whether it was Sent or Received:
	// Seq, Ack and Flags are set, Digest is window<<16 | checksum, TSVal names its socket within the capture (0: not known).
	Unaddressed
	// Untimed is a packet whose timestamp is no evidence of when it was seen ([TimestampCheck]). It is not matched; its Time is that of a packet
	// beside it, so that it can be shown.
	Untimed
)

// TCP flags as they stand in the header (RFC 9293).
const (
	FIN = 1 << iota
	SYN
	RST
	PSH
	ACK
	URG
)

// Direction says what the capture itself knows of where a packet went.
type Direction uint8

const (
	Unknown  Direction = iota
	Received           // came in from the network
	Sent               // left this host
	Foreign            // passed by: neither from nor to this host
)

// NoFlow is the flow of packets that belong to none.
const NoFlow = ^uint32(0)

// Packet is one frame of a capture, reduced to what matching needs.
type Packet struct {
	Time   clock.HostTime // the stamp, an instant on the clock of the capture
	Seq    uint32         // TCP: sequence number of the first payload byte (of SYN or FIN where there is no payload)
	Ack    uint32         // TCP: acknowledgement number
	TSVal  uint32         // TCP: the sender's timestamp option, 0 without one
	Length uint32         // payload bytes on the wire above TCP, UDP or IP, whatever the capture kept of them
	Flow   uint32         // index into Capture.Flows times two, plus one if sent by its High end; NoFlow without one
	Digest uint32         // what else tells it from others: see Kind and format/pcap
	ID     uint16         // IPv4 identification, or the low half of an IPv6 fragment's
	Flags  uint8          // TCP: its flags; Datagram: how many bytes Digest covers where the capture cut it short of them, else 0
	Kind   Kind
	From   Direction // what the capture says of its direction
	TTL    uint8     // IPv4 time to live or IPv6 hop limit, of the outermost header
	Point  uint16    // digest of its observation point: interface, link-layer addresses, VLAN tags; 0 where not known
}

// Endpoint is one end of a flow; Port is 0 where the protocol has none.
type Endpoint struct {
	Addr netip.Addr
	Port uint16
}

// String returns the address, with the port where there is one.
func (e Endpoint) String() string {
	if e.Port == 0 {
		return e.Addr.String()
	}
	return netip.AddrPortFrom(e.Addr, e.Port).String()
}

// Compare orders endpoints by address, then port.
func (e Endpoint) Compare(o Endpoint) int {
	if c := e.Addr.Compare(o.Addr); c != 0 {
		return c
	}
	return int(e.Port) - int(o.Port)
}

// MAC is a link-layer address; zero where the link has none.
type MAC [6]byte

// Flow is a conversation seen in one capture: its two ends in order, its IP protocol number, and per direction (0 from
// Low, 1 from High) what the first packet told.
type Flow struct {
	Low, High Endpoint
	Protocol  uint8
	Source    [2]MAC // link-layer source of the first packet of each direction
	Target    [2]MAC // and its destination
	Tunnel    Tunnel // what the packets were inside of
}

// Tunnel says which way packets went that were inside others: from one address of the outermost IP header to the other. A flow's
// packets of direction 0 went from From to To, those of direction 1 back. Where packets of both directions went the same way, as
// copies for an analyser do, they are of two flows. The zero value is no tunnel.
type Tunnel struct {
	From, To netip.Addr
	ID       uint32 // number of the network inside, where both ways have the same; 0 without one
	Mirror   bool   // the packets are copies (ERSPAN), so neither end sent or received them as they are
}

// IsZero reports whether t is no tunnel.
func (t *Tunnel) IsZero() bool { return !t.From.IsValid() }

// Ends returns the sender and the receiver of the flow's packets of one direction.
func (f *Flow) Ends(direction int) (from, to Endpoint) {
	if direction == 0 {
		return f.Low, f.High
	}
	return f.High, f.Low
}

// Way returns the addresses between which the flow's packets of one direction went: of the outermost IP header.
func (f *Flow) Way(direction int) (from, to netip.Addr) {
	from, to = f.Tunnel.From, f.Tunnel.To
	if f.Tunnel.IsZero() {
		from, to = f.Low.Addr, f.High.Addr
	}
	if direction != 0 {
		from, to = to, from
	}
	return from, to
}

// String returns the protocol and both ends: "TCP 10.0.0.1:80-10.0.0.2:3456", and the tunnel if there is one.
func (f *Flow) String() string {
	if !f.Tunnel.IsZero() {
		return fmt.Sprintf("%s %s-%s inside %s-%s", ProtocolName(f.Protocol), f.Low, f.High, f.Tunnel.From, f.Tunnel.To)
	}
	return fmt.Sprintf("%s %s-%s", ProtocolName(f.Protocol), f.Low, f.High)
}

// ProtocolName names an IP protocol number as people write it.
func ProtocolName(p uint8) string {
	switch p {
	case 1:
		return "ICMP"
	case 6:
		return "TCP"
	case 17:
		return "UDP"
	case 58:
		return "ICMPv6"
	case 132:
		return "SCTP"
	}
	return fmt.Sprintf("IP protocol %d", p)
}
