package record

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"meridian/trace"
)

func TestOnlyTriggersThatNoDeclaredEventCanMeetAreUnmet(t *testing.T) {
	var warned []string
	o := Options{Warn: func(line string) { warned = append(warned, line) }}
	for _, text := range []string{"shop:sold,status>1", "sold,statsu>1", "shop:slod", "s*,count=1", "s*,nothing=1", "kernel_only"} {
		o.Trigger = append(o.Trigger, trigger(t, text))
	}
	c := newTriggerChecks(&o)
	number := trace.Type{Kind: trace.Int, Bits: 64}
	sold := &trace.Class{Category: "shop", Name: "sold", Fields: []trace.Field{{Name: "status", Type: number}, {Name: "item", Type: number}}}
	for range 2 { // as two programs declare it
		c.declared(sold)
	}
	c.declared(&trace.Class{Category: "shop", Name: "stock", Fields: []trace.Field{{Name: "count", Type: number}}})
	c.declared(&trace.Class{Name: "kernel_only"})
	if want := []string{"--trigger sold,statsu>1: shop:sold has no field statsu; it has status, item"}; !slices.Equal(warned, want) {
		t.Errorf("warned %q, want %q", warned, want)
	}
	want := []Unmet{
		{"sold,statsu>1", "shop:sold has no field statsu; it has status, item"},
		{"shop:slod", "no program or source has an event of this name; the nearest: shop:sold, shop:stock"},
		{"s*,nothing=1", "shop:sold has no field nothing; it has status, item"},
	}
	if got := c.unmet(); !slices.Equal(got, want) {
		t.Errorf("unmet %q, want %q", got, want)
	}
}

func TestTriggersOfASourcesDeclaredEventsAreCheckedBeforeAnyOccurs(t *testing.T) {
	k := &trickle{next: make(chan struct{})} // which emits nothing here
	name := k.Classes()[0].Name
	r, end := recorded(t, Options{Dir: filepath.Join(t.TempDir(), "trace"), Rings: []string{t.TempDir()}, Sources: []Source{k}, Keep: Keep{Time: time.Hour},
		Trigger: []Trigger{trigger(t, name), trigger(t, name+",nosuch=1"), trigger(t, "nosuch")}})
	var unmet []string
	for _, u := range end().Unmet {
		unmet = append(unmet, u.Trigger)
	}
	if want := []string{name + ",nosuch=1", "nosuch"}; !slices.Equal(unmet, want) {
		t.Errorf("unmet %q, want %q", unmet, want)
	}
	if lines := r.o.Warnings.Lines(); len(lines) != 1 {
		t.Errorf("%q", lines)
	}
}
