package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"meridian/clock"
	"meridian/internal/record/kernel"
	"meridian/internal/record/packet"
	"meridian/internal/retention"
	"meridian/trace"
)

// Capture is a source of packets, as [packet.Capture] is.
type Capture interface {
	// SetOrigin is called first: stamps are CLOCK_MONOTONIC plus ns.
	SetOrigin(ns int64) error
	// Interfaces returns a list that only grows, and grows before Read passes on a frame of a new one.
	Interfaces() []packet.Interface
	// Read calls each with every frame until the context is done, including the frames up to then.
	Read(ctx context.Context, each func(*trace.Frame, trace.Direction) error) error
	// Stats may be called while Read runs.
	Stats() (packet.Stats, error)
}

// packetFiles is the directory of the packets in a trace's directory: readers of CTF take the files there for streams.
const (
	packetFiles  = "packets"
	packetSuffix = ".pcapng"
)

// stampedBy returns the end of the comment in a file of packets.
func stampedBy(origin int64) string {
	return fmt.Sprintf(", stamped by CLOCK_MONOTONIC + %d ns as the trace beside them", origin)
}

// packetWriter writes the packets of a capture to a file of their own.
type packetWriter struct {
	capture  Capture
	warnings *trace.Warnings
	origin   int64
	every    time.Duration // between two calls of flush

	dir, host, comment string
	keeper             *keeper // nil: all packets go to one file
	next               int     // number of the next file

	mu     sync.Mutex       // the capture's goroutine writes, another one flushes
	chunk  *chunk           // of file, with a keeper
	since  uint64           // MONOTONIC; no packet that chunk does not know of is older
	told   retention.Span   // what chunk knows of
	past   []packet.Written // of complete files
	file   *packet.File
	failed error // of the output or the capture; nothing is written after it
	stats  packet.Stats
}

func newPacketWriter(o *Options, origin int64, k *keeper) (*packetWriter, error) {
	w := &packetWriter{capture: o.Packets, warnings: o.Warnings, origin: origin, every: o.Flush / 2, keeper: k}
	if err := w.capture.SetOrigin(origin); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	w.dir = filepath.Join(o.Dir, packetFiles)
	if err := os.MkdirAll(w.dir, 0o777); err != nil {
		return nil, fmt.Errorf("record: %w", full(err))
	}
	w.comment = "packets of " + o.Host + stampedBy(origin)
	w.host = plain(o.Host)
	if w.host == "" || w.host[0] == '.' {
		w.host = "host" + w.host // readers skip files whose names begin with a dot
	}
	return w, w.create()
}

// create begins a file under the first name that is free:
//
//	web.pcapng, web-2.pcapng, ...     of each recorder one
//	web_0.pcapng, web_1.pcapng, ...   where the recorder drops what is old; web_R_0.pcapng, ... as in chunkFile
func (w *packetWriter) create() error {
	for ; ; w.next++ {
		name := w.host
		switch {
		case w.keeper != nil:
			name = fmt.Sprintf("%s_%s%d", name, w.keeper.run, w.next)
		case w.next > 0:
			name = fmt.Sprintf("%s-%d", name, w.next+1)
		}
		path := filepath.Join(w.dir, name+packetSuffix)
		file, err := packet.Create(path, w.comment)
		switch {
		case errors.Is(err, fs.ErrExist): // an earlier recorder's
			continue
		case err != nil:
			return fmt.Errorf("record: %w", full(err))
		}
		if w.keeper != nil {
			w.chunk = w.keeper.begin(&chunkFile{k: w.keeper, path: path, row: packetFiles})
			w.since = uint64(clock.Monotonic.Now())
			w.next++
		}
		file.StartAt(w.stats)
		w.file, w.told = file, retention.Span{}
		if err := w.flush(); err != nil {
			return errors.Join(err, w.file.Close())
		}
		return nil
	}
}

// grown tells the keeper what the file has got, and begins the next one where it is time to.
func (w *packetWriter) grown() error {
	if w.keeper == nil {
		return nil
	}
	if w.tell() {
		if err := w.writeStatistics(true); err != nil {
			return err
		}
		w.tell()
		w.add(w.file.Written())
		w.keeper.ended(w.chunk)
		if err := w.file.Close(); err != nil {
			return &outputError{fmt.Errorf("record: packets: %w", full(err))}
		}
		if err := w.create(); err != nil {
			return &outputError{err}
		}
	}
	if err := w.keeper.enforce(); err != nil {
		return &outputError{err}
	}
	return nil
}

// tell tells the keeper what the file has got since the last call, whose packets are between that and now. Full says that the
// file is to end.
func (w *packetWriter) tell() (full bool) {
	now := retention.Span{Bytes: uint64(w.file.Size())}
	for _, i := range w.file.Written() {
		now.Events += uint64(i.Packets)
	}
	if now.Bytes == w.told.Bytes {
		return false
	}
	at := uint64(clock.Monotonic.Now())
	of := retention.Span{Packets: 1, Events: now.Events - w.told.Events, Bytes: now.Bytes - w.told.Bytes, Begin: w.since, End: at}
	w.since, w.told = at, now
	return w.keeper.grew(w.chunk, of) && now.Events > 0
}

