package sim

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"meridian/clock"
	"meridian/trace"
)

// office is a scenario with something of everything.
func office(seed uint64) Scenario {
	return Scenario{
		Hosts: 5, Topology: Full, Start: start, Span: time.Minute, Jitter: 20 * time.Microsecond, Delay: Gamma,
		MinDelay: [2]time.Duration{10 * time.Microsecond, 50 * time.Microsecond}, Congested: true, Asymmetric: true,
		MaxOffset: time.Second, MaxSkewPPM: 50, Wander: 1e-8, Thermal: 1e-7, Seed: seed,
	}
}

// flights plays a scenario.
func flights(t *testing.T, s Scenario) ([]Flight, *Truth) {
	t.Helper()
	var all []Flight
	truth, err := s.Play(func(f *Flight) error {
		all = append(all, *f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, truth
}

func TestZeroScenarioIsAPairWithPerfectClocks(t *testing.T) {
	p, truth, err := Scenario{}.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Clocks) != 2 || len(p.Channels) != 2 || len(truth.Links) != 2 {
		t.Fatalf("%d clocks, %d channels, %d links", len(p.Clocks), len(p.Channels), len(truth.Links))
	}
	for _, c := range p.Channels {
		if n := len(c.Messages); n < 2395 || n > 2405 {
			t.Errorf("%d messages in 2 min at 20/s", n)
		}
		for _, m := range c.Messages {
			if m.Sent != m.Received {
				t.Fatalf("%+v over no distance", m)
			}
		}
	}
}

func TestEqualScenariosGiveEqualMessages(t *testing.T) {
	for _, pattern := range Patterns() {
		s := office(1)
		s.Traffic = pattern
		a, truthA, err := s.Generate()
		if err != nil {
			t.Fatal(err)
		}
		b, truthB, _ := s.Generate()
		if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(truthA, truthB) {
			t.Errorf("%v: one scenario gave two results", pattern)
		}
		s.Seed++
		if c, _, _ := s.Generate(); reflect.DeepEqual(a, c) {
			t.Errorf("%v: two seeds gave one result", pattern)
		}
	}
}

func TestMessagesTakeTheMinimumOfTheirLinkAndComeCloseToIt(t *testing.T) {
	for _, pattern := range Patterns() {
		s := office(2)
		s.Traffic, s.Delay = pattern, Exponential
		all, truth := flights(t, s)
		least := make([]int64, len(truth.Links))
		for i := range least {
			least[i] = math.MaxInt64
		}
		for _, f := range all {
			least[f.Link] = min(least[f.Link], int64(f.Arrived-f.Left))
			if l := truth.Links[f.Link]; l.From != hostName(f.From) || l.To != hostName(f.To) {
				t.Fatalf("%v: a message from %d to %d over the link %+v", pattern, f.From, f.To, l)
			}
		}
		for i, l := range truth.Links {
			above := least[i] - l.MinDelayNs
			// A hundred messages and more of mean 20 µs; all of a broadcast share one wait. A host leaves a collective
			// when the last one has entered it.
			if least[i] != math.MaxInt64 && (above < 0 || above > 2000 && pattern != Collective) {
				t.Errorf("%v: link %d has a minimum of %d and took %d", pattern, i, l.MinDelayNs, least[i])
			}
			if l.MinDelayNs < 10_000 || l.MinDelayNs > 50_000 {
				t.Errorf("minimum of %d ns", l.MinDelayNs)
			}
		}
	}
}

func TestPatternsSendAsManyAsAsked(t *testing.T) {
	for _, test := range []struct {
		pattern     Pattern
		there, back float64 // per second
	}{
		{Periodic, 40, 40}, {Bursty, 40, 40}, {RequestResponse, 40, 40}, {OneSided, 77.6, 2.4}, {OneWay, 40, 0}, {Broadcast, 40, 40},
		{Collective, 40, 40},
	} {
		s := Scenario{Traffic: test.pattern, Rate: 40, Span: 1000 * time.Second, Seed: 3}
		all, _ := flights(t, s)
		var n [2]float64
		for _, f := range all {
			n[f.From]++
		}
		for i, want := range []float64{test.there, test.back} {
			if got := n[i] / 1000; math.Abs(got-want) > 0.1*want { // bursts: 800 of 50, so 3.5% is their deviation
				t.Errorf("%v: %g messages a second from host %d, not %g", test.pattern, got, i, want)
			}
		}
	}
}

func TestAnswersLeaveAfterTheirRequestsHaveCome(t *testing.T) {
	s := office(4)
	s.Traffic, s.Hosts, s.Topology = RequestResponse, 2, Pair
	all, _ := flights(t, s)
	for i, f := range all {
		if f.From == 0 {
			continue
		}
		if pause := int64(f.Left - all[i-1].Arrived); all[i-1].From != 0 || pause < 50_000 || pause > 500_001 {
			t.Fatalf("answer %d left %d ns after %+v", i, pause, all[i-1])
		}
	}
}

func TestNobodyLeavesACollectiveBeforeAllHaveEntered(t *testing.T) {
	s := office(5)
	s.Traffic, s.Topology = Collective, Chain
	p, truth, err := s.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Channels) != 5*4 {
		t.Fatalf("%d channels", len(p.Channels))
	}
	operations := len(p.Channels[0].Messages)
	for k := range operations {
		entered, left := make(map[int]clock.HostTime), make(map[int]clock.HostTime)
		for _, c := range p.Channels {
			m := c.Messages[k]
			if e, known := entered[c.From]; known && e != m.Sent {
				t.Fatalf("host %d entered operation %d at %d and %d", c.From, k, e, m.Sent)
			}
			if l, known := left[c.To]; known && l != m.Received {
				t.Fatalf("host %d left operation %d at %d and %d", c.To, k, l, m.Received)
			}
			entered[c.From], left[c.To] = m.Sent, m.Received
		}
		at := func(host int, stamp clock.HostTime) clock.TimelineTime {
			return truth.Hosts[host].Clock.At(stamp, clock.Nearest)
		}
		last, first := clock.TimelineTime(math.MinInt64), clock.TimelineTime(math.MaxInt64)
		for h := range 5 {
			last, first = max(last, at(h, entered[h])), min(first, at(h, left[h]))
		}
		if first < last {
			t.Fatalf("operation %d: one left %d ns before the last had entered", k, int64(last-first))
		}
	}
}

func TestOperationsThatTakeLongEndWithTheSpan(t *testing.T) {
	s := Scenario{Hosts: 3, Topology: Full, Start: -1e18, Traffic: Collective, MinDelay: [2]time.Duration{50 * time.Second, 50 * time.Second}}
	all, truth := flights(t, s)
	if len(all) != 3*6 { // one after the other at 0, 50 and 100 s of two minutes
		t.Errorf("%d messages", len(all))
	}
	if last := int64(truth.Hosts[0].Clock[1].Y - s.Start); last > 160e9 {
		t.Errorf("the truth goes to %d ns after the start", last)
	}
}

func TestBroadcastsReachAllAtNearlyOneTime(t *testing.T) {
	s := office(6)
	s.Traffic, s.Topology, s.Congested = Broadcast, Star, false
	p, truth, err := s.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.Broadcasts); n < 1150 || n > 1250 { // the hub's alone have several receivers
		t.Fatalf("%d broadcasts in a minute at 20/s", n)
	}
	var spread float64
	for _, b := range p.Broadcasts {
		if len(b.Receptions) != 4 {
			t.Fatalf("%d receptions", len(b.Receptions))
		}
		var at []clock.TimelineTime
		for _, r := range b.Receptions {
			at = append(at, truth.Hosts[r.Clock].Clock.At(r.Time, clock.Nearest))
		}
		spread += float64(slices.Max(at)-slices.Min(at)) / float64(len(p.Broadcasts))
	}
	if spread > 45_000 { // minima differ by 40 µs at most, own waits are of 2 µs
		t.Errorf("receptions lie %g ns apart in the mean", spread)
	}
	var messages int
	for _, c := range p.Channels {
		messages += len(c.Messages)
	}
	if want := 4*len(p.Broadcasts) + 4*1200; math.Abs(float64(messages-want)) > 30 {
		t.Errorf("%d messages and %d broadcasts", messages, len(p.Broadcasts))
	}
}

