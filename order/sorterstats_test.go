package order

import (
	"cmp"
	"reflect"
	"slices"
	"testing"
	"time"

	"meridian/clock"
	"meridian/trace"
)

// The sums of two Sorters that each got the events of one host are what one Stats says of each, in every number.
func TestStatsOfTwoSortersAddUp(t *testing.T) {
	run := func(host, n int) SorterStats {
		s := NewSorter(SorterOptions{Frame: time.Millisecond, MostFrame: time.Millisecond})
		emit := func(*trace.TimelineEvent, Note) error { return nil }
		for i := range n {
			at := clock.TimelineTime(i * 10_000_000)
			if i%3 == 2 {
				at -= 25_000_000 // late
			}
			e := trace.TimelineEvent{Event: trace.Event{Stream: host}, Time: at, Host: host}
			e.Event.Time = clock.HostTime(at)
			if err := s.Push(&e); err != nil {
				t.Fatal(err)
			}
			if err := s.Advance(clock.TimelineTime(i*10_000_000+5_000_000), emit); err != nil {
				t.Fatal(err)
			}
		}
		return s.Stats()
	}
	a, b := run(0, 31), run(1, 7)
	if a.Late == 0 || b.Late == 0 || a.Late == b.Late {
		t.Fatalf("%d and %d late: the test says nothing", a.Late, b.Late)
	}
	sum := a
	sum.Add(&b)
	va, vb, vs := reflect.ValueOf(a), reflect.ValueOf(b), reflect.ValueOf(sum)
	for i := range vs.NumField() {
		name := vs.Type().Field(i).Name
		switch name {
		case "Frame", "GreatestLateness", "GreatestRepair":
			if got, want := vs.Field(i).Int(), max(va.Field(i).Int(), vb.Field(i).Int()); got != want {
				t.Errorf("%s is %d, want %d", name, got, want)
			}
		case "LateByHost":
			if want := []int64{a.Late, b.Late}; !slices.Equal(sum.LateByHost, want) {
				t.Errorf("late by host %v, want %v", sum.LateByHost, want)
			}
		case "LateStreams":
			if want := []LateStream{a.LateStreams[0], b.LateStreams[0]}; !slices.Equal(sum.LateStreams, want) {
				t.Errorf("late streams %v, want %v", sum.LateStreams, want)
			}
		case "Excluded":
			if sum.Excluded != cmp.Or(a.Excluded, b.Excluded) {
				t.Errorf("excluded %v of %v and %v", sum.Excluded, a.Excluded, b.Excluded)
			}
		case "Latency":
			if sum.Latency.Count() != a.Latency.Count()+b.Latency.Count() || sum.Latency.Max() != max(a.Latency.Max(), b.Latency.Max()) || sum.Latency.Quantile(0) != min(a.Latency.Quantile(0), b.Latency.Quantile(0)) {
				t.Errorf("latencies %d, %v", sum.Latency.Count(), sum.Latency.Max())
			}
		default:
			if got, want := vs.Field(i).Int(), va.Field(i).Int()+vb.Field(i).Int(); got != want {
				t.Errorf("%s is %d, want %d", name, got, want)
			}
		}
	}
}
