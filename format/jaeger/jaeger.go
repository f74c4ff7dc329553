// Package jaeger reads traces as Jaeger's query service and its user interface hand them out. In goes a JSON file, plain or
// compressed:
//
//	{"data": [ {"traceID": ..., "spans": [...], "processes": {"p1": {...}, ...}}, ... ]}
//
// or one such trace, or an array of them. Out comes a [File]: a row for each process with its spans as slices and their
// logs as instants, tags as fields; and the ends of requests, replies and messages from producers to consumers, by which
// they become messages between clocks (see format/internal/spans for which and why).
//
// Which part a span has is told by its tag span.kind; the span that it is a CHILD_OF is its parent, those that it
// FOLLOWS_FROM are links. The host of a span is its process's tag host.name, else hostname, k8s.pod.name, host.id, ip,
// service.instance.id, and at last the service's name.
//
// Stamps are microseconds, so that all are multiples of 1000 ns. Both the start and the duration were rounded down, so that
// an end may be up to two of them later than it seems: where a reply is received the mark is one later, and the other is
// within the stamps' step as everywhere.
//
// Jaeger moves spans of hosts whose clocks disagree unless it is asked not to, and then its stamps are no clock's: fetch
// traces with ?raw=true. Where a span's warnings say that it was moved, so do ours.
//
// The file is read trace by trace; a broken one costs itself. The cost is some 200 bytes of memory a span and its tags.
// Source: Jaeger's API, as of 2.x.
package jaeger

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"meridian/clock"
	"meridian/format/internal/eventbuffer"
	"meridian/format/internal/pull"
	"meridian/format/internal/spans"
	"meridian/format/internal/stream"
	"meridian/trace"
)

// File is the content of a file. Its method Marks returns the ends of messages, a *[trace.Marks], Events a [trace.Source] of
// the spans and what happened within them, in order of time.
type File = spans.File

// longest is how many bytes one trace may have.
const longest = 256 << 20

// Recognises says whether a file that begins so holds traces of Jaeger: it is certain, since it asks for the members that
// only they have.
func Recognises(head []byte) bool {
	paths := pull.Outline(head, 4)
	for _, at := range []string{".data[]", "", "[]"} {
		if paths[at+".traceID"] && (paths[at+".spans"] || paths[at+".processes"]) || paths[at+".spans[].traceID"] && paths[at+".spans[].spanID"] {
			return true
		}
	}
	return paths[".data[].spans[]"] && paths[".data[].processes"]
}

// Options says how traces are read. The zero value is the default.
type Options struct {
	// HostAttributes are the tags of a process that name its host, best first, before those that name it by default.
	HostAttributes []string
}

// Read reads a file of traces.
func Read(path string, w *trace.Warnings) (*File, error) { return Options{}.Read(path, w) }

// Read reads a file of traces.
func (o Options) Read(path string, w *trace.Warnings) (*File, error) {
	return stream.ReadFile(path, func(s io.Reader) (*File, error) { return read(s, path, o, w) })
}

// reader is the reading of one file.
type reader struct {
	path string
	w    *trace.Warnings
	set  *spans.Set
	Options
	// whole is given the JSON of each trace instead of the set; nil without ReadWhole.
	whole func(raw []byte, at int64)
}

func read(s io.Reader, path string, o Options, w *trace.Warnings) (*File, error) {
	r := &reader{path: path, w: w, set: spans.NewSet(path), Options: o}
	r.set.Step(1000)
	if err := r.read(s); err != nil {
		return nil, err
	}
	if r.set.Len() == 0 {
		return nil, fmt.Errorf(`%s: no spans; expected {"data":[{"traceID":...,"spans":[...],"processes":{...}}]} as Jaeger's API answers`, path)
	}
	return r.set.Done(w), nil
}