func TestCongestionComesAndGoesInEachDirection(t *testing.T) {
	s := Scenario{Span: 4 * time.Hour, Rate: 5, Jitter: 20 * time.Microsecond, Congested: true, Seed: 7}
	all, _ := flights(t, s)
	slow, both, n := [2][]bool{}, 0, 0
	for _, f := range all {
		// 30 µs alone are the one sign: an exponential wait of mean 20 µs rarely is so long.
		slow[f.From] = append(slow[f.From], f.Arrived-f.Left > 100_000)
	}
	var share [2]float64
	for i := range min(len(slow[0]), len(slow[1])) {
		n++
		for d := range 2 {
			if slow[d][i] {
				share[d]++
			}
		}
		if slow[0][i] && slow[1][i] {
			both++
		}
	}
	for d := range 2 {
		// A fifth of the time, and of those messages the share with 10·wait above 50 to 70 µs, some 0.75.
		if got := share[d] / float64(n); math.Abs(got-0.15) > 0.05 {
			t.Errorf("direction %d: a share of %g is slow", d, got)
		}
	}
	if got := float64(both) / float64(n); got > 0.08 {
		t.Errorf("both directions are slow together in %g of the cases", got)
	}
}

func TestRouteChangesMoveTheMinimumOfOneDirection(t *testing.T) {
	s := Scenario{Start: start, Span: time.Minute, MinDelay: [2]time.Duration{time.Millisecond, time.Millisecond},
		Routes: []Route{{From: 0, To: 1, At: start + 40e9, By: -300_000}, {From: 0, To: 1, At: start + 20e9, By: 500_000}}}
	all, truth := flights(t, s)
	for _, f := range all {
		want := int64(1_000_000)
		if f.From == 0 && f.Left >= start+20e9 {
			want = 1_500_000
		}
		if f.From == 0 && f.Left >= start+40e9 {
			want = 1_200_000
		}
		if int64(f.Arrived-f.Left) != want {
			t.Fatalf("%+v took %d, not %d", f, int64(f.Arrived-f.Left), want)
		}
	}
	for at, want := range map[clock.TimelineTime]float64{start: 0, start + 20e9: 250_000, start + 50e9: 100_000} {
		if got, ok := truth.AsymmetryAt("host0", "host1", at); !ok || got != want {
			t.Errorf("asymmetry %g at %d, not %g", got, at, want)
		}
	}
	if got, ok := truth.Asymmetry("host1", "host0"); !ok || got != 0 {
		t.Errorf("asymmetry %g at the start", got)
	}
	if _, ok := truth.Asymmetry("host0", "host2"); ok {
		t.Error("an asymmetry to an unknown host")
	}
}

