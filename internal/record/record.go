// Package record records one host. In go the rings of the programs that emit events (sensor/ring), as they start and end, and
// sources of other events (kernel events, packets). Out comes one trace in CTF 1.8, with all events on one clock.
//
//	rings in shared memory --> drain: read, convert stamps, write, commit -----.
//	sources, packets ------> a writer each, in a goroutine of its own ---------+--> DIR/metadata  and a file for each stream
//	clocks of the kernel --> an event with the reading of each, every second --'
//
// # The clock
//
// The trace's clock is CLOCK_MONOTONIC, in ns, with the offset to 1970 that it had when the trace was begun. REALTIME may
// be set or steered meanwhile: no stamp is made from it, and the events meridian:clock record its offset. Programs stamp by the
// processor's counter. The recorder reads the counter and MONOTONIC at one instant (clock.Take) whenever it has a stamp
// later than its last such reading. So every stamp that it writes lies between two readings, and is interpolated linearly; its
// error is that of the readings, some 50 ns. Stamps before the recorder's first reading are interpolated between the
// readings that the program itself left in its ring, or else extrapolated from the recorder's.
//
// # The trace
//
//	DIR/metadata           TSDL; replaced atomically, before the first packet that needs it
//	    sensor_1_web_0     packets of shard 0 of a ring; 1 is its stream class, web the program
//	    clocks_0_0         readings of the clocks
//	    kernel_2_0         events of a source: kernel, stream class 2, its stream 0
//	    packets/web.pcapng packets, stamped by the trace's clock; web-2.pcapng those of a second recorder, and so on
//
//	packet header      magic 4, uuid 16, stream_id 4, stream_instance_id 8 (the shard)
//	packet context     timestamp_begin 8, timestamp_end 8, content_size 8, packet_size 8 (bits), packet_seq_num 8,
//	of a ring          events_discarded 8, crc32c 4 (of the events), ring_high 8, ring_low 8 (the ring's UUID),
//	                   position 8 (in the shard, after the last event), row, row_kind, row_id 8
//	event of a ring    timestamp 8, id 2, context, fields; padding up to the end of the page
//
// Each ring is a stream class of its own, because each numbers its classes of events by itself.
//
// # Exactly once
//
// A packet is written to the file before its events are released in the ring. A recorder that is killed between the two leaves
// events both in the trace and in the ring. The next recorder in the same directory skips events before the last packet's position.
// One in another directory is told where its predecessor wrote (Options.After). No event of a program is lost or recorded again.
// Events that a source has buffered are lost with the recorder: those of the last [Options.Flush], 0.1 s.
//
// # Readable at any instant
//
// No packet crosses a page of its file (pages.go). The kernel makes what is written visible page by page, and interrupts a write
// only between two pages. So neither a reader, nor a copy, nor a kill finds part of a packet, which babeltrace2 would refuse. What
// is taken from a shard at once becomes several packets, each with its own position, stamps and checksum, and is written by one call.
// Only an event that does not fit in a page makes a longer packet, which can be torn. The next recorder in the same directory
// cuts off such packets, and those of captures.
//
// # Cost
//
// An event of a ring is copied two times and its stamp rewritten: some 0.1 us with the writing of the file. The head of a packet is
// some 130 bytes, so a page holds 3% less; with what is left at its end the trace is 4% larger than with long packets. A pass over empty
// rings takes about a microsecond each. Between passes the recorder pauses 1 to 50 ms, longer the emptier the rings were. As
// root its thread has the highest priority (nice -20). While it does not run, events stay in the rings, which grow for that
// (sensor/ring, spare.go): a queue in the recorder would be lost with it.
package record

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/internal/record/kernel"
	"meridian/internal/steering"
	"meridian/sensor/ring"
	"meridian/trace"
)

// Options say what is recorded, and where. Only Dir is required.
type Options struct {
	Dir      string               // of the trace: new, or that of a recorder that has ended, which is continued
	Host     string               // name of the host in the trace; "" for its hostname, or that of the trace which is continued
	Title    string               // description of the trace; "" for none
	Rings    []string             // directories of the programs' rings; none for that of package sensor
	Programs []string             // names with * and ?, or numbers of processes; none: all programs
	Only     func(ring.Info) bool // selects programs before their rings are opened, which another recorder may read; nil for all
	After    []string             // traces of killed recorders, whose last events must not be recorded again
	Interval time.Duration        // between readings of all clocks, and calls of Counts; 0 for a second
	Keep     Keep                 // how much is kept of what was recorded; the zero value keeps all
	Flush    time.Duration        // how long an event may wait before it is in the trace's files; 0 for DefaultFlush
	Rest     time.Duration        // the longest pause between looks at the rings and at the steered clock while no ring has events; 0 for 50 ms
	Sources  []Source             // of other events
	Packets  Capture              // nil for none
	Early    *Early               // a reading of the clocks before Sources and Packets were opened; nil for none

	SnapshotAfter time.Duration    // how long after the instant a snapshot is taken
	Trigger       []Trigger        // events that ask for a snapshot; need Keep
	SnapshotAt    <-chan os.Signal // each asks for a snapshot; nil for none

	Ready    func()          // called once by the goroutine of Run when all sources and the rings that are there are recorded; may be nil
	Counts   func(Summary)   // called at each Interval with the counts so far, by the goroutine of Run; may be nil
	Snapshot func(Snapshot)  // called when a snapshot was made or failed, by a goroutine of its own; may be nil
	Warn     func(string)    // called at once with a warning that concerns what is still to be recorded, by any goroutine; nil: Warnings gets it
	Failed   func(Failure)   // called at once when a source or ring fails, by the goroutine of Run; nil: Warnings gets it
	Warnings *trace.Warnings // gets all other faults that do not end the recording; may be nil
}

