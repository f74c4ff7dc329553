package filter

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// kept is a sink that remembers.
type kept struct {
	schema *trace.Schema
	lines  []string
	closed bool
}

func (k *kept) Write(r *trace.TimelineEvent) error {
	c := &k.schema.Classes[r.Class]
	line := fmt.Sprintf("%d %s %s %s", r.Time, k.schema.Hosts[r.Host], k.schema.Streams[r.Stream].Name, c.Name)
	for i := range r.Values {
		line += fmt.Sprintf(" %s=%s", c.Fields[i].Name, r.Values[i].Append(nil, &c.Fields[i].Type))
	}
	k.lines = append(k.lines, line)
	return nil
}

func (k *kept) Close() error { k.closed = true; return nil }

// world is a small timeline of two hosts.
func world() *trace.Schema {
	integer := trace.Type{Kind: trace.Int}
	return &trace.Schema{
		Hosts: []string{"web", "db"},
		Streams: []trace.Stream{
			{Name: "CPU 0", Host: "web", Kind: trace.CPU, Parent: -1}, {Name: "nginx 12", Host: "web", Kind: trace.Thread, Parent: -1},
			{Name: "CPU 0", Host: "db", Kind: trace.CPU, Parent: -1}, {Name: "messages", Host: "db", Kind: trace.Messages, Parent: -1},
		},
		Classes: []trace.Class{
			{Name: "net_dev_queue", Category: "net", Fields: []trace.Field{{Name: "len", Type: integer}, {Name: "name", Type: trace.Type{Kind: trace.Text}}}},
			{Name: "sched_switch", Category: "sched", Fields: []trace.Field{{Name: "tid", Type: integer}}},
			{Name: "ust:begin", Fields: []trace.Field{{Name: "id", Type: integer}, {Name: "len", Type: integer}}},
			{Name: "ust:end", Fields: []trace.Field{{Name: "id", Type: integer}}},
			{Name: "receive"},
		},
	}
}

func record(at clock.HostTime, stream, class int, values ...trace.Value) *trace.TimelineEvent {
	host := 0
	if stream >= 2 {
		host = 1
	}
	return &trace.TimelineEvent{Event: trace.Event{Time: at, Stream: stream, Class: class}, Host: host, Time: clock.TimelineTime(at), Low: clock.TimelineTime(at - 5), High: clock.TimelineTime(at + 5), Bounded: true, Values: values}
}