func TestClocksAreDrawnFromWhatIsAsked(t *testing.T) {
	s := Scenario{Hosts: 2000, Topology: Star, Span: time.Second, MaxSkewPPM: 50, MaxOffset: time.Second, Seed: 8}
	s, err := s.complete()
	if err != nil {
		t.Fatal(err)
	}
	clocks, err := s.makeClocks()
	if err != nil {
		t.Fatal(err)
	}
	var skews, offsets []float64
	for _, c := range clocks {
		skews, offsets = append(skews, c.SkewPPM/50), append(offsets, float64(c.OffsetNs)/1e9)
	}
	for _, draws := range [][]float64{skews, offsets} {
		slices.Sort(draws)
		for i, x := range draws { // uniform between -1 and 1; Kolmogorov's bound at 1e-6
			if want := 2*float64(i)/2000 - 1; math.Abs(x-want) > 2*2.7/math.Sqrt(2000) {
				t.Fatalf("quantile %d is %g", i, x)
			}
		}
	}
}

func TestOneMoreLinkLeavesTheOthersAsTheyWere(t *testing.T) {
	a := office(9)
	a.Topology = Chain
	b := a
	b.Hosts++
	p, _, err := a.Generate()
	if err != nil {
		t.Fatal(err)
	}
	q, _, err := b.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(p.Channels, q.Channels[:len(p.Channels)]) {
		t.Error("another host changed messages between others")
	}
}

