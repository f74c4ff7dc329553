package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"meridian/trace"
)

// Recorder is a recording of kernel events from [Open] to Close. Read must be called by one goroutine at a time; all other
// methods may be called by any.
type Recorder struct {
	warnings *trace.Warnings
	decoder  *decoder
	packets  Packets
	longest  time.Duration // pause between two readings
	programs *ebpf.Collection
	audit    *audit // nil where perf does not count the events
	rings    []*ring
	links    []link.Link
	detach   sync.Once
	stopped  chan struct{} // closed by Stop
	stopErr  error
	damaged  []atomic.Uint64 // invalid records, by processor
	without  error           // why sockets are not
}

// Open loads the programs and attaches them: events are recorded from its return on. Close reports to w what was not
// recorded; w may be nil. The error is an [Unavailable] where this machine cannot record kernel events at all.
func Open(o Options, w *trace.Warnings) (*Recorder, error) {
	r := &Recorder{warnings: w, decoder: newDecoder(o.Groups, o.filtered()), packets: o.Packets, longest: o.pause(), stopped: make(chan struct{})}
	if err := r.open(&o); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Recorder) open(o *Options) (err error) {
	if !SupportedMachine() {
		return &Unavailable{Reason: NotSupported}
	}
	c, err := o.constants()
	if err != nil {
		return err
	}
	var sockets []string
	if sockets, r.without = o.ofKernel(c); r.without != nil {
		sockets = nil
	}
	names := o.programs(sockets)
	var without error
	if r.audit, without = openAudit(o.audited(names)); without != nil {
		defer func() {
			if err == nil { // else no events are recorded at all
				r.warnUnaudited(without)
			}
		}()
	}
	c["audited"] = bit(r.audit != nil)
	var inner *ebpf.MapSpec
	r.programs, inner, err = load(o, c, names)
	if err != nil && len(sockets) > 0 { // the others may be loaded: some kernels refuse programs at functions even to root
		why := ofRefusal(err)
		names = o.programs(nil)
		if r.programs, inner, err = load(o, c, names); err == nil {
			r.without = why
		}
	}
	if err != nil {
		return err
	}
	if r.rings, err = openRings(r.programs.Maps["rings"], inner); err != nil {
		return err
	}
	r.damaged = make([]atomic.Uint64, r.programs.Maps["rings"].MaxEntries())
	if r.audit != nil {
		if err := r.audit.give(r.programs); err != nil {
			return err
		}
	}
	counting := slices.DeleteFunc(slices.Clone(depthPrograms), func(name string) bool { return r.programs.Programs[name] == nil })
	for _, name := range append(counting, names...) {
		l, err := link.AttachTracing(link.TracingOptions{Program: r.programs.Programs[name]})
		if err != nil && slices.Contains(sockets, name) {
			r.without = fmt.Errorf("program %s: %w", name, ofRefusal(err))
			continue
		}
		if err != nil {
			return unavailable(fmt.Errorf("tracepoint %s: %w", name, err))
		}
		r.links = append(r.links, l)
	}
	if r.audit != nil {
		if err := r.audit.enable(); err != nil {
			return err
		}
	}
	if err := r.tellAttached(1); err != nil {
		return err
	}
	// The programs follow the children of every process that is found from here on.
	return followRunning(r.programs, o)
}

// tellAttached tells the programs whether all of them are attached.
func (r *Recorder) tellAttached(yes uint32) error {
	if err := r.programs.Variables["attached"].Set(yes); err != nil {
		return fmt.Errorf("kernel events: variable attached: %w", err)
	}
	return nil
}

// Classes returns the types of events, which do not change. They belong to the recorder.
func (r *Recorder) Classes() []trace.Class { return r.decoder.classes }

// Lacks returns the groups that were asked for and that this kernel cannot record though it records others, and why.
func (r *Recorder) Lacks() (Groups, error) {
	if r.without == nil {
		return 0, nil
	}
	return Sockets, unsocketed(r.without)
}

