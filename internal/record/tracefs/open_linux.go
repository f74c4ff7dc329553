package tracefs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"meridian/internal/record/internal/proc"
	"meridian/internal/record/kernel"
	"meridian/trace"
)

// Recorder is a recording of kernel events from [Open] to Close. Read is for one goroutine, the rest for any.
type Recorder struct {
	options  Options
	warnings *trace.Warnings
	mount    *mount
	all      *instance // records all processes
	some     *instance // those that are followed; nil without a choice of processes
	layouts  layouts
	decoder  *decoder
	merge    merge
	rings    []*ring
	cpus     int // of which the kernel knows, there or not
	last     []uint64
	late     int64

	following sync.Mutex // Follow and the reader
	roots     map[int]bool
	pending   []pendingTask

	ending  sync.Once
	stopped chan struct{}
	stopErr error
	counts  sync.Mutex
	closed  bool
}

// ring is the kernel's side of a lane.
type ring struct {
	lane  *lane
	pages *os.File // trace_pipe_raw
	stats *os.File
}

const subject = "kernel events by tracefs"

// Open makes the instances and lets the events in: from its return on, they are recorded. W is told what
// cannot be recorded, and at Close what was not kept; it may be nil. An error is an [Unavailable] where this machine
// cannot record kernel events so.
func Open(o Options, w *trace.Warnings) (*Recorder, error) {
	if w == nil {
		w = new(trace.Warnings)
	}
	r := &Recorder{options: o, warnings: w, roots: make(map[int]bool), stopped: make(chan struct{})}
	if err := r.open(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Recorder) open() error {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 || strconv.IntSize != 64 {
		return notSupported("a little-endian machine of 64 bits is needed")
	}
	o := &r.options
	command, err := patternOf(o.Command)
	if err != nil {
		return err
	}
	if o.Cgroup != "" {
		return notSupported("ftrace does not choose processes by cgroup: name them, or record all")
	}
	groups := o.Groups
	if o.NetNS != 0 && groups&kernel.Net != 0 {
		r.warnings.Add(subject, "packets are left out, since they do not say of which network namespace they are", "")
		groups &^= kernel.Net
	}
	if groups&kernel.Net != 0 {
		r.warnings.Add(subject, "packets come without headers: to match them to messages, capture packets as well", "")
	}
	if r.mount, err = findMount(); err != nil {
		return err
	}
	if r.all, err = newInstance(r.mount, bufferSize(o)); err != nil {
		return err
	}
	filtered := (len(o.Pids) > 0 || o.Command != "" || o.OnlyFollowed) && groups&(kernel.Sched|kernel.Syscalls) != 0
	if filtered {
		if r.some, err = newInstance(r.mount, bufferSize(o)); err != nil {
			return err
		}
	}
	t := newTasks(lookUp)
	if err := r.countCPUs(); err != nil {
		return err
	}
	r.decoder = newDecoder(o.Groups, filtered, r.cpus, &r.layouts, t)
	r.decoder.own, r.decoder.command = int32(os.Getpid()), command
	r.decoder.follow, r.decoder.forget = r.followFound, r.forget
	if err := r.enable(groups); err != nil {
		return err
	}
	if err := r.openRings(); err != nil {
		return err
	}
	if err := r.all.begin(); err != nil {
		return err
	}
	if filtered {
		return r.followNamed()
	}
	if groups&(kernel.Sched|kernel.Syscalls) != 0 {
		for _, pid := range numbered("/proc") {
			for _, tid := range threads(int(pid)) {
				t.get(tid)
			}
		}
		t.guessed = 0
	}
	return nil
}

func notSupported(missing string) error {
	return &Unavailable{Reason: kernel.NotSupported, Missing: missing}
}

func bufferSize(o *Options) int {
	if o.BufferSize <= 0 {
		return 4 << 20
	}
	return o.BufferSize
}

// enable reads the layouts and enables the events, in instances that do not run yet.
func (r *Recorder) enable(groups kernel.Groups) error {
	page, err1 := r.all.read("events/header_page")
	event, err2 := r.all.read("events/header_event")
	err := errors.Join(err1, err2)
	if err == nil {
		r.layouts.page, err = parsePageLayout(page, event)
	}
	if err != nil {
		return unavailable("layout of the ring buffer", err)
	}
	enabled := 0
	for k := kind(1); k < kinds; k++ {
		e := &known[k]
		if groups&e.group == 0 && !r.follows(k, groups) {
			continue
		}
		text, err := r.all.read("events/" + e.event + "/format")
		if errors.Is(err, fs.ErrNotExist) {
			r.warnings.Add(subject, "this kernel does not have the event "+e.event, "")
			continue
		}
		if err != nil {
			return unavailable("event "+e.event, err)
		}
		f, err := parseFormat(text)
		if err == nil {
			err = r.layouts.add(k, f)
		}
		if err != nil {
			return unavailable("format of "+e.event, err)
		}
		if err := r.enableOne(k); err != nil {
			return unavailable("event "+e.event, err)
		}
		enabled++
	}
	if enabled == 0 && groups != 0 {
		return notSupported("this kernel has none of the events that were asked for")
	}
	return nil
}

// follows says whether a kind is needed to know of threads, though it may not have been asked for.
func (r *Recorder) follows(k kind, groups kernel.Groups) bool {
	if groups&(kernel.Sched|kernel.Syscalls) == 0 {
		return false
	}
	return known[k].group == tracking || k == processFree || r.some != nil && (k == processFork || k == processExec)
}

// enableOne enables a kind in the instances where it belongs.
func (r *Recorder) enableOne(k kind) error {
	in, filter := r.all, known[k].filter
	if r.some != nil && known[k].group&(kernel.Net|kernel.IRQ) == 0 && k != processFree {
		in = r.some
		switch {
		case k == schedSwitch: // once the kernel no longer takes the thread for followed
			if err := r.all.enable(known[k].event, fmt.Sprintf("prev_state & %d", ended)); err != nil {
				return err
			}
		case k == processExec && r.options.Command != "":
			if err := r.all.enable(known[k].event, ""); err != nil {
				return err
			}
		}
	}
	return in.enable(known[k].event, filter)
}

func (in *instance) enable(event, filter string) error {
	if filter != "" {
		if err := in.write("events/"+event+"/filter", filter); err != nil {
			return err
		}
	}
	return in.write("events/"+event+"/enable", "1")
}

// countCPUs finds out for how many processors ftrace is prepared.
func (r *Recorder) countCPUs() error {
	entries, err := os.ReadDir(filepath.Join(r.all.dir, "per_cpu"))
	if err != nil {
		return unavailable("rings of the processors", err)
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(strings.TrimPrefix(e.Name(), "cpu")); err == nil && n >= 0 && n < 1<<16 {
			r.cpus = max(r.cpus, n+1)
		}
	}
	r.last = make([]uint64, r.cpus)
	return nil
}

// openRings opens the rings of all processors that are there. One that comes later is not recorded.
func (r *Recorder) openRings() error {
	online, err := proc.OnlineCPUs()
	if err != nil {
		return err
	}
	for _, in := range []*instance{r.all, r.some} {
		if in == nil {
			continue
		}
		for _, cpu := range online {
			if cpu >= r.cpus {
				continue
			}
			if err := r.openRing(in, cpu); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Recorder) openRing(in *instance, cpu int) error {
	dir := filepath.Join(in.dir, "per_cpu", "cpu"+strconv.Itoa(cpu))
	g := &ring{}
	r.rings = append(r.rings, g)
	fd, err := unix.Open(filepath.Join(dir, "trace_pipe_raw"), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		g.pages = os.NewFile(uintptr(fd), "trace_pipe_raw")
		g.stats, err = os.Open(filepath.Join(dir, "stats"))
	}
	if err != nil {
		return unavailable(fmt.Sprintf("ring of processor %d", cpu), err)
	}
	g.lane = &lane{cpu: cpu, everyone: in == r.all, layout: r.layouts.page, buffer: make([]byte, r.layouts.page.size()), fill: func(b []byte) (int, error) {
		for {
			n, err := unix.Read(fd, b)
			switch {
			case err == unix.EINTR:
				continue
			case err == unix.EAGAIN:
				return 0, nil
			case err != nil:
				return 0, fmt.Errorf("kernel events of processor %d: %w", cpu, err)
			}
			return n, nil
		}
	}}
	r.merge.lanes = append(r.merge.lanes, g.lane)
	return nil
}
