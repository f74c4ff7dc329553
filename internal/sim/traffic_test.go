package sim

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"meridian/clock"
)

var start = clock.TimelineTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixNano())

func sample(seed uint64) Traffic {
	slow := Delay{Min: 300 * time.Microsecond, Jitter: 50 * time.Microsecond}
	return Traffic{
		Hosts: []Clock{
			{},
			{Origin: start, OffsetNs: -7e9, SkewPPM: 40},
			{Origin: start, OffsetNs: 2e6, Wave: Wave{AmplitudePPM: 5, Period: time.Minute}},
		},
		Links: []Link{
			{From: 0, To: 1, Period: 10 * time.Millisecond, Delay: Delay{Min: 100 * time.Microsecond,
				Jitter: 30 * time.Microsecond}, Back: &slow},
			{From: 2, To: 1, Period: 20 * time.Millisecond, Delay: Delay{Min: 50 * time.Microsecond,
				Jitter: 30 * time.Microsecond, Distribution: HeavyTail}},
		},
		Start: start, Span: time.Minute, Seed: seed,
	}
}

func TestEqualSeedsGiveEqualTraffic(t *testing.T) {
	a, _ := sample(1).Generate()
	b, _ := sample(1).Generate()
	c, _ := sample(2).Generate()
	if !reflect.DeepEqual(a, b) {
		t.Error("one seed gave two traffics")
	}
	if reflect.DeepEqual(a, c) {
		t.Error("two seeds gave one traffic")
	}
}

func TestEveryMessageTakesAtLeastTheMinimumInTruth(t *testing.T) {
	traffic := sample(3)
	problem, truth := traffic.Generate()
	minima := map[[2]int]int64{{0, 1}: 100_000, {1, 0}: 300_000, {2, 1}: 50_000}
	if len(problem.Channels) != len(minima) {
		t.Fatalf("%d channels", len(problem.Channels))
	}
	for _, c := range problem.Channels {
		for _, m := range c.Messages {
			delay := int64(truth(c.To, m.Received) - truth(c.From, m.Sent))
			if delay < minima[[2]int{c.From, c.To}]-1 {
				t.Fatalf("%d to %d in %d ns", c.From, c.To, delay)
			}
			if got := traffic.On(0, c.To, m.Received); got != truth(c.To, m.Received) {
				t.Fatalf("a perfect reference shows %d at the true time %d", got, truth(c.To, m.Received))
			}
		}
	}
}

func TestClocksKnowTheirExtentAndEvents(t *testing.T) {
	problem, _ := sample(4).Generate()
	stamps := make([][]clock.HostTime, len(problem.Clocks))
	for _, c := range problem.Channels {
		for _, m := range c.Messages {
			stamps[c.From] = append(stamps[c.From], m.Sent)
			stamps[c.To] = append(stamps[c.To], m.Received)
		}
	}
	for i, c := range problem.Clocks {
		if c.First != slices.Min(stamps[i]) || c.Last != slices.Max(stamps[i]) || c.Events != int64(len(stamps[i])) {
			t.Errorf("%+v has %d stamps from %d to %d", c, len(stamps[i]), slices.Min(stamps[i]), slices.Max(stamps[i]))
		}
	}
}

func TestExchangesAndPeriodsComeAsAsked(t *testing.T) {
	problem, _ := sample(5).Generate()
	there, back, other := problem.Channels[0], problem.Channels[1], problem.Channels[2]
	if len(there.Messages) != len(back.Messages) {
		t.Errorf("%d messages, %d answers", len(there.Messages), len(back.Messages))
	}
	for i, m := range there.Messages {
		if back.Messages[i].Sent != m.Received {
			t.Fatalf("message received at %d, answered at %d", m.Received, back.Messages[i].Sent)
		}
	}
	// Poisson counts: 6000 and 3000 expected, four standard deviations allowed.
	if n := len(there.Messages); math.Abs(float64(n)-6000) > 4*math.Sqrt(6000) {
		t.Errorf("%d messages in 60 s at 10 ms", n)
	}
	if n := len(other.Messages); math.Abs(float64(n)-3000) > 4*math.Sqrt(3000) {
		t.Errorf("%d messages in 60 s at 20 ms", n)
	}
}

