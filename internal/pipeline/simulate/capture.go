package simulate

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"meridian/format/pcap"
	"meridian/internal/sim"
	"meridian/trace"
)

// writeCapture writes a host's capture: a UDP datagram over IPv4 for each message that it sent or received, in the order in
// which it did, each with a text of its own and marked as sent or received.
func writeCapture(w io.Writer, truth *sim.Truth, hosts map[string]int, name string, endpoints []endpoint) error {
	slices.SortStableFunc(endpoints, func(a, b endpoint) int { return cmp.Compare(a.at, b.at) })
	face := pcap.WriterInterface{Name: "eth0", LinkType: linkEthernet}
	for _, e := range endpoints {
		// Before 1970 a stamp needs an origin before it.
		face.Offset = min(face.Offset, int64(e.stamp-1e9+1)/1e9)
	}
	out, err := pcap.NewWriter(w, []pcap.WriterInterface{face}, "simulated by meridian: "+name)
	if err != nil {
		return err
	}
	var frame trace.Frame
	for i, e := range endpoints {
		link := &truth.Links[e.link]
		frame.Number, frame.Time = i, e.stamp
		frame.Data = datagram(frame.Data[:0], hosts[link.From], hosts[link.To], e.message)
		frame.Wire = uint32(len(frame.Data))
		frame.Options = outbound
		if e.received {
			frame.Options = inbound
		}
		if err := out.Write(0, &frame); err != nil {
			return err
		}
	}
	return out.Flush()
}

const (
	linkEthernet = 1
	port         = 20260 // of both sides; nothing uses it
)

// epb_flags (pcapng, section 4.3.1): which way the packet went.
var (
	inbound  = []byte{2, 0, 4, 0, 1, 0, 0, 0}
	outbound = []byte{2, 0, 4, 0, 2, 0, 0, 0}
)

// datagram appends the frame of a message, of the least length that Ethernet has.
func datagram(b []byte, from, to int, message uint32) []byte {
	for _, host := range []int{to, from} {
		b = append(b, 2, 0, 0, 0, byte(host>>8), byte(host)) // locally administered
	}
	b = append(b, 0x08, 0x00)
	ip := len(b)
	b = append(b, 0x45, 0, 0, 0)                          // version, length, no service
	b = binary.BigEndian.AppendUint16(b, uint16(message)) // identification
	b = append(b, 0, 0, 64, 17, 0, 0)                     // whole, time to live, UDP
	for _, host := range []int{from, to} {
		b = append(b, 10, 0, byte(host/250), byte(host%250+1))
	}
	udp := len(b)
	b = binary.BigEndian.AppendUint16(b, port)
	b = binary.BigEndian.AppendUint16(b, port)
	b = append(b, 0, 0, 0, 0) // length, and no checksum, as IPv4 allows
	b = fmt.Appendf(b, "message %010d", message)
	binary.BigEndian.PutUint16(b[ip+2:], uint16(len(b)-ip))
	binary.BigEndian.PutUint16(b[udp+4:], uint16(len(b)-udp))
	sum := uint32(0)
	for i := ip; i < udp; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	binary.BigEndian.PutUint16(b[ip+10:], ^uint16(sum))
	return b
}
