package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"meridian/trace"
)

// long is a deadline that has passed.
var long = time.Unix(1, 0)

// Between rounds over the rings Read rests, the longer the emptier they were: to be woken costs more than a hundred events.
// At a million events a second on one processor, 2 MB gather in the longest rest.
const (
	shortRest = time.Millisecond
	longRest  = 20 * time.Millisecond
)

// longer returns the next rest, by how full the fullest ring was.
func longer(pause time.Duration, full float64) time.Duration {
	switch {
	case full > 1./8:
		return max(pause/2, shortRest)
	case full > 1./32:
		return pause
	}
	return min(2*pause, longRest)
}

// most is how many records are taken of one ring before the next has its turn.
const most = 1 << 13

// Classes returns the types of events, which do not change. They belong to the recorder.
func (r *Recorder) Classes() []trace.Class { return r.decoder.classes }

// Read gives the events to give: those of each processor in the order of their stamps, those of different processors as
// they come, some ms after they happened. An event belongs to give until it returns; an error of it ends Read. Read
// returns nil when Stop was called and all was given, and the context's error when that ends.
func (r *Recorder) Read(ctx context.Context, give func(*Event) error) error {
	pause := shortRest
	rest := time.NewTimer(pause)
	defer rest.Stop()
	quiet := 0 // rounds since Stop in which nothing came: a program may have been writing when it was detached
	for {
		over := false
		select {
		case <-r.stopped:
			over = true
		default:
		}
		found, again, full := 0, false, 0.
		for _, l := range r.lanes {
			full = max(full, float64(l.reader.AvailableBytes())/float64(l.reader.BufferSize()))
			n, err := l.drain(func(stamp uint64, record []byte) error {
				if e := r.decoder.decode(stamp, l.cpu, record); e != nil {
					return give(e)
				}
				r.damaged++
				return nil
			})
			if err != nil {
				return err
			}
			found += n
			again = again || n >= most/2
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if quiet++; found > 0 || !over {
			quiet = 0
		}
		if quiet == 2 {
			return nil
		}
		pause = longer(pause, full)
		if over {
			pause = shortRest
		}
		if again {
			continue
		}
		rest.Reset(pause)
		select {
		case <-rest.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drain takes what is in the ring, up to most records, and returns how many.
func (l *lane) drain(give func(stamp uint64, record []byte) error) (int, error) {
	for n := 0; n < most; n++ {
		if l.reader.AvailableBytes() == 0 {
			return n, l.queue.flush(give) // looked at after the last record was whole, as queue asks
		}
		record := ringbuf.Record{RawSample: l.queue.room()}
		err := l.reader.ReadInto(&record)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return n, l.queue.flush(give)
		}
		if err != nil {
			return n, fmt.Errorf("kernel events of processor %d: %w", l.cpu, err)
		}
		if err := l.queue.put(record.RawSample, give); err != nil {
			return n, err
		}
	}
	return most, nil
}

// Stop ends the recording: what happens from now on is not recorded, and Read returns when it has given what was.
func (r *Recorder) Stop() error {
	r.detach.Do(func() {
		var all []error
		for _, l := range slices.Backward(r.links) {
			all = append(all, l.Close())
		}
		if r.stopErr = errors.Join(all...); r.stopErr != nil {
			r.stopErr = fmt.Errorf("kernel events: detaching programs: %w", r.stopErr)
		}
		close(r.stopped)
	})
	return r.stopErr
}

// count is struct counts of bpf/kernel.c.
type count struct {
	Lost, Unfollowed uint64
}

func (r *Recorder) counts() ([]count, error) {
	var perCPU []count
	if err := r.programs.Maps["counted"].Lookup(uint32(0), &perCPU); err != nil {
		return nil, fmt.Errorf("kernel events: counts of what was lost: %w", err)
	}
	return perCPU, nil
}

// Lost returns how many events each processor had no room for since Open, by its number, and with those of the first
// processor the events that were missed: the kernel does not tell where that was. They only grow. It is asked before
// Close, as Missed is.
func (r *Recorder) Lost() ([]uint64, error) {
	counts, err := r.counts()
	if err != nil {
		return nil, err
	}
	lost := make([]uint64, len(counts))
	for i := range counts {
		lost[i] = counts[i].Lost
	}
	missed, err := r.Missed()
	if len(r.lanes) > 0 {
		lost[r.lanes[0].cpu] += missed
	}
	return lost, err
}

// Missed returns how many events were not seen since Open because they happened on a processor while it was writing one
// of the same kind. It is known of kernels from 5.12 on, and only grows.
func (r *Recorder) Missed() (uint64, error) {
	sum := uint64(0)
	for name, p := range r.programs.Programs {
		stats, err := p.Stats()
		if err != nil {
			return sum, fmt.Errorf("kernel events: what program %s missed: %w", name, err)
		}
		sum += stats.RecursionMisses
	}
	return sum, nil
}

// Close stops the recording and gives back what it holds in the kernel. Read must have returned.
func (r *Recorder) Close() error {
	err := r.Stop()
	if r.programs != nil {
		r.tell()
	}
	for _, l := range r.lanes {
		if l.reader != nil {
			err = errors.Join(err, l.reader.Close())
		}
		if l.ring != nil {
			err = errors.Join(err, l.ring.Close())
		}
	}
	if r.programs != nil {
		r.programs.Close()
	}
	r.lanes, r.programs = nil, nil
	return err
}

// tell warns of what was not kept, but for what Lost tells.
func (r *Recorder) tell() {
	if r.warnings == nil {
		return
	}
	const subject = "kernel events"
	counts, _ := r.counts()
	unfollowed, late := uint64(0), uint64(0)
	for i := range counts {
		unfollowed += counts[i].Unfollowed
	}
	for _, l := range r.lanes {
		late += l.queue.late
	}
	for _, x := range []struct {
		kind string
		n    int64
	}{
		{"processes were not followed: too many at a time", int64(unfollowed)},
		{"stamps were raised to those before them", int64(late)},
		{"records in a ring make no sense and were left out", r.damaged},
	} {
		if x.n > 0 {
			r.warnings.AddN(subject, x.kind, "", x.n)
		}
	}
}
