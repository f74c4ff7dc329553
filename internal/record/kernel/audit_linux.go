package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"meridian/clock"
	"meridian/internal/record/internal/proc"
	"meridian/internal/record/internal/tracing"
)

// audit counts the tracepoints by perf, apart from the programs, which compare that count with the number of their own runs
// (bpf/audit.h). The difference is events for which the kernel ran no program, which its own counts of misses may lack: while a
// process is current that it hides from tracers, neither eBPF programs run nor perf samples are written. perf still counts.
//
//	Open: perf_event_open --> programs attached --> counters enabled       so no event is counted and not run before
//	      tracepoint --> perf's probe: count + 1
//	                 --> program:      runs + 1, missed = count - runs     once a jiffy, and until the difference is stable
//	Lost: missed of each processor, if two readings have it
//	Stop: count and runs of the end --> detached                          a loss behind the last run is found here
//
// The difference can also fall: perf counts no event that interrupts perf's own work in the same context. What it falls by
// between two readings hides as many missed events. No packet was ever found to be among these.
//
// Cost: 0.15 us of the recorded machine's time for an event, which is perf's.
type audit struct {
	mu       sync.Mutex
	tallies  []*tally
	counts   *ebpf.Map // audits of bpf/audit.h; nil until the programs are loaded
	missed   []uint64  // by processor
	readAt   time.Time
	finished bool
	stalled  []int // processors whose counters did not count all the time
}

// tally is the audit of a tracepoint.
type tally struct {
	program  string
	kind     Kind
	counters []counter
	total    uint64  // missed on all processors
	last     []int64 // by processor: missed as far as it is in the total
	previous []int64 // by processor: missed in the reading before
}

// counter is perf's counter of a tracepoint on a processor. It counts since an instant of CLOCK_MONOTONIC, ns, or shortly before.
type counter struct {
	fd, cpu int
	since   uint64
}

// minReadInterval is the least time between two readings that are held against each other. A difference that lasts only while
// an interrupt is handled is not in both.
const minReadInterval = 10 * time.Millisecond

// auditEvents are the names of the programs' tracepoints in tracefs, without the programs' own, and their kinds.
var auditEvents = map[string]struct {
	system string
	kind   Kind
	filter string // the programs' condition, in perf's language
}{
	"net_dev_queue": {"net", NetDevQueue, ""}, "netif_receive_skb": {"net", NetifReceive, ""}, "napi_poll": {"napi", NapiPoll, ""},
	"softirq_entry": {"irq", SoftirqEntry, networkVectors}, "softirq_exit": {"irq", SoftirqExit, networkVectors},
	"irq_handler_entry": {"irq", IRQEntry, ""}, "irq_handler_exit": {"irq", IRQExit, ""},
	"sched_switch": {"sched", SchedSwitch, ""}, "sched_waking": {"sched", SchedWaking, ""}, "sched_wakeup": {"sched", SchedWakeup, ""},
	"sched_wakeup_new": {"sched", SchedWakeupNew, ""}, "sched_process_fork": {"sched", ProcessFork, ""},
	"sched_process_exec": {"sched", ProcessExec, ""}, "sched_process_exit": {"sched", ProcessExit, ""},
	"sched_process_free": {"sched", ProcessFree, ""}, "sys_enter": {"raw_syscalls", SysEnter, ""}, "sys_exit": {"raw_syscalls", SysExit, ""},
	"sock_send_length": {"sock", TCPSend, ""}, "sock_recv_length": {"sock", TCPReceive, ""},
	"block_rq_issue": {"block", BlockIssue, ""}, "block_rq_complete": {"block", BlockComplete, ""},
}

// audited returns those of the programs whose tracepoints perf counts. Where only some processes are recorded, an event of
// theirs happens while they are current: then either a program runs or the kernel hides the process altogether. Wake-ups and
// the end of a process happen while any other one is current; of wake-ups the programs themselves know (bpf/sched.h).
func (o *Options) audited(programs []string) []string {
	return slices.DeleteFunc(slices.Clone(programs), func(name string) bool {
		event, known := auditEvents[name]
		return !known || o.filtered() && event.kind.Group()&ofProcesses != 0 && name != "sched_process_free"
	})
}

