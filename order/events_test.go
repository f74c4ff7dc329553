package order

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// memorySource is a source of events in memory, whose values are void after the next Next as a reader's are.
type memorySource struct {
	events  []trace.Event
	fields  []clock.HostTime
	streams []trace.Stream
	classes []trace.Class
	n       int
	values  []trace.Value
	text    []byte
}

func (s *memorySource) Next(e *trace.Event) error {
	if s.n == len(s.events) {
		return io.EOF
	}
	*e = s.events[s.n]
	s.n++
	return nil
}

func (s *memorySource) Values() []trace.Value {
	n := s.fields[s.n-1]
	s.text = fmt.Appendf(s.text[:0], "<%d>", n)
	if s.values == nil {
		s.values = []trace.Value{{}, {}, {Kind: trace.Struct, Items: []trace.Value{{}, {Kind: trace.Array, Items: make([]trace.Value, 1)}}}}
	}
	s.values[0] = trace.OfInt(int64(n))
	s.values[1] = trace.Value{Kind: trace.Text, Data: s.text}
	s.values[2].Items[0] = trace.OfInt(int64(n + 1))
	s.values[2].Items[1].Items[0] = trace.OfInt(int64(n + 2))
	return s.values
}

func (s *memorySource) Streams() []trace.Stream { return s.streams }
func (s *memorySource) Classes() []trace.Class  { return s.classes }
func (s *memorySource) Close() error            { return nil }

func TestEventsComeInOrderOfTheTimelineWithTheirFieldsWhole(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		type want struct {
			time            clock.TimelineTime
			recorded, field clock.HostTime
		}
		var expected []want
		var sources []EventSource
		schema := &trace.Schema{Hosts: []string{"a", "b", "c", "d"}}
		n := rapid.IntRange(0, 4).Draw(t, "sources")
		for i := range n {
			offset := clock.TimelineTime(rapid.Int64Range(-1_000_000, 1_000_000).Draw(t, "offset"))
			m := clock.Map{Mid: clock.Curve{{X: 0, Y: offset}, {X: 1_000_000, Y: offset + 1_500_000}}}
			s := &memorySource{
				streams: []trace.Stream{{Name: "x", Parent: -1}, {Name: "y", Parent: 0}},
				classes: []trace.Class{{Name: "own"}, {Name: fmt.Sprint("of ", i)}},
			}
			now, late, window := clock.HostTime(0), int64(1000), int64(1000)
			if rapid.Bool().Draw(t, "in order") {
				late, window = 0, InOrder
			}
			for range rapid.IntRange(0, 60).Draw(t, "events") {
				now += clock.HostTime(rapid.Int64Range(0, 500).Draw(t, "step"))
				at := now - clock.HostTime(rapid.Int64Range(0, late).Draw(t, "late")) // never later than the window
				field := clock.HostTime(len(expected))
				s.events = append(s.events, trace.Event{Time: at, Stream: int(int64(field) % 2), Class: int(int64(field) / 2 % 2)})
				s.fields = append(s.fields, field)
				expected = append(expected, want{m.At(at), at, field})
			}
			sources = append(sources, EventSource{Events: s, Host: i, Map: &m, Window: window, Ahead: rapid.Bool().Draw(t, "ahead")})
		}
		var got []want
		_, err := Events(context.Background(), sources, schema, func(r *trace.TimelineEvent) error {
			if len(r.Values) != 3 || string(r.Values[1].Data) != fmt.Sprintf("<%d>", r.Values[0].Int()) ||
				r.Values[2].Items[0].Int() != r.Values[0].Int()+1 || r.Values[2].Items[1].Items[0].Int() != r.Values[0].Int()+2 {
				t.Fatalf("fields are not those of the event: %+v", r.Values)
			}
			field := r.Values[0].Int()
			s := schema.Streams[r.Stream]
			if s.Host != schema.Hosts[r.Host] || s.Name != "xy"[field%2:field%2+1] {
				t.Fatalf("event %d is on row %+v of host %d", field, s, r.Host)
			}
			if s.Parent >= 0 && (schema.Streams[s.Parent].Host != s.Host || schema.Streams[s.Parent].Name != "x") {
				t.Fatalf("row %+v has parent %+v", s, schema.Streams[s.Parent])
			}
			class := schema.Classes[r.Class].Name
			if want := []string{"own", fmt.Sprint("of ", r.Host)}[field/2%2]; class != want {
				t.Fatalf("event %d is of class %q, want %q", field, class, want)
			}
			got = append(got, want{r.Time, r.Event.Time, clock.HostTime(field)})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(got, func(a, b want) int { return int(a.time - b.time) }) {
			t.Fatal("not in order")
		}
		slices.SortFunc(got, func(a, b want) int { return int(a.field - b.field) })
		if !slices.Equal(got, expected) {
			t.Fatalf("got %v\nwant %v", got, expected)
		}
	})
}

