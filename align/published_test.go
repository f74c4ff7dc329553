package align_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"meridian/align"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/sim"
)

// TestPublishedEstimatesAreLeftAsPublished compares the clock map of two hosts with what the estimator says of their messages,
// knot by knot. One way is congested, so that most methods put the clock outside of its bounds.
func TestPublishedEstimatesAreLeftAsPublished(t *testing.T) {
	p, _, err := sim.Scenario{
		Hosts: 2, Start: epoch, Span: 2 * time.Minute, Rate: 20, Traffic: sim.RequestResponse, Jitter: 300 * time.Microsecond,
		MinDelay: [2]time.Duration{20e3, 30e3}, MaxOffset: time.Second, MaxSkewPPM: 40, Wander: 1e-9, Seed: 3, Congested: true, Asymmetric: true,
	}.Generate()
	if err != nil {
		t.Fatal(err)
	}
	problem := &pair.Problem{A: p.Clocks[0], B: p.Clocks[1]}
	for _, c := range p.Channels {
		if c.From == 0 {
			problem.AB = append(problem.AB, c.Messages)
		} else {
			problem.BA = append(problem.BA, c.Messages)
		}
	}
	left := 0
	for name, published := range map[string]func(*pair.Problem) (pair.Estimate, error){
		"hull":                func(p *pair.Problem) (pair.Estimate, error) { return pair.Hull(p), nil },
		"corridor":            pair.WidestCorridor,
		"regression":          func(p *pair.Problem) (pair.Estimate, error) { return pair.Regression(p, 100) },
		"regression-filtered": func(p *pair.Problem) (pair.Estimate, error) { return pair.Regression(p, 90) },
		"lts":                 func(p *pair.Problem) (pair.Estimate, error) { return pair.LeastTrimmedSquares(p, 0) },
		"two-point":           pair.TwoPoint,
		"interval":            func(p *pair.Problem) (pair.Estimate, error) { return pair.Interval(p, 0) },
		"cristian":            func(p *pair.Problem) (pair.Estimate, error) { return pair.Cristian(p, pair.CristianOptions{}) },
		"ntp":                 pair.NTP,
	} {
		want, err := published(problem)
		if err != nil {
			t.Fatal(name, err)
		}
		s, err := align.Solve(context.Background(), &p, align.Options{Method: name, Reference: p.Clocks[1].Name})
		if err != nil {
			t.Fatal(name, err)
		}
		got := s.Maps[0].Mid
		for _, k := range slices.Concat(want.Map.Mid, clock.PairCurve{{X: p.Clocks[0].First}, {X: p.Clocks[0].Last}}) {
			if at, as := int64(got.At(k.X, clock.Nearest)), int64(want.Map.At(k.X)); at != as {
				t.Errorf("%s: the clock shows %d at %d where the method as published says %d", name, at, k.X, as)
				break
			}
		}
		if s.Hosts[0].Outside.Events > 0 {
			left++
		}
		if low, high, lowOK, highOK := s.Maps[0].Bounds(p.Clocks[0].Last); name != "hull" && (!lowOK || !highOK || low > high) {
			t.Errorf("%s: bounds [%d %d], %v and %v", name, low, high, lowOK, highOK)
		}
	}
	if left < 4 {
		t.Errorf("%d methods leave the bounds: this world tells nothing", left)
	}
}
