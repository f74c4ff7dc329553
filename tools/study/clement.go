package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"meridian/align/envelope"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/trace"
)

// tested is one experiment of Clément and Dagenais (2009): a client asks and a server answers at once. Delays are those
// of their Fast Ethernet: 42 µs at least, and some 2 µs more each way, so that the margin E is theirs of about 45 µs.
type tested struct {
	name        string
	period      time.Duration // mean distance of the exchanges
	span        time.Duration
	there, back sim.Delay
}

const (
	ethernet = 42 * time.Microsecond
	idle     = 2 * time.Microsecond
	walking  = 3e-10 // the walk of each clock's frequency
)

func newTest(name string, period, span time.Duration) tested {
	delay := sim.Delay{Min: ethernet, Jitter: idle}
	return tested{name, period, span, delay, delay}
}

// loaded is half an hour of an exchange a second under load: the random part of the delays.
func loaded(name string, there, back time.Duration, distribution sim.Distribution) tested {
	t := newTest(name, time.Second, 30*time.Minute)
	t.there.Jitter, t.back.Jitter = there, back
	t.there.Distribution, t.back.Distribution = distribution, distribution
	return t
}

func clement(s *study) error {
	s.printf("Clocks off by up to 200 ppm that walk by %.0e each; exchanges at random instants, delays of %v and %v more in the mean\n",
		walking, ethernet, idle)
	s.printf("unless said. Means over %d seeds from %d. X: error of the skew (ppb); Er: residual deviation; E: mean margin (µs);\n", s.seeds, s.firstSeed)
	s.printf("RMS error against the truth (µs) of the regression over all exchanges and over 90%%, hull bisector and envelope\n")
	const us, ms = time.Microsecond, time.Millisecond
	for _, t := range []struct {
		title string
		rows  []tested
	}{
		{"Table 3: period of the messages, 10 min", []tested{
			newTest("1 ms", ms, 10*time.Minute), newTest("1 s", time.Second, 10*time.Minute),
			newTest("10 s", 10*time.Second, 10*time.Minute), newTest("20 s", 20*time.Second, 10*time.Minute),
			newTest("30 s", 30*time.Second, 10*time.Minute), newTest("1 min", time.Minute, 10*time.Minute)}},
		{"Table 4: duration, an exchange a second", []tested{
			newTest("10 min", time.Second, 10*time.Minute), newTest("30 min", time.Second, 30*time.Minute),
			newTest("45 min", time.Second, 45*time.Minute), newTest("1 h", time.Second, time.Hour),
			newTest("2 h", time.Second, 2*time.Hour), newTest("5 h", time.Second, 5*time.Hour), newTest("12 h", time.Second, 12*time.Hour)}},
		{"Table 6: load, an exchange a second, 30 min; the mean of the random part there and back, and its distribution", []tested{
			loaded("none", idle, idle, sim.Exponential),
			loaded("20/20 exponential", 20*us, 20*us, sim.Exponential), loaded("20/20 heavy tail", 20*us, 20*us, sim.HeavyTail),
			loaded("30/30 gamma", 30*us, 30*us, sim.Gamma), loaded("20/2 exponential", 20*us, idle, sim.Exponential),
			loaded("20/2 heavy tail", 20*us, idle, sim.HeavyTail), loaded("30/2 gamma", 30*us, idle, sim.Gamma)}},
	} {
		s.printf("\n%s\n%-20s %9s %9s %9s %9s %9s  %9s %9s %9s %9s\n", t.title, "",
			"X all", "X 90%", "Er all", "Er 90%", "E", "all", "90%", "bisector", "envelope")
		for _, row := range t.rows {
			if err := s.clementRow(row); err != nil {
				return fmt.Errorf("%s: %w", row.name, err)
			}
		}
	}
	return s.clementHops()
}

// exchanged is what one trace gave: skew errors in ppb, the rest in µs.
type exchanged struct {
	skew, residual [2]float64 // over all exchanges and over 90%
	margin         float64
	rms            [4]float64
}

func (s *study) clementRow(t tested) error {
	results := make([]exchanged, s.seeds)
	err := s.each(len(results), func(i int) error {
		traffic := clementTraffic(2, t.span, s.firstSeed+uint64(i))
		traffic.Links = []sim.Link{{From: 0, To: 1, Period: t.period, Delay: t.there, Back: &t.back}}
		messages, _ := traffic.Generate()
		problem := between(&messages, 0, 1)
		estimates, err := clementEstimates(&problem)
		if err != nil {
			return err
		}
		r := &results[i]
		for k, e := range estimates {
			r.rms[k] = traffic.rms(e.Map.Mid, 1)
		}
		// Of a skew in ppm as Estimate has it, b's rate less a's over a's.
		skew := traffic.meanSkew(1)
		for k := range r.skew {
			r.skew[k] = math.Abs(estimates[k].Skew-skew) * 1e3
			r.residual[k] = estimates[k].Residual / 1e3
		}
		there, back := messages.Channels[0].Messages, messages.Channels[1].Messages
		for m := range there {
			roundTrip := int64(there[m].Received-there[m].Sent) + int64(back[m].Received-back[m].Sent)
			r.margin += float64(roundTrip) / 2e3 / float64(len(there))
		}
		return nil
	})
	if err != nil {
		return err
	}
	column := func(value func(*exchanged) float64) float64 {
		values := make([]float64, len(results))
		for i := range results {
			values[i] = value(&results[i])
		}
		return mean(values)
	}
	s.printf("%-20s", t.name)
	for k := range 2 {
		s.printf(" %9.2f", column(func(r *exchanged) float64 { return r.skew[k] }))
	}
	for k := range 2 {
		s.printf(" %9.3f", column(func(r *exchanged) float64 { return r.residual[k] }))
	}
	s.printf(" %9.2f ", column(func(r *exchanged) float64 { return r.margin }))
	for k := range 4 {
		s.printf(" %9.3f", column(func(r *exchanged) float64 { return r.rms[k] }))
	}
	s.printf("\n")
	return nil
}

