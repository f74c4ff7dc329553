package clock

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"meridian/clock/internal/testrand"
)

// origins are where curves begin: at 0, beside it, now, mirrored, and at both ends of what a clock may show. Nothing may depend on
// where a curve lies.
var origins = []int64{0, -5, 7, 1_790_000_000_000_000_000, -1_790_000_000_000_000_001, Limit - 1<<51, -Limit, -Limit + 12345}

// shape says what curves are drawn.
type shape struct {
	steps []int64 // lengths of pieces
	flat  bool    // pieces may stand still and be as steep as 4; else they run at half to twice the speed
	most  int     // knots
}

var clocks = shape{steps: []int64{1, 2, 3, 1000, 86_400_000_000_000}, most: 6}

func drawCurve[X, Y Time](t *testrand.T, s shape, name string) CurveOf[X, Y] {
	k := KnotOf[X, Y]{X: X(testrand.SampledFrom(origins).Draw(t, name+" x")), Y: Y(testrand.SampledFrom(origins).Draw(t, name+" y"))}
	k.Y += Y(testrand.Int64Range(-1e10, 1e10).Draw(t, name+" offset"))
	var c CurveOf[X, Y]
	for range testrand.IntRange(1, s.most).Draw(t, name+" knots") {
		c = append(c, k)
		step := testrand.SampledFrom(s.steps).Draw(t, name+" step")
		rise := (step+1)/2 + testrand.Int64Range(0, 3*step/2).Draw(t, name+" rise")
		if s.flat {
			rise = testrand.Int64Range(0, 4*step).Draw(t, name+" rise") * testrand.Int64Range(0, 1).Draw(t, name+" moves")
		}
		k.X, k.Y = k.X+X(step), k.Y+Y(rise)
	}
	return c
}

// at turns an integer into a rational.
func at[T Time](t T) *big.Rat { return new(big.Rat).SetInt64(int64(t)) }

// pieceOf returns the index of the piece on which x lies: a corner begins the piece after it.
func pieceOf[X, Y Time](c CurveOf[X, Y], x *big.Rat) int {
	i := 0
	for i+2 < len(c) && x.Cmp(at(c[i+1].X)) >= 0 {
		i++
	}
	return i
}

// exactly returns the value of a curve in rationals.
func exactly[X, Y Time](c CurveOf[X, Y], x *big.Rat) *big.Rat {
	i := pieceOf(c, x)
	slope := big.NewRat(1, 1)
	if len(c) > 1 {
		slope = new(big.Rat).Quo(new(big.Rat).Sub(at(c[i+1].Y), at(c[i].Y)), new(big.Rat).Sub(at(c[i+1].X), at(c[i].X)))
	}
	v := new(big.Rat).Sub(x, at(c[i].X))
	return v.Add(v.Mul(v, slope), at(c[i].Y))
}

// around returns the instants at, beside and between the corners of a curve, and some beyond its ends.
func around[X, Y Time](c CurveOf[X, Y]) []X {
	var all []X
	for i, k := range c {
		for _, off := range []int64{0, 1, -1, 2, -2, 7, -7, 100_000_000, -100_000_000} {
			all = append(all, Add(k.X, off))
		}
		if i > 0 {
			all = append(all, c[i-1].X+(k.X-c[i-1].X)/2, c[i-1].X+(k.X-c[i-1].X)/3)
		}
	}
	return all
}

func TestCurveIsExactWithinAndBeyondItsKnots(t *testing.T) {
	for name, s := range map[string]shape{"clocks": clocks, "flat": {steps: []int64{1, 2, 5, 1000}, flat: true, most: 12}} {
		t.Run(name, func(t *testing.T) {
			testrand.Check(t, func(t *testrand.T) {
				c := drawCurve[HostTime, TimelineTime](t, s, "c")
				if err := c.Check(); err != nil {
					t.Fatal(err)
				}
				for _, x := range around(c) {
					exact := exactly(c, at(x))
					for _, r := range []Rounding{Nearest, Down, Up} {
						if got, want := c.At(x, r), round(exact, r); int64(got) != want {
							t.Fatalf("%v at %d rounded %d: %d, want %d", c, x, r, got, want)
						}
					}
				}
			})
		})
	}
}

func TestCursorAgreesWithItsCurveHoweverItMoves(t *testing.T) {
	testrand.Check(t, func(t *testrand.T) {
		c := drawCurve[HostTime, TimelineTime](t, shape{steps: []int64{1, 2, 1000}, flat: true, most: 40}, "c")
		instants := around(c)
		if testrand.Bool().Draw(t, "forward") {
			slices.Sort(instants)
		}
		u := NewCursor(c)
		for n := range 200 {
			x := instants[n%len(instants)]
			if testrand.IntRange(0, 3).Draw(t, "jump") == 0 {
				x = testrand.SampledFrom(instants).Draw(t, "to")
			}
			r := testrand.SampledFrom([]Rounding{Nearest, Down, Up}).Draw(t, "rounding")
			if got, want := u.Rounded(x, r), round(exactly(c, at(x)), r); int64(got) != want {
				t.Fatalf("%v at %d rounded %d: %d, want %d", c, x, r, got, want)
			}
			if got, want := u.Piece(), pieceOf(c, at(x)); got != want {
				t.Fatalf("%v at %d: piece %d, want %d", c, x, got, want)
			}
			if got, want := u.At(x), round(exactly(c, at(x)), Nearest); int64(got) != want {
				t.Fatalf("%v at %d: %d, want %d", c, x, got, want)
			}
		}
	})
}