// add counts the packets of a file that is complete.
func (w *packetWriter) add(written []packet.Written) {
	for i, f := range written {
		if i == len(w.past) {
			w.past = append(w.past, packet.Written{Interface: f.Interface})
		}
		w.past[i].Packets += f.Packets
		w.past[i].Bytes += f.Bytes
	}
}

func (w *packetWriter) name() string { return packetFiles }

// run writes until the capture ends. Packets before its failure are in the file then.
func (w *packetWriter) run(ctx context.Context) error {
	flush := func(counts bool) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case w.failed != nil:
		case counts:
			w.failed = w.flush()
		default:
			w.failed = wrapped(w.file.Flush())
		}
		if w.failed == nil {
			w.failed = w.grown()
		}
		return w.failed
	}
	err := reading(ctx, w.every, flush, func(ctx context.Context) error {
		return w.capture.Read(ctx, func(f *trace.Frame, _ trace.Direction) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.failed == nil {
				w.failed = w.write(f)
			}
			return w.failed
		})
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.failed != nil:
		err = w.failed
	case ctx.Err() == nil && err == nil:
		err = errEnded
	}
	if err == nil || ofOutput(err) {
		return err
	}
	w.failed = w.flush()
	return errors.Join(err, w.failed)
}

func (w *packetWriter) write(f *trace.Frame) error {
	err := w.file.Describe(w.capture.Interfaces())
	if err == nil {
		err = w.file.Write(f)
	}
	if err != nil || w.keeper == nil || w.file.Size()-int64(w.told.Bytes) < w.keeper.bytes {
		return wrapped(err)
	}
	return w.grown() // so much came since the last flush
}

// wrapped explains an error of the file. One of the file system is the output's, one of an invalid packet the capture's.
func wrapped(err error) error {
	if err == nil {
		return nil
	}
	var system *fs.PathError
	if err = fmt.Errorf("record: packets: %w", full(err)); errors.As(err, &system) {
		err = &outputError{err}
	}
	return err
}

// flush writes the buffered packets and the counts of lost ones.
func (w *packetWriter) flush() error { return w.writeCounts(false) }

func (w *packetWriter) writeCounts(last bool) error {
	if err := w.file.Describe(w.capture.Interfaces()); err != nil {
		return wrapped(err)
	}
	if s, err := w.capture.Stats(); err == nil { // else the last ones stand
		w.stats = s
	}
	return w.writeStatistics(last)
}

func (w *packetWriter) writeStatistics(last bool) error {
	return wrapped(w.file.WriteStatistics(w.stats, clock.HostTime(int64(clock.Monotonic.Now())+w.origin), last))
}

func (w *packetWriter) finish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	if !ofOutput(w.failed) { // else it was reported
		err = w.writeCounts(true)
	}
	for _, x := range []struct{ warning, details string }{
		{"interfaces were removed", w.stats.Removed},
		{"interfaces were removed and reappeared; their first packets may be missing", w.stats.Reappeared},
		{"those of interfaces that reappeared may be missing: changes of interfaces could not be read", w.stats.Unwatched},
	} {
		if x.details != "" {
			w.warnings.Add("packets", x.warning, x.details)
		}
	}
	if n := w.stats.Steps; n > 0 {
		w.warnings.AddN("packets", "the system's time was set while they were captured; packets in the microseconds before that was noticed may be off by as much", "", n)
	}
	if n := w.stats.Unknown; n > 0 {
		w.warnings.AddN("packets", "those of interfaces with an unsupported link layer were left out", "", n)
	}
	if shut := w.file.Close(); shut != nil {
		err = errors.Join(err, &outputError{fmt.Errorf("record: packets: %w", full(shut))})
	}
	return err
}

// missed is 0: the kernel shows all packets to a capture.
func (w *packetWriter) missed() uint64         { return 0 }
func (w *packetWriter) faults() []kernel.Fault { return nil }

// counts returns the counts by name of interface, which several interfaces may have had one after another. Lost packets are known
// only for all together, which share a ring.
func (w *packetWriter) counts() (all []Counts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	written := slices.Clone(w.past)
	for i, f := range w.file.Written() {
		if i == len(written) {
			written = append(written, packet.Written{Interface: f.Interface})
		}
		written[i].Packets += f.Packets
		written[i].Bytes += f.Bytes
	}
	for _, i := range written {
		at := slices.IndexFunc(all, func(c Counts) bool { return c.Interface == i.Name })
		if at < 0 {
			at = len(all)
			all = append(all, Counts{Name: "packets " + i.Name, Interface: i.Name})
		}
		all[at].Events += uint64(i.Packets)
		all[at].Packets += uint64(i.Packets)
		all[at].Bytes += uint64(i.Bytes)
	}
	switch lost := uint64(w.stats.Dropped); {
	case lost > 0 && len(all) == 1:
		all[0].Lost = lost
	case lost > 0:
		all = append(all, Counts{Name: "packets of all interfaces", Lost: lost})
	}
	return all
}