// clementEstimates returns the regressions over all exchanges and over 90%, the bisector and the envelope, which is the
// bisector where there are too few messages for a curve.
func clementEstimates(p *pair.Problem) (out [4]pair.Estimate, err error) {
	for i, confidence := range []int{100, 90} {
		if out[i], err = pair.Regression(p, confidence); err != nil {
			return out, err
		}
	}
	line, _ := bisector(p)
	out[2].Map.Mid, out[3].Map.Mid = line, line
	if e, ok := envelope.Pair(p); ok {
		out[3].Map.Mid = e.Curve
	}
	return out, nil
}

// timed is traffic with all the truth about it.
type timed struct{ sim.Traffic }

// clementTraffic returns hosts without links.
func clementTraffic(hosts int, span time.Duration, seed uint64) timed {
	t := timed{sim.Traffic{Start: epoch, Span: span, Seed: seed}}
	for i := range hosts {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		t.Hosts = append(t.Hosts, sim.Clock{
			Origin: epoch, OffsetNs: random.Int64N(2_000_000_000) - 1_000_000_000, SkewPPM: 200 * (2*random.Float64() - 1),
			Walk: sim.NewWalk(random.Uint64(), walking*1e6, time.Second, span+time.Minute),
		})
	}
	return t
}

// rms returns the error of a curve from the first host's clock to another's, µs.
func (t timed) rms(c clock.PairCurve, host int) float64 {
	const instants = 501
	errs := make([]float64, instants)
	for i := range errs {
		at := clock.TimelineTime(epoch + clock.MulDiv(int64(t.Span), int64(i), instants-1, clock.Nearest))
		errs[i] = float64(c.At(t.Hosts[0].At(at), clock.Nearest)-t.Hosts[host].At(at)) / 1e3
	}
	r, _ := rootMeanSquare(errs)
	return r
}

// meanSkew returns how much faster a host's clock ran than the first from end to end, ppm.
func (t timed) meanSkew(host int) float64 {
	ran := func(h int) float64 {
		return float64(t.Hosts[h].At(epoch+clock.TimelineTime(t.Span)) - t.Hosts[h].At(epoch))
	}
	return (ran(host)/ran(0) - 1) * 1e6
}

// clementHops compares the direct link between two hosts with the way over all hosts between them.
func (s *study) clementHops() error {
	const hosts = 8
	type hop struct{ residual, rms, smooth [2]float64 } // direct, indirect; µs
	results := make([][hosts]hop, s.seeds)
	delay := sim.Delay{Min: ethernet, Jitter: idle}
	err := s.each(len(results), func(i int) error {
		traffic := clementTraffic(hosts, 30*time.Minute, s.firstSeed+uint64(i))
		for h := 1; h < hosts; h++ {
			traffic.Links = append(traffic.Links, sim.Link{From: h - 1, To: h, Period: time.Second, Delay: delay, Back: &delay})
			if h > 1 {
				traffic.Links = append(traffic.Links, sim.Link{From: 0, To: h, Period: time.Second, Delay: delay, Back: &delay})
			}
		}
		messages, _ := traffic.Generate()
		var way, smoothWay clock.PairCurve
		sum := 0.0
		for h := 1; h < hosts; h++ {
			r := &results[i][h]
			direct, err := estimatesBetween(&messages, 0, h)
			if err != nil {
				return err
			}
			step, err := estimatesBetween(&messages, h-1, h)
			if err != nil {
				return err
			}
			if h == 1 {
				way, smoothWay = step[1].Map.Mid, step[3].Map.Mid
			} else {
				way = clock.ComposeCurves(way, step[1].Map.Mid, clock.Nearest)
				smoothWay = clock.ComposeCurves(smoothWay, step[3].Map.Mid, clock.Nearest)
			}
			sum += step[1].Residual
			r.residual = [2]float64{direct[1].Residual / 1e3, sum / 1e3}
			r.rms = [2]float64{traffic.rms(direct[1].Map.Mid, h), traffic.rms(way, h)}
			r.smooth = [2]float64{traffic.rms(direct[3].Map.Mid, h), traffic.rms(smoothWay, h)}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.printf("\nTable 7: hops, an exchange a second on every link, 30 min; µs. Er over hops is the sum of theirs, as in the paper\n")
	s.printf("%-6s %10s %10s  %14s %14s  %12s %12s\n", "hops", "Er direct", "Er hops", "90% direct", "90% hops", "env. direct", "env. hops")
	for h := 1; h < hosts; h++ {
		column := func(value func(*hop) float64) float64 {
			values := make([]float64, len(results))
			for i := range results {
				values[i] = value(&results[i][h])
			}
			return mean(values)
		}
		s.printf("%-6d %10.3f %10.3f  %14.3f %14.3f  %12.3f %12.3f\n", h,
			column(func(r *hop) float64 { return r.residual[0] }), column(func(r *hop) float64 { return r.residual[1] }),
			column(func(r *hop) float64 { return r.rms[0] }), column(func(r *hop) float64 { return r.rms[1] }),
			column(func(r *hop) float64 { return r.smooth[0] }), column(func(r *hop) float64 { return r.smooth[1] }))
	}
	return nil
}

func estimatesBetween(p *trace.Problem, a, b int) ([4]pair.Estimate, error) {
	problem := between(p, a, b)
	return clementEstimates(&problem)
}