// Recorder records a host.
type Recorder struct {
	o     Options
	t     *hostTrace
	times *times
	own   *clocks

	rings    map[string]*drain // that are being read, by file
	ignored  map[string]bool   // files that must not be read, or could not be
	busy     map[string]bool   // files that another recorder reads
	ending   bool              // what another recorder of the trace held is waited for
	held     int               // how many files another recorder held at the last look
	ended    []Counts          // of rings that are no longer read: there may be thousands of short programs
	listener *ring.Listener    // in the directories of rings
	sources  []writer
	done     int // how many sources have ended
	pauses   pauses

	nextAlive time.Time // when the programs are to be looked for again

	snapshots *snapshots
	failures  []Failure
	unlisted  int // failures beyond maxFailures
}

// New begins a trace, or continues one whose recorder has ended. It fails while another recorder writes to the directory.
func New(o Options) (*Recorder, error) { return newRecorder(o, clock.Take) }

func newRecorder(o Options, take func(clock.Source) clock.Snapshot) (_ *Recorder, err error) {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.Warnings == nil {
		o.Warnings = new(trace.Warnings)
	}
	if o.Flush <= 0 {
		o.Flush = DefaultFlush
	}
	named := o.Host
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
	r := &Recorder{o: o, times: newTimes(take, o.Early), pauses: pausesFor(o.Flush, o.Rest), rings: map[string]*drain{}, ignored: map[string]bool{}, busy: map[string]bool{}}
	if r.t, err = openTrace(&o, take(clock.Monotonic)); err != nil {
		return nil, err
	}
	r.listener = ring.Listen(o.Rings...)
	defer func() {
		if err != nil {
			r.t.close()
			r.listener.Close()
		}
	}()
	if err := r.t.sameHost(named, &o); err != nil {
		return nil, err
	}
	if r.t.keeper, err = newKeeper(r.t, &o); err != nil {
		return nil, err
	}
	r.snapshots = newSnapshots(r.t, &o)
	if r.own, err = newClocks(r.t, r.times, steering.ReadKernel, o.Interval); err != nil {
		return nil, err
	}
	for _, s := range o.Sources {
		w, err := newSourceWriter(r.t, s, o.Flush)
		if err != nil {
			return nil, err
		}
		w.wants(o.Trigger, r.snapshots)
		r.sources = append(r.sources, w)
	}
	if err := r.t.writeMetadata(); err != nil {
		return nil, err
	}
	r.own.packets = errorsOf(&o)
	if o.Packets != nil {
		w, err := newPacketWriter(&o, r.Origin(), r.t.keeper)
		if err != nil {
			return nil, err
		}
		r.sources = append(r.sources, w)
	}
	return r, nil
}

// errorsOf returns what tells by how much stamps may be off that were led to MONOTONIC from another clock, ns: those of packets, and
// of sources that have a ClockError. It is nil without any.
func errorsOf(o *Options) func() int64 {
	var all []func() int64
	for _, s := range o.Sources {
		if s, ok := s.(interface{ ClockError() int64 }); ok {
			all = append(all, s.ClockError)
		}
	}
	if o.Packets != nil {
		all = append(all, func() int64 {
			s, err := o.Packets.Stats()
			if err != nil {
				return 0 // the capture has failed, and says so
			}
			return s.ClockError
		})
	}
	if len(all) == 0 {
		return nil
	}
	return func() (off int64) {
		for _, f := range all {
			off = max(off, f())
		}
		return off
	}
}

// Continued returns the host's name in the trace of an earlier recorder that this one continues, and whether there is one.
func (r *Recorder) Continued() (host string, ok bool) { return r.t.text("hostname"), r.t.continued }

// writer writes the events of a source. Run ends with the context, once the events up to then are written. Finish is called
// after it. An [outputError] ends the recording, any other error only the source.
type writer interface {
	name() string
	run(context.Context) error
	finish() error
	counts() []Counts
	missed() uint64 // events that the kernel kept from the source, which are in the counts as lost
	faults() []kernel.Fault
}

// Origin returns by how many ns the trace's clock is ahead of CLOCK_MONOTONIC: the offset of REALTIME when the trace was begun. It
// stays the same when another recorder continues the trace.
func (r *Recorder) Origin() int64 { return originOf(r.t.m) }

