package pipeline

import (
	"io"

	"meridian/format/chrome"
	"meridian/format/csv"
	"meridian/format/ctf"
	"meridian/format/gnuplot"
	"meridian/format/parquet"
	"meridian/format/perfetto"
	"meridian/format/picl"
	"meridian/internal/show"
	"meridian/trace"
)

func perfettoSink(_ *run, w io.Writer, l *trace.Schema) (trace.Sink, error) {
	return perfetto.NewWriter(w, l)
}
func chromeSink(_ *run, w io.Writer, l *trace.Schema) (trace.Sink, error) {
	return chrome.NewWriter(w, l)
}

func csvSink(_ *run, w io.Writer, l *trace.Schema) (trace.Sink, error) {
	return csv.NewWriter(w, l, csv.Options{})
}

func parquetSink(_ *run, w io.Writer, l *trace.Schema) (trace.Sink, error) {
	return parquet.NewWriter(w, l, parquet.Options{})
}

func gnuplotSink(_ *run, w io.Writer, l *trace.Schema) (trace.Sink, error) {
	return gnuplot.NewWriter(w, l, gnuplot.Options{})
}

func ctfSink(r *run, dir string, l *trace.Schema) (trace.Sink, error) {
	return ctf.NewWriter(dir, l, ctf.WriterOptions{Warnings: &r.warnings})
}

func piclSink(r *run, w io.Writer, l *trace.Schema) (trace.Sink, error) {
	o := picl.Options{}
	if r.Since {
		o.Origin, _ = r.span()
	}
	return picl.NewWriter(w, l, o)
}

func svgSink(r *run, w io.Writer, l *trace.Schema) (trace.Sink, error) {
	return r.picture(w, l, show.SVG)
}
func pngSink(r *run, w io.Writer, l *trace.Schema) (trace.Sink, error) {
	return r.picture(w, l, show.PNG)
}

func (r *run) picture(w io.Writer, l *trace.Schema, f show.PictureFormat) (trace.Sink, error) {
	first, last := r.span()
	return show.NewPicture(w, l, show.PictureOptions{Format: f, First: first, Last: last})
}

// span returns the stretch of the timeline that is written.
func (r *run) span() (first, last int64) {
	first, last = r.extent()
	if o, err := r.wanted(); err == nil { // it was checked before
		if o.From.Timed {
			first = max(first, o.From.Time)
		}
		if o.To.Timed {
			last = min(last, o.To.Time)
		}
	}
	return first, max(first, last)
}
