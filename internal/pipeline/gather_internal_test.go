package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/align"
	"meridian/align/network"
	"meridian/clock"
	"meridian/internal/show"
	"meridian/match"
	"meridian/trace"
)

// twoLists share the host b; c is known from a collective alone, d from a broadcast.
func twoLists() *run {
	r := &run{sampled: -1, matched: &match.Result{}, lists: []*trace.List{
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
	r.join()
	r.settle()
	return r
}

func TestCollectivesAndBroadcastsOfListsKeepTheirClocks(t *testing.T) {
	r := twoLists()
	want := []trace.Clock{
		{Name: "a", Host: "a", First: 10, Last: 10, Events: 1, Granularity: 1},
		{Name: "b", Host: "b", First: 20, Last: 40, Events: 4, Granularity: 1},
		{Name: "c", Host: "c", First: 2, Last: 9, Events: 3, Granularity: 1},
		{Name: "d", Host: "d", First: 7, Last: 7, Events: 1, Granularity: 1},
	}
	if !slices.Equal(r.matched.Clocks, want) {
		t.Errorf("clocks %+v, not %+v", r.matched.Clocks, want)
	}
	var channels [][2]int
	for _, c := range r.matched.Channels {
		channels = append(channels, [2]int{c.From, c.To})
	}
	if !slices.Equal(channels, [][2]int{{0, 1}, {1, 2}, {2, 1}}) && !slices.Equal(channels, [][2]int{{0, 1}, {2, 1}, {1, 2}}) {
		t.Errorf("channels %v", channels)
	}
	for _, c := range r.matched.Channels[1:] {
		if want := map[int]trace.Message{1: {Sent: 30, Received: 9}, 2: {Sent: 5, Received: 40}}[c.From]; !slices.Equal(c.Messages, []trace.Message{want}) {
			t.Errorf("from %d: %v, not %v", c.From, c.Messages, want)
		}
	}
	if b := r.matched.Broadcasts; len(b) != 2 || !slices.Equal(b[0].Receptions, []trace.Stamp{{Clock: 1, Time: 25}}) ||
		!slices.Equal(b[1].Receptions, []trace.Stamp{{Clock: 3, Time: 7}, {Clock: 2, Time: 2}}) {
		t.Errorf("broadcasts %v", b)
	}
	if len(r.matched.Addresses) != 4 {
		t.Errorf("addresses of %d clocks", len(r.matched.Addresses))
	}
}

func TestEventsOfAListAreAsManyAsItsClockCounts(t *testing.T) {
	r := twoLists()
	want := []string{
		"10 send b",
		"20 receive a, 25 hears a broadcast, 30 enters step, 40 leaves step",
		"2 hears a broadcast, 5 enters step, 9 leaves step",
		"7 hears a broadcast",
	}
	l := r.legend()
	all, err := r.sources(asRows, l, new(trace.Warnings))
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(all)
	got := make([][]string, len(l.Hosts))
	for _, s := range all {
		var e trace.Event
		for s.Events.Next(&e) == nil {
			class := s.Events.Classes()[e.Class]
			text := s.Events.Values()[0].Append(nil, &class.Fields[0].Type)
			got[s.Host] = append(got[s.Host], fmt.Sprintf("%d %s %s", e.Time, class.Name, text))
		}
	}
	for i, c := range r.matched.Clocks {
		if strings.Join(got[i], ", ") != want[i] || int64(len(got[i])) != c.Events {
			t.Errorf("%s: %q, %d events", c.Name, got[i], c.Events)
		}
	}
}

func TestSamplesAreOfTheClocksThatTheTracesHave(t *testing.T) {
	r := twoLists()
	r.Samples.File = filepath.Join(t.TempDir(), "samples")
	if err := os.WriteFile(r.Samples.File, []byte("d 0.000000007 1 0\nmars 1 1 1\na 0.00000001 2 0.5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.addSamples(); err != nil {
		t.Fatal(err)
	}
	want := []trace.Sample{{Clock: 3, Against: 4, Host: 7, Reference: 1e9}, {Clock: 0, Against: 4, Host: 10, Reference: 2e9, Error: 5e8}}
	if !slices.Equal(r.matched.Samples, want) {
		t.Errorf("%v, not %v", r.matched.Samples, want)
	}
	if c := r.matched.Clocks[4]; c.Name != "reference" || c.First != 1e9 || c.Last != 2e9 || c.Events != 2 || r.matched.Clocks[0].Events != 1 {
		t.Errorf("the reference is %+v", c)
	}
	if files := r.filesOf(4); files != r.Samples.File {
		t.Errorf("the reference is known from %s", files)
	}
	if lines := r.warnings.Lines(); len(lines) != 1 || !strings.Contains(lines[0], "mars") {
		t.Errorf("warnings %q", lines)
	}
}

func TestHostsAreTogetherIfAnyMethodBringsThemTogether(t *testing.T) {
	solved := func(component ...int) *estimate { return &estimate{component: component, solution: &align.Solution{}} }
	for _, c := range []struct {
		estimates []*estimate
		want      []int
	}{
		{nil, nil},
		{[]*estimate{{component: []int{0, 0, 0}}, solved(0, 1, 2)}, []int{0, 1, 2}},
		{[]*estimate{solved(0, 0, 1, 2), solved(0, 1, 1, 2)}, []int{0, 0, 0, 1}},
		{[]*estimate{solved(0, 1, 2, 1, 0), solved(0, 1, 0, 2, 3)}, []int{0, 1, 0, 1, 0}},
		{[]*estimate{solved(0, 0, 1, 1, 2), solved(0, 1, 1, 2, 0)}, []int{0, 0, 0, 0, 0}},
	} {
		if got := together(c.estimates); !slices.Equal(got, c.want) {
			t.Errorf("%v, not %v", got, c.want)
		}
	}
}

func TestAnEstimateThatFollowsAnotherReferenceKeepsWhatLiesBetweenItsClocks(t *testing.T) {
	shift := func(by, within int64) clock.Map {
		at := func(v int64) clock.Curve { return clock.Curve{{X: 0, Y: v}} }
		return clock.Map{Mid: at(by), Low: at(by - within), High: at(by + within)}
	}
	x := &estimate{
		maps:      []clock.Map{shift(100, 3), clock.Identity(), shift(250, 4), shift(7, 0)},
		reference: []int{1, 1, 1, 3},
	}
	x.follow(map[string]int{"a": 0}, "nobody")
	if x.maps[0].At(0) != 100 {
		t.Error("followed nobody")
	}
	x.follow(map[string]int{"a": 0}, "a")
	if !slices.Equal(x.reference, []int{0, 0, 0, 3}) {
		t.Errorf("references %v", x.reference)
	}
	for i, want := range [][3]int64{{0, 0, 0}, {-100, -103, -97}, {150, 143, 157}, {7, 7, 7}} {
		low, high, _, _ := x.maps[i].Bounds(0)
		if got := [3]int64{x.maps[i].At(0), low, high}; got != want {
			t.Errorf("clock %d: %v, not %v", i, got, want)
		}
	}
}

func TestStepsAndContradictedWanderAreSaidInOneLineEach(t *testing.T) {
	r := twoLists()
	r.solution = &align.Solution{
		Tree:        &network.Tree{Contradictions: []network.Contradiction{{Clocks: []int{0, 2, 1}, Timeline: 2_500_000_000, By: 17}}},
		LeastWander: 1234.5,
		Steps:       []align.Step{{Clock: 0, At: 1_767_225_630_000_000_001, By: 1_000_000_000, Other: -1}, {Clock: 2, At: -500_000_000, By: -1_500, Other: 1}},
	}
	r.report = &show.Report{LeastWanderPPBS: &r.solution.LeastWander}
	r.warnOfSteps()
	r.warnOfWander()
	r.warnOfLoops()
	want := []string{
		"a: its clock was set by +1.000000 s at 1767225630.000000001 s of its time; aligned piece by piece",
		"c: its clock was set by -0.000002 s (or that of b the other way) at -0.500000000 s of its time; aligned piece by piece",
		"some hosts: their messages contradict the stated wander of 30 ppb/s; the smallest that fits is 1.23e+03 ppb/s, and bounds rest on twice that",
		"a, c, b: the bounds from each to the next and back to the first contradict each other, so a clock is not what they assume; state a larger --wander (by 17 ns at 2.500000000 s)",
	}
	if got := r.warnings.Lines(); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestStampsOfListsAreAsCoarseAsAllOfManySay(t *testing.T) {
	for _, c := range []struct {
		name    string
		stamps  int
		step    int64
		odd     bool // one stamp that keeps no step
		granule int64
	}{
		{"microseconds", 200, 1000, false, 1000},
		{"nanoseconds", 200, 1, false, 1},
		{"one that is finer", 200, 1000, true, 1},
		{"too few to tell", 40, 1000, false, 1},
		{"seconds", 200, 1_000_000_000, false, 1_000_000_000},
		{"no coarser than seconds", 200, 60_000_000_000, false, 1_000_000_000},
	} {
		l := &trace.List{Hosts: []string{"a", "b"}, Channels: []trace.Channel{{From: 0, To: 1}}}
		for i := range c.stamps {
			at := int64(i*i%9973) * c.step
			l.Channels[0].Messages = append(l.Channels[0].Messages, trace.Message{Sent: at, Received: at + 7*c.step})
		}
		if c.odd {
			l.Channels[0].Messages[3].Sent++
		}
		r := &run{matched: &match.Result{}, lists: []*trace.List{l}}
		r.addLists()
		r.settle()
		if got := r.matched.Clocks[0].Granularity; got != c.granule {
			t.Errorf("%s: granularity %d ns, want %d", c.name, got, c.granule)
		}
	}
}
