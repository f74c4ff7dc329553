package tracefs

import (
	"slices"
	"strconv"
	"strings"

	"meridian/internal/record/internal/proc"
	"meridian/internal/record/kernel"
	"meridian/trace"
)

// decoder makes events of records, which must come in the order of their stamps over all processors. It allocates nothing
// for an event of threads that are known.
type decoder struct {
	layouts  *layouts
	classes  []trace.Class
	first    [kernel.Kinds]int // the kind's first class, or -1
	filtered bool              // only followed threads are recorded
	own      int32             // this process, whose system calls are left out
	command  proc.NamePattern  // of programs to follow from their start
	tasks    *tasks
	follow   func(pid int32) // asks for another process to be followed
	forget   func(pid int32) // reports that a followed process has ended
	cpus     []processor

	values  [kinds][]trace.Value
	comm    [16]byte
	event   kernel.Event
	damaged int64 // invalid records
	gaps    int64 // switches that the kernel did not report, between those that it did
}

// processor is what the switches so far say of a processor.
type processor struct {
	dead    int32 // the last thread that ended there
	running int32 // the thread that runs; unknown if it is not followed either
}

const unknown = -1

func newDecoder(g kernel.Groups, filtered bool, cpus int, l *layouts, t *tasks) *decoder {
	d := &decoder{layouts: l, filtered: filtered, tasks: t, follow: func(int32) {}, forget: func(int32) {}}
	d.cpus = slices.Repeat([]processor{{dead: unknown, running: unknown}}, cpus)
	d.classes, d.first = kernel.ClassesOf(g, filtered)
	for k := range d.values {
		d.values[k] = make([]trace.Value, maxValues)
		if k < len(d.first) && d.first[k] >= 0 {
			d.values[k] = kernel.BlankValues(d.classes[d.first[k]].Fields)
		}
	}
	return d
}

// maxValues is the most values of a class.
const maxValues = 9

// noDevice is ftrace's name of the device of packets between two processors; record/kernel has none.
const noDevice = "(no_device)"

// decode learns what a record tells of threads, and returns its event, or nil if it has none that is wanted. The event is
// valid until the next call. Everyone means that the record is from the instance that records all processes.
func (d *decoder) decode(stamp uint64, cpu int, everyone bool, data []byte) *kernel.Event {
	b, ok := d.layouts.find(data)
	if !ok {
		d.damaged++
		return nil
	}
	if b == nil || cpu < 0 || cpu >= len(d.cpus) {
		return nil
	}
	e, r := &d.event, &rawRecord{data: data, binding: b, tid: int32(d.layouts.tid.number(data))}
	e.Stamp, e.CPU, e.Class, e.Values = stamp, cpu, -1, d.values[b.kind]
	if b.kind < kernel.Kinds {
		e.Class = d.first[b.kind]
	}
	wanted := true
	switch b.kind.Group() {
	case kernel.Net, kernel.IRQ:
		wanted = fillDevice(e.Values, r)
	case kernel.Disk:
		d.fillBlock(e.Values, r)
	case kernel.Sched:
		wanted = d.fillSched(e, r, everyone)
	case kernel.Syscalls:
		wanted = d.fillCall(e, r)
	default:
		d.tasks.update(r)
	}
	if r.damaged {
		d.damaged++
		return nil
	}
	if !wanted || e.Class < 0 {
		return nil
	}
	return e
}

// rawRecord is a record of the ring with the layout of its fields.
type rawRecord struct {
	*binding
	data    []byte
	tid     int32 // the thread that the event is of
	damaged bool  // a field's string is outside of the record
}

// number returns field i of the kind, or 0 if this kernel's records do not have it.
func (r *rawRecord) number(i int) uint64 {
	if f := &r.fields[i]; f.size > 0 {
		return f.number(r.data)
	}
	return 0
}

// pid returns field i as a number of a thread or process.
func (r *rawRecord) pid(i int) int32 { return int32(r.number(i)) }

func (r *rawRecord) text(i int) []byte {
	t, ok := r.fields[i].text(r.data)
	r.damaged = r.damaged || !ok
	return t
}

