package quality

import (
	"math"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// second is a second, ns.
const second = 1_000_000_000

// crooked is a clock that is 3 s ahead and runs 50 ppm fast for a while, then 50 ppm slow.
var crooked = clock.Curve{ // its time to true time
	{X: 3 * second, Y: 0},
	{X: 3*second + 50_002_500_000, Y: 50 * second},
	{X: 3*second + 50_002_500_000 + 49_997_500_000, Y: 100 * second},
}

var straight = clock.Curve{{X: 0, Y: 0}}

func twoClocks() []trace.Clock {
	return []trace.Clock{{First: 0, Last: 90 * second}, {First: 8 * second, Last: 103 * second}}
}

// off returns a curve whose result is later by a constant.
func off(c clock.Curve, by int64) clock.Curve {
	var out clock.Curve
	for _, k := range c {
		out = append(out, clock.Knot{X: k.X, Y: k.Y + clock.TimelineTime(by)})
	}
	return out
}

func near(got, want, reach float64) bool { return math.Abs(got-want) <= reach }

func TestErrorIsTheMapsDistanceFromTheTruthAndHalfTheAsymmetryIsTakenOff(t *testing.T) {
	// From the crooked clock to the reference takes 500 us longer than back: the corridor's middle, as below, puts the
	// clock 250 us late.
	truth := &Truth{Clocks: []clock.Curve{straight, crooked}, Links: []Link{{1, 0, 900_000, nil}, {1, 0, 700_000, nil}, {0, 1, 200_000, nil}}}
	late := clock.Map{Mid: off(crooked, 250_000), Low: off(crooked, -200_000), High: off(crooked, 700_000)}
	c := Against(truth, twoClocks(), []clock.Map{clock.Identity(), late}, []int{0, 0})
	if len(c.Clocks) != 1 {
		t.Fatalf("%d clocks compared", len(c.Clocks))
	}
	d := c.Clocks[0]
	if d.Clock != 1 || d.Reference != 0 || !near(d.RMS, 250_000, 2) || !near(d.Max, 250_000, 2) {
		t.Errorf("%+v", d)
	}
	if !d.HasSymmetric || !near(d.Asymmetry, 250_000, 1e-3) || !near(d.Symmetric.RMS, 0, 2) || !near(d.Centred.Max, 0, 2) {
		t.Errorf("asymmetry not taken off: %+v", d)
	}
	if !d.Bounded || !d.Always || d.Within != 1 || !near(float64(d.WidthMedian), 900_000, 2) || !near(float64(d.WidthP95), 900_000, 2) {
		t.Errorf("bounds: %+v", d)
	}
	if !d.HasRoundTrip || d.RoundTrip != 900_000 || !near(d.RatioMedian, 1, 1e-5) || !near(d.RatioP95, 1, 1e-5) {
		t.Errorf("round trip: %+v", d)
	}
	if c.All.RMS != d.RMS || c.All.Clock != -1 || !c.All.Always || c.All.RatioMedian != d.RatioMedian {
		t.Errorf("all: %+v", c.All)
	}
}

func TestShareWithinBoundsIsThatOfTheInstantsAndNoneIsForgiven(t *testing.T) {
	// A straight line through a bend: right at the ends of the reference's 90 s, 2.5 ms wrong at 50 s.
	chord := clock.Curve{{X: 3 * second, Y: 0}, {X: 103 * second, Y: 100 * second}}
	m := clock.Map{Mid: chord, Low: off(chord, -1_250_000), High: off(chord, 1_250_000)}
	truth := &Truth{Clocks: []clock.Curve{straight, crooked}}
	clocks := []trace.Clock{{First: 0, Last: 100 * second}, {First: 3 * second, Last: 103 * second}}
	d := Against(truth, clocks, []clock.Map{clock.Identity(), m}, []int{0, 0}).Clocks[0]
	if d.Always || !near(d.Within, 0.5, 0.01) {
		t.Errorf("within %v, always %v; want half", d.Within, d.Always)
	}
	// A triangle of 2.5 ms: root mean square 2.5/sqrt 3, and 2.5/sqrt 12 about its mean.
	if !near(d.RMS, 2.5e6/math.Sqrt(3), 2e3) || !near(d.Max, 2.5e6, 2e3) || !near(d.Centred.RMS, 2.5e6/math.Sqrt(12), 2e3) {
		t.Errorf("%+v", d)
	}
	if d.HasSymmetric || d.HasRoundTrip {
		t.Errorf("delays from nowhere: %+v", d)
	}
}

func TestUnknownClocksAndSpansApartAreLeftOut(t *testing.T) {
	truth := &Truth{Clocks: []clock.Curve{straight, nil, straight, straight}, Links: []Link{{0, 2, 10, nil}, {2, 3, 20, nil}, {3, 2, 5, nil}, {2, 0, 1, nil}}}
	clocks := []trace.Clock{{Last: 100}, {Last: 100}, {First: 200, Last: 300}, {Last: 100}}
	identity := clock.Identity()
	open := clock.Map{Mid: identity.Mid, Low: identity.Low}
	c := Against(truth, clocks, []clock.Map{identity, identity, identity, open}, []int{0, 0, 0, 0})
	if len(c.Clocks) != 1 || c.Clocks[0].Clock != 3 {
		t.Fatalf("%+v", c.Clocks)
	}
	d := c.Clocks[0]
	if d.HasSymmetric || d.Bounded || d.RMS != 0 {
		t.Errorf("%+v", d)
	}
	if !d.HasRoundTrip || d.RoundTrip != 36 {
		t.Errorf("round trip over two links is %d, not 36", d.RoundTrip)
	}
	none := Against(truth, clocks, []clock.Map{identity, identity, identity, open}, []int{0, 1, 2, 3})
	if len(none.Clocks) != 0 || none.All.RMS != 0 {
		t.Errorf("%+v", none)
	}
}

func TestQuantileIsTheSmallestValueThatSoManyDoNotExceed(t *testing.T) {
	for _, c := range []struct {
		values  []int64
		percent int
		want    int64
	}{{[]int64{3}, 50, 3}, {[]int64{2, 1}, 50, 1}, {[]int64{3, 1, 2}, 50, 2}, {[]int64{3, 1, 2}, 95, 3}, {[]int64{5, 4, 3, 2, 1}, 80, 4}} {
		if got := quantile(c.values, c.percent); got != c.want {
			t.Errorf("%d%% of %v is %d, not %d", c.percent, c.values, got, c.want)
		}
	}
}

func TestAsymmetryIsThatOfTheRouteOfTheTime(t *testing.T) {
	// At 40 s the way to the reference becomes 100 us longer, and the estimate follows by half of it.
	m := clock.Map{Mid: clock.Curve{
		{X: 0, Y: 0}, {X: 40*second - 1, Y: 40*second - 1},
		{X: 40 * second, Y: 40*second + 50_000}, {X: 100 * second, Y: 100*second + 50_000},
	}}
	truth := &Truth{Clocks: []clock.Curve{straight, straight}, Links: []Link{
		{1, 0, 300_000, []Change{{40 * second, 400_000}}}, {0, 1, 300_000, nil},
	}}
	clocks := []trace.Clock{{Last: 100 * second}, {Last: 100 * second}}
	d := Against(truth, clocks, []clock.Map{clock.Identity(), m}, []int{0, 0}).Clocks[0]
	if d.Symmetric.Max > 1 || !near(d.Max, 50_000, 1) || !near(d.Asymmetry, 30_000, 50) {
		t.Errorf("%+v", d)
	}
	if d.RoundTrip != 600_000 {
		t.Errorf("round trip %d", d.RoundTrip)
	}
}
