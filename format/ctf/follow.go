package ctf

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"meridian/clock"
	"meridian/trace"
)

// Follower reads a trace while it is written: a directory that may not exist yet, in which files grow, appear and disappear, and whose
// metadata is replaced or appended to. It is a [trace.Source] whose io.EOF means "nothing more now":
//
//	f := ctf.Follow(dir, warnings)
//	for ctx.Err() == nil {
//		if _, err := f.Refresh(); err != nil { ... }
//		for f.Next(&event) == nil { ... }
//		wait() // for a change of the directory, or a moment
//	}
//
// A packet is read once it is whole: its size is in the file, its checksum is right where Meridian's recorder wrote one, and the metadata
// has its stream class. Half a packet waits. If it is cut off and written anew, only the new one is read.
//
// Each stream comes in its own order. The streams are merged by time as far as they are available at a Refresh, so a packet that
// becomes whole later may hold earlier stamps than events that were returned before.
//
// Refresh looks once at the directory, the metadata and each file, without reading what has not changed. A Follower starts nothing
// in the background and never sleeps. It belongs to one goroutine.
type Follower struct {
	// Files, unless nil, is told of each file of packets. It is set before the first Refresh.
	Files interface {
		// Opened says that a file was found. A file that is renamed is opened under each of its names.
		Opened(name string)
		// Closed says what was read of a file that was removed, and in which nothing is left, or of any file at the Follower's Close.
		Closed(name string, t Tally)
	}

	dir   string
	w     *trace.Warnings
	t     *Trace  // without Metadata until that is there
	src   *Source // nil until then
	files []*followedFile
	named map[string]*followedFile // those that are in the directory
	slots []int                    // free cursors
	rest  []FilePosition           // where to go on, of files that have not been found

	directory directoryState
	metadata  metadataState
	probe     *Reader // looks ahead for whole packets
	past      Tally   // of files that are closed
	latest    clock.HostTime
	endless   bool  // a packet did not say when it ends
	ends      bool  // one did
	replaced  error // another trace is in the directory; nothing is followed any more
	closed    bool
}

var _ trace.Source = (*Follower)(nil)

// ErrReplaced is wrapped by the error of Refresh when another trace has been put in the place of the one that was followed.
var ErrReplaced = errors.New("another trace was put in its place")

// Follow follows the trace in a directory from its beginning. Damage is reported to w, which may be nil.
func Follow(dir string, w *trace.Warnings) *Follower { return FollowFrom(dir, Position{}, w) }

// FollowFrom goes on where another Follower was at a Position: the events that it returned are not returned again, and all others
// are. Numbers of streams and classes are this Follower's own.
func FollowFrom(dir string, p Position, w *trace.Warnings) *Follower {
	if w == nil {
		w = new(trace.Warnings)
	}
	f := &Follower{dir: dir, w: w, t: &Trace{Dir: dir, w: w}, named: map[string]*followedFile{}, past: p.Past}
	for _, at := range p.Files {
		if at.Packet >= -1 && at.Events >= 0 && at.Next >= 0 { // else it was not stored by a Follower
			f.rest = append(f.rest, at)
		}
	}
	f.metadata.uuid, f.metadata.hasUUID = p.uuid()
	return f
}

// Refresh looks for what was written since the last one. Grew is true if Next may now return more. An error other than [ErrReplaced]
// may pass: what can be read is read, and the next Refresh tries again. The values of the last event become invalid.
func (f *Follower) Refresh() (grew bool, err error) {
	if f.closed {
		return false, errors.New("ctf: Refresh of a closed Follower")
	}
	if f.replaced != nil {
		return false, f.replaced
	}
	if f.src != nil {
		f.src.leave()
	}
	// The sizes of files are taken before the metadata is read, so that it has the classes of all packets in them.
	err = f.scan()
	for i := 0; i < len(f.files); i++ { // a file that was put in the place of another is added
		err = errors.Join(err, f.measure(f.files[i]))
	}
	renewed, metadataErr := f.readMetadata()
	if err == nil || !errors.Is(metadataErr, syscall.ENOTDIR) { // which scan said in the terms of a trace
		err = errors.Join(err, metadataErr)
	}
	if f.replaced != nil || f.src == nil {
		return false, err
	}
	f.markQueued()
	kept := f.files[:0]
	for _, file := range f.files {
		extended := f.extend(file, renewed)
		f.parkIdle(file, extended)
		if !file.queued && file.r != nil && (extended || renewed) && f.wake(file) {
			grew = true
		}
		if file.gone && !file.queued && file.measured >= 2 && !f.Vanished() { // else the directory may be elsewhere: see Moved
			f.drop(file) // it has been looked at after it was removed
			continue
		}
		kept = append(kept, file)
	}
	clear(f.files[len(kept):])
	f.files = kept
	if len(f.rest) > 0 {
		f.forget()
	}
	return grew || len(f.src.queue) > 0, err
}

// markQueued finds out which files have an event in the queue.
func (f *Follower) markQueued() {
	for _, file := range f.files {
		file.queued = false
	}
	for _, q := range f.src.queue {
		f.src.cursors[q.cursor].r.live.queued = true
	}
}