func TestClocksOfProblemsKnowTheirExtent(t *testing.T) {
	p, _, err := office(10).Generate()
	if err != nil {
		t.Fatal(err)
	}
	want := make([]trace.Clock, len(p.Clocks))
	for _, c := range p.Channels {
		for _, m := range c.Messages {
			see(&want[c.From], m.Sent)
			see(&want[c.To], m.Received)
		}
	}
	for i, c := range p.Clocks {
		if w := want[i]; c.First != w.First || c.Last != w.Last || c.Events != w.Events {
			t.Errorf("%+v, stamps %+v", c, w)
		}
	}
}

func TestScenarioThatCannotBeIsRefused(t *testing.T) {
	nan := math.NaN()
	for _, s := range []Scenario{
		{Hosts: 1}, {Hosts: -1}, {Hosts: 3}, {Hosts: 1e6, Topology: Chain}, {Topology: 9}, {Traffic: 99}, {Delay: 99},
		{Hosts: 8, Topology: Random, Degree: 1}, {Hosts: 8, Topology: Random, Degree: 8},
		{Span: -1}, {Span: math.MaxInt64}, {Rate: -1}, {Rate: nan}, {Rate: math.Inf(1)}, {Rate: 1e12}, {Jitter: -1},
		{MinDelay: [2]time.Duration{2, 1}}, {MinDelay: [2]time.Duration{-1, 1}}, {MaxOffset: -1}, {MaxOffset: math.MaxInt64},
		{MaxSkewPPM: nan}, {MaxSkewPPM: 1e6, Seed: 1}, {Wander: nan}, {Wander: -1}, {Wander: 1}, {Thermal: nan}, {Thermal: 1},
		{ThermalPeriod: 1}, {Start: math.MaxInt64}, {Granularity: math.MaxInt64},
		{Steps: []HostStep{{Host: 2}}}, {Steps: []HostStep{{Step: Step{By: math.MaxInt64}}}},
		{Routes: []Route{{From: 0, To: 2}}}, {Routes: []Route{{From: 0, To: 1, By: -1}}}, {Routes: []Route{{From: 0, To: 1, By: math.MinInt64}}},
		{Hosts: 4096, Topology: Full, Rate: 1e-9},
	} {
		if _, _, err := s.Generate(); err == nil {
			t.Errorf("%+v passed", s)
		}
	}
}

func TestEnvironmentsDifferAndCanBePlayed(t *testing.T) {
	all := Environments()
	if len(all) != 8 {
		t.Fatalf("%d environments", len(all))
	}
	for i, e := range all {
		s := e.Scenario
		s.Span, s.Wander, s.Thermal, s.Seed = 2*time.Minute, 1e-9, 1e-7, 1
		p, _, err := s.Generate()
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		if n := p.Clocks[0].Events; n < 3000 || n > 6500 { // 40 a second, bursts of 50
			t.Errorf("%s: %d messages", e.Name, n)
		}
		if p.Clocks[0].Granularity != map[bool]int64{false: 1, true: 1000}[i == 2 || i == 4 || i == 6] {
			t.Errorf("%s: granularity %d", e.Name, p.Clocks[0].Granularity)
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	for _, e := range Environments() {
		b.Run(e.Name, func(b *testing.B) {
			s := e.Scenario
			s.Span, s.Rate, s.Wander, s.Thermal = 2*time.Hour, 300_000/2/7200., 1e-9, 1e-7
			for b.Loop() {
				if _, _, err := s.Generate(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
