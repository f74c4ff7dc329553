package clock

import (
	"math/big"
	"slices"
	"testing"

	"meridian/clock/internal/testrand"
)

// bentSlightly are curves with many knots, most of them near a straight line, as bounds of clocks have.
func bentSlightly(t *testrand.T) Curve {
	c := drawCurve[HostTime, TimelineTime](t, shape{steps: []int64{1, 2, 1000, 1_000_000}, flat: testrand.Bool().Draw(t, "flat"), most: 4}, "c")
	k := c[len(c)-1]
	skew := testrand.Int64Range(-200, 200).Draw(t, "skew")
	for range testrand.IntRange(0, 60).Draw(t, "knots") {
		step := testrand.SampledFrom([]int64{1, 30, 1_000_000, 1_000_000_000}).Draw(t, "step")
		rise := step + step/1_000_000*skew + testrand.Int64Range(-6, 6).Draw(t, "aside")
		k = Knot{X: Add(k.X, step), Y: Add(k.Y, max(rise, 0))}
		c = append(c, k)
	}
	return c
}

// TestThinnedCurvesStayOnTheirSideAndWithinTheTolerance compares with the curve itself in rationals, at its corners, between them and
// beyond.
func TestThinnedCurvesStayOnTheirSideAndWithinTheTolerance(t *testing.T) {
	testrand.Check(t, func(t *testrand.T) {
		c := bentSlightly(t)
		tolerance := testrand.SampledFrom([]int64{0, 1, 2, 3, 10, 1000}).Draw(t, "tolerance")
		instants := append(around(c), Add(c[0].X, -far), Add(c[len(c)-1].X, far))
		before := slices.Clone(c)
		for _, r := range []Rounding{Nearest, Down, Up} {
			thin := c.Thin(tolerance, r)
			if !slices.Equal(c, before) {
				t.Fatal("the curve changed")
			}
			if err := thin.Check(); err != nil {
				t.Fatal(err)
			}
			for _, x := range instants {
				exact, got := exactly(c, at(x)), thin.At(x, r)
				if r != Nearest {
					// The nanosecond more is that of rounding the value.
					checkOutwards(t, "thinned curve", int64(x), int64(got), exact, r, tolerance+1)
				} else if off := new(big.Rat).Sub(at(got), exact); off.Abs(off).Cmp(at(tolerance+1)) > 0 {
					t.Fatalf("at %d: %d, %s ns from the curve", x, got, off.FloatString(2))
				}
			}
		}
	})
}

// TestThinningLeavesWhatALineNeeds: a line of many knots becomes one of its outermost pieces, and bends stay.
func TestThinningLeavesWhatALineNeeds(t *testing.T) {
	var line, bends PairCurve
	for i := range HostTime(1000) {
		line = append(line, PairKnot{X: i * 1000, Y: 5 + i*1001})
		bends = append(bends, PairKnot{X: i * 1000, Y: i*1000 + i%2*100})
	}
	for _, r := range []Rounding{Nearest, Down, Up} {
		if got := line.Thin(2, r); len(got) != 4 {
			t.Errorf("rounded %d: %d knots of a line, want 4", r, len(got))
		}
		if got := bends.Thin(2, r); len(got) != 1000 {
			t.Errorf("rounded %d: %d knots of a curve that bends at all 1000", r, len(got))
		}
		if got := bends.Thin(220, r); len(got) > 20 {
			t.Errorf("rounded %d: %d knots of a curve within the tolerance of a line", r, len(got))
		}
	}
}

// TestCompositionsOfThinnedCurvesDoNotGrowAlongAPath: without thinning each hop adds its own knots, and one for each earlier hop's.
func TestCompositionsOfThinnedCurvesDoNotGrowAlongAPath(t *testing.T) {
	const hops, knots, tolerance = 100, 60, 20
	var next Curve
	var hop PairCurve
	for i := range HostTime(knots) {
		x := i * 1_000_000_000
		hop = append(hop, PairKnot{X: x + 17*(i%3), Y: x + 40*i + 30*(i%5)})
	}
	next = ConvertCurve[HostTime, TimelineTime](hop)
	for n := range hops {
		shifted := slices.Clone(hop)
		for i := range shifted {
			shifted[i].X += HostTime(n) * 12_345_678
			shifted[i].Y += HostTime(n) * 12_345_678
		}
		next = ComposeCurves(shifted, next, Up).Thin(tolerance, Up)
	}
	if len(next) > 40*knots {
		t.Errorf("%d knots after %d hops of %d", len(next), hops, knots)
	}
}
