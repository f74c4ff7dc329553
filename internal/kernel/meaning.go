package kernel

import (
	"strings"

	"meridian/trace"
)

// effect is what an event does to the rows.
type effect uint8

const (
	staysOnStream   effect = iota // an instant on src's own row
	atProcessor                   // an instant where its processor is
	beginsSlice                   // a slice begins there
	endsSlice                     // and ends
	entersCall                    // a system call begins
	leavesCall                    // and ends
	entersInterrupt               // an interrupt begins
	leavesInterrupt               // and ends
	switches                      // a processor goes on to another thread
	wakes                         // an instant of the thread that it names
	forks                         // a thread is born
	execs                         // becomes another program
	exits                         // ends
	frees                         // and is forgotten
	states                        // a thread that was there when the trace began
	dumps                         // something else that was
	onDevice                      // an instant of the device that it names
	userHappens                   // the same of a program's thread
	userBegins
	userEnds
)

// meaning is what the events of one class mean, found once a class.
type meaning struct {
	effect   effect
	raw      int    // the class
	out      int    // as it is on the timeline, under its own name
	name     string // of its slices, unless events name them
	category string
	kind     int // of slices: the same for the begin and the end
	label    label
	wide     bool // the processor is added to the fields
	names    int  // how many names it took from events

	// Indices of fields, -1 for none. Those of the context (cpu, here...) say where the event happened, the others are its own.
	cpu, hereTID, herePID, hereName int
	tid, pid, comm, device, number  int
	prevTID, prevComm, parentTID    int
	kernelThread, oldTID            int
	prevFollowed, nextFollowed      int
}

// label says where a slice's name comes from.
type label uint8

const (
	fixed     label = iota
	irqLabel        // "irq 27 eth0"
	softLabel       // "softirq NET_RX"
	addressed       // "0x401136", a function
)

// learn finds the meanings of new classes, and again those of the old ones: a class makes slices from when its partner is
// known.
func (t *classTable) learn() {
	classes := t.src.Classes()
	names := make(map[string]bool, len(classes))
	for i := range classes {
		names[classes[i].Name] = true
		t.kernel = t.kernel || ofKernel(classes[i].Name)
	}
	t.scheduled = names["sched_switch"]
	for i := range classes {
		if i == len(t.meanings) {
			t.meanings = append(t.meanings, meaning{})
		}
		taken := t.meanings[i].names
		t.meanings[i] = t.meaningOf(i, &classes[i], names)
		t.meanings[i].names = taken
		t.meanings[i].out = t.class(i, classes[i].Name, classes[i].Category)
	}
}

// ofKernel reports whether only a kernel has events of this name.
func ofKernel(name string) bool {
	switch name {
	case "sched_switch", "sched_wakeup", "sched_waking", "sched_ttwu", "sched_process_fork", "exit_syscall", "irq_handler_entry",
		"softirq_entry", "irq_softirq_entry", "lttng_statedump_process_state":
		return true
	}
	return acts[name] != ignored || strings.HasPrefix(name, "syscall_entry_") || strings.HasPrefix(name, "compat_syscall_entry_")
}

func (t *classTable) meaningOf(raw int, c *trace.Class, names map[string]bool) meaning {
	m := meaning{raw: raw, category: c.Category, name: c.Name}
	context := *c
	context.Fields = c.Fields[len(c.Fields)-min(max(c.Context, 0), len(c.Fields)):]
	shift := len(c.Fields) - len(context.Fields)
	here := func(names ...string) int {
		if at := fieldIndex(&context, names...); at >= 0 {
			return at + shift
		}
		return none
	}
	own := *c
	own.Fields = c.Fields[:shift]
	m.tid, m.pid, m.comm = fieldIndex(&own, "tid", "next_tid", "child_tid"), fieldIndex(&own, "pid", "child_pid"), fieldIndex(&own, "comm", "next_comm", "child_comm", "name", "filename")
	m.prevTID, m.prevComm, m.parentTID = fieldIndex(&own, "prev_tid"), fieldIndex(&own, "prev_comm"), fieldIndex(&own, "parent_tid")
	m.device, m.number = fieldIndex(&own, "name", "dev_name"), fieldIndex(&own, "irq", "vec", "addr")
	m.kernelThread, m.oldTID = fieldIndex(&own, "type"), fieldIndex(&own, "old_tid")
	m.prevFollowed, m.nextFollowed = fieldIndex(&own, "prev_followed"), fieldIndex(&own, "next_followed")
	if t.kernel {
		m.hereTID, m.herePID, m.hereName = here("tid"), here("pid"), here("procname")
		m.cpu = here("cpu_id")
		if m.cpu < 0 {
			m.cpu = fieldIndex(c, "cpu_id")
		}
		m.wide = m.cpu < 0
		t.ofKernel(&m, c.Name, names)
		return m
	}
	m.cpu, m.hereTID, m.herePID, m.hereName = here("cpu_id"), here("vtid"), here("vpid"), here("procname")
	m.effect = userHappens
	if stem, begin, paired := partner(c.Name, names); paired {
		m.effect, m.kind, m.name = userEnds, t.kindOf(stem), stem
		if begin {
			m.effect = userBegins
		}
		if strings.HasPrefix(stem, "lttng_ust_cyg_profile") && m.number >= 0 {
			m.label = addressed
		}
	}
	return m
}

