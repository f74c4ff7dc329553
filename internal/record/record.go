// Package record records one host: what goes in are the rings of the programs that emit events (sensor/ring), as they
// start and end, and sources of other events (the kernel's, packets); what comes out is one trace in CTF 1.8, whose
// events are all on one clock.
//
//	rings in shared memory --> drain: take, put on the clock, write, commit --.
//	sources, packets ------> a writer each, in a goroutine of its own --------+--> DIR/metadata  and a file for each stream
//	clocks of the kernel --> an event each for how they stand, every second --'
//
// # The clock
//
// The trace's clock is CLOCK_MONOTONIC, in ns, with the offset to 1970 that it had when the trace was begun. REALTIME may
// be set or steered meanwhile: no stamp is made from it, and the events meridian:clock say how it went. Programs stamp
// by the processor's counter. The recorder reads the counter and MONOTONIC at one instant (clock.Take) whenever it
// holds a stamp that lies behind its last such reading, so that every stamp it writes lies between two of them, on a straight
// line; what that may be off is the error of the readings, some 50 ns. Stamps from before the recorder's first reading go
// by the readings that the program itself left in its ring, or else by the line through all of the recorder's.
//
// # The trace
//
//	DIR/metadata           TSDL; put in place whole, before the first packet that needs it
//	    sensor_1_web_0     packets of shard 0 of a ring; 1 is its stream class, web the program
//	    clocks_0_0         how the clocks stood
//	    kernel_2_0         events of a source: kernel, stream class 2, its stream 0
//	    packets/web.pcapng packets, stamped by the trace's clock; web-2 those of a second recorder, and so on
//
//	packet header      magic 4, uuid 16, stream_id 4, stream_instance_id 8 (the shard)
//	packet context     timestamp_begin 8, timestamp_end 8, content_size 8, packet_size 8 (bits), packet_seq_num 8,
//	of a ring          events_discarded 8, crc32c 4 (of the events), ring_high 8, ring_low 8 (the ring's UUID),
//	                   position 8 (in the shard, behind the last event), row, row_kind, row_id 8
//	event of a ring    timestamp 8, id 2, context, fields
//
// Each ring is a stream class of its own, because classes of events have numbers of their own in each.
//
// # Exactly once
//
// A packet is written to the file before the ring is told that its events may go. A recorder that is killed between the
// two leaves events both in the trace and in the ring; one that is killed while it writes leaves a packet cut short, but for
// those of sources, which are whole pages: between two of these alone the kernel breaks a write off. The next recorder in the
// same directory cuts off what is torn, of packets too, and leaves out what lies before the last packet's position. One in another directory is told where its predecessor wrote (Options.After). Nothing is lost and nothing is recorded twice, except
// that what never left the memory of a source, at most a quarter of a second, is lost with the recorder.
//
// # Cost
//
// An event of a ring is copied twice and its stamp rewritten, some 0.1 us with what writing the file takes; a pass over
// rings that have nothing takes about a microsecond each. Between passes the recorder rests 1 to 50 ms, the longer the
// emptier the rings were. For root its thread comes before those of others (nice -20). What comes while it does not come is
// kept by the rings, which grow for that (sensor/ring, spare.go): a queue of the recorder's own would be lost with it.
package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/sensor/ring"
	"meridian/trace"
)

// Options say what is recorded, and where. All but Dir may be left out.
type Options struct {
	Dir      string               // of the trace: none yet, or one of a recorder that has ended, which then goes on
	Host     string               // name of the host in the trace; "" stands for its own
	Title    string               // what the trace says of itself
	Rings    []string             // directories in which programs have their rings; none: where they make them by themselves
	Programs []string             // names with * and ?, or numbers of processes; none: all programs
	Only     func(ring.Info) bool // says of which, before a ring is touched that another recorder may have; nil: of all
	After    []string             // traces of recorders that were killed, whose last events are not to be recorded again
	Interval time.Duration        // between readings of all clocks, and calls of Counts; 0 stands for a second
	Sources  []Source             // of other events
	Packets  Capture              // nil for none

	Counts   func(Summary)   // told now and then what was recorded so far, by the goroutine of Run; may be nil
	Failed   func(Failure)   // told at once of what is recorded no further, by the goroutine of Run; nil: Warnings are
	Warnings *trace.Warnings // told what else went wrong without ending the recording; may be nil
}

// Recorder records a host.
type Recorder struct {
	o     Options
	t     *hostTrace
	times *times
	own   *clocks

	rings   map[string]*drain // that are being read, by file
	known   map[string]bool   // files that are not to be read, or could not be
	busy    map[string]bool   // files that another reader has
	ended   []*drain
	sources []writer
	over    int // how many sources have ended

	failures []Failure
	unlisted int // failures beyond the most that are kept
}

