package pipeline

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"

	"meridian/internal/pipeline/output"
	"meridian/internal/pipeline/usage"
	"meridian/internal/redact"
	"meridian/trace"
)

// outputWriter writes the outputs of one run.
type outputWriter struct {
	files    []outputFile
	context  sinkContext
	progress Progress
	outcome  *Outcome
	set      output.Set
	redact   *redact.Redactor // nil where everything is written as it is
	dropped  func()           // told that packets and messages are not used any more; may be nil
}

// write writes all outputs and publishes them together. The merged capture comes last: before it is written, the packets
// and messages in memory are collected, so callers must not use the ordered timeline afterwards.
func (w *outputWriter) write(ctx context.Context) error {
	defer w.set.Remove()
	if f := w.first(ofPackets); f != nil && !slices.ContainsFunc(w.context.ordered.captures, w.context.ordered.isFile) {
		hint := ""
		if slices.ContainsFunc(w.context.ordered.recordings, func(x recording) bool { return x.CTF() }) {
			hint = " (record with --packets)"
		}
		return usage.Errorf("%s needs captures; no input is one%s", f.path, hint)
	}
	if f := w.first(ofSpans); f != nil && !slices.ContainsFunc(w.context.ordered.recordings, func(x recording) bool { return x.Spans() }) {
		return usage.Errorf("%s needs spans; no input is a file of OpenTelemetry's or Jaeger's", f.path)
	}
	if err := w.writeReports(ctx); err != nil {
		return err
	}
	if err := w.writeEvents(ctx, ofEvents, eventPass); err != nil {
		return err
	}
	if err := w.writeEvents(ctx, ofRows, rowPass); err != nil {
		return err
	}
	if err := w.measurePairs(ctx); err != nil {
		return err
	}
	if err := w.writeSpans(ctx); err != nil {
		return err
	}
	if err := w.writePackets(ctx); err != nil {
		return err
	}
	if err := w.set.Publish(); err != nil {
		return err
	}
	for i := range w.files {
		w.outcome.Written = append(w.outcome.Written, Written{w.files[i].path, w.files[i].what})
	}
	return nil
}

// first returns the first output of a kind, nil without any.
func (w *outputWriter) first(kind outputKind) *outputFile {
	for i := range w.files {
		if w.files[i].kind == kind {
			return &w.files[i]
		}
	}
	return nil
}

// writeEach writes the files of a kind, one after the other.
func (w *outputWriter) writeEach(ctx context.Context, kind outputKind, write func(io.Writer) error) error {
	for _, f := range w.files {
		if f.kind != kind {
			continue
		}
		if err := w.set.Write(ctx, f.path, write); err != nil {
			return nameError(f.path, err)
		}
	}
	return nil
}

func (w *outputWriter) writeReports(ctx context.Context) error {
	return w.writeEach(ctx, ofReport, func(to io.Writer) error {
		report := *w.context.ordered.Report
		report.Warnings = w.context.warnings.Lines()
		return report.Write(to)
	})
}

// writeEvents writes the outputs of a kind in one pass over the events.
func (w *outputWriter) writeEvents(ctx context.Context, kind outputKind, events passKind) (err error) {
	if w.first(kind) == nil {
		return nil
	}
	var sinks tee
	var files []*output.File
	defer func() {
		for _, f := range files {
			if closing := f.Close(); err == nil {
				err = closing
			}
		}
		for _, s := range sinks {
			if d, ok := s.(namedSink).Sink.(discarder); ok {
				d.Discard()
			}
		}
	}()
	open := func(schema *trace.Schema) (trace.Sink, error) {
		for i := range w.files {
			f := &w.files[i]
			if f.kind != kind {
				continue
			}
			s, file, err := w.open(ctx, f, schema)
			if file != nil {
				files = append(files, file)
			}
			if err != nil {
				return nil, nameError(f.path, err)
			}
			sinks = append(sinks, namedSink{s, f.path})
		}
		return sinks, nil
	}
	if w.redact != nil {
		to := open
		open = func(schema *trace.Schema) (trace.Sink, error) { return w.redact.Sink(schema, to) }
	}
	return w.play(ctx, events, open)
}

// discarder is a sink that holds resources until it is closed or discarded.
type discarder interface{ Discard() }

// open begins an output of events. It returns the file, if it is one, to be closed when the events were written.
func (w *outputWriter) open(ctx context.Context, f *outputFile, schema *trace.Schema) (trace.Sink, *output.File, error) {
	if f.directory != nil {
		dir, err := w.set.Directory(f.path)
		if err != nil {
			return nil, nil, err
		}
		s, err := f.directory(&w.context, dir, schema)
		return s, nil, err
	}
	file, err := w.set.Create(ctx, f.path)
	if err != nil {
		return nil, nil, err
	}
	s, err := f.sink(&w.context, file, schema)
	return s, file, err
}

// play makes a pass over the events. The first one tells what became of them.
func (w *outputWriter) play(ctx context.Context, kind passKind, open func(*trace.Schema) (trace.Sink, error)) error {
	warnings := w.context.warnings
	if kind == eventPass {
		warnings = new(trace.Warnings) // reading the inputs has given them already
	}
	p, err := w.context.ordered.play(ctx, kind, warnings, w.progress, open)
	if err == nil && w.outcome.Played == nil {
		p.describe(w.outcome, w.context.warnings)
	}
	return err
}

// measurePairs makes a pass for the pairs of events that are to be measured, unless an output has needed one.
func (w *outputWriter) measurePairs(ctx context.Context) error {
	if w.outcome.Played != nil || len(w.context.ordered.selection.Pairs) == 0 {
		return nil
	}
	return w.play(ctx, eventPass, func(*trace.Schema) (trace.Sink, error) { return discardSink{}, nil })
}

// writePackets writes the merged captures.
func (w *outputWriter) writePackets(ctx context.Context) error {
	if w.first(ofPackets) == nil && w.first(ofParts) == nil {
		return nil
	}
	merge := w.context.ordered.packetMerge()
	merge.redact = w.redact
	merge.warnOfBlocks(w.context.warnings)
	w.context.ordered = nil
	if w.dropped != nil {
		w.dropped()
	}
	returnMemory()
	for _, f := range w.files {
		if f.kind != ofParts {
			continue
		}
		dir, err := w.set.Directory(f.path)
		if err != nil {
			return nameError(f.path, err)
		}
		written, late, err := merge.writeParts(ctx, dir, w.progress)
		if err != nil {
			return nameError(f.path, err)
		}
		w.notePackets(written, late)
	}
	return w.writeEach(ctx, ofPackets, func(to io.Writer) error {
		written, late, err := merge.write(ctx, to, w.progress)
		w.notePackets(written, late)
		return err
	})
}

// notePackets notes how many packets were written, and how many of these out of order.
func (w *outputWriter) notePackets(written, late int64) {
	if late > 0 {
		w.outcome.breakPromise(fmt.Sprintf("%d packets of the merged capture are out of order: the clock of their capture was set back too often", late))
	}
	w.outcome.Packets = &written
}

// returnMemory gives back to the kernel what is not used any more: it is about to need as much for the file. A little is
// not worth the collection.
func returnMemory() {
	const little = 64 << 20
	var stats runtime.MemStats
	if runtime.ReadMemStats(&stats); stats.HeapSys-stats.HeapReleased > little {
		debug.FreeOSMemory()
	}
}

// nameError names the file of an error.
func nameError(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}
