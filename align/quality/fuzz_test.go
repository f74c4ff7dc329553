package quality

import (
	"math"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/internal/fuzztest"
	"meridian/trace"
)

// FuzzMetrics takes any messages, broadcasts and maps. The counts of Channel must be those of the definition, an Accuracy
// must count every stamp and have its mean between its extremes, Between must be the negative of itself the other way round,
// no offset may change a round trip, and maps that are the truth must have no error against it.
func FuzzMetrics(f *testing.F) {
	f.Add([]byte{0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 7, 0, 1, 0, 200, 0, 0, 0, 100, 0, 0, 1, 0, 0, 0, 150, 0, 0, 1, 44, 0})
	f.Add([]byte{1, 1, 0, 9, 3, 1, 0, 0, 60, 0, 0, 0, 0, 0, 26, 10, 0, 0, 1, 0, 2, 1, 0, 3, 0, 4, 0, 9, 9, 0, 0, 1, 9, 90, 0, 9})
	fuzztest.Run(f, func(t *testing.T, in *fuzztest.Input) {
		p := &trace.Problem{Clocks: make([]trace.Clock, 2)}
		maps := make([]clock.Map, 2)
		for i := range maps {
			p.Clocks[i].Granularity = in.Below(in.N(20))
			maps[i] = anyMap(in)
		}
		minimum := in.Number()
		there, back := in.Messages()
		p.Channels = []trace.Channel{{From: 0, To: 1, Messages: there}, {From: 1, To: 0, Messages: back}, {From: 0, To: 0, Messages: there}}
		for i, m := range there {
			b := trace.Broadcast{Receptions: []trace.Stamp{{Clock: 0, Time: m.Sent}, {Clock: 1, Time: m.Received}}}
			p.Broadcasts = append(p.Broadcasts, trace.Broadcast{Receptions: b.Receptions[:1+i%2]})
		}
		for i := range p.Channels {
			checkCounts(t, &p.Channels[i], p.Clocks, maps, minimum)
		}
		for i := range maps {
			checkAccuracy(t, p, &maps[i], i)
		}
		one, other := Between(p.Broadcasts, maps, 0, 1), Between(p.Broadcasts, maps, 1, 0)
		if one.Broadcasts != other.Broadcasts || one.Min != clock.Sub(0, other.Max) && other.Max > math.MinInt64+1 && one.Min > math.MinInt64 {
			t.Fatalf("between: %+v and %+v", one, other)
		}
		if d := Broadcasts(p.Broadcasts, maps); d.Min < 0 || d.Min > d.Max || d.Broadcasts != int64(len(there)/2) {
			t.Fatalf("%+v of %d broadcasts", d, len(there))
		}
		checkRoundTrip(t, there, back, in)
		checkAgainst(t, p, maps)
	})
}

// anyMap makes a map of curves that pass Check.
func anyMap(in *fuzztest.Input) clock.Map {
	curve := func() clock.Curve {
		c := clock.Curve{{X: in.Stamp(), Y: clock.TimelineTime(in.Stamp())}}
		for range in.N(3) {
			k := clock.Knot{X: in.Stamp(), Y: clock.TimelineTime(in.Stamp())}
			if next := append(slices.Clone(c), k); next.Check() == nil {
				c = next
			}
		}
		return c
	}
	m := clock.Map{Mid: curve()}
	if in.N(4) > 0 {
		m.Low = curve()
	}
	if in.N(4) > 0 {
		m.High = curve()
	}
	return m
}

