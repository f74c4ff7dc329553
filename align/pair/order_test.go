package pair

import (
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

func TestKeptCurveInvertsNothingAndStaysWhereItWasKeptAlready(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		const span = 10_000_000_000
		p := &Problem{A: trace.Clock{Last: span}, B: trace.Clock{Last: span}}
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			x := clock.HostTime(rapid.Int64Range(0, span).Draw(t, "x"))
			d := rapid.Int64Range(0, 50_000).Draw(t, "delay")
			if rapid.Bool().Draw(t, "there") {
				p.AB = append(p.AB, []trace.Message{{Sent: x, Received: x + clock.HostTime(d)}})
			} else {
				p.BA = append(p.BA, []trace.Message{{Sent: x, Received: x + clock.HostTime(d)}})
			}
		}
		// The truth is the identity; the estimate strays from it.
		var curve clock.PairCurve
		for x := clock.HostTime(-span); x <= 2*span; x += span / 4 {
			curve = append(curve, clock.PairKnot{X: x, Y: x + clock.HostTime(rapid.Int64Range(-30_000, 30_000).Draw(t, "stray"))})
		}
		kept, ok := RestoreOrder(p, curve)
		if !ok {
			t.Fatal("messages of the identity contradict each other")
		}
		if err := kept.Check(); err != nil {
			t.Fatal(err)
		}
		wrong := int64(0)
		early := func(c clock.PairCurve, m trace.Message, there bool) int64 {
			if there {
				return int64(c.At(m.Sent, clock.Nearest)-m.Received) - 1
			}
			return int64(m.Sent - c.At(m.Received+1, clock.Nearest))
		}
		for _, way := range []struct {
			messages Messages
			there    bool
		}{{p.AB, true}, {p.BA, false}} {
			for m := range way.messages.All() {
				if e := early(kept, m, way.there); e > 2 {
					t.Fatalf("%+v inverted by %d ns", m, e)
				}
				wrong = max(wrong, early(curve, m, way.there))
			}
		}
		for _, k := range kept {
			moved := int64(k.Y - curve.At(k.X, clock.Nearest))
			if max(moved, -moved) > wrong+1 {
				t.Fatalf("pushed aside by %d ns for inversions of %d", moved, wrong)
			}
		}
	})
}

// The curve is so slow that the push which the messages ask for would make it run back.
func TestContradictionUnderASlowCurveIsReported(t *testing.T) {
	p := &Problem{
		AB: Messages{{{Sent: 2_000_000_000, Received: 200_000_000}}},
		BA: Messages{{{Sent: 300_000_000, Received: 1_000_000_000}}},
	}
	slow := clock.PairCurve{{X: 0, Y: 0}, {X: 4_000_000_000, Y: 1_000_000_000}}
	if curve, ok := RestoreOrder(p, slow); ok || len(curve) != 2 {
		t.Errorf("%v, %v: b showed 0.3 s when a showed 1 s, and 0.2 s when a showed 2 s", curve, ok)
	}
}

func TestACurveWithoutKnotsIsReturnedAsItIs(t *testing.T) {
	if curve, ok := RestoreOrder(&Problem{}, nil); ok || curve != nil {
		t.Error(curve, ok)
	}
}
