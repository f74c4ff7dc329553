package envelope_test

import (
	"context"
	"math"
	"reflect"
	"runtime"
	"testing"
	"time"

	"meridian/align/envelope"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/internal/testneed"
	"meridian/trace"
)

// world generates a scenario and the problem of its first two hosts.
func world(t *testing.T, s sim.Scenario) (*pair.Problem, *sim.Truth, *trace.Problem) {
	t.Helper()
	p, truth, err := s.Generate()
	if err != nil {
		t.Fatal(err)
	}
	two := &pair.Problem{A: p.Clocks[0], B: p.Clocks[1]}
	for _, c := range p.Channels {
		switch {
		case c.From == 0 && c.To == 1:
			two.AB = append(two.AB, c.Messages)
		case c.From == 1 && c.To == 0:
			two.BA = append(two.BA, c.Messages)
		}
	}
	return two, truth, &p
}

// errors returns the root mean square of a curve's error from a's clock to b's between two shares of the trace.
func errorOf(curve clock.PairCurve, p *pair.Problem, truth *sim.Truth, from, to float64) float64 {
	back := truth.Hosts[1].Clock.Inverse()
	const steps = 500
	sum := 0.0
	for i := range steps + 1 {
		share := from + (to-from)*float64(i)/steps
		a := p.A.First + clock.HostTime(share*float64(p.A.Last-p.A.First))
		b := back.At(truth.Hosts[0].Clock.At(a, clock.Nearest), clock.Nearest)
		e := float64(curve.At(a, clock.Nearest) - b)
		sum += e * e
	}
	return math.Sqrt(sum / (steps + 1))
}

func scenario(seed uint64) sim.Scenario {
	s := sim.Environments()[0].Scenario
	s.Span, s.Seed, s.Wander, s.Thermal = 10*time.Minute, seed, 1e-9, 1e-7
	return s
}

func TestCurveFollowsAClockThatNoLineFollows(t *testing.T) {
	for seed := range uint64(3) {
		p, truth, _ := world(t, scenario(seed))
		s, ok := envelope.Pair(p)
		if !ok {
			t.Fatal("too few messages")
		}
		curve, line := errorOf(s.Curve, p, truth, 0, 1), errorOf(pair.Hull(p).Map.Mid, p, truth, 0, 1)
		if curve > 150 || curve > 0.1*line {
			t.Errorf("seed %d: error %.0f ns, of a line %.0f", seed, curve, line)
		}
		if s.Gain < 6 {
			t.Errorf("seed %d: a wander of 1e-9 explains only %.1f nats", seed, s.Gain)
		}
	}
}

func TestLinearClocksAreNotTakenToWander(t *testing.T) {
	for seed := range uint64(3) {
		sc := scenario(seed)
		sc.Wander, sc.Thermal = 0, 0
		p, truth, _ := world(t, sc)
		s, _ := envelope.Pair(p)
		if s.Gain > 6 {
			t.Errorf("seed %d: a wander of %g explains %.1f nats of linear clocks", seed, s.Sigma, s.Gain)
		}
		if e := errorOf(s.Curve, p, truth, 0, 1); e > 60 {
			t.Errorf("seed %d: error %.0f ns of linear clocks", seed, e)
		}
	}
}

func TestStatisticalErrorHoldsMostTruths(t *testing.T) {
	testneed.Long(t, "draws twelve worlds")
	inside, all := 0, 0
	for seed := range uint64(12) {
		p, truth, _ := world(t, scenario(seed))
		s, _ := envelope.Pair(p)
		back := truth.Hosts[1].Clock.Inverse()
		for _, d := range s.Deviation {
			b := back.At(truth.Hosts[0].Clock.At(d.Host, clock.Nearest), clock.Nearest)
			all++
			if math.Abs(float64(s.Curve.At(d.Host, clock.Nearest)-b)) <= 2*d.Ns {
				inside++
			}
		}
	}
	// 95 of 100 over all environments (go run ./tools/study calibration); this one is an easy one.
	if share := float64(inside) / float64(all); share < 0.9 {
		t.Errorf("%.1f%% of the truths within two deviations", 100*share)
	}
}

