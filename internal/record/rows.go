package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/internal/retention"
	"meridian/trace"
)

// rows writes the streams of a source: a stream class of the trace, a file for each stream. Each recorder begins classes
// and files of its own.
type rows struct {
	t     *hostTrace
	name  string
	cpus  bool
	class int           // in the trace's metadata
	m     *ctf.Metadata // of this stream class alone: the encoder's
	enc   *ctf.Encoder
	files []*rowFile
	own   []int  // of each class, how many fields are not its context
	first uint64 // the earliest stamp of all; 0 for none yet
	whole bool   // nothing is dropped of it
	state bool   // as in chunkFile
	roll  int    // as in chunkFile
	lock  *sync.Mutex
}

// rowFile is the file of a stream. None of its packets crosses into another page, and they are written many at once: when a
// recorder is killed, the kernel interrupts a write only between two pages, so no packet is torn. babeltrace2 would refuse a
// torn one.
type rowFile struct {
	stream  trace.Stream
	file    chunkFile
	packets []byte         // not written yet
	span    retention.Span // of these
	counted uint64         // events of these and of the packets before
	w       *ctf.StreamWriter
	at      uint64 // the latest stamp; 0 for none yet
	lost    uint64
	untold  bool // no packet has the last count of lost events
}

const (
	page     = 4096
	unit     = 64        // to which a packet is padded that is written before its page is full
	maxWrite = 256 << 10 // bytes of packets that are gathered
)

func newRows(t *hostTrace, name string, cpus bool) (*rows, error) {
	m, err := parsed(t.m.UUID, sourceStream(cpus), name)
	if err != nil {
		return nil, fmt.Errorf("record: %s: %w", name, err)
	}
	r := &rows{t: t, name: name, cpus: cpus, m: m, enc: ctf.NewEncoder(m)}
	r.class = t.add(m.Streams[0], m.Slots)
	m.Streams[0].ID = t.id(r.class)
	return r, nil
}

// declared returns how many classes the metadata has.
func (r *rows) declared() int { return len(r.m.Streams[0].Events) }

// declare enters the classes that are new into the metadata, which is then to be written.
func (r *rows) declare(classes []trace.Class) error {
	s := &r.m.Streams[0]
	for i := len(s.Events); i < len(classes); i++ {
		e, err := r.enc.Declare(uint64(i), &classes[i])
		if err != nil {
			return fmt.Errorf("record: %s: %w", r.name, err)
		}
		s.Events = append(s.Events, e)
		r.own = append(r.own, len(classes[i].Fields)-classes[i].Context)
	}
	r.t.replace(r.class, *s, r.m.Slots)
	return nil
}

// add enters the streams that are new.
func (r *rows) add(streams []trace.Stream) error {
	for i := len(r.files); i < len(streams); i++ {
		s := streams[i]
		if r.cpus != (s.Kind == trace.CPU) {
			return fmt.Errorf("record: %s: stream %d (%s) is not a processor, but other streams are", r.name, i, s.Name)
		}
		f := &rowFile{stream: s, file: chunkFile{k: r.t.keeper, row: r.name + " " + s.Name, state: r.state, roll: r.roll, lock: r.lock}}
		f.file.base = filepath.Join(r.t.dir, fmt.Sprintf("%s_%d_%d", plain(r.name), r.m.Streams[0].ID, i))
		if r.whole {
			f.file.k = nil
		}
		var context []trace.Value
		if r.cpus {
			context = append(context, trace.OfUint(uint64(s.ID)))
		}
		context = append(context, trace.OfText(s.Name), trace.OfText(s.Kind.String()), trace.OfInt(s.ID))
		var err error
		if f.w, err = r.enc.NewStream(f, 0, ctf.StreamOptions{PacketSize: page, Fixed: true, Unit: unit, Instance: uint64(i), Context: context}); err != nil {
			return fmt.Errorf("record: %s: %w", r.name, err)
		}
		r.files = append(r.files, f)
	}
	return nil
}

