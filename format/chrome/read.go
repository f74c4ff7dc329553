package chrome

import (
	"errors"
	"fmt"
	"io"

	"meridian/format/internal/eventbuffer"
	"meridian/format/internal/pull"
	"meridian/format/internal/stream"
	"meridian/trace"
)

const (
	// longest is how many bytes one event may have.
	longest = 16 << 20
	// patience is how many bytes are looked at again, all in all, to find sound events behind broken ones.
	patience = 1 << 30
)

// File is the content of a file.
type File struct {
	marks  trace.Marks
	buffer *eventbuffer.Trace
}

// Marks returns the ends of flows that go to other files, and of collectives. The one host is that of the input.
func (f *File) Marks() *trace.Marks { return &f.marks }

// Events brings all events, in order of time.
func (f *File) Events() trace.Source { return f.buffer.Events() }

// Recognises says whether a file that begins so is a Chrome trace. It is certain where it sees traceEvents, or an array of
// objects with a phase, and nearly so where it sees what PyTorch writes before its events.
func Recognises(head []byte) bool {
	paths := pull.Outline(head, 2)
	return paths[".traceEvents"] || paths["[].ph"] && (paths["[].ts"] || paths["[].pid"] || paths["[].name"]) ||
		paths[".schemaVersion"] && (paths[".deviceProperties"] || paths[".distributedInfo"])
}

// Read reads a file.
func Read(path string, w *trace.Warnings) (*File, error) {
	return stream.ReadFile(path, func(s io.Reader) (*File, error) { return read(s, path, w) })
}

// reader is the reading of one file.
type reader struct {
	path string
	w    *trace.Warnings
	b    *eventbuffer.Builder
	rows rowTable
	base int64 // ns to be added to all stamps

	event   event // the one at hand
	async   map[asyncKey][]int
	slices  uint64 // numbers given to slices that need not nest
	flows   flows
	torch   torch
	unended int64
	orphans int64
}

func read(s io.Reader, path string, w *trace.Warnings) (*File, error) {
	b := eventbuffer.New()
	r := &reader{path: path, w: w, b: b, rows: newRows(b), async: make(map[asyncKey][]int), torch: newTorch()}
	p := pull.NewReader(s)
	c, err := p.Peek()
	array := err == nil && c == '['
	switch {
	case err != nil && p.Err() == nil:
		return nil, fmt.Errorf("%s: empty", path)
	case err != nil:
	case array:
		err = r.events(p)
	case c == '{':
		err = r.object(p)
	default:
		return nil, fmt.Errorf("%s: not a Chrome trace in JSON (begins with %q)", path, c)
	}
	switch {
	case err == errOpen && array: // as killed tracers leave it, and readers have always taken it
		err = nil
	case err == errOpen:
		err = io.ErrUnexpectedEOF
	}
	if err := p.Finish(path, err, w); err != nil {
		return nil, err
	}
	if b.Len() == 0 {
		return nil, fmt.Errorf(`%s: no events; expected {"traceEvents":[{"ph":...,"ts":...},...]} or the array alone`, path)
	}
	return r.done(), nil
}

// errOpen says that the stream ended between two events.
var errOpen = errors.New("array without an end")

// object reads the form with members beside the events, which may come before or behind them.
func (r *reader) object(p *pull.Reader) error {
	return p.Object(func(name string) error {
		switch name {
		case "traceEvents":
			if c, err := p.Peek(); err == nil && c == '[' {
				return r.events(p)
			}
		case "baseTimeNanoseconds":
			raw, err := p.Value(100)
			if err == nil {
				r.setBase(raw)
			}
			return passable(err)
		case "viztracer_metadata", "distributedInfo":
			raw, err := p.Value(longest)
			if err == nil && name == "distributedInfo" {
				r.torch.info(raw)
			} else if err == nil {
				pull.Members(raw, func(name, v []byte) bool {
					if string(name) == "baseTimeNanoseconds" {
						r.setBase(v)
					}
					return true
				})
			}
			return passable(err)
		}
		return nil
	})
}

// passable makes what is only too long, and has been passed over, no error.
func passable(err error) error {
	if err == pull.ErrLong {
		return nil
	}
	return err
}

func (r *reader) setBase(raw []byte) {
	if base, ok := pull.Decimal[int64](raw, 0); ok {
		r.base = base
	} else {
		r.w.Add(r.path, "baseTimeNanoseconds ignored: not a number, or out of range", fmt.Sprintf("%.40q", raw))
	}
}

// events reads the array of events. A broken one costs what lies between its beginning and the next that follows an
// object's end and a comma.
func (r *reader) events(p *pull.Reader) error {
	p.Take()
	again := 0
	for {
		c, err := p.Peek()
		switch {
		case err != nil:
			return errOpen
		case c == ']':
			p.Take()
			return nil
		case c == ',':
			p.Take()
			continue
		}
		at := p.Offset()
		raw, err := p.Value(longest)
		switch err {
		case pull.ErrLong:
			r.w.Gap(r.path, "events left out: too many bytes", fmt.Sprintf("at offset %d, more than %d", at, longest), 1)
			continue
		case pull.ErrSyntax:
			p.Take()
			r.w.Gap(r.path, "bytes between events ignored: not JSON", fmt.Sprintf("at offset %d", at), 1)
			continue
		case nil:
			if r.add(raw, at) == nil {
				continue
			}
		}
		again += len(raw)
		if err == nil || again < patience {
			if _, ok := p.Resume(); ok && again < patience {
				r.w.Gap(r.path, "events left out: broken JSON", fmt.Sprintf("at offset %d", at), 1)
				continue
			}
		}
		if err != nil { // io.ErrUnexpectedEOF: the last event is cut
			r.w.Gap(r.path, "the last event is cut", fmt.Sprintf("at offset %d", at), 1)
			return errOpen
		}
		r.w.Gap(r.path, "events left out: broken JSON", fmt.Sprintf("at offset %d", at), 1)
	}
}

// done ends the reading.
func (r *reader) done() *File {
	f := &File{marks: trace.Marks{File: r.path, Hosts: []string{""}}}
	r.rows.complete()
	r.flows.finish(r, &f.marks)
	r.torch.finish(r, &f.marks)
	if r.base != 0 {
		r.b.Shift(r.base)
		for i := range f.marks.Marks {
			f.marks.Marks[i].Time = eventbuffer.Add(f.marks.Marks[i].Time, r.base)
		}
	}
	for _, open := range r.rows.open {
		r.unended += int64(len(open))
	}
	for _, open := range r.async {
		r.unended += int64(len(open))
	}
	if r.unended > 0 {
		r.w.AddN(r.path, "slices that do not end", "", r.unended)
	}
	if r.orphans > 0 {
		r.w.AddN(r.path, "ends of slices that did not begin, left out", "", r.orphans)
	}
	if r.b.Dropped > 0 {
		r.w.AddN(r.path, "fields left out: more than 256 in one class", "", r.b.Dropped)
	}
	f.buffer = r.b.Done()
	return f
}
