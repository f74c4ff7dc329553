package eventbuffer

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/internal/testseed"
	"meridian/trace"
)

func all(t eventtest.Fataler, s trace.Source) (events []trace.Event, values [][]trace.Value) {
	for e := range eventtest.All(t, s) {
		var v []trace.Value
		for _, x := range s.Values() {
			v = append(v, x.Clone())
		}
		events, values = append(events, e), append(values, v)
	}
	return events, values
}

func TestSlicesThatNestAreBroughtFromTheOutside(t *testing.T) {
	b := New()
	row := b.Stream(trace.Stream{Name: "r", Parent: -1})
	for _, s := range []struct {
		name     string
		from, to clock.HostTime
	}{{"inner", 2, 4}, {"outer", 0, 9}, {"point", 4, 4}, {"second", 4, 9}, {"after", 9, 12}, {"across", 10, 14}} {
		b.Add(Item{Time: s.from, End: s.to, Kind: Slice, Stream: int32(row), Class: b.Class([]byte(s.name), nil)})
	}
	tr := b.Done()
	got := ""
	events, _ := all(t, tr.Events())
	for _, e := range events {
		got += fmt.Sprintf(" %d%s%c%d", e.Time, tr.classes[e.Class].Name, " ()"[e.Phase], e.Slice)
	}
	want := " 0outer(0 2inner(0 4inner)0 4second(0 4point(0 4point)0 9second)0 9outer)0 9after(0 10across(1 12after)0 14across)1"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFieldsOfAClassHoldAllTheirValues(t *testing.T) {
	b := New()
	b.Stream(trace.Stream{})
	c := b.Class([]byte("c"), []byte("cat"))
	for i, v := range []trace.Value{trace.OfInt(-3), trace.OfFloat(1.5), trace.OfUint(1 << 63)} {
		b.Field([]byte("n"), v)
		if i == 1 {
			b.Field([]byte("t"), trace.OfText("x"))
		} else if i == 2 {
			b.Field([]byte("t"), trace.OfBool(true))
			b.Field([]byte("i"), trace.OfInt(7))
		}
		b.Add(Item{Class: c, Time: clock.HostTime(i)})
	}
	open := b.Add(Item{Class: c, Time: 5, Kind: Open})
	b.Field([]byte("i"), trace.OfInt(8))
	b.Close(open, 6)
	tr := b.Done()
	events, got := all(t, tr.Events())
	none := trace.Value{}
	want := [][]trace.Value{
		{trace.OfFloat(-3), none, none},
		{trace.OfFloat(1.5), trace.OfText("x"), none},
		{trace.OfFloat(1 << 63), trace.OfText("true"), trace.OfInt(7)},
		{none, none, trace.OfInt(8)},
		nil,
	}
	if !reflect.DeepEqual(got, want) || len(events) != 5 {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAClassHasOnlySoManyFields(t *testing.T) {
	b := New()
	b.Stream(trace.Stream{})
	c := b.Class([]byte("c"), nil)
	for i := range maxFields + 20 {
		b.Field(fmt.Append(nil, i), trace.OfInt(int64(i)))
	}
	n := b.Add(Item{Class: c, Kind: Open})
	b.Field([]byte("3"), trace.OfInt(33))
	b.Field([]byte("too many"), trace.OfInt(33))
	b.Close(n, 1)
	if b.Dropped != 21 {
		t.Errorf("%d dropped", b.Dropped)
	}
	_, v := all(t, b.Done().Events())
	if len(v[0]) != maxFields || v[0][3].Int() != 33 || v[0][255].Int() != 255 {
		t.Error(v[0])
	}
}

// The truth: events come in order of time, every End ends what is open, and what has no number ends in reverse order.
func TestEventsNestWhereTheyHaveNoNumber(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		b := New()
		for i := range 2 {
			b.Stream(trace.Stream{ID: int64(i)})
		}
		n := rapid.IntRange(0, 20).Draw(t, "items")
		want := make(map[string]int)
		for range n {
			from := clock.HostTime(rapid.Int64Range(0, 10).Draw(t, "from"))
			it := Item{Time: from, End: from + clock.HostTime(rapid.Int64Range(0, 6).Draw(t, "length")), Kind: rapid.SampledFrom([]Kind{Slice, Slice, Open, Instant}).Draw(t, "kind"),
				Stream: int32(rapid.IntRange(0, 1).Draw(t, "stream"))}
			it.Class = b.Class(fmt.Append(nil, it.Time, it.End, it.Kind), nil)
			want[fmt.Sprint(it.Stream, it.Class, it.Kind)]++
			b.Add(it)
		}
		tr := b.Done()
		got := make(map[string]int)
		open := make([][]int, 2)
		numbered := make(map[uint64]bool)
		last := clock.HostTime(-1)
		events, _ := all(t, tr.Events())
		for _, e := range events {
			if e.Time < last {
				t.Fatal("out of order")
			}
			last = e.Time
			stack := open[e.Stream]
			kind := Instant
			switch {
			case e.Phase == trace.Begin && e.Slice != 0:
				numbered[e.Slice] = true
				continue
			case e.Phase == trace.Begin:
				open[e.Stream] = append(stack, e.Class)
				continue
			case e.Phase == trace.End && e.Slice != 0:
				if !numbered[e.Slice] {
					t.Fatal("ended twice")
				}
				delete(numbered, e.Slice)
				kind = Slice
			case e.Phase == trace.End:
				if len(stack) == 0 || stack[len(stack)-1] != e.Class {
					t.Fatalf("%d ends within %v", e.Class, stack)
				}
				open[e.Stream] = stack[:len(stack)-1]
				kind = Slice
			}
			got[fmt.Sprint(e.Stream, e.Class, kind)]++
		}
		left := len(numbered) + len(open[0]) + len(open[1])
		for k, v := range want {
			if k[len(k)-1] == '2' {
				left -= v
				delete(want, k)
			}
		}
		if left != 0 || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v, %d left open", got, want, left)
		}
	})
}
