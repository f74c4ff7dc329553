package jsonl

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/internal/testseed"
	"meridian/trace"
)

func write(t eventtest.Fataler, l *trace.Schema, events []trace.TimelineEvent) string {
	return eventtest.WriteLines(t, NewWriter, l, events)
}

func TestLineHasWhatIsKnownOfTheEventAndNothingElse(t *testing.T) {
	l := &trace.Schema{Hosts: []string{"web"}, Streams: []trace.Stream{{Name: "nginx \"12\"", Kind: trace.Thread}}, Maps: []trace.HostMap{{Component: 3, Map: new(clock.Map)}},
		Classes: []trace.Class{{Name: "request", Category: "app", Fields: []trace.Field{{Name: "id", Type: trace.Type{Kind: trace.Uint}}}}, {Name: "bare"}}}
	first := trace.TimelineEvent{Event: trace.Event{Time: 5, Phase: trace.Begin, Slice: 4, Flow: 1 << 63, Role: trace.Sends}, Time: 1_700_000_000_000_000_001, Bounded: true,
		Low: 1_700_000_000_000_000_000, High: 1_700_000_000_000_000_002, Values: []trace.Value{trace.OfUint(1<<64 - 1)}}
	late := trace.TimelineEvent{Event: trace.Event{Time: 6, Class: 1}, Time: first.Time - 1_200_000, Map: -1}
	const want = `{"time":"2023-11-14T22:13:20.000000001Z","time_ns":1700000000000000001,"low_ns":1700000000000000000,"high_ns":1700000000000000002,"recorded_ns":5,"host":"web","row":"nginx \"12\"","row_kind":"thread","event":"request","category":"app","phase":"begin","slice":4,"flow":9223372036854775808,"role":"sends","component":3,"fields":{"id":18446744073709551615}}
{"time":"2023-11-14T22:13:19.998800001Z","time_ns":1699999999998800001,"recorded_ns":6,"host":"web","row":"nginx \"12\"","row_kind":"thread","event":"bare","phase":"instant","late_ns":1200000,"moved_ns":120000,"fields":{}}
`
	if got := write(t, l, []trace.TimelineEvent{first, late}); got != want {
		t.Errorf("got\n%s\nnot\n%s", got, want)
	}
}

func TestEveryLineIsOneJSONObjectWithTheEventsNamesAndTimes(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		l, events := eventtest.Draw(t)
		lines := strings.SplitAfter(write(t, l, events), "\n")
		if len(lines) != len(events)+1 {
			t.Fatalf("%d lines of %d events", len(lines)-1, len(events))
		}
		for i, line := range lines[:len(events)] {
			var got struct {
				Time     json.Number    `json:"time_ns"`
				Recorded json.Number    `json:"recorded_ns"`
				Host     string         `json:"host"`
				Fields   map[string]any `json:"fields"`
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			e := &events[i]
			at, _ := got.Time.Int64()
			recorded, _ := got.Recorded.Int64()
			if at != int64(e.Time) || recorded != int64(e.Event.Time) || got.Host != strings.ToValidUTF8(l.Hosts[e.Host], "\ufffd") || got.Fields == nil {
				t.Fatalf("event %+v became %s", e, line)
			}
		}
	})
}

func open(w io.Writer, l *trace.Schema) (trace.Sink, error) { return NewWriter(w, l) }

func TestSchemasAndEventsThatAreNotValidAreRefused(t *testing.T) {
	eventtest.RefusesNilSchema(t, "jsonl", open)
	eventtest.RefusesUnknownIndices(t, open)
}

func TestFailureOfTheOutputIsReturnedByFlushAndByEveryCallAfterIt(t *testing.T) {
	eventtest.KeepsFailure(t, NewWriter)
}

func TestAddressesAreWrittenAsAddresses(t *testing.T) {
	l, events := eventtest.Headers()
	lines := strings.Split(write(t, l, events), "\n")
	for i, want := range []string{
		`"fields":{"network_header.ipv4.saddr":"192.168.0.7","network_header.ipv4.daddr":"10.0.2.255"}}`,
		`"fields":{"network_header.ipv6.flow_lbl":[1,2,3],"network_header.ipv6.saddr":"2001:db8::12","network_header.ipv6.daddr":"::1"}}`,
		`"fields":{"address_ipv4":"10.0.0.1"}}`,
	} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("%s, want %s", lines[i], want)
		}
	}
}

// TestALineIsTheSameWhateverWasWrittenBefore renames rows, hosts and classes between events, as a schema that grows may.
func TestALineIsTheSameWhateverWasWrittenBefore(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		l, events := eventtest.Draw(t)
		var got, want strings.Builder
		w, err := NewWriter(&got, l)
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			switch r, name := &events[i], rapid.StringN(0, 5, -1).Draw(t, "name"); rapid.IntRange(0, 5).Draw(t, "renamed") {
			case 0:
				l.Hosts[r.Host] = name
			case 1:
				l.Streams[r.Stream].Name = name
			case 2:
				l.Streams[r.Stream].Kind = trace.Device
			case 3:
				l.Classes[r.Class].Name = name
			case 4:
				l.Classes[r.Class].Category = name
			}
			if err := w.Write(&events[i]); err != nil {
				t.Fatal(err)
			}
			want.WriteString(write(t, l, events[i:i+1]))
		}
		if err := w.Close(); err != nil || got.String() != want.String() {
			t.Fatalf("error %v, got\n%s\nnot\n%s", err, got.String(), want.String())
		}
	})
}
