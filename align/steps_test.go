package align_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"meridian/align"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/internal/testneed"
	"meridian/trace"
)

// stepped is a scenario played, with the true instant of every stamp.
type stepped struct {
	problem trace.Problem
	truth   *sim.Truth
	flights []sim.Flight
}

// steppedWorld is hosts half a second apart that send 20 messages a second to each other over 30 µs for a minute.
func steppedWorld(seed uint64, steps ...sim.HostStep) sim.Scenario {
	s := sim.Scenario{
		Hosts: 2, Start: epoch, Span: time.Minute, Rate: 20, Delay: sim.Exponential, Jitter: 20 * time.Microsecond,
		MinDelay: [2]time.Duration{20 * time.Microsecond, 40 * time.Microsecond}, MaxOffset: time.Second / 2, MaxSkewPPM: 50,
		Wander: 1e-9, Thermal: 1e-7, Seed: seed,
	}
	for _, x := range steps {
		x.At += epoch
		s.Steps = append(s.Steps, x)
	}
	return s
}

func step(host int, at time.Duration, by time.Duration) sim.HostStep {
	return sim.HostStep{Host: host, Step: sim.Step{At: clock.TimelineTime(at), By: int64(by)}}
}

func playSteps(t *testing.T, s sim.Scenario) *stepped {
	t.Helper()
	w := &stepped{}
	var err error
	if w.problem, w.truth, err = s.Generate(); err != nil {
		t.Fatal(err)
	}
	if _, err = s.Play(func(f *sim.Flight) error { w.flights = append(w.flights, *f); return nil }); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *stepped) solve(t *testing.T, o align.Options) *align.Solution {
	t.Helper()
	s, err := align.Solve(context.Background(), &w.problem, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pieceAt is the number of the piece that a host's clock was in at a true instant.
func (w *stepped) pieceAt(host int, at clock.TimelineTime) (k int) {
	for _, s := range w.truth.Hosts[host].Steps {
		if at >= s.At {
			k++
		}
	}
	return k
}

// checkBounds demands that the truth of every stamp lies within the bounds of its piece and of the joined map, and returns
// the largest error of an estimate by its piece.
func (w *stepped) checkBounds(t *testing.T, s *align.Solution) int64 {
	t.Helper()
	reference := s.References[0]
	back := w.truth.Hosts[reference].Clock.Inverse()
	followed := 0 // piece of the reference
	if s.Pieces != nil {
		followed = slices.IndexFunc(s.Pieces[reference], func(p align.Piece) bool { return len(p.Map.Low) == 1 })
	}
	onTimeline := func(at clock.TimelineTime) clock.TimelineTime {
		truth := clock.TimelineTime(back.At(at, clock.Nearest))
		for k, x := range w.truth.Hosts[reference].Steps {
			switch before := at < x.At; {
			case before && k < followed:
				truth += clock.TimelineTime(x.By)
			case !before && k >= followed:
				truth -= clock.TimelineTime(x.By)
			}
		}
		return truth
	}
	worst := int64(0)
	for _, f := range w.flights {
		for _, e := range []struct {
			host  int
			at    clock.TimelineTime
			stamp clock.HostTime
		}{{f.From, f.Left, f.Sent}, {f.To, f.Arrived, f.Received}} {
			truth := onTimeline(e.at)
			inside := func(what string, m *clock.Map) {
				low, high, lowOK, highOK := m.Bounds(e.stamp)
				if !lowOK || !highOK {
					t.Fatalf("%s of host %d is unbounded", what, e.host)
				}
				if slack := 3 + w.problem.Clocks[e.host].Granularity + w.problem.Clocks[reference].Granularity; truth < low-clock.TimelineTime(slack) || truth > high+clock.TimelineTime(slack) {
					t.Fatalf("%s of host %d, %.6f s after the start: truth outside [%d %d] by", what, e.host,
						float64(e.at-epoch)/1e9, int64(low-truth), int64(high-truth))
				}
			}
			inside("map", &s.Maps[e.host])
			m := &s.Maps[e.host]
			if s.Pieces != nil && s.Pieces[e.host] != nil {
				m = &s.Pieces[e.host][w.pieceAt(e.host, e.at)].Map
				inside(fmt.Sprintf("piece %d", w.pieceAt(e.host, e.at)), m)
			}
			worst = max(worst, max(int64(m.At(e.stamp)-truth), int64(truth-m.At(e.stamp))))
		}
	}
	return worst
}

// check is checkBounds and demands that the steps are those that were.
func (w *stepped) check(t *testing.T, s *align.Solution) int64 {
	t.Helper()
	worst := w.checkBounds(t, s)
	var want, got []string
	for h := range w.truth.Hosts {
		for _, x := range w.truth.Hosts[h].Steps {
			want = append(want, fmt.Sprintf("host%d %+.3f", h, float64(x.By)/1e9))
		}
	}
	for _, x := range s.Steps {
		got = append(got, fmt.Sprintf("host%d %+.3f", x.Clock, float64(x.By)/1e9))
		i := slices.IndexFunc(w.truth.Hosts[x.Clock].Steps, func(y sim.TrueStep) bool {
			return y.Before <= x.At+100_000 && y.Before >= clock.Add(x.At, -x.Between-100_000)
		})
		if i < 0 {
			t.Errorf("a step of host %d at %d, %d before that: none was there", x.Clock, x.At, x.Between)
		}
	}
	if !slices.Equal(want, got) {
		t.Errorf("steps %v, want %v", got, want)
	}
	return worst
}

func TestClocksThatWereSetAreAlignedPieceByPiece(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hosts int
		steps []sim.HostStep
	}{
		"forward":               {2, []sim.HostStep{step(1, 30*time.Second, time.Second)}},
		"back":                  {2, []sim.HostStep{step(1, 30*time.Second, -time.Second)}},
		"back, of the first":    {2, []sim.HostStep{step(0, 20*time.Second, -3*time.Second)}},
		"forward, of the first": {2, []sim.HostStep{step(0, 20*time.Second, 3*time.Second)}},
		"by little":             {2, []sim.HostStep{step(1, 30*time.Second, 2*time.Millisecond)}},
		"by an hour":            {2, []sim.HostStep{step(1, 30*time.Second, time.Hour)}},
		"back by an hour":       {2, []sim.HostStep{step(1, 30*time.Second, -time.Hour)}},
		"several":               {2, []sim.HostStep{step(1, 10*time.Second, -time.Second), step(1, 25*time.Second, 4*time.Second), step(1, 50*time.Second, -500*time.Millisecond)}},
		"both clocks":           {2, []sim.HostStep{step(0, 10*time.Second, 2*time.Second), step(1, 40*time.Second, -500*time.Millisecond)}},
		"one of three":          {3, []sim.HostStep{step(2, 30*time.Second, -time.Second)}},
		"the first of three":    {3, []sim.HostStep{step(0, 30*time.Second, time.Second)}},
		"two of four":           {4, []sim.HostStep{step(0, 15*time.Second, time.Second), step(2, 30*time.Second, -2*time.Second)}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.hosts > 2 {
				testneed.Long(t, "aligns three hosts and more")
			}
			scenario := steppedWorld(7, c.steps...)
			scenario.Hosts = c.hosts
			if c.hosts > 2 {
				scenario.Topology = sim.Full
			}
			w := playSteps(t, scenario)
			methods := []string{"envelope"}
			if slices.Contains([]string{"forward", "back", "several"}, name) {
				methods = []string{"envelope", "hull", "regression"}
			}
			for _, method := range methods {
				o := align.Options{Method: method}
				if name == "both clocks" {
					o.Reference = "host0" // whose time nothing makes ambiguous
				}
				s := w.solve(t, o)
				if worst := w.check(t, s); worst > 50_000 {
					t.Errorf("%s: worst error %d ns over links of 30 µs", method, worst)
				}
				if s.Quality.Messages != int64(len(w.flights)) || s.Outliers > 0 {
					t.Errorf("%s: %d of %d messages, %d wrong", method, s.Quality.Messages, len(w.flights), s.Outliers)
				}
				if method == "envelope" && s.Quality.BeyondGranularity > 0 {
					t.Errorf("%d inversions", s.Quality.BeyondGranularity)
				}
				for i := range s.Pairs {
					if x := &s.Pairs[i]; x.Estimate.Fit == pair.Fallback && x.Estimate.Map.Low == nil {
						t.Errorf("%s: clocks %d and %d contradict each other", method, x.A, x.B)
					}
				}
				for i, m := range s.Maps {
					for _, c := range []clock.Curve{m.Mid, m.Low, m.High} {
						if err := c.Check(); err != nil {
							t.Errorf("%s: map %d: %v", method, i, err)
						}
					}
				}
			}
		})
	}
}

