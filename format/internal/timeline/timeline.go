// Package timeline is what the writers of timelines for viewers (Chrome, Perfetto) share: events of a timeline go in, and
// out comes what a writer has to know beyond its own encoding.
//
//	trace.TimelineEvent --> Progress    is the event valid, does a new instant begin, was there an error
//	                    --> ClassNames  names of classes and of their fields, each encoded once
//	                    --> Hosts       which hosts were described already
//	                    --> OpenSlices  numbered slices that have begun and not ended
//	                    --> Arrows      where the arrow of a message starts and where it ends
//	trace.Stream        --> RowName, RowRank
//
// Nothing here allocates for an event of a known class on a known row, except for maps that grow.
package timeline

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"meridian/clock"
	"meridian/trace"
)

// CheckSchema returns an error if a writer was given no schema.
func CheckSchema(format string, s *trace.Schema) error {
	if s == nil {
		return fmt.Errorf("%s: the schema is nil", format)
	}
	return nil
}

// CheckEvent returns an error that names the event, counted from 1, if its stream, class or host is not in the schema, or
// its class is not valid.
func CheckEvent(format string, s *trace.Schema, number int64, e *trace.TimelineEvent) error {
	for _, x := range [...]struct {
		what     string
		index, n int
	}{{"host", e.Host, len(s.Hosts)}, {"stream", e.Stream, len(s.Streams)}, {"class", e.Class, len(s.Classes)}} {
		if x.index < 0 || x.index >= x.n {
			return fmt.Errorf("%s: event %d: %s %d out of range (the schema has %d)", format, number, x.what, x.index, x.n)
		}
	}
	if c := &s.Classes[e.Class]; !contextFits(c) {
		return fmt.Errorf("%s: event %d: class %q: invalid count of context fields %d (0 to %d)", format, number, c.Name, c.Context, len(c.Fields))
	}
	return nil
}

func contextFits(c *trace.Class) bool { return uint(c.Context) <= uint(len(c.Fields)) }

// Progress is how far a writer is: the events that it took, the time of the last and its first error. After an error
// nothing is written, and Write and Close return that error.
type Progress struct {
	Format  string // the writer's name in errors
	Schema  *trace.Schema
	Err     error
	Events  int64
	Started bool               // what stands before all events was encoded
	Last    clock.TimelineTime // of the latest event

	out        io.Writer
	maps       int  // how many maps the schema had when components was found
	components bool // the schema has several
}

// Component returns the component of an event's time; false where the timeline has only one, or where the time is the stamp
// as it was recorded.
func (p *Progress) Component(e *trace.TimelineEvent) (number int, ok bool) {
	if len(p.Schema.Maps) != p.maps {
		p.maps, p.components = len(p.Schema.Maps), p.Schema.Components()
	}
	if !p.components {
		return 0, false
	}
	return p.Schema.Component(e)
}

// Unbounded reports whether clocks were aligned and yet nothing bounds the time of an event.
func (p *Progress) Unbounded(e *trace.TimelineEvent) bool {
	_, aligned := p.Schema.Component(e)
	return !e.Bounded && aligned && p.Schema.Method != ""
}

// NewProgress returns the progress of a writer that has written nothing.
func NewProgress(format string, out io.Writer, s *trace.Schema) (Progress, error) {
	return Progress{Format: format, Schema: s, out: out}, CheckSchema(format, s)
}

// Accept returns the first error of the writer, which may be that e is not valid.
func (p *Progress) Accept(e *trace.TimelineEvent) error {
	if p.Err == nil {
		if uint(e.Stream) < uint(len(p.Schema.Streams)) && uint(e.Class) < uint(len(p.Schema.Classes)) && uint(e.Host) < uint(len(p.Schema.Hosts)) &&
			contextFits(&p.Schema.Classes[e.Class]) {
			return nil
		}
		p.Err = CheckEvent(p.Format, p.Schema, p.Events+1, e)
	}
	return p.Err
}

// Unsorted makes the error of an event before a time that the writer cannot encode.
func (p *Progress) Unsorted(e *trace.TimelineEvent, before string) error {
	p.Err = fmt.Errorf("%s: event %d at %d ns is %s; sort the events by time", p.Format, p.Events+1, e.Time, before)
	return p.Err
}

// Count counts an event and reports whether its time differs from that of the latest.
func (p *Progress) Count(e *trace.TimelineEvent) (moved bool) {
	p.Events++
	moved = e.Time != p.Last
	p.Last = max(p.Last, e.Time)
	return moved
}

// Output writes encoded bytes unless there was an error.
func (p *Progress) Output(b []byte) {
	if p.Err != nil || len(b) == 0 {
		return
	}
	n, err := p.out.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		p.Err = fmt.Errorf("%s: %w", p.Format, err)
	}
}

// Close returns the first error. After it, every call of Accept returns an error.
func (p *Progress) Close() error {
	err := p.Err
	if err == nil {
		p.Err = errors.New(p.Format + ": the writer is closed")
	}
	return err
}

// IsMessageEnd says whether an event is an end of a message, for which viewers draw arrows.
func IsMessageEnd(e *trace.TimelineEvent) bool {
	return e.Flow != 0 && (e.Role == trace.Sends || e.Role == trace.Receives)
}

// DecodeRune decodes the character of s at i; an invalid byte is U+FFFD of length 1.
func DecodeRune[T string | []byte](s T, i int) (r rune, size int) {
	switch v := any(s).(type) {
	case string:
		r, size = utf8.DecodeRuneInString(v[i:])
	case []byte:
		r, size = utf8.DecodeRune(v[i:])
	}
	return r, size
}
