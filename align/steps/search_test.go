package steps

import (
	"math"
	"testing"
	"time"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/sim"
)

// simulatedPair is two hosts' messages as a pair.
func simulatedPair(t testing.TB, s sim.Scenario) *pair.Problem {
	t.Helper()
	p, _, err := s.Generate()
	if err != nil {
		t.Fatal(err)
	}
	q := &pair.Problem{A: p.Clocks[0], B: p.Clocks[1]}
	for _, c := range p.Channels {
		if c.From == 0 {
			q.AB = append(q.AB, c.Messages)
		} else {
			q.BA = append(q.BA, c.Messages)
		}
	}
	return q
}

// The search runs only for messages that contradict each other, but it must not depend on that.
func TestSearchFindsNoStepInClocksThatWereNotSet(t *testing.T) {
	for seed := range uint64(40) {
		p := simulatedPair(t, sim.Scenario{
			Span: 10 * time.Minute, Rate: []float64{0.1, 1, 5}[seed%3], Jitter: 50 * time.Microsecond, Congested: seed%2 == 0,
			Traffic: []sim.Pattern{sim.Periodic, sim.Bursty, sim.RequestResponse, sim.OneSided}[seed%4], Seed: seed,
			MinDelay: [2]time.Duration{10 * time.Microsecond, time.Millisecond}, MaxOffset: time.Hour,
			MaxSkewPPM: []float64{50, 4000}[seed/3%2], Wander: math.Pow(10, -7-float64(seed%3)), Thermal: 1e-6, ThermalPeriod: time.Minute,
			Granularity: []int64{1, 1_000_000}[seed/5%2],
		})
		if p.AB.Len() == 0 || p.BA.Len() == 0 {
			continue
		}
		for _, alongB := range []bool{false, true} {
			if v, ok := partitionAlong(p, alongB, rateSlacks); !ok || v.cost() > 0 {
				t.Errorf("seed %d, along b %v: %+v", seed, alongB, v)
			}
		}
	}
}

func BenchmarkPartition(b *testing.B) {
	start := clock.TimelineTime(1_790_000_000_000_000_000)
	p := simulatedPair(b, sim.Scenario{
		Start: start, Span: 1000 * time.Second, Rate: 500, Jitter: 20 * time.Microsecond, MaxSkewPPM: 50, Wander: 1e-9, Seed: 1,
		Steps: []sim.HostStep{{Host: 1, Step: sim.Step{At: start + 500e9, By: -1e9}}},
	})
	for b.Loop() {
		if v, _ := partitionOf(p); v == nil || len(v.cuts) != 1 {
			b.Fatal("no step")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(p.AB.Len()+p.BA.Len()), "ns/message")
}
