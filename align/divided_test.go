package align_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"meridian/align"
	"meridian/clock"
)

// A reader of recorded order takes the next map wherever stamps run back. A step forward needs none.
func TestRunsDivideAClockWhereItsStampsRunBack(t *testing.T) {
	t.Parallel()
	w := playSteps(t, steppedWorld(7, step(1, 10*time.Second, -time.Second), step(1, 25*time.Second, 4*time.Second), step(1, 50*time.Second, -500*time.Millisecond)))
	s := w.solve(t, align.Options{Reference: "host0"})
	if runs := s.Runs(0); len(runs) != 1 || !reflect.DeepEqual(runs[0], s.Maps[0]) {
		t.Errorf("a clock that was not set has %d runs", len(runs))
	}
	runs := s.Runs(1)
	if len(runs) != 3 {
		t.Fatalf("%d runs of a clock that was set back twice", len(runs))
	}
	back := w.truth.Hosts[0].Clock.Inverse()
	for _, f := range w.flights {
		at, stamp := f.Left, f.Sent
		if f.To == 1 {
			at, stamp = f.Arrived, f.Received
		}
		n := 0
		for k, x := range w.truth.Hosts[1].Steps {
			if at >= x.At && k != 1 {
				n++
			}
		}
		low, high, _, _ := runs[n].Bounds(stamp)
		if truth := clock.TimelineTime(back.At(at, clock.Nearest)); truth < low-3 || truth > high+3 {
			t.Fatalf("run %d, %d s after the start: truth outside [%d %d]", n, (at-epoch)/1e9, int64(low-truth), int64(high-truth))
		}
	}
}

// What is shown may be another map of each piece than the one that was estimated (align/live). All that follows from it changes with it.
func TestASolutionTakesOtherMapsOfItsPieces(t *testing.T) {
	t.Parallel()
	w := playSteps(t, steppedWorld(7, step(1, 30*time.Second, -time.Second)))
	s := w.solve(t, align.Options{Reference: "host0"})
	if same := s.WithMaps(slices.Clone(s.Divided.Maps)); !reflect.DeepEqual(same.Maps, s.Maps) || !reflect.DeepEqual(same.Pieces, s.Pieces) {
		t.Error("the same maps make another solution")
	}
	const later = 1_000_000
	moved := slices.Clone(s.Divided.Maps)
	for k, c := range s.Divided.ClockOf {
		if c == 1 {
			moved[k].Mid = slices.Clone(moved[k].Mid)
			for i := range moved[k].Mid {
				moved[k].Mid[i].Y += later
			}
			moved[k].Low, moved[k].High = nil, nil
		}
	}
	before := slices.Clone(s.Maps)
	other := s.WithMaps(moved)
	first, last := w.problem.Clocks[1].First, w.problem.Clocks[1].Last
	for _, at := range []clock.HostTime{first, last} {
		if by := other.Maps[1].At(at) - s.Maps[1].At(at); by != later {
			t.Errorf("a stamp moved by %d ns", by)
		}
	}
	for k, p := range other.Pieces[1] {
		if by := p.Map.At(p.First) - s.Pieces[1][k].Map.At(p.First); by != later {
			t.Errorf("piece %d moved by %d ns", k, by)
		}
	}
	if !reflect.DeepEqual(other.Maps[0], s.Maps[0]) {
		t.Error("the other clock moved too")
	}
	if !reflect.DeepEqual(before, s.Maps) {
		t.Error("the solution that was given has changed")
	}
}
