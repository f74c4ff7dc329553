package filter

import (
	"testing"

	"meridian/trace"
)

// What is always wanted passes whatever the patterns and conditions say but those of hosts, with all its fields.
func TestWhatIsAlwaysWantedPassesWithAllItsFields(t *testing.T) {
	field := func(name string) trace.Field { return trace.Field{Name: name, Type: trace.Type{Kind: trace.Int}} }
	schema := &trace.Schema{Hosts: []string{"a", "b"}, Streams: []trace.Stream{{Name: "row", Host: "a"}, {Name: "row", Host: "b"}},
		Classes: []trace.Class{{Name: "x", Fields: []trace.Field{field("n"), field("m")}}, {Name: "doubt", Fields: []trace.Field{field("from"), field("to")}}}}
	c, err := ParseCondition("n>5")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Events: []string{"x"}}, {Where: []Condition{c}}, {Fields: []string{"n"}}, {Streams: []string{"other"}}, {Hosts: []string{"a"}}} {
		o.Always = "doubt"
		f := New(schema, o)
		var got []trace.TimelineEvent
		f.To(writes(func(r *trace.TimelineEvent) { got = append(got, *r) }))
		for host := range 2 {
			r := trace.TimelineEvent{Event: trace.Event{Class: 1, Stream: host}, Host: host, Values: []trace.Value{trace.OfInt(1), trace.OfInt(2)}}
			if err := f.Write(&r); err != nil {
				t.Fatal(err)
			}
		}
		want := 2
		if o.Hosts != nil {
			want = 1
		}
		if len(got) != want || len(got[0].Values) != 2 || len(f.Schema().Classes[1].Fields) != 2 {
			t.Errorf("%+v: %d of %d passed: %+v; class %+v", o, len(got), want, got, f.Schema().Classes[1])
		}
	}
}

type writes func(*trace.TimelineEvent)

func (w writes) Write(r *trace.TimelineEvent) error { w(r); return nil }
func (w writes) Close() error                       { return nil }
