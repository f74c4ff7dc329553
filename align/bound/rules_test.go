package bound

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

func TestAssumptionsThatBoundNothingAreRefused(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		wander, epsilon float64
		fine            bool
	}{{0, 0, true}, {30, 100, true}, {0, 5, true}, {5, 0, true}, {-1, 5, false}, {5, -1, false}, {nan, 5, false}, {5, nan, false}, {inf, 5, false}, {5, inf, false}, {-1, -1, false}, {inf, inf, false}} {
		if err := (Assumption{Wander: c.wander, Epsilon: c.epsilon}).Check(); (err == nil) != c.fine {
			t.Errorf("wander %g, epsilon %g: %v", c.wander, c.epsilon, err)
		}
	}
	for a, linear := range map[Assumption]bool{{}: true, {Wander: 1}: false, {Epsilon: 1}: false, {Wander: 1, Epsilon: 1}: false} {
		if got := strings.Contains(a.String(), "linear"); got != linear {
			t.Errorf("%+v: %s", a, a)
		}
	}
}

func TestAWalkOrAnEpsilonOfNothingHasNoWander(t *testing.T) {
	for _, c := range [][2]float64{{0, 100}, {-1, 100}, {-1e-9, 100}, {1e-9, 0}, {1e-9, -1}, {1e-9, -0.5}, {0, 0}} {
		if a := FromWalk(c[0], 5, c[1]); a != (Assumption{Epsilon: c[1]}) {
			t.Errorf("sigma %g, epsilon %g: %+v", c[0], c[1], a)
		}
	}
}

func TestSagIsEpsilonAndTheParabolaOverHalfThePiece(t *testing.T) {
	for _, c := range []struct{ wander, epsilon, seconds, want float64 }{{0, 0, 9, 0}, {30, 100, 1, 103.75}, {30, 100, 4, 160}, {30, 0, 2, 15}, {0, 100, 7, 100}} {
		if got := (Assumption{Wander: c.wander, Epsilon: c.epsilon}).Sag(c.seconds * 1e9); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %g", c, got)
		}
	}
}

// linear is a problem of clocks that are equal, with a message each way at every step of [first, last].
func linear(first, last clock.HostTime, step int64) *pair.Problem {
	var there, back []trace.Message
	for x := first; x <= last; x += clock.HostTime(step) {
		there = append(there, trace.Message{Sent: clock.HostTime(x), Received: clock.HostTime(x + 50_000)})
		back = append(back, trace.Message{Sent: clock.HostTime(x - 30_000), Received: clock.HostTime(x + 20_000)})
	}
	return &pair.Problem{AB: pair.Messages{there}, BA: pair.Messages{back}}
}

// stepOf is the length of pieces over the messages.
func stepOf(c *Corridor) float64 {
	return tracer{c}.step(c.curvature(), tracer{c}.chords(tracer{c}.regions()))
}

func TestPiecesAreSoShortThatTheySagByASixteenthOfEpsilon(t *testing.T) {
	const second = clock.HostTime(1_000_000_000)
	for _, c := range []struct {
		wander, epsilon float64
		span            clock.HostTime
		want            float64
	}{
		{30, 100, clock.HostTime(80 * int64(second)), math.Sqrt(8*100/16.0/30) * 1e9}, {30, 1600, clock.HostTime(80 * int64(second)), math.Sqrt(8*100/30.0) * 1e9},
		{30, 0, clock.HostTime(80 * int64(second)), math.Sqrt(8/30.0) * 1e9}, {30, 8, clock.HostTime(80 * int64(second)), math.Sqrt(8/30.0) * 1e9}, // a nanosecond at least
		{30, 100, second, 0.5e9}, // two pieces at least
		{30, 100, clock.HostTime(36_000 * int64(second)), 36_000e9 / 4096.0}, // 4096 at most
		{0, 100, clock.HostTime(80 * int64(second)), 80e9 / 256}, {0, 0, 256_000, 1000}, {0, 0, 100, 1}, {1e12, 0, 10_000, 2828.4271247461903},
	} {
		var p pair.Problem
		for _, x := range []clock.HostTime{clock.HostTime(7 * int64(second)), clock.HostTime(7*int64(second)) + c.span} {
			p.AB = append(p.AB, []trace.Message{{Sent: clock.HostTime(x), Received: clock.HostTime(x)}})
		}
		if got := stepOf(New(&p, Assumption{Wander: c.wander, Epsilon: c.epsilon})); math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("%+v: pieces of %g ns", c, got)
		}
	}
}

