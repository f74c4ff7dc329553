package kernel

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

//go:embed kernel.bpf.o
var object []byte

// tracepoints are the programs, named after the tracepoint of each, in the order in which they are attached. The end of
// something is attached before its beginning, and Stop detaches in the opposite order: so no beginning lacks its end.
var tracepoints = []struct {
	groups Groups
	names  []string
}{
	{Sched, []string{"sched_process_exit", "sched_switch", "sched_wakeup_new", "sched_wakeup", "sched_waking"}},
	{IRQ, []string{"irq_handler_exit", "irq_handler_entry", "softirq_exit", "softirq_entry", "napi_poll"}},
	{Net, []string{"netif_receive_skb", "net_dev_queue"}},
	{Syscalls, []string{"sys_exit", "sys_enter"}},
	{Disk, []string{"block_rq_complete", "block_rq_issue"}},
}

// childTracepoints follow children; with [Sched] they record events too.
var childTracepoints = []string{"sched_process_free", "sched_process_exec", "sched_process_fork"}

// migrations is the program that follows threads from one processor's queue to another's. It writes no records.
const migrations = "sched_migrate_task"

// programs returns the names of the programs that these options need, in the order in which they are attached: those of sockets too, by
// their names on this kernel.
func (o *Options) programs(sockets []string) []string {
	var names []string
	if o.Groups&Sched != 0 || o.Groups&ofProcesses != 0 && o.filtered() {
		names = append(names, childTracepoints...)
	}
	if o.Groups&Sched != 0 && o.filtered() {
		names = append(names, migrations)
	}
	if o.Groups&Sockets != 0 {
		names = append(names, sockets...)
	}
	for i := range tracepoints {
		if o.Groups&tracepoints[i].groups != 0 {
			names = append(names, tracepoints[i].names...)
		}
	}
	return names
}

// constants returns the values of the programs' constants, by name.
func (o *Options) constants() (map[string]any, error) {
	mask, want, err := commPattern(o.Command)
	if err != nil {
		return nil, err
	}
	var cgroup uint64
	if o.Cgroup != "" {
		if cgroup, err = cgroupID(o.Cgroup); err != nil {
			return nil, err
		}
	}
	return map[string]any{
		"only_followed": bit(o.filtered()), "only_cgroup": cgroup, "only_netns": o.NetNS, "tell_sched": bit(o.Groups&Sched != 0),
		"own_process": uint32(os.Getpid()), "comm_mask": mask, "comm_want": want,
	}, nil
}

// ofKernel adds the constants that depend on the kernel's types, and returns the programs of sockets with why there are none.
func (o *Options) ofKernel(constants map[string]any) (sockets []string, without error) {
	types, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, err // load says why
	}
	// sched_switch says in which state a thread was left from 5.18 on; block_rq_issue has had the request alone since 5.12.
	constants["state_given"] = bit(len(tracepointOf(types, "sched_switch")) == 5)
	constants["queue_given"] = bit(len(tracepointOf(types, "block_rq_issue")) == 3)
	if o.Groups&Sockets == 0 {
		return nil, nil
	}
	sockets, more, without := socketsBy(types, o.byFunctions)
	maps.Copy(constants, more)
	return sockets, without
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// load loads the named programs. It also returns the description of a processor's ring. Where this kernel does not say in which context
// a wake-up is, the programs that count it are loaded too, and where it has not their tracepoints, contexts are unknown.
func load(o *Options, constants map[string]any, names []string) (programs *ebpf.Collection, ring *ebpf.MapSpec, err error) {
	ways := []contextSource{noContext}
	if slices.Contains(names, "sched_waking") {
		ways = []contextSource{byCounter, byDepth, noContext}
	}
	for _, way := range ways {
		if programs, ring, err = loadWith(o, constants, names, way); err == nil || errors.Is(err, fs.ErrPermission) {
			break
		}
	}
	return programs, ring, err
}

func loadWith(o *Options, constants map[string]any, names []string, way contextSource) (*ebpf.Collection, *ebpf.MapSpec, error) {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return nil, nil, fmt.Errorf("kernel events: the eBPF programs of this build are damaged: %w", err)
	}
	for name, value := range constants {
		if err := spec.Variables[name].Set(value); err != nil {
			return nil, nil, fmt.Errorf("kernel events: constant %s: %w", name, err)
		}
	}
	if err := way.prepare(spec); err != nil {
		return nil, nil, err
	}
	if way == byDepth {
		names = append(slices.Clone(names), depthPrograms...)
	}
	maps.DeleteFunc(spec.Programs, func(name string, _ *ebpf.ProgramSpec) bool { return !slices.Contains(names, name) })
	maps.DeleteFunc(spec.Maps, func(name string, _ *ebpf.MapSpec) bool {
		of, counter := strings.CutPrefix(name, "count_")
		return counter && !slices.Contains(names, of)
	})
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, nil, fmt.Errorf("kernel events: number of processors: %w", err)
	}
	rings := spec.Maps["rings"]
	rings.MaxEntries, rings.InnerMap.MaxEntries = uint32(cpus), uint32(ringSize(o.BufferSize))
	if o.maxFollowed > 0 {
		spec.Maps["followed"].MaxEntries = uint32(o.maxFollowed)
	}
	spec.Maps["waiters"].MaxEntries = uint32(cpus)
	inner := rings.InnerMap.Copy()
	programs, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, nil, unavailable(err)
	}
	return programs, inner, nil
}

// counts is struct counts of bpf/kernel.c.
type counts struct {
	Lost, Unfollowed, Unwoken uint64
}

// countsOf returns the counts of each processor, by its number.
func countsOf(programs *ebpf.Collection) ([]counts, error) {
	var perCPU []counts
	if err := programs.Maps["counted"].Lookup(uint32(0), &perCPU); err != nil {
		return nil, fmt.Errorf("kernel events: counts of lost events: %w", err)
	}
	return perCPU, nil
}

// unavailable explains why this machine does not load the programs.
func unavailable(err error) error {
	u := &Unavailable{Reason: NotSupported, Err: err}
	if errors.Is(err, fs.ErrPermission) {
		u.Reason, u.Cause = NotPermitted, refusal(err)
	} else if _, missing := os.Stat("/sys/kernel/btf/vmlinux"); missing != nil {
		u.Reason = NoBTF
	}
	return u
}