func TestDelaysFollowTheirDistribution(t *testing.T) {
	const n = 1_000_000
	for _, test := range []struct {
		shape              Distribution
		median, quantile99 float64 // of the random part, in units of its mean
	}{
		{Exponential, math.Ln2, math.Log(100)},
		{HeavyTail, (tailIndex - 1) * (math.Pow(0.5, -1/tailIndex) - 1), (tailIndex - 1) * (math.Pow(0.01, -1/tailIndex) - 1)},
		{Gamma, 2.674060 / 3, 8.405947 / 3}, // quantiles of the gamma distribution of shape 3 from tables
		{Weibull, weibullScale * math.Pow(math.Ln2, 1/weibullShape), weibullScale * math.Pow(math.Log(100), 1/weibullShape)},
		{Pareto, (tailIndex - 1) * (math.Pow(0.5, -1/tailIndex) - 1), (tailIndex - 1) * (math.Pow(0.01, -1/tailIndex) - 1)},
	} {
		random := rand.New(rand.NewPCG(6, 6))
		d := Delay{Min: time.Millisecond, Jitter: time.Millisecond, Distribution: test.shape}
		draws := make([]float64, n)
		for i := range draws {
			draws[i] = float64(d.Draw(random)-d.Min) / float64(d.Jitter)
		}
		slices.Sort(draws)
		if draws[0] < 0 {
			t.Errorf("shape %d: a delay below the minimum", test.shape)
		}
		if got := draws[n/2]; math.Abs(got-test.median) > 0.02 {
			t.Errorf("shape %d: median %g, want %g", test.shape, got, test.median)
		}
		if got := draws[n*99/100]; math.Abs(got/test.quantile99-1) > 0.05 {
			t.Errorf("shape %d: 99%% quantile %g, want %g", test.shape, got, test.quantile99)
		}
	}
}

func TestShapesHaveTheMeanAskedFor(t *testing.T) {
	const n = 1_000_000
	for _, shape := range []Distribution{Exponential, Gamma, Weibull} { // the mean of the others' tails comes too slowly
		random := rand.New(rand.NewPCG(7, 7))
		d := Delay{Jitter: time.Millisecond, Distribution: shape}
		var sum float64
		for range n {
			sum += float64(d.Draw(random))
		}
		if got := sum / n / 1e6; math.Abs(got-1) > 0.012 {
			t.Errorf("%v: mean %g of the jitter", shape, got)
		}
	}
}

func TestParetoQueuesAreFullAt50Milliseconds(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	d := Delay{Min: time.Millisecond, Jitter: 10 * time.Millisecond, Distribution: Pareto}
	var longest time.Duration
	for range 100_000 {
		longest = max(longest, d.Draw(random))
	}
	if longest != 51*time.Millisecond {
		t.Errorf("longest delay %v", longest)
	}
}

func TestGranularityCutsStampsDown(t *testing.T) {
	fine := sample(7)
	coarse := fine
	coarse.Granularity = 1000
	a, _ := fine.Generate()
	b, _ := coarse.Generate()
	for i, c := range a.Channels {
		for j, m := range c.Messages {
			if got := b.Channels[i].Messages[j]; got.Sent != clock.HostTime(int64(m.Sent)/1000*1000) || got.Received != clock.HostTime(int64(m.Received)/1000*1000) {
				t.Fatalf("%+v became %+v", m, got)
			}
		}
	}
	if b.Clocks[0].Granularity != 1000 {
		t.Errorf("granularity %d", b.Clocks[0].Granularity)
	}
}
