package pipeline

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/format/jaeger"
	"meridian/format/otlp"
	"meridian/internal/pipeline/input"
	"meridian/internal/pipeline/usage"
	"meridian/trace"
)

// outputFormat is what a file's name ends in, and what writes it. To add a format, add a line.
type outputFormat struct {
	ending string
	what   string
	kind   outputKind
	// Of outputs of events one of these: as a file or as a directory.
	sink      func(*sinkContext, io.Writer, *trace.Schema) (trace.Sink, error)
	directory func(*sinkContext, string, *trace.Schema) (trace.Sink, error)
	// Of copies of spans.
	spans func(io.Writer, *tracev1.TracesData) error
}

// outputKind is what an output is made from. The kinds are written in this order.
type outputKind uint8

const (
	ofReport  outputKind = iota // the alignment report
	ofEvents                    // a pass over the events as they were recorded
	ofRows                      // a pass over the rows of the timeline
	ofSpans                     // the spans of all files of spans
	ofParts                     // the packets of each capture
	ofPackets                   // the merged packets of the captures
)

func outputFormats() []outputFormat {
	return []outputFormat{
		{ending: ".report.json", what: "the alignment report", kind: ofReport},
		{ending: ".html", what: "the timeline as a web page in one file", kind: ofRows, sink: pageSink},
		{ending: ".pcapng", what: "the packets of all captures at corrected times", kind: ofPackets},
		{ending: ".pftrace", what: "the events as a Perfetto trace (ui.perfetto.dev)", kind: ofRows, sink: perfettoSink},
		{ending: ".chrome.json", what: "the events as a Chrome trace", kind: ofRows, sink: chromeSink},
		{ending: ".otlp.json", what: "the spans of all inputs at corrected times, as OpenTelemetry has them (Tempo, Jaeger)", kind: ofSpans, spans: otlp.WriteJSON},
		{ending: ".jaeger.json", what: "the same, as Jaeger's user interface opens them", kind: ofSpans, spans: jaeger.WriteJSON},
		{ending: ".ctf", what: "the events as CTF 1.8, a directory with one trace for each host", kind: ofEvents, directory: ctfSink},
		{ending: ".csv", what: "the events as a table", kind: ofEvents, sink: csvSink},
		{ending: ".jsonl", what: "the events as JSON, one on a line", kind: ofEvents, sink: jsonlSink},
		{ending: ".txt", what: "the events as lines for people", kind: ofEvents, sink: textSink},
		{ending: ".parquet", what: "the events as a table, for DuckDB and similar tools", kind: ofEvents, sink: parquetSink},
		{ending: ".picl", what: "the events in PICL, as BRISK and ParaGraph read it", kind: ofRows, sink: piclSink},
		{ending: ".plot", what: "the timeline as a gnuplot script with its data", kind: ofRows, sink: gnuplotSink},
		{ending: ".svg", what: "a picture of the timeline", kind: ofRows, sink: svgSink},
		{ending: ".png", what: "a picture of the timeline in pixels", kind: ofRows, sink: pngSink},
	}
}

// Endings describes what -o takes, one line each.
func Endings() []string {
	var lines []string
	for _, f := range outputFormats() {
		lines = append(lines, fmt.Sprintf("%-12s %s", f.ending, f.what))
	}
	lines = append(lines, fmt.Sprintf("%-12s %s", "DIR"+partsFormat.ending, partsFormat.what))
	lines[0] += ", also in a file called report.json"
	return lines
}

// jsonEnding ends the names of several formats, so it picks none.
const jsonEnding = ".json"

// named reports whether a base name, in lower case, picks the format: by its ending, or, if .json ends that, by being that:
// report.json is a report, as web.report.json is, and web-report.json is not.
func (f *outputFormat) named(base string) bool {
	return strings.HasSuffix(base, f.ending) || strings.HasSuffix(f.ending, jsonEnding) && "."+base == f.ending
}

// outputFile is one file or directory to be written.
type outputFile struct {
	path string
	outputFormat
}

