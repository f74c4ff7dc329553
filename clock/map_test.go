package clock

import (
	"testing"

	"meridian/clock/internal/testrand"
)

// drawMap draws a map whose bounds are curves of their own, some ns to seconds away; either may be absent.
func drawMap[X, Y Time](t *testrand.T, name string) MapOf[X, Y] {
	m := MapOf[X, Y]{Mid: drawCurve[X, Y](t, clocks, name)}
	side := func(sign int64) CurveOf[X, Y] {
		if testrand.IntRange(0, 4).Draw(t, name+" unbounded") == 0 {
			return nil
		}
		c := append(CurveOf[X, Y]{}, m.Mid...)
		by := testrand.Int64Range(0, 1e9).Draw(t, name+" bound")
		for i := range c {
			by += testrand.Int64Range(0, 3).Draw(t, name+" widens")
			c[i].Y = Add(c[i].Y, sign*by)
		}
		if sign < 0 { // what narrows may run back
			for i := len(c) - 2; i >= 0; i-- {
				c[i].Y = min(c[i].Y, c[i+1].Y)
			}
		}
		return c
	}
	m.Low, m.High = side(-1), side(1)
	return m
}

func TestBoundsAreRoundedOutwardsAndTheErrorIsTheLarger(t *testing.T) {
	testrand.Check(t, func(t *testrand.T) {
		m := drawMap[HostTime, TimelineTime](t, "m")
		for _, x := range around(m.Mid) {
			mid := round(exactly(m.Mid, at(x)), Nearest)
			if got := m.At(x); int64(got) != mid {
				t.Fatalf("%v at %d: %d, want %d", m, x, got, mid)
			}
			low, high, lowOK, highOK := m.Bounds(x)
			if lowOK != (m.Low != nil) || highOK != (m.High != nil) {
				t.Fatalf("%v at %d: bounded %v, %v", m, x, lowOK, highOK)
			}
			worst := int64(0)
			if lowOK {
				if want := round(exactly(m.Low, at(x)), Down); int64(low) != want {
					t.Fatalf("%v at %d: low %d, want %d", m, x, low, want)
				}
				worst = max(worst, mid-int64(low))
			}
			if highOK {
				if want := round(exactly(m.High, at(x)), Up); int64(high) != want {
					t.Fatalf("%v at %d: high %d, want %d", m, x, high, want)
				}
				worst = max(worst, int64(high)-mid)
			}
			err, ok := m.Error(x)
			if ok != (lowOK && highOK) || ok && err != worst || !ok && err != 0 {
				t.Fatalf("%v at %d: error %d %v, want %d", m, x, err, ok, worst)
			}
		}
	})
}

// TestEventBoundsHoldEveryReadingThatTheStampStandsFor reads the clock at all of them.
func TestEventBoundsHoldEveryReadingThatTheStampStandsFor(t *testing.T) {
	testrand.Check(t, func(t *testrand.T) {
		m := drawMap[HostTime, TimelineTime](t, "m")
		granularity := testrand.Int64Range(0, 40).Draw(t, "granularity")
		for _, stamp := range around(m.Mid) {
			low, high, lowOK, highOK := m.EventBounds(stamp, granularity)
			if lowOK != (m.Low != nil) || highOK != (m.High != nil) {
				t.Fatalf("%v at %d: bounded %v, %v", m, stamp, lowOK, highOK)
			}
			if lowOK {
				if want := round(exactly(m.Low, at(stamp)), Down); int64(low) != want {
					t.Fatalf("%v at %d: from %d, want %d", m, stamp, low, want)
				}
			}
			if highOK { // the last instant at which the next stamp is not due, in whole ns
				if want := round(exactly(m.High, at(Add(stamp, max(granularity, 1)))), Up) - 1; int64(high) != want {
					t.Fatalf("%v at %d, granularity %d: to %d, want %d", m, stamp, granularity, high, want)
				}
			}
		}
	})
}

func TestErrorIsNeverNegative(t *testing.T) {
	m := Map{Mid: Curve{{0, 100}}, Low: Curve{{0, 107}}, High: Curve{{0, 95}}} // crossed bounds
	if err, ok := m.Error(5); !ok || err != 0 {
		t.Errorf("%d, %v", err, ok)
	}
}

