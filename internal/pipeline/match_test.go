package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/pipeline/input"
	"meridian/match"
	"meridian/trace"
)

// twoLists share the host b; c is known from a collective alone, d from a broadcast.
func twoLists() *joiner {
	set := &input.Set{Lists: []*trace.List{
		{
			File: "one", Hosts: []string{"a", "b"},
			Channels:   []trace.Channel{{From: 0, To: 1, Messages: []trace.Message{{Sent: 10, Received: 20}}}},
			Broadcasts: []trace.Broadcast{{Receptions: []trace.Stamp{{Clock: 1, Time: 25}}}},
		},
		{
			File: "two", Hosts: []string{"c", "b", "d"},
			Collectives: []trace.Collective{{Name: "step", Members: []trace.Member{{Clock: 0, Entered: 5, Left: 9}, {Clock: 1, Entered: 30, Left: 40}}}},
			Broadcasts:  []trace.Broadcast{{Receptions: []trace.Stamp{{Clock: 2, Time: 7}, {Clock: 0, Time: 2}}}},
		},
	}}
	return joined(set)
}

// joined is what a set amounts to in which nothing was captured.
func joined(set *input.Set) *joiner {
	j := newJoiner(&match.Result{}, nil)
	j.addTraces(set, new(trace.Warnings))
	j.settleResolutions(&MatchOptions{})
	return j
}

func TestCollectivesAndBroadcastsOfListsKeepTheirClocks(t *testing.T) {
	m := twoLists()
	want := []trace.Clock{
		{Name: "a", Host: "a", First: 10, Last: 10, Events: 1, Granularity: 10},
		{Name: "b", Host: "b", First: 20, Last: 40, Events: 4, Granularity: 10},
		{Name: "c", Host: "c", First: 2, Last: 9, Events: 3, Granularity: 1},
		{Name: "d", Host: "d", First: 7, Last: 7, Events: 1, Granularity: 1},
	}
	if !slices.Equal(m.Clocks, want) {
		t.Errorf("clocks %+v, not %+v", m.Clocks, want)
	}
	var channels [][2]int
	for _, c := range m.Channels {
		channels = append(channels, [2]int{c.From, c.To})
	}
	if !slices.Equal(channels, [][2]int{{0, 1}, {1, 2}, {2, 1}}) && !slices.Equal(channels, [][2]int{{0, 1}, {2, 1}, {1, 2}}) {
		t.Errorf("channels %v", channels)
	}
	for _, c := range m.Channels[1:] {
		if want := map[int]trace.Message{1: {Sent: 30, Received: 9}, 2: {Sent: 5, Received: 40}}[c.From]; !slices.Equal(c.Messages, []trace.Message{want}) {
			t.Errorf("from %d: %v, not %v", c.From, c.Messages, want)
		}
	}
	if b := m.Broadcasts; len(b) != 2 || !slices.Equal(b[0].Receptions, []trace.Stamp{{Clock: 1, Time: 25}}) ||
		!slices.Equal(b[1].Receptions, []trace.Stamp{{Clock: 3, Time: 7}, {Clock: 2, Time: 2}}) {
		t.Errorf("broadcasts %v", b)
	}
	if len(m.Addresses) != 4 {
		t.Errorf("addresses of %d clocks", len(m.Addresses))
	}
}

func TestEventsOfAListAreAsManyAsItsClockCounts(t *testing.T) {
	o := &Ordered{Aligned: &Aligned{Matched: twoLists().Matched}}
	want := []string{
		"10 send b",
		"20 receive a, 25 hears a broadcast, 30 enters step, 40 leaves step",
		"2 hears a broadcast, 5 enters step, 9 leaves step",
		"7 hears a broadcast",
	}
	schema := o.schema()
	all, err := o.sources(rowPass, schema, new(trace.Warnings))
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(all)
	got := make([][]string, len(schema.Hosts))
	for _, s := range all {
		var e trace.Event
		for s.Events.Next(&e) == nil {
			class := s.Events.Classes()[e.Class]
			text := s.Events.Values()[0].Append(nil, &class.Fields[0].Type)
			got[s.Host] = append(got[s.Host], fmt.Sprintf("%d %s %s", e.Time, class.Name, text))
		}
	}
	for i, c := range o.Clocks {
		if strings.Join(got[i], ", ") != want[i] || int64(len(got[i])) != c.Events {
			t.Errorf("%s: %q, %d events", c.Name, got[i], c.Events)
		}
	}
}

func TestSamplesAreOfTheClocksThatTheTracesHave(t *testing.T) {
	m, from, w := twoLists(), Samples{File: filepath.Join(t.TempDir(), "samples")}, new(trace.Warnings)
	if err := os.WriteFile(from.File, []byte("d 0.000000007 1 0\nmars 1 1 1\na 0.00000001 2 0.5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := m.addSamples(from, w); err != nil {
		t.Fatal(err)
	}
	want := []trace.Sample{{Clock: 3, Against: 4, Host: 7, Reference: 1e9}, {Clock: 0, Against: 4, Host: 10, Reference: 2e9, Error: 5e8}}
	if !slices.Equal(m.Samples, want) {
		t.Errorf("%v, not %v", m.Samples, want)
	}
	if c := m.Clocks[4]; c.Name != "reference" || c.First != 1e9 || c.Last != 2e9 || c.Events != 2 || m.Clocks[0].Events != 1 {
		t.Errorf("the reference is %+v", c)
	}
	if files := m.filesOf(4); files != from.File {
		t.Errorf("the reference is known from %s", files)
	}
	if lines := w.Lines(); len(lines) != 1 || !strings.Contains(lines[0], "mars") {
		t.Errorf("warnings %q", lines)
	}
}

func TestOneFineTimestampMakesNoListFine(t *testing.T) {
	for _, c := range []struct {
		name    string
		stamps  int
		step    int64
		odd     bool // one timestamp that keeps no step
		granule int64
	}{
		{"microseconds", 200, 1000, false, 1000},
		{"nanoseconds", 200, 1, false, 1},
		{"one that is finer", 200, 1000, true, 1000},
		{"few", 4, 1000, false, 1000},
		{"seconds", 200, 1_000_000_000, false, 1_000_000_000},
		{"no coarser than seconds", 200, 60_000_000_000, false, 1_000_000_000},
	} {
		l := &trace.List{Hosts: []string{"a", "b"}, Channels: []trace.Channel{{From: 0, To: 1}}}
		for i := range c.stamps {
			at := clock.HostTime(int64(i) * int64(2_654_435_761) % 999_983 * c.step)
			l.Channels[0].Messages = append(l.Channels[0].Messages, trace.Message{Sent: at, Received: at + clock.HostTime(7*c.step)})
		}
		if c.odd {
			l.Channels[0].Messages[3].Sent++
		}
		m := joined(&input.Set{Lists: []*trace.List{l}})
		if got := m.Clocks[0].Granularity; got != c.granule {
			t.Errorf("%s: granularity %d ns, want %d", c.name, got, c.granule)
		}
	}
}
