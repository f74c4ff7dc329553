package kernel

import (
	"encoding/binary"
	"net/netip"

	"meridian/trace"
)

// The record of what a thread wrote to or read from a TCP connection:
//
//	 0 stamp 8, kind 2, flags 2 (1: the bytes stay to be read), bytes 4
//	16 thread 4, process 4, network namespace 4, sequence number of the first byte 4
//	32 port 2, the peer's 2, address family 2, 2 unused
//	40 address 16, the peer's 16: of IPv4 the first 4
const transferSize = 72

const peeked = 1

// transferFields end with the context: the thread and its process.
var transferFields = []trace.Field{text("local"), text("peer"), number("seq", 32), number("length", 32), number("netns", 32), integer("tid", 32), integer("pid", 32)}

// The record of a request to a device for blocks, or of its end:
//
//	 0 stamp 8, kind 2, 2 unused, bytes 4
//	16 first sector 8, device 4, operation 4
//	32 thread 4, error 4, name of the device 16
const blockSize = 56

var blockFields = []trace.Field{text("name"), number("dev", 32), number("sector", 64), number("bytes", 32), blockOperation}

// otherOperation stands for those that have no name here.
const otherOperation = 4

// blockOperation is enum req_op, linux/blk_types.h, as far as its numbers have stayed.
var blockOperation = trace.Field{Name: "operation", Type: trace.Type{Kind: trace.Uint, Bits: 8, Labels: []trace.Label{{Name: "read", Low: 0, High: 0},
	{Name: "write", Low: 1, High: 1}, {Name: "flush", Low: 2, High: 2}, {Name: "discard", Low: 3, High: 3}, {Name: "other", Low: otherOperation, High: otherOperation}}}}

// transfers decodes records of [Sockets]. The texts of addresses are overwritten by each.
type transfers struct{ local, peer [64]byte }

func (t *transfers) fill(v []trace.Value, k Kind, r []byte) {
	family := binary.LittleEndian.Uint16(r[36:])
	v[0].Data = addressOf(t.local[:0], family, r[40:56], binary.LittleEndian.Uint16(r[32:]))
	v[1].Data = addressOf(t.peer[:0], family, r[56:72], binary.LittleEndian.Uint16(r[34:]))
	v[2].Bits, v[3].Bits, v[4].Bits = le32(r[28:]), le32(r[12:]), le32(r[24:])
	if k == TCPReceive {
		v[5].Bits = uint64(r[10] & peeked)
	}
	v[len(v)-2].Bits, v[len(v)-1].Bits = s32(r[16:]), s32(r[20:])
}

// addressOf appends an address and port. Addresses of IPv4 in IPv6's clothes are written as IPv4's, as packets have them.
func addressOf(b []byte, family uint16, address []byte, port uint16) []byte {
	const inet = 2
	a := netip.AddrFrom16([16]byte(address)).Unmap()
	if family == inet {
		a = netip.AddrFrom4([4]byte(address))
	}
	return netip.AddrPortFrom(a, port).AppendTo(b)
}

// fillBlock decodes a record of [Disk].
func fillBlock(v []trace.Value, k Kind, r []byte) {
	v[0].Data, v[1].Bits, v[2].Bits, v[3].Bits = UntilNUL(r[40:56]), le32(r[24:]), le64(r[16:]), le32(r[12:])
	v[4].Bits = uint64(min(le32(r[28:]), otherOperation))
	if v[5].Bits = s32(r[32:]); k == BlockComplete {
		v[5].Bits = s32(r[36:])
	}
}

func le32(b []byte) uint64 { return uint64(binary.LittleEndian.Uint32(b)) }