func TestKnotsAreEvenOverTheMessagesAndEverSparserBeyond(t *testing.T) {
	const second = int64(1_000_000_000)
	for _, origin := range []clock.HostTime{0, clock.HostTime(1_790_000_000 * second), clock.HostTime(-40 * second)} {
		from, to := origin+clock.HostTime(20*second), origin+clock.HostTime(100*second)
		p := linear(from, to, 5*second)
		p.BA = nil
		c := New(p, Default)
		if first, last := c.Extent(); clock.HostTime(first) != from || clock.HostTime(last) != to {
			t.Fatalf("messages from %d to %d, not %d to %d", first, last, from, to)
		}
		step := int64(stepOf(c))
		for _, reach := range []int64{0, 1, step / 3, step, 3 * step, 200 * second} {
			at := c.Instants(clock.HostTime(from-clock.HostTime(reach)), clock.HostTime(to+clock.HostTime(reach)))
			if clock.HostTime(at[0]) != from-clock.HostTime(reach) || clock.HostTime(at[len(at)-1]) != to+clock.HostTime(reach) {
				t.Fatalf("reach %d: from %d to %d", reach, int64(clock.HostTime(at[0])-from), int64(clock.HostTime(at[len(at)-1])-to))
			}
			inside, allowed := 0, map[int64]bool{reach: true}
			for h := step; h < reach; h += max(h/8, 1) {
				allowed[h] = true
			}
			for i, x := range at {
				switch x := clock.HostTime(x); {
				case i > 0 && x <= clock.HostTime(at[i-1]):
					t.Fatal("knots that do not ascend")
				case x >= from && x <= to:
					inside++
					if n := int64(x-from) % (int64(to-from) / 62); x != to && n > 62 && n < int64(to-from)/62-62 { // 62 pieces of 80 s / 1.29 s
						t.Fatalf("reach %d: a knot %d ns behind the first message, not on the grid", reach, int64(x-from))
					}
				case x < from && !allowed[int64(from-x)], x > to && !allowed[int64(x-to)]:
					t.Fatalf("reach %d: a knot %d before or %d behind the messages", reach, int64(from-x), int64(x-to))
				}
			}
			// Only the two outermost pieces may swallow a knot.
			if want := len(allowed); reach > 0 && (len(at)-inside < 2*want-2 || len(at)-inside > 2*want) || inside < 63-2 || inside > 63 {
				t.Errorf("reach %d: %d knots beyond the messages, %d over them", reach, len(at)-inside, inside)
			}
			if n := len(at) - 1; n > 1 && (int64(at[1]-at[0]) < int64(at[2]-at[1])/2 || int64(at[n]-at[n-1]) < int64(at[n-1]-at[n-2])/2) {
				t.Errorf("reach %d: the outermost pieces are shorter than half of their neighbours", reach)
			}
		}
	}
}

func TestShortOutermostPiecesAreJoinedWithTheirNeighbours(t *testing.T) {
	for _, c := range []struct{ at, want []clock.HostTime }{
		{[]clock.HostTime{0}, []clock.HostTime{0}}, {[]clock.HostTime{0, 1}, []clock.HostTime{0, 1}},
		{[]clock.HostTime{0, 4, 14}, []clock.HostTime{0, 14}}, {[]clock.HostTime{0, 5, 15}, []clock.HostTime{0, 5, 15}}, {[]clock.HostTime{0, 10, 14}, []clock.HostTime{0, 14}}, {[]clock.HostTime{0, 10, 15}, []clock.HostTime{0, 10, 15}},
		{[]clock.HostTime{0, 1, 11, 21, 22}, []clock.HostTime{0, 11, 22}}, {[]clock.HostTime{0, 10, 20, 30}, []clock.HostTime{0, 10, 20, 30}}, {[]clock.HostTime{-50, -48, -30, 0, 30, 33}, []clock.HostTime{-50, -30, 0, 33}},
		{[]clock.HostTime{0, 1, 11}, []clock.HostTime{0, 11}},
	} {
		if got := longEnds(slices.Clone(c.at)); !slices.Equal(got, c.want) {
			t.Errorf("%v becomes %v, want %v", c.at, got, c.want)
		}
	}
}