// fillDevice fills in an event of packets or interrupts, and reports whether it is wanted.
func fillDevice(v []trace.Value, r *rawRecord) bool {
	switch r.kind {
	case kernel.NetDevQueue, kernel.NetifReceive:
		v[0].Bits, v[1].Bits, v[2].Data = r.number(0), r.number(1), r.text(2)
	case kernel.NapiPoll:
		v[0].Bits, v[1].Data, v[2].Bits, v[3].Bits = r.number(0), r.text(1), r.number(2), r.number(3)
		if string(v[1].Data) == noDevice {
			v[1].Data = nil
		}
	case kernel.SoftirqEntry, kernel.SoftirqExit:
		v[0].Bits = r.number(0)
		return v[0].Bits == netTX || v[0].Bits == netRX
	case kernel.IRQEntry:
		v[0].Bits, v[1].Data = r.number(0), r.text(1)
	case kernel.IRQExit:
		v[0].Bits, v[1].Bits = r.number(0), r.number(1)
	}
	return true
}

// fillBlock fills in a request to a device for blocks, or its end. ftrace has the device's number, and not its name.
func (d *decoder) fillBlock(v []trace.Value, r *rawRecord) {
	const sectorSize = 512
	dev := r.number(0)
	name := strconv.AppendUint(d.comm[:0], dev>>20, 10)
	v[0].Data = strconv.AppendUint(append(name, ':'), dev&(1<<20-1), 10)
	v[1].Bits, v[2].Bits, v[3].Bits = dev&(1<<32-1), r.number(1), r.number(2)&(1<<32-1)
	v[4].Bits = operationOf(r.text(3))
	if v[5].Bits = signed(r.tid); r.kind == kernel.BlockComplete {
		v[3].Bits, v[5].Bits = r.number(2)*sectorSize&(1<<32-1), signed(r.pid(4))
	}
}

// operationOf returns the number of an operation by its letters (blk_fill_rwbs, kernel/trace/blktrace.c). A flush comes before
// the letter of a write that it goes with; alone it is FF.
func operationOf(letters []byte) uint64 {
	const read, write, flush, discard, other = 0, 1, 2, 3, 4
	if len(letters) > 1 && letters[0] == 'F' {
		letters = letters[1:]
	}
	if len(letters) == 0 {
		return other
	}
	switch letters[0] {
	case 'R':
		return read
	case 'W':
		return write
	case 'F':
		return flush
	case 'D':
		return discard
	}
	return other
}

// fillSched fills in an event of the scheduler, and reports whether it is wanted.
func (d *decoder) fillSched(e *kernel.Event, r *rawRecord, everyone bool) (wanted bool) {
	v := e.Values
	switch r.kind {
	case kernel.SchedSwitch:
		v[0].Data, v[1].Bits, v[2].Bits, v[3].Bits = r.text(0), r.number(1), r.number(2), r.number(3)
		v[4].Data, v[5].Bits, v[6].Bits = r.text(4), r.number(5), r.number(6)
		return d.switched(e.CPU, r.pid(1), r.pid(5), r.number(3), v[7:])
	case kernel.SchedWaking, kernel.SchedWakeup, kernel.SchedWakeupNew:
		v[0].Data, v[1].Bits, v[2].Bits, v[3].Bits = r.text(0), r.number(1), r.number(2), r.number(3)
		if r.kind == kernel.SchedWaking {
			v[4].Bits, v[5].Bits = signed(r.tid), contextOf(r)
		}
		return d.wanted(r.pid(1))
	case kernel.ProcessFork:
		child := d.tasks.forked(r.pid(3), r.text(2))
		v[0].Data, v[1].Bits, v[2].Bits = r.text(0), r.number(1), signed(d.tasks.get(r.pid(1)).process)
		v[3].Data, v[4].Bits, v[5].Bits = r.text(2), r.number(3), signed(child.process)
		if d.filtered { // the kernel follows the parent: else there would be no record
			d.tasks.follow(r.pid(3), true)
		}
		return true
	case kernel.ProcessExec:
		wanted = d.executed(r.pid(1), r.pid(2), r.text(0), everyone)
		d.comm = d.tasks.get(r.pid(1)).comm
		v[0].Data, v[1].Data, v[2].Bits, v[3].Bits = r.text(0), kernel.UntilNUL(d.comm[:]), r.number(1), r.number(2)
		return wanted
	}
	v[0].Data, v[1].Bits, v[2].Bits = r.text(0), r.number(1), r.number(2)
	wanted = d.wanted(r.pid(1))
	if r.kind == kernel.ProcessFree {
		if wanted && d.filtered {
			d.forget(r.pid(1))
		}
		d.tasks.forget(r.pid(1))
	}
	return wanted
}

