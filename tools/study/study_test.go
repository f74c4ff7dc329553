package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/trace"
)

func TestTablesDoNotDependOnTheNumberOfWorkers(t *testing.T) {
	for _, table := range []table{{"bounds", 2, bounds}, {"calibration", 3, calibration}, {"coverage", 10, coverage}} {
		var outputs [2]bytes.Buffer
		for i, workers := range []int{1, 3} {
			s := &study{out: &outputs[i], seeds: table.seeds, firstSeed: 7, workers: workers, small: true}
			if err := table.print(s); err != nil {
				t.Fatal(err)
			}
		}
		if outputs[0].String() != outputs[1].String() {
			t.Errorf("%s prints with one worker\n%s\nand with three\n%s", table.name, &outputs[0], &outputs[1])
		}
	}
}

func TestLineOfLeastViolationIsNoWorseThanAnyThroughTwoMessages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		const origin = 1_790_000_000_000_000_000
		var p pair.Problem
		var there, back []trace.Message
		bend := 2e-15 * (random.Float64() - 0.5)
		for range 12 {
			x := clock.HostTime(random.Int64N(100_000_000_000))
			offset := clock.HostTime(12345 + 1e-5*float64(x) + bend*float64(x)*float64(x))
			there = append(there, trace.Message{Sent: origin + x, Received: origin + x + offset + clock.HostTime(random.Int64N(20_000))})
			back = append(back, trace.Message{Sent: origin + x + offset - clock.HostTime(random.Int64N(20_000)), Received: origin + x})
		}
		p.A = trace.Clock{First: origin, Last: origin + 100_000_000_000}
		p.AB, p.BA = pair.Messages{there}, pair.Messages{back}
		got := violation(&p, leastViolation(&p))
		type point struct{ x, y clock.HostTime }
		var points []point
		for _, m := range there {
			points = append(points, point{m.Sent, m.Received})
		}
		for _, m := range back {
			points = append(points, point{m.Received, m.Sent})
		}
		best := math.Inf(1)
		for i, a := range points {
			for _, b := range points[:i] {
				if a.x > b.x {
					a, b = b, a
				}
				rate := float64(b.y-a.y) / float64(b.x-a.x)
				if a.x < b.x && math.Abs(rate-1) < 4e-4 {
					best = min(best, violation(&p, clock.PairCurve{{X: a.x, Y: a.y}, {X: b.x, Y: b.y}}))
				}
			}
		}
		// The optimum of a linear program lies where two limits meet; ends rounded to a nanosecond cost one a message.
		if got > best+24 {
			t.Errorf("violation %.0f ns in all, brute force %.0f", got, best)
		}
	}
}

func violation(p *pair.Problem, line clock.PairCurve) float64 {
	sum := 0.0
	for m := range p.AB.All() {
		sum += float64(max(int64(line.At(m.Sent, clock.Nearest)-m.Received), 0))
	}
	for m := range p.BA.All() {
		sum += float64(max(int64(m.Sent-line.At(m.Received, clock.Nearest)), 0))
	}
	return sum
}

func TestErrorLeavesOutWhatAsymmetryHides(t *testing.T) {
	// Linear clocks and no jitter: the line is off by half the difference of the delays. A thousandth is added because
	// the first and the last messages of the two directions do not coincide.
	w, err := simulate(sim.Scenario{
		Span: time.Minute, MinDelay: [2]time.Duration{10 * time.Microsecond, 500 * time.Microsecond},
		Asymmetric: true, MaxOffset: time.Second, MaxSkewPPM: 50, Seed: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(w.asymmetry) < 50_000 {
		t.Fatalf("an asymmetry of %g ns tells nothing; take another seed", w.asymmetry)
	}
	line, fits := bisector(&w.problem)
	if !fits {
		t.Fatal("linear clocks, and no line fits")
	}
	if _, most := rootMeanSquare(w.errors(line, w.everywhere(50))); most > 500 {
		t.Errorf("off by %g ns", most)
	}
	if n := w.inversions(line); n != 0 {
		t.Errorf("%d inversions", n)
	}
	if n := w.inversions(clock.PairCurve{{X: epoch, Y: epoch + 3_000_000_000}}); n == 0 {
		t.Error("no inversions of a clock that is seconds off")
	}
}

func TestQuantilesOfEqualWeightsAreThoseOfTheValues(t *testing.T) {
	var values []weighted
	for i := range 100 {
		values = append(values, weighted{float64((i*37)%100 + 1), 0.5})
	}
	for i, got := range weightedQuantiles(values, 0.01, 0.5, 0.95, 1) {
		if want := []float64{1, 50, 95, 100}[i]; got != want {
			t.Errorf("quantile %d is %g, not %g", i, got, want)
		}
	}
	values = append(values, weighted{1000, 50})
	if got := weightedQuantiles(values, 0.51)[0]; got != 1000 {
		t.Errorf("a value of half the weight is not above the half: %g", got)
	}
}