func originOf(m *ctf.Metadata) int64 {
	c := &m.Clocks[0]
	return c.OffsetSeconds*1_000_000_000 + c.Offset
}

// Run records until the context is done, including the events up to then. It ends earlier only where the trace cannot be written,
// with an error. A source or a ring that fails is not recorded further and is no error: Options.Failed, the summary and the
// trace report it, and all others are recorded on. The trace is readable in any case. Run must be called once.
func (r *Recorder) Run(ctx context.Context) (Summary, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	r.own.watch()
	over := make(chan ended, len(r.sources))
	for _, s := range r.sources {
		go func() { over <- ended{s, s.run(inner)} }()
	}
	errs := []error{r.drain(inner, over)}
	cancel()
	for range len(r.sources) - r.done {
		errs = append(errs, r.sourceOver(<-over))
	}
	errs = append(errs, r.finish()...)
	s := r.summary()
	s.Unmet = r.snapshots.checks.unmet()
	return s, joined(errs...)
}

// drain records the rings until the context is done, including the events up to then, or until the trace cannot be written.
func (r *Recorder) drain(ctx context.Context, sources <-chan ended) error {
	defer raisePriority()()
	retryIn := r.pauses.least
	ready := sync.OnceFunc(func() {
		if r.o.Ready != nil {
			r.o.Ready()
		}
	})
	nextInterval := time.Now()
	nextFind := nextInterval
	var making time.Time // until then a ring may be about to be ready
	for {
		// What programs emitted until the end is recorded by one more pass, and nothing that they emit later is waited for.
		ending := ctx.Err() != nil
		select {
		case e := <-sources:
			r.done++
			if err := r.sourceOver(e); err != nil {
				return err
			}
		default:
		}
		if now := time.Now(); ending || !now.Before(nextFind) {
			look := r.find
			if ending {
				look = func() (found, unready bool, err error) { return findAtEnd(r) }
			}
			found, unready, err := look()
			if err != nil {
				return err
			}
			r.snapshots.poll()
			if err := r.t.keeper.enforce(); err != nil {
				return err
			}
			nextFind = now.Add(max(findInterval, r.o.Rest))
			if unready && now.Before(making) {
				nextFind, found = now, true
			}
			if found {
				retryIn = r.pauses.least
			}
		}
		full, err := r.pass(ending)
		if err != nil || ending {
			return err
		}
		ready()
		retryIn = r.pauses.next(retryIn, full)
		now := time.Now()
		if err := r.own.observe(now); err != nil {
			return err
		}
		if !now.Before(nextInterval) {
			nextInterval = now.Add(r.o.Interval)
			if err := r.beat(); err != nil {
				return err
			}
		}
		if r.pause(ctx, retryIn) {
			nextFind = time.Now()
			making = nextFind.Add(makingTime)
		}
	}
}

// pause waits for at most d and says whether a ring was made meanwhile. While the rings are empty, that ends it.
func (r *Recorder) pause(ctx context.Context, d time.Duration) (made bool) {
	if d <= r.pauses.busy {
		pause(d)
		d = 0
	}
	select {
	case <-r.listener.Created():
		return true
	default:
	}
	if d == 0 {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-r.listener.Created():
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// beat does what Options.Interval asks for.
func (r *Recorder) beat() error {
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

// pass records the events in the rings, at most as many as they can hold at once, and returns the share in use of the fullest
// shard. Empty rings of programs that have ended are removed.
func (r *Recorder) pass(last bool) (full float64, err error) {
	alive := last || !time.Now().Before(r.nextAlive)
	if alive {
		r.nextAlive = time.Now().Add(findInterval)
	}
	for path, d := range r.rings {
		ended := d.ended(alive)
		n, err := d.pass()
		full = max(full, n)
		if err == nil && ended && n > 0 {
			n, err = d.pass() // finds nothing, unless the ring is still written
		}
		if err != nil {
			return full, err
		}
		if d.broken == nil && (!ended || n > 0) {
			continue
		}
		delete(r.rings, path)
		err = d.finish(ended && d.broken == nil)
		r.ended = append(r.ended, d.counts)
		if err != nil {
			return full, err
		}
		if d.broken != nil {
			if err := r.fail(d.info.Program, d.info.PID, d.broken); err != nil {
				return full, err
			}
		}
		if !d.removed { // else find would open it again
			r.ignored[path] = true
		}
	}
	return full, nil
}

// finish completes the trace and closes everything.
func (r *Recorder) finish() (errs []error) {
	for path, d := range r.rings {
		delete(r.rings, path)
		errs = append(errs, d.finish(false))
		r.ended = append(r.ended, d.counts)
	}
	errs = append(errs, r.listener.Close(), r.own.finish())
	for _, s := range r.sources {
		errs = append(errs, r.sourceOver(ended{s, s.finish()}))
	}
	r.snapshots.finish()
	return append(errs, r.t.keeper.close(), r.t.close())
}
