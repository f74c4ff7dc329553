package tracefs

import (
	"fmt"

	"meridian/internal/record/kernel"
)

// kind is a kind of event that is read. Those behind tasks make no events of their own: they tell of threads.
type kind uint8

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
	newTask
	rename
	kinds
)

const tracking kernel.Groups = 0 // the group of what only tells of threads

const (
	netTX = 2 // of the softirqs, as the kernel numbers them
	netRX = 3
)

// onlyNetwork keeps in the kernel what decode would leave out.
var onlyNetwork = fmt.Sprintf("vec == %d || vec == %d", netTX, netRX)

// known are the kinds: where ftrace has them, the class that they become ("syscall_entry_" and a name for system calls),
// and the fields that decode takes, in this order. Those with ? may be missing.
var known = [kinds]struct {
	group  kernel.Groups
	event  string
	class  string
	fields []string
	filter string // in the kernel
}{
	netDevQueue:    {kernel.Net, "net/net_dev_queue", "net_dev_queue", []string{"skbaddr", "len", "name"}, ""},
	netifReceive:   {kernel.Net, "net/netif_receive_skb", "netif_receive_skb", []string{"skbaddr", "len", "name"}, ""},
	napiPoll:       {kernel.IRQ, "napi/napi_poll", "napi_poll", []string{"napi", "dev_name", "work?", "budget?"}, ""},
	softirqEntry:   {kernel.IRQ, "irq/softirq_entry", "irq_softirq_entry", []string{"vec"}, onlyNetwork},
	softirqExit:    {kernel.IRQ, "irq/softirq_exit", "irq_softirq_exit", []string{"vec"}, onlyNetwork},
	irqEntry:       {kernel.IRQ, "irq/irq_handler_entry", "irq_handler_entry", []string{"irq", "name"}, ""},
	irqExit:        {kernel.IRQ, "irq/irq_handler_exit", "irq_handler_exit", []string{"irq", "ret"}, ""},
	schedSwitch:    {kernel.Sched, "sched/sched_switch", "sched_switch", []string{"prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"}, ""},
	schedWaking:    {kernel.Sched, "sched/sched_waking", "sched_waking", wakeFields, ""},
	schedWakeup:    {kernel.Sched, "sched/sched_wakeup", "sched_wakeup", wakeFields, ""},
	schedWakeupNew: {kernel.Sched, "sched/sched_wakeup_new", "sched_wakeup_new", wakeFields, ""},
	processFork:    {kernel.Sched, "sched/sched_process_fork", "sched_process_fork", []string{"parent_comm", "parent_pid", "child_comm", "child_pid"}, ""},
	processExec:    {kernel.Sched, "sched/sched_process_exec", "sched_process_exec", []string{"filename", "pid", "old_pid"}, ""},
	processExit:    {kernel.Sched, "sched/sched_process_exit", "sched_process_exit", lifeFields, ""},
	processFree:    {kernel.Sched, "sched/sched_process_free", "sched_process_free", lifeFields, ""},
	sysEnter:       {kernel.Syscalls, "raw_syscalls/sys_enter", "syscall_entry_", []string{"id", "args"}, ""},
	sysExit:        {kernel.Syscalls, "raw_syscalls/sys_exit", "syscall_exit_", []string{"id", "ret"}, ""},
	newTask:        {tracking, "task/task_newtask", "", []string{"pid", "comm", "clone_flags"}, ""},
	rename:         {tracking, "task/task_rename", "", []string{"newcomm", "pid?"}, ""}, // without a number it is the thread's own
}

var (
	wakeFields = []string{"comm", "pid", "prio", "target_cpu"}
	lifeFields = []string{"comm", "pid", "prio"}
)

// mostFields is what a kind has at most.
const mostFields = 7

// binding is where the fields of a kind lie in this kernel's records.
type binding struct {
	kind   kind
	fields [mostFields]field // one that is missing has size 0
	size   int               // of a record at least
}

// texts are the fields that are texts, in any kind; args is an array, and all others are numbers.
var texts = map[string]bool{"name": true, "dev_name": true, "comm": true, "prev_comm": true, "next_comm": true, "parent_comm": true,
	"child_comm": true, "filename": true, "newcomm": true}

// bind finds the fields of a kind in its format.
func bind(k kind, f *format) (binding, error) {
	b := binding{kind: k}
	for i, name := range known[k].fields {
		optional := name[len(name)-1] == '?'
		if optional {
			name = name[:len(name)-1]
		}
		found, ok := f.field(name)
		switch {
		case !ok && optional:
			continue
		case !ok:
			return b, fmt.Errorf("%s has no field %s", known[k].event, name)
		case texts[name]:
			ok = found.where != here || found.count > 0
		case name == "args":
			ok = found.where == here && found.count == arguments && found.size == 8*arguments
		default:
			ok = found.isNumber()
		}
		if !ok {
			return b, fmt.Errorf("%s: field %s has a type that this program does not know", known[k].event, name)
		}
		b.fields[i] = found
		b.size = max(b.size, found.offset+found.size)
	}
	return b, nil
}

// arguments is how many a system call has.
const arguments = 6

// layouts finds the binding of a record by the number of its event.
type layouts struct {
	page     *pageLayout
	id, tid  field // common to all records
	byID     []uint8
	bindings []binding
}

// add takes up a kind whose format was read.
func (l *layouts) add(k kind, f *format) error {
	b, err := bind(k, f)
	if err != nil {
		return err
	}
	id, ok1 := f.field("common_type")
	tid, ok2 := f.field("common_pid")
	if f.id < 0 || !ok1 || !ok2 || !id.isNumber() || !tid.isNumber() || len(l.bindings) > 0 && (id != l.id || tid != l.tid) {
		return fmt.Errorf("%s has no number, or another head than others", known[k].event)
	}
	l.id, l.tid = id, tid
	for len(l.byID) <= f.id {
		l.byID = append(l.byID, 0)
	}
	b.size = max(b.size, id.offset+id.size, tid.offset+tid.size)
	l.bindings = append(l.bindings, b)
	l.byID[f.id] = uint8(len(l.bindings))
	return nil
}

// find returns the binding of a record, or nil if it is not one of ours. Ok is false if it is one, and too short.
func (l *layouts) find(r []byte) (b *binding, ok bool) {
	if len(r) < l.id.offset+l.id.size || len(l.bindings) == 0 {
		return nil, false
	}
	id := l.id.number(r)
	if id >= uint64(len(l.byID)) || l.byID[id] == 0 {
		return nil, true
	}
	b = &l.bindings[l.byID[id]-1]
	return b, len(r) >= b.size
}