func TestInverseOfAMapEnclosesTheHostTime(t *testing.T) {
	testrand.Check(t, func(t *testrand.T) {
		m := drawMap[HostTime, TimelineTime](t, "m")
		inv := m.Inverse()
		for _, k := range m.Mid {
			if got := inv.At(k.Y); got != k.X && len(inv.Mid) == len(m.Mid) {
				t.Fatalf("from %d back to %d, want %d", k.Y, got, k.X)
			}
		}
		if m.High == nil && inv.Low != nil || m.Low == nil && inv.High != nil {
			t.Fatalf("%v has the inverse %v", m, inv)
		}
		for _, x := range around(m.Mid) {
			// The last instant that the high bound allows at x, the first that the low one does.
			var low, high TimelineTime
			lowOK, highOK := m.Low != nil, m.High != nil
			if lowOK {
				low = TimelineTime(round(exactly(m.Low, at(x)), Up))
			}
			if highOK {
				high = TimelineTime(round(exactly(m.High, at(x)), Down))
			}
			if earliest, _, known, _ := inv.Bounds(high); highOK && known && earliest > x {
				t.Fatalf("%d is at %d at most, which is not before %d", x, high, earliest)
			}
			if _, latest, _, known := inv.Bounds(low); lowOK && known && latest < x {
				t.Fatalf("%d is at %d at least, which is not after %d", x, low, latest)
			}
		}
		// A bound's inverse is the other side's: it goes through the same knots.
		if inv.Low != nil {
			for _, k := range m.High {
				if got := inv.Low.At(k.Y, Down); got > k.X {
					t.Fatalf("low of %d is %d, the high bound has it at %d", k.Y, got, k.X)
				}
			}
		}
	})
	m := Map{Mid: Curve{{0, 100}, {1000, 1100}}, Low: Curve{{0, 90}, {1000, 1080}}, High: Curve{{0, 110}, {1000, 1120}}}
	inv := m.Inverse()
	if low, high, lowOK, highOK := inv.Bounds(600); !lowOK || !highOK || low != 485 || high != 516 {
		t.Errorf("host time of 600 in [%d %d]", low, high)
	}
}

// TestComposedMapsEncloseTheExactComposition holds each of the three curves against the exact composition of its own two.
func TestComposedMapsEncloseTheExactComposition(t *testing.T) {
	testrand.Check(t, func(t *testrand.T) {
		m, next := drawMap[HostTime, HostTime](t, "m"), drawMap[HostTime, TimelineTime](t, "next")
		by := m.Mid[0].Y - next.Mid[0].X
		for _, c := range []Curve{next.Mid, next.Low, next.High} {
			for i := range c {
				c[i].X += by
			}
		}
		both := ComposeMaps(&m, &next)
		if (both.Low == nil) != (m.Low == nil || next.Low == nil) || (both.High == nil) != (m.High == nil || next.High == nil) {
			t.Fatalf("%v and %v make %v", m, next, both)
		}
		for _, x := range around(m.Mid) {
			exact := exactly(next.Mid, exactly(m.Mid, at(x)))
			checkOutwards(t, "estimate", int64(x), int64(both.At(x))+composed/2, exact, Up, composed)
			if both.Low != nil {
				checkOutwards(t, "low", int64(x), int64(both.Low.At(x, Down)), exactly(next.Low, exactly(m.Low, at(x))), Down, 2*composed)
			}
			if both.High != nil {
				checkOutwards(t, "high", int64(x), int64(both.High.At(x, Up)), exactly(next.High, exactly(m.High, at(x))), Up, 2*composed)
			}
		}
	})
}

func TestIdentityChangesNothing(t *testing.T) {
	m, p := Identity(), PairIdentity()
	for _, x := range ends {
		low, high, lowOK, highOK := m.Bounds(HostTime(x))
		if m.At(HostTime(x)) != TimelineTime(x) || int64(low) != x || int64(high) != x || !lowOK || !highOK {
			t.Errorf("%d: %d in [%d %d]", x, m.At(HostTime(x)), low, high)
		}
		other, same, lowOK, highOK := p.Bounds(HostTime(x))
		if p.At(HostTime(x)) != HostTime(x) || int64(other) != x || int64(same) != x || !lowOK || !highOK {
			t.Errorf("%d: %d in [%d %d]", x, p.At(HostTime(x)), other, same)
		}
	}
}

func TestConvertedMapHasTheSameCurves(t *testing.T) {
	p := PairMap{Mid: PairCurve{{1, 2}}, High: PairCurve{{3, 4}, {5, 6}}}
	m := ConvertMap[HostTime, TimelineTime](&p)
	if len(m.Mid) != 1 || m.Mid[0] != (Knot{1, 2}) || m.Low != nil || len(m.High) != 2 || m.High[1] != (Knot{5, 6}) {
		t.Errorf("%v", m)
	}
	p.Low, p.High = p.High, nil
	if m = ConvertMap[HostTime, TimelineTime](&p); m.High != nil || len(m.Low) != 2 || m.Low[0] != (Knot{3, 4}) {
		t.Errorf("%v", m)
	}
}