func TestStatisticalErrorOfFewMessagesHoldsMostTruths(t *testing.T) {
	shares, errors, deviations := 0.0, 0.0, 0.0
	const worlds = 40
	for seed := range uint64(worlds) {
		// 40 messages each way in a minute, of which some ten are near the least delay.
		sc := scenario(seed + 100)
		sc.Span, sc.Rate, sc.Wander, sc.Thermal = time.Minute, 2.0/3, 1e-9, 0
		p, truth, _ := world(t, sc)
		s, ok := envelope.Pair(p)
		if !ok {
			t.Fatalf("seed %d: no curve through %d and %d messages", seed, p.AB.Len(), p.BA.Len())
		}
		back := truth.Hosts[1].Clock.Inverse()
		for _, d := range s.Deviation {
			b := back.At(truth.Hosts[0].Clock.At(d.Host, clock.Nearest), clock.Nearest)
			miss := math.Abs(float64(s.Curve.At(d.Host, clock.Nearest) - b))
			n := float64(len(s.Deviation) * worlds)
			errors, deviations = errors+miss/n, deviations+d.Ns/n
			if miss <= 2*d.Ns {
				shares += 1 / n
			}
		}
	}
	// The same for many kinds of delays and clocks: go run ./tools/study coverage.
	if shares < 0.9 {
		t.Errorf("%.1f%% of the truths within two deviations", 100*shares)
	}
	if deviations > 4*errors {
		t.Errorf("mean deviation %.0f ns, mean error %.0f ns: too wide to tell anything", deviations, errors)
	}
}

func TestChangeOfRouteIsNamedAndMovesNoClock(t *testing.T) {
	// The busy way changes. What its messages alone show is a clock that jumps and a quiet way that changes too.
	for _, by := range []time.Duration{20 * time.Microsecond, 100 * time.Microsecond} {
		sc := sim.Environments()[3].Scenario
		sc.Span, sc.Seed, sc.Wander = 20*time.Minute, 5, 1e-9
		at := 8 * time.Minute
		sc.Routes = []sim.Route{{From: 0, To: 1, At: sc.Start + clock.TimelineTime(at), By: int64(by)}}
		p, truth, _ := world(t, sc)
		s, _ := envelope.Pair(p)
		if len(s.Routes) != 1 || s.Routes[0].From != 0 || s.Routes[0].To != 1 {
			t.Fatalf("%v: routes %+v, want one change from a to b", by, s.Routes)
		}
		r := s.Routes[0]
		when := time.Duration(truth.Hosts[1].Clock.At(r.At, clock.Nearest) - sc.Start)
		if d := when - at; d < -5*time.Second || d > 5*time.Second {
			t.Errorf("%v: changed after %v, found %v", by, at, when)
		}
		if d := time.Duration(r.By) - by; d < -time.Microsecond || d > time.Microsecond {
			t.Errorf("changed by %v, found %v", by, time.Duration(r.By))
		}
		if e := errorOf(s.Curve, p, truth, 0.45, 1); e > 200 {
			t.Errorf("%v: error %.0f ns after the change", by, e)
		}
	}
}

func TestStreamThatIsAskedOnTheWayEndsWhereThePairDoes(t *testing.T) {
	p, _, _ := world(t, scenario(4))
	var s envelope.Stream
	s.AB, s.BA = *envelope.NewReducer(p.AB.Len()), *envelope.NewReducer(p.BA.Len())
	there, back := p.AB[0], p.BA[0]
	for i := range max(len(there), len(back)) {
		if i < len(there) {
			s.AB.Add(there[i])
		}
		if i < len(back) {
			s.BA.Add(back[i])
		}
		if i == 3000 {
			if _, ok := s.Smooth(); !ok {
				t.Fatal("no estimate on the way")
			}
		}
	}
	streamed, _ := s.Smooth()
	whole, _ := envelope.Pair(p)
	for _, k := range whole.Curve {
		if d := int64(streamed.Curve.At(k.X, clock.Nearest) - k.Y); d < -5 || d > 5 {
			t.Fatalf("%d ns from the curve of all messages at once", d)
		}
	}
}

func TestTooFewMessagesAreNoCurve(t *testing.T) {
	p := &pair.Problem{}
	for i := range int64(15) {
		p.AB = append(p.AB, []trace.Message{{Sent: clock.HostTime(i * 1e9), Received: clock.HostTime(i*1e9 + 1000)}})
		p.BA = append(p.BA, []trace.Message{{Sent: clock.HostTime(i * 1e9), Received: clock.HostTime(i*1e9 + 1000)}})
	}
	if _, ok := envelope.Pair(p); ok {
		t.Error("a curve from 15 messages each way")
	}
	for i := range p.AB { // enough, but all at one instant
		p.AB[i], p.BA[i] = []trace.Message{{Sent: 5, Received: 7}, {Sent: 5, Received: 7}}, []trace.Message{{Sent: 5, Received: 7}, {Sent: 5, Received: 7}}
	}
	if s, ok := envelope.Pair(p); ok && s.Curve.Check() != nil {
		t.Error(s.Curve.Check())
	}
}

