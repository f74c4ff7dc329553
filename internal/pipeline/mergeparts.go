package pipeline

import (
	"context"
	"io"
	"runtime"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/order"
	"meridian/trace"
)

// inParts returns the parts in which the packets can be brought into order by all processors; nil where the captures have to be read
// from their beginning: they are compressed, or a clock was set back in them. A Redactor is used by one goroutine.
func (m *packetMerge) inParts() *order.Parts {
	if m.redact != nil {
		return nil
	}
	sources := make([]order.PartSource, len(m.segments))
	for i := range m.segments {
		s := &m.segments[i]
		if s.pass != nil || s.frames == nil {
			return nil
		}
		sources[i] = order.PartSource{Frames: s.frames, Map: s.clock}
	}
	return order.NewParts(sources)
}

// throughWriter takes large blocks from several goroutines, one after the other.
type throughWriter interface{ WriteThrough(p []byte) error }

// partsWriter writes the packets of parts behind each other into one file.
type partsWriter struct {
	merge    *packetMerge
	to       io.Writer
	faces    *interfaceTable
	progress Progress
	written  int64 // of the parts that are finished
}

// Write writes the packets of a part.
func (w *partsWriter) Write(b []byte) (int, error) {
	if t, ok := w.to.(throughWriter); ok {
		return len(b), t.WriteThrough(b)
	}
	return w.to.Write(b)
}

// partWriter makes the blocks of one part after the other.
type partWriter struct {
	*partsWriter
	out     *pcap.Writer
	written int64 // of this part
}

// writeInParts does what write does, by all processors. The interfaces of all captures have been added to out, which writes to w.
func (m *packetMerge) writeInParts(ctx context.Context, parts *order.Parts, w io.Writer, out *pcap.Writer, faces *interfaceTable, p Progress) (written int64, err error) {
	if err := out.Flush(); err != nil {
		return 0, err
	}
	all := &partsWriter{merge: m, to: w, faces: faces, progress: p}
	err = parts.Merge(ctx, runtime.GOMAXPROCS(0), func() order.PartSink { return &partWriter{partsWriter: all, out: out.Part(all)} })
	return all.written, err
}

func (w *partWriter) Emit(source int, at clock.TimelineTime, f *trace.Frame) error {
	s := &w.merge.segments[source]
	if !s.selected {
		return nil
	}
	from, to := &w.merge.selection.From, &w.merge.selection.To
	if from.Timed && at < from.Time || to.Timed && at > to.Time {
		return nil
	}
	w.written++
	f.Time = clock.HostTime(at) // the clock of the merged capture is the timeline
	return w.out.Write(w.faces.known[source][f.Interface]-1, f)
}

func (w *partWriter) Finish() error {
	w.partsWriter.written += w.written
	w.written = 0
	w.progress.Report("merging", w.partsWriter.written, w.merge.total)
	return w.out.Flush()
}