func TestCheckRefusesWhatIsNoFunctionOrRunsBack(t *testing.T) {
	for want, c := range map[string]Curve{
		"":                                     {{5, 5}},
		"no knots":                             {},
		"knot 1 at 7 does not follow":          {{7, 0}, {7, 5}},
		"knot 2 at 8 does not follow":          {{7, 0}, {9, 5}, {8, 6}},
		"knot 2 runs back from 5 to 4":         {{7, 0}, {8, 5}, {9, 4}},
		"knot 1 at -9 does not follow the one": {{-8, 0}, {-9, 5}},
		"knots 1 and 2 are further apart":      {{-Limit - 1, 0}, {-Limit, 1}, {Limit, 2}},
		"knots 0 and 1 are further apart":      {{0, math.MinInt64}, {1, 0}},
	} {
		switch err := c.Check(); {
		case want == "" && err != nil:
			t.Errorf("%v: %v", c, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%v: %v, want %q", c, err, want)
		}
	}
	if err := (Curve{{1, 5}, {2, 5}, {3, 5}}).Check(); err != nil {
		t.Errorf("a curve that stands still: %v", err)
	}
}

// TestKnotsMayBeAsFarApartAsInt64Counts: a difference between neighbours up to 2^63-1 is a length, a greater one is none, over
// both axes and wherever the knots lie. The whole curve may be longer.
func TestKnotsMayBeAsFarApartAsInt64Counts(t *testing.T) {
	ends := []int64{math.MinInt64, math.MinInt64 + 1, -Limit, -2, -1, 0, 1, 2, Limit, math.MaxInt64 - 1, math.MaxInt64}
	apart := func(a, b int64) bool { return new(big.Int).Sub(big.NewInt(b), big.NewInt(a)).IsInt64() }
	for i, a := range ends {
		for k, b := range ends[i+1:] {
			for _, y := range [][2]int64{{0, 1}, {a, b}, {5, 5}} {
				if err := (Curve{{HostTime(a), TimelineTime(y[0])}, {HostTime(b), TimelineTime(y[1])}}).Check(); (err == nil) != apart(a, b) {
					t.Errorf("X of %d and %d: %v", a, b, err)
				}
			}
			if err := (Curve{{0, TimelineTime(a)}, {1, TimelineTime(b)}}).Check(); (err == nil) != apart(a, b) {
				t.Errorf("Y of %d and %d: %v", a, b, err)
			}
			for _, c := range ends[i+k+2:] {
				want := apart(a, b) && apart(b, c)
				for name, curve := range map[string]Curve{
					"X":                            {{HostTime(a), 7}, {HostTime(b), 7}, {HostTime(c), 9}},
					"X, standing still at the end": {{HostTime(a), 7}, {HostTime(b), 9}, {HostTime(c), 9}},
					"Y":                            {{0, TimelineTime(a)}, {1, TimelineTime(b)}, {2, TimelineTime(c)}},
					"Y, standing still":            {{0, TimelineTime(a)}, {1, TimelineTime(b)}, {2, TimelineTime(b)}, {3, TimelineTime(c)}},
				} {
					if err := curve.Check(); (err == nil) != want {
						t.Errorf("%s of %d, %d and %d: %v", name, a, b, c, err)
					}
				}
			}
		}
	}
}

// TestInverseLeadsBack holds Inverse against its definition: of the knots with one Y the first stays, at the end the last.
func TestInverseLeadsBack(t *testing.T) {
	testrand.Check(t, func(t *testrand.T) {
		c := drawCurve[HostTime, TimelineTime](t, shape{steps: []int64{1, 2, 1000}, flat: testrand.Bool().Draw(t, "flat"), most: 8}, "c")
		var want InverseCurve
		for i, k := range c {
			first := i == 0 || c[i-1].Y != k.Y
			switch {
			case first:
				want = append(want, InverseKnot{X: k.Y, Y: k.X})
			case i == len(c)-1 && len(want) > 1:
				want[len(want)-1].Y = k.X
			}
		}
		back := c.Inverse()
		if !slices.Equal(back, want) {
			t.Fatalf("%v of %v, want %v", back, c, want)
		}
		if err := back.Check(); err != nil {
			t.Fatal(err)
		}
		if len(back) == len(c) && !slices.Equal(back.Inverse(), c) {
			t.Fatalf("%v of %v leads back to %v", back, c, back.Inverse())
		}
	})
}

// checkOutwards holds a value against the exact one: on the right side of it, and no further than allowed.
func checkOutwards(t *testrand.T, what string, x, got int64, exact *big.Rat, r Rounding, allowed int64) {
	t.Helper()
	off := new(big.Rat).Sub(at(got), exact)
	if r == Down {
		off.Neg(off)
	}
	if off.Sign() < 0 || off.Cmp(at(allowed)) > 0 {
		f, _ := off.Float64()
		t.Fatalf("%s at %d rounded %d: %d is %g ns outside, want 0 to %d", what, x, r, got, f, allowed)
	}
}

// TestCompositionIsExactBesideAPieceThatStandsStill: the corner of the second curve lies on the last piece of the first, and is
// not to be looked for on a line through the piece before, which stands still.
func TestCompositionIsExactBesideAPieceThatStandsStill(t *testing.T) {
	for _, mirrored := range []bool{false, true} {
		c := PairCurve{{X: 7, Y: 92}, {X: 9, Y: 92}, {X: 12, Y: 96}}
		next := Curve{{X: 1_000_092, Y: 0}, {X: 1_000_093, Y: 1}, {X: 1_000_094, Y: 4}}
		if mirrored {
			c = PairCurve{{X: -12, Y: -96}, {X: -9, Y: -92}, {X: -7, Y: -92}}
			next = Curve{{X: -1_000_094, Y: -4}, {X: -1_000_093, Y: -1}, {X: -1_000_092, Y: 0}}
		}
		for _, r := range []Rounding{Up, Down} {
			both := ComposeCurves(c, next, r)
			for x := HostTime(-2_000_000); x < 2_000_000; x += 997 {
				exact := exactly(next, exactly(c, at(x)))
				off := new(big.Rat).Sub(at(both.At(x, r)), exact)
				if r == Down {
					off.Neg(off)
				}
				if off.Sign() < 0 || off.Cmp(at(int64(8))) > 0 {
					t.Fatalf("mirrored %v, at %d rounded %d: %s ns outside", mirrored, x, r, off.FloatString(2))
				}
			}
		}
	}
}

// drawPair draws two curves of which the second continues where the first one leads. Both run at half to twice the speed, so
// that a nanosecond of the first is at most two of the second.
func drawPair(t *testrand.T) (PairCurve, Curve) {
	c, next := drawCurve[HostTime, HostTime](t, clocks, "first"), drawCurve[HostTime, TimelineTime](t, clocks, "second")
	by := c[testrand.IntRange(0, len(c)-1).Draw(t, "joint")].Y - next[0].X
	for i := range next {
		next[i].X += by
	}
	return c, next
}

// composed is how far a composition may be outside: a nanosecond of the first curve, which the second may double, one of the second,
// and one for a value between two knots that were rounded.
const composed = 4

func TestCompositionRoundsOutwardsAndByNoMoreThanItMust(t *testing.T) {
	testrand.Check(t, func(t *testrand.T) {
		c, next := drawPair(t)
		for _, r := range []Rounding{Up, Down} {
			both := ComposeCurves(c, next, r)
			if err := both.Check(); err != nil {
				t.Fatal(err)
			}
			instants := append(around(c), c.Inverse().At(next[0].X, Down))
			for _, k := range next {
				x := c.Inverse().At(k.X, Nearest)
				instants = append(instants, x-2, x-1, x, x+1, x+2)
			}
			for _, x := range instants {
				checkOutwards(t, "composition", int64(x), int64(both.At(x, r)), exactly(next, exactly(c, at(x))), r, composed)
			}
		}
	})
}

func TestCompositionOfLinesIsALine(t *testing.T) {
	a, b := PairCurve{{X: 5, Y: -7}}, Curve{{X: 100, Y: 3}}
	if got := ComposeCurves(a, b, Nearest); len(got) != 1 || got[0] != (Knot{X: 5, Y: -7 - 100 + 3}) {
		t.Errorf("%v", got)
	}
}

func TestCompositionGoesOnBeyondCornersOneNanosecondApart(t *testing.T) {
	c := PairCurve{{X: 0, Y: 0}, {X: 1, Y: 1}, {X: 2, Y: 3}}
	next := Curve{{X: 0, Y: 0}, {X: 3, Y: 2}}
	for _, r := range []Rounding{Up, Down} {
		both := ComposeCurves(c, next, r)
		if first, last := both[0], both[len(both)-1]; int64(first.X) > -far || int64(last.X) < far || int64(first.X) < -2*far || int64(last.X) > 2*far {
			t.Errorf("knots from %d to %d", first.X, last.X)
		}
	}
}

func TestConversionKeepsTheNumbersAndSharesNothing(t *testing.T) {
	c := PairCurve{{X: 1, Y: 2}, {X: 3, Y: -4}}
	got := ConvertCurve[HostTime, TimelineTime](c)
	if !slices.Equal(got, Curve{{X: 1, Y: 2}, {X: 3, Y: -4}}) {
		t.Errorf("%v", got)
	}
	if got[0].X = 9; c[0].X != 1 {
		t.Error("the copy shares knots")
	}
	if ConvertCurve[HostTime, TimelineTime](PairCurve(nil)) != nil {
		t.Error("nothing became something")
	}
}
