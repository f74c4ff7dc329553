package redact

import (
	"strings"
	"testing"

	"meridian/trace"
)

// kept keeps the values of events as people read them.
type kept struct {
	schema *trace.Schema
	texts  []string
	closed bool
}

func (k *kept) Write(e *trace.TimelineEvent) error {
	c := &k.schema.Classes[e.Class]
	var b []byte
	for i := range e.Values {
		b = append(c.Fields[i].Append(append(append(b, c.Fields[i].Name...), '='), &e.Values[i]), ' ')
	}
	k.texts = append(k.texts, k.schema.Streams[e.Stream].Name+": "+string(b))
	return nil
}

func (k *kept) Close() error { k.closed = true; return nil }

func TestEventsHaveOtherAddressesAndNoTexts(t *testing.T) {
	text, bytes8 := trace.Type{Kind: trace.Text}, trace.Type{Kind: trace.Array, Elem: &trace.Type{Kind: trace.Uint, Bits: 8}}
	from := &trace.Schema{Hosts: []string{"web"}, Streams: []trace.Stream{{Name: "nginx 10.1.2.3", Host: "web"}}, Classes: []trace.Class{{
		Name: "query", Context: 1, Fields: []trace.Field{{Name: "sql", Type: text}, {Name: "from", Type: text}, {Name: "saddr", Type: bytes8}, {Name: "data", Type: bytes8},
			{Name: "raw", Type: trace.Type{Kind: trace.Bytes}}, {Name: "n", Type: trace.Type{Kind: trace.Int}},
			{Name: "in", Type: trace.Type{Kind: trace.Struct, Fields: []trace.Field{{Name: "word", Type: text}}}}, {Name: "procname", Type: text}}}}}
	k := new(kept)
	r := New()
	s, err := r.Sink(from, func(to *trace.Schema) (trace.Sink, error) { k.schema = to; return k, nil })
	if err != nil {
		t.Fatal(err)
	}
	ints := func(all ...uint64) trace.Value {
		v := trace.Value{Kind: trace.Array}
		for _, x := range all {
			v.Items = append(v.Items, trace.OfUint(x))
		}
		return v
	}
	values := []trace.Value{trace.OfText("SELECT secret"), trace.OfText("10.1.2.3:5432"), ints(10, 1, 2, 3), ints(115, 101, 99), trace.OfBytes([]byte("secret")), trace.OfInt(-7),
		{Kind: trace.Struct, Items: []trace.Value{trace.OfText("secret")}}, trace.OfText("nginx")}
	e := &trace.TimelineEvent{Values: values}
	// The schema grows, and a name is completed.
	for range 2 {
		if err := s.Write(e); err != nil {
			t.Fatal(err)
		}
		from.Streams[0].Name = "nginx worker 10.1.2.3"
		from.Streams = append(from.Streams, trace.Stream{Name: "late", Host: "web"})
		from.Classes = append(from.Classes, trace.Class{Name: "late"})
	}
	e.Stream, e.Class, e.Values = 2, 2, nil
	if err := s.Write(e); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil || !k.closed {
		t.Error(err)
	}
	all := strings.Join(k.texts, "\n")
	for _, secret := range []string{"secret", "SELECT", "10.1.2.3", "736563", "115"} {
		if strings.Contains(all, secret) {
			t.Errorf("%s is left in %s", secret, all)
		}
	}
	a := r.Name("10.1.2.3")
	for _, want := range []string{"nginx " + a, "nginx worker " + a, "from=" + a + ":5432", "saddr=" + a, "n=-7", "procname=nginx", "sql=~", "late"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is missing in %s", want, all)
		}
	}
	if string(values[0].Data) != "SELECT secret" || values[3].Items[0].Bits != 115 || from.Streams[0].Name != "nginx worker 10.1.2.3" {
		t.Error("what belongs to the source was changed")
	}
}

func TestNamesKeepAllButAddresses(t *testing.T) {
	r := New()
	for _, name := range []string{"GET /cart", "12:30:45", "v1.2.3", "eth0", "a::b", "std::vector", "1.2.3.4.5.6", "", "00:11:22"} {
		if got := r.Name(name); got != name && name != "1.2.3.4.5.6" {
			t.Errorf("%q becomes %q", name, got)
		}
	}
	for _, name := range []string{"to 10.0.0.7:80", "[2001:db8::1]:443", "fe80::1a2b:3c4d", "0a:1b:2c:3d:4e:5f"} {
		got := r.Name(name)
		for _, secret := range []string{"10.0.0.7", "2001:db8::1", "fe80::1a2b:3c4d", "0a:1b:2c:3d:4e:5f"} {
			if strings.Contains(got, secret) {
				t.Errorf("%q becomes %q", name, got)
			}
		}
	}
}
