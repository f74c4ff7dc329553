package tracefs

import (
	"slices"
	"strings"

	"meridian/internal/record/kernel"
	"meridian/trace"
)

// decoder makes events of records, which must come in the order of their stamps over all processors.
type decoder struct {
	layouts  *layouts
	classes  []trace.Class
	of       [kinds]int // the class of each kind, the first of system calls; -1 for kinds that are not told
	calls    int        // system calls with names
	filtered bool       // only threads that are followed
	own      int32      // the process whose system calls are left out
	command  pattern    // of programs that are to be followed when they start
	tasks    *tasks
	follow   func(pid int32) // asks for another process to be followed
	forget   func(pid int32) // tells that one that was followed has ended
	cpus     []processor

	values  [kinds][]trace.Value
	comm    [16]byte
	event   kernel.Event
	damaged int64 // records that make no sense
	gaps    int64 // switches that must have been, between those that are told
}

// processor is what the switches told so far say of one.
type processor struct {
	dead    int32 // the last thread that ended there
	running int32 // the thread that runs; strange if that is not known, or not followed
}

const strange = -1

// followedFields say of both sides of a switch whether all its switches are recorded, as the other recorder does.
var followedFields = []trace.Field{
	{Name: "prev_followed", Type: trace.Type{Kind: trace.Uint, Bits: 8}},
	{Name: "next_followed", Type: trace.Type{Kind: trace.Uint, Bits: 8}},
}

func newDecoder(g kernel.Groups, filtered bool, cpus int, l *layouts, t *tasks) *decoder {
	d := &decoder{layouts: l, classes: kernel.ClassesOf(g), filtered: filtered, tasks: t, follow: func(int32) {}, forget: func(int32) {}}
	d.cpus = slices.Repeat([]processor{{dead: strange, running: strange}}, cpus)
	for k := range known {
		d.of[k], d.values[k] = -1, make([]trace.Value, mostValues)
		name := known[k].class
		if known[k].group&g == 0 {
			continue
		}
		named := 0
		for i := range d.classes {
			c := &d.classes[i]
			if known[k].group == kernel.Syscalls && strings.HasPrefix(c.Name, name) {
				named++
			} else if c.Name != name {
				continue
			}
			if k == int(schedSwitch) && filtered {
				c.Fields = slices.Concat(c.Fields, followedFields)
			}
			if d.of[k] < 0 {
				d.of[k] = i
				d.values[k] = blank(c.Fields)
			}
		}
		if named > 0 {
			d.calls = named - 1
		}
	}
	return d
}

// mostValues is what a class has at most.
const mostValues = 9

// noDevice is what ftrace calls the device of packets from one processor to another; the other recorder says nothing.
const noDevice = "(no_device)"

// blank returns a value for each field, of its kind; of a choice the first alternative, which is unknown.
func blank(fields []trace.Field) []trace.Value {
	values := make([]trace.Value, len(fields))
	for i := range fields {
		values[i].Kind = fields[i].Type.Kind
		if values[i].Kind == trace.Variant {
			values[i].Items = []trace.Value{{Kind: trace.Struct}}
		}
	}
	return values
}

// decode takes up what a record tells of threads, and returns its event, which lasts until the next, or nil if it has
// none that is wanted. Everyone says that the record is of the instance that records all processes.
func (d *decoder) decode(stamp uint64, cpu int, everyone bool, r []byte) *kernel.Event {
	b, ok := d.layouts.find(r)
	if !ok {
		d.damaged++
		return nil
	}
	if b == nil || cpu < 0 || cpu >= len(d.cpus) {
		return nil
	}
	e := &d.event
	e.Stamp, e.CPU, e.Class, e.Values = stamp, cpu, d.of[b.kind], d.values[b.kind]
	told, ok := d.fill(b, e, everyone, r)
	if !ok {
		d.damaged++
		return nil
	}
	if !told || e.Class < 0 {
		return nil
	}
	return e
}