// contextOf returns the context of a wake-up by the flags of its record (TRACE_FLAG_NMI and others, linux/trace_events.h).
func contextOf(r *rawRecord) uint64 {
	const inHardirq, inSoftirq, inNMI = 0x08, 0x10, 0x40
	flags := r.number(4)
	switch {
	case r.fields[4].size == 0:
		return 0
	case flags&inNMI != 0:
		return 4
	case flags&inHardirq != 0:
		return 3
	case flags&inSoftirq != 0:
		return 2
	}
	return 1
}

// fillCall fills in the entry or exit of a system call, and reports whether it is wanted.
func (d *decoder) fillCall(e *kernel.Event, r *rawRecord) bool {
	v, t := e.Values, d.tasks.get(r.tid)
	if r.kind == kernel.SysEnter {
		for i := range arguments {
			v[i].Bits = r.fields[1].element(r.data, i)
		}
		d.comm = t.comm
		v[6].Bits, v[7].Bits, v[8].Data = signed(r.tid), signed(t.process), kernel.UntilNUL(d.comm[:])
	} else {
		v[0].Bits, v[1].Bits, v[2].Bits = r.number(1), signed(r.tid), signed(t.process)
	}
	e.Class += kernel.CallIndex(r.number(0))
	return t.process != d.own && d.wanted(r.tid)
}

// wanted reports whether the events of a thread are recorded.
func (d *decoder) wanted(tid int32) bool { return !d.filtered || d.tasks.isFollowed(tid) }

// ended are the states in which a thread is switched away for the last time: EXIT_DEAD and EXIT_ZOMBIE.
const ended = 0x30

// switched fills in which threads are followed, and reports whether the switch is wanted. The last switch of a thread may be
// in both instances.
func (d *decoder) switched(cpu int, from, to int32, state uint64, followed []trace.Value) bool {
	p := &d.cpus[cpu]
	if !d.filtered {
		if p.running != unknown && p.running != from {
			d.gaps++
		}
		p.running = to
		return true
	}
	if state&ended != 0 {
		if p.dead == from {
			return false
		}
		p.dead = from
	}
	prev, next := d.tasks.isFollowed(from), d.tasks.isFollowed(to)
	followed[0].Bits, followed[1].Bits = bit(prev), bit(next)
	if prev && p.running != from && !d.tasks.mayRun(from) {
		d.gaps++
	}
	p.running = unknown
	if next {
		p.running = to
		d.tasks.mayRun(to)
	}
	return prev || next
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// executed handles the start of a program by a thread, and reports whether it is wanted. The thread had another number before
// if it was not its process's main thread, which then had to end.
func (d *decoder) executed(tid, before int32, file []byte, everyone bool) (wanted bool) {
	if everyone && d.filtered { // only to find programs by their name: the other instance has those that are followed
		if !d.tasks.isFollowed(tid) && d.command.Matches(baseName(file)) {
			d.follow(tid)
		}
		return false
	}
	if tid != before && d.filtered {
		d.follow(tid) // the kernel stopped following that number when the main thread ended
		d.tasks.follow(tid, false)
	}
	return true
}

// baseName returns the comm that the kernel gives a thread that executes the file.
func baseName(file []byte) string {
	name := string(file)
	name = name[strings.LastIndexByte(name, '/')+1:]
	return name[:min(len(name), maxComm)]
}

// signed sign-extends a 32-bit number, as the bits of an Int are kept.
func signed(n int32) uint64 { return uint64(int64(n)) }
