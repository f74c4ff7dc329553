// Package shm hands a timeline on to programs of the same machine through shared memory: in go events, out comes a ring
// (sensor/ring) from which any number of programs read them, without a system call for an event and without a word to the
// writer, which never waits for them.
//
//	writer: Create --> Write ...            one, overwrites the oldest events
//	reader: Open ----> Next, Lost, Ended    any number, in Go; examples/subscribe/subscribe.c is one in C
//
// The file is a ring of version 1 in overwrite mode with one shard and one class, "event". So the events lie in the order
// in which they were written. Package sensor/ring has the layout of the file; that of an event is, little-endian and
// packed:
//
//	 0  8  time, ns since 1970, as int64     68  4  host, a number from 0
//	 8  2  class of the ring, 0              72  4  row, a number from 0
//	10  2  length of the whole               76  4  event, a number from 0
//	12  8  number of the event, from 0       80  4  component of time, int32; -1: the stamp as it was recorded
//	20  8  low                               84  1  phase: 0 instant, 1 begin, 2 end, 3 counter
//	28  8  high                              85  1  role: 0 none, 1 sends, 2 receives, 3 enters, 4 leaves
//	36  8  stamp as recorded                 86  1  flags: 1 bounded, 2 fields cut
//	44  8  late, ns                          87  1  kind of row: 0 other, 1 process, 2 thread, 3 cpu, 4 interrupt,
//	52  8  flow; 0 none                             5 device, 6 messages, 7 bounds
//	60  8  slice; 0 none                     88  .. texts, each with a NUL behind it: host, row, category, event, fields
//
// Where flag 1 is set the event happened from low to high; otherwise both are its time. Late is how far the event is behind
// the latest before it, 0 in order. Fields is a JSON object, as format/jsonl writes it, "{}" where it would not fit (flag
// 2). Hosts, rows and events keep their numbers while the ring lives. Flow and slice pair the ends of messages and slices.
//
// Numbers are consecutive. A reader that the writer overtook finds a gap, and it is exactly what the reader lost.
//
// The file belongs to the writer's user, with mode 0600. It is removed when the writer ends; readers that have it then still
// read what it holds. A writer that was killed leaves it, and the next one replaces it.
//
// An event with two fields costs 0.3 µs, and no memory.
package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unsafe"

	"meridian/clock"
	"meridian/format/internal/table"
	"meridian/format/internal/timeline"
	"meridian/sensor/ring"
	"meridian/trace"
)

// Options say how large a ring is.
type Options struct {
	Size int64 // bytes, from 256 KiB to 1 GiB, rounded up to a power of two; 0 is 4 MiB
}

// Limits of Options.Size. A sub-buffer has 64 KiB, the most that an event can have.
const (
	MinSize     = 4 * bufferSize
	MaxSize     = 1 << 30
	defaultSize = 4 << 20
	bufferSize  = 64 << 10
)

// Where the parts of an event are, in bytes from its beginning.
const (
	atNumber    = 12
	atLow       = 20
	atHigh      = 28
	atRecorded  = 36
	atLate      = 44
	atFlow      = 52
	atSlice     = 60
	atHost      = 68
	atRow       = 72
	atEvent     = 76
	atComponent = 80
	atPhase     = 84
	atRole      = 85
	atFlags     = 86
	atKind      = 87
	atTexts     = 88
)

const (
	flagBounded = 1
	flagCut     = 2
)

// longestName is how many bytes of a name an event has where all of it would not fit.
const longestName = 1000

// fields declares an event for readers of CTF.
func fields() string {
	var b strings.Builder
	number := func(size int, signed bool, names ...string) {
		for _, name := range names {
			fmt.Fprintf(&b, "integer { size = %d; align = 8; signed = %t; } _%s; ", size, signed, name)
		}
	}
	number(64, false, "number")
	number(64, true, "low", "high", "recorded")
	number(64, false, "late", "flow", "slice")
	number(32, false, "host_number", "row_number", "event_number")
	number(32, true, "component")
	number(8, false, "phase", "role", "flags", "row_kind")
	for _, name := range []string{"host", "row", "category", "event", "fields"} {
		fmt.Fprintf(&b, "string { encoding = UTF8; } _%s; ", name)
	}
	return strings.TrimSpace(b.String())
}

// Writer is a sink that writes into a ring.
type Writer struct {
	progress timeline.Progress
	ring     *ring.Ring
	shard    *ring.Shard
	layout   *table.Layout
	number   uint64
	event    []byte
}

