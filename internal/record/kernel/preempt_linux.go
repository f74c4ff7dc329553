package kernel

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

const (
	counterType    = 0x4d65726964696131 // COUNTER_TYPE of bpf/sched.h
	pseudoTypeID   = 3                  // BPF_PSEUDO_BTF_ID: the instruction loads the address of a variable of this kernel
	preemptCounter = "__preempt_count"  // a variable of its own before Linux 6.2, and since 6.15
	hotVariables   = "pcpu_hot"         // a structure that has it between
)

// contextSource is how the program of sched_waking learns in which context it is.
type contextSource uint8

const (
	byCounter contextSource = iota // the kernel's preemption counter
	byDepth                        // depthPrograms
	noContext
)

// depthPrograms count how deep in interrupts a processor is, in the order in which they are attached.
var depthPrograms = []string{"depth_softirq_exit", "depth_softirq_entry", "depth_irq_handler_exit", "depth_irq_handler_entry", "depth_local_timer_exit", "depth_local_timer_entry"}

func (s contextSource) prepare(spec *ebpf.CollectionSpec) error {
	switch s {
	case byCounter:
		return placeCounter(spec)
	case byDepth:
		if err := spec.Variables["depth_known"].Set(uint32(1)); err != nil {
			return fmt.Errorf("kernel events: constant depth_known: %w", err)
		}
	}
	return nil
}

// placeCounter tells the program of sched_waking where this kernel's preemption counter is. Kernels that have it in no variable, as
// those for arm64, have it in the current thread.
func placeCounter(spec *ebpf.CollectionSpec) error {
	types, err := btf.LoadKernelSpec()
	if err != nil {
		return nil // load says why
	}
	id, offset, known := counterOf(types)
	if !known {
		return nil
	}
	for name, value := range map[string]uint32{"preempt_known": 1, "preempt_offset": offset} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("kernel events: constant %s: %w", name, err)
		}
	}
	list := spec.Programs["sched_waking"].Instructions
	for i := range list {
		if x := &list[i]; x.OpCode == asm.LoadImmOp(asm.DWord) && x.Src == 0 && x.Constant == counterType {
			x.Src, x.Constant = pseudoTypeID, int64(id)
		}
	}
	return nil
}

// counterOf finds the variable that holds the preemption counter, and how far behind its begin.
func counterOf(types *btf.Spec) (id btf.TypeID, offset uint32, known bool) {
	var v *btf.Var
	if types.TypeByName(preemptCounter, &v) == nil {
		id, err := types.TypeID(v)
		return id, 0, err == nil
	}
	if types.TypeByName(hotVariables, &v) != nil {
		return 0, 0, false
	}
	at, found := memberAt(v.Type, "preempt_count")
	id, err := types.TypeID(v)
	return id, at, found && err == nil
}

// memberAt finds a member of a structure, also within ones without a name, in bytes.
func memberAt(t btf.Type, name string) (offset uint32, found bool) {
	var members []btf.Member
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Struct:
		members = t.Members
	case *btf.Union:
		members = t.Members
	}
	for _, m := range members {
		if m.Name == name {
			return m.Offset.Bytes(), true
		}
		if m.Name == "" {
			if at, found := memberAt(m.Type, name); found {
				return m.Offset.Bytes() + at, true
			}
		}
	}
	return 0, false
}