func checkCounts(t *testing.T, c *trace.Channel, clocks []trace.Clock, maps []clock.Map, minimum int64) {
	t.Helper()
	want := Counts{Messages: int64(len(c.Messages)), Quickest: math.MaxInt64}
	for _, m := range c.Messages {
		delay := clock.Sub(maps[c.To].At(m.Received), maps[c.From].At(m.Sent))
		want.Quickest = min(want.Quickest, delay)
		if delay < minimum {
			want.TooFast++
		}
		if delay < 0 {
			want.Inversions++
		}
		step := max(clocks[c.To].Granularity, 1) // as far as it goes on either time base
		later := clock.Sub(maps[c.To].At(clock.Add(m.Received, step)), maps[c.From].At(m.Sent))
		if delay < 0 && clock.Add(delay, step) < -rounding && later < -rounding {
			want.BeyondGranularity++
		}
		_, latest, _, someLatest := maps[c.To].EventBounds(m.Received, step)
		earliest, _, someEarliest, _ := maps[c.From].Bounds(m.Sent)
		if someLatest && someEarliest && clock.Sub(clock.Add(latest, 1), earliest) < -rounding {
			want.Contradicting++
		}
	}
	if got := Channel(c, clocks, maps, minimum); got != want {
		t.Fatalf("%+v, want %+v", got, want)
	}
}

func checkAccuracy(t *testing.T, p *trace.Problem, m *clock.Map, number int) {
	t.Helper()
	stamps := int64(0)
	for i := range p.Channels {
		stamps += endpoints(&p.Channels[i], number) * int64(len(p.Channels[i].Messages))
	}
	a := AccuracyOf(p, m, number)
	if a.Events+a.Unbounded != stamps || a.Unbounded > 0 && m.Low != nil && m.High != nil {
		t.Fatalf("%+v of %d stamps", a, stamps)
	}
	if slack := 1e-9 * float64(a.Worst); a.Best > a.Worst || a.Mean < float64(a.Best)-slack || a.Mean > float64(a.Worst)+slack {
		t.Fatalf("%+v", a)
	}
	twice := a
	twice.Add(a)
	if twice.Events != 2*a.Events || twice.Best != a.Best || twice.Worst != a.Worst || math.Abs(twice.Mean-a.Mean) > 1e-9*a.Mean {
		t.Fatalf("twice %+v is %+v", a, twice)
	}
}

// checkRoundTrip moves b's clock, within the instants that clocks show.
func checkRoundTrip(t *testing.T, there, back []trace.Message, in *fuzztest.Input) {
	t.Helper()
	small := func(all []trace.Message, onB func(*trace.Message) *clock.HostTime, by clock.HostTime) []trace.Message {
		all = slices.Clone(all)
		for i := range all {
			all[i].Sent, all[i].Received = all[i].Sent/4, all[i].Received/4
			*onB(&all[i]) += by
		}
		return all
	}
	sent := func(m *trace.Message) *clock.HostTime { return &m.Sent }
	received := func(m *trace.Message) *clock.HostTime { return &m.Received }
	by := in.Stamp() / 4
	one, ok := RoundTrip(small(there, received, 0), small(back, sent, 0))
	other, also := RoundTrip(small(there, received, by), small(back, sent, by))
	if one != other || ok != also || one < 0 {
		t.Fatalf("%d %v, %d %v when b's clock is %d ns further: %v %v", one, ok, other, also, by, there, back)
	}
}

// checkAgainst takes the estimates themselves as the truth.
func checkAgainst(t *testing.T, p *trace.Problem, maps []clock.Map) {
	t.Helper()
	clocks := slices.Clone(p.Clocks)
	truth := &Truth{}
	for i := range clocks {
		clocks[i].First, clocks[i].Last, clocks[i].Events = maps[i].Mid[0].X, maps[i].Mid[len(maps[i].Mid)-1].X, 1
		truth.Clocks = append(truth.Clocks, maps[i].Mid)
	}
	for _, d := range Against(truth, clocks, maps, []int{0, 0}).Clocks {
		// The root of a sum of squares may pass the greatest of them by the sum's rounding.
		if math.IsNaN(d.RMS) || d.RMS < 0 || d.RMS > d.Max*(1+1e-9) || d.Within < 0 || d.Within > 1 || d.Always && d.Within < 1 || d.WidthMedian > d.WidthP95 {
			t.Fatalf("%+v", d)
		}
	}
}
