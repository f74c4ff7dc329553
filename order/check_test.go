package order

import (
	"context"
	"math"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

func TestMergeRefusesSourcesThatCannotBeRead(t *testing.T) {
	m := clock.Identity()
	emit := func(int, clock.TimelineTime, *trace.Frame) error { return nil }
	for want, sources := range map[string][]Source{
		"source 1: nil Frames":  {{Frames: made(0, nil), Map: &m}, {Map: &m}},
		"source 0: nil Map":     {{Frames: made(0, nil)}},
		"source 0: clock: curv": {{Frames: made(0, nil), Map: &clock.Map{}}},
	} {
		if _, err := Merge(context.Background(), sources, emit); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := Merge(context.Background(), nil, nil); err == nil {
		t.Error("a nil emit was taken")
	}
}

func TestEventsRefuseSourcesAndEventsThatReferToNothing(t *testing.T) {
	one := func(e trace.Event) *memorySource {
		return &memorySource{events: []trace.Event{e}, fields: []clock.HostTime{0}, streams: []trace.Stream{{Parent: -1}}, classes: []trace.Class{{Name: "c"}}}
	}
	empty := clock.Identity()
	empty.Low, empty.High = clock.Curve{}, clock.Curve{}
	for want, s := range map[string]EventSource{
		"Events is nil":  {},
		"no host 1":      {Events: one(trace.Event{}), Host: 1},
		"no host -1":     {Events: one(trace.Event{}), Host: -1},
		"no knots":       {Events: one(trace.Event{}), Map: &clock.Map{}},
		"has no knots":   {Events: one(trace.Event{}), Map: &empty},
		"class 1;":       {Events: one(trace.Event{Class: 1})},
		"class -1;":      {Events: one(trace.Event{Class: -1}), Window: InOrder},
		"class 92233720": {Events: one(trace.Event{Class: math.MaxInt}), Ahead: true},
	} {
		schema := &trace.Schema{Hosts: []string{"web"}}
		emit := func(*trace.TimelineEvent) error { return nil }
		if _, err := Events(context.Background(), []EventSource{s}, schema, emit); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := Events(context.Background(), nil, nil, func(*trace.TimelineEvent) error { return nil }); err == nil {
		t.Error("a nil schema was taken")
	}
	if _, err := Events(context.Background(), nil, &trace.Schema{}, nil); err == nil {
		t.Error("a nil emit was taken")
	}
}

// All events of unknown streams share one row, and streams that come later keep their own.
func TestEventsOfUnknownStreamsShareOneRow(t *testing.T) {
	late := &lateStreams{memorySource: memorySource{classes: []trace.Class{{Name: "c"}}}}
	for i, stream := range []int{-1, 0, 7, 1, math.MaxInt, 0} {
		late.events = append(late.events, trace.Event{Time: clock.HostTime(i), Stream: stream})
		late.fields = append(late.fields, 0)
	}
	schema := &trace.Schema{Hosts: []string{"web"}}
	var rows []string
	_, err := Events(context.Background(), []EventSource{{Events: late, Window: InOrder}}, schema, func(r *trace.TimelineEvent) error {
		rows = append(rows, schema.Streams[r.Stream].Name)
		return nil
	})
	if got := strings.Join(rows, " "); err != nil || got != "? first ? second ? first" || len(schema.Streams) != 3 {
		t.Errorf("rows %s, %d streams, %v", got, len(schema.Streams), err)
	}
}

// lateStreams knows of its second stream only with its fourth event.
type lateStreams struct{ memorySource }

func (s *lateStreams) Streams() []trace.Stream {
	return []trace.Stream{{Name: "first", Parent: -1}, {Name: "second", Parent: -1}}[:1+s.n/4]
}
