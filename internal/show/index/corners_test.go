package index

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

// drawCurve draws a curve whose pieces are from a nanosecond to seconds long.
func drawCurve(t *rapid.T, name string, shift int64) clock.Curve {
	h := rapid.Int64Range(-1e9, 1e9).Draw(t, name+" start")
	v := clock.TimelineTime(h + shift)
	var c clock.Curve
	for range rapid.IntRange(1, 40).Draw(t, name+" knots") {
		c = append(c, clock.Knot{X: clock.HostTime(h), Y: v})
		step := rapid.SampledFrom([]int64{1, 2, 1000, 1e6, 1e9}).Draw(t, name+" step")
		h += step
		v += clock.TimelineTime(step + rapid.Int64Range(-step/2, step/2).Draw(t, name+" drift"))
	}
	return c
}

// interpolated interpolates as the page does, in exact arithmetic, and rounds up.
func interpolated(corners []Corner, at int64, width func(Corner) int64) int64 {
	i := 0
	for i+2 < len(corners) && corners[i+1].At < at {
		i++
	}
	a, b := corners[i], corners[min(i+1, len(corners)-1)]
	if b.At == a.At {
		return width(a)
	}
	part := big.NewRat(at-a.At, b.At-a.At)
	v := part.Mul(part, new(big.Rat).SetInt64(width(b)-width(a)))
	v.Add(v, new(big.Rat).SetInt64(width(a)))
	up := new(big.Int).Neg(new(big.Int).Div(new(big.Int).Neg(v.Num()), v.Denom()))
	return up.Int64()
}

func TestTheBandIsNowhereNarrowerThanTheBounds(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		m := clock.Map{Mid: drawCurve(t, "mid", 0), Low: drawCurve(t, "low", -5e9), High: drawCurve(t, "high", 5e9)}
		limit := rapid.SampledFrom([]int{2, 3, 7, 1000}).Draw(t, "limit")
		first, last := m.At(-2e9), m.At(6e9)
		corners := Corners(&m, first, last, limit)
		if len(corners) > max(limit, 2) {
			t.Fatalf("%d corners, the limit is %d", len(corners), limit)
		}
		for range 20 {
			host := rapid.Int64Range(-2e9, 6e9).Draw(t, "host")
			at := m.At(clock.HostTime(host))
			low, high, _, _ := m.Bounds(clock.HostTime(host))
			if below := interpolated(corners, int64(at), func(k Corner) int64 { return k.Below }); at-clock.TimelineTime(below) > low {
				t.Fatalf("at %d the band begins at %d, the bound at %d", at, at-clock.TimelineTime(below), low)
			}
			if above := interpolated(corners, int64(at), func(k Corner) int64 { return k.Above }); at+clock.TimelineTime(above) < high {
				t.Fatalf("at %d the band ends at %d, the bound at %d", at, at+clock.TimelineTime(above), high)
			}
		}
	})
}