func TestClassesThatSourcesHaveInCommonAreOne(t *testing.T) {
	class := trace.Class{Name: "c", Fields: []trace.Field{{Name: "f", Type: trace.Type{Kind: trace.Int}}}}
	other := trace.Class{Name: "c", Fields: []trace.Field{{Name: "f", Type: trace.Type{Kind: trace.Uint}}}}
	schema := &trace.Schema{Hosts: []string{"h"}}
	var sources []EventSource
	for _, c := range []trace.Class{class, other, class} {
		sources = append(sources, EventSource{Events: &memorySource{
			events: []trace.Event{{}}, fields: []clock.HostTime{0}, streams: []trace.Stream{{Parent: -1}}, classes: []trace.Class{c},
		}})
	}
	if _, err := Events(context.Background(), sources, schema, func(*trace.TimelineEvent) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if len(schema.Classes) != 2 || len(schema.Streams) != 3 {
		t.Errorf("%d classes and %d streams, want 2 and 3", len(schema.Classes), len(schema.Streams))
	}
}

func TestEventsLaterThanTheWindowAreEmittedAndCounted(t *testing.T) {
	s := &memorySource{streams: []trace.Stream{{Parent: -1}}, classes: []trace.Class{{}}}
	for _, at := range []clock.HostTime{0, 5000, 10_000, 100, 20_000} {
		s.events = append(s.events, trace.Event{Time: at})
		s.fields = append(s.fields, at)
	}
	var got []clock.TimelineTime
	stats, err := Events(context.Background(), []EventSource{{Events: s, Window: 1000}}, &trace.Schema{Hosts: []string{"h"}},
		func(r *trace.TimelineEvent) error { got = append(got, r.Time); return nil })
	if err != nil || stats.Late[0] != 1 || stats.Frames[0] != 5 || len(got) != 5 {
		t.Errorf("%v, %+v, %v", err, stats, got)
	}
}

func TestEventsEndWithTheErrorOfASourceOrOfWhoTakesThem(t *testing.T) {
	schema := &trace.Schema{Hosts: []string{"h"}}
	s := func() *memorySource {
		return &memorySource{events: []trace.Event{{}}, fields: []clock.HostTime{0}, streams: []trace.Stream{{Parent: -1}}, classes: []trace.Class{{}}}
	}
	wrong := errors.New("wrong")
	if _, err := Events(context.Background(), []EventSource{{Events: s()}}, schema, func(*trace.TimelineEvent) error { return wrong }); err != wrong {
		t.Errorf("got %v", err)
	}
	if _, err := Events(context.Background(), []EventSource{{Events: failing{s(), wrong}}}, schema, func(*trace.TimelineEvent) error { return nil }); err != wrong {
		t.Errorf("got %v", err)
	}
}

type failing struct {
	*memorySource
	err error
}

func (f failing) Next(*trace.Event) error { return f.err }

// The truth is brute force: a clock shows each of its instants, and the timeline then shows all between its lower and its upper
// curve. In whole ns, these and no others are between the bounds of an event.
func TestBoundsOfAnEventHoldAllInstantsThatItsStampStandsFor(t *testing.T) {
	m := clock.Map{
		Mid: clock.Curve{{X: 0, Y: 100}, {X: 30, Y: 140}},
		Low: clock.Curve{{X: 0, Y: 90}, {X: 30, Y: 130}}, High: clock.Curve{{X: 0, Y: 110}, {X: 15, Y: 125}, {X: 30, Y: 154}},
	}
	exact := func(c clock.Curve, x *big.Rat) *big.Rat { // a value of the curve
		k := 1
		for k+1 < len(c) && x.Cmp(big.NewRat(int64(c[k].X), 1)) > 0 {
			k++
		}
		slope := big.NewRat(int64(c[k].Y-c[k-1].Y), int64(c[k].X-c[k-1].X))
		y := new(big.Rat).Mul(slope, new(big.Rat).Sub(x, big.NewRat(int64(c[k-1].X), 1)))
		return y.Add(y, big.NewRat(int64(c[k-1].Y), 1))
	}
	floor := func(y *big.Rat) int64 { return new(big.Int).Div(y.Num(), y.Denom()).Int64() }
	const part = 1000 // of a nanosecond, by which instants are tried
	for _, granularity := range []int64{0, 1, 2, 7} {
		s := &memorySource{streams: []trace.Stream{{Parent: -1}}, classes: []trace.Class{{}}}
		for i := range clock.HostTime(22) {
			s.events, s.fields = append(s.events, trace.Event{Time: i}), append(s.fields, i)
		}
		_, err := Events(context.Background(), []EventSource{{Events: s, Map: &m, Granularity: granularity}}, &trace.Schema{Hosts: []string{"h"}}, func(r *trace.TimelineEvent) error {
			stamp := int64(r.Event.Time)
			low, high := int64(math.MaxInt64), int64(math.MinInt64)
			for i := range max(granularity, 1) * part {
				x := big.NewRat(stamp*part+i, part)
				low, high = min(low, floor(exact(m.Low, x))), max(high, floor(exact(m.High, x)))
			}
			if !r.Bounded || r.Time != m.At(r.Event.Time) || int64(r.Low) != low || int64(r.High) != high {
				t.Errorf("granularity %d: %+v, want %d to %d around %d", granularity, r, low, high, m.At(r.Event.Time))
			}
			eventLow, eventHigh, lowOK, highOK := m.EventBounds(r.Event.Time, granularity)
			if eventLow != r.Low || eventHigh != r.High || !lowOK || !highOK {
				t.Errorf("granularity %d: %+v, but EventBounds returns %d to %d", granularity, r, eventLow, eventHigh)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
