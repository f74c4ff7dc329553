package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"meridian/align"
	"meridian/align/bound"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/trace"
)

// untruth is how some messages of a trace lie.
type untruth struct {
	name  string
	each  int     // messages each way
	one   bool    // message each way is false
	share float64 // of the messages each way is
	by    float64 // how early they arrive at most, in least round trips
}

var untruths = []untruth{
	{"all true", 10, false, 0, 0},
	{"all true", 30, false, 0, 0},
	{"all true", 100, false, 0, 0},
	{"all true", 300, false, 0, 0},
	{"all true", 1000, false, 0, 0},
	{"all true", 3000, false, 0, 0},
	{"one early by 0.2 round trips", 30, true, 0, 0.2},
	{"one early by 30 round trips", 30, true, 0, 30},
	{"one early by 0.2 round trips", 300, true, 0, 0.2},
	{"one early by 0.8 round trips", 300, true, 0, 0.8},
	{"one early by 30 round trips", 300, true, 0, 30},
	{"one early by 0.2 round trips", 3000, true, 0, 0.2},
	{"one early by 0.8 round trips", 3000, true, 0, 0.8},
	{"one early by 30 round trips", 3000, true, 0, 30},
	{"1 in 1,000 early by 0.8", 3000, false, 1e-3, 0.8},
	{"1 in 1,000 early by 30", 3000, false, 1e-3, 30},
	{"1 in 100 early by 0.8", 3000, false, 1e-2, 0.8},
	{"1 in 100 early by 30", 3000, false, 1e-2, 30},
}

// told is what bounds of a trace showed.
type told struct{ bounded, wrong, bent, width float64 }

// falsehood prints how often bounds exclude the truth where messages are false, and how wide they are.
func falsehood(s *study) error {
	environments := sim.Environments()
	s.printf("%d traces a row, seeds from %d, all environments in turn, clocks that walk by 1e-9 and swing by 1e-7\n", s.seeds, s.firstSeed)
	s.printf("wrong: bounded at all events, and the truth is outside at one; bent: a clock seems to be steered; width: median, over that of the same trace without false messages, all taken for true\n\n")
	s.printf("%-30s %6s | %7s %6s %6s | %7s %6s %6s %7s\n", "messages", "each", "bounded", "wrong", "bent", "bounded", "wrong", "bent", "width")
	s.printf("%-30s %6s | %21s | %29s\n", "", "way", "every message taken for true", "as by default")
	silent := 0.0
	for i, u := range untruths {
		if !strings.Contains(fmt.Sprintf("%s, %d each way", u.name, u.each), s.only) {
			continue
		}
		results := make([][2]told, s.seeds)
		err := s.each(s.seeds, func(n int) error {
			c := environments[n%len(environments)].Scenario
			c.Rate, c.Wander, c.Thermal = 10, 1e-9, 1e-7
			c.Span = time.Duration(u.each) * time.Second / 10
			c.Seed = s.firstSeed + uint64(i*s.seeds+n)
			honest, err := simulate(c)
			if err != nil {
				return err
			}
			truth, err := honest.solved(&bound.Tolerance{})
			if err != nil {
				return err
			}
			w := *honest
			w.falsify(u, rand.New(rand.NewPCG(c.Seed, 1)))
			for k, tolerance := range []*bound.Tolerance{{}, nil} {
				if results[n][k], err = w.solved(tolerance); err != nil {
					return err
				}
				if truth.bounded == 0 {
					results[n][k].width = math.NaN() // nothing to compare with
				}
				results[n][k].width /= truth.width
			}
			return nil
		})
		if err != nil {
			return err
		}
		var sum [2]told
		var widths []float64
		for _, r := range results {
			for k := range sum {
				sum[k].bounded += r[k].bounded
				sum[k].wrong += r[k].wrong
				sum[k].bent += r[k].bent
			}
			if r[1].bounded > 0 && !math.IsNaN(r[1].width) {
				widths = append(widths, r[1].width)
			}
		}
		s.printf("%-30s %6d | %7.0f %6.0f %6.0f | %7.0f %6.0f %6.0f %7.3f\n", u.name, u.each, sum[0].bounded, sum[0].wrong, sum[0].bent,
			sum[1].bounded, sum[1].wrong, sum[1].bent, quantile(widths, 0.5))
		if u.share == 0 { // others can exceed what is tolerated
			silent += sum[1].wrong
		}
	}
	s.printf("\n")
	s.bar(silent == 0, "at most one false message each way: bounds as by default exclude the truth in %.0f traces", silent)
	return nil
}

// falsify makes messages each way arrive early.
func (w *world) falsify(u untruth, r *rand.Rand) {
	if !u.one && u.share == 0 {
		return
	}
	w.messages.Channels = append([]trace.Channel(nil), w.messages.Channels...)
	for i := range w.messages.Channels {
		c := &w.messages.Channels[i]
		if len(c.Messages) < 12 { // of which none may be false
			continue
		}
		c.Messages = append([]trace.Message(nil), c.Messages...)
		from, to := w.truth.Hosts[c.From].Clock, w.hosts[c.To]
		wrong := int(math.Round(u.share * float64(len(c.Messages))))
		if u.one {
			wrong = 1
		}
		for range wrong {
			m := &c.Messages[r.IntN(len(c.Messages))]
			left := from.At(m.Sent, clock.Nearest)
			m.Received = to.At(clock.TimelineTime(int64(left)-int64(u.by*w.roundTrip*(0.2+0.8*r.Float64()))), clock.Nearest)
		}
	}
}

// solved aligns a world and says what its bounds showed.
func (w *world) solved(tolerance *bound.Tolerance) (told, error) {
	solution, err := align.Solve(context.Background(), &w.messages, align.Options{Reference: w.messages.Clocks[0].Name, Tolerance: tolerance})
	if err != nil {
		return told{}, err
	}
	var out told
	m := &solution.Maps[1]
	if len(solution.Pairs) == 0 {
		return out, nil
	}
	if len(solution.Pairs[0].Stretches) > 0 || len(solution.Steps) > 0 {
		out.bent = 1
	}
	if !solution.Hosts[1].Bounded || len(solution.Steps) > 0 {
		return out, nil
	}
	out.bounded = 1
	const instants = 101
	first, last := w.messages.Clocks[1].First, w.messages.Clocks[1].Last
	for i := range int64(instants) {
		at := clock.Add(first, clock.MulDiv(clock.Sub(last, first), i, instants-1, clock.Nearest))
		low, high, _, _ := m.Bounds(at)
		truth := w.hosts[0].At(w.truth.Hosts[1].Clock.At(at, clock.Nearest), clock.Nearest)
		if int64(truth) < int64(low)-2 || int64(truth) > int64(high)+2 {
			out.wrong = 1
		}
		out.width += float64(high-low) / instants
	}
	return out, nil
}
