package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"meridian/clock"
	"meridian/record/packet"
	"meridian/trace"
)

// Capture brings packets, as a [packet.Capture] does.
type Capture interface {
	// SetOrigin is called first: stamps are CLOCK_MONOTONIC with so many ns added.
	SetOrigin(ns int64) error
	// Interfaces only grows, before a frame is of a new one.
	Interfaces() []packet.Interface
	// Read calls each with frame after frame until the context is done, and then with what was there by then.
	Read(ctx context.Context, each func(*trace.Frame, trace.Direction) error) error
	// Stats may be called while Read runs.
	Stats() (packet.Stats, error)
}

// packetFiles is the directory in a trace's own that has its packets: what lies beside the metadata is taken for streams.
const packetFiles = "packets"

// packetWriter writes what a capture brings into a file of its own.
type packetWriter struct {
	capture  Capture
	warnings *trace.Warnings
	origin   int64

	mu     sync.Mutex // the capture's goroutine writes, another one flushes
	file   *packet.File
	failed error
	stats  packet.Stats
}

func newPacketWriter(o *Options, origin int64) (*packetWriter, error) {
	w := &packetWriter{capture: o.Packets, warnings: o.Warnings, origin: origin}
	if err := w.capture.SetOrigin(origin); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	dir := filepath.Join(o.Dir, packetFiles)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("record: %w", full(err))
	}
	comment := fmt.Sprintf("packets of %s, stamped by CLOCK_MONOTONIC + %d ns as the trace beside them", o.Host, origin)
	host := plain(o.Host)
	if host == "" || host[0] == '.' {
		host = "host" + host // readers pass over files whose names begin with a dot
	}
	for n := 1; ; n++ {
		name := host
		if n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		var err error
		w.file, err = packet.Create(filepath.Join(dir, name+".pcapng"), comment)
		switch {
		case errors.Is(err, fs.ErrExist): // an earlier recorder's
			continue
		case err != nil:
			return nil, fmt.Errorf("record: %w", full(err))
		}
		if err := w.flush(); err != nil {
			return nil, errors.Join(err, w.file.Close())
		}
		return w, nil
	}
}

// run writes until the capture ends.
func (w *packetWriter) run(ctx context.Context) error {
	flush := func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.failed == nil {
			w.failed = w.flush()
		}
		return w.failed
	}
	err := reading(ctx, flush, func(ctx context.Context) error {
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
	if w.failed != nil {
		return w.failed
	}
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

func (w *packetWriter) write(f *trace.Frame) error {
	err := w.file.Describe(w.capture.Interfaces())
	if err == nil {
		err = w.file.Write(f)
	}
	return w.wrap(err)
}

func (w *packetWriter) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("record: packets: %w", full(err))
}

// flush writes out what is in memory, and what was lost.
func (w *packetWriter) flush() error { return w.tell(false) }

func (w *packetWriter) tell(last bool) error {
	if err := w.file.Describe(w.capture.Interfaces()); err != nil {
		return w.wrap(err)
	}
	if s, err := w.capture.Stats(); err == nil { // else they stay what they were
		w.stats = s
	}
	return w.wrap(w.file.Tell(w.stats, int64(clock.Monotonic.Now())+w.origin, last))
}

func (w *packetWriter) finish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	if w.failed == nil { // else it was told
		err = w.tell(true)
	}
	if gone := w.stats.Gone; gone != "" {
		w.warnings.Add("packets", "interfaces were removed, and nothing is recorded of others that got their names since", gone)
	}
	if n := w.stats.Unknown; n > 0 {
		w.warnings.AddN("packets", "those of interfaces whose link layer is not known here are left out", "", n)
	}
	return errors.Join(err, w.file.Close())
}

// counts are those of each interface. What found no room is known only of all together, which have one ring.
func (w *packetWriter) counts() (all []Counts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, i := range w.file.Written() {
		n := uint64(i.Packets)
		all = append(all, Counts{Name: "packets " + i.Name, Interface: i.Name, Events: n, Packets: n, Bytes: uint64(i.Bytes)})
	}
	switch lost := uint64(w.stats.Dropped); {
	case lost > 0 && len(all) == 1:
		all[0].Lost = lost
	case lost > 0:
		all = append(all, Counts{Name: "packets of all interfaces", Lost: lost})
	}
	return all
}