// TestKnotsLieOutsideTheBoundsByTheSagOfTheLongerPieceBesideThem reads the bounds one by one.
func TestKnotsLieOutsideTheBoundsByTheSagOfTheLongerPieceBesideThem(t *testing.T) {
	const second = int64(1_000_000_000)
	c := New(linear(clock.HostTime(1000*second), clock.HostTime(1060*second), 10*second), Assumption{Wander: 3000, Epsilon: 100})
	for reach := clock.HostTime(37 * second); reach < clock.HostTime(120*second); reach += clock.HostTime(7 * second) { // the last piece may be the shorter one
		low, high, ok := c.Curves(clock.HostTime(clock.HostTime(1000*second)-reach), clock.HostTime(clock.HostTime(1060*second)+reach))
		if !ok {
			t.Fatal("contradicted")
		}
		liesOutside(t, c, low, high)
	}
	if low, _, _ := c.Curves(clock.HostTime(clock.HostTime(1020*second)), clock.HostTime(clock.HostTime(1030*second))); int64(low[0].X) != 1000*second || int64(low[len(low)-1].X) != 1060*second+20_000 {
		t.Error("curves that do not reach over all messages")
	}
}

func liesOutside(t *testing.T, c *Corridor, low, high clock.PairCurve) {
	t.Helper()
	const second = int64(1_000_000_000)
	n := len(low)
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	sag := func(i int) int64 {
		i = min(max(i, 1), n-2)
		h := max(int64(low[i].X-low[i-1].X), int64(low[i+1].X-low[i].X))
		s := float64(h) * 1e-9
		return int64(math.Ceil(100 + 3000*s*s/8))
	}
	for i := range n {
		_, h, _, _, _ := c.At(high[i].X)
		most = max(most, int64(h)+sag(i))
		if got := int64(high[i].Y); got < most-1 || got > most+1 {
			t.Errorf("upper knot %d of %d: %d, want %d", i, n, got-1000*second, most-1000*second)
		}
		l, _, _, _, _ := c.At(low[n-1-i].X)
		least = min(least, int64(l)-sag(n-1-i))
		if got := int64(low[n-1-i].Y); got < least-1 || got > least+1 {
			t.Errorf("lower knot %d of %d: %d, want %d", n-1-i, n, got-1000*second, least-1000*second)
		}
	}
}

func TestACorridorIsEmptyWithoutMessages(t *testing.T) {
	p := linear(0, 1000, 100)
	for _, c := range []struct {
		p    pair.Problem
		want bool
	}{{pair.Problem{}, true}, {pair.Problem{AB: p.AB}, false}, {pair.Problem{BA: p.BA}, false}, {*p, false}} {
		if got := New(&c.p, Default).Empty(); got != c.want {
			t.Errorf("%d and %d messages: empty %v", c.p.AB.Len(), c.p.BA.Len(), got)
		}
	}
}

func TestBoundsThatTouchDoNotContradictEachOther(t *testing.T) {
	for _, c := range []struct {
		back clock.HostTime
		fine bool
	}{{1, true}, {2, false}} { // a ceiling of 0 ns, and a floor of 0 or of 1 ns
		p := pair.Problem{AB: pair.Messages{{{Sent: 1000, Received: 999}}}, BA: pair.Messages{{{Sent: clock.HostTime(1000 + c.back), Received: 1000}}}}
		if low, high, lowOK, highOK, ok := New(&p, Assumption{}).At(1000); ok != c.fine || lowOK != ok || highOK != ok || ok && (low > 1000 || high < 1000) {
			t.Errorf("%d ns back: %v, from %d to %d", c.back, ok, low, high)
		}
	}
}

// TestBoundsFanOutFromAnInstantAtWhichTheClocksAreKnownExactly: there every slope leaves a gap of nothing; how steep the bounds run
// is for the other messages to say.
func TestBoundsFanOutFromAnInstantAtWhichTheClocksAreKnownExactly(t *testing.T) {
	// With a step of 1 ns, b's clock less a's is 0 at the instant, at most 100 ns a µs behind it and at least -60 ns two µs
	// behind it.
	for _, origin := range []clock.HostTime{0, 1_790_000_000_000_000_000} {
		p := pair.Problem{
			AB: pair.Messages{{{Sent: origin, Received: origin - 1}, {Sent: origin + 1000, Received: origin + 1000 + 99}}},
			BA: pair.Messages{{{Sent: origin + 1, Received: origin}, {Sent: origin + 2000 - 59, Received: origin + 2000}}},
		}
		c := New(&p, Assumption{})
		for at := int64(-5000); at <= 5000; at += 250 {
			least, most := -60*at/2000, 100*at/1000
			if at < 0 {
				least, most = most, least
			}
			x := origin + clock.HostTime(at)
			low, high, lowOK, highOK, ok := c.At(x)
			if !lowOK || !highOK || !ok {
				t.Fatalf("%d ns from the instant: bounded %v %v, consistent %v", at, lowOK, highOK, ok)
			}
			if l, h := int64(low-x), int64(high-x); l > least || l < least-2 || h < most || h > most+2 {
				t.Errorf("%d ns from the instant: from %d to %d ns, want %d to %d", at, l, h, least, most)
			}
		}
	}
}

