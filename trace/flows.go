package trace

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"net/netip"
)

// FlowEnd is one end of a flow while it is looked up: an address as two words (an IPv4 address in the low one) and a port.
type FlowEnd struct {
	Hi, Lo uint64
	Port   uint16
}

func (e FlowEnd) after(o FlowEnd) bool {
	if e.Hi != o.Hi {
		return e.Hi > o.Hi
	}
	if e.Lo != o.Lo {
		return e.Lo > o.Lo
	}
	return e.Port > o.Port
}

func (e FlowEnd) endpoint(six bool) Endpoint {
	if !six {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], uint32(e.Lo))
		return Endpoint{Addr: netip.AddrFrom4(a), Port: e.Port}
	}
	var a [16]byte
	binary.BigEndian.PutUint64(a[:], e.Hi)
	binary.BigEndian.PutUint64(a[8:], e.Lo)
	return Endpoint{Addr: netip.AddrFrom16(a), Port: e.Port}
}

// flowKey tells flows apart; low is not after high.
type flowKey struct {
	low, high FlowEnd
	tunnel    uint32 // of a packet from low to high, as FlowTable.Tunnel numbers it
	protocol  uint8
	six       bool
}

// tunnelKey tells tunnels apart; low is not after high.
type tunnelKey struct {
	low, high   FlowEnd
	id          uint32
	six, mirror bool
}

// FlowTable numbers the flows of a capture in the order of their first packets. It is an open-addressing hash of flow numbers, each with
// 32 bits of its hash so that a probe rarely looks at another flow's key. The hash is seeded per process, lest a crafted
// capture make all flows collide; the numbers do not depend on it. Tables come from [NewFlowTable]: the zero value has no slots.
type FlowTable struct {
	slots []uint64 // hash<<32 | number+1, 0 if empty; at most half are taken
	keys  []flowKey
	seen  []uint8 // directions that had a packet: bit 0 from Low, bit 1 from High
	flows []Flow
	seed  [4]uint64

	tunnels    map[tunnelKey]uint32 // their numbers, without the bit of the direction
	tunnelKeys []tunnelKey

	lastKey flowKey // packets come in trains: the flow of the packet before
	last    uint32
}

// NewFlowTable returns an empty table.
func NewFlowTable() FlowTable {
	t := FlowTable{slots: make([]uint64, 256), last: NoFlow}
	for i := range t.seed {
		t.seed[i] = rand.Uint64() | 1
	}
	return t
}

// Flows returns the flows in the order of their first packets. They belong to the table until it is done.
func (t *FlowTable) Flows() []Flow { return t.flows }

// Find returns the value of Packet.Flow for a packet between two ends, and whether it is the first of its direction.
func (t *FlowTable) Find(from, to FlowEnd, protocol uint8, six bool) (flow uint32, first bool) {
	return t.FindInside(0, from, to, protocol, six)
}

// FindInside is Find for a packet inside a tunnel, which has its number from Tunnel.
func (t *FlowTable) FindInside(tunnel uint32, from, to FlowEnd, protocol uint8, six bool) (flow uint32, first bool) {
	k := flowKey{low: from, high: to, tunnel: tunnel, protocol: protocol, six: six}
	direction := uint32(0)
	if from.after(to) {
		k.low, k.high = to, from
		direction = 1
		if tunnel != 0 {
			k.tunnel ^= 1
		}
	}
	if t.last == NoFlow || k != t.lastKey {
		t.last = t.number(&k)
		t.lastKey = k
	}
	first = t.seen[t.last]&(1<<direction) == 0
	t.seen[t.last] |= 1 << direction
	return t.last<<1 | direction, first
}

// Tunnel numbers the way between two addresses that packets inside others take, for FindInside. See [Tunnel] for id and mirror.
func (t *FlowTable) Tunnel(from, to FlowEnd, six bool, id uint32, mirror bool) uint32 {
	from.Port, to.Port = 0, 0
	k, direction := tunnelKey{low: from, high: to, id: id, six: six, mirror: mirror}, uint32(0)
	if from.after(to) {
		k.low, k.high, direction = to, from, 1
	}
	n, known := t.tunnels[k]
	if !known {
		if t.tunnels == nil {
			t.tunnels = make(map[tunnelKey]uint32)
		}
		n = uint32(len(t.tunnelKeys)+1) << 1
		t.tunnels[k] = n
		t.tunnelKeys = append(t.tunnelKeys, k)
	}
	return n | direction
}

// tunnel returns what a number of Tunnel stands for.
func (t *FlowTable) tunnel(number uint32) Tunnel {
	if number == 0 {
		return Tunnel{}
	}
	k := &t.tunnelKeys[number>>1-1]
	low, high := k.low.endpoint(k.six).Addr, k.high.endpoint(k.six).Addr
	if number&1 == 1 {
		low, high = high, low
	}
	return Tunnel{From: low, To: high, ID: k.id, Mirror: k.mirror}
}

func (t *FlowTable) number(k *flowKey) uint32 {
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

func (t *FlowTable) add(k *flowKey, h, slot uint64) uint32 {
	n := uint32(len(t.keys))
	t.keys = append(t.keys, *k)
	t.seen = append(t.seen, 0)
	t.flows = append(t.flows, Flow{
		Low: k.low.endpoint(k.six), High: k.high.endpoint(k.six), Protocol: k.protocol, Tunnel: t.tunnel(k.tunnel),
	})
	t.slots[slot] = h&^(1<<32-1) | uint64(n+1)
	if 2*len(t.keys) > len(t.slots) {
		t.grow()
	}
	return n
}

func (t *FlowTable) grow() {
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

func (t *FlowTable) hash(k *flowKey) uint64 {
	rest := uint64(k.low.Port)<<32 | uint64(k.high.Port)<<16 | uint64(k.protocol)
	h := fold(k.low.Lo^t.seed[0], k.high.Lo^t.seed[1])
	if k.six {
		h ^= fold(k.low.Hi^t.seed[1], k.high.Hi^t.seed[2]^h)
	}
	if k.tunnel != 0 {
		h ^= fold(uint64(k.tunnel)^t.seed[2], t.seed[3])
	}
	return fold(h^rest, t.seed[3])
}

// fold multiplies to 128 bits and folds the halves.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
