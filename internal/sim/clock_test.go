package sim

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

// clocks draws clocks of every kind at every epoch from 1970 to 2100.
func clocks(t *rapid.T) (c Clock, near clock.TimelineTime) {
	c = Clock{
		Origin:   clock.TimelineTime(rapid.Int64Range(0, 4.1e18).Draw(t, "origin")),
		OffsetNs: rapid.Int64Range(-3e17, 3e17).Draw(t, "offset"),
		SkewPPM:  rapid.OneOf(rapid.Float64Range(-200, 200), rapid.Float64Range(-3e5, 3e5)).Draw(t, "skew"),
		Wave: Wave{
			AmplitudePPM: rapid.Float64Range(0, 50).Draw(t, "amplitude"),
			Period:       time.Duration(rapid.Int64Range(1e6, 1e14).Draw(t, "period")),
			Phase:        rapid.Float64Range(0, 1).Draw(t, "phase"),
		},
	}
	if rapid.Bool().Draw(t, "walks") {
		c.Walk = NewWalk(rapid.Uint64().Draw(t, "seed"), 0.5, time.Second, time.Minute)
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	near = c.Origin + clock.TimelineTime(rapid.Int64Range(-1e14, 1e14).Draw(t, "x"))
	return c, near
}

func TestClockNeverRunsBackwards(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		c, at := clocks(t)
		before := c.At(at)
		for i := range 100 {
			now := c.At(at + clock.TimelineTime(i))
			if now < before {
				t.Fatalf("at %d the clock went from %d to %d", at+clock.TimelineTime(i), before, now)
			}
			before = now
		}
	})
}

func TestInverseFindsTheInstantOfAStamp(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		c, at := clocks(t)
		stamp := c.At(at)
		back := c.Inverse(stamp)
		if back > at || back < at-1 {
			t.Fatalf("stamp %d of instant %d led back to %d", stamp, at, back)
		}
	})
}

func TestInverseIsTheFirstInstantThatShowsTheStamp(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		c, at := clocks(t)
		stamp := c.At(at) + clock.HostTime(rapid.Int64Range(-5, 5).Draw(t, "step"))
		first := c.Inverse(stamp)
		if c.At(first) < stamp || c.At(first-1) >= stamp {
			t.Fatalf("%d is not the first instant that shows %d", first, stamp)
		}
		if next := c.Inverse(stamp + 1); next < first {
			t.Fatalf("inverse of %d is %d, of the stamp after it %d", stamp, first, next)
		}
	})
}

func TestStepsSetTheClockByWhatTheySay(t *testing.T) {
	c := Clock{Steps: []Step{{At: 100, By: 50}, {At: 200, By: -30}}}
	for at, want := range map[clock.TimelineTime]clock.HostTime{0: 0, 99: 99, 100: 150, 199: 249, 200: 220, 300: 320} {
		if got := c.At(at); got != want {
			t.Errorf("at %d it shows %d, not %d", at, got, want)
		}
	}
	// 100 to 149 are never shown, 220 to 249 twice.
	for host, want := range map[clock.HostTime]clock.TimelineTime{99: 99, 100: 100, 149: 100, 150: 100, 151: 101, 220: 170, 249: 199, 250: 230} {
		if got := c.Inverse(host); got != want {
			t.Errorf("%d is shown first at %d, not at %d", host, got, want)
		}
	}
}

func TestInverseOfSteppingClockIsTheFirstInstantThatShowsTheStamp(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		c := Clock{SkewPPM: rapid.Float64Range(-2e5, 2e5).Draw(t, "skew"), OffsetNs: rapid.Int64Range(-50, 50).Draw(t, "offset")}
		at := clock.TimelineTime(0)
		for range rapid.IntRange(0, 5).Draw(t, "steps") {
			at += clock.TimelineTime(rapid.Int64Range(1, 60).Draw(t, "pause"))
			c.Steps = append(c.Steps, Step{at, rapid.Int64Range(-80, 80).Draw(t, "by")})
		}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		host := clock.HostTime(rapid.Int64Range(-200, 600).Draw(t, "host"))
		first := clock.TimelineTime(-2000)
		for c.At(first) < host {
			first++
		}
		if got := c.Inverse(host); got != first {
			t.Fatalf("%d is shown first at %d, not at %d", host, first, got)
		}
	})
}

func TestLinearClockIsExactAtAnyEpoch(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		// A skew of a whole number of ppb has an exact reading in rationals.
		ppb := rapid.Int64Range(-500_000, 500_000).Draw(t, "ppb")
		c := Clock{
			Origin:   clock.TimelineTime(rapid.Int64Range(0, 4.1e18).Draw(t, "origin")),
			OffsetNs: rapid.Int64Range(-3e17, 3e17).Draw(t, "offset"),
			SkewPPM:  float64(ppb) / 1000,
		}
		x := rapid.Int64Range(-1e15, 1e15).Draw(t, "x")
		want := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(x), big.NewInt(1e9+ppb)), big.NewInt(1e9))
		want.Add(want, new(big.Rat).SetInt64(c.OffsetNs))
		want.Add(want, new(big.Rat).SetInt64(int64(c.Origin)))
		got := new(big.Rat).SetInt64(int64(c.At(c.Origin + clock.TimelineTime(x))))
		off, _ := got.Sub(got, want).Float64()
		if math.Abs(off) > 0.51 {
			t.Fatalf("reading is %g ns off", off)
		}
	})
}

func TestReadingIsTheIntegralOfTheRate(t *testing.T) {
	c := Clock{
		SkewPPM: 20,
		Wave:    Wave{AmplitudePPM: 3, Period: 300 * time.Second, Phase: 0.2},
		Walk:    NewWalk(1, 0.1, time.Second, 20*time.Minute),
	}
	const slice = 1e7 // ns; the walk's corners fall on the slices' ends
	var sum float64
	for i := range 150_000 {
		sum += c.RatePPM((float64(i)+0.5)*slice) * slice * 1e-6
	}
	if got := c.deviation(150_000 * slice); math.Abs(got-sum) > 1 {
		t.Fatalf("deviation is %.1f ns, the rate adds up to %.1f", got, sum)
	}
}

func TestWalkGrowsWithTheSquareRootOfTime(t *testing.T) {
	const walks, seconds = 2000, 100
	var squares float64
	for seed := range uint64(walks) {
		w := NewWalk(seed, 0.1, time.Second, seconds*time.Second)
		squares += w.rate(1e12) * w.rate(1e12)
	}
	want := 0.1 * math.Sqrt(seconds)
	if got := math.Sqrt(squares / walks); math.Abs(got-want) > 0.1*want {
		t.Fatalf("after %d s the walks deviate by %g ppm, not by %g", seconds, got, want)
	}
}

func TestClockThatCouldStopIsRefused(t *testing.T) {
	for _, c := range []Clock{
		{SkewPPM: -1e6},
		{SkewPPM: 3e5, Wave: Wave{AmplitudePPM: 2e5, Period: time.Second}},
		{SkewPPM: math.NaN()},
		{Wave: Wave{AmplitudePPM: 1}},
		{Steps: []Step{{At: 5, By: 1}, {At: 5, By: 1}}},
		{Steps: []Step{{At: math.MinInt64, By: 1}}},
		{Steps: []Step{{At: 1, By: math.MaxInt64}, {At: 2, By: math.MaxInt64}}},
	} {
		if c.Check() == nil {
			t.Errorf("%+v passed", c)
		}
	}
}