// joined smooths a scenario's clocks from the tree of pairs with its first clock.
func joined(t *testing.T, sc sim.Scenario) (tree, all []clock.PairCurve, p *trace.Problem, truth *sim.Truth) {
	t.Helper()
	_, truth, p = world(t, sc)
	n := &envelope.Network{Clocks: p.Clocks, Channels: p.Channels}
	for i := range p.Clocks {
		n.Start, n.Sigma = append(n.Start, clock.PairIdentity().Mid), append(n.Sigma, 1e-9)
		if i == 0 {
			continue
		}
		two := &pair.Problem{A: p.Clocks[0], B: p.Clocks[i]}
		for _, c := range p.Channels {
			switch {
			case c.From == 0 && c.To == i:
				two.AB = append(two.AB, c.Messages)
			case c.From == i && c.To == 0:
				two.BA = append(two.BA, c.Messages)
			}
		}
		s, ok := envelope.Pair(two)
		if !ok {
			t.Fatal("too few messages")
		}
		n.Start[i] = s.Curve.Inverse()
	}
	j, err := envelope.Joint(context.Background(), n)
	if err != nil {
		t.Fatal(err)
	}
	return n.Start, j.Curves, p, truth
}

func TestAllClocksAtOnceAreNearerToTheTruthThanATree(t *testing.T) {
	sc := scenario(9)
	sc.Hosts, sc.Topology, sc.Rate, sc.Span = 6, sim.Full, 4, 5*time.Minute
	tree, all, p, truth := joined(t, sc)
	rms := func(curves []clock.PairCurve) float64 {
		sum, n := 0.0, 0.0
		for i := 1; i < len(curves); i++ {
			reference := truth.Hosts[0].Clock.Inverse()
			for k := range int64(300) {
				c := p.Clocks[i].First + clock.HostTime(int64(p.Clocks[i].Last-p.Clocks[i].First)*k/299)
				want := reference.At(truth.Hosts[i].Clock.At(c, clock.Nearest), clock.Nearest)
				e := float64(curves[i].At(c, clock.Nearest) - want)
				sum, n = sum+e*e, n+1
			}
		}
		return math.Sqrt(sum / n)
	}
	if a, b := rms(all), rms(tree); a > 0.8*b {
		t.Errorf("error %.0f ns of all at once, %.0f along the tree", a, b)
	}
}

func TestResultDoesNotDependOnTheNumberOfProcessors(t *testing.T) {
	sc := scenario(10)
	sc.Hosts, sc.Topology, sc.Rate, sc.Span = 4, sim.Full, 4, 2*time.Minute
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	_, one, _, _ := joined(t, sc)
	runtime.GOMAXPROCS(4)
	_, four, _, _ := joined(t, sc)
	if !reflect.DeepEqual(one, four) {
		t.Error("curves differ between one processor and four")
	}
}

func BenchmarkPair(b *testing.B) {
	sc := sim.Environments()[0].Scenario
	sc.Span, sc.Wander, sc.Rate = time.Hour, 1e-9, 14
	p, _, err := sc.Generate()
	if err != nil {
		b.Fatal(err)
	}
	two := &pair.Problem{A: p.Clocks[0], B: p.Clocks[1], AB: pair.Messages{p.Channels[0].Messages}, BA: pair.Messages{p.Channels[1].Messages}}
	for b.Loop() {
		envelope.Pair(two)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(two.AB.Len()+two.BA.Len()), "ns/message")
}

// Over milliseconds no wander shows, and the least ones tried are stiffer than float64 can weigh.
func TestLinearClocksOfMillisecondsShowNoWander(t *testing.T) {
	for span := int64(60_000); span < 1_000_000_000; span *= 4 {
		p := &pair.Problem{A: trace.Clock{Granularity: 1, Last: clock.HostTime(span)}, B: trace.Clock{Granularity: 1, Last: clock.HostTime(span)}}
		var there, back []trace.Message
		for i := range int64(32) {
			at := clock.HostTime(i * span / 32)
			there = append(there, trace.Message{Sent: at, Received: at + 650 + clock.HostTime(64*(i*37%90))})
			back = append(back, trace.Message{Sent: at + 100, Received: at + 750 + clock.HostTime(64*(i*53%90))})
		}
		p.AB, p.BA = pair.Messages{there}, pair.Messages{back}
		s, ok := envelope.Pair(p)
		if !ok {
			t.Fatalf("over %d ns nothing is found", span)
		}
		if !(s.Gain < 6) {
			t.Errorf("over %d ns a wander of %g explains %g nats", span, s.Sigma, s.Gain)
		}
		for _, d := range s.Deviation {
			if span > 200_000 && !(d.Ns < 10_000) { // below, the greatest wander is too stiff as well
				t.Errorf("over %d ns: a deviation of %g ns at %d", span, d.Ns, d.Host)
			}
		}
	}
}
