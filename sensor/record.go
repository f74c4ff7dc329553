package sensor

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"meridian/clock"
	"meridian/sensor/ring"
)

// Record records this program's events into a directory, as a trace in CTF 1.8, until stop is called. It starts recording
// unless [Start] has, and one goroutine moves the events from the ring to the directory, which must not hold a trace yet. stop
// returns what failed meanwhile; it may be called more than once.
//
// The directory is a valid trace at any time, up to some 50 ms ago. If the program dies, [Recover] reads what was still in the
// ring. Options are used only as far as the recording is not started yet; Host and Title always.
//
// A program that records itself is not recorded by meridian record as well. Under meridian record the environment has started
// recording before main. If the recorder has that ring, Record ends it and begins one of its own: events from before are in the
// recorder's trace. A ring that [Start] made and that a recorder reads is an error.
func Record(dir string, o Options) (stop func() error, err error) {
	starting.Lock()
	defer starting.Unlock()
	r := running.Load()
	var d *drain
	if r != nil {
		d, err = newDrain(r.ring.Path(), dir, o)
		switch {
		case errors.Is(err, ring.ErrBusy) && unclaimed:
			if err := halt(); err != nil {
				return nil, err
			}
			r = nil
		case errors.Is(err, ring.ErrBusy):
			return nil, fmt.Errorf("%w: Record and meridian record exclude each other; without Record, meridian record has the events, and without Start, Record", err)
		}
	}
	started := r == nil
	if started {
		if err := start(o, true); err != nil {
			return nil, err
		}
		r = running.Load()
		d, err = newDrainOf(r.reader, dir, o)
	}
	if err != nil {
		if started {
			err = errors.Join(err, halt(), r.ring.Remove())
		}
		return nil, err
	}
	end := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.run(end)
	}()
	return sync.OnceValue(func() error {
		var failed error
		if started {
			failed = Stop()
		}
		if !started {
			histograms.flush()
		}
		close(end)
		<-done
		var last clock.Snapshot
		if started {
			last = r.last
		} else {
			last = clock.Take(stampSource())
		}
		d.t.calibrate(r.first, last)
		failed = errors.Join(failed, d.finish())
		switch {
		case started && d.failed != nil:
			// What could not be written is still there.
			failed = errors.Join(failed, fmt.Errorf("sensor: %s keeps what the trace lacks; sensor.Recover makes a trace of it", r.ring.Path()))
		case started:
			failed = errors.Join(failed, r.ring.Remove())
		}
		return failed
	}), nil
}

// Recover writes the events that a dead program left in its ring (a file meridian-PID-....ring, usually in /dev/shm) as a trace of
// its own, and removes the ring. If the program was recording, these are the events that its trace lacks; the last packets may
// be in both. A ring whose program still runs is an error. Of the options only Host and Title are used.
func Recover(path, dir string, o Options) error {
	d, err := newDrain(path, dir, o)
	if err != nil {
		return err
	}
	if !d.reader.Closed() && d.reader.Alive() {
		return errors.Join(fmt.Errorf("sensor: %s: its program, process %d, still runs; stop that first", path, d.reader.Info().PID), d.finish())
	}
	d.t.info.UUID = newUUID()
	for d.pass() {
	}
	failed := d.failed
	if failed == nil {
		failed = d.reader.Remove()
	}
	return errors.Join(failed, d.finish())
}

// Snapshot writes the events that the ring holds now as a trace of its own, and leaves them in the ring. In a program that was
// started with Options.Overwrite these are the newest. The ring must have no other reader, such as [Record]. Of the options
// only Host and Title are used.
func Snapshot(dir string, o Options) error {
	starting.Lock()
	defer starting.Unlock()
	r := running.Load()
	if r == nil {
		return errors.New("sensor: nothing is being recorded; call Start before")
	}
	histograms.flush()
	d, err := newDrain(r.ring.Path(), dir, o)
	if err != nil {
		return err
	}
	d.t.info.UUID = newUUID()
	d.t.calibrate(r.first, clock.Take(stampSource()))
	d.failed = d.reader.Snapshot(func(p *ring.Packet) error {
		d.take(p)
		return d.failed
	})
	return d.finish()
}

// newUUID returns a random UUID. Readers treat traces with one UUID as parts of one trace.
func newUUID() (u [16]byte) {
	rand.Read(u[:])
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return u
}

// drain moves events from a ring to a directory.
type drain struct {
	reader *ring.Reader
	t      *traceFile
	failed error // the directory cannot be written: nothing more is taken
	damage error // the first damage found in the ring
}

func newDrain(path, dir string, o Options) (*drain, error) {
	reader, err := ring.Open(path)
	if err != nil {
		return nil, fmt.Errorf("sensor: %w", err)
	}
	return newDrainOf(reader, dir, o)
}

// newDrainOf closes the reader on an error.
func newDrainOf(reader *ring.Reader, dir string, o Options) (_ *drain, err error) {
	d := &drain{reader: reader}
	if d.t, err = newTraceFile(dir, reader.Info(), o); err == nil {
		err = d.metadata()
	}
	if err != nil {
		reader.Close()
		return nil, err
	}
	return d, nil
}

// The drain pauses between passes over an empty ring, each time twice as long.
const (
	minPause = time.Millisecond
	maxPause = 50 * time.Millisecond
)

// run takes what comes until end is closed, and what there is then.
func (d *drain) run(end <-chan struct{}) {
	next := time.NewTimer(0)
	defer next.Stop()
	pause := minPause
	for {
		select {
		case <-end:
			for d.pass() && d.reader.Closed() {
			}
			return
		case <-next.C:
		}
		if d.pass() {
			pause = minPause
		} else {
			pause = min(2*pause, maxPause)
		}
		next.Reset(pause)
	}
}

// pass takes what is in the ring by now and says whether there was something.
func (d *drain) pass() (some bool) {
	var p ring.Packet
	info := d.reader.Info()
	if d.failed == nil {
		d.failed = d.reader.Round()
	}
	for n := range info.Shards * info.Buffers {
		if n%16 == 0 && d.failed == nil {
			d.failed = d.reader.Commit() // what was written need not be kept
		}
		if d.failed != nil {
			return false
		}
		ok, err := d.reader.Next(&p)
		var damage *ring.DamageError
		switch {
		case errors.As(err, &damage):
			if d.damage == nil {
				d.damage = err
			}
			some = true // behind the damage there may be more
		case err != nil:
			d.failed = err
		case !ok:
			d.failed = d.reader.Commit()
			return some
		default:
			some = true
			d.take(&p)
		}
	}
	return some
}

func (d *drain) take(p *ring.Packet) {
	if highest(p.Events) >= d.t.classes {
		if d.failed = d.metadata(); d.failed != nil {
			return
		}
	}
	d.failed = d.t.write(p)
}

func (d *drain) metadata() error {
	// Classes first: those registered between the two calls are then in the text, and asked for again.
	classes := d.reader.Classes()
	return d.t.writeMetadata(classes, d.reader.Metadata())
}

// finish completes the trace and lets the ring go.
func (d *drain) finish() error {
	if d.failed == nil {
		d.failed = d.reader.Commit() // or the next reader would have the last pass's packets again
	}
	failed := errors.Join(d.failed, d.damage, d.t.finish(d.reader.Discarded), d.metadata())
	return errors.Join(failed, d.reader.Close())
}