// wake enters a file's next event into the queue. It is false if there is none.
func (f *Follower) wake(file *followedFile) bool {
	r := file.r
	if r.Next() != nil {
		if f.t.plan.meridian && r.Packets > 0 && r.sp != nil && r.sp.naming.name >= 0 && r.sp.naming.scope == PacketContextScope && file.cursor < 0 {
			f.src.namedStream(r) // a row to which others belong
		}
		return false
	}
	if file.cursor < 0 {
		file.cursor = len(f.src.cursors)
		if n := len(f.slots); n > 0 {
			file.cursor, f.slots = f.slots[n-1], f.slots[:n-1]
		} else {
			f.src.cursors = append(f.src.cursors, cursor{})
		}
		f.src.cursors[file.cursor] = cursor{r: r, packetIndex: -1}
	}
	c := &f.src.cursors[file.cursor]
	if c.packetIndex != r.packetIndex || r.sp.naming.scope == CommonContextScope {
		f.src.assignStream(c)
	}
	f.src.push(queuedEvent{r.now, file.cursor})
	file.queued = true
	return true
}

// drop closes a file that was removed and read to its end.
func (f *Follower) drop(file *followedFile) {
	file.finish()
	f.past.add(file.tally())
	f.freeCursor(file)
	file.close()
	f.tellClosed(file)
}

// freeCursor gives the cursor of a file that is not in the queue to the next one.
func (f *Follower) freeCursor(file *followedFile) {
	if file.cursor >= 0 {
		f.src.cursors[file.cursor] = cursor{}
		f.slots = append(f.slots, file.cursor)
	}
	file.cursor = -1
}

func (f *Follower) tellClosed(file *followedFile) {
	if f.Files != nil {
		f.Files.Closed(file.name, *file.tally())
	}
}

// Next fills e with the next event. It returns io.EOF if there is none now.
func (f *Follower) Next(e *trace.Event) error {
	if f.src == nil || f.closed {
		return io.EOF
	}
	return f.src.Next(e)
}

// Values returns the fields of the event. They belong to the Follower until the next Next or Refresh.
func (f *Follower) Values() []trace.Value {
	if f.src == nil {
		return nil
	}
	return f.src.Values()
}

// Latest returns up to when the packets that have been found say that they reach: no event in them that Next has still to return is later,
// if their writer keeps to the format. It is false if there are none, or if one does not say it.
func (f *Follower) Latest() (t clock.HostTime, ok bool) { return f.latest, f.ends && !f.endless }

// reach takes note of where a packet ends, which p has parsed.
func (f *Follower) reach(p *Reader, packet *Packet) {
	if _, ok := p.role(PacketEnd); !ok {
		f.endless = true
		return
	}
	if p.clockOf != packet.class {
		p.clock, p.clockOf = newCycleClock(p.plan.m, packet.class.class.Clock), packet.class
	}
	if t := p.clock.at(packet.End); !f.ends || t > f.latest {
		f.latest, f.ends = t, true
	}
	f.endless = f.endless || !p.clock.known
}

// Reader returns the reader of the event's stream, as [Source.Reader] does.
func (f *Follower) Reader() *Reader {
	if f.src == nil {
		return nil
	}
	return f.src.current
}

// Streams returns the streams seen so far. Their numbers never change.
func (f *Follower) Streams() []trace.Stream {
	if f.src == nil {
		return nil
	}
	return f.src.streams
}

// Classes returns the classes that the metadata has had so far. Their numbers never change.
func (f *Follower) Classes() []trace.Class {
	if f.src == nil {
		return nil
	}
	return f.src.classes
}

// Metadata returns the metadata as it was last read, nil if there was none yet.
func (f *Follower) Metadata() *Metadata { return f.t.Metadata }

// Env returns what the trace says of where it is recorded, as [Trace.Env] does; nil without metadata.
func (f *Follower) Env() map[string]string {
	if f.t.Metadata == nil {
		return nil
	}
	return f.t.Env()
}

// Host returns the name of the host on which the trace is recorded, "" if it does not say so or there is no metadata yet.
func (f *Follower) Host() string { return f.Env()["hostname"] }

// Tally returns what was counted so far of all streams: events, packets, and what the tracer discarded or lost.
func (f *Follower) Tally() Tally {
	sum := f.past
	for i := range f.rest {
		sum.add(&f.rest[i].Tally)
	}
	for _, file := range f.files {
		sum.add(file.tally())
	}
	return sum
}

// Close closes the files and reports what was counted of the streams to the warnings.
func (f *Follower) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	var errs []error
	for _, file := range f.files {
		file.finish()
		ours := f.replaced == nil || file.read() // else it may be of the trace that was put in the place of this one
		if rest := file.size - file.whole; file.unsized {
			f.w.Add(file.s.Path, "packets do not say how long they are: read the trace when it is complete", "")
		} else if rest > 0 && ours {
			f.w.Add(file.s.Path, "its end was not a whole packet and was not read", fmt.Sprintf("%d bytes", rest))
		}
		errs = append(errs, file.close())
		f.tellClosed(file)
	}
	if f.src != nil {
		f.src.closed, f.src.current, f.src.queue = true, nil, nil
	}
	return errors.Join(errs...)
}
