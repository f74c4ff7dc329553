package view

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
	"meridian/trace"
)

// knownEnds has client and server send to the db, which does not answer: most of their packets have their own
// addresses.
func knownEnds() (c captures) {
	c.packet(0, 2, 50001, 0, 1, 80, 1, "")
	c.packet(1, 2, 50002, 0, 1, 80, 1, "")
	return c
}

// A server's packets are moved on its clock: what its bounds leave room for is shown, what they exclude is named by two
// events.
func TestRequestsThatCannotBeAreNamedByTwoEvents(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name  string
		moved clock.TimelineTime // the server's instants, against a delay of 100 us and bounds of 20 us
		want  string
	}{
		{"in order", 0, ""},
		{"within the bounds", -115_000, ""},
		{"a request that came too early", -125_000, "3 requests contradict the clocks, the first by at least 4.998 µs: a request was received before it was sent (client at 2001-09-09T01:46:40.000000000Z, and server at 2001-09-09T01:46:40.000100000Z, each by its own clock)"},
		{"a reply that came too early", 125_000, "3 requests contradict the clocks, the first by at least 4.998 µs: a reply was received before it was sent (server at"},
	} {
		c := knownEnds()
		for i := range int64(3) {
			n := uint64(i)
			c.packet(0, 1, 40002, i*10*capturedMs, 1+80*n, 80, 1+100*n, "")
			c.packet(1, 0, 40002, i*10*capturedMs+capturedMs, 1+100*n, 100, 81+80*n, "")
		}
		for i := range c.records {
			if r := &c.records[i]; r.Host == 1 {
				r.Time, r.Low, r.High = r.Time+x.moved, r.Low+x.moved, r.High+x.moved
			}
		}
		list, err := c.timeline(t).Requests(RequestQuery{})
		if err != nil || list.Count != 3 || !strings.HasPrefix(list.Contradiction, x.want) || (list.Contradiction == "") != (x.want == "") {
			t.Errorf("%s: %d requests, %q, %v", x.name, list.Count, list.Contradiction, err)
		}
	}
}

// The server says that it took longer than the client waited, by its own clock: no offset makes that true.
func TestANetworkOfLessThanNoTimeIsNamed(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		longer int64 // how much longer the server took than the client waited, ns
		want   bool
	}{{-1000, false}, {900, false}, {3000, true}} {
		c := knownEnds()
		c.packet(0, 1, 40002, 0, 1, 80, 1, "")
		c.packet(1, 0, 40002, capturedMs, 1, 100, 81, "")
		// The client waits for 1.1 ms, the server takes 0.9 ms, half of the difference before and half behind.
		for i := range c.records {
			r := &c.records[i]
			if r.Host != 1 {
				continue
			}
			by := clock.TimelineTime(100_000 + x.longer/2)
			if r.Event.Time < clock.HostTime(capturesBegin+capturedMs/2) {
				by = -by
			}
			r.Time, r.Low, r.High, r.Event.Time = r.Time+by, r.Low+by, r.High+by, r.Event.Time+clock.HostTime(by)
		}
		list, err := c.timeline(t).Requests(RequestQuery{})
		if err != nil || list.Count != 1 || (list.Contradiction != "") != x.want || x.want && !strings.Contains(list.Contradiction, "the server took longer than the client waited") {
			t.Errorf("%d ns: %+v, %v", x.longer, list, err)
		}
	}
}

func timelineOfEvents(t *testing.T, schema *trace.Schema, events []trace.TimelineEvent) *Timeline {
	t.Helper()
	x, err := NewTimeline(indextest.Build(t, schema, "", nil, func(b *index.Builder) error {
		for i := range events {
			if err := b.Write(&events[i]); err != nil {
				return err
			}
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// A client's span ends when it has the reply, a server's when its handler returns: that is no contradiction, but the
// network's time is not known.
func TestASpanWhoseServerRunsOnIsNotDivided(t *testing.T) {
	t.Parallel()
	schema, events := indextest.ShopEvents(indextest.ShopRequests)
	x := timelineOfEvents(t, schema, events)
	before, err := x.Requests(RequestQuery{Most: 1000})
	if err != nil {
		t.Fatal(err)
	}
	// The server of the first request, by its own end.
	r := before.Requests[0]
	served := -1
	for i := range events {
		e := &events[i]
		if e.Phase == trace.End && e.Stream == r.Server && int64(e.Time-events[0].Time) > r.Begin && int64(e.Time-events[0].Time) < r.Begin+r.Total {
			served = i
		}
	}
	if served < 0 || r.Overlapping || before.Contradiction != "" {
		t.Fatalf("%d, %+v, %q", served, r, before.Contradiction)
	}
	e := &events[served]
	const on = 1e9
	e.Time, e.Low, e.High, e.Event.Time = e.Time+on, e.Low+on, e.High+on, e.Event.Time+on
	slices.SortStableFunc(events, func(a, b trace.TimelineEvent) int { return cmp.Compare(a.Time, b.Time) })
	after, err := timelineOfEvents(t, schema, events).Requests(RequestQuery{Most: 1000})
	if err != nil || after.Contradiction != "" {
		t.Fatalf("%q, %v", after.Contradiction, err)
	}
	for _, y := range after.Requests {
		if y.Begin == r.Begin && y.Kind == r.Kind && !y.Overlapping && y.Network < 0 {
			t.Errorf("a network of less than no time: %+v", y)
		}
	}
}
