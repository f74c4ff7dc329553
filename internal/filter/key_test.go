package filter

import (
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// scheduled is a timeline of wakeups, which name the task as tid, and of switches, which name it as next_tid.
func scheduled(t *testing.T, spec string, write func(f *Filter)) Result {
	t.Helper()
	integer, text := trace.Type{Kind: trace.Int}, trace.Type{Kind: trace.Text}
	schema := &trace.Schema{Hosts: []string{"web"}, Streams: []trace.Stream{{Name: "CPU 0", Host: "web", Kind: trace.CPU, Parent: -1}}, Classes: []trace.Class{
		{Name: "wakeup", Fields: []trace.Field{{Name: "tid", Type: integer}, {Name: "comm", Type: text}}},
		{Name: "switch", Fields: []trace.Field{{Name: "tid", Type: integer}, {Name: "next_tid", Type: integer}, {Name: "next_comm", Type: text}}},
		{Name: "odd", Fields: []trace.Field{{Name: "tid/next_tid", Type: integer}, {Name: "tid", Type: integer}}},
	}}
	o := Options{Pairs: []Pair{pair(t, spec)}}
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	f := New(schema, o)
	f.To(&kept{schema: schema})
	write(f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Results()[0]
}

func wrote(t *testing.T, f *Filter, at, class int, values ...trace.Value) {
	t.Helper()
	if err := f.Write(record(clock.HostTime(at), 0, class, values...)); err != nil {
		t.Fatal(err)
	}
}

func TestAKeyMayHaveAnotherNameAtTheEnd(t *testing.T) {
	number, name := trace.OfInt, trace.OfText
	switches := func(f *Filter) {
		wrote(t, f, 10, 0, number(7), name("sh"))
		wrote(t, f, 12, 0, number(8), name("ls"))
		wrote(t, f, 15, 1, number(7), number(8), name("ls")) // 3 after its wakeup; the tid is that of the task before
		wrote(t, f, 19, 1, number(8), number(7), name("sh")) // 9
	}
	if r := scheduled(t, "p=wakeup..switch,key=tid/next_tid", switches); r.Count != 2 || r.MinNs != 3 || r.MaxNs != 9 || r.NoBegin+r.NoEnd+r.NoKey != 0 || r.Longest.Key != "7" {
		t.Errorf("%+v, longest %+v", r, r.Longest)
	}
	if r := scheduled(t, "p=wakeup..switch,key=tid/next_tid,key=comm/next_comm", switches); r.Count != 2 || r.MinNs != 3 || r.MaxNs != 9 || r.Longest.Key != "7 sh" {
		t.Errorf("two fields: %+v, longest %+v", r, r.Longest)
	}
	// With one name for both, it is the task before that is paired.
	if r := scheduled(t, "p=wakeup..switch,key=tid", switches); r.Count != 2 || r.MinNs != 5 || r.MaxNs != 7 {
		t.Errorf("one name: %+v", r)
	}
	// The names the wrong way round are of no field.
	if r := scheduled(t, "p=wakeup..switch,key=next_tid/tid", switches); r.Count != 0 || r.NoKey != 2 || r.NoBegin != 2 {
		t.Errorf("the wrong way round: %+v", r)
	}
	// A field whose own name has a slash goes first.
	if r := scheduled(t, "p=odd..odd,key=tid/next_tid", func(f *Filter) {
		wrote(t, f, 1, 2, number(1), number(5))
		wrote(t, f, 4, 2, number(1), number(6))
	}); r.Count != 1 || r.MinNs != 3 {
		t.Errorf("a name with a slash: %+v", r)
	}
}

func TestKeysOfSeveralFieldsAreNotJoinedToEqualTexts(t *testing.T) {
	name := trace.OfText
	text := trace.Type{Kind: trace.Text}
	schema := world()
	schema.Classes = []trace.Class{
		{Name: "begin", Fields: []trace.Field{{Name: "x", Type: text}, {Name: "y", Type: text}}},
		{Name: "end", Fields: []trace.Field{{Name: "x", Type: text}, {Name: "y", Type: text}}},
	}
	f := New(schema, Options{Pairs: []Pair{pair(t, "p=begin..end,key=x,key=y")}})
	f.To(&kept{schema: schema})
	wrote(t, f, 1, 0, name("a b"), name("c"))
	wrote(t, f, 2, 0, name("\x01a"), name(""))
	wrote(t, f, 3, 1, name("a"), name("b c"))
	wrote(t, f, 4, 1, name(""), name("\x01a"))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if r := f.Results()[0]; r.Count != 0 || r.NoEnd != 2 || r.NoBegin != 2 {
		t.Errorf("%+v", r)
	}
}

// TestThePairsKeyIsItsOwnWhenItIsGivenUp: at the end, and when another begins with the same key.
func TestThePairsKeyIsItsOwnWhenItIsGivenUp(t *testing.T) {
	_, f := play(t, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=id")}}, ended(1, 5), begun(9, 5), ended(20, 77))
	if r := f.Results()[0]; r.Count != 1 || r.Longest == nil || r.Longest.Key != "5" {
		t.Errorf("%+v, longest %+v", r, r.Longest)
	}
}
