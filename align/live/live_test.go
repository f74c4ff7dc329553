package live_test

import (
	"context"
	"testing"
	"time"

	"meridian/align"
	"meridian/align/live"
	"meridian/clock"
	"meridian/internal/livetest"
	"meridian/internal/sim"
)

// cheap is a method that costs a fifth of the default one; its bounds are the same.
var cheap = align.Options{Method: "two-point"}

// hosts have clocks of their own, the second 40 ppm fast and the third 20 ppm slow, and exchange messages in pairs.
func hosts(n int, period, span time.Duration, o live.Options) *livetest.Scenario {
	s := &livetest.Scenario{Seed: 1, Span: span, Options: o}
	for i := range n {
		s.Hosts = append(s.Hosts, livetest.Host{Name: string(rune('a' + i)), Clock: sim.Clock{
			OffsetNs: int64(1_700_000_000-100_000_000*i) * 1e9, SkewPPM: []float64{0, 40, -20}[i]}})
		for k := range i {
			s.Links = append(s.Links, livetest.Link{A: k, B: i, Period: period, There: 100 * time.Microsecond, Back: 120 * time.Microsecond, Jitter: 50 * time.Microsecond})
		}
	}
	return s
}

// play plays a scenario. It fails for places whose truth is outside of their bounds, if less than some per cent are bounded, and without a change of each kind.
func play(t *testing.T, s *livetest.Scenario, least int64, kinds ...live.Kind) {
	t.Helper()
	w, err := livetest.Play(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(w.Tally.String())
	for _, f := range w.Failures {
		t.Error(f)
	}
	if w.Asked == 0 || w.Bounded < w.Asked*least/100 {
		t.Errorf("only %d of %d places are bounded", w.Bounded, w.Asked)
	}
	for _, k := range kinds {
		if w.Changes[k] == 0 {
			t.Errorf("no change %v in %+v", k, w.Timeline.Maps().Changes)
		}
	}
}

func TestBoundsHoldAsShown(t *testing.T) {
	s := hosts(2, 100*time.Millisecond, 25*time.Second, live.Options{})
	s.Hosts[1].Clock.Wave = sim.Wave{AmplitudePPM: 0.3, Period: 10 * time.Minute}
	play(t, s, 99)
}

func TestStepIsFoundAndNoBoundSpansIt(t *testing.T) {
	for _, by := range []int64{5e6, -3e9} {
		s := hosts(2, 100*time.Millisecond, 25*time.Second, live.Options{Interval: 2 * time.Second, Align: cheap})
		s.Hosts[1].Clock.Steps = []sim.Step{{At: 20e9, By: by}}
		play(t, s, 96, live.Stepped) // none until the step is found
	}
}

func TestTimelineGoesOnWithoutItsReference(t *testing.T) {
	s := hosts(3, 200*time.Millisecond, 50*time.Second, live.Options{Interval: 2 * time.Second, Align: cheap})
	s.Hosts[0].Leave = 15 * time.Second
	play(t, s, 99, live.HandedOver)
}

func TestBoundsHoldAsShownWhileRoundsAreSolved(t *testing.T) {
	s := hosts(2, 100*time.Millisecond, 25*time.Second, live.Options{Interval: 2 * time.Second})
	s.Lag = 600 * time.Millisecond
	s.Hosts[1].Clock.Wave = sim.Wave{AmplitudePPM: 0.3, Period: 10 * time.Minute}
	play(t, s, 94) // none until the second round is solved, which may be after two lags
}

// The step is at any instant of a round: before, while it is solved, and after.
func TestStepWhileARoundIsSolvedIsFound(t *testing.T) {
	for i, by := range []int64{5e6, -3e9, 30e9} {
		s := hosts(2, 100*time.Millisecond, 16*time.Second, live.Options{Interval: time.Second, Align: cheap})
		s.Seed, s.Lag = uint64(i), 600*time.Millisecond
		s.Hosts[1].Clock.Steps = []sim.Step{{At: clock.TimelineTime(10e9 + float64(i)*0.3e9), By: by}}
		play(t, s, 70, live.Stepped)
	}
}

func TestReferenceIsLostWhileRoundsAreSolved(t *testing.T) {
	s := hosts(3, 200*time.Millisecond, 50*time.Second, live.Options{Interval: 2 * time.Second, Align: cheap})
	s.Lag = 600 * time.Millisecond
	s.Hosts[0].Leave = 15 * time.Second
	play(t, s, 92, live.HandedOver) // three clocks join over three lags at most, and the hand-over takes as long
}
