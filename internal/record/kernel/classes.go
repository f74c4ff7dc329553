package kernel

import (
	"slices"

	"meridian/trace"
)

// Kind is a kind of kernel event, numbered as in the records of bpf/kernel.c.
type Kind uint16

const (
	NetDevQueue Kind = 1 + iota
	NetifReceive
	NapiPoll
	SoftirqEntry
	SoftirqExit
	IRQEntry
	IRQExit
	SchedSwitch
	SchedWaking
	SchedWakeup
	SchedWakeupNew
	ProcessFork
	ProcessExec
	ProcessExit
	ProcessFree
	SysEnter
	SysExit
	TCPSend
	TCPReceive
	BlockIssue
	BlockComplete
	Kinds
)

// records describes each kind: its group, the least size of its record, the name of its class (without that of the call
// for system calls), and the class's fields.
var records = [Kinds]struct {
	group  Groups
	size   int
	name   string
	fields []trace.Field
}{
	NetDevQueue:    {Net, packetSize, "net_dev_queue", packetFields},
	NetifReceive:   {Net, packetSize, "netif_receive_skb", packetFields},
	NapiPoll:       {IRQ, 48, "napi_poll", []trace.Field{hex("napi", 64), text("dev_name"), integer("work", 32), integer("budget", 32)}},
	SoftirqEntry:   {IRQ, 16, "irq_softirq_entry", []trace.Field{number("vec", 32)}},
	SoftirqExit:    {IRQ, 16, "irq_softirq_exit", []trace.Field{number("vec", 32)}},
	IRQEntry:       {IRQ, 48, "irq_handler_entry", []trace.Field{integer("irq", 32), text("name")}},
	IRQExit:        {IRQ, 24, "irq_handler_exit", []trace.Field{integer("irq", 32), integer("ret", 32)}},
	SchedSwitch:    {Sched, 72, "sched_switch", []trace.Field{text("prev_comm"), integer("prev_tid", 32), integer("prev_prio", 32), integer("prev_state", 64), text("next_comm"), integer("next_tid", 32), integer("next_prio", 32)}},
	SchedWaking:    {Sched, 48, "sched_waking", append(wakeFields[:4:4], integer("waker_tid", 32), wakingContext)},
	SchedWakeup:    {Sched, 40, "sched_wakeup", wakeFields},
	SchedWakeupNew: {Sched, 40, "sched_wakeup_new", wakeFields},
	ProcessFork:    {Sched, 64, "sched_process_fork", []trace.Field{text("parent_comm"), integer("parent_tid", 32), integer("parent_pid", 32), text("child_comm"), integer("child_tid", 32), integer("child_pid", 32)}},
	ProcessExec:    {Sched, 296, "sched_process_exec", []trace.Field{text("filename"), text("comm"), integer("tid", 32), integer("old_tid", 32)}},
	ProcessExit:    {Sched, 40, "sched_process_exit", lifeFields},
	ProcessFree:    {Sched, 40, "sched_process_free", lifeFields},
	SysEnter:       {Syscalls, 88, "syscall_entry_", append(argumentFields[:6:6], integer("tid", 32), integer("pid", 32), text("procname"))},
	SysExit:        {Syscalls, 32, "syscall_exit_", []trace.Field{integer("ret", 64), integer("tid", 32), integer("pid", 32)}},
	TCPSend:        {Sockets, transferSize, "tcp_sendmsg", transferFields},
	TCPReceive:     {Sockets, transferSize, "tcp_recvmsg", append(transferFields[:5:5], number("peeked", 8), transferFields[5], transferFields[6])},
	BlockIssue:     {Disk, blockSize, "block_rq_issue", append(blockFields[:5:5], integer("issuer", 32))},
	BlockComplete:  {Disk, blockSize, "block_rq_complete", append(blockFields[:5:5], integer("error", 32))},
}

