// Package retention says how a trace tells what its recorder dropped on purpose (meridian record --keep): the recorder writes
// an event meridian:dropped before it removes files, and readers take the last one. What is lost is told elsewhere, by
// events_discarded and gaps in packet_seq_num. A stream whose oldest packets were dropped begins with a number above 0, and no
// reader takes that for a loss.
//
//	meridian:dropped   file, row      what was dropped: a file of whole packets, and the stream's row
//	                   packets, events, bytes, begin, end   of it; ns of the trace's clock
//	                   all_packets, all_events, all_bytes   of all that was dropped so far
//	                   until          the end of the latest packet dropped: from there on the trace is whole
package retention

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"meridian/format/ctf"
	"meridian/trace"
)

// Stream is the name of the stream with these events, and with a "_" the beginning of its files' names.
const Stream = "retention"

// Dropped is the content of an event.
type Dropped struct {
	File, Row string
	Span
	All   Span   // of everything so far; its Begin is not used
	Until uint64 // All.End
}

// Span counts packets.
type Span struct {
	Packets, Events, Bytes uint64
	Begin, End             uint64 // of the packets, ns of the trace's clock
}

// Add adds packets that follow.
func (s *Span) Add(more Span) {
	if s.Packets == 0 {
		s.Begin = more.Begin
	}
	s.Packets += more.Packets
	s.Events += more.Events
	s.Bytes += more.Bytes
	s.Begin, s.End = min(s.Begin, more.Begin), max(s.End, more.End)
}

var fields = []string{"file", "row", "packets", "events", "bytes", "begin", "end", "all_packets", "all_events", "all_bytes", "until"}

// Class returns the class of the events.
func Class() trace.Class {
	c := trace.Class{Name: "meridian:dropped", Category: "meridian"}
	for i, name := range fields {
		t := trace.Type{Kind: trace.Uint}
		if i < 2 {
			t.Kind = trace.Text
		}
		c.Fields = append(c.Fields, trace.Field{Name: name, Type: t})
	}
	return c
}

// Values appends the values of an event.
func (d *Dropped) Values(to []trace.Value) []trace.Value {
	to = append(to, trace.OfText(d.File), trace.OfText(d.Row))
	for _, n := range []uint64{d.Packets, d.Events, d.Bytes, d.Begin, d.End, d.All.Packets, d.All.Events, d.All.Bytes, d.Until} {
		to = append(to, trace.OfUint(n))
	}
	return to
}

// Read returns the content of the event that r returned last; false for one of another class or with other fields.
func Read(r *ctf.Reader) (d Dropped, ok bool) {
	class, _ := r.Class()
	if class == nil || class.Name != Class().Name {
		return d, false
	}
	of, values := r.Fields(ctf.PayloadScope)
	if of == nil {
		return d, false
	}
	var n [11]uint64
	for i, field := range fields {
		at := slices.IndexFunc(of.Fields, func(f ctf.Field) bool { return f.Name == field })
		switch {
		case at < 0 || at >= len(values):
			return d, false
		case i == 0:
			d.File = string(values[at].Data)
		case i == 1:
			d.Row = string(values[at].Data)
		default:
			n[i] = values[at].Uint()
		}
	}
	d.Span = Span{Packets: n[2], Events: n[3], Bytes: n[4], Begin: n[5], End: n[6]}
	d.All, d.Until = Span{Packets: n[7], Events: n[8], Bytes: n[9], End: n[10]}, n[10]
	return d, true
}

// Has reports whether the recorders of a trace dropped anything.
func Has(t *ctf.Trace) bool {
	return slices.ContainsFunc(t.Streams, func(s *ctf.Stream) bool { return strings.HasPrefix(filepath.Base(s.Path), Stream+"_") })
}

// Of returns what the recorders of a trace dropped so far; false for nothing. Damage is not reported: reading the trace does.
func Of(dir string) (d Dropped, ok bool, err error) {
	err = Each(dir, func(x *Dropped) error {
		if !ok || x.All.Bytes > d.All.Bytes {
			d, ok = *x, true
		}
		return nil
	})
	return d, ok, err
}

// Each calls f with every event that is left in a directory, of one recorder after the other, until f fails. It opens no other streams.
func Each(dir string, f func(*Dropped) error) error {
	t, err := ctf.OpenFiles(dir, func(name string) bool { return strings.HasPrefix(name, Stream+"_") }, nil)
	if err != nil {
		return err
	}
	for _, s := range t.Streams {
		for r := s.Reader(); err == nil && r.Next() == nil; {
			if x, found := Read(r); found {
				err = f(&x)
			}
		}
	}
	return errors.Join(err, t.Close())
}
