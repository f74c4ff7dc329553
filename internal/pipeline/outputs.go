package pipeline

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"meridian/trace"
)

// format of an output: what the file's name ends in, and what writes it. To add one, add a line.
type outputFormat struct {
	ending string
	what   string
	// One of these: of all that is known, or of events, as a file or as a directory.
	write     func(*run, context.Context, io.Writer) error
	sink      func(*run, io.Writer, *trace.Schema) (trace.Sink, error)
	directory func(*run, string, *trace.Schema) (trace.Sink, error)
	shape     shape // of sink and directory
	packets   bool  // the output needs captures
}

func (f *outputFormat) ofEvents() bool { return f.write == nil }

func outputFormats() []outputFormat {
	return []outputFormat{
		{ending: "report.json", what: "the alignment report", write: (*run).writeReport},
		{ending: ".html", what: "the timeline as a page, one file", sink: pageSink},
		{ending: ".pcapng", what: "all packets at corrected times", write: (*run).writeMerged, packets: true},
		{ending: ".pftrace", what: "all events for Perfetto (ui.perfetto.dev)", sink: perfettoSink},
		{ending: ".json", what: "all events as a Chrome trace", sink: chromeSink},
		{ending: ".ctf", what: "all events as CTF 1.8, a directory with one trace for each host", directory: ctfSink, shape: asEvents},
		{ending: ".csv", what: "all events as a table", sink: csvSink, shape: asEvents},
		{ending: ".parquet", what: "all events as a table, for DuckDB and its like", sink: parquetSink, shape: asEvents},
		{ending: ".picl", what: "all events in PICL, as BRISK and ParaGraph know it", sink: piclSink},
		{ending: ".plot", what: "the timeline as a script for gnuplot, with its data", sink: gnuplotSink},
		{ending: ".svg", what: "a picture of the timeline", sink: svgSink},
		{ending: ".png", what: "the same in pixels", sink: pngSink},
	}
}

// Endings describes what -o takes, one line each.
func Endings() []string {
	var lines []string
	for _, f := range outputFormats() {
		lines = append(lines, fmt.Sprintf("%-12s %s", f.ending, f.what))
	}
	return lines
}

// output is one file to be written.
type output struct {
	path string
	outputFormat
}

// writers checks the outputs asked for, before any work is done.
func (r *run) writers() ([]output, error) {
	var outputs []output
	for _, path := range r.Outputs {
		out, err := outputOf(path)
		if err != nil {
			return nil, err
		}
		for _, in := range r.inputs {
			if sameFile(in.Path, path) {
				return nil, usage("%s is an input; it would be overwritten", path)
			}
		}
		for _, other := range outputs {
			if sameFile(other.path, path) {
				return nil, usage("%s is asked for twice", path)
			}
		}
		switch info, err := os.Stat(path); {
		case err == nil && out.directory != nil:
			return nil, usage("%s is there already, and a directory is never overwritten: remove it or name another", path)
		case err == nil && info.IsDir():
			return nil, usage("%s is a directory", path)
		}
		if out.packets && r.Filter.events() {
			return nil, usage("%s: packets are not chosen by stream, event or field; leave these filters out or write another format", path)
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return nil, usage("%s: there is no directory %s", path, filepath.Dir(path))
		}
		outputs = append(outputs, out)
	}
	return outputs, nil
}

func outputOf(path string) (output, error) {
	var endings []string
	clean := filepath.Clean(path) // x.ctf/ is x.ctf
	for _, f := range outputFormats() {
		if strings.HasSuffix(strings.ToLower(clean), f.ending) {
			return output{clean, f}, nil
		}
		endings = append(endings, f.ending)
	}
	return output{}, usage("%s: no format for an output of this name; it must end in %s", path, strings.Join(endings, ", "))
}

// write writes all outputs beside their places and moves them there when all are whole. The merged capture comes last:
// before it the packets in memory are given up.
func (r *run) write(ctx context.Context, outputs []output) (err error) {
	made := make([]*beside, len(outputs))
	defer func() {
		for _, b := range made {
			b.remove()
		}
	}()
	for i, out := range outputs {
		if out.packets && !slices.ContainsFunc(r.captures, r.isFile) {
			return usage("%s needs captures; no input is one", out.path)
		}
		if !out.packets && !out.ofEvents() {
			if made[i], err = r.writeBeside(ctx, out); err != nil {
				return fmt.Errorf("%s: %w", out.path, err)
			}
		}
	}
	for _, v := range []shape{asEvents, asRows} {
		if err := r.writeEvents(ctx, v, outputs, made); err != nil {
			return err
		}
	}
	for i, out := range outputs {
		if !out.packets {
			continue
		}
		r.release()
		if made[i], err = r.writeBeside(ctx, out); err != nil {
			return fmt.Errorf("%s: %w", out.path, err)
		}
	}
	for _, b := range made {
		if err := b.place(); err != nil {
			return err
		}
	}
	return nil
}

// writeEvents writes the outputs of one shape in one pass over the events.
func (r *run) writeEvents(ctx context.Context, v shape, outputs []output, made []*beside) (err error) {
	var open []*beside
	defer func() {
		for _, b := range open {
			if finishing := b.finish(); err == nil {
				err = finishing
			}
		}
		r.discard()
	}()
	of := func(out *output) bool { return out.ofEvents() && out.shape == v }
	if !slices.ContainsFunc(outputs, func(out output) bool { return of(&out) }) {
		return nil
	}
	return r.play(ctx, v, func(l *trace.Schema) (trace.Sink, error) {
		var sinks tee
		for i := range outputs {
			out := &outputs[i]
			if !of(out) {
				continue
			}
			s, err := r.open(ctx, out, &made[i], &open, l)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", out.path, err)
			}
			sinks = append(sinks, named{s, out.path})
		}
		return sinks, nil
	})
}

// open begins an output of events; a file is entered into open, to be finished in the end.
func (r *run) open(ctx context.Context, out *output, made **beside, open *[]*beside, l *trace.Schema) (trace.Sink, error) {
	b, err := newBeside(ctx, *out)
	if err != nil {
		return nil, err
	}
	*made = b
	if out.directory != nil {
		return out.directory(r, b.name, l)
	}
	*open = append(*open, b)
	return out.sink(r, b, l)
}

// named is a sink whose errors name its file.
type named struct {
	trace.Sink
	path string
}

func (n named) Write(r *trace.TimelineEvent) error { return n.wrap(n.Sink.Write(r)) }
func (n named) Close() error                       { return n.wrap(n.Sink.Close()) }

func (n named) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", n.path, err)
}

// release gives up the packets and messages in memory and returns it at once: the kernel is about to need as much for the
// file that is written.
func (r *run) release() {
	for _, c := range r.captures {
		c.Packets, c.Flows = trace.Log{}, nil
	}
	r.matched.Channels = nil
	debug.FreeOSMemory()
}

// writeBeside writes an output to a temporary file in its directory.
func (r *run) writeBeside(ctx context.Context, out output) (*beside, error) {
	b, err := newBeside(ctx, out)
	if err != nil {
		return nil, err
	}
	err = out.write(r, ctx, b)
	if finishing := b.finish(); err == nil {
		err = finishing
	}
	if err != nil {
		b.remove()
		return nil, err
	}
	return b, nil
}

func (r *run) writeReport(_ context.Context, w io.Writer) error {
	r.report.Warnings = r.warnings.Lines()
	return r.report.Write(w)
}
