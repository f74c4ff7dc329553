package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"meridian/align/envelope"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/sim"
)

var (
	accuracyClocks = []wandering{
		{"linear", 0, 0},
		{"thermal 1e-7", 0, 1e-7},
		{"walk 1e-9 + thermal 1e-7", 1e-9, 1e-7},
		{"walk 1e-8", 1e-8, 0},
	}
	accuracySpans = []time.Duration{2 * time.Minute, 30 * time.Minute, 4 * time.Hour}
)

// The methods compared, as indices.
const (
	byRegression = iota
	byBisector
	byCorridor
	byEnvelope
	methods
)

// accurate is what one trace gave.
type accurate struct {
	cell
	seed       uint64
	rms        [methods]float64 // by method, ns
	inversions [methods]int64   // beyond granularity
	smoothed   bool             // enough messages for the envelope
}

// ratio returns the envelope's error over the bisector's, 0 for no trace.
func (a *accurate) ratio() float64 {
	if a == nil {
		return 0
	}
	return a.rms[byEnvelope] / a.rms[byBisector]
}

func (a *accurate) String() string {
	if a == nil {
		return "none"
	}
	return fmt.Sprintf("%v, seed %d: envelope %.1f ns, bisector %.1f, corridor %.1f, regression %.1f",
		a.cell, a.seed, a.rms[byEnvelope], a.rms[byBisector], a.rms[byCorridor], a.rms[byRegression])
}

// cell is a kind of trace.
type cell struct {
	environment sim.Environment
	clocks      *wandering
	span        time.Duration
}

func (c cell) String() string {
	return fmt.Sprintf("%s, %s, %s", seconds(c.span), c.clocks.name, c.environment.Name)
}

// cells returns those that were asked for, long traces first, so that the workers end together.
func (s *study) cells() (all []cell) {
	for _, span := range slices.Backward(accuracySpans) {
		for i := range accuracyClocks {
			for _, e := range sim.Environments() {
				c := cell{e, &accuracyClocks[i], span}
				if strings.Contains(c.String(), s.only) {
					all = append(all, c)
				}
			}
		}
	}
	return all
}

func accuracy(s *study) error {
	cells := s.cells()
	if len(cells) == 0 {
		return fmt.Errorf("no kind of trace contains %q", s.only)
	}
	traces := make([]accurate, s.seeds)
	err := s.each(len(traces), func(i int) error {
		t := &traces[i]
		*t = accurate{cell: cells[i*len(cells)/len(traces)], seed: s.firstSeed + uint64(i)}
		scenario := t.environment.Scenario
		scenario.Span, scenario.Seed = t.span, t.seed
		scenario.Wander, scenario.Thermal = t.clocks.walk, t.clocks.thermal
		return t.measure(scenario)
	})
	if err != nil {
		return err
	}
	s.accuracyTable(traces)
	s.accuracyBars(traces)
	return nil
}

// measure estimates a trace by all methods.
func (a *accurate) measure(scenario sim.Scenario) error {
	w, err := simulate(scenario)
	if err != nil {
		return err
	}
	regression, err := pair.Regression(&w.problem, 100)
	if err != nil {
		return err
	}
	corridor, err := pair.WidestCorridor(&w.problem)
	if err != nil {
		return err
	}
	line, _ := bisector(&w.problem)
	curves := [methods]clock.PairCurve{regression.Map.Mid, line, corridor.Map.Mid, line}
	if e, ok := envelope.Pair(&w.problem); ok {
		curves[byEnvelope], a.smoothed = e.Curve, true
	}
	at := w.everywhere(2001)
	for i, c := range curves {
		a.rms[i], _ = rootMeanSquare(w.errors(c, at))
		a.inversions[i] = w.inversions(c)
	}
	return nil
}

