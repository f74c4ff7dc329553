package kernel

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"

	"meridian/internal/record/internal/proc"
	"meridian/trace"
)

//go:embed kernel.bpf.o
var object []byte

// programs are the tracepoints, which are the names of their programs, in the order in which they are attached. What ends
// something comes before what begins it, and Stop goes the other way: so nothing begins of which the end is not seen.
var programs = []struct {
	groups Groups
	names  []string
}{
	{Sched, []string{"sched_process_exit", "sched_switch", "sched_wakeup_new", "sched_wakeup", "sched_waking"}},
	{IRQ, []string{"irq_handler_exit", "irq_handler_entry", "softirq_exit", "softirq_entry", "napi_poll"}},
	{Net, []string{"netif_receive_skb", "net_dev_queue"}},
	{Syscalls, []string{"sys_exit", "sys_enter"}},
}

// followers are the programs that follow children; with [Sched] they write events too.
var followers = []string{"sched_process_free", "sched_process_exec", "sched_process_fork"}

// Recorder is a recording of kernel events from [Open] to Close. Read is for one goroutine, the rest for any.
type Recorder struct {
	options  Options
	name     pattern
	warnings *trace.Warnings
	decoder  *decoder
	lanes    []*lane
	programs *ebpf.Collection
	links    []link.Link
	detach   sync.Once
	stopped  chan struct{}
	stopErr  error
	damaged  int64
}

// lane is the ring of a processor.
type lane struct {
	cpu    int
	ring   *ebpf.Map
	reader *ringbuf.Reader
	queue  queue
}

// Open loads the programs and attaches them: from its return on, events are recorded. W is told at Close what was not
// kept, and may be nil. An error is an [Unavailable] where this machine cannot record kernel events at all.
func Open(o Options, w *trace.Warnings) (*Recorder, error) {
	r := &Recorder{options: o, warnings: w, decoder: newDecoder(o.Groups, o.filtered()), stopped: make(chan struct{})}
	if err := r.open(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Recorder) open() error {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 || strconv.IntSize != 64 {
		return &Unavailable{Reason: NotSupported}
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return fmt.Errorf("kernel events: the programs of this build are damaged: %w", err)
	}
	if err := r.set(spec); err != nil {
		return err
	}
	attached := r.attached()
	for name := range spec.Programs {
		if !slices.Contains(attached, name) {
			delete(spec.Programs, name)
		}
	}
	size := ringSize(r.options.BufferSize)
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("kernel events: number of processors: %w", err)
	}
	rings := spec.Maps["rings"]
	rings.MaxEntries, rings.InnerMap.MaxEntries = uint32(cpus), uint32(size)
	inner := rings.InnerMap.Copy()
	if r.programs, err = ebpf.NewCollection(spec); err != nil {
		return unavailable(err)
	}
	if err := r.openRings(inner, cpus); err != nil {
		return err
	}
	for _, name := range attached {
		l, err := link.AttachTracing(link.TracingOptions{Program: r.programs.Programs[name]})
		if err != nil {
			return unavailable(fmt.Errorf("tracepoint %s: %w", name, err))
		}
		r.links = append(r.links, l)
	}
	// Now that the children of whatever is found are followed, those that are there can be looked for.
	return r.followPresent()
}

// attached returns the programs that these options need, in the order in which they are attached.
func (r *Recorder) attached() []string {
	o := &r.options
	var names []string
	if o.Groups&Sched != 0 || o.Groups&Syscalls != 0 && o.filtered() {
		names = append(names, followers...)
	}
	for i := range programs {
		if o.Groups&programs[i].groups != 0 {
			names = append(names, programs[i].names...)
		}
	}
	return names
}

// set gives the programs their constants.
func (r *Recorder) set(spec *ebpf.CollectionSpec) error {
	o := &r.options
	var err error
	if r.name, err = patternOf(o.Command); err != nil {
		return err
	}
	var cgroup uint64
	if o.Cgroup != "" {
		if cgroup, err = cgroupID(o.Cgroup); err != nil {
			return err
		}
	}
	for name, value := range map[string]any{
		"only_followed": bit(o.filtered()), "only_cgroup": cgroup, "only_netns": o.NetNS, "tell_sched": bit(o.Groups&Sched != 0),
		"own_process": uint32(os.Getpid()), "comm_mask": r.name.mask, "comm_want": r.name.want,
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("kernel events: constant %s: %w", name, err)
		}
	}
	return nil
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// ringSize returns the size of a ring: a power of two and whole pages.
func ringSize(wished int) int {
	if wished <= 0 {
		return 4 << 20
	}
	size := os.Getpagesize()
	for size < wished && size < 1<<30 {
		size *= 2
	}
	return size
}

// openRings makes a ring for every processor that is there. Events of one that comes later are counted as lost.
func (r *Recorder) openRings(inner *ebpf.MapSpec, possible int) error {
	online, err := proc.OnlineCPUs()
	if err != nil {
		return err
	}
	for _, cpu := range online {
		if cpu >= possible {
			continue
		}
		l := &lane{cpu: cpu}
		r.lanes = append(r.lanes, l)
		if l.ring, err = ebpf.NewMap(inner); err != nil {
			return fmt.Errorf("kernel events: ring of %d bytes for processor %d: %w", inner.MaxEntries, cpu, err)
		}
		if err := r.programs.Maps["rings"].Put(uint32(cpu), l.ring); err != nil {
			return unavailable(fmt.Errorf("ring of processor %d: %w", cpu, err))
		}
		if l.reader, err = ringbuf.NewReader(l.ring); err != nil {
			return fmt.Errorf("kernel events: ring of processor %d: %w", cpu, err)
		}
		l.reader.SetDeadline(long) // it never waits: Read looks first whether there is something
	}
	return nil
}

// unavailable says what about this machine keeps programs from being loaded.
func unavailable(err error) error {
	u := &Unavailable{Reason: NotSupported, Err: err}
	if errors.Is(err, fs.ErrPermission) {
		u.Reason = NotPermitted
	} else if _, missing := os.Stat("/sys/kernel/btf/vmlinux"); missing != nil {
		u.Reason = NoBTF
	}
	return u
}
