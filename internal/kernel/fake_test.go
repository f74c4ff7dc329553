package kernel

import (
	"io"

	"meridian/clock"
	"meridian/trace"
)

// script is a source made of what a test lists.
type script struct {
	classes []trace.Class
	streams []trace.Stream
	events  []scripted
	at      int
	fail    error // what ends the source instead of its end
}

type scripted struct {
	trace.Event
	values []trace.Value
}

func (s *script) Next(e *trace.Event) error {
	if s.at == len(s.events) {
		if s.fail != nil {
			return s.fail
		}
		return io.EOF
	}
	*e = s.events[s.at].Event
	s.at++
	return nil
}

func (s *script) Values() []trace.Value   { return s.events[s.at-1].values }
func (s *script) Streams() []trace.Stream { return s.streams }
func (s *script) Classes() []trace.Class  { return s.classes }
func (s *script) Close() error            { return nil }

// cpus gives the script a stream for each processor.
func (s *script) cpus(n int) *script {
	for i := range n {
		s.streams = append(s.streams, trace.Stream{Name: "channel0_" + string(rune('0'+i)), Kind: trace.CPU, ID: int64(i), Parent: -1})
	}
	return s
}

// field is a named value of a test; its type is taken from the value.
type field struct {
	name  string
	value trace.Value
	typ   trace.Type
}

func u(name string, v uint64) field {
	return field{name, trace.OfUint(v), trace.Type{Kind: trace.Uint}}
}

func i(name string, v int64) field {
	return field{name, trace.OfInt(v), trace.Type{Kind: trace.Int}}
}

func s(name, v string) field {
	return field{name, trace.OfText(v), trace.Type{Kind: trace.Text}}
}

// list is an array of small numbers.
func list(name string, v ...uint64) field {
	a := trace.Value{Kind: trace.Array}
	for _, x := range v {
		a.Items = append(a.Items, trace.OfUint(x))
	}
	return field{name, a, trace.Type{Kind: trace.Array, Elem: &trace.Type{Kind: trace.Uint}, Length: len(v)}}
}

func group(name string, fields ...field) field {
	g := field{name, trace.Value{Kind: trace.Struct}, trace.Type{Kind: trace.Struct}}
	for _, f := range fields {
		g.value.Items = append(g.value.Items, f.value)
		g.typ.Fields = append(g.typ.Fields, trace.Field{Name: f.name, Type: f.typ})
	}
	return g
}

// variant is a CTF variant with the alternatives unknown and those given, of which the last is chosen.
func variant(name string, fields ...field) field {
	c := field{name, trace.Value{Kind: trace.Variant}, trace.Type{Kind: trace.Variant}}
	c.typ.Fields = []trace.Field{{Name: "unknown", Type: trace.Type{Kind: trace.Struct}}}
	for _, f := range fields {
		c.typ.Fields = append(c.typ.Fields, trace.Field{Name: f.name, Type: f.typ})
		c.value.Items = []trace.Value{f.value}
		c.value.Bits++
	}
	return c
}

// add appends an event; the first of a name and shape defines its class.
func (s *script) add(time clock.HostTime, cpu int, name string, fields ...field) {
	g := group("", fields...)
	n := -1
	for i := range s.classes {
		if c := &s.classes[i]; c.Name == name && sameShape(c.Fields, g.typ.Fields) {
			n = i
		}
	}
	if n < 0 {
		n = len(s.classes)
		s.classes = append(s.classes, trace.Class{Name: name, Fields: g.typ.Fields})
	}
	s.events = append(s.events, scripted{trace.Event{Time: time, Stream: cpu, Class: n}, g.value.Items})
}

func sameShape(a, b []trace.Field) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Type.Kind != b[i].Type.Kind || !sameShape(a[i].Type.Fields, b[i].Type.Fields) {
			return false
		}
	}
	return true
}
