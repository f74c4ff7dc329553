package order

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

func TestSlopesAreComparedExactly(t *testing.T) {
	number := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(-math.MaxInt64, math.MaxInt64))
	run := rapid.OneOf(rapid.Int64Range(1, 3), rapid.Int64Range(1, math.MaxInt64))
	testseed.Check(t, func(t *rapid.T) {
		a, b := ratio{number.Draw(t, "a"), run.Draw(t, "a run")}, ratio{number.Draw(t, "b"), run.Draw(t, "b run")}
		if got, want := a.below(b), big.NewRat(a.rise, a.run).Cmp(big.NewRat(b.rise, b.run)) < 0; got != want {
			t.Fatalf("%v below %v: %v", a, b, got)
		}
	})
}

func TestASimplifiedCurvePassesEveryPointAsCloselyAsItDemands(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		var points []point
		host, time := clock.HostTime(rapid.Int64Range(-50, 50).Draw(t, "host")), clock.TimelineTime(0)
		for range rapid.IntRange(1, 30).Draw(t, "points") {
			host += clock.HostTime(rapid.Int64Range(1, 5).Draw(t, "run"))
			time += clock.TimelineTime(rapid.Int64Range(0, 5).Draw(t, "rise"))
			points = append(points, point{host, time, rapid.Int64Range(0, 2).Draw(t, "down"), rapid.Int64Range(0, 2).Draw(t, "up")})
		}
		c := simplify(nil, points)
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		last := points[len(points)-1]
		if c[0].X != points[0].host || c[len(c)-1] != (clock.Knot{X: last.host, Y: last.time}) {
			t.Fatalf("%v from %v", c, points)
		}
		for _, p := range points {
			if got := c.At(p.host, clock.Nearest); got < p.time-clock.TimelineTime(p.down) || got > p.time+clock.TimelineTime(p.up) {
				t.Fatalf("at %d: %d, wanted %d-%d to +%d", p.host, got, p.time, p.down, p.up)
			}
		}
	})
}

func TestALineNeedsTwoKnots(t *testing.T) {
	var points []point
	for i := range int64(100_000) {
		points = append(points, free(clock.HostTime(i*997), clock.TimelineTime(i*997+i*i%2)+clock.TimelineTime(i*997/1_000_000))) // a ppm, and stamps off by one
	}
	if c := simplify(nil, points); len(c) != 2 {
		t.Errorf("%d knots", len(c))
	}
}
