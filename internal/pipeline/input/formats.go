package input

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"meridian/format"
	"meridian/format/chrome"
	"meridian/format/ctf"
	"meridian/format/gotrace"
	"meridian/format/jaeger"
	"meridian/format/otlp"
	"meridian/internal/retention"
	"meridian/trace"
)

// events is how the events of a recording are read.
type events struct {
	// open returns the events from the beginning.
	open func(w *trace.Warnings) (trace.Source, error)
	// first is a source that was opened already for the first reading; nil: open it.
	first trace.Source
	// marks are the message endpoints that the format states beside its events; nil where it states none.
	marks *trace.Marks
	// whole reports, once all events were read, whether none is known to be missing; nil: not known.
	whole func() bool
	// lost counts, once all events were read, what is known to be missing; nil: not known.
	lost   func() Lost
	tagged bool // message endpoints in events are keyed by tags, which are unique everywhere
}

// recordingFormats opens recordings, by their format. To add a format, add a line.
var recordingFormats = map[format.Kind]func(string, reading, *trace.Warnings) (events, error){
	format.CTF:     openCTF,
	format.GoTrace: openGoTrace,
	format.OTLP: func(path string, r reading, w *trace.Warnings) (events, error) {
		return inMemory(otlp.Options{HostAttributes: r.hostAttributes}.Read(path, w))
	},
	format.Jaeger: func(path string, r reading, w *trace.Warnings) (events, error) {
		return inMemory(jaeger.Options{HostAttributes: r.hostAttributes}.Read(path, w))
	},
	format.Chrome: func(path string, _ reading, w *trace.Warnings) (events, error) { return inMemory(chrome.Read(path, w)) },
}

// reading says how traces are read.
type reading struct {
	hostAttributes []string // that name the hosts of spans, best first
}

// NameHostsBy has the hosts of spans named by attributes of their resources, best first, before those that name them by
// default.
func NameHostsBy(traces []Trace, attributes []string) []Trace {
	traces = slices.Clone(traces)
	for i := range traces {
		traces[i].hostAttributes = attributes
	}
	return traces
}

// openCTF opens a directory. Sensors and recorders of Meridian key messages by tags; the traces that Meridian writes of
// a timeline, and those of other tracers, do not.
func openCTF(path string, _ reading, w *trace.Warnings) (events, error) {
	t, err := ctf.Open(path, w)
	if err != nil {
		return events{}, err
	}
	env := t.Env()
	dropped, err := warnOfDropped(t, w)
	if err != nil {
		return events{}, errors.Join(err, t.Close())
	}
	return events{
		first: t.Events(),
		whole: func() bool {
			n := t.Tally()
			return !dropped && n.Discarded+n.Lost+n.Damaged+n.Broken == 0
		},
		lost: func() Lost {
			n := t.Tally()
			return Lost{Events: n.Discarded, Packets: n.Lost + n.Damaged + n.Broken}
		},
		open: func(w *trace.Warnings) (trace.Source, error) {
			t, err := ctf.Open(path, w)
			if err != nil {
				return nil, err
			}
			return t.Events(), nil
		},
		tagged: env["tracer_name"] == "meridian" && (env["domain"] == "ust" || env["domain"] == "host"),
	}, nil
}

// warnOfDropped warns of what a recorder dropped on purpose (record --keep) and the directory does not have, and reports whether there
// is any. Each stream then begins at a time of its own. A server's copy has what was sent before it was dropped.
func warnOfDropped(t *ctf.Trace, w *trace.Warnings) (bool, error) {
	if !retention.Has(t) {
		return false, nil
	}
	d, ok, err := retention.Missing(t.Dir)
	if err != nil || !ok || len(t.Metadata.Clocks) == 0 {
		return ok, err
	}
	c := &t.Metadata.Clocks[0]
	from := time.Unix(c.OffsetSeconds, c.Offset+int64(d.Until)).UTC()
	w.Add(t.Dir, "the recorder kept the last part only (record --keep): the trace is whole from "+from.Format("2006-01-02 15:04:05.000000 MST")+" on",
		fmt.Sprintf("%d packets with %d events were dropped", d.All.Packets, d.All.Events))
	return true, nil
}

// openGoTrace reads the file at each opening, since it may be larger than memory.
func openGoTrace(path string, _ reading, _ *trace.Warnings) (events, error) {
	return events{open: func(w *trace.Warnings) (trace.Source, error) {
		f, err := gotrace.Read(path, w)
		if err != nil {
			return nil, err
		}
		return f.Events(), nil
	}}, nil
}

// file is a format whose files are read whole.
type file interface {
	Marks() *trace.Marks
	Events() trace.Source
}

func inMemory[F file](f F, err error) (events, error) {
	if err != nil {
		return events{}, err
	}
	return events{marks: f.Marks(), open: func(*trace.Warnings) (trace.Source, error) { return f.Events(), nil }}, nil
}