// New begins a trace, or goes on with one whose recorder has ended. Nobody else may record into the same directory.
func New(o Options) (*Recorder, error) { return newRecorder(o, clock.Take) }

func newRecorder(o Options, take func(clock.Source) clock.Snapshot) (_ *Recorder, err error) {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.Warnings == nil {
		o.Warnings = new(trace.Warnings)
	}
	if o.Host == "" {
		o.Host, _ = os.Hostname()
	}
	for _, p := range o.Programs {
		if _, err := filepath.Match(p, ""); err != nil {
			return nil, fmt.Errorf("record: program %q: %w; a pattern is a name with * and ?, or the number of a process", p, err)
		}
	}
	for _, dir := range o.Rings {
		if _, err := ring.Find(dir); err != nil {
			return nil, fmt.Errorf("record: looking for rings: %w", err)
		}
	}
	r := &Recorder{o: o, times: newTimes(take), rings: map[string]*drain{}, known: map[string]bool{}, busy: map[string]bool{}}
	if r.t, err = openTrace(&o, take(clock.Monotonic)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.t.close()
		}
	}()
	if r.own, err = newClocks(r.t, r.times); err != nil {
		return nil, err
	}
	for _, s := range o.Sources {
		w, err := newSourceWriter(r.t, s)
		if err != nil {
			return nil, err
		}
		r.sources = append(r.sources, w)
	}
	if err := r.t.writeMetadata(); err != nil {
		return nil, err
	}
	if o.Packets != nil {
		w, err := newPacketWriter(&o, r.Origin())
		if err != nil {
			return nil, err
		}
		r.sources = append(r.sources, w)
	}
	return r, nil
}

// writer writes what a source brings. Run ends with the context, when all is written that was there by then; finish is for
// after it. An error is the source's own affair but for an [outputError].
type writer interface {
	name() string
	run(context.Context) error
	finish() error
	counts() []Counts
}

// Origin is by how much the trace's clock is ahead of CLOCK_MONOTONIC, in ns: what REALTIME was beyond it when the trace was
// begun. It stays the same when a recorder goes on with the trace.
func (r *Recorder) Origin() int64 { return originOf(r.t.m) }

func originOf(m *ctf.Metadata) int64 {
	c := &m.Clocks[0]
	return c.OffsetSeconds*1_000_000_000 + c.Offset
}

// Run records until the context is done, and then what there is by then; earlier only where the trace cannot be
// written. A source or a ring that fails is recorded no further, and all else goes on: Options.Failed, the summary and the
// trace tell of it, and it is no error. What was written is readable in any case. It may be called once.
func (r *Recorder) Run(ctx context.Context) (Summary, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan ended, len(r.sources))
	for _, s := range r.sources {
		go func() { over <- ended{s, s.run(inner)} }()
	}
	errs := []error{r.drain(inner, over)}
	cancel()
	for range len(r.sources) - r.over {
		errs = append(errs, r.sourceOver(<-over))
	}
	errs = append(errs, r.finish()...)
	return r.summary(), joined(errs...)
}

// Between passes over the rings the recorder rests, and it looks for new rings once in the longest of these rests. With what
// a shard of a usual ring holds alone, that loses nothing below 20 MB/s and a shard.
const (
	shortRest = time.Millisecond
	busyRest  = 8 * time.Millisecond // the longest while anything comes; see rest
	longRest  = 50 * time.Millisecond
)

// drain takes what comes until the context is done or the trace cannot be written, and what there is then.
func (r *Recorder) drain(ctx context.Context, sources <-chan ended) error {
	defer hurry()()
	pause := shortRest
	next := time.Now() // when the clocks are read
	look := next       // when new rings are looked for, which reads directories
	for {
		// What programs emitted until the end is taken; what they go on emitting is not waited for.
		over := ctx.Err() != nil
		select {
		case e := <-sources:
			r.over++
			if err := r.sourceOver(e); err != nil {
				return err
			}
		default:
		}
		if now := time.Now(); over || !now.Before(look) {
			look = now.Add(longRest)
			if err := r.find(); err != nil {
				return err
			}
		}
		full, err := r.pass()
		if err != nil || over {
			return err
		}
		pause = longer(pause, full)
		if now := time.Now(); !now.Before(next) {
			next = now.Add(r.o.Interval)
			if err := r.beat(); err != nil {
				return err
			}
		}
		rest(pause)
	}
}