var (
	wakeFields = []trace.Field{text("comm"), integer("tid", 32), integer("prio", 32), integer("target_cpu", 32)}
	// wakingContext is where the waker was: in the thread, or in an interrupt of it, which the thread has nothing to do with.
	wakingContext = trace.Field{Name: "waker_context", Type: trace.Type{Kind: trace.Uint, Bits: 8, Labels: []trace.Label{{Name: "unknown", Low: 0, High: 0},
		{Name: "thread", Low: 1, High: 1}, {Name: "softirq", Low: 2, High: 2}, {Name: "hardirq", Low: 3, High: 3}, {Name: "nmi", Low: 4, High: 4}}}}
	lifeFields     = []trace.Field{text("comm"), integer("tid", 32), integer("prio", 32)}
	argumentFields = []trace.Field{hex("arg0", 64), hex("arg1", 64), hex("arg2", 64), hex("arg3", 64), hex("arg4", 64), hex("arg5", 64)}
)

func typed(name string, k trace.ValueKind, bits, base int) trace.Field {
	return trace.Field{Name: name, Type: trace.Type{Kind: k, Bits: bits, Base: base}}
}

func number(name string, bits int) trace.Field  { return typed(name, trace.Uint, bits, 0) }
func integer(name string, bits int) trace.Field { return typed(name, trace.Int, bits, 0) }
func hex(name string, bits int) trace.Field     { return typed(name, trace.Uint, bits, 16) }
func text(name string) trace.Field              { return typed(name, trace.Text, 0, 0) }

func structure(name string, fields ...trace.Field) trace.Field {
	return trace.Field{Name: name, Type: trace.Type{Kind: trace.Struct, Fields: fields}}
}

func variant(name string, fields ...trace.Field) trace.Field {
	return trace.Field{Name: name, Type: trace.Type{Kind: trace.Variant, Fields: fields}}
}

func array(name string, length, bits int) trace.Field {
	elem := trace.Type{Kind: trace.Uint, Bits: bits}
	return trace.Field{Name: name, Type: trace.Type{Kind: trace.Array, Elem: &elem, Length: length}}
}

// Group returns the group that a kind belongs to, and no group for a number that is not a kind's.
func (k Kind) Group() Groups {
	if k >= Kinds {
		return 0
	}
	return records[k].group
}

// followedFields tell for both threads of a switch whether all their switches are recorded, where only some processes are.
var followedFields = []trace.Field{number("prev_followed", 8), number("next_followed", 8)}

// ClassesOf returns the classes of groups, and the index of each kind's first class, -1 for kinds of other groups. A kind
// of the system calls has a class for each call, by its number, and a last one for calls without a name. Filtered means
// that only some processes are recorded: switches then have [followedFields].
func ClassesOf(g Groups, filtered bool) (classes []trace.Class, first [Kinds]int) {
	for k := range Kinds {
		r := &records[k]
		first[k] = -1
		if r.group&g == 0 {
			continue
		}
		first[k] = len(classes)
		c := trace.Class{Name: r.name, Category: r.group.String(), Fields: r.fields}
		switch {
		case k == SchedSwitch && filtered:
			c.Fields = slices.Concat(c.Fields, followedFields)
		case k == SysEnter:
			c.Context = 3
		case k == SysExit:
			c.Context = len(r.fields) - 1
		case r.group == Sockets:
			c.Context = 2
		}
		if r.group != Syscalls {
			classes = append(classes, c)
			continue
		}
		for _, call := range callNames {
			c.Name = r.name + call
			classes = append(classes, c)
		}
		c.Name = r.name + unknownCall
		classes = append(classes, c)
	}
	return classes, first
}

// CallIndex returns the index of a system call's class among those of its kind.
func CallIndex(number uint64) int { return int(min(number, uint64(len(callNames)))) }

// BlankValues returns a value of the right kind for each field. Values of arrays and structures have all their items, those
// of variants an empty structure: the first alternative, which is unknown.
func BlankValues(fields []trace.Field) []trace.Value {
	values := make([]trace.Value, len(fields))
	for i := range fields {
		values[i] = blankValue(&fields[i].Type)
	}
	return values
}

func blankValue(t *trace.Type) trace.Value {
	v := trace.Value{Kind: t.Kind}
	switch t.Kind {
	case trace.Struct:
		v.Items = BlankValues(t.Fields)
	case trace.Variant:
		v.Items = []trace.Value{{Kind: trace.Struct}}
	case trace.Array:
		v.Items = make([]trace.Value, t.Length)
		for i := range v.Items {
			v.Items[i] = blankValue(t.Elem)
		}
	}
	return v
}
