package pcap

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"net/netip"

	"meridian/trace"
)

// end is one end of a flow while it is looked up: an address as two words (an IPv4 address in the low one) and a port.
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

// flowTable numbers flows in the order of their first packets. It is an open-addressing hash of flow numbers, each with
// 32 bits of its hash so that a probe rarely looks at another flow's key. The hash is seeded per process, lest a crafted
// capture make all flows collide; the numbers do not depend on it.
type flowTable struct {
	slots []uint64 // hash<<32 | number+1, 0 if empty; at most half are taken
	keys  []flowKey
	seen  []uint8 // directions that had a packet: bit 0 from Low, bit 1 from High
	flows []trace.Flow
	seed  [4]uint64

	lastKey flowKey // packets come in trains: the flow of the packet before
	last    uint32
}

func newFlowTable() flowTable {
	t := flowTable{slots: make([]uint64, 256), last: trace.NoFlow}
	for i := range t.seed {
		t.seed[i] = rand.Uint64() | 1
	}
	return t
}

// find returns the value of Packet.Flow for a packet between two ends, and whether it is the first of its direction.
func (t *flowTable) find(from, to end, protocol uint8, six bool) (flow uint32, first bool) {
	k := flowKey{low: from, high: to, protocol: protocol, six: six}
	direction := uint32(0)
	if from.after(to) {
		k.low, k.high = to, from
		direction = 1
	}
	if t.last == trace.NoFlow || k != t.lastKey {
		t.last = t.number(&k)
		t.lastKey = k
	}
	first = t.seen[t.last]&(1<<direction) == 0
	t.seen[t.last] |= 1 << direction
	return t.last<<1 | direction, first
}

func (t *flowTable) number(k *flowKey) uint32 {
	h := t.hash(k)
	mask := uint64(len(t.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s == 0 {
			return t.add(k, h, i)
		}
		if s>>32 == h>>32 {
			if n := uint32(s) - 1; t.keys[n] == *k {
				return n
			}
		}
	}
}

func (t *flowTable) add(k *flowKey, h, slot uint64) uint32 {
	n := uint32(len(t.keys))
	t.keys = append(t.keys, *k)
	t.seen = append(t.seen, 0)
	t.flows = append(t.flows, trace.Flow{
		Low: k.low.endpoint(k.six), High: k.high.endpoint(k.six), Protocol: k.protocol,
	})
	t.slots[slot] = h&^(1<<32-1) | uint64(n+1)
	if 2*len(t.keys) > len(t.slots) {
		t.grow()
	}
	return n
}

func (t *flowTable) grow() {
	t.slots = make([]uint64, 2*len(t.slots))
	mask := uint64(len(t.slots) - 1)
	for n := range t.keys {
		h := t.hash(&t.keys[n])
		i := h & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = h&^(1<<32-1) | uint64(n+1)
	}
}

func (t *flowTable) hash(k *flowKey) uint64 {
	rest := uint64(k.low.port)<<32 | uint64(k.high.port)<<16 | uint64(k.protocol)
	h := fold(k.low.lo^t.seed[0], k.high.lo^t.seed[1])
	if k.six {
		h ^= fold(k.low.hi^t.seed[1], k.high.hi^t.seed[2]^h)
	}
	return fold(h^rest, t.seed[3])
}

// fold multiplies to 128 bits and folds the halves.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
