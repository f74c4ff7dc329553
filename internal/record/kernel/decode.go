package kernel

import (
	"bytes"
	"encoding/binary"
	"slices"

	"meridian/trace"
)

// decoder makes events of records. Every record begins with
//
//	0 stamp 8, kind 2, flags 2, aux 4: a number of the kind's own
const headSize = 16

// compat is the flag of system calls with the numbers of 32-bit programs.
const compat = 1

type decoder struct {
	classes []trace.Class
	of      [kinds]int
	packets *packets
	values  [kinds][]trace.Value // of each kind but packets
	event   Event
}

// followedFields say of both sides of a switch whether all its switches are recorded, where not all threads are followed.
var followedFields = []trace.Field{number("prev_followed", 8), number("next_followed", 8)}

func newDecoder(g Groups, filtered bool) *decoder {
	d := &decoder{packets: newPackets()}
	d.classes, d.of = classesOf(g)
	for k := range records {
		d.values[k] = blank(records[k].fields)
	}
	if at := d.of[schedSwitch]; filtered && at >= 0 {
		c := &d.classes[at]
		c.Fields = slices.Concat(c.Fields, followedFields)
		d.values[schedSwitch] = blank(c.Fields)
	}
	return d
}

// decode returns the event of a record, which lasts until the next, or nil if the record is not one of ours.
func (d *decoder) decode(stamp uint64, cpu int, r []byte) *Event {
	if len(r) < headSize {
		return nil
	}
	k := kind(binary.LittleEndian.Uint16(r[8:]))
	if k >= kinds || d.of[k] < 0 || len(r) < records[k].size || records[k].size == 0 {
		return nil
	}
	e := &d.event
	e.Stamp, e.CPU, e.Class = stamp, cpu, d.of[k]
	aux := binary.LittleEndian.Uint32(r[12:])
	if records[k].group == Net {
		e.Values = d.packets.read(r)
		return e
	}
	v := d.values[k]
	e.Values = v
	switch k {
	case napiPoll:
		v[0].Bits, v[1].Data, v[2].Bits, v[3].Bits = le64(r[16:]), untilNUL(r[32:48]), signed(aux), s32(r[24:])
	case softirqEntry, softirqExit:
		v[0].Bits = uint64(aux)
	case irqEntry:
		v[0].Bits, v[1].Data = signed(aux), untilNUL(r[16:48])
	case irqExit:
		v[0].Bits, v[1].Bits = signed(aux), s32(r[16:])
	case schedSwitch:
		v[0].Data, v[1].Bits, v[2].Bits, v[3].Bits = untilNUL(r[40:56]), s32(r[16:]), s32(r[24:]), le64(r[32:])
		v[4].Data, v[5].Bits, v[6].Bits = untilNUL(r[56:72]), s32(r[20:]), s32(r[28:])
		if len(v) > 7 {
			v[7].Bits, v[8].Bits = uint64(r[10]&1), uint64(r[10]>>1&1)
		}
	case schedWaking, schedWakeup, schedWakeupNew:
		v[0].Data, v[1].Bits, v[2].Bits, v[3].Bits = untilNUL(r[24:40]), s32(r[16:]), s32(r[20:]), signed(aux)
	case processFork:
		v[0].Data, v[1].Bits, v[2].Bits = untilNUL(r[32:48]), s32(r[16:]), s32(r[20:])
		v[3].Data, v[4].Bits, v[5].Bits = untilNUL(r[48:64]), s32(r[24:]), s32(r[28:])
	case processExec:
		v[0].Data, v[1].Data, v[2].Bits, v[3].Bits = untilNUL(r[40:296]), untilNUL(r[24:40]), s32(r[16:]), s32(r[20:])
	case processExit, processFree:
		v[0].Data, v[1].Bits, v[2].Bits = untilNUL(r[24:40]), s32(r[16:]), s32(r[20:])
	case sysEnter:
		for i := range 6 {
			v[i].Bits = le64(r[40+8*i:])
		}
		v[6].Bits, v[7].Bits, v[8].Data = s32(r[16:]), s32(r[20:]), untilNUL(r[24:40])
		e.Class += callOf(aux, r)
	case sysExit:
		v[0].Bits, v[1].Bits, v[2].Bits = le64(r[24:]), s32(r[16:]), s32(r[20:])
		e.Class += callOf(aux, r)
	}
	return e
}

// callOf returns the place of a system call among the classes of its kind.
func callOf(number uint32, r []byte) int {
	if number >= uint32(len(callNames)) || r[10]&compat != 0 {
		return len(callNames)
	}
	return int(number)
}

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// signed widens a number of 32 bits as an Int keeps it.
func signed(n uint32) uint64 { return uint64(int64(int32(n))) }
func s32(b []byte) uint64    { return signed(binary.LittleEndian.Uint32(b)) }

// untilNUL returns a text of the kernel's, which is not ended where it fills its field.
func untilNUL(b []byte) []byte {
	if end := bytes.IndexByte(b, 0); end >= 0 {
		return b[:end]
	}
	return b
}