// longer returns the next rest, by how full the fullest shard was.
func longer(pause time.Duration, full float64) time.Duration {
	switch {
	case full > 1./8:
		return max(pause/2, shortRest)
	case full > 1./16:
		return pause
	case full > 0:
		return min(2*pause, busyRest)
	}
	return min(2*pause, longRest)
}

// beat does what is done at intervals.
func (r *Recorder) beat() error {
	if err := r.own.write(); err != nil {
		return err
	}
	for _, d := range r.rings {
		if err := d.tellDiscarded(); err != nil {
			return err
		}
	}
	if r.o.Counts != nil {
		r.o.Counts(r.summary())
	}
	return nil
}

// pass takes what is in the rings, no more than they hold at once, and returns how full the fullest shard was. Rings whose
// program is gone and which are empty are removed.
func (r *Recorder) pass() (full float64, err error) {
	for path, d := range r.rings {
		over := d.over()
		n, err := d.pass()
		full = max(full, n)
		if err == nil && over && n > 0 {
			n, err = d.pass() // which finds nothing, unless somebody still writes
		}
		if err != nil {
			return full, err
		}
		if d.broken == nil && (!over || n > 0) {
			continue
		}
		delete(r.rings, path)
		r.ended = append(r.ended, d)
		if err := d.finish(over && d.broken == nil); err != nil {
			return full, err
		}
		if d.broken != nil {
			if err := r.fail(d.info.Program, d.info.PID, d.broken); err != nil {
				return full, err
			}
		}
		if !d.removed { // or it would be found again
			r.known[path] = true
		}
	}
	return full, nil
}

// finish completes the trace and lets go of everything.
func (r *Recorder) finish() (errs []error) {
	for path, d := range r.rings {
		delete(r.rings, path)
		r.ended = append(r.ended, d)
		errs = append(errs, d.finish(false))
	}
	errs = append(errs, r.own.finish())
	for _, s := range r.sources {
		errs = append(errs, r.sourceOver(ended{s, s.finish()}))
	}
	return append(errs, r.t.close())
}

// directories returns where rings are looked for; "" stands for where programs make them by themselves.
func (r *Recorder) directories() []string {
	if len(r.o.Rings) == 0 {
		return []string{""}
	}
	return r.o.Rings
}

// find opens the rings of chosen programs that are new. An error is the trace's.
func (r *Recorder) find() error {
	before := len(r.rings)
	for _, dir := range r.directories() {
		paths, err := ring.Find(dir)
		if err != nil {
			r.o.Warnings.Add(dir, "no rings can be looked for here", err.Error())
			continue
		}
		for _, path := range paths {
			if r.rings[path] == nil && !r.known[path] {
				if err := r.open(path); err != nil {
					return err
				}
			}
		}
	}
	if len(r.rings) == before {
		return nil
	}
	return r.t.writeMetadata()
}

// open begins with a ring, if it is one of a chosen program and can be read. An error is the trace's.
func (r *Recorder) open(path string) error {
	info, err := ring.Look(path)
	if err == nil && (!chosen(r.o.Programs, info) || r.o.Only != nil && !r.o.Only(info)) {
		r.known[path] = true
		return nil
	}
	if err == nil && info.Elsewhere() {
		r.known[path] = true
		r.o.Warnings.Add(path, "the ring is of before this machine was started, or of another one, and is left as it is: make a trace of its own of it with sensor.Recover", "")
		return nil
	}
	var reader *ring.Reader
	if err == nil {
		reader, err = ring.Open(path)
	}
	switch {
	case errors.Is(err, ring.ErrUnready), errors.Is(err, os.ErrNotExist):
		return nil // it will be ready, or is gone
	case errors.Is(err, ring.ErrBusy):
		if !r.busy[path] {
			r.busy[path] = true
			r.o.Warnings.Add(path, "the ring has another reader, which has its events until it ends", "")
		}
		return nil
	case err != nil: // perhaps another user's
		r.known[path] = true
		r.o.Warnings.Add(path, "the ring cannot be read", err.Error())
		return nil
	}
	d, err := newDrain(reader, r.t, r.times, r.o.Warnings)
	if err != nil {
		r.known[path] = true
		reader.Close()
		return r.fail(info.Program, info.PID, err)
	}
	r.rings[path] = d
	return nil
}

// chosen says whether a program is one of those that were asked for.
func chosen(patterns []string, info ring.Info) bool {
	for _, p := range patterns {
		if ok, _ := filepath.Match(p, info.Program); ok || p == fmt.Sprint(info.PID) {
			return true
		}
	}
	return len(patterns) == 0
}