// fill makes an event of a record. Told is whether it is wanted; ok is false for a record that makes no sense.
func (d *decoder) fill(b *binding, e *kernel.Event, everyone bool, r []byte) (told, ok bool) {
	v := e.Values
	n := func(i int) uint64 { // a field's number
		if f := &b.fields[i]; f.size > 0 {
			return f.number(r)
		}
		return 0
	}
	ok = true
	text := func(i int) []byte {
		t, good := b.fields[i].text(r)
		ok = ok && good
		return t
	}
	tid := int32(d.layouts.tid.number(r))
	told = true
	switch b.kind {
	case netDevQueue, netifReceive:
		v[0].Bits, v[1].Bits, v[2].Data = n(0), n(1), text(2)
	case napiPoll:
		v[0].Bits, v[1].Data, v[2].Bits, v[3].Bits = n(0), text(1), n(2), n(3)
		if string(v[1].Data) == noDevice {
			v[1].Data = nil
		}
	case softirqEntry, softirqExit:
		v[0].Bits = n(0)
		told = v[0].Bits == netTX || v[0].Bits == netRX
	case irqEntry:
		v[0].Bits, v[1].Data = n(0), text(1)
	case irqExit:
		v[0].Bits, v[1].Bits = n(0), n(1)
	case schedSwitch:
		v[0].Data, v[1].Bits, v[2].Bits, v[3].Bits = text(0), n(1), n(2), n(3)
		v[4].Data, v[5].Bits, v[6].Bits = text(4), n(5), n(6)
		told = d.switched(e.CPU, int32(n(1)), int32(n(5)), n(3), v[7:])
	case schedWaking, schedWakeup, schedWakeupNew:
		v[0].Data, v[1].Bits, v[2].Bits, v[3].Bits = text(0), n(1), n(2), n(3)
		told = d.wanted(int32(n(1)))
	case processFork:
		child := d.tasks.forked(int32(n(3)), text(2))
		v[0].Data, v[1].Bits, v[2].Bits = text(0), n(1), signed(d.tasks.get(int32(n(1))).process)
		v[3].Data, v[4].Bits, v[5].Bits = text(2), n(3), signed(child.process)
		if d.filtered { // it would not be here if the kernel did not follow the parent
			d.tasks.follow(int32(n(3)), true)
		}
	case processExec:
		told = d.executed(int32(n(1)), int32(n(2)), text(0), everyone)
		d.comm = d.tasks.get(int32(n(1))).comm
		v[0].Data, v[1].Data, v[2].Bits, v[3].Bits = text(0), untilNUL(d.comm[:]), n(1), n(2)
	case processExit:
		v[0].Data, v[1].Bits, v[2].Bits = text(0), n(1), n(2)
		told = d.wanted(int32(n(1)))
	case processFree:
		v[0].Data, v[1].Bits, v[2].Bits = text(0), n(1), n(2)
		told = d.wanted(int32(n(1)))
		if told && d.filtered {
			d.forget(int32(n(1)))
		}
		d.tasks.forget(int32(n(1)))
	case sysEnter:
		t := d.tasks.get(tid)
		for i := range arguments {
			v[i].Bits = b.fields[1].element(r, i)
		}
		d.comm = t.comm
		v[6].Bits, v[7].Bits, v[8].Data = signed(tid), signed(t.process), untilNUL(d.comm[:])
		e.Class += d.callOf(n(0))
		told = t.process != d.own && d.wanted(tid)
	case sysExit:
		t := d.tasks.get(tid)
		v[0].Bits, v[1].Bits, v[2].Bits = n(1), signed(tid), signed(t.process)
		e.Class += d.callOf(n(0))
		told = t.process != d.own && d.wanted(tid)
	case newTask:
		d.tasks.born(tid, int32(n(0)), text(1), n(2))
	case rename:
		if b.fields[1].size > 0 {
			tid = int32(n(1))
		}
		d.tasks.rename(tid, text(0))
	}
	return told, ok
}

// wanted says whether the events of a thread are recorded.
func (d *decoder) wanted(tid int32) bool { return !d.filtered || d.tasks.isFollowed(tid) }

// ended are the states in which a thread is switched away for the last time: EXIT_DEAD and EXIT_ZOMBIE.
const ended = 0x30

// switched fills in who is followed, and says whether a switch is told. That of a thread that ended may be in both
// instances.
func (d *decoder) switched(cpu int, from, to int32, state uint64, followed []trace.Value) bool {
	p := &d.cpus[cpu]
	if !d.filtered {
		if p.running != strange && p.running != from {
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
	before, after := d.tasks.isFollowed(from), d.tasks.isFollowed(to)
	followed[0].Bits, followed[1].Bits = bit(before), bit(after)
	if before && p.running != from && !d.tasks.mayRun(from) {
		d.gaps++
	}
	p.running = strange
	if after {
		p.running = to
		d.tasks.mayRun(to)
	}
	return before || after
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// executed takes up a program that was started by a thread, whose number was another if others of its process had to end.
func (d *decoder) executed(tid, before int32, file []byte, everyone bool) (told bool) {
	if everyone && d.filtered { // to find those of a name; what is followed is told by the other instance
		if !d.tasks.isFollowed(tid) && d.command.matches(baseName(file)) {
			d.follow(tid)
		}
		return false
	}
	if tid != before && d.filtered {
		d.follow(tid) // the kernel forgot the number when the thread that had it ended
		d.tasks.follow(tid, false)
	}
	return true
}

// baseName returns a program's name as the kernel gives it to the thread.
func baseName(file []byte) string {
	name := string(file)
	name = name[strings.LastIndexByte(name, '/')+1:]
	return name[:min(len(name), longestName)]
}

// callOf returns the place of a system call among the classes of its kind.
func (d *decoder) callOf(number uint64) int { return int(min(number, uint64(d.calls))) }

// signed widens a number of 32 bits as an Int keeps it.
func signed(n int32) uint64 { return uint64(int64(n)) }
