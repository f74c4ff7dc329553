// Package excerpt copies the part of a trace that lies within a span of time: whole packets, from a directory that a recorder writes, into another.
// What comes out is a trace like others, of which streams begin later and end earlier.
//
//	DIR    kernel_2_0_7  |--p--|--p--|--p--|--p--|--p--|      span:     [from ... to]
//	OUT    kernel_2_0_7        |--p--|--p--|--p--|--p--|      those that overlap it, and one on either side
//
// The packet before the span is there for its counts: readers find what was lost by the difference of two packets. That behind it tells what was
// lost since the last that overlaps. Clocks, interfaces and metadata are copied as a whole, clock probes of a minute on either side. Of captures all
// blocks are copied but packets outside of the span; a capture without any in it is left out.
//
// What the recorder dropped of the span is told as in any trace, by meridian:dropped events (package retention), of which the excerpt has those
// alone. The bytes that are read of a packet outside are its head. Memory does not grow with the trace.
package excerpt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"meridian/format/ctf"
	"meridian/internal/collect/wire"
	"meridian/internal/retention"
	"meridian/trace"
)

// Span is an interval of a trace's clock, ns since 1970, ends included.
type Span struct{ From, To int64 }

// Summary is what an excerpt has.
type Summary struct {
	Packets int64 // of the trace, that overlap the span
	Frames  int64 // packets of captures
	// Recorded is when something was recorded at the latest for the first time, ns since 1970; 0 for never. It is of any stream, clocks included,
	// also of what was dropped: a program that is quiet does not make a recorder begin.
	Recorded int64
	// Dropped is what the recorder had dropped of the span; Dropped.All counts it.
	Dropped retention.Dropped
	Any     bool // whether it had
}

// probeMargin is how much longer the span is for clock probes, ns: clocks are bounded by probes on both sides.
const probeMargin = 60e9

// metadataTries is how often the metadata is read that a recorder is replacing.
const metadataTries = 20

// Write copies what a trace has of a span. The directory out must not exist; after an error it is removed.
func Write(ctx context.Context, dir, out string, span Span) (sum Summary, err error) {
	if span.From > span.To {
		return sum, fmt.Errorf("a span from %d to %d: it ends before it begins", span.From, span.To)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
		return sum, err
	}
	if err := os.Mkdir(out, 0o777); err != nil {
		return sum, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(out))
		}
	}()
	meta, _, err := readMetadata(dir)
	if err != nil {
		return sum, err
	}
	x := &excerpt{ctx: ctx, dir: dir, out: out, sum: &sum}
	x.offset = meta.Clocks[0].OffsetSeconds*1e9 + meta.Clocks[0].Offset
	x.span = Span{span.From - x.offset, span.To - x.offset}
	names, err := wire.List(dir, os.ReadDir)
	if err != nil {
		return sum, err
	}
	if err := x.streams(names); err != nil {
		return sum, err
	}
	for _, name := range names {
		if strings.HasPrefix(name, wire.Folder+"/") {
			if err := x.capture(name, span); err != nil {
				return sum, err
			}
		}
	}
	// What was dropped meanwhile is told by now, and the metadata has the types of all packets.
	meta, text, err := readMetadata(dir)
	if err != nil {
		return sum, err
	}
	if err := x.dropped(meta); err != nil {
		return sum, err
	}
	if x.any && x.earliest < math.MaxInt64-max(x.offset, 0) {
		sum.Recorded = x.earliest + x.offset
	}
	return sum, os.WriteFile(filepath.Join(out, wire.Metadata), text, 0o666)
}

// readMetadata reads what describes a trace.
func readMetadata(dir string) (meta *ctf.Metadata, text []byte, err error) {
	path := filepath.Join(dir, wire.Metadata)
	for range metadataTries {
		if text, err = os.ReadFile(path); err == nil {
			if meta, err = ctf.ParseMetadata(text, path, new(trace.Warnings)); err == nil && len(meta.Clocks) == 1 && meta.Clocks[0].Frequency == 1e9 {
				return meta, text, nil
			}
		}
	}
	if err == nil {
		err = fmt.Errorf("%s: not as 'meridian record' writes it: want one clock of 1 GHz", path)
	}
	return nil, nil, err
}

