package causal

import (
	"testing"

	"meridian/align/internal/curves"
	"meridian/clock"
	"meridian/trace"
)

func TestAnInversionIsWhatTheReceiversStepLeavesNoDoubtOf(t *testing.T) {
	for _, c := range []struct{ granularity, delay, worst int64 }{
		{0, 0, 0}, {0, -1, 1}, {1, 0, 0}, {1, -1, 1}, {1, -500, 500}, {2, -3, 0}, {2, -4, 4}, {100, -100, 0}, {100, -101, 0}, {100, -102, 102}, {1, 7, 0},
	} {
		w := newWorld(2, 1)
		w.send(0, 1, 1000, c.delay)
		w.Clocks[1].Granularity = c.granularity
		w.Clocks[0].Granularity = 1_000_000 // the sender's step does not matter
		worst, slowest := w.inversion(estimates(w))
		if worst != c.worst || slowest != max(c.delay, 0) {
			t.Errorf("a delay of %d by steps of %d: inverted by %d, slowest %d", c.delay, c.granularity, worst, slowest)
		}
	}
}

func TestReachGrowsSixteenfoldUpToTheSlowestMessage(t *testing.T) {
	for _, c := range [][3]int64{{1, 1000, 16}, {61, 1000, 976}, {62, 1000, 992}, {63, 1000, 1000}, {2000, 1000, 1000}, {1 << 60, 1<<63 - 1, 1<<63 - 1}, {0, 0, 0}, {1, 16, 16}, {2, 32, 32}} {
		if got := growReach(c[0], c[1]); got != c[2] {
			t.Errorf("%d of at most %d grows to %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

// TestAMessageThatTheCorrectionItselfInvertsIsLookedAtToo: many small inversions in a row amount to more than a slow
// message takes that was not in the way at first.
func TestAMessageThatTheCorrectionItselfInvertsIsLookedAtToo(t *testing.T) {
	const hops = 30
	for _, pause := range []int64{0, 10_000} { // with pauses, what moves one clock goes back in time and forth to reach the next
		w := newWorld(hops+2, 1)
		w.Fixed[0] = true
		at := clock.HostTime(5_000_000_000)
		for i := range hops {
			w.send(i, i+1, at, 10)
			at += clock.HostTime(10 + pause)
			w.Maps[i+1].Mid = clock.Curve{{Y: clock.TimelineTime(clock.TimelineTime(-110 * int64(i+1)))}} // each hop is inverted by 100
		}
		// A second later the last clock sends to one that does not move, 2.1 µs by the estimates.
		w.send(hops, hops+1, at+1_000_000_000, 2_100-110*hops)
		curves := w.restored(t)
		if off := int64(clock.HostTime(curves[hops].At(clock.HostTime(at-clock.HostTime(pause)), clock.Nearest))-at) + pause; off < -7*hops-3 || off > -7*hops+3 { // 103 ns forward per hop
			t.Errorf("the last clock of the row is off by %d ns", off)
		}
	}
}

func TestMessagesThatNothingCanRestoreAreNotInTheWayOfOthers(t *testing.T) {
	for _, hopeless := range [][2]int{{0, 0}, {1, 1}, {1, 2}} {
		w := newWorld(3, 1)
		w.Fixed[1] = true
		w.send(hopeless[0], hopeless[1], 5_000_000, -400)
		w.send(0, 1, 1_000_000, 100)
		w.Maps[0].Mid = clock.Curve{{Y: 1_100}}
		curves, ok := RestoreOrder(&w.Problem)
		if !ok || w.inverted(curves) > 0 {
			t.Errorf("clocks %v: %v, inverted by %d", hopeless, ok, w.inverted(curves))
		}
	}
}

func TestBoundsAreKeptAtTheirCornersToo(t *testing.T) {
	for _, corner := range []clock.HostTime{0, 300_000_000, 500_000_000, 1_000_000_000} {
		for _, side := range []int64{-1, 1} {
			w := newWorld(2, 1)
			const span = 1_000_000_000
			for _, at := range []clock.HostTime{0, 100_000_000, 900_000_000, span} {
				if at == corner {
					continue
				}
				if side < 0 {
					w.send(0, 1, at, 100)
				} else {
					w.send(1, 0, at, 100)
				}
			}
			c := &w.Clocks[0]
			c.First, c.Last = min(c.First, clock.HostTime(corner)), max(c.Last, clock.HostTime(corner))
			// Inverted by 4.9 µs everywhere; the estimate's own corner is before the trace.
			w.Maps[0].Mid = clock.Curve{{X: -70_000_000, Y: clock.TimelineTime(clock.TimelineTime(-70_000_000 - side*5_000))}}
			at := func(x clock.HostTime, off int64) clock.Knot {
				return clock.Knot{X: clock.HostTime(x), Y: clock.TimelineTime(clock.TimelineTime(x) - clock.TimelineTime(side*off))}
			}
			bound := clock.Curve{at(corner-40_000_000, 0), at(corner, 3_000), at(corner+40_000_000, 0)}
			if side < 0 {
				w.Maps[0].Low = bound
			} else {
				w.Maps[0].High = bound
			}
			curves := w.restored(t)
			got := int64(clock.HostTime(curves[0].At(clock.HostTime(corner), clock.Nearest)) - corner)
			if -side*got > 5_000 || -side*got < 3_000-1 {
				t.Errorf("corner at %d, side %d: the curve is at %d, the bound at %d", corner, side, got, -side*3_000)
			}
		}
	}
}

// TestClocksNearTheEndsOfTimeStayWithinThem: knots far beyond the stamps may lie outside the instants that are taken.
func TestClocksNearTheEndsOfTimeStayWithinThem(t *testing.T) {
	for _, at := range []clock.HostTime{-clock.Limit + 2_000_000, clock.Limit - 3_000_000, -clock.Limit + curves.Outside + 1_000, clock.Limit - curves.Outside - 2_000, -clock.Limit + 2*curves.Outside, 0,
		-clock.Limit + curves.Outside, clock.Limit - curves.Outside - 1_000_000} {
		w := newWorld(2, 1)
		w.send(0, 1, at, 100)
		w.send(0, 1, at+1_000_000, 100)
		w.Maps[0].Mid = clock.Curve{{Y: 1_100}}
		for _, k := range w.restored(t)[0] {
			if int64(k.X) <= -clock.Limit || int64(k.X) >= clock.Limit {
				t.Errorf("stamps at %d: a knot at %d", at, k.X)
			}
		}
	}
}

func TestAClockGetsKnotsOnlyWhereItsCorrectionBends(t *testing.T) {
	own := []node{{host: 0}, {host: 10}, {host: 30}, {host: 130}}
	for _, c := range []struct {
		e          []float64
		earlier, k int
		want       bool
	}{
		{[]float64{0, 0, 0, 0}, 0, 1, true}, {[]float64{0, 1, 3, 13}, 0, 1, true}, {[]float64{0, 1, 3, 13}, 0, 2, true}, {[]float64{0, 1, 3, 13}, 1, 2, true},
		{[]float64{5, 6, 8, 18}, 0, 1, true}, {[]float64{5, 4, 2, -8}, 1, 2, true}, {[]float64{5, 4, 2, -8}, 0, 1, true},
		{[]float64{0, 1, 4, 13}, 0, 1, false}, {[]float64{0, 1.02, 3, 13}, 0, 1, false}, {[]float64{0, 0.98, 3, 13}, 0, 1, false}, {[]float64{0, 1.005, 3, 13}, 0, 1, true},
		{[]float64{7, 1, 3, 13}, 0, 1, false}, {[]float64{7, 1, 3, 13}, 1, 2, true}, {[]float64{7, 1, 3, 14}, 1, 2, false},
	} {
		if got := straight(own, c.e, c.earlier, c.k); got != c.want {
			t.Errorf("%v: from %d to %d is straight: %v", c.e, c.earlier, c.k+1, got)
		}
	}
	w := newWorld(2, 1)
	for i := range int64(200) {
		w.send(0, 1, clock.HostTime(i*5_000_000), 100)
	}
	w.Maps[0].Mid = clock.Curve{{Y: 1_100}}
	if n := len(w.restored(t)[0]); n > 6 {
		t.Errorf("%d knots for a correction that is the same everywhere", n)
	}
}

func TestClocksWithoutMessagesAndFixedOnesStayAsTheyAre(t *testing.T) {
	w := newWorld(4, 1)
	w.Fixed[2] = true
	w.send(0, 2, 1_000_000, 100)
	w.Maps[0].Mid = clock.Curve{{Y: 1_100}}
	w.Maps[1].Mid = clock.Curve{{X: 5, Y: 9}, {X: 50, Y: 90}}
	w.Maps[2].Mid = clock.Curve{{X: 0, Y: 0}, {X: 2_000_000, Y: 2_000_000}}
	curves := w.restored(t)
	for i := 1; i < 4; i++ {
		if &curves[i][0] != &w.Maps[i].Mid[0] {
			t.Errorf("clock %d was moved to %v", i, curves[i])
		}
	}
	if len(w.Channels) != 1 || len(w.Channels[0].Messages) != 1 || w.Channels[0].Messages[0] != (trace.Message{Sent: 1_000_000, Received: 1_000_100}) {
		t.Error("the problem was changed")
	}
}

func TestRatesStayNearTheEstimatesOrThoseOfAnyClock(t *testing.T) {
	for _, c := range []struct {
		of                     rateLimits
		host, timeline         float64
		wantLeast, wantLongest float64
	}{
		{around(1e-3), 1000, 900, 899, 901}, {around(0.1), 1000, 100, 0, 200}, {around(0.1), 1000, 50, 0, 150}, {around(0.1), 1000, 0, 0, 100},
		{anyClock, 1000, 900, 500, 2000}, {anyClock, 1000, 0, 500, 2000},
	} {
		if least, longest := c.of(c.host, c.timeline); least != c.wantLeast || longest != c.wantLongest {
			t.Errorf("%g ns shown as %g: from %g to %g", c.host, c.timeline, least, longest)
		}
	}
}

// The corrections of a system are float64: what is left of zero must not give a fixed clock another curve.
func TestCorrectionsThatRoundToNothingLeaveTheCurve(t *testing.T) {
	w := newWorld(2, 1)
	w.send(0, 1, 1000, 1)
	n := newConstraints(&w.Problem, 100)
	n.correction = make([]float64, len(n.nodes))
	for i := range n.correction {
		n.correction[i] = 1e-9
	}
	for i, c := range n.curves(estimates(w)) {
		if len(c) != 1 {
			t.Errorf("clock %d: %v", i, c)
		}
	}
}