// TestBoundsAreRoundedOutwards: a bound at a whole ns may have lost less than float64's last digits, and goes one further.
func TestBoundsAreRoundedOutwards(t *testing.T) {
	p := pair.Problem{AB: pair.Messages{{{Sent: 1000, Received: 4000}}}, BA: pair.Messages{{{Sent: 3500, Received: 1000}}}}
	if low, high, _, _, _ := New(&p, Assumption{}).At(1000); low != 3500-2 || high != 4000+2 { // a step of 1 ns, and outwards
		t.Errorf("from %d to %d", low, high)
	}
}

func TestTheOriginIsInTheMiddleAndTheGuardThatOfTheGreatestNumber(t *testing.T) {
	for _, first := range []clock.HostTime{0, -7_000, 1_790_000_000_000_000_000} {
		var p pair.Problem
		for _, x := range []clock.HostTime{first + 300, first, first + 1000} {
			p.BA = append(p.BA, []trace.Message{{Sent: clock.HostTime(x - 1_000_000), Received: clock.HostTime(x)}})
		}
		c := New(&p, Assumption{})
		if clock.HostTime(c.middle) != first+500 || c.first != -500 || c.last != 500 {
			t.Errorf("from %d: middle %d, from %g to %g", first, c.middle, c.first, c.last)
		}
		if want := 1e-6 + 1*0x1p-48; math.Abs(c.guard-want) > 1e-20 { // all but the step cancels
			t.Errorf("guard %g, want %g", c.guard, want)
		}
		p.AB = append(p.AB, []trace.Message{{Sent: clock.HostTime(first + 100), Received: clock.HostTime(first + 100 + 1<<40)}})
		if c := New(&p, Assumption{}); c.guard < 1e-6+0x1p-9 || c.guard > 1e-6+0x1p-7 {
			t.Errorf("guard %g", c.guard)
		}
		c = New(&pair.Problem{AB: pair.Messages{{{Sent: clock.HostTime(first), Received: clock.HostTime(first)}, {Sent: clock.HostTime(first + 2_000_000_000_000), Received: clock.HostTime(first + 2_000_000_000_000)}}}}, Assumption{Wander: 1e9})
		// 1e9 ppb/s over 1000 s to either side is 5e14 ns, in the corner and in the reach.
		if want := 1e-6 + 1e15*0x1p-48; math.Abs(c.guard-want) > 1e-9*want {
			t.Errorf("guard %g of a parabola, want %g", c.guard, want)
		}
	}
}

// TestHullsTouchEveryLineThatAllPointsDo: whatever the order of the messages and however many there are.
func TestHullsTouchEveryLineThatAllPointsDo(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		n, run int // messages, of which so many are in order one after the other
	}{{3, 3}, {100, 1}, {100, 31}, {100, 32}, {100, 33}, {300, 300}, {5_000, 700}, {9_000, 1}, {9_000, 9_000}} {
		var list []trace.Message
		for len(list) < c.n {
			x := clock.HostTime(r.Int64N(1_000_000))
			for range min(c.run, c.n-len(list)) {
				list = append(list, trace.Message{Sent: clock.HostTime(x), Received: clock.HostTime(x + clock.HostTime(r.Int64N(1_000)))})
				x += clock.HostTime(r.Int64N(30))
			}
		}
		at := func(m trace.Message) point { return point{float64(m.Sent), float64(m.Received - m.Sent)} }
		for _, side := range []float64{1, -1} {
			hull := hullOf(pair.Messages{list[:c.n/3], list[c.n/3:]}, side, at)
			for range 100 {
				slope := r.NormFloat64() * 0.01
				best := math.Inf(1)
				for _, m := range list {
					q := at(m)
					best = min(best, side*(q.y-slope*q.x))
				}
				q := touch(hull, slope, side)
				if got := side * (q.y - slope*q.x); math.Abs(got-best) > 1e-9*(1+math.Abs(best)) {
					t.Fatalf("%d messages, %d in order, side %g: the line of slope %g touches at %g, not %g", c.n, c.run, side, slope, got, best)
				}
			}
			for i := 2; i < len(hull); i++ {
				a, b, q := hull[i-2], hull[i-1], hull[i]
				if side*((b.x-a.x)*(q.y-a.y)-(q.x-a.x)*(b.y-a.y)) <= 0 {
					t.Fatalf("%d messages, %d in order: corner %d of the hull is none", c.n, c.run, i-1)
				}
			}
		}
	}
}
