package tracefs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"meridian/internal/record/internal/proc"
	"meridian/internal/record/kernel"
	"meridian/trace"
)

// Recorder is a recording of kernel events from [Open] to Close. Read must be called by one goroutine at a time; all other
// methods may be called by any.
type Recorder struct {
	warnings *trace.Warnings
	session  *session
	follower *follower
	decoder  *decoder
	merge    merge
	last     []uint64 // the last stamp of each processor
	late     int64    // stamps that were raised

	ending  sync.Once
	stopped chan struct{} // closed by Stop
	stopErr error
	closing sync.Mutex // of Lost and Close
}

const subject = "kernel events by tracefs"

// Open makes the instances and enables the events: they are recorded from its return on. It reports to w what cannot be
// recorded, and Close what was not kept; w may be nil. The error is an [Unavailable] where this machine cannot record
// kernel events in this way.
func Open(o Options, w *trace.Warnings) (*Recorder, error) {
	if w == nil {
		w = new(trace.Warnings)
	}
	r := &Recorder{warnings: w, session: &session{}, stopped: make(chan struct{})}
	r.follower = newFollower(nil)
	if err := r.open(&o); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Recorder) open(o *Options) error {
	if !kernel.SupportedMachine() {
		return notSupported("a little-endian 64-bit machine is needed")
	}
	command, err := proc.ParseNamePattern(o.Command)
	if err != nil {
		return err
	}
	if o.Cgroup != "" {
		return notSupported("ftrace cannot select processes by cgroup: select them by number or name, or record all")
	}
	groups := availableGroups(o, r.warnings)
	filtered := (len(o.Pids) > 0 || o.Command != "" || o.OnlyFollowed) && groups&(kernel.Sched|kernel.Syscalls) != 0
	if r.session, err = newSession(o.BufferSize, filtered); err != nil {
		return err
	}
	layouts, err := r.session.enable(groups, o.Command != "", r.warnings)
	if err != nil {
		return err
	}
	if err := r.session.openRings(layouts.page); err != nil {
		return err
	}
	for _, g := range r.session.rings {
		r.merge.cursors = append(r.merge.cursors, g.cursor)
	}
	r.follower = newFollower(r.session.some)
	r.last = make([]uint64, r.session.cpus)
	d := newDecoder(o.Groups, filtered, r.session.cpus, layouts, newTasks(lookUp))
	d.own, d.command = int32(os.Getpid()), command
	d.follow = func(pid int32) { r.follower.followFound(pid, r.warnings) }
	d.forget = r.follower.forget
	r.decoder = d
	if err := r.session.all.begin(); err != nil {
		return err
	}
	if filtered {
		return r.follower.followNamed(o.Pids, command)
	}
	if groups&(kernel.Sched|kernel.Syscalls) != 0 {
		d.tasks.load()
	}
	return nil
}

// availableGroups returns the groups that can be recorded, and warns of what is not.
func availableGroups(o *Options, w *trace.Warnings) kernel.Groups {
	groups := o.Groups
	if o.NetNS != 0 && groups&kernel.Net != 0 {
		w.Add(subject, "packets are not recorded: ftrace does not report their network namespace", "")
		groups &^= kernel.Net
	}
	if groups&kernel.Sockets != 0 {
		w.Add(subject, "what threads send and receive on TCP connections is not recorded: ftrace does not report the connection", "")
		groups &^= kernel.Sockets
	}
	if groups&kernel.Net != 0 {
		w.Add(subject, "packets come without headers: to match them to messages, capture packets as well", "")
	}
	return groups
}

func notSupported(missing string) error {
	return &Unavailable{Reason: kernel.NotSupported, Missing: missing}
}

// Classes returns the types of events, which do not change. They belong to the recorder.
func (r *Recorder) Classes() []trace.Class { return r.decoder.classes }

// Read pauses for minPause once it has read all events, and for up to maxPause while there are few: to be woken for each event
// would cost more than the event. At two million events a second on one processor, 3 MB gather in maxPause.
const (
	minPause = 10 * time.Millisecond
	maxPause = 30 * time.Millisecond
	minBusy  = 100 // events of a round after which the next pause is minPause
)

// settled is the age at which events are passed on. The earlier events of all processors have been written by then, unless
// a processor was interrupted for as long in the middle of one.
const settled = 20 * time.Millisecond