func TestErrorsBehindAStepAreAsSmallAsBeforeIt(t *testing.T) {
	plain, set := playSteps(t, steppedWorld(3)), playSteps(t, steppedWorld(3, step(1, 30*time.Second, -time.Second)))
	before, behind := plain.check(t, plain.solve(t, align.Options{})), set.check(t, set.solve(t, align.Options{}))
	if behind > 2*before+1000 {
		t.Errorf("worst error %d ns with a step, %d without", behind, before)
	}
}

func TestStepDuringSilenceLiesBetweenTheMessagesAroundIt(t *testing.T) {
	w := playSteps(t, steppedWorld(5, step(1, 30*time.Second, -10*time.Second)))
	silent := func(at clock.TimelineTime) bool { return at > epoch+28e9 && at < epoch+31e9 }
	w.silence(silent)
	s := w.solve(t, align.Options{})
	w.check(t, s)
	if len(s.Steps) == 1 && (s.Steps[0].Between < 2_900_000_000 || s.Steps[0].Between > 3_200_000_000) {
		t.Errorf("the step may have been within %d ns", s.Steps[0].Between)
	}
}

// silence takes out the messages of some instants.
func (w *stepped) silence(silent func(at clock.TimelineTime) bool) {
	w.flights = slices.DeleteFunc(w.flights, func(f sim.Flight) bool { return silent(f.Left) || silent(f.Arrived) })
	for i := range w.problem.Channels {
		c := &w.problem.Channels[i]
		c.Messages = nil
		for _, f := range w.flights {
			if f.From == c.From && f.To == c.To {
				c.Messages = append(c.Messages, trace.Message{Sent: f.Sent, Received: f.Received})
			}
		}
	}
}

