package pair

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

func TestEveryIntervalHasAnOffsetThatInvertsNoneOfItsMessages(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		p, _ := drawProblem(t)
		if p.AB.Len() == 0 || p.BA.Len() == 0 {
			return
		}
		c := newCorridor(p)
		intervals, base := c.intervals(p, max(int64(c.last-c.first)/3, 1))
		ceiling, floor := p.points()
		within := func(q point, above bool) {
			for _, v := range intervals {
				// Intervals may share an instant: one of them must hold the message.
				o := base + int64(v.offset())
				if q.x >= v.first && q.x <= v.last && (above && q.x+clock.HostTime(o) <= clock.HostTime(q.y) || !above && q.x+clock.HostTime(o)+1 >= clock.HostTime(q.y)) {
					return
				}
			}
			t.Fatalf("%v (ceiling: %v) is on the wrong side of %+v", q, above, intervals)
		}
		if len(intervals) == 0 {
			return
		}
		for m := range p.AB.All() {
			within(ceiling(m), true)
		}
		for m := range p.BA.All() {
			within(floor(m), false)
		}
	})
}

func TestSkewOfIntervalsIsTheClocks(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 3))
	for _, ppm := range []int64{-120, 120} {
		p, f := linear(since1970, ppm, 20_000_000, 5000, func() int64 { return int64(random.ExpFloat64() * 40_000) })
		e := must(Interval(p, 0))
		if d := e.Skew - float64(ppm); d < -2 || d > 2 {
			t.Errorf("skew %g ppm, the clocks' is %d", e.Skew, ppm)
		}
		if e.Exchanges < 10 {
			t.Errorf("%d intervals", e.Exchanges)
		}
		for x := p.A.First; x < p.A.Last; x += 7e7 {
			if d := distance(e.Map.At(x), f(x)); d > 150_000 { // what the corridor is wide
				t.Fatalf("%d ns off at %d", d, int64(x-p.A.First))
			}
		}
	}
}
