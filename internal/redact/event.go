package redact

import (
	"meridian/trace"
)

// sink passes events on without what must not be shared.
type sink struct {
	trace.Sink
	r        *Redactor
	from, to *trace.Schema
	names    []string // of the streams as they came
	values   []trace.Value
	event    trace.TimelineEvent
}

// Sink returns a sink that passes events on, redacted. Open makes the one that gets them, of a schema that is redacted too.
func (r *Redactor) Sink(from *trace.Schema, open func(*trace.Schema) (trace.Sink, error)) (trace.Sink, error) {
	s := &sink{r: r, from: from, to: new(trace.Schema)}
	s.sync()
	var err error
	s.Sink, err = open(s.to)
	return s, err
}

// sync brings what the schema has grown by to the redacted one, and names that were completed.
func (s *sink) sync() {
	s.to.Title, s.to.Method, s.to.Assumption, s.to.Maps = s.r.Name(s.from.Title), s.from.Method, s.from.Assumption, s.from.Maps
	for _, host := range s.from.Hosts[len(s.to.Hosts):] {
		s.to.Hosts = append(s.to.Hosts, s.r.Name(host))
	}
	for i := range s.from.Streams {
		if i == len(s.to.Streams) {
			s.to.Streams = append(s.to.Streams, s.from.Streams[i])
			s.names = append(s.names, "")
		}
		if name := s.from.Streams[i].Name; name != s.names[i] || name == "" {
			s.to.Streams[i] = s.from.Streams[i]
			s.to.Streams[i].Name, s.names[i] = s.r.Name(name), name
			s.to.Streams[i].Host = s.r.Name(s.from.Streams[i].Host)
		}
	}
	for _, c := range s.from.Classes[len(s.to.Classes):] {
		c.Name, c.Category = s.r.Name(c.Name), s.r.Name(c.Category)
		s.to.Classes = append(s.to.Classes, c)
	}
}

// Write redacts an event and passes it on.
func (s *sink) Write(e *trace.TimelineEvent) error {
	if len(s.from.Streams) != len(s.to.Streams) || len(s.from.Classes) != len(s.to.Classes) || len(s.from.Hosts) != len(s.to.Hosts) ||
		len(s.from.Maps) != len(s.to.Maps) || s.from.Streams[e.Stream].Name != s.names[e.Stream] {
		s.sync()
	}
	s.event = *e
	class := &s.from.Classes[e.Class]
	s.values = s.values[:0]
	for i := range e.Values {
		v := e.Values[i].Clone()
		switch {
		case i >= len(class.Fields):
			v = trace.Value{}
		case i >= len(class.Fields)-class.Context && v.Kind == trace.Text: // names of programs
			v.Data = []byte(s.r.Name(string(v.Data)))
		case class.Category == "packets" && (class.Fields[i].Name == "protocol" || class.Fields[i].Name == "flags"): // words of ours
		default:
			s.r.value(&class.Fields[i], &v)
		}
		s.values = append(s.values, v)
	}
	s.event.Values = s.values
	return s.Sink.Write(&s.event)
}

// Close completes the names, and the output.
func (s *sink) Close() error {
	s.sync()
	return s.Sink.Close()
}

// Discard passes a sink's end without an output on, to those that have one.
func (s *sink) Discard() {
	if d, ok := s.Sink.(interface{ Discard() }); ok {
		d.Discard()
	}
}

// value redacts a value that belongs to the caller.
func (r *Redactor) value(f *trace.Field, v *trace.Value) {
	if a, ok := f.Address(v); ok {
		putAddress(v, r.Addr(a).AsSlice())
		return
	}
	switch v.Kind {
	case trace.Text:
		v.Data = r.Text(v.Data)
	case trace.Bytes:
		clear(v.Data)
	case trace.Struct:
		for i := range v.Items {
			if i < len(f.Type.Fields) {
				r.value(&f.Type.Fields[i], &v.Items[i])
			} else {
				v.Items[i] = trace.Value{}
			}
		}
	case trace.Array:
		r.array(f, v)
	case trace.Variant:
		if v.Bits < uint64(len(f.Type.Fields)) && len(v.Items) == 1 {
			r.value(&f.Type.Fields[v.Bits], &v.Items[0])
		}
	}
}

// array redacts the values of an array. Small integers are bytes of something.
func (r *Redactor) array(f *trace.Field, v *trace.Value) {
	for i := range v.Items {
		switch x := &v.Items[i]; {
		case f.Type.Elem == nil:
			*x = trace.Value{}
		case (x.Kind == trace.Uint || x.Kind == trace.Int) && f.Type.Elem.Bits > 0 && f.Type.Elem.Bits <= 16:
			x.Bits = 0
		default:
			r.value(&trace.Field{Type: *f.Type.Elem}, x)
		}
	}
}

// putAddress puts the bytes of an address in the place of one: numbers of 8 or 16 bits, or one of 32.
func putAddress(v *trace.Value, b []byte) {
	if v.Kind != trace.Array {
		v.Bits = 0
		for _, x := range b {
			v.Bits = v.Bits<<8 | uint64(x)
		}
		return
	}
	size := len(b) / len(v.Items)
	for i := range v.Items {
		v.Items[i].Bits = 0
		for _, x := range b[i*size : (i+1)*size] {
			v.Items[i].Bits = v.Items[i].Bits<<8 | uint64(x)
		}
	}
}