func TestSilenceAsLongAsAStepLeavesOpenWhichClockWasSet(t *testing.T) {
	w := playSteps(t, steppedWorld(5, step(0, 30*time.Second, -time.Second)))
	w.silence(func(at clock.TimelineTime) bool { return at > epoch+28e9 && at < epoch+31e9 })
	s := w.solve(t, align.Options{Reference: "host0"})
	if len(s.Steps) != 1 || s.Steps[0].Clock != 1 || s.Steps[0].Other != 0 || s.Steps[0].By < 999e6 {
		t.Errorf("steps %+v: the clock that is not the reference, or the reference the other way", s.Steps)
	}
}

func TestLeapSecondsAreNamed(t *testing.T) {
	t.Parallel()
	const midnight = (epoch/86_400_000_000_000 + 1) * 86_400_000_000_000
	for _, c := range []struct {
		at   clock.TimelineTime
		by   time.Duration
		leap bool
	}{
		{midnight, -time.Second, true},
		{midnight - 1e9, time.Second, true},
		{midnight, -1100 * time.Millisecond, false},
		{midnight + 10e9, -time.Second, false},
	} {
		scenario := steppedWorld(9)
		scenario.Start, scenario.MaxOffset = midnight-30e9, 0
		scenario.Steps = []sim.HostStep{{Host: 1, Step: sim.Step{At: c.at, By: int64(c.by)}}}
		s := playSteps(t, scenario).solve(t, align.Options{})
		if len(s.Steps) != 1 || s.Steps[0].Leap != c.leap {
			t.Errorf("%v at %d: %+v", c.by, c.at-midnight, s.Steps)
		}
	}
}