func (r *rows) write(e *Event) error {
	n := min(r.own[e.Class], len(e.Values))
	f := r.files[e.Stream]
	f.at = max(f.at, e.Stamp)
	if r.first == 0 || e.Stamp < r.first {
		r.first = e.Stamp
	}
	if err := f.w.Write(e.Class, e.Stamp, nil, e.Values[n:], e.Values[:n]); err != nil {
		return fmt.Errorf("record: %s: %w", r.name, err)
	}
	return nil
}

// lose counts what a source lost of each stream so far. It is told even if no event comes, in a packet that begins with the
// stream's own latest one: sources bring the events of a stream after later ones of others, and an event cannot lie before
// its packet. One of a stream without events begins with the first of all, before which there will hardly be any.
func (r *rows) lose(lost []uint64) error {
	for i, f := range r.files {
		if i < len(lost) && lost[i] > f.lost {
			if err := f.beginChunk(); err != nil {
				return err
			}
			f.w.Discard(lost[i] - f.lost)
			f.lost, f.untold = lost[i], true
		}
		if at := max(f.at, r.first); f.untold && at > 0 {
			f.w.Begin(at)
			f.untold = false
		}
	}
	return nil
}

// beginChunk writes a packet without events if the next one begins a chunk of the file: see chunkFile.
func (f *rowFile) beginChunk() error {
	if !f.file.fresh() || len(f.packets) > 0 {
		return nil
	}
	if err := f.w.Flush(); err != nil || len(f.packets) > 0 {
		return err
	}
	f.w.NewFile()
	f.w.Begin(f.at)
	return f.w.Flush()
}

// end tells what was lost where there never was an event.
func (r *rows) end() {
	for _, f := range r.files {
		if f.untold {
			f.w.Begin(clock.Monotonic.Now())
			f.untold = false
		}
	}
}

func (r *rows) flush() error {
	for _, f := range r.files {
		if err := f.w.Flush(); err != nil {
			return fmt.Errorf("record: %s: %w", r.name, err)
		}
		if err := f.flush(); err != nil {
			return fmt.Errorf("record: %s: %w", r.name, err)
		}
	}
	return nil
}

func (r *rows) close() error {
	var errs []error
	for _, f := range r.files {
		if err := f.file.close(); err != nil {
			errs = append(errs, &outputError{fmt.Errorf("record: %w", err)})
		}
	}
	return errors.Join(errs...)
}

func (r *rows) counts() (all []Counts) {
	for _, f := range r.files {
		all = append(all, Counts{Name: r.name + " " + f.stream.Name, Events: f.w.Events, Bytes: f.w.Bytes, Packets: f.w.Packets, Lost: f.lost, Moved: f.w.Raised})
	}
	return all
}

// Write takes a packet.
func (f *rowFile) Write(packet []byte) (int, error) {
	le := binary.LittleEndian
	f.packets = append(f.packets, packet...)
	f.span.Add(retention.Span{Packets: 1, Events: f.w.Events - f.counted, Begin: le.Uint64(packet[atBegin:]), End: le.Uint64(packet[atEnd:])})
	f.counted = f.w.Events
	if len(f.packets) >= maxWrite {
		return len(packet), f.flush()
	}
	return len(packet), nil
}

// flush writes the packets that are whole.
func (f *rowFile) flush() error {
	if len(f.packets) > 0 {
		if _, err := f.file.append(f.packets, f.span); err != nil {
			return &outputError{err}
		}
		f.packets, f.span = f.packets[:0], retention.Span{}
	}
	if f.file.fresh() {
		f.w.NewFile()
	}
	return nil
}

// wholePackets returns how long the packets are that are whole, of some that were written as far as there was room.
func wholePackets(written []byte) (at int) {
	for len(written)-at >= sourceHead {
		size := binary.LittleEndian.Uint64(written[at+atSize:]) / 8
		if size < sourceHead || size > uint64(len(written)-at) {
			break
		}
		at += int(size)
	}
	return at
}
