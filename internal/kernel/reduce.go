package kernel

import (
	"math/bits"

	"meridian/trace"
)

const (
	protocolTCP = 6
	protocolUDP = 17
)

// packet makes a packet of a header with addresses, as format/pcap does of the same packet's bytes, and reports whether
// the header holds together. Content is not known here: Digest stays 0 but for TCP without data.
func (h *header) packet(p *trace.Packet, flows *trace.FlowTable) bool {
	body, ok := h.bodyLength(p.From)
	if !ok {
		return false
	}
	p.ID, p.TTL = h.id, h.hops
	fragment := !h.six && h.part&0x3fff != 0
	switch {
	case fragment:
		h.from.Port, h.to.Port = 0, 0
		p.Kind, p.Length = trace.Datagram, body
	case h.protocol == protocolTCP:
		if !h.tcp(p, body) {
			return false
		}
	case h.protocol == protocolUDP:
		p.Kind, p.Length = trace.Datagram, above(body, 8)
		if h.has(udpLengthSlot) && h.udpLength >= 8 {
			p.Length = min(p.Length, h.udpLength-8)
		}
	default:
		p.Kind, p.Length = trace.Datagram, body
		if h.protocol == 1 || h.protocol == 58 { // ICMP
			p.Length = above(body, 8)
		}
		h.from.Port, h.to.Port = 0, 0
	}
	p.Flow, _ = flows.Find(h.from, h.to, h.protocol, h.six)
	return true
}

// link is the length of an Ethernet header, which the buffer of a packet to be sent begins with.
const link = 14

// bodyLength returns how many bytes are behind the IP header.
func (h *header) bodyLength(from trace.Direction) (uint32, bool) {
	whole := h.whole
	if from == trace.Sent {
		whole = above(whole, link)
	}
	if h.six {
		if h.has(versionSlot) && h.version != 6 {
			return 0, false
		}
		if h.payload == 0 { // longer than the field can say: offload
			return above(whole, 40), true
		}
		return h.payload, true
	}
	words := uint32(5)
	if h.has(ihlSlot) {
		words = uint32(h.ihl)
	}
	total := h.total
	if total == 0 {
		total = whole
	}
	if h.has(versionSlot) && h.version != 4 || words < 5 || total < 4*words {
		return 0, false
	}
	return total - 4*words, true
}

// tcp fills in what TCP's header says. Its options are not recorded: there is neither a timestamp nor a SACK.
func (h *header) tcp(p *trace.Packet, body uint32) bool {
	if !h.has(seqSlot) || !h.has(ackSlot) {
		return false
	}
	words := uint32(h.offset)
	if !h.has(offsetSlot) { // the older flags are the header's whole word
		words = uint32(h.flags >> 12)
	}
	if words < 5 || body < 4*words {
		return false
	}
	p.Kind, p.Seq, p.Ack = trace.TCP, h.seq, h.ack
	p.Flags = uint8(h.flags) | h.raised
	p.Length = body - 4*words
	switch {
	case p.Length > 0:
		if p.Flags&trace.SYN != 0 {
			p.Seq++ // fast open: the SYN comes before its first byte
		}
	case h.has(windowSlot):
		p.Digest = digest(uint64(p.Flags&(trace.URG<<1-1))<<48 | uint64(h.window)<<32)
	}
	return true
}

// unaddressed fills in what is known without addresses. LTTng's addons put the flags the other way round, behind reserved bits
// and the data offset, and declared in network byte order what they stored in the host's.
func (h *header) unaddressed(p *trace.Packet) {
	p.Kind, p.Seq, p.Ack = trace.Unaddressed, h.seq, h.ack
	word := h.flags
	if swapped := bits.ReverseBytes16(word); addonFlags(swapped) || !addonFlags(word) {
		word = swapped
	}
	p.Flags = bits.Reverse8(uint8(word))
	p.Digest = uint32(h.window)<<16 | uint32(h.check)
	if h.socket != 0 {
		p.TSVal = max(1, uint32(h.socket>>4)^uint32(h.socket>>36))
	}
}

// addonFlags reports whether a word can be what the addons make of a TCP header: nothing reserved, a data offset, and
// ACK, SYN or RST.
func addonFlags(word uint16) bool {
	return word>>12 == 0 && word>>8 >= 5 && word&0x68 != 0
}

// above returns how much of n bytes is left above a header.
func above(n uint32, header uint32) uint32 {
	if n < header {
		return 0
	}
	return n - header
}

// digest is format/pcap's digest of the header fields of a packet without content. So a kernel trace and a capture have
// the same digest for the same acknowledgement, if it has no options.
func digest(known uint64) uint32 {
	hi, lo := bits.Mul64(known^0x243f6a8885a308d3, 0x13198a2e03707345)
	h := hi ^ lo
	if d := uint32(h>>32) ^ uint32(h); d != 0 {
		return d
	}
	return 1
}
