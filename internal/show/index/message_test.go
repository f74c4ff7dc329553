package index

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// wantedMessage is a message as the records say.
type wantedMessage struct {
	sent, received *trace.TimelineEvent
	from, to       int64 // events
}

// messagesOf pairs ends: each with the last of the other kind that waits under its flow.
func (x *timeline) messagesOf() (all []wantedMessage, alone int64) {
	type waiting struct {
		r     *trace.TimelineEvent
		event int64
	}
	open := make(map[uint64]waiting)
	x.truth(func(event, _ int64, r *trace.TimelineEvent) {
		if r.Flow == 0 || r.Role != trace.Sends && r.Role != trace.Receives {
			return
		}
		w, ok := open[r.Flow]
		switch {
		case !ok:
			open[r.Flow] = waiting{r, event}
		case w.r.Role == r.Role:
			alone++
			open[r.Flow] = waiting{r, event}
		case r.Role == trace.Receives:
			all = append(all, wantedMessage{w.r, r, w.event, event})
			delete(open, r.Flow)
		default:
			all = append(all, wantedMessage{r, w.r, event, w.event})
			delete(open, r.Flow)
		}
	})
	return all, alone + int64(len(open))
}

// verdict judges in exact arithmetic, from what a record says of when it can have been.
func (m *wantedMessage) verdict(x *timeline, step func(m int) int64, least int64) Verdict {
	difference := func(a, b int64) *big.Int { return new(big.Int).Sub(big.NewInt(a), big.NewInt(b)) }
	delay := difference(int64(m.received.Time), int64(m.sent.Time))
	if delay.Sign() >= 0 {
		if delay.Cmp(big.NewInt(least)) < 0 {
			return TooFast
		}
		return InOrder
	}
	if new(big.Int).Add(delay, big.NewInt(step(m.received.Map)+1)).Sign() >= 0 {
		return WithinStep
	}
	if m.sent.Host == m.received.Host && m.sent.Map == m.received.Map {
		return Certain // one clock's own order
	}
	if m.sent.Bounded && m.received.Bounded && m.received.High < m.sent.Low {
		return Certain
	}
	return Undecidable
}

// interval is how long a message can have been on its way.
func (m *wantedMessage) interval(x *timeline, step func(m int) int64) (low, high int64, known bool) {
	s, r := m.sent, m.received
	if s.Host == r.Host && s.Map == r.Map {
		d, hidden := int64(r.Time-s.Time), step(s.Map)-1
		return d - hidden, d + hidden, true
	}
	return clock.Sub(r.Low, s.High), clock.Sub(r.High, s.Low), s.Bounded && r.Bounded
}

func TestMessagesAreJudgedAsTheirStampsAndBoundsSay(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		records := drawTimeline(t, 800)
		least := rapid.Int64Range(0, 500).Draw(t, "least delay")
		finest := rapid.SampledFrom([]int64{2, 2, 3, 500}).Draw(t, "granularity")
		step := func(m int) int64 { return finest + int64(m) }
		x := records.build(t, Options{MinDelay: least, Granularity: step})
		defer x.Close()
		want, alone := records.messagesOf()
		got := make(map[int64]item)
		links := make(map[int64]int)
		for n := range x.lanes {
			if x.lanes[n].kind == messages {
				for _, it := range everything(t, x, n) {
					got[it.event], links[it.event] = it, n
				}
			}
		}
		var counts [5]int64
		bad := 0
		for _, m := range want {
			v := m.verdict(records, step, least)
			counts[v]++
			if v != InOrder {
				bad++
			}
			it, ok := got[m.from]
			if !ok || it.other != m.to || Verdict(it.flags) != v {
				t.Fatalf("message %+v of verdict %d, wanted %d from event %d to %d", it, it.flags, v, m.from, m.to)
			}
			k := &x.about.Links[x.lanes[links[m.from]].owner]
			if k.From != m.sent.Stream || k.To != m.received.Stream || k.Worst < v {
				t.Fatalf("link %+v of a message from row %d to %d of verdict %d", k, m.sent.Stream, m.received.Stream, v)
			}
		}
		a := x.about
		if len(got) != len(want) || a.Messages != int64(len(want)) || a.Verdicts != counts || x.violations.Counts != counts {
			t.Fatalf("%d messages %v, wanted %d %v", a.Messages, a.Verdicts, len(want), counts)
		}
		if alone > 0 != contains(fmt.Sprint(a.Warnings), fmt.Sprintf("%d ends of messages are without", alone)) {
			t.Fatalf("%d ends alone, warnings %q", alone, a.Warnings)
		}
		if len(x.violations.List) != bad {
			t.Fatalf("%d violations are listed of %d", len(x.violations.List), bad)
		}
		inverted := map[int64]int64{}
		for _, m := range want {
			if d := int64(m.received.Event.Time - m.sent.Event.Time); d+step(m.received.Map) <= 0 {
				inverted[m.from] = d
			}
		}
		if raw := x.violations.Raw; raw.Inverted != int64(len(inverted)) || *a.Inverted != raw.Inverted || len(raw.List) != len(inverted) {
			t.Fatalf("%d messages are inverted in raw time, %d of them listed; wanted %d", raw.Inverted, len(raw.List), len(inverted))
		}
		for _, v := range x.violations.Raw.List {
			if d, is := inverted[v.From]; !is || d != v.Delay || links[v.From] != v.Link {
				t.Fatalf("inverted in raw time: %+v, wanted a delay of %d", v, d)
			}
		}
		byEvent := make(map[int64]wantedMessage)
		for _, m := range want {
			byEvent[m.from] = m
		}
		before := int64(math.MinInt64)
		for _, v := range x.violations.List {
			if v.Sent < before || v.Verdict == InOrder || links[v.From] != v.Link {
				t.Fatalf("violation %+v", v)
			}
			before = v.Sent
			m := byEvent[v.From]
			low, high, known := m.interval(records, step)
			if (v.Low != nil) != known || v.Low != nil && (*v.Low != low || *v.High != high) || v.Delay != int64(m.received.Time-m.sent.Time) {
				t.Fatalf("violation %+v, wanted from %d to %d", v, low, high)
			}
		}
	})
}