func TestWrongMessagesAreNoStep(t *testing.T) {
	t.Parallel()
	for _, wrong := range [][]int{{700}, {0}, {1199}, {300, 301}, {0, 600, 1199}} {
		for _, by := range []int64{-2_000_000_000, 300_000_000, 2_000_000} {
			w := playSteps(t, steppedWorld(11))
			for _, i := range wrong {
				for k := range w.problem.Channels {
					if k == 0 || len(wrong) > 1 {
						m := &w.problem.Channels[k].Messages[min(i, len(w.problem.Channels[k].Messages)-1)]
						m.Received -= clock.HostTime(by)
					}
				}
			}
			s := w.solve(t, align.Options{})
			if worst := w.check(t, s); worst > 50_000 {
				t.Errorf("%v wrong by %d: worst error %d", wrong, by, worst)
			}
			left := s.Outliers + int64(len(s.False))
			if by > 0 && (left == 0 || s.Quality.BeyondGranularity != s.Outliers) {
				t.Errorf("%v early by %d: %d wrong, %d inversions", wrong, by, left, s.Quality.BeyondGranularity)
			}
			if by < 0 && left > 0 {
				t.Errorf("%v late by %d: %d wrong, and a delay proves nothing", wrong, by, left)
			}
		}
	}
}

func TestStepsAreFoundInRandomWorlds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(testneed.Cases(20)) {
		random := rand.New(rand.NewPCG(seed, 5))
		scenario := steppedWorld(seed)
		scenario.Span = 20 * time.Second
		if scenario.Hosts = 2 + random.IntN(3); scenario.Hosts > 2 {
			scenario.Topology = []sim.Topology{sim.Full, sim.Ring, sim.Chain}[random.IntN(3)]
		}
		scenario.Traffic = []sim.Pattern{sim.Periodic, sim.RequestResponse}[random.IntN(2)]
		scenario.Rate = []float64{5, 50, 200}[random.IntN(3)]
		scenario.Granularity = []int64{1, 1000}[random.IntN(2)]
		by := []time.Duration{100 * time.Millisecond, time.Second, 7 * time.Second}[random.IntN(3)]
		if random.IntN(2) == 0 { // far apart
			scenario.MinDelay, scenario.Jitter = [2]time.Duration{5 * time.Millisecond, 20 * time.Millisecond}, 3*time.Millisecond
			scenario.Delay = sim.Pareto
		}
		if random.IntN(2) == 0 {
			by = -by
		}
		at := 5*time.Second + time.Duration(random.Int64N(10e9))
		host := 1 + random.IntN(scenario.Hosts-1)
		scenario.Steps = []sim.HostStep{{Host: host, Step: sim.Step{At: epoch + clock.TimelineTime(at), By: int64(by)}}}
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := playSteps(t, scenario)
			s := w.solve(t, align.Options{Method: "regression", Reference: "host0"})
			w.checkBounds(t, s)
			if len(s.Steps) != 1 || s.Steps[0].Clock != host || math.Abs(float64(s.Steps[0].By-int64(by))) > 30e6 {
				t.Errorf("steps %+v, want host %d set by %v after %v", s.Steps, host, by, at)
			}
		})
	}
}

func TestWorldsWithoutStepsHaveNone(t *testing.T) {
	worlds := 200
	if testing.Short() {
		worlds = 50
	}
	for seed := range uint64(worlds) {
		scenario := steppedWorld(seed)
		scenario.Wander = math.Pow(10, -7-float64(seed%4))
		scenario.MaxSkewPPM = []float64{0, 50, 4000}[seed%3]
		scenario.Traffic = []sim.Pattern{sim.Periodic, sim.Bursty, sim.RequestResponse, sim.OneSided}[seed%4]
		scenario.Span, scenario.Rate = 20*time.Second, []float64{20, 5, 1}[seed%3]
		scenario.Granularity = []int64{1, 1000, 1_000_000}[seed/3%3]
		scenario.Congested = seed%5 == 0
		w := playSteps(t, scenario)
		s := w.solve(t, align.Options{Method: []string{"regression", "hull"}[seed%2]})
		if len(s.Steps) > 0 || s.Outliers > 0 || s.Pieces != nil {
			t.Errorf("seed %d: steps %+v, %d wrong", seed, s.Steps, s.Outliers)
		}
	}
}