// Read calls each with every event, some ms after it happened. The events of one processor come in the order of their
// stamps; those of different processors come in any order. An event belongs to each until it returns. Read ends with an
// error of each, with nil when Stop was called and all earlier events were passed on, or with the context's error.
func (r *Recorder) Read(ctx context.Context, each func(*Event) error) error {
	pause := minPause
	timer := time.NewTimer(pause)
	defer timer.Stop()
	empty := 0 // rounds since Stop that found nothing: a program may still have been writing when it was detached
	for {
		stopping := isClosed(r.stopped)
		n, backlog, fill, err := readRings(r.rings, func(stamp uint64, cpu int, record []byte) error {
			if !r.packets.selects(record) {
				return nil
			}
			if e := r.decoder.decode(stamp, cpu, record); e != nil {
				return each(e)
			}
			r.damaged[cpu].Add(1)
			return nil
		})
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if empty++; n > 0 || !stopping {
			empty = 0
		}
		if empty == 2 {
			return nil
		}
		pause = nextPause(pause, r.longest, fill)
		if stopping {
			pause = minPause
		}
		if backlog {
			continue
		}
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Follow records a process and its children from now on, where only some processes are recorded.
func (r *Recorder) Follow(pid int) error { return follow(r.programs, pid) }

// Following returns the processes that are followed and still run, by ascending number. It may be called after Stop.
func (r *Recorder) Following() ([]int, error) { return following(r.programs) }

// Stop ends the recording: later events are not recorded, and Read returns once it has passed on the earlier ones.
func (r *Recorder) Stop() error {
	r.detach.Do(func() {
		all := []error{r.audit.finish()}
		if len(r.links) > 0 {
			all = append(all, r.tellAttached(0))
		}
		for _, l := range slices.Backward(r.links) {
			all = append(all, l.Close())
		}
		if r.stopErr = errors.Join(all...); r.stopErr != nil {
			r.stopErr = fmt.Errorf("kernel events: end of the recording: %w", r.stopErr)
		}
		close(r.stopped)
	})
	return r.stopErr
}

// Lost returns for each processor, by its number, how many events were not recorded since Open: they found its ring full, or
// are among the [Recorder.Missed] ones or the [Recorder.Faults]. Counts only grow. Lost, Missed and Faults must not be called
// after Close.
func (r *Recorder) Lost() ([]uint64, error) {
	counts, err := countsOf(r.programs)
	if err != nil {
		return nil, err
	}
	missed, err := r.missed(counts)
	for i := range missed {
		missed[i] += counts[i].Lost + counts[i].Unfollowed
		if i < len(r.damaged) {
			missed[i] += r.damaged[i].Load()
		}
	}
	return missed, err
}

// Faults returns the reasons that Lost has beside full rings and missed events: invalid records, each an event, and processes
// that were not followed. How many events such a process has is not known; it counts as one.
func (r *Recorder) Faults() ([]Fault, error) {
	counts, err := countsOf(r.programs)
	if err != nil {
		return nil, err
	}
	unfollowed, damaged := uint64(0), uint64(0)
	for i := range counts {
		unfollowed += counts[i].Unfollowed
	}
	for i := range r.damaged {
		damaged += r.damaged[i].Load()
	}
	return Happened(Fault{NotFollowed, int64(unfollowed)}, Fault{DamagedRecords, int64(damaged)}), nil
}

// Missed returns for how many events since Open the kernel ran no program: they interrupted the program of the same kind on
// their processor, or a process that the kernel hides from tracers. Packets and interrupts are counted for the whole machine,
// with NetNS and Packets too, since none of their fields is known. So are switches, wake-ups and system calls, unless only some processes
// are recorded: then these are the wake-ups of their threads. The count only grows, some ms after the events. Where perf's
// counters are not permitted, of which Close warns, it has the interrupting ones alone, and none on kernels before 5.12.
func (r *Recorder) Missed() (uint64, error) {
	counts, err := countsOf(r.programs)
	if err != nil {
		return 0, err
	}
	missed, err := r.missed(counts)
	sum := uint64(0)
	for _, n := range missed {
		sum += n
	}
	return sum, err
}

// missed returns the missed events of each processor. The first one has what the kernel counts for programs that were
// interrupted by themselves, whose processor it does not tell; perf counts these as well, but for those that interrupt in the
// same context as its own work.
func (r *Recorder) missed(counts []counts) ([]uint64, error) {
	missed := make([]uint64, len(counts))
	byCPU, byProgram, err := r.audit.count()
	if err != nil {
		return missed, err
	}
	for i := range missed {
		missed[i] = counts[i].Unwoken
		if i < len(byCPU) {
			missed[i] += byCPU[i]
		}
	}
	for name, p := range r.programs.Programs {
		stats, err := p.Stats()
		if err != nil {
			return missed, fmt.Errorf("kernel events: events that program %s missed: %w", name, err)
		}
		missed[r.rings[0].cpu] += stats.RecursionMisses - min(stats.RecursionMisses, byProgram[name])
	}
	return missed, nil
}

// Close stops the recording and releases its programs and rings. Read must have returned.
func (r *Recorder) Close() error {
	err := r.Stop()
	if r.programs != nil {
		r.reportFaults()
	}
	for _, g := range r.rings {
		err = errors.Join(err, g.close())
	}
	if r.programs != nil {
		r.programs.Close()
	}
	if r.audit != nil {
		err = errors.Join(err, r.audit.close())
	}
	r.rings, r.programs = nil, nil
	return err
}

// reportFaults warns of what was not recorded as it happened, except for what Lost counts.
func (r *Recorder) reportFaults() {
	if r.warnings == nil {
		return
	}
	late := uint64(0)
	for _, g := range r.rings {
		late += g.sorter.late
	}
	if r.audit != nil {
		for _, cpu := range r.audit.stalled {
			r.warnings.Add(subject, unaudited, fmt.Sprintf("processor %d, which was offline for a time", cpu))
		}
	}
	ReportFaults(r.warnings, subject, Fault{LateStamps, int64(late)})
}

const (
	subject   = "kernel events"
	unaudited = "events that the kernel hides from eBPF programs are not counted as lost"
)

func (r *Recorder) warnUnaudited(why error) {
	if r.warnings != nil {
		r.warnings.Add(subject, unaudited, why.Error()+"; counting them needs root")
	}
}
