package record

import (
	"context"
	"fmt"

	bpf "meridian/internal/record/kernel"
	"meridian/internal/record/netstate"
	"meridian/trace"
)

// KernelEvents is a recording of kernel events: by eBPF (package record/kernel) or by ftrace (record/tracefs).
type KernelEvents interface {
	Classes() []trace.Class
	// Read returns when Stop was called and all earlier events were passed on.
	Read(ctx context.Context, each func(*bpf.Event) error) error
	Stop() error
	Lost() ([]uint64, error) // by processor
}

// kernelSource is a source of kernel events.
type kernelSource struct {
	recorder KernelEvents
	streams  []trace.Stream
	event    Event
}

// Kernel returns a recording of kernel events as a source. The caller closes the recording when the recorder has run.
func Kernel(r KernelEvents) (Source, error) {
	lost, err := r.Lost()
	if err != nil {
		return nil, fmt.Errorf("record: kernel: %w", err)
	}
	k := &kernelSource{recorder: r}
	for cpu := range lost {
		k.streams = append(k.streams, trace.Stream{Name: fmt.Sprintf("CPU %d", cpu), Kind: trace.CPU, ID: int64(cpu), Parent: -1})
	}
	return k, nil
}

func (k *kernelSource) Name() string            { return "kernel" }
func (k *kernelSource) Streams() []trace.Stream { return k.streams }
func (k *kernelSource) Classes() []trace.Class  { return k.recorder.Classes() }

func (k *kernelSource) Read(ctx context.Context, each func(*Event) error) error {
	// The end stops the recording in the kernel and not Read, which still passes on the earlier events.
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { stopped <- k.recorder.Stop() })
	err := k.recorder.Read(context.WithoutCancel(ctx), func(e *bpf.Event) error {
		k.event = Event{Stamp: e.Stamp, Stream: e.CPU, Class: e.Class, Values: e.Values}
		return each(&k.event)
	})
	if !stop() {
		if stopping := <-stopped; err == nil {
			err = stopping
		}
	}
	return err
}

func (k *kernelSource) Lost() []uint64 {
	lost, err := k.recorder.Lost()
	if err != nil {
		return nil
	}
	return lost
}

// Missed returns how many of the lost events the kernel kept from the recorder.
func (k *kernelSource) Missed() uint64 {
	if r, ok := k.recorder.(interface{ Missed() (uint64, error) }); ok {
		n, _ := r.Missed()
		return n
	}
	return 0
}

// Faults returns why events are lost that neither found a full buffer nor are among the missed ones.
func (k *kernelSource) Faults() []bpf.Fault {
	if r, ok := k.recorder.(interface{ Faults() ([]bpf.Fault, error) }); ok {
		faults, _ := r.Faults()
		return faults
	}
	return nil
}

// interfaces is a source of the states of network interfaces and of their changes.
type interfaces struct {
	watcher *netstate.Watcher
	event   Event
}

// Interfaces returns a watcher of network interfaces as a source.
func Interfaces(w *netstate.Watcher) Source { return &interfaces{watcher: w} }

func (n *interfaces) Name() string { return "interfaces" }
func (n *interfaces) Streams() []trace.Stream {
	return []trace.Stream{{Name: "interfaces", Kind: trace.Device, Parent: -1}}
}
func (n *interfaces) Classes() []trace.Class { return netstate.Classes() }

func (n *interfaces) Read(ctx context.Context, each func(*Event) error) error {
	return n.watcher.Read(ctx, func(c *netstate.Change) error {
		n.event.Stamp, n.event.Class, n.event.Values = uint64(c.Stamp.Monotonic), c.Class(), c.Values(n.event.Values[:0])
		return each(&n.event)
	})
}

func (n *interfaces) Lost() []uint64 { return []uint64{uint64(n.watcher.Lost())} }
