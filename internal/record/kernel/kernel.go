// Package kernel records the events of this machine's kernel by eBPF.
//
// In go [Options]: which groups of events, and of which processes. Out come events as room kernel understands them, named
// and typed as LTTng's kernel modules would: stamp, processor, class, values.
//
//	net       net_dev_queue, netif_receive_skb: every packet with its IP, TCP, UDP or ICMP header, the address of its
//	          buffer, its device and network namespace
//	sched     sched_switch, sched_waking, sched_wakeup, sched_wakeup_new, sched_process_fork, _exec, _exit, _free
//	irq       irq_handler_entry/exit, irq_softirq_entry/exit (NET_RX and NET_TX alone), napi_poll
//	syscalls  syscall_entry_NAME, syscall_exit_NAME, with their arguments as numbers
//	sockets   tcp_sendmsg, tcp_recvmsg: which thread wrote or read which bytes of which TCP connection
//	disk      block_rq_issue, block_rq_complete: which device was asked for how many bytes, by which thread, and when it had done it
//
// The idea: a small program at each of the kernel's tracepoints (tp_btf: raw, with typed arguments) decides there whether
// the event is wanted, and writes a record of 16 to 360 bytes into a ring of its processor. Read polls the rings, puts
// the records of each processor in the order of their stamps, and makes values of them.
//
//	CPU 0: tracepoint --> program --> BPF ring buffer 0 --.        bpf/*.c, compiled ahead into kernel.bpf.o;
//	CPU 1: tracepoint --> program --> BPF ring buffer 1 --+--> Read   places of the kernel's fields are found at load (CO-RE)
//	                         | no room                    '
//	                         '--> lost, counted per CPU --------> Lost
//	            '--> perf counter - runs of the program = missed --> Lost, Missed (audit_linux.go)
//
// sched, syscalls and sockets can be restricted to processes by number, by cgroup and by name; their children are followed. This is
// decided in the kernel: an event of another process costs a look into a hash table. A switch is recorded if either side
// is followed, and says which (prev_followed, next_followed): the other one's end is not. Where a followed thread waits for a processor, the
// switches between others there are recorded too, of which neither is followed. Stamps are CLOCK_MONOTONIC.
//
// sockets are recorded at the tracepoints sock_send_length and sock_recv_length, or, before Linux 6.3, at the ends of tcp_sendmsg and
// tcp_recvmsg (fexit); [Recorder.Lacks] says where there is neither. sendfile and splice from a connection are not recorded before 6.5.
//
// Cost: 0.15 to 0.35 us of the recorded machine's time for an event (packets cost most), and 0.15 us for counting it once more;
// 0.15 to 0.2 us of the reader's: 2% of a core for 150,000 events a second. No event allocates. Memory is that of the rings.
//
// It needs Linux 5.11 with BTF (/sys/kernel/btf/vmlinux), a little-endian machine of 64 bits, and root or CAP_BPF with
// CAP_PERFMON; [Unavailable] says which of these is missing. Packets whose headers are not in the linear part of the
// buffer come without them; so do transport headers behind extension headers of IPv6. Sources: the kernel's
// Documentation/bpf/ringbuf.rst and include/trace/events; lttng-modules for names and fields.
package kernel

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"meridian/trace"
)

// Groups are the groups of events that are recorded.
type Groups uint8

const (
	Net Groups = 1 << iota
	Sched
	IRQ
	Syscalls
	Sockets
	Disk
)

// ofProcesses are the groups that can be restricted to processes.
const ofProcesses = Sched | Syscalls | Sockets

var groupNames = [...]string{"net", "sched", "irq", "syscalls", "sockets", "disk"}

// ParseGroups reads names of groups, "net,sched,irq,syscalls"; "" is none.
func ParseGroups(s string) (Groups, error) {
	var g Groups
next:
	for name := range strings.SplitSeq(s, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		for i, known := range groupNames {
			if name == known {
				g |= 1 << i
				continue next
			}
		}
		return 0, fmt.Errorf("unknown kernel events %q (%s)", name, strings.Join(groupNames[:], ", "))
	}
	return g, nil
}

