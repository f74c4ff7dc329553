package align_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/align"
	"meridian/align/bound"
	"meridian/align/quality"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/internal/testneed"
	"meridian/internal/testseed"
	"meridian/trace"
)

// short is a world of a few linear clocks that talk for a short time, or long and rarely, over links of which some are slow,
// lopsided, doubled, one-way, or fall silent: what leaves rates open and estimates poor.
type short struct {
	sim.Traffic
	problem trace.Problem
}

func drawShort(seed uint64) *short {
	r := rand.New(rand.NewPCG(seed, 77))
	between := func(low, high float64) float64 { return low * math.Pow(high/low, r.Float64()) }
	one := func(of int) bool { return r.IntN(of) == 0 }
	seconds := between(0.05, 3)
	if one(5) {
		seconds = between(10, 5000)
	}
	w := &short{Traffic: sim.Traffic{
		Start: epoch, Span: time.Duration(seconds * 1e9), Seed: seed,
		Granularity: []int64{1, 1, 1, 1000, 1000, 10, 1_000_000}[r.IntN(7)],
	}}
	skew := []float64{0, 10, 60, 300, 500}[r.IntN(5)]
	hosts := []int{2, 3, 3, 3, 4}[r.IntN(5)]
	for range hosts {
		w.Hosts = append(w.Hosts, sim.Clock{Origin: epoch, OffsetNs: int64((2*r.Float64() - 1) * 8e9), SkewPPM: (2*r.Float64() - 1) * skew})
	}
	least, jitter := between(1e3, 1e6), between(0.01, 100)
	delay := func() sim.Delay {
		d := sim.Delay{Min: time.Duration(least * between(0.3, 3)), Distribution: sim.Distributions()[r.IntN(len(sim.Distributions()))]}
		d.Jitter = time.Duration(least * jitter * between(0.1, 10))
		return d
	}
	chain := one(2)
	for i := range hosts {
		for j := i + 1; j < hosts; j++ {
			if chain && j > i+1 || !chain && one(4) {
				continue
			}
			for range 1 + r.IntN(5)/4 {
				l := sim.Link{From: i, To: j, Period: time.Duration(seconds * 1e9 / between(1, 200)), Delay: delay()}
				if one(2) {
					l.From, l.To = j, i
				}
				if !one(8) {
					back := delay()
					l.Back = &back
				}
				w.Links = append(w.Links, l)
			}
		}
	}
	w.problem, _ = w.Generate()
	for i := range w.problem.Channels {
		c := &w.problem.Channels[i]
		m := c.Messages
		switch {
		case one(20) && len(m) > 0:
			c.Messages = m[len(m)/2 : len(m)/2+1]
		case one(20) && len(m) > 8:
			c.Messages = append(append([]trace.Message(nil), m[:len(m)/4]...), m[len(m)*3/4:]...)
		case one(20):
			c.Messages = append(append([]trace.Message(nil), m...), m...)
		}
	}
	return w
}

// anySkew is the default assumption without a greatest skew: the clocks of these worlds differ by up to 1000 ppm.
func anySkew() *bound.Assumption {
	a := bound.Default
	a.MaxSkew = 0
	return &a
}

// check demands that nothing is inverted, that estimates lie within their bounds, and the truth too.
func (w *short) check(reference int) error {
	o := align.Options{Assumption: anySkew()}
	if reference >= 0 {
		o.Reference = w.problem.Clocks[reference].Name
	}
	s, err := align.Solve(context.Background(), &w.problem, o)
	if err != nil {
		return err
	}
	if n := s.Quality; n.BeyondGranularity > 0 || w.Granularity == 1 && n.Inversions > 0 {
		return fmt.Errorf("%d of %d messages are inverted, %d beyond granularity, the worst by %d ns", n.Inversions, n.Messages, n.BeyondGranularity, -n.Quickest)
	}
	return w.enclosed(s)
}

// within demands that the truth lies within the bounds of any method, and that its solution counts the estimates that do not.
func (w *short) within(o align.Options) (*align.Solution, error) {
	o.Assumption = anySkew()
	s, err := align.Solve(context.Background(), &w.problem, o)
	if err != nil {
		return nil, err
	}
	outside, err := w.compared(s)
	for c := range outside {
		if got := s.Hosts[c].Outside; got != outside[c] {
			return nil, fmt.Errorf("clock %d: estimates outside of the bounds are %+v, not %+v", c, got, outside[c])
		}
	}
	return s, err
}

// enclosed demands that the truth and the estimates lie within the bounds.
func (w *short) enclosed(s *align.Solution) error {
	outside, err := w.compared(s)
	for c, x := range outside {
		if x.Largest > 1 && err == nil {
			err = fmt.Errorf("clock %d: estimate outside of its bounds by %d ns", c, x.Largest)
		}
	}
	return err
}

