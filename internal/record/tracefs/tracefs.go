// Package tracefs records the events of this machine's kernel by ftrace, where eBPF is not permitted.
//
// In go the options of record/kernel. Out come the same events: classes, names, fields, and stamps of CLOCK_MONOTONIC. Fields
// that ftrace does not have stay empty: packets come with buffer, length and device, but without headers and network
// namespace. They cannot be matched to messages; record/packet captures packets that can. System calls of 32-bit programs
// get the names of the 64-bit calls with their numbers.
//
// The idea: ftrace writes binary records into a ring buffer of each processor, and describes their layout as text. The
// recorder has an ftrace instance of its own (instances/meridian-*), apart from all other tracing. It parses the layouts
// once. Then it reads whole pages, decodes them in place, and merges the processors' events by their stamps:
//
//	events/*/*/format  --> layouts: field -> offset, size, sign
//	per_cpu/cpu0/trace_pipe_raw --> page --.
//	per_cpu/cpu1/trace_pipe_raw --> page --+--> merge, up to 20 ms ago --> threads' processes and names --> Event
//	            | full                     '
//	            '--> per_cpu/cpuN/stats --------> Lost
//
// Where only some processes are recorded, the kernel selects them (set_event_pid, and event-fork for their children). That
// selection holds for a whole instance. So a second instance records what all processes have in common: packets, interrupts, and
// the last switch of threads that end, which the kernel does not follow any more. Few events tell their thread's process and
// name; merging by time over all processors lets the decoder keep track of both.
//
// Close removes the instances. Those of a killed recorder are removed by the next Open. Where tracefs is not mounted, it
// is mounted for this process alone, attached to no directory.
//
// Cost: some 0.3 us of the recorded machine's time for an event, 0.1 us of the reader's, and 1% of a core while nothing
// happens. No event allocates. Memory is that of the rings, twice where some processes are recorded. Lost events are
// counted by the kernel. Some kernels do not report every switch of an idle processor: the reader finds the gap, and counts a
// lost event.
//
// It needs Linux 5.2 with event tracing, a little-endian 64-bit machine, and root; [Unavailable] says which of these is
// missing. Sources: the kernel's Documentation/trace/ftrace.rst, events.rst and ring-buffer-design.rst.
package tracefs

import (
	"fmt"

	"meridian/internal/record/kernel"
)

// Options says what is recorded. It differs from record/kernel in three options: Cgroup is not available; a program named by
// Command that starts later is followed from some 50 ms after its start; and with NetNS no packets are recorded, since
// ftrace does not report their namespace.
type Options = kernel.Options

// Unavailable is the error of [Open] where this machine cannot record in this way, whatever the options. It wraps a
// [kernel.Unavailable].
type Unavailable struct {
	Reason  kernel.Reason
	Missing string // and the mend
	Err     error
}

func (u *Unavailable) Error() string {
	if u.Err == nil {
		return "kernel events by tracefs: " + u.Missing
	}
	return fmt.Sprintf("kernel events by tracefs: %s (%v)", u.Missing, u.Err)
}

func (u *Unavailable) Unwrap() []error {
	all := []error{&kernel.Unavailable{Reason: u.Reason, Err: u.Err}}
	if u.Err != nil {
		all = append(all, u.Err)
	}
	return all
}