const networkVectors = "vec==2||vec==3" // NET_TX, NET_RX

// openAudit opens perf's counters of the programs' tracepoints, which do not count yet. It must be called before the programs
// are attached. On an error it leaves nothing open.
func openAudit(programs []string) (a *audit, err error) {
	a = &audit{}
	defer func() {
		if err != nil {
			a.close()
			a = nil
		}
	}()
	mount, err := tracing.Find()
	if err != nil {
		return a, err
	}
	defer mount.Close()
	online, err := proc.OnlineCPUs()
	if err != nil {
		return a, err
	}
	for _, program := range programs {
		event := auditEvents[program]
		id, err := mount.TracepointID(event.system + "/" + program)
		if err != nil {
			return a, fmt.Errorf("number of tracepoint %s: %w", program, err)
		}
		t := &tally{program: program, kind: event.kind}
		a.tallies = append(a.tallies, t)
		for _, cpu := range online {
			fd, err := openCounter(id, cpu, event.filter)
			if err != nil {
				return a, fmt.Errorf("perf counter of tracepoint %s on processor %d: %w", program, cpu, err)
			}
			t.counters = append(t.counters, counter{fd: fd, cpu: cpu})
		}
	}
	return a, nil
}

func openCounter(id uint64, cpu int, filter string) (int, error) {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id, Size: unix.PERF_ATTR_SIZE_VER5, Bits: unix.PerfBitDisabled,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_RUNNING}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil || filter == "" {
		return fd, err
	}
	if err := unix.IoctlSetString(fd, unix.PERF_EVENT_IOC_SET_FILTER, filter); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// give hands the counters to the programs. Those of programs that could not be loaded are closed.
func (a *audit) give(programs *ebpf.Collection) error {
	a.counts = programs.Maps["audits"]
	a.tallies = slices.DeleteFunc(a.tallies, func(t *tally) bool {
		if programs.Programs[t.program] != nil {
			return false
		}
		for _, c := range t.counters {
			unix.Close(c.fd)
		}
		return true
	})
	for _, t := range a.tallies {
		table := programs.Maps["count_"+t.program]
		for _, c := range t.counters {
			if err := table.Put(uint32(c.cpu), uint32(c.fd)); err != nil {
				return fmt.Errorf("kernel events: perf counter of tracepoint %s on processor %d: %w", t.program, c.cpu, err)
			}
		}
	}
	return nil
}

// enable begins the count. The programs are attached by now: what is counted from here on, one of them is run for.
func (a *audit) enable() error {
	for _, t := range a.tallies {
		for i := range t.counters {
			c := &t.counters[i]
			if err := unix.IoctlSetInt(c.fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
				return fmt.Errorf("kernel events: enabling the perf counter of tracepoint %s on processor %d: %w", t.program, c.cpu, err)
			}
			c.since = clock.Monotonic.Now()
		}
	}
	return nil
}

// tallied is struct audit of bpf/audit.h.
type tallied struct {
	Runs, Checked  uint64
	Missed         int64
	Raised, Failed uint32
}

// of returns what a tracepoint's program has counted, by processor.
func (a *audit) of(t *tally) ([]tallied, error) {
	var perCPU []tallied
	if err := a.counts.Lookup(uint32(t.kind), &perCPU); err != nil {
		return nil, fmt.Errorf("kernel events: counts of tracepoint %s: %w", t.program, err)
	}
	return perCPU, nil
}

// take adds to missed what a tracepoint misses on each processor more than it did. A difference that falls is perf's own miss
// and makes nothing good.
func (a *audit) take(t *tally, missed []int64) {
	if a.missed == nil {
		a.missed = make([]uint64, len(missed))
	}
	if t.last == nil {
		t.last = make([]int64, len(missed))
	}
	for cpu, now := range missed {
		if now > t.last[cpu] {
			a.missed[cpu] += uint64(now - t.last[cpu])
			t.total += uint64(now - t.last[cpu])
		}
		t.last[cpu] = now
	}
}

