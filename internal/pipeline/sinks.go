package pipeline

import (
	"errors"
	"io"

	"meridian/format/chrome"
	"meridian/format/csv"
	"meridian/format/ctf"
	"meridian/format/gnuplot"
	"meridian/format/jsonl"
	"meridian/format/perfetto"
	"meridian/format/picl"
	"meridian/format/text"
	"meridian/internal/show"
	"meridian/trace"
)

// sinkContext is what sinks need beside the events.
type sinkContext struct {
	ordered       *Ordered
	warnings      *trace.Warnings
	piclFromStart bool
}

func perfettoSink(_ *sinkContext, w io.Writer, schema *trace.Schema) (trace.Sink, error) {
	return perfetto.NewWriter(w, schema)
}

func chromeSink(_ *sinkContext, w io.Writer, schema *trace.Schema) (trace.Sink, error) {
	return chrome.NewWriter(w, schema)
}

func csvSink(_ *sinkContext, w io.Writer, schema *trace.Schema) (trace.Sink, error) {
	return csv.NewWriter(w, schema, csv.Options{})
}

func jsonlSink(_ *sinkContext, w io.Writer, schema *trace.Schema) (trace.Sink, error) {
	return jsonl.NewWriter(w, schema)
}

func textSink(_ *sinkContext, w io.Writer, schema *trace.Schema) (trace.Sink, error) {
	return text.NewWriter(w, schema)
}

// Parquet makes a sink of a Parquet file. A program that is to write such files sets it before all else; nil refuses them. The library behind it takes
// as long to compile as half of Meridian, and the demo does without.
var Parquet func(w io.Writer, schema *trace.Schema) (trace.Sink, error)

func parquetSink(_ *sinkContext, w io.Writer, schema *trace.Schema) (trace.Sink, error) {
	if Parquet == nil {
		return nil, errors.New("this program writes no Parquet files; meridian does")
	}
	return Parquet(w, schema)
}

func gnuplotSink(_ *sinkContext, w io.Writer, schema *trace.Schema) (trace.Sink, error) {
	return gnuplot.NewWriter(w, schema, gnuplot.Options{})
}

func ctfSink(c *sinkContext, dir string, schema *trace.Schema) (trace.Sink, error) {
	return ctf.NewWriter(dir, schema, ctf.WriterOptions{Warnings: c.warnings})
}

func piclSink(c *sinkContext, w io.Writer, schema *trace.Schema) (trace.Sink, error) {
	o := picl.Options{}
	if c.piclFromStart {
		o.Origin = c.ordered.first
	}
	return picl.NewWriter(w, schema, o)
}

func svgSink(c *sinkContext, w io.Writer, schema *trace.Schema) (trace.Sink, error) {
	return c.picture(w, schema, show.SVG)
}

func pngSink(c *sinkContext, w io.Writer, schema *trace.Schema) (trace.Sink, error) {
	return c.picture(w, schema, show.PNG)
}

func (c *sinkContext) picture(w io.Writer, schema *trace.Schema, f show.PictureFormat) (trace.Sink, error) {
	return show.NewPicture(w, schema, show.PictureOptions{Format: f, First: c.ordered.first, Last: c.ordered.last})
}

// tee is several sinks as one.
type tee []trace.Sink

func (t tee) Write(r *trace.TimelineEvent) error {
	for _, s := range t {
		if err := s.Write(r); err != nil {
			return err
		}
	}
	return nil
}

func (t tee) Close() error {
	for _, s := range t {
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

// namedSink is a sink whose errors name its file.
type namedSink struct {
	trace.Sink
	path string
}

func (n namedSink) Write(r *trace.TimelineEvent) error { return nameError(n.path, n.Sink.Write(r)) }
func (n namedSink) Close() error                       { return nameError(n.path, n.Sink.Close()) }

// discardSink is a sink for passes of which only the statistics matter.
type discardSink struct{}

func (discardSink) Write(*trace.TimelineEvent) error { return nil }
func (discardSink) Close() error                     { return nil }
