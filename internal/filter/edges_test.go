package filter

import (
	"slices"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

func TestAskedForEventsAreFoundOrNot(t *testing.T) {
	for _, c := range []struct {
		from, to       string
		foundF, foundT bool
	}{{"", "", true, true}, {"sched_switch", "", true, true}, {"", "sched_switch", true, true}, {"ust:end", "", false, true}, {"", "ust:end", true, false}, {"sched_switch", "ust:end", true, false}} {
		_, f := play(t, Options{From: Edge{Event: c.from}, To: Edge{Event: c.to}}, record(1, 0, 0), record(2, 1, 1), record(3, 0, 0))
		if from, to := f.Found(); from != c.foundF || to != c.foundT {
			t.Errorf("from %q to %q: found %v %v", c.from, c.to, from, to)
		}
	}
}

func TestAStretchMayBeAnInstantButNotEndBeforeItBegins(t *testing.T) {
	at := func(ns int64) Edge { return Edge{Time: clock.TimelineTime(ns), Timed: true} }
	for _, c := range []struct {
		from, to Edge
		fine     bool
	}{{at(5), at(5), true}, {at(5), at(6), true}, {at(6), at(5), false}, {Edge{}, at(-5), true}, {at(5), Edge{}, true}, {Edge{Time: 9}, at(5), true}, {at(5), Edge{Time: 1}, true}} {
		if err := (&Options{From: c.from, To: c.to}).Check(); (err == nil) != c.fine {
			t.Errorf("from %+v to %+v: %v", c.from, c.to, err)
		}
	}
	k, _ := play(t, Options{From: at(5), To: at(5)}, record(4, 0, 1), record(5, 0, 1), record(6, 0, 1))
	if !slices.Equal(k.lines, []string{"5 web CPU 0 sched_switch"}) {
		t.Errorf("%q", k.lines)
	}
}

func TestPairsThatCannotBeAreNoOptions(t *testing.T) {
	for _, p := range []Pair{{Name: "p", Begin: "a"}, {Name: "p", End: "a"}, {Name: "p"}, {Name: "p", Begin: "a", End: "b", Min: -1}, {Name: "p", Begin: "a", End: "b", Max: -1},
		{Name: "p", Begin: "a", End: "b", Min: 2, Max: 1}, {Name: "p", Begin: "[", End: "b"}, {Name: "p", Begin: "a", End: "["}} {
		if (&Options{Pairs: []Pair{p}}).Check() == nil {
			t.Errorf("%+v was taken", p)
		}
	}
	for _, p := range []Pair{{Begin: "a", End: "b", Min: 1}, {Begin: "a", End: "b", Max: 1}, {Begin: "a", End: "b", Min: 1, Max: 1}} {
		if err := (&Options{Pairs: []Pair{p}}).Check(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// TestFieldsAreThinnedInClassesThatComeLater lets the schema grow while records come.
func TestFieldsAreThinnedInClassesThatComeLater(t *testing.T) {
	l := world()
	l.Classes = l.Classes[:1]
	f := New(l, Options{Fields: []string{"len", "cpu*"}})
	k := &kept{schema: f.Schema()}
	f.To(k)
	text := trace.Type{Kind: trace.Text}
	for i, c := range []trace.Class{
		{Name: "second", Fields: []trace.Field{{Name: "x", Type: text}, {Name: "len", Type: text}, {Name: "y", Type: text}, {Name: "cpu_id", Type: text}, {Name: "cpu", Type: text}}, Context: 4},
		{Name: "third", Fields: []trace.Field{{Name: "len", Type: text}}},
	} {
		l.Classes = append(l.Classes, c)
		values := []trace.Value{trace.OfText("a"), trace.OfText("b"), trace.OfText("c"), trace.OfText("d")}
		if err := f.Write(record(clock.HostTime(i), 0, i+1, values[:min(len(values), len(c.Fields))]...)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"0 web CPU 0 second len=b cpu_id=d cpu=", "1 web CPU 0 third len=a"}
	if !slices.Equal(k.lines, want) {
		t.Errorf("%q, want %q", k.lines, want)
	}
	if got := f.Schema().Classes; len(got) != 3 || got[1].Context != 3 || got[2].Context != 0 || got[0].Context != 0 || got[0].Category != "net" {
		t.Errorf("%+v", got)
	}
}
