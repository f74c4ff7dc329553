package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"meridian/align"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/trace"
)

// net is a row of the table: a network of hosts.
type net struct {
	hosts    int
	topology sim.Topology
	degree   int
	rate     float64 // messages a second each way of each link
}

// scenario returns the network's scenario: half an hour, clocks that wander by 1e-9 and swing by 1e-7, congestion.
func (n net) scenario(asymmetric bool, seed uint64) sim.Scenario {
	return sim.Scenario{
		Hosts: n.hosts, Topology: n.topology, Degree: n.degree, Rate: n.rate, Asymmetric: asymmetric, Seed: seed,
		Start: epoch, Span: 30 * time.Minute, Congested: true, Jitter: 20 * time.Microsecond,
		MinDelay:  [2]time.Duration{10 * time.Microsecond, 50 * time.Microsecond},
		MaxOffset: time.Second, MaxSkewPPM: 50, Wander: 1e-9, Thermal: 1e-7, ThermalPeriod: 20 * time.Minute,
	}
}

func (n net) String() string { return fmt.Sprintf("%d %v", n.hosts, n.topology) }

// solved is what one strategy made of one trace.
type solved struct {
	rms, centred, most float64 // against the first host, ns; centred: each host's mean error removed
	inversions         int64
	took               time.Duration
	strategy           string
}

// strategies are compared on every network; the empty one is the default of the product.
var strategies = []string{"clement", "least-squares", "joint"}

func networks(s *study) error {
	s.printf("30 min, walk 1e-9 + thermal 1e-7, congestion; %d seeds a row from %d; geometric means over the seeds, errors against\n", s.seeds, s.firstSeed)
	s.printf("the first host in ns, the asymmetry left in; centred: without each host's mean error; s: wall time of align.Solve\n\n")
	s.printf("%-10s %-5s %8s  %-14s %9s %9s %9s %8s %7s\n", "hosts", "ways", "messages", "strategy", "RMS", "centred", "max", "inverted", "s")
	var ratios []float64
	for _, n := range []net{
		{8, sim.Ring, 0, 10}, {8, sim.Star, 0, 10}, {8, sim.Full, 0, 2.5},
		{32, sim.Ring, 0, 5}, {32, sim.Star, 0, 5}, {32, sim.Full, 0, 0.5},
	} {
		if s.small && n.hosts > 8 {
			continue
		}
		for _, asymmetric := range []bool{false, true} {
			if !s.wants(n, asymmetric) {
				continue
			}
			results, err := s.solveAll(n, asymmetric, strategies)
			if err != nil {
				return err
			}
			if n.hosts == 32 && n.topology == sim.Full && !asymmetric {
				for i := range results[0] {
					ratios = append(ratios, results[2][i].rms/results[0][i].rms)
				}
			}
		}
	}
	large := net{256, sim.Random, 8, 0.5}
	took := -1.0
	if !s.small && s.wants(large, false) {
		once := *s
		once.seeds = 1
		results, err := once.solveAll(large, false, []string{""})
		if err != nil {
			return err
		}
		took = results[0][0].took.Seconds()
	}
	s.printf("\n")
	if len(ratios) > 0 {
		s.bar(geometric(ratios) <= 0.25, "32 hosts, full: joint over tree %.3f (at most 0.25), worst of %d seeds %.3f", geometric(ratios), len(ratios), slices.Max(ratios))
	}
	if took >= 0 {
		s.bar(took < 60, "256 hosts, random of degree 8: %.1f s (under 60)", took)
	}
	return nil
}

// wants says whether a row was asked for.
func (s *study) wants(n net, asymmetric bool) bool {
	return strings.Contains(n.String()+" "+ways(asymmetric), s.only)
}

func ways(asymmetric bool) string {
	if asymmetric {
		return "apart"
	}
	return "alike"
}

// solveAll aligns a network's traces by some strategies, and prints a line for each.
func (s *study) solveAll(n net, asymmetric bool, strategies []string) ([][]solved, error) {
	results := make([][]solved, len(strategies))
	messages := 0
	for seed := range s.seeds {
		p, truth, err := n.scenario(asymmetric, s.firstSeed+uint64(seed)).Generate()
		if err != nil {
			return nil, err
		}
		messages = 0
		for _, c := range p.Channels {
			messages += len(c.Messages)
		}
		for i, strategy := range strategies {
			r, err := solve(&p, truth, strategy)
			if err != nil {
				return nil, fmt.Errorf("%v, seed %d, %s: %w", n, s.firstSeed+uint64(seed), strategy, err)
			}
			results[i] = append(results[i], r)
		}
	}
	for i, strategy := range strategies {
		var rms, centred, most, took []float64
		inversions := int64(0)
		for _, r := range results[i] {
			rms, centred, most = append(rms, r.rms), append(centred, r.centred), append(most, r.most)
			took = append(took, r.took.Seconds())
			inversions += r.inversions
		}
		if strategy == "" {
			strategy = "(" + results[i][0].strategy + ")"
		}
		s.printf("%-10v %-5s %8d  %-14s %9.1f %9.1f %9.1f %8d %7.2f\n", n, ways(asymmetric), messages, strategy,
			geometric(rms), geometric(centred), geometric(most), inversions, geometric(took))
	}
	return results, nil
}

// solve aligns a trace and holds it against the truth.
func solve(p *trace.Problem, truth *sim.Truth, strategy string) (solved, error) {
	start := time.Now()
	solution, err := align.Solve(context.Background(), p, align.Options{Network: strategy})
	r := solved{took: time.Since(start)}
	if err != nil {
		return r, err
	}
	if len(solution.References) != 1 {
		return r, fmt.Errorf("%d components, want 1", len(solution.References))
	}
	r.inversions, r.strategy = solution.Quality.BeyondGranularity, solution.Network
	var all, rest []float64
	r.most, all, rest = against(solution, truth)
	r.rms, _ = rootMeanSquare(all)
	r.centred, _ = rootMeanSquare(rest)
	return r, nil
}

// against returns the errors of a solution, those of every host against the first at even instants of true time, ns; the
// greatest, all, and all with each host's mean removed.
func against(solution *align.Solution, truth *sim.Truth) (most float64, all, rest []float64) {
	const instants = 1001
	span := truth.Hosts[0].Clock
	from, to := clock.TimelineTime(epoch), span[len(span)-1].Y-clock.TimelineTime(time.Second)
	var first []float64
	for host := range truth.Hosts {
		back := truth.Hosts[host].Clock.Inverse()
		errs := make([]float64, instants)
		for i := range errs {
			t := from + clock.TimelineTime(clock.MulDiv(int64(to-from), int64(i), instants-1, clock.Nearest))
			errs[i] = float64(solution.Maps[host].At(back.At(t, clock.Nearest)) - from)
		}
		if host == 0 {
			first = errs
			continue
		}
		for i := range errs {
			errs[i] -= first[i]
		}
		m := mean(errs)
		for _, e := range errs {
			all, rest = append(all, e), append(rest, e-m)
			most = max(most, math.Abs(e))
		}
	}
	return most, all, rest
}