// checkOutputs refuses, before any work is done, outputs that cannot be written.
func (o *Options) checkOutputs(traces []input.Trace) ([]outputFile, error) {
	var files []outputFile
	for _, path := range o.Outputs {
		f, err := outputOf(path)
		if err != nil {
			return nil, err
		}
		if err := f.checkAway(traces); err != nil {
			return nil, err
		}
		if err := checkPath(f.path, traces, f.directory != nil || f.kind == ofParts); err != nil {
			return nil, err
		}
		if f.kind == ofParts {
			if err := checkParts(f.path, traces); err != nil {
				return nil, err
			}
		}
		if slices.ContainsFunc(files, func(other outputFile) bool { return input.SameFile(other.path, path) }) {
			return nil, usage.Errorf("output %s is given twice", path)
		}
		switch {
		case o.Redact && (f.ending == ".html" || f.kind == ofReport || f.kind == ofSpans || f.kind == ofParts):
			return nil, usage.Errorf("%s: --redact writes packets (.pcapng) and events (.csv, .jsonl, .txt, .parquet, .ctf, .pftrace, .chrome.json, .picl, .plot, .svg, .png); this output has addresses of its own", path)
		case f.kind == ofSpans && (o.Select.ofEvents() || len(o.Select.Fields) > 0 || o.Select.From.Event+o.Select.To.Event != ""):
			return nil, usage.Errorf("%s: spans are written whole, chosen by host and time alone; leave out filters by stream, event or field, or write another format", path)
		case (f.kind == ofPackets || f.kind == ofParts) && o.Select.ofEvents():
			return nil, usage.Errorf("%s: packets cannot be chosen by stream, event or field; leave out these filters or write another format", path)
		case o.Align.Method == AsRecorded && (f.kind == ofPackets || f.kind == ofParts || f.kind == ofReport):
			return nil, usage.Errorf("%s needs aligned clocks; leave out --method %s", path, AsRecorded)
		}
		files = append(files, f)
	}
	return files, nil
}

// checkAway refuses an output that needs more of the traces than alignment does, where they stay elsewhere.
func (f *outputFile) checkAway(traces []input.Trace) error {
	for _, in := range traces {
		if in.IsAway() && f.kind != ofReport {
			return usage.Errorf("%s needs the packets of %s, which stay there: write a report.json, or align copies of the captures", f.path, in.Path)
		}
	}
	return nil
}

// CheckOutput says why no output is written under a name, before there is anything to write; nil if one is.
func CheckOutput(name string) error {
	_, err := outputOf(name)
	return err
}

func outputOf(path string) (outputFile, error) {
	var endings []string
	clean := filepath.Clean(path) // x.ctf/ is x.ctf
	for _, f := range outputFormats() {
		if f.named(strings.ToLower(filepath.Base(clean))) {
			return outputFile{clean, f}, nil
		}
		endings = append(endings, f.ending)
	}
	if n := len(path); n > 0 && os.IsPathSeparator(path[n-1]) {
		return outputFile{clean, partsFormat}, nil
	}
	if stem, ok := strings.CutSuffix(clean, ".pcap"); ok {
		return outputFile{}, usage.Errorf("%s: packets are written as pcapng; name it %s.pcapng", path, stem)
	}
	if stem, ok := strings.CutSuffix(clean, jsonEnding); ok {
		for _, f := range []string{"report", "chrome", "otlp", "jaeger"} { // web-report.json
			if short, ok := strings.CutSuffix(stem, f); ok {
				stem = strings.TrimRight(short, "-_")
			}
		}
		return outputFile{}, usage.Errorf("%s: several outputs are JSON; name the alignment report %s.report.json, a Chrome trace %s.chrome.json, or corrected spans %s.otlp.json or %s.jaeger.json",
			path, stem, stem, stem, stem)
	}
	return outputFile{}, usage.Errorf("%s: unknown output format; the name must end in %s, or in / for a directory", path, strings.Join(endings, ", "))
}

// checkPath refuses a path at which no file, or no directory, can be made.
func checkPath(path string, traces []input.Trace, directory bool) error {
	for _, in := range traces {
		if input.SameFile(in.Path, path) {
			return usage.Errorf("%s is an input; it would be overwritten", path)
		}
	}
	switch info, err := os.Stat(path); {
	case err == nil && directory:
		return usage.Errorf("%s exists, and directories are not overwritten: remove it or name another", path)
	case err == nil && info.IsDir():
		return usage.Errorf("%s is a directory", path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return usage.Errorf("%s: directory %s does not exist", path, filepath.Dir(path))
	}
	return nil
}
