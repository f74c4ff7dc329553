package kernel

import (
	"bytes"
	"encoding/binary"

	"meridian/trace"
)

// Every record begins with
//
//	0 stamp 8, kind 2, flags 2, aux 4: meaning depends on the kind
const headSize = 16

// compat is the flag of system calls of 32-bit programs, which have numbers of their own.
const compat = 1

// decoder makes events of records. It allocates nothing per event.

type decoder struct {
	classes []trace.Class
	first   [Kinds]int // the kind's first class, or -1
	packets *packets
	sockets transfers
	values  [Kinds][]trace.Value // of each kind but packets
	event   Event
}

func newDecoder(g Groups, filtered bool) *decoder {
	d := &decoder{packets: newPackets()}
	d.classes, d.first = ClassesOf(g, filtered)
	for k, at := range d.first {
		if at >= 0 {
			d.values[k] = BlankValues(d.classes[at].Fields)
		}
	}
	return d
}

// decode returns the event of a record, or nil for an invalid record. The event is valid until the next call.
func (d *decoder) decode(stamp uint64, cpu int, r []byte) *Event {
	if len(r) < headSize {
		return nil
	}
	k := Kind(binary.LittleEndian.Uint16(r[8:]))
	if k >= Kinds || d.first[k] < 0 || len(r) < records[k].size || records[k].size == 0 {
		return nil
	}
	e := &d.event
	e.Stamp, e.CPU, e.Class = stamp, cpu, d.first[k]
	aux := binary.LittleEndian.Uint32(r[12:])
	if records[k].group == Net {
		e.Values = d.packets.read(r)
		return e
	}
	v := d.values[k]
	e.Values = v
	switch k {
	case NapiPoll:
		v[0].Bits, v[1].Data, v[2].Bits, v[3].Bits = le64(r[16:]), UntilNUL(r[32:48]), signed(aux), s32(r[24:])
	case SoftirqEntry, SoftirqExit:
		v[0].Bits = uint64(aux)
	case IRQEntry:
		v[0].Bits, v[1].Data = signed(aux), UntilNUL(r[16:48])
	case IRQExit:
		v[0].Bits, v[1].Bits = signed(aux), s32(r[16:])
	case SchedSwitch:
		v[0].Data, v[1].Bits, v[2].Bits, v[3].Bits = UntilNUL(r[40:56]), s32(r[16:]), s32(r[24:]), le64(r[32:])
		v[4].Data, v[5].Bits, v[6].Bits = UntilNUL(r[56:72]), s32(r[20:]), s32(r[28:])
		if len(v) > 7 {
			v[7].Bits, v[8].Bits = uint64(r[10]&1), uint64(r[10]>>1&1)
		}
	case SchedWaking, SchedWakeup, SchedWakeupNew:
		v[0].Data, v[1].Bits, v[2].Bits, v[3].Bits = UntilNUL(r[24:40]), s32(r[16:]), s32(r[20:]), signed(aux)
		if k == SchedWaking {
			v[4].Bits, v[5].Bits = s32(r[40:]), uint64(min(r[44], Contexts-1))
		}
	case ProcessFork:
		v[0].Data, v[1].Bits, v[2].Bits = UntilNUL(r[32:48]), s32(r[16:]), s32(r[20:])
		v[3].Data, v[4].Bits, v[5].Bits = UntilNUL(r[48:64]), s32(r[24:]), s32(r[28:])
	case ProcessExec:
		v[0].Data, v[1].Data, v[2].Bits, v[3].Bits = UntilNUL(r[40:296]), UntilNUL(r[24:40]), s32(r[16:]), s32(r[20:])
	case ProcessExit, ProcessFree:
		v[0].Data, v[1].Bits, v[2].Bits = UntilNUL(r[24:40]), s32(r[16:]), s32(r[20:])
	case SysEnter:
		for i := range 6 {
			v[i].Bits = le64(r[40+8*i:])
		}
		v[6].Bits, v[7].Bits, v[8].Data = s32(r[16:]), s32(r[20:]), UntilNUL(r[24:40])
		e.Class += callIndex(aux, r)
	case TCPSend, TCPReceive:
		d.sockets.fill(v, k, r)
	case BlockIssue, BlockComplete:
		fillBlock(v, k, r)
	case SysExit:
		v[0].Bits, v[1].Bits, v[2].Bits = le64(r[24:]), s32(r[16:]), s32(r[20:])
		e.Class += callIndex(aux, r)
	}
	return e
}

// Contexts is how many values waker_context has: unknown, thread, softirq, hardirq, nmi.
const Contexts = 5

// callIndex returns the index of a system call's class among those of its kind.
func callIndex(number uint32, r []byte) int {
	if r[10]&compat != 0 {
		return len(callNames)
	}
	return CallIndex(uint64(number))
}

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// signed sign-extends a 32-bit number, as the bits of an Int are kept.
func signed(n uint32) uint64 { return uint64(int64(int32(n))) }
func s32(b []byte) uint64    { return signed(binary.LittleEndian.Uint32(b)) }

// UntilNUL returns a kernel's string, which has no NUL where it fills its field.
func UntilNUL(b []byte) []byte {
	if end := bytes.IndexByte(b, 0); end >= 0 {
		return b[:end]
	}
	return b
}