// compared compares estimates and truth with the bounds. Truths outside are an error, estimates are counted for each clock.
func (w *short) compared(s *align.Solution) ([]quality.Outside, error) {
	outside := make([]quality.Outside, len(s.Maps))
	if len(s.Contradictions) > 0 {
		return nil, fmt.Errorf("bounds of linear clocks contradict each other: %v", s.Contradictions)
	}
	for i := range w.problem.Channels {
		for _, m := range w.problem.Channels[i].Messages {
			for end, stamp := range []clock.HostTime{m.Sent, m.Received} {
				c := [2]int{w.problem.Channels[i].From, w.problem.Channels[i].To}[end]
				truth, estimate := w.On(s.Reference(c), c, stamp), s.Maps[c].At(stamp)
				low, high, lowOK, highOK := s.Maps[c].Bounds(stamp)
				if lowOK && truth < low-2 || highOK && truth > high+2 { // each rounded to a nanosecond
					return nil, fmt.Errorf("clock %d at %d: truth %d outside [%d %d]", c, stamp, truth, int64(low-truth), int64(high-truth))
				}
				by := int64(0)
				if lowOK {
					by = int64(low - estimate)
				}
				if highOK {
					by = max(by, int64(estimate-high))
				}
				if by > 1 { // each rounded to a nanosecond
					outside[c].Events++
					outside[c].Largest = max(outside[c].Largest, by)
				}
			}
		}
	}
	return outside, nil
}

func TestShortTalksLeaveNoInversionWhoeverIsTheReference(t *testing.T) {
	t.Parallel()
	testseed.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		w := drawShort(seed)
		if err := w.check(rapid.IntRange(-1, len(w.Hosts)-1).Draw(r, "reference")); err != nil {
			r.Fatal(err)
		}
	})
}

// Clocks that hold each other by their messages can only be moved together: in these worlds, found among some thousands, some
// of a hundred messages and more stayed inverted, by up to a second, as long as each clock was pushed alone.
func TestClocksThatHoldEachOtherAreKeptTogether(t *testing.T) {
	for _, c := range []struct {
		seed      uint64
		reference int
	}{{411, 1}, {411, 2}, {1159, 1}, {33, 1}, {126, 0}, {477, 3}, {892, 0}, {1234, 1}} {
		if err := drawShort(c.seed).check(c.reference); err != nil {
			t.Errorf("seed %d, reference %d: %v", c.seed, c.reference, err)
		}
	}
}

func TestEstimatesOfOurMethodsStayWithinWhatBoundsThereAre(t *testing.T) {
	t.Parallel()
	for _, o := range []align.Options{{Network: "clement"}, {Method: "cones"}, {Method: "cones", Network: "least-squares"}, {Method: "hull"}, {Method: "lts", Network: "duda"}} {
		for seed := range uint64(testneed.Cases(30)) {
			s, err := drawShort(seed).within(o)
			if err != nil {
				t.Errorf("%v, seed %d: %v", o, seed, err)
				continue
			}
			for c := range s.Hosts {
				if s.Hosts[c].Outside.Largest > 1 {
					t.Errorf("%v, seed %d: clock %d is outside of its bounds by %d ns", o, seed, c, s.Hosts[c].Outside.Largest)
				}
			}
		}
	}
}

func TestEstimatesOfPublishedMethodsThatLeaveTheBoundsAreCountedAndTheBoundsHold(t *testing.T) {
	for _, o := range []align.Options{{Method: "cristian", Network: "duda-chain"}, {Method: "regression"}, {Method: "interval", Network: "least-squares"}} {
		left := int64(0)
		for seed := range uint64(testneed.Cases(40)) {
			s, err := drawShort(seed).within(o)
			if err != nil {
				t.Errorf("%v, seed %d: %v", o, seed, err)
				continue
			}
			for c := range s.Hosts {
				left += s.Hosts[c].Outside.Events
			}
		}
		if left == 0 {
			t.Errorf("%v: no estimate ever left its bounds, which is no test", o)
		}
	}
}

// Bounds of each pair reach as far as its own traces, and are carried on where those of others reach further.
func TestBoundsOfLinearClocksNeverContradictEachOther(t *testing.T) {
	for _, seed := range []uint64{111879, 135463, 202407, 246607, 376370} {
		if err := drawShort(seed).check(-1); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// A clock with stamps at a single instant has no rate of its own, and one taken from a nanosecond may be none at all.
func TestClocksSeenAtOneInstantAreAlignedLikeOthers(t *testing.T) {
	for _, c := range []struct {
		seed      uint64
		reference int
	}{{1028624, 0}, {1003808, 2}} {
		if err := drawShort(c.seed).check(c.reference); err != nil {
			t.Errorf("seed %d, reference %d: %v", c.seed, c.reference, err)
		}
	}
}