// read brings missed up to date, unless the last reading was just before. A difference counts when two readings have it.
func (a *audit) read() error {
	if a.finished || time.Since(a.readAt) < minReadInterval {
		return nil
	}
	a.readAt = time.Now()
	for _, t := range a.tallies {
		perCPU, err := a.of(t)
		if err != nil {
			return err
		}
		now, both := make([]int64, len(perCPU)), make([]int64, len(perCPU))
		for cpu := range perCPU {
			now[cpu] = perCPU[cpu].Missed
			if t.previous != nil {
				both[cpu] = min(now[cpu], t.previous[cpu])
			}
		}
		if t.previous != nil {
			a.take(t, both)
		}
		t.previous = now
	}
	return nil
}

// finish brings missed up to date at the end, while the programs still run. Nothing may follow the last missed event on its
// processor; so perf's counts are read here as well. Runs that are read behind the count may be too many for it, never too
// few, but for an event that the reading interrupted between perf's probe and the program's; the least of some readings
// is without that one.
func (a *audit) finish() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.finished || a.counts == nil {
		return nil
	}
	a.finished = true
	least := make([][]int64, len(a.tallies))
	for try := range 3 {
		if try > 0 {
			time.Sleep(200 * time.Microsecond)
		}
		for i, t := range a.tallies {
			missed, err := a.final(t)
			if err != nil {
				return err
			}
			for cpu := range missed {
				if try > 0 {
					missed[cpu] = min(missed[cpu], least[i][cpu])
				}
			}
			least[i] = missed
		}
	}
	for i, t := range a.tallies {
		a.take(t, least[i])
	}
	return nil
}

// final returns what a tracepoint misses on each processor, by perf's count now or by the program's last comparison, whichever
// is more.
func (a *audit) final(t *tally) ([]int64, error) {
	counts := make(map[int]uint64)
	for _, c := range t.counters {
		// The instants lie within the time that is counted, however long this thread had to wait for a processor.
		elapsed := clock.Monotonic.Now() - c.since
		n, running, err := c.read()
		if err != nil {
			return nil, fmt.Errorf("kernel events: perf counter of tracepoint %s on processor %d: %w", t.program, c.cpu, err)
		}
		counts[c.cpu] = n
		if running+elapsed/100+uint64(100*time.Millisecond) < elapsed {
			a.stall(c.cpu)
		}
	}
	perCPU, err := a.of(t)
	if err != nil {
		return nil, err
	}
	missed := make([]int64, len(perCPU))
	for cpu, p := range perCPU {
		missed[cpu] = p.Missed
		if n := counts[cpu]; n > 0 {
			missed[cpu] = max(missed[cpu], int64(n-p.Runs))
		}
		if p.Failed != 0 {
			a.stall(cpu)
		}
	}
	return missed, nil
}

// read returns the count, and for how many ns it was kept.
func (c counter) read() (n, running uint64, err error) {
	var b [16]byte
	got, err := unix.Read(c.fd, b[:])
	if err == nil && got < len(b) { // of an event that is in an error state
		return 0, 0, nil
	}
	return binary.NativeEndian.Uint64(b[:]), binary.NativeEndian.Uint64(b[8:]), err
}

// stall notes a processor that was not audited all the time.
func (a *audit) stall(cpu int) {
	if !slices.Contains(a.stalled, cpu) {
		a.stalled = append(a.stalled, cpu)
	}
}

// count returns how many events each processor missed, and each program.
func (a *audit) count() (byCPU []uint64, byProgram map[string]uint64, err error) {
	if a == nil {
		return nil, nil, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	err = a.read()
	byProgram = make(map[string]uint64, len(a.tallies))
	for _, t := range a.tallies {
		byProgram[t.program] = t.total
	}
	return slices.Clone(a.missed), byProgram, err
}

func (a *audit) close() error {
	var errs []error
	for _, t := range a.tallies {
		for _, c := range t.counters {
			errs = append(errs, unix.Close(c.fd))
		}
	}
	a.tallies, a.finished = nil, true
	return errors.Join(errs...)
}
