package tracefs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"meridian/internal/record/internal/proc"
	"meridian/internal/record/kernel"
	"meridian/trace"
)

// Read rests for pause when it has read all there was, and up to slack while little happens: that the kernel wakes it for
// each event would cost more than the event. At two million events a second on one processor, 3 MB gather in slack.
const (
	pause = 10 * time.Millisecond
	slack = 30 * time.Millisecond
	busy  = 100 // events of one round
)

// settled is the age at which events are given: by then those before them have been written on all processors, unless
// one was kept from running in the middle of an event.
const settled = 20 * time.Millisecond

// Classes returns the types of events, which do not change. They belong to the recorder.
func (r *Recorder) Classes() []trace.Class { return r.decoder.classes }

// Read gives the events to give, in the order of their stamps, 20 to 50 ms after they happened. An event belongs to give
// until it returns; an error of it ends Read. Read returns nil when Stop was called and all was given. When the context
// ends Read stops the recording, gives what was before, and returns the context's error.
func (r *Recorder) Read(ctx context.Context, give func(*kernel.Event) error) error {
	rest, resting := time.NewTimer(pause), pause
	defer rest.Stop()
	each := func(l *lane) error {
		e := r.decoder.decode(l.stamp, l.cpu, l.everyone, l.record)
		if e == nil {
			return nil
		}
		if last := &r.last[e.CPU]; e.Stamp < *last { // nobody who writes a stream can go back
			e.Stamp = *last
			r.late++
		} else {
			*last = e.Stamp
		}
		return give(e)
	}
	for {
		over := false
		select {
		case <-r.stopped:
			over = true
		default:
		}
		limit, err := now()
		if err != nil {
			return err
		}
		limit -= uint64(settled)
		r.takePending()
		n, err := r.merge.until(limit, each)
		if err != nil {
			return err
		}
		if over {
			break
		}
		if resting = min(resting+pause, slack); n >= busy {
			resting = pause
		}
		rest.Reset(resting)
		select {
		case <-rest.C:
		case <-r.stopped:
		case <-ctx.Done():
			if err := r.Stop(); err != nil {
				return err
			}
		}
	}
	// What was being written when the recording was stopped is whole by now, or as soon as it is settled.
	time.Sleep(settled)
	r.takePending()
	if _, err := r.merge.until(math.MaxUint64, each); err != nil {
		return err
	}
	return ctx.Err()
}

// now returns the clock by which events are stamped.
func now() (uint64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, fmt.Errorf("kernel events: CLOCK_MONOTONIC: %w", err)
	}
	return uint64(t.Nano()), nil
}

// Stop ends the recording: what happens from now on is not recorded, and Read returns when it has given what was.
func (r *Recorder) Stop() error {
	r.ending.Do(func() {
		r.following.Lock() // which may be letting events in
		defer r.following.Unlock()
		for _, in := range []*instance{r.all, r.some} {
			if in != nil {
				r.stopErr = errors.Join(r.stopErr, in.end())
			}
		}
		if r.stopErr != nil {
			r.stopErr = fmt.Errorf("kernel events: %w", r.stopErr)
		}
		close(r.stopped)
	})
	return r.stopErr
}

// Lost returns how many events each processor had no room for since Open, by its number. They only grow. It is asked
// before Close.
func (r *Recorder) Lost() ([]uint64, error) {
	r.counts.Lock()
	defer r.counts.Unlock()
	lost := make([]uint64, r.cpus)
	if r.closed {
		return lost, nil
	}
	var b [1024]byte
	for _, g := range r.rings {
		n, err := g.stats.ReadAt(b[:], 0)
		if n == 0 && err != nil {
			return nil, fmt.Errorf("kernel events: counts of what was lost: %w", err)
		}
		lost[g.lane.cpu] += max(parseStats(b[:n]), g.lane.missed.Load())
	}
	return lost, nil
}

// Close stops the recording and removes what it made. Read must have returned.
func (r *Recorder) Close() error {
	err := r.Stop()
	r.tell()
	r.counts.Lock()
	defer r.counts.Unlock()
	for _, g := range r.rings {
		if g.pages != nil {
			err = errors.Join(err, g.pages.Close())
		}
		if g.stats != nil {
			err = errors.Join(err, g.stats.Close())
		}
	}
	for _, in := range []*instance{r.some, r.all} {
		if in != nil {
			err = errors.Join(err, in.remove())
		}
	}
	if r.mount != nil {
		err = errors.Join(err, r.mount.close())
	}
	r.rings, r.merge.lanes, r.all, r.some, r.mount, r.closed = nil, nil, nil, nil, nil, true
	return err
}

// tell warns of what was not kept, but for what Lost tells.
func (r *Recorder) tell() {
	if r.closed || len(r.rings) == 0 {
		return
	}
	damaged := r.decoder.damaged
	for _, l := range r.merge.lanes {
		damaged += l.damaged
	}
	online, _ := proc.OnlineCPUs()
	for _, cpu := range online {
		if !slices.ContainsFunc(r.rings, func(g *ring) bool { return g.lane != nil && g.lane.cpu == cpu }) {
			r.warnings.Add(subject, "a processor came later and was not recorded", fmt.Sprintf("CPU %d", cpu))
		}
	}
	for _, x := range []struct {
		kind string
		n    int64
	}{
		{"threads had ended before their process could be asked for, and are taken for one", r.decoder.tasks.guessed},
		{"switches must have been of which the kernel told nothing", r.decoder.gaps},
		{"stamps were raised to those before them", r.late},
		{"records in a ring make no sense and were left out", damaged},
	} {
		if x.n > 0 {
			r.warnings.AddN(subject, x.kind, "", x.n)
		}
	}
}