// read reads the traces of a stream.
func (r *reader) read(s io.Reader) error {
	p := pull.NewReader(s)
	c, err := p.Peek()
	switch {
	case err != nil:
		err = errors.New("empty")
		if p.Err() != nil {
			err = p.Err()
		}
		return fmt.Errorf("%s: %w", r.path, err)
	case c == '[':
		err = r.traces(p)
	case c == '{':
		err = r.answer(p)
	default:
		return fmt.Errorf("%s: not Jaeger's JSON (begins with %q)", r.path, c)
	}
	return p.Finish(r.path, err, r.w)
}

// answer reads what the API answers, or a trace that stands alone, which has to be held whole.
func (r *reader) answer(p *pull.Reader) error {
	var alone bytes.Buffer
	alone.WriteByte('{')
	err := p.Object(func(name string) error {
		switch name {
		case "data":
			return r.traces(p)
		case "spans", "processes":
			raw, err := p.Value(longest)
			if err == pull.ErrLong {
				r.w.Gap(r.path, "traces left out: too many bytes", fmt.Sprintf("more than %d", longest), 1)
				return nil
			}
			if alone.Len() > 1 {
				alone.WriteByte(',')
			}
			fmt.Fprintf(&alone, "%q:", name)
			alone.Write(raw)
			return err
		}
		return nil
	})
	if alone.Len() > 1 {
		alone.WriteByte('}')
		r.trace(alone.Bytes(), 0)
	}
	return err
}

// traces reads an array of traces.
func (r *reader) traces(p *pull.Reader) error {
	return p.Array(func() error {
		at := p.Offset()
		raw, err := p.Value(longest)
		switch {
		case err == pull.ErrLong:
			r.w.Gap(r.path, "traces left out: too many bytes", fmt.Sprintf("at offset %d, more than %d", at, longest), 1)
			return nil
		case err == io.ErrUnexpectedEOF:
			r.trace(raw, at)
			return err
		case err != nil:
			return err
		}
		if r.trace(raw, at) != nil {
			r.w.Gap(r.path, "traces of broken JSON; their spans before the break are used", fmt.Sprintf("at offset %d", at), 1)
		}
		return nil
	})
}

// trace adds the spans of one trace. Its processes may stand behind them.
func (r *reader) trace(raw []byte, at int64) error {
	if r.whole != nil {
		r.whole(raw, at)
		return nil
	}
	rows := make(map[string]spans.Row)
	err := pull.Members(raw, func(name, v []byte) bool {
		if string(name) == "processes" {
			pull.Members(v, func(name, v []byte) bool {
				rows[string(name)] = r.process(v)
				return true
			})
		}
		return true
	})
	pull.Members(raw, func(name, v []byte) bool {
		if string(name) == "spans" {
			pull.Elements(v, func(v []byte) bool {
				if !r.span(v, rows) {
					r.w.Gap(r.path, "spans left out: broken, no time, or one out of range", fmt.Sprintf("of the trace at offset %d", at), 1)
				}
				return true
			})
		}
		return true
	})
	return err
}

func (r *reader) process(raw []byte) spans.Row {
	of := spans.Resource{HostAttributes: r.HostAttributes}
	pull.Members(raw, func(name, v []byte) bool {
		switch string(name) {
		case "serviceName":
			if text, ok := pull.Text(nil, v); ok {
				of.Set("service.name", trace.Value{Kind: trace.Text, Data: text})
			}
		case "tags":
			tags(v, func(name []byte, v trace.Value) {
				if string(name) != "service.name" {
					of.Set(string(name), v)
				}
			})
		}
		return true
	})
	return r.set.ProcessOf(&of)
}

// microsecond is the unit of Jaeger's stamps, ns.
const microsecond = 1000

// nanoseconds turns microseconds into nanoseconds.
func nanoseconds[T clock.Time](raw []byte) (T, bool) { return pull.Decimal[T](raw, 3) }

// end returns when something ends that begins at and lasts so long.
func end(at clock.HostTime, lasts int64) clock.HostTime { return eventbuffer.Add(at, lasts) }