// excerpt is one that is being written. Times are cycles of the trace's clock, ns.
type excerpt struct {
	ctx      context.Context
	dir, out string
	span     Span
	offset   int64 // of the clock, ns since 1970
	sum      *Summary
	copied   []string // chunks of which something is in the excerpt
	earliest int64    // when the first packet begins that is known of
	any      bool     // whether there is one
	latest   int64    // when the last packet ends
}

// streamKey is what the files of one stream share: chunks, and those of a recorder that continued it.
type streamKey struct {
	class    uint32
	instance uint64
}

// place is a packet in a file.
type place struct {
	file       int // index of names
	at, size   int64
	begin, end int64
}

// around are the packets next to the span, of one stream.
type around struct {
	before, after *place
}

// streams copies the packets of all streams.
func (x *excerpt) streams(names []string) error {
	sides := make(map[streamKey]*around)
	chosen := make([][]place, len(names))
	open := make([]*os.File, len(names)) // a recorder may remove them meanwhile
	defer func() {
		for _, f := range open {
			if f != nil {
				f.Close()
			}
		}
	}()
	for i, name := range names {
		if name == wire.Metadata || strings.HasPrefix(name, wire.Folder+"/") || strings.HasPrefix(name, retention.Stream+"_") {
			continue
		}
		f, err := os.Open(filepath.Join(x.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // dropped meanwhile, which is told
		} else if err != nil {
			return err
		}
		open[i] = f
		span, count := x.spanOf(name)
		err = eachPacket(x.ctx, f, func(key streamKey, p place) {
			p.file = i
			x.latest = max(x.latest, p.end)
			x.recorded(p.begin)
			if p.end >= span.From && p.begin <= span.To {
				chosen[i] = append(chosen[i], p)
				if count {
					x.sum.Packets++
				}
				return
			}
			s := sides[key]
			if s == nil {
				s = new(around)
				sides[key] = s
			}
			if p.end < span.From && (s.before == nil || p.end >= s.before.end) {
				s.before = &p
			}
			if p.begin > span.To && (s.after == nil || p.begin < s.after.begin) {
				s.after = &p
			}
		})
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
		if len(chosen[i]) == 0 {
			open[i] = nil // it is opened again for its neighbours alone
			if err := f.Close(); err != nil {
				return err
			}
		}
	}
	for _, s := range sides {
		for _, p := range []*place{s.before, s.after} {
			if p != nil {
				chosen[p.file] = append(chosen[p.file], *p)
			}
		}
	}
	for i, places := range chosen {
		if len(places) == 0 {
			continue
		}
		if err := x.copy(names[i], open[i], places); err != nil {
			return err
		}
	}
	return nil
}

// recorded notes that the recorder has recorded something at an instant.
func (x *excerpt) recorded(at int64) {
	if !x.any || at < x.earliest {
		x.earliest, x.any = at, true
	}
}

// spanOf returns the span of a file's packets, and whether they count as those of the trace.
func (x *excerpt) spanOf(name string) (s Span, count bool) {
	switch {
	case strings.HasPrefix(name, "clocks_"), strings.HasPrefix(name, "interfaces_"):
		return Span{-1 << 62, 1 << 62}, false
	case strings.HasPrefix(name, "probes_"):
		return Span{x.span.From - probeMargin, x.span.To + probeMargin}, false
	}
	return x.span, true
}

// copy copies packets of a file, in their order.
func (x *excerpt) copy(name string, f *os.File, places []place) (err error) {
	if f == nil {
		if f, err = os.Open(filepath.Join(x.dir, name)); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		defer f.Close()
	}
	slices.SortFunc(places, func(a, b place) int { return int(a.at - b.at) })
	return x.write(name, func(w io.Writer) error {
		for _, p := range places {
			if err := x.ctx.Err(); err != nil {
				return err
			}
			if _, err := io.Copy(w, io.NewSectionReader(f, p.at, p.size)); err != nil {
				return err
			}
		}
		return nil
	})
}

// write writes a file of the excerpt.
func (x *excerpt) write(name string, fill func(io.Writer) error) error {
	path := filepath.Join(x.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	x.copied = append(x.copied, name)
	return errors.Join(fill(f), f.Close())
}
