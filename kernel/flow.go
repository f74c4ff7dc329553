package kernel

import (
	"encoding/binary"
	"net/netip"

	"meridian/trace"
)

// end is one end of a packet: an address as two words (an IPv4 address in the low one) and a port.
type end struct {
	hi, lo uint64
	port   uint16
}

func (e end) after(o end) bool {
	if e.hi != o.hi {
		return e.hi > o.hi
	}
	if e.lo != o.lo {
		return e.lo > o.lo
	}
	return e.port > o.port
}

func (e end) endpoint(six bool) trace.Endpoint {
	if !six {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], uint32(e.lo))
		return trace.Endpoint{Addr: netip.AddrFrom4(a), Port: e.port}
	}
	var a [16]byte
	binary.BigEndian.PutUint64(a[:], e.hi)
	binary.BigEndian.PutUint64(a[8:], e.lo)
	return trace.Endpoint{Addr: netip.AddrFrom16(a), Port: e.port}
}

// flowKey tells flows apart; low is not after high.
type flowKey struct {
	low, high end
	protocol  uint8
	six       bool
}

// flows numbers the conversations of a capture in the order of their first packets.
type flows struct {
	number map[flowKey]uint32
	list   []trace.Flow
}

// find returns the value of Packet.Flow for a packet between two ends.
func (f *flows) find(from, to end, protocol uint8, six bool) uint32 {
	k, direction := flowKey{low: from, high: to, protocol: protocol, six: six}, uint32(0)
	if from.after(to) {
		k.low, k.high, direction = to, from, 1
	}
	n, ok := f.number[k]
	if !ok {
		if f.number == nil {
			f.number = make(map[flowKey]uint32)
		}
		n = uint32(len(f.list))
		f.number[k] = n
		f.list = append(f.list, trace.Flow{Low: k.low.endpoint(six), High: k.high.endpoint(six), Protocol: protocol})
	}
	return n<<1 | direction
}