// Read calls each with every event, in the order of their stamps, 20 to 50 ms after it happened. An event belongs to each
// until it returns. Read ends with an error of each, or with nil when Stop was called and all earlier events were passed
// on. When the context ends, Read stops the recording, passes on the earlier events, and returns the context's error.
func (r *Recorder) Read(ctx context.Context, each func(*kernel.Event) error) error {
	pause := minPause
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		stopping := isClosed(r.stopped)
		now, err := monotonic()
		if err != nil {
			return err
		}
		n, err := r.readUntil(now-uint64(settled), each)
		if err != nil {
			return err
		}
		if stopping {
			break
		}
		if pause = min(pause+minPause, maxPause); n >= minBusy {
			pause = minPause
		}
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-r.stopped:
		case <-ctx.Done():
			if err := r.Stop(); err != nil {
				return err
			}
		}
	}
	// An event that was being written when the recording stopped is complete once it has settled.
	time.Sleep(settled)
	if _, err := r.readUntil(math.MaxUint64, each); err != nil {
		return err
	}
	return ctx.Err()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// readUntil passes on the events up to a stamp, and returns the number of records that were read.
func (r *Recorder) readUntil(limit uint64, each func(*kernel.Event) error) (int, error) {
	r.follower.takePending(r.decoder.tasks)
	return r.merge.until(limit, func(c *cursor) error {
		damaged, gaps := r.decoder.damaged, r.decoder.gaps
		e := r.decoder.decode(c.stamp, c.cpu, c.everyone, c.record)
		c.damaged.Add(uint64(r.decoder.damaged - damaged))
		c.gaps.Add(uint64(r.decoder.gaps - gaps))
		if e == nil {
			return nil
		}
		if last := &r.last[e.CPU]; e.Stamp < *last { // the stamps of a stream must not decrease
			e.Stamp = *last
			r.late++
		} else {
			*last = e.Stamp
		}
		return each(e)
	})
}

// monotonic returns CLOCK_MONOTONIC, by which events are stamped.
func monotonic() (uint64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, fmt.Errorf("kernel events: CLOCK_MONOTONIC: %w", err)
	}
	return uint64(t.Nano()), nil
}

// Follow records a process and its children from now on, where only some processes are recorded.
func (r *Recorder) Follow(pid int) error { return r.follower.follow(pid) }

// Following returns the processes that are followed and still run, by ascending number. It may be called after Stop.
func (r *Recorder) Following() ([]int, error) { return r.follower.following() }

// Stop ends the recording: later events are not recorded, and Read returns once it has passed on the earlier ones.
func (r *Recorder) Stop() error {
	r.ending.Do(func() {
		r.follower.mu.Lock() // following a process begins the recording of its instance
		defer r.follower.mu.Unlock()
		if r.stopErr = r.session.end(); r.stopErr != nil {
			r.stopErr = fmt.Errorf("kernel events: %w", r.stopErr)
		}
		r.session.findLate()
		close(r.stopped)
	})
	return r.stopErr
}

// Lost returns for each processor, by its number, how many events were not recorded since Open: they found its ring full, or are
// among the [Recorder.Faults]. Counts only grow. After Close they are all 0.
func (r *Recorder) Lost() ([]uint64, error) {
	r.closing.Lock()
	defer r.closing.Unlock()
	lost, err := r.session.lost()
	if err == nil && len(r.session.rings) > 0 {
		lost[r.session.rings[0].cpu] += r.follower.failed() // it has no processor
	}
	return lost, err
}

// Faults returns the reasons that Lost has beside full rings: invalid records and pages, switches that the kernel did not report,
// processes that were not followed, and processors that came online later. How many events these have is not known; each counts
// as one. Where a ring was full, a switch among what it lost may count twice.
func (r *Recorder) Faults() ([]kernel.Fault, error) {
	r.closing.Lock()
	defer r.closing.Unlock()
	damaged, gaps := uint64(0), uint64(0)
	for _, g := range r.session.rings {
		damaged += g.damaged.Load()
		gaps += g.gaps.Load()
	}
	return kernel.Happened(
		kernel.Fault{Kind: unfollowed, Count: int64(r.follower.failed())},
		kernel.Fault{Kind: unreported, Count: int64(gaps)},
		kernel.Fault{Kind: lateProcessors, Count: r.session.late.Load()},
		kernel.Fault{Kind: kernel.DamagedRecords, Count: int64(damaged)}), nil
}

const (
	unfollowed     = "processes could not be followed"
	unreported     = "switches of threads were not reported by the kernel"
	lateProcessors = "processors came online later and were not recorded"
)

// Close stops the recording and removes the instances. Read must have returned.
func (r *Recorder) Close() error {
	err := r.Stop()
	r.closing.Lock()
	defer r.closing.Unlock()
	if r.decoder != nil && len(r.session.rings) > 0 {
		reportFaults(r)
	}
	r.merge.cursors = nil
	return errors.Join(err, r.session.close())
}

// reportFaults warns of what was not recorded as it happened, except for what Lost counts.
func reportFaults(r *Recorder) {
	kernel.ReportFaults(r.warnings, subject,
		kernel.Fault{Kind: "threads ended before their process was known, and are taken for processes", Count: r.decoder.tasks.guessed},
		kernel.Fault{Kind: kernel.LateStamps, Count: r.late})
}