func play(t *testing.T, o Options, records ...*trace.TimelineEvent) (*kept, *Filter) {
	t.Helper()
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	l := world()
	f := New(l, o)
	k := &kept{schema: f.Schema()}
	f.To(k)
	for _, r := range records {
		if err := f.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil || !k.closed {
		t.Fatalf("closed %v, %v", k.closed, err)
	}
	return k, f
}

func condition(t *testing.T, s string) Condition {
	t.Helper()
	return parsed(t, ParseCondition, s)
}

func parsed[T any](t *testing.T, parse func(string) (T, error), s string) T {
	t.Helper()
	v, err := parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestOnlyWhatIsWantedPasses(t *testing.T) {
	records := []*trace.TimelineEvent{
		record(10, 0, 0, trace.OfInt(100), trace.OfText("eth0")),
		record(20, 1, 1, trace.OfInt(12)),
		record(30, 2, 0, trace.OfInt(1500), trace.OfText("lo")),
		record(40, 3, 4),
		record(50, 0, 2, trace.OfInt(7), trace.OfInt(9)),
	}
	const (
		queue, sw, lo, message, ust = "10 web CPU 0 net_dev_queue len=100 name=eth0", "20 web nginx 12 sched_switch tid=12",
			"30 db CPU 0 net_dev_queue len=1500 name=lo", "40 db messages receive", "50 web CPU 0 ust:begin id=7 len=9"
	)
	for _, test := range []struct {
		name string
		o    Options
		want []string
	}{
		{"nothing asked for", Options{}, []string{queue, sw, lo, message, ust}},
		{"a host", Options{Hosts: []string{"web"}}, []string{queue, sw, ust}},
		{"all but a host", Options{Hosts: []string{"!web"}}, []string{lo, message}},
		{"rows, of which the ends of messages are one", Options{Streams: []string{"nginx*"}}, []string{sw}},
		{"events by pattern", Options{Events: []string{"net_*"}}, []string{queue, lo}},
		{"events by category", Options{Events: []string{"sched:*"}}, []string{sw}},
		{"events of a provider", Options{Events: []string{"ust:*"}}, []string{ust}},
		{"ends of messages by their name", Options{Events: []string{"sched:*", "rec*"}}, []string{sw, message}},
		{"ends of messages by their row", Options{Streams: []string{"messages"}}, []string{message}},
		{"all events but some", Options{Events: []string{"!net_*", "!ust:*"}}, []string{sw, message}},
		{"a later pattern decides", Options{Events: []string{"*", "!*_*", "net_dev_*"}}, []string{queue, lo, message, ust}},
		{"a field's number", Options{Where: []Condition{condition(t, "len>=100")}}, []string{queue, lo}},
		{"numbers in other bases", Options{Where: []Condition{condition(t, "len = 0x64")}}, []string{queue}},
		{"a fraction", Options{Where: []Condition{condition(t, "len<99.5")}}, []string{ust}},
		{"a field's text", Options{Where: []Condition{condition(t, "name!=lo")}}, []string{queue}},
		{"a regular expression", Options{Where: []Condition{condition(t, "name~^e")}}, []string{queue}},
		{"all conditions", Options{Where: []Condition{condition(t, "len>50"), condition(t, "name!~^e")}}, []string{lo}},
		{"a stretch", Options{From: Edge{Timed: true, Time: 20}, To: Edge{Timed: true, Time: 40}}, []string{sw, lo, message}},
		{"between events", Options{From: Edge{Event: "sched_switch"}, To: Edge{Event: "net_*"}}, []string{sw, lo}},
		{"between events that are not wanted themselves", Options{From: Edge{Event: "sched_switch"}, To: Edge{Event: "ust:*"}, Events: []string{"net_dev_queue"}}, []string{lo}},
		{"fields", Options{Fields: []string{"len"}}, []string{"10 web CPU 0 net_dev_queue len=100", "20 web nginx 12 sched_switch", "30 db CPU 0 net_dev_queue len=1500", message, "50 web CPU 0 ust:begin len=9"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			k, f := play(t, test.o, records...)
			if !slices.Equal(k.lines, test.want) {
				t.Errorf("passed\n%s\nwant\n%s", strings.Join(k.lines, "\n"), strings.Join(test.want, "\n"))
			}
			if f.Passed != int64(len(test.want)) || f.Passed+f.Dropped != int64(len(records)) {
				t.Errorf("%d passed, %d left out", f.Passed, f.Dropped)
			}
		})
	}
}

func TestFieldsWithinStructuresAreFoundByTheirPath(t *testing.T) {
	integer := trace.Type{Kind: trace.Uint}
	fields := []trace.Field{
		{Name: "plain", Type: integer},
		{Name: "header", Type: trace.Type{Kind: trace.Variant, Fields: []trace.Field{
			{Name: "ipv4", Type: trace.Type{Kind: trace.Struct, Fields: []trace.Field{{Name: "ttl", Type: integer}}}},
			{Name: "ipv6", Type: trace.Type{Kind: trace.Struct, Fields: []trace.Field{{Name: "hop", Type: integer}}}},
		}}},
		{Name: "a.b", Type: integer},
	}
	values := []trace.Value{
		trace.OfUint(1),
		{Kind: trace.Variant, Bits: 0, Items: []trace.Value{{Kind: trace.Struct, Items: []trace.Value{trace.OfUint(64)}}}},
		trace.OfUint(3),
	}
	for name, want := range map[string]int64{"plain": 1, "header.ipv4.ttl": 64, "header.ttl": 64, "a.b": 3, "header.ipv6.hop": -1, "header.hop": -1, "none": -1, "plain.x": -1} {
		v, _ := find(fields, name).of(fields, values)
		switch {
		case v == nil && want >= 0:
			t.Errorf("%s was not found", name)
		case v != nil && v.Int() != want:
			t.Errorf("%s is %d, want %d", name, v.Int(), want)
		}
	}
}

func TestConditionsThatCannotBeAreRefused(t *testing.T) {
	for _, s := range []string{"", "pid", "=3", "pid<abc", "comm~(", ">1"} {
		if c, err := ParseCondition(s); err == nil {
			t.Errorf("%q was taken for %+v", s, c)
		}
	}
	for s, want := range map[string][3]string{"a=b=c": {"a", "=", "b=c"}, "a <= 3": {"a", "<=", "3"}, "a!~x": {"a", "!~", "x"}, "a==1": {"a", "=", "1"}, "a~b=c": {"a", "~", "b=c"}} {
		if c := condition(t, s); [3]string{c.Field, c.Op, c.Value} != want {
			t.Errorf("%q was read as %q %q %q", s, c.Field, c.Op, c.Value)
		}
	}
}

func TestNumbersAreComparedExactly(t *testing.T) {
	const huge = 1<<63 + 1
	for _, test := range []struct {
		v    trace.Value
		s    string
		want bool
	}{
		{trace.OfUint(huge), "x>9223372036854775808", true},
		{trace.OfUint(huge), "x=9223372036854775809", true},
		{trace.OfUint(huge), "x=9223372036854775808", false},
		{trace.OfInt(-1), "x<0", true},
		{trace.OfInt(-1), "x=18446744073709551615", false},
		{trace.OfFloat(0.1), "x=0.1", false}, // the nearest float64 is a little more
		{trace.OfFloat(0.5), "x=0.5", true},
		{trace.OfInt(1 << 60), "x<1152921504606846976.5", true},
	} {
		c := condition(t, test.s)
		var scratch []byte
		if got := c.holds(&test.v, &trace.Type{Kind: test.v.Kind}, &scratch); got != test.want {
			t.Errorf("%v: %s is %v", test.v, test.s, got)
		}
	}
}

func pair(t *testing.T, s string) Pair {
	t.Helper()
	return parsed(t, ParsePair, s)
}

func TestPairsAreMeasuredAndHeldAgainstThresholds(t *testing.T) {
	o := Options{Pairs: []Pair{pair(t, "call=ust:begin..ust:end,key=id,min=10ns,max=100ns")}}
	begin := func(at clock.HostTime, stream int, id int64) *trace.TimelineEvent {
		return record(at, stream, 2, trace.OfInt(id))
	}
	end := func(at clock.HostTime, stream int, id int64) *trace.TimelineEvent {
		return record(at, stream, 3, trace.OfInt(id))
	}
	_, f := play(t, o,
		begin(0, 0, 1), begin(10, 0, 2), end(50, 1, 1), // 50
		end(200, 2, 2),                   // 190 over two hosts, certainly too long
		begin(300, 0, 3), end(405, 2, 3), // 105 over two hosts, between 95 and 115: undecided
		begin(500, 0, 4), end(503, 0, 4), // 3: too short, certainly on one host
		end(600, 2, 5), begin(604, 0, 5), // the end came first
		begin(700, 0, 6), end(710, 0, 7), // no end, no begin
		record(720, 0, 3), // without the key
	)
	r := f.Results()[0]
	want := Result{Name: "call", Count: 5, MinNs: -4, MeanNs: (50 + 190 + 105 + 3 - 4) / 5., MedianNs: 50, P99Ns: 190, MaxNs: 190,
		BelowMin: 2, AboveMax: 2, Undecided: 1, OutOfOrder: 1, OrderOpen: 1, NoEnd: 1, NoBegin: 1, NoKey: 1, BoundNs: 10}
	if r.Longest == nil || r.Longest.DurationNs != 190 || r.Longest.LowNs != 180 || r.Longest.HighNs != 200 || r.Longest.From != "web" || r.Longest.To != "db" || r.Longest.Key != "2" {
		t.Errorf("longest %+v", r.Longest)
	}
	if r.Beyond == nil || r.Beyond.DurationNs != 190 || r.Beyond.LowNs != 180 {
		t.Errorf("beyond %+v, want that of 190: the one of 105 is not certain", r.Beyond)
	}
	if r.Longest, r.Beyond = nil, nil; r != want {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
	var w trace.Warnings
	f.Warnings(&w)
	if len(w.Lines()) != 7 {
		t.Errorf("warned %q", w.Lines())
	}
}

func TestPairsWithoutAKeyBelongToARow(t *testing.T) {
	o := Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end")}}
	_, f := play(t, o, record(0, 0, 2), record(1, 1, 2), record(10, 0, 3), record(21, 1, 3), record(30, 2, 3), record(40, 0, 2), record(50, 0, 2))
	r := f.Results()[0]
	if r.Count != 2 || r.MinNs != 10 || r.MaxNs != 20 || r.NoBegin != 1 || r.NoEnd != 2 {
		t.Errorf("%+v", r)
	}
}

// TestAnEndBeforeTheFirstBeginOfAKeyUsedAgainIsNobodys: a processor's number tells calls apart only one after another.
func TestAnEndBeforeTheFirstBeginOfAKeyUsedAgainIsNobodys(t *testing.T) {
	o := Options{Pairs: []Pair{pair(t, "p=ust:begin..ust:end,key=id")}}
	begin := func(at clock.HostTime) *trace.TimelineEvent { return record(at, 0, 2, trace.OfInt(1)) }
	end := func(at clock.HostTime) *trace.TimelineEvent { return record(at, 0, 3, trace.OfInt(1)) }
	_, f := play(t, o, end(1), begin(10), end(12), end(13), begin(20), end(23), begin(30), begin(40), end(44))
	if r := f.Results()[0]; r.Count != 3 || r.MinNs != 2 || r.MaxNs != 4 || r.OutOfOrder != 0 || r.NoBegin != 2 || r.NoEnd != 1 {
		t.Errorf("%+v", r)
	}
}

func TestABeatIsAPairOfOneType(t *testing.T) {
	_, f := play(t, Options{Pairs: []Pair{pair(t, "beat=ust:end..ust:end")}}, record(0, 0, 3), record(10, 0, 3), record(30, 0, 3))
	if r := f.Results()[0]; r.Count != 2 || r.MinNs != 10 || r.MaxNs != 20 || r.NoEnd != 1 || r.NoBegin != 1 {
		t.Errorf("%+v", r)
	}
}

func TestPairsThatCannotBeAreRefused(t *testing.T) {
	for _, s := range []string{"", "a", "a=b", "=a..b", "a=..b", "a=b..", "a=b..c,max=soon", "a=b..c,maximum=1s", "a=b..c,min=2s,max=1s", "a=b..c,min=-1s"} {
		if p, err := ParsePair(s); err == nil {
			t.Errorf("%q was taken for %+v", s, p)
		}
	}
	if p := pair(t, "a=b..c,key=x,key=y,min=1us,max=5ms"); p.Name != "a" || p.Begin != "b" || p.End != "c" || !slices.Equal(p.Key, []string{"x", "y"}) || p.Min != time.Microsecond || p.Max != 5*time.Millisecond {
		t.Errorf("%+v", p)
	}
}

func TestPatternsAreTheShells(t *testing.T) {
	for _, test := range []struct {
		patterns string
		name     string
		want     bool
	}{
		{"", "x", true}, {"x", "x", true}, {"x", "y", false}, {"!x", "x", false}, {"!x", "y", true}, {"a/*", "a/b/c", true},
		{"* !b*", "bc", false}, {"!b* bc", "bc", true}, {"!b* bc", "x", false}, {"[ab]?", "a1", true}, {"eth?", "eth0", true},
	} {
		if got := Match(strings.Fields(test.patterns), test.name); got != test.want {
			t.Errorf("%q of %q is %v", test.patterns, test.name, got)
		}
	}
	if err := (&Options{Events: []string{"[a"}}).Check(); err == nil {
		t.Error("a pattern that cannot be read was taken")
	}
}

// TestPairsAreThoseOfBruteForce holds pairs with unique keys against a search through all events.
func TestPairsAreThoseOfBruteForce(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "events")
		var records []*trace.TimelineEvent
		at := clock.HostTime(0)
		used := map[[2]int64]bool{}
		times := map[[2]int64]clock.HostTime{}
		for range n {
			at += clock.HostTime(rapid.Int64Range(0, 20).Draw(t, "step"))
			id, class := rapid.Int64Range(0, 10).Draw(t, "id"), rapid.IntRange(2, 3).Draw(t, "class")
			key := [2]int64{id, int64(class)}
			if used[key] {
				continue
			}
			used[key] = true
			times[key] = at
			records = append(records, record(at, rapid.IntRange(0, 2).Draw(t, "stream"), class, trace.OfInt(id)))
		}
		var count, alone, sum int64
		for id := range int64(11) {
			b, begun := times[[2]int64{id, 2}]
			e, ended := times[[2]int64{id, 3}]
			switch {
			case begun && ended:
				count++
				sum += int64(e - b)
			case begun || ended:
				alone++
			}
		}
		f := New(world(), Options{Pairs: []Pair{{Name: "p", Begin: "ust:begin", End: "ust:end", Key: []string{"id"}}}})
		r := resultOf(t, f, records)
		if r.Count != count || r.NoBegin+r.NoEnd != alone || count > 0 && int64(r.MeanNs*float64(count)+0.5*float64(sign(sum))) != sum {
			t.Fatalf("%+v, want %d pairs of %d ns in all and %d alone", r, count, sum, alone)
		}
	})
}

func sign(n int64) int {
	if n < 0 {
		return -1
	}
	return 1
}

func TestASlicesBeginAndItsEndAreAPair(t *testing.T) {
	o := Options{Pairs: []Pair{pair(t, "p=ust:begin:begin..ust:begin:end,key=slice"), pair(t, "q=ust:begin..ust:end")}}
	slice := func(at clock.HostTime, phase trace.Phase, id uint64) *trace.TimelineEvent {
		r := record(at, 0, 2)
		r.Phase, r.Slice = phase, id
		return r
	}
	_, f := play(t, o, slice(0, trace.Begin, 1), slice(5, trace.Begin, 2), slice(9, trace.End, 1), slice(20, trace.End, 2), record(30, 0, 3))
	if r := f.Results()[0]; r.Count != 2 || r.MinNs != 9 || r.MaxNs != 15 || r.NoBegin+r.NoEnd+r.NoKey != 0 {
		t.Errorf("slices: %+v", r)
	}
	if r := f.Results()[1]; r.Count != 1 || r.MinNs != 25 || r.NoEnd != 1 {
		t.Errorf("the end of a slice is no event of its own: %+v", r)
	}
}
