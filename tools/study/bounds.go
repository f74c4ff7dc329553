package main

import (
	"time"

	"meridian/align/bound"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/sim"
)

// bounded is what one trace showed of one kind of bounds.
type bounded struct {
	feasible, holds bool
	widths          []float64 // over the least round trip
}

var boundKinds = []string{"linear hull", "stated wander", "default"}

// truthRounding is what the simulation's truth is known to, ns.
const truthRounding = 1

func bounds(s *study) error {
	const instants = 101
	environments := sim.Environments()
	s.printf("%d traces a clock, seeds from %d, 10 min, 10 messages a second each way, %d instants a trace\n", s.seeds, s.firstSeed, instants)
	s.printf("default: %g ppb/s, epsilon %g ns; widths over the true least round trip\n\n", bound.Default.Wander, bound.Default.Epsilon)
	s.printf("%-24s %-14s %9s %9s %10s %8s %8s\n", "clocks", "bounds", "ppb/s", "feasible", "hold truth", "median", "p95")
	allHold, widest := true, 0.0
	for i, clocks := range []wandering{
		{"linear", 0, 0}, {"thermal 1e-7", 0, 1e-7}, {"walk 1e-9", 1e-9, 0}, {"walk 1e-9 + thermal 1e-7", 1e-9, 1e-7}, {"walk 1e-8", 1e-8, 0},
	} {
		results := make([][3]bounded, s.seeds)
		scenario := func(n int) sim.Scenario {
			c := environments[n%len(environments)].Scenario
			c.Span, c.Rate, c.Wander, c.Thermal = 10*time.Minute, 10, clocks.walk, clocks.thermal
			c.Seed = s.firstSeed + uint64(i*s.seeds+n)
			return c
		}
		first := scenario(0)
		stated := assumption(&first)
		err := s.each(s.seeds, func(n int) error {
			w, err := simulate(scenario(n))
			if err != nil {
				return err
			}
			at := w.amongMessages(instants)
			results[n] = [3]bounded{w.linearBounds(at), w.corridorBounds(at, stated), w.corridorBounds(at, bound.Default)}
			return nil
		})
		if err != nil {
			return err
		}
		for k, kind := range boundKinds {
			feasible, holds := 0, 0
			var widths []float64
			for n := range results {
				r := &results[n][k]
				if r.feasible {
					feasible++
					widths = append(widths, r.widths...)
				}
				if r.holds {
					holds++
				}
			}
			wander := []float64{0, stated.Wander, bound.Default.Wander}[k]
			median := quantile(widths, 0.5)
			part := 100 / float64(s.seeds)
			s.printf("%-24s %-14s %9.3g %8.1f%% %9.1f%% %8.3f %8.3f\n", clocks.name, kind, wander,
				float64(feasible)*part, float64(holds)*part, median, quantile(widths, 0.95))
			if k == 1 {
				allHold = allHold && holds == s.seeds
				widest = max(widest, median)
			}
		}
	}
	s.printf("\n")
	s.bar(allHold, "stated wander: the truth inside in all traces of every clock")
	s.bar(widest <= 1.1, "stated wander: median width %.3f of the least round trip at most (1.1)", widest)
	return nil
}

// linearBounds are those of the hull, for which every clock is linear.
func (w *world) linearBounds(at []reading) bounded {
	e := pair.Hull(&w.problem)
	b := bounded{feasible: e.Fit == pair.Exact, holds: e.Fit == pair.Exact}
	if !b.feasible {
		return b
	}
	for _, r := range at {
		low, high, _, _ := e.Map.Bounds(r.a)
		b.add(w, r, low, high)
	}
	return b
}

// corridorBounds are those under an assumption.
func (w *world) corridorBounds(at []reading, a bound.Assumption) bounded {
	c := bound.New(&w.problem, a)
	b := bounded{feasible: true, holds: true}
	for _, r := range at {
		low, high, lowOK, highOK, ok := c.At(r.a)
		if !ok || !lowOK || !highOK {
			return bounded{}
		}
		b.add(w, r, low, high)
	}
	return b
}

func (b *bounded) add(w *world, r reading, low, high clock.HostTime) {
	b.holds = b.holds && low-truthRounding <= r.b && r.b <= high+truthRounding
	b.widths = append(b.widths, float64(high-low)/w.roundTrip)
}
