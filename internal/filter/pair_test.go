package filter

import (
	"fmt"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/trace"
)

// begun and ended are the two events of the pair p, by key.
func begun(at int64, id int64) *trace.TimelineEvent {
	return record(clock.HostTime(at), 0, 2, trace.OfInt(id))
}
func ended(at int64, id int64) *trace.TimelineEvent {
	return record(clock.HostTime(at), 0, 3, trace.OfInt(id))
}

// elsewhere moves a record to the other host, so that only bounds, 5 ns to either side, tell its time.
func elsewhere(r *trace.TimelineEvent) *trace.TimelineEvent {
	r.Host, r.Stream = 1, 2
	return r
}

func TestThresholdsAreReachedByWhatIsBeyondThemOnly(t *testing.T) {
	for _, c := range []struct {
		thresholds              string
		d                       int64
		two                     bool // hosts
		below, above, undecided int64
	}{
		{"min=10ns", 10, false, 0, 0, 0}, {"min=10ns", 9, false, 1, 0, 0}, {"min=10ns", 11, false, 0, 0, 0},
		{"max=10ns", 10, false, 0, 0, 0}, {"max=10ns", 11, false, 0, 1, 0}, {"max=10ns", 9, false, 0, 0, 0},
		{"max=10ns", -3, false, 0, 0, 0}, {"min=10ns", -3, true, 1, 0, 0},
		// A nanosecond is a threshold; zero is none.
		{"min=1ns", 0, false, 1, 0, 0}, {"min=1ns", 1, false, 0, 0, 0}, {"max=1ns", 1, false, 0, 0, 0}, {"max=1ns", 2, false, 0, 1, 0},
		{"min=0s", -3, false, 0, 0, 0}, {"max=0s", 9, false, 0, 0, 0},
		// Over two hosts a duration is known to within 10 ns.
		{"min=100ns", 90, true, 1, 0, 1}, {"min=100ns", 89, true, 1, 0, 0}, {"min=100ns", 99, true, 1, 0, 1}, {"min=100ns", 100, true, 0, 0, 0},
		{"max=100ns", 110, true, 0, 1, 1}, {"max=100ns", 111, true, 0, 1, 0}, {"max=100ns", 101, true, 0, 1, 1}, {"max=100ns", 100, true, 0, 0, 0},
		{"min=100ns,max=100ns", 100, true, 0, 0, 0}, {"min=100ns,max=100ns", 101, true, 0, 1, 1},
	} {
		e := ended(1000+c.d, 1)
		if c.two {
			e = elsewhere(e)
		}
		records := []*trace.TimelineEvent{begun(1000, 1), e}
		if c.d < 0 {
			records[0], records[1] = records[1], records[0]
		}
		_, f := play(t, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=id,"+c.thresholds)}}, records...)
		if r := f.Results()[0]; r.Count != 1 || r.MinNs != c.d || r.BelowMin != c.below || r.AboveMax != c.above || r.Undecided != c.undecided {
			t.Errorf("%s of %d, two hosts %v: %+v", c.thresholds, c.d, c.two, r)
		}
	}
	// Without thresholds nothing is beyond them.
	_, f := play(t, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=id")}}, begun(0, 1), ended(9, 1), elsewhere(ended(20, 2)), begun(28, 2))
	if r := f.Results()[0]; r.Count != 2 || r.BelowMin+r.AboveMax+r.Undecided != 0 {
		t.Errorf("%+v", r)
	}
}

func TestAPairThatBoundsDoNotKeepWithinThresholdsIsOpen(t *testing.T) {
	for _, c := range []struct {
		thresholds string
		d          int64
		two        bool // hosts: a duration is known to within 10 ns
		open       int64
		beyond     bool
	}{
		{"max=100ns", 100, false, 0, false}, {"max=100ns", 90, true, 0, false}, {"max=100ns", 91, true, 1, true}, {"max=100ns", 100, true, 1, true},
		{"max=100ns", 101, true, 0, true}, {"min=100ns", 110, true, 0, false}, {"min=100ns", 109, true, 1, true}, {"min=100ns,max=120ns", 110, true, 0, false},
		{"min=100ns,max=119ns", 110, true, 1, true}, {"max=100ns", 111, true, 0, true},
	} {
		e := ended(1000+c.d, 1)
		if c.two {
			e = elsewhere(e)
		}
		_, f := play(t, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=id,"+c.thresholds)}}, begun(1000, 1), e)
		if r := f.Results()[0]; r.WithinOpen != c.open || (r.Beyond != nil) != c.beyond {
			t.Errorf("%s of %d, two hosts %v: %+v", c.thresholds, c.d, c.two, r)
		}
	}
}

func TestPairsThatAreAllRightAreNoWarning(t *testing.T) {
	_, f := play(t, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=id,min=5ns,max=10ns")}}, begun(0, 1), ended(9, 1))
	var w trace.Warnings
	f.Warnings(&w)
	if got := w.Lines(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	_, f = play(t, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=id,min=5ns,max=10ns")}}, record(0, 0, 0))
	f.Warnings(&w)
	if got := w.Lines(); len(got) != 1 || !strings.HasPrefix(got[0], "pair p: no pair") {
		t.Errorf("%q", got)
	}
}

func TestTheLongestPairIsTheEarliestOfThem(t *testing.T) {
	_, f := play(t, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=id")}},
		begun(100, 1), begun(105, 2), begun(107, 3), ended(108, 3), ended(115, 2), ended(120, 1), begun(200, 4), ended(210, 4), begun(210, 7), ended(230, 7))
	if r := f.Results()[0]; r.Longest.BeginNs != 100 || r.Longest.DurationNs != 20 || r.Longest.Key != "1" || r.MaxNs != 20 || r.MinNs != 1 {
		t.Errorf("%+v", r.Longest)
	}
	_, f = play(t, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=id")}},
		begun(100, 1), begun(105, 2), ended(115, 2), ended(110, 1))
	if r := f.Results()[0]; r.Longest.BeginNs != 100 || r.Longest.Key != "1" {
		t.Errorf("of two that end the other way around: %+v", r.Longest)
	}
	_, f = play(t, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=id")}}, begun(100, 1), begun(100, 2), ended(110, 2), ended(110, 1))
	if r := f.Results()[0]; r.Longest.Key != "2" {
		t.Errorf("of two that are equal, the first that ended: %+v", r.Longest)
	}
	_, f = play(t, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end")}}, begun(100, 1), ended(110, 1))
	if r := f.Results()[0]; r.Longest.Key != "" {
		t.Errorf("a pair without a key has the key %q", r.Longest.Key)
	}
}

func TestTheSliceIsAKeyWhereNoFieldIsCalledSo(t *testing.T) {
	sliced := func(r *trace.TimelineEvent, n uint64) *trace.TimelineEvent { r.Slice = n; return r }
	keyed := func(key string) Result {
		_, f := play(t, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,"+key)}},
			sliced(begun(0, 1), 7), sliced(begun(5, 2), 8), sliced(ended(9, 2), 7), sliced(ended(30, 1), 8), sliced(begun(40, 1), 0), sliced(ended(50, 1), 0))
		return f.Results()[0]
	}
	if r := keyed("key=slice"); r.Count != 2 || r.MinNs != 9 || r.MaxNs != 25 || r.NoKey != 2 {
		t.Errorf("by slice: %+v", r)
	}
	if r := keyed("key=slice"); r.Longest.Key != "slice 8" {
		t.Errorf("by slice: key %q", r.Longest.Key)
	}
	if r := keyed("key=id,key=slice"); r.Count != 0 || r.NoEnd != 2 { // each slice changes its id
		t.Errorf("by both: %+v", r)
	}
	if r := resultOf(t, New(world(), Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=id,key=slice")}}),
		[]*trace.TimelineEvent{sliced(begun(0, 1), 7), sliced(ended(9, 1), 7)}); r.Longest.Key != "1 slice 7" {
		t.Errorf("by both: key %q", r.Longest.Key)
	}
	if r := keyed("key=id"); r.Count != 3 || r.MinNs != 4 || r.MaxNs != 30 || r.NoKey != 0 {
		t.Errorf("by a field: %+v", r)
	}
	if r := keyed("key=nothing"); r.Count != 0 || r.NoKey != 6 {
		t.Errorf("by a field that is none: %+v", r)
	}
	l := world()
	for _, i := range []int{2, 3} {
		l.Classes[i].Fields[0].Name = "slice"
	}
	f := New(l, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=slice")}})
	if r := resultOf(t, f, []*trace.TimelineEvent{sliced(begun(0, 1), 7), sliced(ended(9, 1), 8)}); r.Count != 1 {
		t.Errorf("a field called slice is not the key: %+v", r)
	}
}

func TestAnEndThatNothingTellsApartWaitsForNoBegin(t *testing.T) {
	for _, s := range []string{"p=ust:begin..ust:end", "p=ust:end..ust:end,key=id"} {
		_, f := play(t, Options{Pairs: []Pair{pair(t, s)}}, ended(1, 1), begun(5, 1))
		if r := f.Results()[0]; r.Count != 0 || r.NoBegin != 1 || r.NoEnd != 1 || r.OutOfOrder != 0 {
			t.Errorf("%s: %+v", s, r)
		}
	}
	_, f := play(t, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=id")}}, ended(1, 1), ended(2, 1), ended(3, 1), begun(5, 1), ended(6, 2))
	if r := f.Results()[0]; r.Count != 1 || r.OutOfOrder != 1 || r.MinNs != -2 || r.NoBegin != 3 || r.NoEnd != 0 {
		t.Errorf("of three ends with one key, the last waits: %+v", r)
	}
}

// limited plays records into a pair that remembers little.
func limited(t *testing.T, open, durations int, records ...*trace.TimelineEvent) Result {
	t.Helper()
	f := New(world(), Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=id")}})
	f.pairs[0].maxOpen, f.pairs[0].maxDurations = open, durations
	return resultOf(t, f, records)
}

// resultOf plays records into a filter and returns what it measured of its first pair.
func resultOf(t eventtest.Fataler, f *Filter, records []*trace.TimelineEvent) Result {
	f.To(&kept{schema: f.Schema()})
	for _, r := range records {
		if err := f.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Results()[0]
}

func TestWhatWaitsForTooManyOthersIsGivenUp(t *testing.T) {
	var begins, ends []*trace.TimelineEvent
	for id := range int64(5) {
		begins = append(begins, begun(id, id))
		ends = append(ends, ended(100+id, id))
	}
	for open, want := range map[int][2]int64{5: {5, 0}, 6: {5, 0}, 4: {1, 4}, 3: {2, 3}} { // pairs, begins given up
		if r := limited(t, open, 100, append(begins, ends...)...); r.Count != want[0] || r.NoEnd != want[1] || r.NoBegin != want[1] {
			t.Errorf("of 5 begins %d may be open: %+v", open, r)
		}
		if r := limited(t, open, 100, append(ends, begins...)...); r.OutOfOrder != want[0] || r.NoBegin != want[1] || r.NoEnd+r.OutOfOrder != 5 {
			t.Errorf("of 5 ends %d may be open: %+v", open, r)
		}
	}
}

func TestQuantilesAreThoseOfAllDurationsOrOfEachSecondOne(t *testing.T) {
	durations := func(n int64) (records []*trace.TimelineEvent) {
		for i := range n {
			records = append(records, begun(1000*i, i), ended(1000*i+i+1, i)) // 1, 2, ... n
		}
		return records
	}
	for _, c := range []struct {
		n           int64
		most        int
		median, p99 int64
	}{
		{1, 1000, 1, 1}, {2, 1000, 2, 2}, {99, 1000, 50, 99}, {100, 1000, 51, 100}, {101, 1000, 51, 100}, {300, 1000, 151, 298},
		// Each second is dropped once 8 are there, 1 3 5 7, and then of all others: 1 3 5 7 10 12 14 16 to 1 5 10 14, then 20 24 ...
		{7, 8, 4, 7}, {8, 8, 5, 7}, {9, 8, 5, 7}, {10, 8, 5, 10}, {16, 8, 10, 14}, {20, 8, 10, 20}, {24, 8, 14, 24},
	} {
		if r := limited(t, 1000, c.most, durations(c.n)...); r.MedianNs != c.median || r.P99Ns != c.p99 || r.Count != c.n || r.MeanNs != float64(c.n+1)/2 {
			t.Errorf("%d durations, %d remembered: median %d, 99th %d, mean %g", c.n, c.most, r.MedianNs, r.P99Ns, r.MeanNs)
		}
	}
}

func TestRefusedPairsSayWhatIsWrong(t *testing.T) {
	for s, want := range map[string]string{
		"p": "name is missing", "=a..b": "name is missing", "p=a": "two events are missing", "p=..b": "two events are missing", "p=a..": "two events are missing", "p=..": "two events are missing",
		"p=a..b,most=3s": `"most=3s"`, "p=a..b,min=2s,max=1s": "thresholds", "p=a..b,max=x": "duration",
	} {
		if _, err := ParsePair(s); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v, want %q in it", s, err, want)
		}
	}
}

func TestEveryPairGetsItsEventsWhateverThePairsBeforeIt(t *testing.T) {
	_, f := play(t, Options{Pairs: []Pair{pair(t, "none=net_*..sched_*"), pair(t, "lacks=ust:begin..ust:end,key=nothing"), pair(t, "p=ust:begin..ust:end,key=id")}}, begun(0, 1), ended(9, 1))
	if r := f.Results(); r[0].Count != 0 || r[1].NoKey != 2 || r[2].Count != 1 {
		t.Errorf("%+v", r)
	}
}

func TestKeysOfSeveralFieldsDifferWhereAnyOfThemDoes(t *testing.T) {
	beat := func(at clock.HostTime, slice uint64, id, length int64) *trace.TimelineEvent {
		r := record(at, 0, 2, trace.OfInt(id), trace.OfInt(length))
		r.Slice = slice
		return r
	}
	for _, c := range []struct {
		keys  string
		other *trace.TimelineEvent // is no beat of the first
	}{
		{"key=id,key=len", beat(5, 7, 12, 3)}, {"key=id,key=len", beat(5, 7, 1, 3)}, {"key=id,key=len", beat(5, 7, 23, 1)}, {"key=len,key=id", beat(5, 7, 12, 3)},
		{"key=id,key=len,key=id", beat(5, 7, 12, 31)}, {"key=slice,key=id", beat(5, 71, 1, 23)}, {"key=slice,key=id", beat(5, 71, 0, 23)}, {"key=id,key=slice", beat(5, 8, 1, 23)},
	} {
		_, f := play(t, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:begin,"+c.keys)}}, beat(0, 7, 1, 23), c.other, beat(9, 7, 1, 23))
		if r := f.Results()[0]; r.Count != 1 || r.MinNs != 9 || r.NoEnd != 2 {
			t.Errorf("%s, another of slice %d and %d, %d between: %+v", c.keys, c.other.Slice, c.other.Values[0].Int(), c.other.Values[1].Int(), r)
		}
	}
}

func TestAPairWithoutEventsNamesThoseThatAreMissing(t *testing.T) {
	for spec, want := range map[string]string{
		"ust:begin..ust:end": "",
		"foo..ust:end":       "pair p: no pair found (no event is named foo)",
		"ust:begin..bar":     "pair p: no pair found (no event is named bar)",
		"foo..bar":           "pair p: no pair found (no event is named foo, none bar)",
		"foo..foo":           "pair p: no pair found (no event is named foo)",
		"ust:end..ust:begin": "pair p: no pair found",
	} {
		_, f := play(t, Options{Pairs: []Pair{pair(t, "p="+spec)}}, begun(0, 1), ended(9, 1))
		var w trace.Warnings
		f.Warnings(&w)
		got := ""
		if lines := w.Lines(); len(lines) > 0 {
			got = lines[0]
		}
		if got != want {
			t.Errorf("%s: %q, not %q", spec, got, want)
		}
	}
}

// The bound of a result is that of its least certain pair, which need not be the longest.
func TestTheBoundOfPairsIsThatOfTheLeastCertain(t *testing.T) {
	apart := elsewhere(ended(1110, 2))
	apart.Bounded = false
	for _, c := range []struct {
		name             string
		ends             []*trace.TimelineEvent
		bound, unbounded int64
	}{
		{"one host", []*trace.TimelineEvent{begun(1000, 1), ended(1500, 1), begun(1600, 2), ended(1610, 2)}, 0, 0},
		{"the shorter by two hosts", []*trace.TimelineEvent{begun(1000, 1), ended(1500, 1), begun(1600, 2), elsewhere(ended(1610, 2))}, 10, 0},
		{"one without bounds", []*trace.TimelineEvent{begun(1000, 1), ended(1050, 1), begun(1100, 2), apart}, 0, 1},
	} {
		_, f := play(t, Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=id,max=1s")}}, c.ends...)
		if r := f.Results()[0]; r.Count != 2 || r.BoundNs != c.bound || r.Unbounded != c.unbounded {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}