func (g Groups) String() string {
	var names []string
	for i, name := range groupNames {
		if g&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// Options says what is recorded. Without Pids, Cgroup, Command and OnlyFollowed, sched and syscalls are those of all
// processes; with several of these, of the processes that any of them names, and of the children of those named by Pids,
// Command and [Recorder.Follow]. System calls of the recorder itself are always left out.
type Options struct {
	Groups       Groups
	Pids         []int  // processes and their children, those there are and those to come; numbers of the first PID namespace
	Cgroup       string // a directory of cgroup v2, and all below it
	Command      string // the name of a program as in /proc/PID/comm, at most 15 bytes; its beginning if it ends in *
	OnlyFollowed bool   // though none is named yet: Follow names them
	Packets      Packets
	NetNS        uint32 // the inode of a network namespace, whose packets alone are recorded; 0 for all
	BufferSize   int    // bytes of each processor's ring, rounded up to a power of two; 0 stands for 4 MiB
	// Pause is the longest time between two readings of the rings, and so what Read adds to the age of an event; 0 stands for
	// 20 ms. A recording by tracefs adds 20 to 50 ms in any case.
	Pause time.Duration

	byFunctions bool // sockets are recorded as on kernels without their tracepoints
	maxFollowed int  // processes at a time; 0 stands for what the programs say
}

// Read pauses between its rounds over the rings, longer while they are nearly empty: a wakeup costs more than a hundred
// events. At a million events a second on one processor, 2 MB gather in the longest pause.
const (
	minPause = time.Millisecond
	maxPause = 20 * time.Millisecond
)

// pause returns the longest pause.
func (o *Options) pause() time.Duration {
	if o.Pause <= 0 {
		return maxPause
	}
	return min(max(o.Pause, minPause), maxPause)
}

// Packets selects packets of [Net] by their headers: from the beginning of the IP header, 20 or 40 bytes, and of the transport
// header, 20 bytes, each empty where the kernel's event does not have it. Read calls it; the headers are valid until it returns.
// Nil selects all.
type Packets func(outgoing bool, network, transport []byte) bool

// filtered says whether only some processes are recorded.
func (o *Options) filtered() bool {
	return len(o.Pids) > 0 || o.Cgroup != "" || o.Command != "" || o.OnlyFollowed
}

// Event is one of the kernel's events. It is used again for the next.
type Event struct {
	Stamp  uint64 // ns of CLOCK_MONOTONIC
	CPU    int    // on which it happened
	Class  int    // index into Classes
	Values []trace.Value
}

// Reason says why kernel events cannot be recorded here.
type Reason uint8

const (
	NotSupported Reason = iota // another system, or a kernel that is too old
	NotPermitted
	NoBTF // the kernel was built without the description of its types
)

func (r Reason) String() string {
	switch r {
	case NotPermitted:
		return "not permitted: run as root, or with CAP_BPF and CAP_PERFMON"
	case NoBTF:
		return "this kernel does not describe its types: it was built without CONFIG_DEBUG_INFO_BTF"
	}
	return "this system does not have it: Linux 5.11 or later is needed, on a little-endian machine of 64 bits"
}

// Unavailable is the error of [Open] where the machine is to blame and not the options: the caller may do without.
type Unavailable struct {
	Reason Reason
	Err    error
	Cause  string // of NotPermitted: who refuses it, and what to do; "" says what the reason says
}

func (u *Unavailable) Error() string {
	if u.Cause != "" {
		return "kernel events by eBPF: " + u.Cause
	}
	if u.Err == nil || u.Reason != NotSupported { // the others say all there is
		return "kernel events by eBPF: " + u.Reason.String()
	}
	return fmt.Sprintf("kernel events by eBPF: %s (%v)", u.Reason, u.Err)
}

func (u *Unavailable) Unwrap() error { return u.Err }

// SupportedMachine reports whether this machine's records can be read: it is little-endian and has 64 bits.
func SupportedMachine() bool {
	return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 && strconv.IntSize == 64
}

// Fault is a way in which events were not recorded as they happened, and how often that was.
type Fault struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
}

// The faults of every recorder of kernel events.
const (
	LateStamps     = "stamps were raised to those before them"
	DamagedRecords = "invalid records in a ring buffer were left out"
	NotFollowed    = "processes were not followed: too many at a time"
)

// Happened returns the faults that there were.
func Happened(faults ...Fault) []Fault {
	return slices.DeleteFunc(faults, func(f Fault) bool { return f.Count <= 0 })
}

// ReportFaults warns of those that happened.
func ReportFaults(w *trace.Warnings, subject string, faults ...Fault) {
	for _, f := range faults {
		if f.Count > 0 {
			w.AddN(subject, f.Kind, "", f.Count)
		}
	}
}
