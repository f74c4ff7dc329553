package bound

import (
	"fmt"
	"math"
	"testing"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// bending returns the messages of clocks whose offset bends by so many ppb/s, with delays of 1 ns, over a span in which the
// bend amounts to a millisecond.
func bending(ppb, skew float64, origin clock.HostTime) *pair.Problem {
	const messages = 200
	span := math.Sqrt(2e6 / (ppb * 1e-18))
	var p pair.Problem
	for i := range messages + 1 {
		x := math.Round(span * float64(i) / messages)
		sent := origin + clock.HostTime(x)
		shown := sent + clock.HostTime(math.Round(skew*x+ppb*1e-18*x*x/2))
		p.AB = append(p.AB, []trace.Message{{Sent: sent, Received: shown + 1}})
		p.BA = append(p.BA, []trace.Message{{Sent: shown - 1, Received: sent}})
	}
	return &p
}

func TestLeastWanderIsThatOfTheClocksWhateverItsSize(t *testing.T) {
	for _, ppb := range []float64{0.004, 0.3, 1, 30, 7e5, 2e9} {
		for _, origin := range []clock.HostTime{0, 1_790_000_000_000_000_000} {
			p := bending(ppb, 0, origin)
			got := Least(p, 0)
			if got < 0.999*ppb || got > 1.021*ppb {
				t.Errorf("clocks that bend by %g ppb/s: least wander %g", ppb, got)
			}
			for _, c := range []struct {
				wander     float64
				consistent bool
			}{{0.99 * ppb, false}, {1.001 * ppb, true}} {
				if got := New(p, Assumption{Wander: c.wander}).Consistent(); got != c.consistent {
					t.Errorf("clocks that bend by %g ppb/s are consistent with a wander of %g: %v", ppb, c.wander, got)
				}
			}
		}
	}
}

func TestLinearClocksNeedNoWander(t *testing.T) {
	for _, skew := range []float64{0, 1e-4, -3e-5} {
		var p pair.Problem
		for x := int64(0); x <= 100_000_000_000; x += 1_000_000_000 {
			shown := clock.HostTime(x + int64(math.Round(skew*float64(x))))
			p.AB = append(p.AB, []trace.Message{{Sent: clock.HostTime(x), Received: shown + 1}})
			p.BA = append(p.BA, []trace.Message{{Sent: shown - 1, Received: clock.HostTime(x)}})
		}
		if got := Least(&p, 0); got != 0 {
			t.Errorf("skew %g: least wander %g", skew, got)
		}
		if got := Least(&pair.Problem{AB: p.AB}, 0); got != 0 {
			t.Errorf("skew %g, messages one way: least wander %g", skew, got)
		}
	}
}

// TestOneMessageIsEnoughToContradictThoseBack: the two directions leave a gap of -2 ns at one instant, where no wander helps.
func TestOneMessageIsEnoughToContradictThoseBack(t *testing.T) {
	there := func(x clock.HostTime) trace.Message { return trace.Message{Sent: x, Received: x - 4} }
	back := func(x clock.HostTime) trace.Message { return trace.Message{Sent: x, Received: x} }
	around := []clock.HostTime{0, 4_000_000, 5_000_000, 6_000_000, 9_000_000}
	for name, at := range map[string][2][]clock.HostTime{
		"one each way": {{5_000_000}, {5_000_000}}, "one there": {{5_000_000}, around}, "one back": {around, {5_000_000}}, "many": {around, around},
	} {
		var p pair.Problem
		for _, x := range at[0] {
			p.AB = append(p.AB, []trace.Message{there(x)})
		}
		for _, x := range at[1] {
			p.BA = append(p.BA, []trace.Message{back(x)})
		}
		for _, wander := range []float64{0, 30, 1e12} {
			if New(&p, Assumption{Wander: wander}).Consistent() {
				t.Errorf("%s: consistent with a wander of %g ppb/s", name, wander)
			}
		}
		if got := Least(&p, 0); !math.IsInf(got, 1) {
			t.Errorf("%s: least wander %g", name, got)
		}
		if !New(&p, Assumption{Epsilon: 1}).Consistent() || Least(&p, 1) != 0 {
			t.Errorf("%s: not consistent with an epsilon of 1 ns to either side", name)
		}
	}
}

// TestPiecesBeyondTheMessagesGrowByAnEighthOfTheirDistance: on both sides alike.
func TestPiecesBeyondTheMessagesGrowByAnEighthOfTheirDistance(t *testing.T) {
	for _, a := range []Assumption{{}, Default} {
		for _, span := range []clock.HostTime{1, 100, 2_000, 300_000, 80_000_000_000} {
			const from = clock.HostTime(1_790_000_000_000_000_000)
			var p pair.Problem
			for _, x := range []clock.HostTime{from, from + span} {
				p.AB = append(p.AB, []trace.Message{{Sent: x, Received: x}})
			}
			c := New(&p, a)
			step := int64(stepOf(c))
			for _, reach := range []int64{1, 2, step, step + 1, 2 * step, 9 * step, 10 * step, 77*step + 3, 100 * step, 101 * step, 12_345 * step} {
				var before, behind []int64
				for _, x := range c.Instants(from-clock.HostTime(reach), from+span+clock.HostTime(reach)) {
					switch {
					case x < from:
						before = append([]int64{int64(from - x)}, before...)
					case x > from+span:
						behind = append(behind, int64(x-from-span))
					}
				}
				if fmt.Sprint(before) != fmt.Sprint(behind) {
					t.Errorf("%+v, %d ns of messages, %d ns beyond: knots %v before and %v behind them", a, span, reach, before, behind)
				}
				grows(t, behind, step, reach)
			}
		}
	}
}

// grows checks the distances of knots beyond the messages. The outermost piece ends at reach and may have been joined with a
// neighbour twice its length.
func grows(t *testing.T, at []int64, step, reach int64) {
	t.Helper()
	last := len(at) - 1
	if last < 0 || at[last] != reach {
		t.Fatalf("knots %v do not end at %d", at, reach)
	}
	distance, length := int64(0), step
	for i, x := range at {
		if i == last && (x-distance < (length+1)/2 && i > 0 || 2*(x-distance) > 3*length) || i < last && x != distance+length {
			t.Errorf("steps of %d ns: a piece of %d ns behind %d ns, want %d: %v", step, x-distance, distance, length, at)
			return
		}
		distance, length = x, max(x/8, 1)
	}
}
