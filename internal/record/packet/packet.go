// Package packet captures the packets of a host, or of one of its network namespaces, with the kernel's stamps.
//
// In go names of interfaces and an expression as for tcpdump. Out come frames as a capture file has them, each with its direction
// and cut after its headers, and a pcapng file of them ([File]):
//
//	kernel: tap --> filter --> ring in shared memory --> Read --> trace.Frame, trace.Direction --> File
//	                    \ cut to Snaplen   \ full: dropped and counted --------------------------> its statistics
//
// # The ring
//
// It is the ring of AF_PACKET's third version (TPACKET_V3, packet_mmap in the kernel's documentation). The kernel fills blocks. It
// hands a block over when that is full, or some time after its first packet. No packet costs a system call.
//
//	block   | version, private (4 each) | status, packets, first, length (4 each) | sequence (8) | stamps (16) | packets ... |
//	packet  | next, sec, nsec, kept, wire, status (4 each) | mac, net (2 each) | hash, VLAN tag | sockaddr_ll | data |
//
// # Direction and stamps
//
// The kernel reports for each packet whether it was sent (PACKET_OUTGOING), or to which kind of address it arrived. A frame has
// this as the flags of pcapng, so that the matching of packets need not guess. A packet for another host, on a promiscuous
// interface, has no direction. A loopback interface both sends and receives each of its packets: only the received ones are
// captured, as by tcpdump.
//
// Stamps are ns of CLOCK_REALTIME, the only clock that AF_PACKET has. A sent packet is stamped when the kernel hands it to the device
// (dev_queue_xmit), a received one when the device hands it to the kernel (netif_receive_skb), not when it reaches the ring.
// TCP over veth is an exception: its segments have the sender's pacing time in place of the stamp. Stamps jump if REALTIME
// is set. With Options.Origin they are converted to CLOCK_MONOTONIC: exactly, except for packets in the few microseconds
// before a step of REALTIME is noticed (timeline.go).
//
// # Filters
//
//	ip ip6 arp rarp tcp udp sctp icmp icmp6 igmp | inbound outbound | less N | greater N | [ip|ip6] proto N
//	[protocol] [src|dst|src or dst|src and dst] host ADDRESS | net PREFIX | port N | portrange N-N
//
// joined by and, or, not and parentheses, as in tcpdump; "port 80 or 443" takes the words of the test before. Names of hosts and
// services are not looked up. A packet in a VLAN is tested as one without.
//
// # Link layers
//
// One ring serves all interfaces, also those that appear during the capture, and named ones that are removed and reappear
// (selection_linux.go). Frames of Ethernet and loopback begin with their header of 14 bytes; those of tunnels, tun devices,
// WireGuard and PPP with the IP header. Packets of any other link layer are counted in Stats.Unknown and left out. A VLAN's
// tag that the device has removed is put back.
//
// # Cost
//
// Privilege: CAP_NET_RAW; CAP_NET_ADMIN for Promiscuous; CAP_SYS_ADMIN to enter a namespace.
// BenchmarkCapture measures the reader's cost of a packet. The kernel's part is spent by the sender or receiver.
//
// Sources: packet(7), Documentation/networking/packet_mmap.rst and filter.rst, pcap-filter(7), draft-ietf-opsawg-pcapng.
package packet

import (
	"time"

	"meridian/trace"
)

// DefaultSnaplen is enough for the longest headers of a TCP segment in Ethernet with two VLAN tags, 14 + 8 + 60 + 60 bytes, and for
// the first 32 bytes of payload of all others, by which datagrams are matched.
const DefaultSnaplen = 160

// DefaultBuffer is the size of the ring: some 170,000 packets of headers.
const DefaultBuffer = 32 << 20

// Options say what to capture. The zero value captures the headers of all packets of all interfaces of the caller's namespace.
type Options struct {
	Interfaces  []string // all if empty; also interfaces of these names that appear later
	NetNS       string   // as in netstate.Options
	Snaplen     int      // bytes kept of a packet; 0: DefaultSnaplen; negative: all
	Filter      string   // see above; empty: all packets
	Promiscuous bool     // ask the interfaces named for packets to other hosts too
	// Origin, if it is not 0, makes all stamps CLOCK_MONOTONIC plus so many ns, as is the clock of a host's trace. 0 leaves
	// those of REALTIME.
	Origin     int64
	BufferSize int // bytes of the ring, which are locked in memory; 0: DefaultBuffer
	// Pause is how long the kernel keeps a packet back to hand over several at once, rounded to ms; 0: 50 ms, which is the most.
	Pause time.Duration
}

// Stats counts the packets that passed the filter.
type Stats struct {
	Received int64 // passed on by Read
	Dropped  int64 // lost because the ring was full
	Unknown  int64 // left out because their link layer is not supported
	// Not of packets, if there is an Origin: how often REALTIME was set, and how far stamps may be off by its difference to
	// MONOTONIC, ns.
	Steps, ClockError int64
	// Named interfaces, separated by commas: those that were removed, and those that were removed and made anew. Of the latter
	// the packets before the kernel announced them are missing. Unwatched says why announcements are not read any more.
	Removed, Reappeared, Unwatched string
}

// Interface is one of a capture.
type Interface struct {
	trace.Interface
	Index int // the kernel's number of it
}

// ARPHRD_ numbers of devices whose packets begin with the IP header.
var rawHardware = []uint16{
	65534,         // none: tun, WireGuard
	512,           // PPP
	519,           // raw IP: mobile modems
	768, 769, 776, // IP in IP, in IPv6, IPv6 in IPv4
	778, 823, // GRE without a remote of its own
}

// Link types of capture files.
const (
	linkEthernet = 1
	linkRaw      = 101
)

// linkOf returns the link type of a device; ok is false for an unsupported one.
func linkOf(hardware uint16) (link uint16, ok bool) {
	if hardware == ethernet || hardware == loopback {
		return linkEthernet, true
	}
	for _, h := range rawHardware {
		if h == hardware {
			return linkRaw, true
		}
	}
	return 0, false
}

// flagsOf returns the direction of a packet by its sll_pkttype, and the word of pcapng's epb_flags: bits 0 and 1 are the
// direction, 2 to 4 the kind of address that it was sent to.
func flagsOf(kind uint8) (trace.Direction, uint32) {
	const inbound, outbound = 1, 2
	const unicast, multicast, broadcast, promiscuous = 1 << 2, 2 << 2, 3 << 2, 4 << 2
	switch kind {
	case 0: // PACKET_HOST
		return trace.Received, inbound | unicast
	case 1: // PACKET_BROADCAST
		return trace.Received, inbound | broadcast
	case 2: // PACKET_MULTICAST
		return trace.Received, inbound | multicast
	case 3: // PACKET_OTHERHOST
		return trace.Foreign, promiscuous
	case outgoing:
		return trace.Sent, outbound
	}
	return trace.Unknown, 0
}
