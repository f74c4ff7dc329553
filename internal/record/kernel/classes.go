package kernel

import "meridian/trace"

// kind is the number of a record's kind, as bpf/kernel.c has it.
type kind uint16

const (
	netDevQueue kind = 1 + iota
	netifReceive
	napiPoll
	softirqEntry
	softirqExit
	irqEntry
	irqExit
	schedSwitch
	schedWaking
	schedWakeup
	schedWakeupNew
	processFork
	processExec
	processExit
	processFree
	sysEnter
	sysExit
	kinds
)

// what is known of each kind: its group, the smallest size of its record, and its class but for those of system calls.
var records = [kinds]struct {
	group  Groups
	size   int
	name   string
	fields []trace.Field
}{
	netDevQueue:    {Net, packetSize, "net_dev_queue", packetFields},
	netifReceive:   {Net, packetSize, "netif_receive_skb", packetFields},
	napiPoll:       {IRQ, 48, "napi_poll", []trace.Field{hex("napi", 64), text("dev_name"), integer("work", 32), integer("budget", 32)}},
	softirqEntry:   {IRQ, 16, "irq_softirq_entry", []trace.Field{number("vec", 32)}},
	softirqExit:    {IRQ, 16, "irq_softirq_exit", []trace.Field{number("vec", 32)}},
	irqEntry:       {IRQ, 48, "irq_handler_entry", []trace.Field{integer("irq", 32), text("name")}},
	irqExit:        {IRQ, 24, "irq_handler_exit", []trace.Field{integer("irq", 32), integer("ret", 32)}},
	schedSwitch:    {Sched, 72, "sched_switch", []trace.Field{text("prev_comm"), integer("prev_tid", 32), integer("prev_prio", 32), integer("prev_state", 64), text("next_comm"), integer("next_tid", 32), integer("next_prio", 32)}},
	schedWaking:    {Sched, 40, "sched_waking", wakeFields},
	schedWakeup:    {Sched, 40, "sched_wakeup", wakeFields},
	schedWakeupNew: {Sched, 40, "sched_wakeup_new", wakeFields},
	processFork:    {Sched, 64, "sched_process_fork", []trace.Field{text("parent_comm"), integer("parent_tid", 32), integer("parent_pid", 32), text("child_comm"), integer("child_tid", 32), integer("child_pid", 32)}},
	processExec:    {Sched, 296, "sched_process_exec", []trace.Field{text("filename"), text("comm"), integer("tid", 32), integer("old_tid", 32)}},
	processExit:    {Sched, 40, "sched_process_exit", lifeFields},
	processFree:    {Sched, 40, "sched_process_free", lifeFields},
	sysEnter:       {Syscalls, 88, "syscall_entry_", append(argumentFields[:6:6], integer("tid", 32), integer("pid", 32), text("procname"))},
	sysExit:        {Syscalls, 32, "syscall_exit_", []trace.Field{integer("ret", 64), integer("tid", 32), integer("pid", 32)}},
}

var (
	wakeFields     = []trace.Field{text("comm"), integer("tid", 32), integer("prio", 32), integer("target_cpu", 32)}
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

func choice(name string, fields ...trace.Field) trace.Field {
	return trace.Field{Name: name, Type: trace.Type{Kind: trace.Variant, Fields: fields}}
}

func array(name string, length, bits int) trace.Field {
	elem := trace.Type{Kind: trace.Uint, Bits: bits}
	return trace.Field{Name: name, Type: trace.Type{Kind: trace.Array, Elem: &elem, Length: length}}
}

// ClassesOf returns the classes of groups, for who brings the same events another way. Those of system calls are in the
// order of their numbers, and the last of entries and of exits is of calls without a name.
func ClassesOf(g Groups) []trace.Class {
	all, _ := classesOf(g)
	return all
}

// classesOf returns the classes of groups, and where those of each kind begin; -1 for kinds that are not among them. A
// system call has two, an entry and an exit, by its number; the last two are of calls without a name.
func classesOf(g Groups) (all []trace.Class, of [kinds]int) {
	for k := kind(1); k < kinds; k++ {
		r := &records[k]
		of[k] = -1
		if r.group&g == 0 {
			continue
		}
		if of[k] = len(all); r.group != Syscalls {
			all = append(all, trace.Class{Name: r.name, Category: r.group.String(), Fields: r.fields})
			continue
		}
		c := trace.Class{Category: r.group.String(), Fields: r.fields, Context: len(r.fields) - 1}
		if k == sysEnter {
			c.Context = 3
		}
		for _, call := range append(callNames[:len(callNames):len(callNames)], unknownCall) {
			c.Name = r.name + call
			all = append(all, c)
		}
	}
	return all, of
}
