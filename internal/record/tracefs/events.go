package tracefs

import (
	"fmt"

	"meridian/internal/record/kernel"
)

// The kinds of event that are read: those of record/kernel, and two that make no event but tell of threads.
const (
	newTask kernel.Kind = kernel.Kinds + iota
	rename
	kinds
)

const (
	netTX = 2 // NET_TX_SOFTIRQ
	netRX = 3 // NET_RX_SOFTIRQ
)

// onlyNetwork is the filter for the soft interrupts that decode takes.
var onlyNetwork = fmt.Sprintf("vec == %d || vec == %d", netTX, netRX)

// known says for each kind which of ftrace's events it is, which fields decode takes, in this order, and the filter to set.
// A field with ? may be missing.
var known = [kinds]struct {
	event  string
	fields []string
	filter string
}{
	kernel.NetDevQueue:    {"net/net_dev_queue", []string{"skbaddr", "len", "name"}, ""},
	kernel.NetifReceive:   {"net/netif_receive_skb", []string{"skbaddr", "len", "name"}, ""},
	kernel.NapiPoll:       {"napi/napi_poll", []string{"napi", "dev_name", "work?", "budget?"}, ""},
	kernel.SoftirqEntry:   {"irq/softirq_entry", []string{"vec"}, onlyNetwork},
	kernel.SoftirqExit:    {"irq/softirq_exit", []string{"vec"}, onlyNetwork},
	kernel.IRQEntry:       {"irq/irq_handler_entry", []string{"irq", "name"}, ""},
	kernel.IRQExit:        {"irq/irq_handler_exit", []string{"irq", "ret"}, ""},
	kernel.SchedSwitch:    {"sched/sched_switch", []string{"prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"}, ""},
	kernel.SchedWaking:    {"sched/sched_waking", append(wakeFields[:4:4], "common_flags?"), ""},
	kernel.SchedWakeup:    {"sched/sched_wakeup", wakeFields, ""},
	kernel.SchedWakeupNew: {"sched/sched_wakeup_new", wakeFields, ""},
	kernel.ProcessFork:    {"sched/sched_process_fork", []string{"parent_comm", "parent_pid", "child_comm", "child_pid"}, ""},
	kernel.ProcessExec:    {"sched/sched_process_exec", []string{"filename", "pid", "old_pid"}, ""},
	kernel.ProcessExit:    {"sched/sched_process_exit", lifeFields, ""},
	kernel.ProcessFree:    {"sched/sched_process_free", lifeFields, ""},
	kernel.SysEnter:       {"raw_syscalls/sys_enter", []string{"id", "args"}, ""},
	kernel.SysExit:        {"raw_syscalls/sys_exit", []string{"id", "ret"}, ""},
	kernel.BlockIssue:     {"block/block_rq_issue", []string{"dev", "sector", "bytes", "rwbs"}, ""},
	kernel.BlockComplete:  {"block/block_rq_complete", []string{"dev", "sector", "nr_sector", "rwbs", "error?"}, ""},
	newTask:               {"task/task_newtask", []string{"pid", "comm", "clone_flags"}, ""},
	rename:                {"task/task_rename", []string{"newcomm", "pid?"}, ""}, // without a pid it is the thread that the event is of
}

var (
	wakeFields = []string{"comm", "pid", "prio", "target_cpu"}
	lifeFields = []string{"comm", "pid", "prio"}
)

// maxFields is the most fields of a kind.
const maxFields = 7

// binding is a kind with the layout of its fields in this kernel's records.
type binding struct {
	kind   kernel.Kind
	fields [maxFields]field // size 0 for a missing one
	size   int              // the least of a record
}

// texts are the fields that are strings, in any kind; args is an array, and all others are numbers.
var texts = map[string]bool{"name": true, "dev_name": true, "comm": true, "prev_comm": true, "next_comm": true, "parent_comm": true,
	"rwbs": true, "child_comm": true, "filename": true, "newcomm": true}

// bind finds the fields of a kind in its format.
func bind(k kernel.Kind, f *format) (binding, error) {
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
			ok = found.location != direct || found.count > 0
		case name == "args":
			ok = found.location == direct && found.count == arguments && found.size == 8*arguments
		default:
			ok = found.isNumber()
		}
		if !ok {
			return b, fmt.Errorf("%s: unknown type of field %s", known[k].event, name)
		}
		b.fields[i] = found
		b.size = max(b.size, found.offset+found.size)
	}
	return b, nil
}

// arguments is the number of a system call's arguments.
const arguments = 6

// layouts finds the binding of a record by the number of its event.
type layouts struct {
	page     *pageLayout
	id, tid  field // common to all records
	byID     []uint8
	bindings []binding
}

// add adds a kind by its format.
func (l *layouts) add(k kernel.Kind, f *format) error {
	b, err := bind(k, f)
	if err != nil {
		return err
	}
	id, ok1 := f.field("common_type")
	tid, ok2 := f.field("common_pid")
	if f.id < 0 || !ok1 || !ok2 || !id.isNumber() || !tid.isNumber() || len(l.bindings) > 0 && (id != l.id || tid != l.tid) {
		return fmt.Errorf("%s has no ID, or its common fields differ from those of other events", known[k].event)
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

// find returns the binding of a record, or nil for one of an event that is not read. Ok is false for a record that is too short.
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
