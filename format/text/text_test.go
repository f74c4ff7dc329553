package text

import (
	"io"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/internal/testseed"
	"meridian/trace"
)

func write(t eventtest.Fataler, l *trace.Schema, events []trace.TimelineEvent) string {
	return eventtest.WriteLines(t, NewWriter, l, events)
}

func story() (*trace.Schema, []trace.TimelineEvent) {
	l := &trace.Schema{Hosts: []string{"web", "db"}, Streams: []trace.Stream{{Name: "nginx 12", Kind: trace.Thread}, {Name: "postgres\x1b[2J", Kind: trace.Thread}},
		Maps: []trace.HostMap{{Map: new(clock.Map)}},
		Classes: []trace.Class{
			{Name: "request", Category: "app", Fields: []trace.Field{{Name: "id", Type: trace.Type{Kind: trace.Int}}, {Name: "path", Type: trace.Type{Kind: trace.Text}}}},
			{Name: "query", Fields: []trace.Field{{Name: "sql", Type: trace.Type{Kind: trace.Text}}}}}}
	first := trace.TimelineEvent{Event: trace.Event{Time: 5, Phase: trace.Begin, Flow: 9, Role: trace.Sends}, Time: 1_700_000_000_000_000_001, Bounded: true,
		Low: 1_700_000_000_000_000_000, High: 1_700_000_000_000_001_252, Values: []trace.Value{trace.OfInt(-7), trace.OfText("/a\n\u202eb\"")}}
	late := trace.TimelineEvent{Event: trace.Event{Stream: 1, Class: 1}, Host: 1, Time: first.Time - 1_200_000, Values: []trace.Value{{}}}
	raw := late
	raw.Time, raw.Map = first.Time+1, -1
	return l, []trace.TimelineEvent{first, late, raw}
}

func TestLinesSayInstantBoundPlaceEventAndFields(t *testing.T) {
	l, events := story()
	const want = "2023-11-14T22:13:20.000000001Z ±1.26us web nginx 12: app:request begin sends=9 id=-7 path=\"/a\\n\\u202eb\\\"\"\n" +
		"2023-11-14T22:13:19.998800001Z ±unbounded db \"postgres\\x1b[2J\": query late=1.20ms moved=120.00us\n" +
		"2023-11-14T22:13:20.000000002Z db \"postgres\\x1b[2J\": query\n"
	if got := write(t, l, events); got != want {
		t.Errorf("got\n%s\nnot\n%s", got, want)
	}
}

func TestNoFieldForgesALineOrReachesTheTerminal(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		l, events := eventtest.Draw(t)
		got := write(t, l, events)
		if n := strings.Count(got, "\n"); n != len(events) {
			t.Fatalf("%d lines of %d events:\n%s", n, len(events), got)
		}
		for _, r := range got {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Fatalf("%q is in a line", r)
			}
		}
	})
}

func TestBoundsAreRoundedOutwards(t *testing.T) {
	for ns, want := range map[int64]string{0: "0ns", 999: "999ns", 1000: "1.00us", 1001: "1.01us", 1_999_999: "2.00ms", 1_000_000_001: "1.01s", 59_999_000_000: "60.00s"} {
		if got := string(appendDuration(nil, ns)); got != want {
			t.Errorf("%d ns is written as %s, not %s", ns, got, want)
		}
	}
}

func open(w io.Writer, l *trace.Schema) (trace.Sink, error) { return NewWriter(w, l) }

func TestSchemasAndEventsThatAreNotValidAreRefused(t *testing.T) {
	eventtest.RefusesNilSchema(t, "text", open)
	eventtest.RefusesUnknownIndices(t, open)
}

func TestFailureOfTheOutputIsReturnedByFlushAndByEveryCallAfterIt(t *testing.T) {
	eventtest.KeepsFailure(t, NewWriter)
}

func TestAddressesAreWrittenAsAddresses(t *testing.T) {
	l, events := eventtest.Headers()
	got := write(t, l, events)
	for _, want := range []string{"saddr: 192.168.0.7, daddr: 10.0.2.255}", "flow_lbl: [1, 2, 3], saddr: 2001:db8::12, daddr: ::1}", " address_ipv4=10.0.0.1\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwithout %s", got, want)
		}
	}
}
