package online_test

import (
	"math/rand/v2"
	"testing"

	"meridian/align/bound"
	"meridian/align/online"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// The bound of a Strict is that of align/bound over the same messages: never narrower, and wider by no more than what both round
// outwards. Messages overtake each other.
func TestStrictIsTheCorridorAtTheLeadingEdge(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		a := bound.Assumption{Wander: []float64{0, 3, 30, 300}[seed%4], Epsilon: 100, MaxSkew: 500}
		step := []int64{1, 1000}[seed/4%2]
		p := online.NewStrict(a, 1e15, step, step, 0, 0)
		problem := pair.Problem{A: trace.Clock{Granularity: step}, B: trace.Clock{Granularity: step}}
		var ab, ba []trace.Message
		base, skew := r.Int64N(1e18), (r.Float64()-0.5)*200e-6
		onB := func(x int64) clock.HostTime { return clock.HostTime(base + x + int64(skew*float64(x))) }
		cut := func(x clock.HostTime) clock.HostTime { return x / clock.HostTime(step) * clock.HostTime(step) }
		origin := r.Int64N(1e18)
		at := func(x int64) clock.HostTime { return clock.HostTime(origin + x) }
		latest := clock.HostTime(0)
		for i := range 400 {
			x := int64(i)*1e8 + r.Int64N(3e8) // out of order
			d := int64(1e5 * (1 + r.ExpFloat64()))
			if r.IntN(2) == 0 {
				m := trace.Message{Sent: cut(at(x)), Received: cut(onB(x + d))}
				ab, latest = append(ab, m), max(latest, m.Sent)
				p.AB(m)
			} else {
				m := trace.Message{Sent: cut(onB(x)), Received: cut(at(x + d))}
				ba, latest = append(ba, m), max(latest, m.Received)
				p.BA(m)
			}
			if i%40 != 39 {
				continue
			}
			problem.AB, problem.BA = pair.Messages{ab}, pair.Messages{ba}
			c := bound.New(&problem, a)
			for _, ahead := range []clock.HostTime{0, 1e6, 1e9, 3e10} {
				x := latest + ahead
				low, high, lowOK, highOK, ok := p.At(x)
				wantLow, wantHigh, wantLowOK, wantHighOK, wantOK := c.At(x)
				if lowOK != wantLowOK || highOK != wantHighOK || ok != wantOK {
					t.Fatalf("seed %d, %d messages: bounded %t %t %t, the corridor %t %t %t", seed, i, lowOK, highOK, ok, wantLowOK, wantHighOK, wantOK)
				}
				const rounding = 4
				if d := int64(wantLow - low); lowOK && (d < -rounding || d > rounding) {
					t.Errorf("seed %d, %d messages, %d ns ahead: low %d ns below the corridor's", seed, i, ahead, d)
				}
				if d := int64(high - wantHigh); highOK && (d < -rounding || d > rounding) {
					t.Errorf("seed %d, %d messages, %d ns ahead: high %d ns above the corridor's", seed, i, ahead, d)
				}
				if truth := onB(int64(x) - origin); ok && (lowOK && truth < low || highOK && truth > high) {
					t.Errorf("seed %d: truth %d not within [%d, %d]", seed, truth, low, high)
				}
			}
		}
	}
}

// A window forgets what is older, up to a sixtieth of it, and nothing else.
func TestStrictForgetsWhatIsOlderThanItsWindow(t *testing.T) {
	a := bound.Assumption{Wander: 30, Epsilon: 100, MaxSkew: 500}
	const window = int64(10e9)
	r := rand.New(rand.NewPCG(1, 2))
	p := online.NewStrict(a, window, 1, 1, 0, 0)
	var all []struct {
		m     trace.Message
		ahead bool
	}
	for i := range 30_000 { // 50 minutes: origins move
		x := int64(i) * 1e8
		d := int64(1e5 * (1 + r.ExpFloat64()))
		m := trace.Message{Sent: clock.HostTime(x), Received: clock.HostTime(x + d)}
		all = append(all, struct {
			m     trace.Message
			ahead bool
		}{m, i%2 == 0})
		if i%2 == 0 {
			p.AB(m)
		} else {
			p.BA(m)
		}
		if i%997 != 996 {
			continue
		}
		corridor := func(length int64) (low, high clock.HostTime) {
			problem := pair.Problem{AB: pair.Messages{nil}, BA: pair.Messages{nil}}
			at, _ := p.Last()
			for _, q := range all[max(0, len(all)-500):] {
				on := q.m.Received
				if q.ahead {
					on = q.m.Sent
				}
				if clock.Sub(at, on) > length {
					continue
				}
				if q.ahead {
					problem.AB[0] = append(problem.AB[0], q.m)
				} else {
					problem.BA[0] = append(problem.BA[0], q.m)
				}
			}
			low, high, _, _, _ = bound.New(&problem, a).At(at)
			return low, high
		}
		at, _ := p.Last()
		low, high, _, _, ok := p.At(at)
		wideLow, wideHigh := corridor(window)
		tightLow, tightHigh := corridor(window + 2*window/60)
		if !ok || low < wideLow-4 || high > wideHigh+4 || low > tightLow+4 || high < tightHigh-4 {
			t.Fatalf("message %d: [%d, %d], by the window [%d, %d], by a thirtieth more [%d, %d]", i, low, high, wideLow, wideHigh, tightLow, tightHigh)
		}
	}
}

func TestStrictKnowsMessagesThatContradict(t *testing.T) {
	p := online.NewStrict(bound.Default, 60e9, 1, 1, 0, 0)
	p.AB(trace.Message{Sent: 0, Received: 100e3})
	p.BA(trace.Message{Sent: 100e3, Received: 200e3})
	if p.Contradictory() {
		t.Error("an exchange contradicts itself")
	}
	p.BA(trace.Message{Sent: 2e6, Received: 1e6}) // the offset is a millisecond now
	if !p.Contradictory() {
		t.Error("a step of a millisecond after a millisecond is not seen")
	}
	p.Reset()
	if _, any := p.Last(); any || p.Contradictory() {
		t.Error("something is left after Reset")
	}
}
