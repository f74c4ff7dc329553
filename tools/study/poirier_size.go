package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	"meridian/align"
	"meridian/align/envelope"
	"meridian/align/network"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/trace"
)

// hullPoints is table 3.6 and figure 3.9: time and corners by the number of events, two a message.
func (s *study) hullPoints() error {
	s.printf("\nTable 3.6 and figure 3.9: 960 s, Gigabit, linear clocks; time of one core, least of %d runs\n", s.seeds)
	s.printf("%10s %10s %8s %9s  %9s %9s %9s %11s\n", "messages", "events", "corners", "ratio", "hulls ms", "bounds ms", "ns/event", "envelope s")
	for _, n := range []float64{7690, 14295, 26926, 54019, 108530, 215714, 430429, 860032, 1718787, 3441245, 9e6} {
		if s.small && n > 1e6 {
			break
		}
		const span = 960 * time.Second
		w, err := simulate(sim.Scenario{
			Span: span, Rate: n / 2 / span.Seconds(), Jitter: ethernets[1].queue, Seed: s.firstSeed,
			MinDelay: [2]time.Duration{ethernets[1].min, 2 * ethernets[1].min}, Asymmetric: true,
			MaxOffset: time.Second, MaxSkewPPM: 50,
		})
		if err != nil {
			return err
		}
		var e pair.Estimate
		hulls := s.least(func() { e = pair.Hull(&w.problem) }, 1)
		bounds := s.least(func() { e.Error() }, 1)
		smooth := s.least(func() { envelope.Pair(&w.problem) }, 1)
		count := w.problem.AB.Len() + w.problem.BA.Len()
		points := corners(&w.problem, e.Map.Mid)
		s.printf("%10d %10d %8d %8.4f%%  %9.2f %9.3f %9.2f %11.3f\n", count, 2*count, points, 100*float64(points)/float64(count),
			hulls.cores.Seconds()*1e3, bounds.cores.Seconds()*1e3, hulls.cores.Seconds()*1e9/float64(2*count), smooth.cores.Seconds())
	}
	return nil
}

// corners counts the corners of both hulls, over a line so near to them that float64 decides as the integers would.
func corners(p *pair.Problem, line clock.PairCurve) int {
	type point struct{ x, y float64 }
	hull := func(points []point) int {
		slices.SortFunc(points, func(a, b point) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
		var out []point
		for _, q := range points {
			if n := len(out); n > 0 && out[n-1].x == q.x {
				continue
			}
			for n := len(out); n > 1 && (out[n-1].x-out[n-2].x)*(q.y-out[n-2].y) <= (q.x-out[n-2].x)*(out[n-1].y-out[n-2].y); n-- {
				out = out[:n-1]
			}
			out = append(out, q)
		}
		return len(out)
	}
	var ceiling, floor []point
	add := func(to *[]point, host, other clock.HostTime, sign int64) {
		*to = append(*to, point{float64(host - epoch), float64(sign * int64(other-line.At(host, clock.Nearest)))})
	}
	for m := range p.AB.All() {
		add(&ceiling, m.Sent, m.Received, 1)
	}
	for m := range p.BA.All() {
		add(&floor, m.Received, m.Sent, -1)
	}
	return hull(ceiling) + hull(floor)
}

// fullGraph aligns 64 hosts of which every two talk, by every way to carry the estimates of pairs over a network.
func (s *study) fullGraph() error {
	const hosts = 64
	p, truth, err := sim.Scenario{
		Hosts: hosts, Topology: sim.Full, Start: epoch, Span: 10 * time.Minute, Rate: 0.5, Jitter: ethernets[1].queue,
		MinDelay: [2]time.Duration{ethernets[1].min, 2 * ethernets[1].min}, Asymmetric: true,
		MaxOffset: time.Second, MaxSkewPPM: 50, Seed: s.firstSeed,
	}.Generate()
	if err != nil {
		return err
	}
	messages := 0
	for _, c := range p.Channels {
		messages += len(c.Messages)
	}
	s.printf("\nFull graph of %d linear clocks, %d pairs, %d messages in 10 min; one run\n",
		hosts, len(p.Channels)/2, messages)
	s.printf("%-10s %-16s %9s %9s %11s %10s\n", "method", "network", "RMS µs", "max µs", "bound µs", "seconds")
	if s.small {
		return nil
	}
	for _, strategy := range network.Strategies() {
		if err := s.fullGraphRow(&p, truth, "hull", strategy); err != nil {
			return err
		}
	}
	// The envelope smooths every pair anew for each strategy, so only those are shown that differ in kind.
	for _, strategy := range strategies {
		if err := s.fullGraphRow(&p, truth, "envelope", strategy); err != nil {
			return err
		}
	}
	return nil
}

func (s *study) fullGraphRow(p *trace.Problem, truth *sim.Truth, method, strategy string) error {
	start := time.Now()
	solution, err := align.Solve(context.Background(), p, align.Options{Method: method, Network: strategy})
	if err != nil {
		return err
	}
	took := time.Since(start)
	most, all, _ := against(solution, truth)
	rms, _ := rootMeanSquare(all)
	bound := 0.0
	for _, h := range solution.Hosts {
		bound += float64(h.Spread.Mean) / 1e3 / float64(len(solution.Hosts)-1) // the reference's own is nothing
	}
	s.printf("%-10s %-16s %9.3f %9.3f %11.3f %10.2f\n", method, solution.Network, rms/1e3, most/1e3, bound, took.Seconds())
	return nil
}