func TestEndsThatWaitTooLongAreGivenUpAndCounted(t *testing.T) {
	l := &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Name: "r", Host: "a", Parent: -1}}, Classes: make([]trace.Class, 1)}
	b, err := NewBuilder(l, Options{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(at int64, flow uint64, role trace.Role) {
		if err := b.Write(&trace.TimelineEvent{Event: trace.Event{Flow: flow, Role: role}, Time: clock.TimelineTime(at), Map: -1}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int64(mostEnds) {
		write(i, uint64(i)+1, trace.Sends)
	}
	write(mostEnds, mostEnds+1, trace.Receives) // gives up the first
	write(mostEnds+1, 2, trace.Receives)
	write(mostEnds+2, 1, trace.Receives)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	x, err := b.Index()
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if x.about.Messages != 1 || len(x.about.Warnings) != 1 || x.about.Warnings[0] != fmt.Sprintf("%d ends of messages are without their other end", mostEnds+1) {
		t.Errorf("%d messages, %q", x.about.Messages, x.about.Warnings)
	}
}

func TestTheWorstViolationsAreListed(t *testing.T) {
	var w worst
	r := random(1)
	most := map[Verdict]int64{}
	for i := range int64(mostListed + 5000) {
		v := violation{verdict: Verdict(1 + r.n(4)), depth: r.n(1000), from: i}
		most[v.verdict]++
		w.add(v, mostListed)
	}
	kept := map[Verdict]int64{}
	for _, v := range w {
		kept[v.verdict]++
	}
	if len(w) != mostListed || kept[Certain] != most[Certain] || kept[Undecidable] != most[Undecidable] || kept[WithinStep] != 0 {
		t.Errorf("kept %v of %v", kept, most)
	}
}

func TestBucketsOfDelaysAreNarrowAndNeitherOverlapNorLeaveGaps(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		v := rapid.Int64().Draw(t, "delay") >> rapid.IntRange(0, 62).Draw(t, "shift")
		n := bucket(v)
		least, greatest := borders(n)
		if v < least || v > greatest {
			t.Fatalf("%d lies in bucket %d from %d to %d", v, n, least, greatest)
		}
		if width := float64(greatest) - float64(least); width > math.Abs(float64(v))*0.05 {
			t.Fatalf("the bucket of %d is %g wide", v, width)
		}
		if greatest < math.MaxInt64 {
			if next, _ := borders(n + 1); next != greatest+1 || bucket(greatest+1) != n+1 {
				t.Fatalf("after bucket %d to %d comes one from %d", n, greatest, next)
			}
		}
	})
}

func TestHistogramsCountEveryMessage(t *testing.T) {
	l := &trace.Schema{Hosts: []string{"a", "b"}, Streams: []trace.Stream{{Name: "r", Host: "a", Parent: -1}, {Name: "s", Host: "b", Parent: -1}},
		Classes: make([]trace.Class, 1), Maps: nil}
	m := clock.Identity()
	l.Maps = []trace.HostMap{{Host: 0, Map: &m}, {Host: 1, Map: &m}}
	x := &timeline{schema: l}
	for i, delay := range []int64{5, 5, 1000, 100_000} {
		at := int64(i) * 1_000_000
		x.records = append(x.records,
			trace.TimelineEvent{Event: trace.Event{Flow: uint64(i) + 1, Role: trace.Sends}, Time: clock.TimelineTime(at)},
			trace.TimelineEvent{Event: trace.Event{Flow: uint64(i) + 1, Role: trace.Receives, Stream: 1}, Time: clock.TimelineTime(at + delay), Host: 1, Map: 1})
	}
	n := x.build(t, Options{})
	defer n.Close()
	d := n.about.Delays
	if len(d) != 1 || d[0].From != 0 || d[0].To != 1 || d[0].Messages != 4 || d[0].Least != 5 || d[0].Greatest != 100_000 ||
		d[0].Mean != 101_010.0/4 || len(d[0].Buckets) != 3 || d[0].Buckets[0] != [3]int64{5, 5, 2} {
		t.Errorf("%+v", d)
	}
}

func TestAMessageIsCertainlyInvertedOnlyBeyondTheBounds(t *testing.T) {
	for _, c := range []struct {
		received, above, below int64 // of a message sent at 1000 that can have been sent below earlier
		want                   Verdict
	}{
		{1000, 0, 0, InOrder}, {1009, 0, 0, TooFast}, {1010, 0, 0, InOrder},
		{999, 0, 0, WithinStep}, {994, 0, 0, WithinStep}, {993, 0, 0, Certain},
		{990, 4, 6, Undecidable}, {990, 10, 0, Undecidable}, {990, 4, 5, Certain}, {990, 0, 0, Certain},
	} {
		least := int64(10)
		if c.received == 1000 {
			least = 0
		}
		b := &sorter{minDelay: least}
		s := &end{time: 1000, below: c.below, bounded: true}
		r := &end{time: c.received, step: 5, above: c.above, bounded: true, host: 1, clock: 1}
		_, high, known := interval(s, r, c.received-1000)
		if v := b.judge(s, r, c.received-1000, high, known); v != c.want {
			t.Errorf("%+v: verdict %d", c, v)
		}
	}
}
