package kernel

import (
	"strings"

	"meridian/trace"
)

// what an event does to the rows.
type what uint8

const (
	passes      what = iota // nothing: it stays on src's own row, with the phase that it has
	happens                 // an instant where its processor is
	begins                  // a slice begins there
	ends                    // and ends
	calls                   // a system call begins
	returns                 // and ends
	interrupts              // an interrupt begins
	resumes                 // and ends
	switches                // a processor goes on to another thread
	wakes                   // an instant of the thread that it names
	forks                   // a thread is born
	execs                   // becomes another program
	exits                   // ends
	frees                   // and is forgotten
	states                  // a thread that was there when the trace began
	dumps                   // something else that was
	onDevice                // an instant of the device that it names
	userHappens             // the same of a program's thread
	userBegins
	userEnds
)

// meaning is what the events of one class mean, found out once.
type meaning struct {
	what     what
	raw      int    // the class
	out      int    // as it is on the timeline, under its own name
	name     string // of its slices, where events bring none
	category string
	kind     int // of slices: what begins and what ends one share it
	label    label
	wide     bool // the processor is added to the fields
	names    int  // how many names it took from events

	// Where fields stand, -1 for none. Those of the context say where the event happened, the others are its own.
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

// learn finds out what the classes mean that are new, and what the old ones mean with these: a class whose partner has
// come now makes slices.
func (r *rows) learn() {
	classes := r.src.Classes()
	names := make(map[string]bool, len(classes))
	for i := range classes {
		names[classes[i].Name] = true
		r.kernel = r.kernel || ofKernel(classes[i].Name)
	}
	r.scheduled = names["sched_switch"]
	for i := range classes {
		if i == len(r.meanings) {
			r.meanings = append(r.meanings, meaning{})
		}
		taken := r.meanings[i].names
		r.meanings[i] = r.meaningOf(i, &classes[i], names)
		r.meanings[i].names = taken
		r.meanings[i].out = r.class(i, classes[i].Name, classes[i].Category)
	}
}

// ofKernel reports whether no program but a kernel has events of this name.
func ofKernel(name string) bool {
	switch name {
	case "sched_switch", "sched_wakeup", "sched_waking", "sched_ttwu", "sched_process_fork", "exit_syscall", "irq_handler_entry",
		"softirq_entry", "irq_softirq_entry", "lttng_statedump_process_state":
		return true
	}
	return acts[name] != nothing || strings.HasPrefix(name, "syscall_entry_") || strings.HasPrefix(name, "compat_syscall_entry_")
}

func (r *rows) meaningOf(raw int, c *trace.Class, names map[string]bool) meaning {
	m := meaning{raw: raw, category: c.Category, name: c.Name}
	context := *c
	context.Fields = c.Fields[len(c.Fields)-min(max(c.Context, 0), len(c.Fields)):]
	shift := len(c.Fields) - len(context.Fields)
	here := func(names ...string) int {
		if at := place(&context, names...); at >= 0 {
			return at + shift
		}
		return none
	}
	own := *c
	own.Fields = c.Fields[:shift]
	m.tid, m.pid, m.comm = place(&own, "tid", "next_tid", "child_tid"), place(&own, "pid", "child_pid"), place(&own, "comm", "next_comm", "child_comm", "name", "filename")
	m.prevTID, m.prevComm, m.parentTID = place(&own, "prev_tid"), place(&own, "prev_comm"), place(&own, "parent_tid")
	m.device, m.number = place(&own, "name", "dev_name"), place(&own, "irq", "vec", "addr")
	m.kernelThread, m.oldTID = place(&own, "type"), place(&own, "old_tid")
	m.prevFollowed, m.nextFollowed = place(&own, "prev_followed"), place(&own, "next_followed")
	if r.kernel {
		m.hereTID, m.herePID, m.hereName = here("tid"), here("pid"), here("procname")
		m.cpu = here("cpu_id")
		if m.cpu < 0 {
			m.cpu = place(c, "cpu_id")
		}
		m.wide = m.cpu < 0
		r.ofKernel(&m, c.Name, names)
		return m
	}
	m.cpu, m.hereTID, m.herePID, m.hereName = here("cpu_id"), here("vtid"), here("vpid"), here("procname")
	m.what = userHappens
	if stem, begin, paired := partner(c.Name, names); paired {
		m.what, m.kind, m.name = userEnds, r.kindOf(stem), stem
		if begin {
			m.what = userBegins
		}
		if strings.HasPrefix(stem, "lttng_ust_cyg_profile") && m.number >= 0 {
			m.label = addressed
		}
	}
	return m
}

// ofKernel fills in what an event of a kernel's means.
func (r *rows) ofKernel(m *meaning, name string, names map[string]bool) {
	m.what = happens
	switch name {
	case "sched_switch":
		m.what, m.kind, m.name, m.category = switches, r.runs, "running", "sched"
		if m.tid < 0 || m.prevTID < 0 {
			m.what = happens
		}
		return
	case "sched_wakeup", "sched_waking", "sched_wakeup_new", "sched_ttwu", "sched_migrate_task":
		m.what = wakes
		return
	case "sched_process_fork":
		m.what = forks
		return
	case "sched_process_exec":
		m.what = execs
		return
	case "sched_process_exit":
		m.what = exits
		return
	case "sched_process_free":
		m.what = frees
		return
	case "lttng_statedump_process_state":
		m.what = states
		return
	}
	if strings.HasPrefix(name, "lttng_statedump_") {
		m.what = dumps
		return
	}
	if call, begin, ok := callOf(name, names); ok {
		m.what, m.kind, m.name, m.category = returns, r.kindOf("system call"), call, "syscall"
		if begin {
			m.what = calls
		}
		return
	}
	stem, begin, paired := partner(name, names)
	if inInterrupt(stem) && (paired || strings.HasSuffix(name, "_entry") || strings.HasSuffix(name, "_exit")) {
		m.what, m.kind, m.name, m.category = resumes, r.kindOf(stem), strings.TrimPrefix(stem, "x86_irq_vectors_"), "interrupt"
		if strings.HasSuffix(name, "_entry") {
			m.what = interrupts
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
		m.what, m.kind, m.name = ends, r.kindOf(stem), stem
		if begin {
			m.what = begins
		}
	case m.device >= 0 && ofDevice(name):
		m.what = onDevice
	}
}

// kindOf numbers the kinds of slices.
func (r *rows) kindOf(name string) int {
	n, ok := r.kinds[name]
	if !ok {
		n = len(r.kinds)
		r.kinds[name] = n
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

// inInterrupt reports whether what begins with stem_entry runs on top of whatever thread the processor had.
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

// ofDevice reports whether the event is one of a network interface, which its field names.
func ofDevice(name string) bool {
	return strings.HasPrefix(name, "net_") || strings.HasPrefix(name, "netif_") || strings.HasPrefix(name, "napi_")
}

// endings are how names of events that begin and end something differ.
var endings = []struct{ begin, end string }{
	{"_entry", "_exit"}, {"_enter", "_exit"}, {"_begin", "_end"}, {"_start", "_end"}, {"_start", "_stop"}, {"_start", "_done"},
	{":begin", ":end"}, {":entry", ":exit"}, {":enter", ":exit"}, {":start", ":end"}, {":start", ":stop"},
}

// partner returns what is common to the names of two classes of which this is one, and which: the one that begins
// something or the one that ends it. It takes both classes.
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