// Create makes a ring for events that refer to a schema, which may grow while they come. A ring of that name whose writer is
// dead is replaced; any other file is an error.
func Create(path string, s *trace.Schema, o Options) (*Writer, error) {
	if o.Size == 0 {
		o.Size = defaultSize
	}
	if o.Size < MinSize || o.Size > MaxSize {
		return nil, fmt.Errorf("shm: a ring of %d bytes; %d to %d are possible", o.Size, MinSize, MaxSize)
	}
	progress, err := timeline.NewProgress("shm", nil, s)
	if err != nil {
		return nil, err
	}
	if err := replace(path); err != nil {
		return nil, err
	}
	buffers := 1
	for int64(buffers)*bufferSize < o.Size {
		buffers *= 2
	}
	r, err := ring.Create(ring.Options{Path: path, Shards: 1, Buffers: buffers, BufferSize: bufferSize, Classes: 1, Metadata: 8192,
		Overwrite: true, Clock: ring.Clock{Frequency: 1e9}})
	if err != nil {
		return nil, fmt.Errorf("shm: %w", err)
	}
	if _, err := r.Register(ring.Class{Name: "event", Category: "meridian", Fields: fields()}); err != nil {
		return nil, errors.Join(fmt.Errorf("shm: %w", err), r.Unmap(), r.Remove())
	}
	return &Writer{progress: progress, ring: r, shard: r.Shard(0), layout: table.New(s, 0)}, nil
}

// replace removes the ring of a writer that is dead.
func replace(path string) error {
	info, err := ring.Look(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("shm: %s exists already: %w", path, err)
	case info.Alive():
		return fmt.Errorf("shm: %s: process %d writes this ring; end it or choose another name", path, info.PID)
	}
	return os.Remove(path)
}

// Write writes an event, which readers see at once. Its error is that of an event whose host, stream or class the schema does
// not have, or of a writer that is closed; after an error nothing is written. An event for which the machine has no memory is
// missing for all readers: they find a gap.
func (w *Writer) Write(r *trace.TimelineEvent) error {
	if err := w.progress.Accept(r); err != nil {
		return err
	}
	late := int64(0)
	if w.progress.Events > 0 && r.Time < w.progress.Last {
		late = clock.Sub(w.progress.Last, r.Time)
	} else {
		w.progress.Last = r.Time
	}
	w.progress.Events++
	w.layout.Place(r)
	rest := w.layout.Rest
	if len(rest) == 0 {
		rest = []byte("{}")
	}
	w.encode(r, late, rest, ring.MaxSize)
	if len(w.event) > ring.MaxSize {
		w.encode(r, late, []byte("{}"), longestName)
		w.event[atFlags] |= flagCut
	}
	w.number++
	size := len(w.event)
	if p := w.shard.Reserve(size); p != nil {
		ring.PutHead(p, 0, size, uint64(r.Time))
		copy(unsafe.Slice((*byte)(p), size)[ring.HeadSize:], w.event[ring.HeadSize:])
		w.shard.Commit(size, uint64(r.Time))
	}
	return nil
}

// encode makes the bytes of an event; those of its head stay empty.
func (w *Writer) encode(r *trace.TimelineEvent, late int64, fields []byte, most int) {
	var head [atTexts]byte
	le := binary.LittleEndian
	for _, x := range []struct {
		at int
		n  uint64
	}{
		{atNumber, w.number}, {atLow, uint64(r.Time)}, {atHigh, uint64(r.Time)}, {atRecorded, uint64(r.Event.Time)}, {atLate, uint64(late)},
		{atFlow, r.Flow}, {atSlice, r.Slice},
	} {
		le.PutUint64(head[x.at:], x.n)
	}
	if r.Bounded {
		head[atFlags] = flagBounded
		le.PutUint64(head[atLow:], uint64(r.Low))
		le.PutUint64(head[atHigh:], uint64(r.High))
	}
	component := int32(-1)
	if c, ok := w.progress.Schema.Component(r); ok {
		component = int32(c)
	}
	le.PutUint32(head[atHost:], uint32(r.Host))
	le.PutUint32(head[atRow:], uint32(r.Stream))
	le.PutUint32(head[atEvent:], uint32(r.Class))
	le.PutUint32(head[atComponent:], uint32(component))
	head[atPhase], head[atRole], head[atKind] = byte(r.Phase), byte(r.Role), byte(w.progress.Schema.Streams[r.Stream].Kind)
	names := table.RowOf(w.progress.Schema, r)
	w.event = append(w.event[:0], head[:]...)
	for _, name := range []string{names.Host, names.Row, names.Category, names.Event} {
		w.event = append(appendName(w.event, name, most), 0)
	}
	w.event = append(append(w.event, fields...), 0)
}

// appendName appends a name as UTF-8 without NUL.
func appendName(b []byte, name string, most int) []byte {
	if len(name) > most {
		name = name[:most]
	}
	name = strings.ToValidUTF8(name, "\ufffd")
	if strings.IndexByte(name, 0) >= 0 {
		name = strings.ReplaceAll(name, "\x00", "\ufffd")
	}
	return append(b, name...)
}

// Flush does nothing: readers see every event at once.
func (w *Writer) Flush() error { return w.progress.Err }

// Close tells the readers that no more comes, and removes the file's name.
func (w *Writer) Close() error {
	if w.ring == nil {
		return w.progress.Close()
	}
	err := errors.Join(w.ring.Close(), w.ring.Remove(), w.ring.Unmap())
	w.ring = nil
	return errors.Join(err, w.progress.Close())
}