// ofKernel sets the meaning of a kernel's event.
func (t *classTable) ofKernel(m *meaning, name string, names map[string]bool) {
	m.effect = atProcessor
	switch name {
	case "sched_switch":
		m.effect, m.kind, m.name, m.category = switches, t.runs, "running", "sched"
		if m.tid < 0 || m.prevTID < 0 {
			m.effect = atProcessor
		}
		return
	case "sched_wakeup", "sched_waking", "sched_wakeup_new", "sched_ttwu", "sched_migrate_task":
		m.effect = wakes
		return
	case "sched_process_fork":
		m.effect = forks
		return
	case "sched_process_exec":
		m.effect = execs
		return
	case "sched_process_exit":
		m.effect = exits
		return
	case "sched_process_free":
		m.effect = frees
		return
	case "lttng_statedump_process_state":
		m.effect = states
		return
	}
	if strings.HasPrefix(name, "lttng_statedump_") {
		m.effect = dumps
		return
	}
	if call, begin, ok := callOf(name, names); ok {
		m.effect, m.kind, m.name, m.category = leavesCall, t.kindOf("system call"), call, "syscall"
		if begin {
			m.effect = entersCall
		}
		return
	}
	stem, begin, paired := partner(name, names)
	if inInterrupt(stem) && (paired || strings.HasSuffix(name, "_entry") || strings.HasSuffix(name, "_exit")) {
		m.effect, m.kind, m.name, m.category = leavesInterrupt, t.kindOf(stem), strings.TrimPrefix(stem, "x86_irq_vectors_"), "interrupt"
		if strings.HasSuffix(name, "_entry") {
			m.effect = entersInterrupt
		}
		switch {
		case stem == "irq_handler" && m.number >= 0:
			m.label = irqLabel
		case strings.HasSuffix(stem, "softirq") && m.number >= 0:
			m.label = softLabel
		}
		return
	}
	switch {
	case paired:
		m.effect, m.kind, m.name = endsSlice, t.kindOf(stem), stem
		if begin {
			m.effect = beginsSlice
		}
	case m.device >= 0 && ofDevice(name):
		m.effect = onDevice
	}
}

// kindOf numbers the kinds of slices.
func (t *classTable) kindOf(name string) int {
	n, ok := t.kinds[name]
	if !ok {
		n = len(t.kinds)
		t.kinds[name] = n
	}
	return n
}

// callOf returns the system call of an event's name. Before LTTng 2.5 their names began with sys_, and one event was the
// return from any of them.
func callOf(name string, names map[string]bool) (call string, begin, ok bool) {
	compat := ""
	if rest, found := strings.CutPrefix(name, "compat_"); found {
		name, compat = rest, "compat_"
	}
	if rest, found := strings.CutPrefix(name, "syscall_entry_"); found {
		return compat + rest, true, true
	}
	if rest, found := strings.CutPrefix(name, "syscall_exit_"); found {
		return compat + rest, false, true
	}
	if name == "exit_syscall" {
		return name, false, true
	}
	if rest, found := strings.CutPrefix(name, "sys_"); found && names["exit_syscall"] {
		return compat + rest, true, true
	}
	return "", false, false
}

// inInterrupt reports whether the code from stem_entry on interrupts the processor's thread.
func inInterrupt(stem string) bool {
	switch stem {
	case "irq_handler", "softirq", "irq_softirq", "hrtimer_expire", "timer_hrtimer_expire", "timer_expire", "timer_expire_timer",
		"tasklet", "irq_tasklet", "tasklet_low", "irq_tasklet_low", "tasklet_high", "irq_tasklet_hi", "local_timer", "reschedule",
		"call_function", "call_function_single", "irq_work", "spurious_apic", "error_apic", "thermal_apic", "threshold_apic",
		"deferred_error_apic", "x86_platform_ipi", "ipi", "nmi_handler":
		return true
	}
	return strings.HasPrefix(stem, "x86_irq_vectors_")
}

// ofDevice reports whether the event is one of a network interface or of a device for blocks, which its field names.
func ofDevice(name string) bool {
	return strings.HasPrefix(name, "net_") || strings.HasPrefix(name, "netif_") || strings.HasPrefix(name, "napi_") || strings.HasPrefix(name, "block_rq_")
}

// endings are the endings of names of events in pairs.
var endings = []struct{ begin, end string }{
	{"_entry", "_exit"}, {"_enter", "_exit"}, {"_begin", "_end"}, {"_start", "_end"}, {"_start", "_stop"}, {"_start", "_done"},
	{":begin", ":end"}, {":entry", ":exit"}, {":enter", ":exit"}, {":start", ":end"}, {":start", ":stop"},
}

// partner reports whether name and another of names make a pair. It returns their common stem, and whether name is the one
// that begins.
func partner(name string, names map[string]bool) (stem string, begin, ok bool) {
	for _, e := range endings {
		if s, found := strings.CutSuffix(name, e.begin); found && s != "" {
			if stem = s; names[s+e.end] {
				return s, true, true
			}
		}
	}
	for _, e := range endings {
		if s, found := strings.CutSuffix(name, e.end); found && s != "" {
			if stem = s; names[s+e.begin] {
				return s, false, true
			}
		}
	}
	return stem, false, false
}
