package lttng

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// header is a packet's headers, found where they are.
type header struct {
	six       bool
	ip        []byte // without options
	protocol  byte
	transport []byte // nil of what is no TCP and no UDP, or is a fragment
	payload   int    // bytes above TCP or UDP
}

const (
	protocolTCP = 6
	protocolUDP = 17
)

// headerOf finds the headers of a packet.
func headerOf(p *Packet) (header, error) {
	d := p.Data
	var h header
	long := 0
	switch {
	case len(d) >= 20 && d[0]>>4 == 4:
		h.ip, h.protocol, long = d[:20], d[9], int(d[0]&15)*4
		if binary.BigEndian.Uint16(d[6:])&0x3fff != 0 {
			return h, nil
		}
	case len(d) >= 40 && d[0]>>4 == 6:
		h.six, h.ip, h.protocol, long = true, d[:40], d[6], 40
	default:
		return h, fmt.Errorf("not an IP header: %d bytes", len(d))
	}
	switch {
	case h.protocol == protocolTCP && len(d) >= long+20:
		h.transport = d[long : long+20]
		h.payload = p.Wire - long - int(h.transport[12]>>4)*4
	case h.protocol == protocolUDP && len(d) >= long+8:
		h.transport = d[long : long+8]
		h.payload = p.Wire - long - 8
	case h.protocol == protocolTCP || h.protocol == protocolUDP:
		return h, fmt.Errorf("transport header cut short after %d bytes", len(d))
	}
	return h, nil
}

// flow is a number of the packet's conversation, the same both ways.
func (h *header) flow() uint64 {
	from, to := h.ip[12:16], h.ip[16:20]
	if h.six {
		from, to = h.ip[8:24], h.ip[24:40]
	}
	half := func(address []byte, port int) uint64 {
		f := fnv.New64a()
		f.Write(address)
		if h.transport != nil {
			f.Write(h.transport[port : port+2])
		}
		return f.Sum64()
	}
	sum := half(from, 0) + half(to, 2)
	return sum ^ sum>>29
}

// told reports whether a style tells of the packet.
func (h *header) told(s Style) bool {
	switch s {
	case Extended:
		return h.protocol == protocolTCP && h.transport != nil && !h.six
	case Unaddressed:
		return h.protocol == protocolTCP && h.transport != nil
	}
	return true
}