// accuracyTable prints a line for each duration and clock.
func (s *study) accuracyTable(traces []accurate) {
	s.printf("%d traces, seeds %d to %d; geometric means of the RMS error, ns, half the asymmetry removed\n\n",
		len(traces), s.firstSeed, s.firstSeed+uint64(len(traces))-1)
	s.printf("%-6s  %-24s %6s  %10s %10s %10s %9s  %9s %7s  %s\n", "span", "clocks", "traces",
		"regression", "bisector", "corridor", "envelope", "env/bis", "worst", "inversions of envelope (traces inverted by bisector)")
	for _, span := range accuracySpans {
		for i := range accuracyClocks {
			clocks := &accuracyClocks[i]
			var rms [methods][]float64
			var ratios []float64
			inversions, inverted, worst := int64(0), 0, 0.0
			for k := range traces {
				t := &traces[k]
				if t.span != span || t.clocks != clocks {
					continue
				}
				for m := range rms {
					rms[m] = append(rms[m], t.rms[m])
				}
				ratios = append(ratios, t.ratio())
				worst = max(worst, t.ratio())
				inversions += t.inversions[byEnvelope]
				if t.inversions[byBisector] > 0 {
					inverted++
				}
			}
			if len(ratios) == 0 {
				continue
			}
			s.printf("%-6s  %-24s %6d  %10.1f %10.1f %10.1f %9.1f  %9.5f %7.4f  %d (%d)\n", seconds(span), clocks.name, len(ratios),
				geometric(rms[byRegression]), geometric(rms[byBisector]), geometric(rms[byCorridor]), geometric(rms[byEnvelope]), geometric(ratios), worst, inversions, inverted)
		}
	}
	s.printf("\n")
}

// accuracyBars holds the traces against what is promised.
func (s *study) accuracyBars(traces []accurate) {
	long := func(t *accurate) bool { return t.span >= 30*time.Minute }
	linear := func(t *accurate) bool { return t.clocks.walk == 0 && t.clocks.thermal == 0 }
	ratio := func(t *accurate) float64 { return t.ratio() }

	ratios, worst := pick(traces, func(t *accurate) bool { return long(t) && !linear(t) }, ratio)
	bar := func(met bool, format string, a ...any) {
		if len(ratios) > 0 {
			s.bar(met, format, a...)
		}
	}
	bar(geometric(ratios) <= 0.01, "clocks that are not linear, 30 min and more: envelope/bisector %.5f (at most 0.01)", geometric(ratios))
	bar(worst.ratio() <= 0.1, "the worst of these traces %.4f (at most 0.1): %v", worst.ratio(), worst)
	ratios, worst = pick(traces, func(t *accurate) bool { return !long(t) }, ratio)
	bar(geometric(ratios) <= 0.15, "2 min, all clocks: %.4f (at most 0.15); worst %.3f: %v", geometric(ratios), worst.ratio(), worst)
	ratios, worst = pick(traces, func(t *accurate) bool { return long(t) && linear(t) }, ratio)
	bar(geometric(ratios) <= 0.15, "linear clocks, 30 min and more: %.4f (at most 0.15); worst %.3f: %v", geometric(ratios), worst.ratio(), worst)
	over, worst := pick(traces, func(t *accurate) bool {
		return long(t) && linear(t) && t.rms[byEnvelope] > max(t.rms[byBisector], 1000)
	}, func(t *accurate) float64 { return t.rms[byEnvelope] })
	bar(len(over) == 0, "of these, above both the bisector and 1 µs: %d traces", len(over))
	if worst != nil {
		s.printf("      the worst: %v\n", worst)
	}
	beyond, worst := pick(traces, func(t *accurate) bool { return linear(t) && t.ratio() > 1 },
		func(t *accurate) float64 { return t.rms[byEnvelope] })
	if worst != nil {
		s.printf("      linear clocks of any span, worse than the bisector: %d traces, the largest error: %v\n", len(beyond), worst)
	}
	inversions, few := int64(0), 0
	for i := range traces {
		inversions += traces[i].inversions[byEnvelope]
		if !traces[i].smoothed {
			few++
		}
	}
	s.bar(inversions == 0, "inversions beyond granularity: %d", inversions)
	if few > 0 {
		s.printf("      %d traces had too few messages for the envelope and count with the bisector\n", few)
	}
}

// pick returns the values of the traces that are wanted, and the trace of the greatest, nil of none.
func pick(traces []accurate, wanted func(*accurate) bool, value func(*accurate) float64) (values []float64, worst *accurate) {
	most := math.Inf(-1)
	for i := range traces {
		t := &traces[i]
		if !wanted(t) {
			continue
		}
		v := value(t)
		values = append(values, v)
		if v > most {
			most, worst = v, t
		}
	}
	return values, worst
}
