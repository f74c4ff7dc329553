package main

import (
	"math"
	"math/rand/v2"
	"time"

	"meridian/align/bound"
	"meridian/align/envelope"
	"meridian/clock"
	"meridian/internal/sim"
)

// calibrated is what one random trace showed.
type calibrated struct {
	z              []float64 // |error| over the stated deviation
	within         float64   // part of them up to 2
	inversions     int64     // beyond granularity
	inside, smooth bool
	name           string
}

// randomScenario draws an environment and everything in it.
func randomScenario(seed uint64) (sim.Scenario, string) {
	r := rand.New(rand.NewPCG(seed, 0))
	environments := sim.Environments()
	e := environments[r.IntN(len(environments))]
	c := e.Scenario
	if r.IntN(5) > 0 {
		c.Wander = math.Pow(10, -10.5+2.5*r.Float64())
	}
	if r.IntN(2) == 0 {
		c.Thermal = 2e-7 * r.Float64()
	}
	c.Span = time.Duration(120e9 * math.Pow(15, r.Float64()))
	c.Rate = 5 * math.Pow(10, r.Float64())
	c.Jitter = time.Duration(1e3 * math.Pow(50, r.Float64()))
	c.MinDelay[0] = time.Duration(1e3 + 20e3*r.Float64())
	c.MinDelay[1] = c.MinDelay[0] + time.Duration(40e3*r.Float64())
	c.Seed = seed
	return c, e.Name
}

func calibration(s *study) error {
	traces := make([]calibrated, s.seeds)
	err := s.each(len(traces), func(i int) error {
		scenario, name := randomScenario(s.firstSeed + uint64(i))
		w, err := simulate(scenario)
		if err != nil {
			return err
		}
		traces[i].name = name
		e, ok := envelope.Pair(&w.problem)
		if ok {
			traces[i].measure(w, e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.printf("%d random traces, seeds %d to %d: environment, wander 0 or 3e-11 to 1e-8, thermal 0 or up to 2e-7, 2 to 30 min,\n",
		len(traces), s.firstSeed, s.firstSeed+uint64(len(traces))-1)
	s.printf("5 to 50 messages a second, jitter 1 to 50 µs, minima 1 to 61 µs; each trace weighs the same\n\n")
	s.printf("%-12s %6s %10s %6s %6s %6s %6s\n", "environment", "traces", "within 2sd", "p50", "p68", "p95", "p99")
	var share float64
	for _, e := range append(sim.Environments(), sim.Environment{Name: "all"}) {
		var all []weighted
		var within []float64
		for i := range traces {
			t := &traces[i]
			if !t.smooth || e.Name != t.name && e.Name != "all" {
				continue
			}
			for _, z := range t.z {
				all = append(all, weighted{z, 1 / float64(len(t.z))})
			}
			within = append(within, t.within)
		}
		if len(within) == 0 {
			continue
		}
		share = 100 * mean(within)
		q := weightedQuantiles(all, 0.50, 0.68, 0.95, 0.99)
		s.printf("%-12s %6d %9.1f%% %6.2f %6.2f %6.2f %6.2f\n", e.Name, len(within), share, q[0], q[1], q[2], q[3])
	}
	smooth, inside, inverted := 0, 0, 0
	for i := range traces {
		t := &traces[i]
		if t.smooth {
			smooth++
		}
		if t.inside {
			inside++
		}
		if t.inversions > 0 {
			inverted++
			s.printf("inverted: %d messages of seed %d, %s\n", t.inversions, s.firstSeed+uint64(i), t.name)
		}
		if t.smooth && !t.inside {
			s.printf("outside its strict bounds: seed %d, %s\n", s.firstSeed+uint64(i), t.name)
		}
	}
	s.printf("\n%d of %d traces had enough messages for a curve\n", smooth, len(traces))
	s.bar(math.Abs(share-95) <= 2, "%.1f%% of the truths within two deviations (95 ± 2)", share)
	s.bar(inverted == 0, "traces with inversions beyond granularity: %d", inverted)
	s.bar(inside == smooth, "estimate inside its own strict bounds under the stated wander: %d of %d", inside, smooth)
	return nil
}

// measure holds an estimate against the truth.
func (t *calibrated) measure(w *world, e *envelope.Smoothed) {
	first, last := clock.TimelineTime(epoch), epoch+clock.TimelineTime(w.scenario.Span)
	for _, d := range e.Deviation {
		at := w.truth.Hosts[0].Clock.At(d.Host, clock.Nearest)
		if at < first || at > last || d.Ns <= 0 {
			continue
		}
		z := math.Abs(w.errors(e.Curve, []reading{{d.Host, w.hosts[1].At(at, clock.Nearest)}})[0]) / d.Ns
		t.z = append(t.z, z)
		if z <= 2 {
			t.within++
		}
	}
	if len(t.z) == 0 {
		return
	}
	t.smooth = true
	t.within /= float64(len(t.z))
	t.inversions = w.inversions(e.Curve)
	a := assumption(&w.scenario)
	c := bound.New(&w.problem, a)
	t.inside = true
	for _, r := range w.amongMessages(51) {
		low, high, _, _, ok := c.At(r.a)
		estimate := e.Curve.At(r.a, clock.Nearest)
		t.inside = t.inside && ok && low-truthRounding <= estimate && estimate <= high+truthRounding
	}
}
