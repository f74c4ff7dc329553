package pipeline

import (
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/show"
	"meridian/trace"
)

func TestBoundsThatAreNotInOrderAreNamed(t *testing.T) {
	at := func(ns int64) *clock.TimelineTime { v := clock.TimelineTime(ns); return &v }
	for name, c := range map[string]struct {
		knots []show.Knot
		want  bool
	}{
		"in order":         {[]show.Knot{{HostNs: 5, TimelineNs: 5, LowNs: at(4), HighNs: at(6)}, {HostNs: 7, TimelineNs: 7, LowNs: at(7), HighNs: at(7)}}, false},
		"unbounded":        {[]show.Knot{{HostNs: 5, TimelineNs: 5}, {HostNs: 6, TimelineNs: 6, LowNs: at(5)}}, false},
		"estimate outside": {[]show.Knot{{HostNs: 5, TimelineNs: 5, LowNs: at(6), HighNs: at(9)}}, false},
		"low behind high":  {[]show.Knot{{HostNs: 5, TimelineNs: 5, LowNs: at(6), HighNs: at(4)}}, true},
	} {
		got := crossedBounds([]show.Host{{Name: "a", Map: c.knots}})
		if (len(got) == 1) != c.want || c.want && !strings.Contains(got[0], "the bounds of a contradict themselves at 1970-01-01T00:00:00.000000005Z") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The bounds of b allow 10 ns either way. A message of three was received before it was sent even so, one within the
// bounds.
func TestTheWorstMessageThatTheBoundsExcludeIsFound(t *testing.T) {
	at := func(by int64) clock.Curve {
		return clock.Curve{{X: 0, Y: clock.TimelineTime(by)}, {X: 1000, Y: clock.TimelineTime(1000 + by)}}
	}
	maps := []clock.Map{{Low: at(0), Mid: at(0), High: at(0)}, {Low: at(-10), Mid: at(0), High: at(10)}}
	p := &trace.Problem{Clocks: []trace.Clock{{Name: "a", Granularity: 1}, {Name: "b", Granularity: 1}},
		Channels: []trace.Channel{{From: 0, To: 1, Messages: []trace.Message{{Sent: 100, Received: 110}, {Sent: 200, Received: 150}, {Sent: 300, Received: 295}}}}}
	got, ok := worstContradiction(p, maps)
	if want := (contradiction{trace.Message{Sent: 200, Received: 150}, 0, 1, 39}); !ok || got != want {
		t.Errorf("%+v, %v; want %+v", got, ok, want)
	}
	p.Channels[0].Messages = p.Channels[0].Messages[:1]
	if got, ok := worstContradiction(p, maps); ok {
		t.Errorf("%+v", got)
	}
}
