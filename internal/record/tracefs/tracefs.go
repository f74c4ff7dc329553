// Package tracefs records the events of this machine's kernel by ftrace, where eBPF is not permitted.
//
// In go the options of record/kernel. Out come its events: the same classes, names and fields, stamps of CLOCK_MONOTONIC,
// so that all that follows takes either. What ftrace does not know stays empty: packets come with buffer, length and device,
// but without headers and network namespace, and cannot be matched; whoever wants messages captures packets beside it
// (record/packet). System calls of 32-bit programs go by the names of the 64-bit numbers.
//
// The idea: ftrace writes events in binary into a ring buffer of each processor and describes them as text. An instance
// of its own (instances/meridian-*) keeps the recorder apart from all else that is traced. The descriptions become places
// in the record, once; then pages are read whole, taken apart in place, and merged by their stamps:
//
//	events/*/*/format  --> layouts: field -> offset, size, sign
//	per_cpu/cpu0/trace_pipe_raw --> page --.
//	per_cpu/cpu1/trace_pipe_raw --> page --+--> merge, up to 20 ms ago --> what is known of threads --> Event
//	            | no room                  '
//	            '--> per_cpu/cpuN/stats --------> Lost
//
// Where only some processes are recorded, the kernel chooses (set_event_pid, and event-fork for their children). Its
// choice holds for a whole instance, so a second one has what is recorded of all: packets, interrupts, and the last
// switch of threads that end, which the kernel no longer takes for chosen. Merging by time over all processors
// lets the reader know a thread's process and name, which few events tell, whenever it meets it.
//
// An instance is removed at Close. One that a killed recorder left is removed by the next that opens. Where tracefs is not
// mounted, it is mounted for this process alone, in no directory, and goes with it.
//
// Cost: some 0.3 us of the recorded machine's time for an event, 0.1 us of the reader's, and 1% of a core while nothing
// happens. No event allocates. Memory is that of the rings, twice where some processes are recorded. What was lost is
// counted by the kernel; switches that must have been and were not told, as some kernels do for processors at rest, are
// counted by the reader and warned of.
//
// It needs Linux 5.2 with event tracing, on a little-endian machine of 64 bits, and root; [Unavailable] says which of
// these is missing. Sources: the kernel's Documentation/trace/ftrace.rst, events.rst and ring-buffer-design.rst.
package tracefs

import (
	"fmt"

	"meridian/internal/record/kernel"
)

// Options says what is recorded. Of those of record/kernel, ftrace has no Cgroup; programs named by Command that start
// later are followed from some 50 ms after their start; and with NetNS no packets are recorded, since they do not
// say of which namespace they are.
type Options = kernel.Options

// Unavailable is the error of [Open] where the machine is to blame and not the options: the caller may do without. It is
// a [kernel.Unavailable] too.
type Unavailable struct {
	Reason  kernel.Reason
	Missing string // and what to do
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
