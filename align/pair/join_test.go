package pair

import (
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

func TestJoinedBoundsAreWhatHoldsInEitherSegment(t *testing.T) {
	back := 0
	testseed.Check(t, func(t *rapid.T) {
		const length = 1_000
		// A clock that never runs back, and segments that bound it by lines: how far off is drawn.
		n := rapid.IntRange(2, 4).Draw(t, "segments")
		var pieces []Estimate
		var seams []clock.HostTime
		for i := range int64(n) {
			from, to := clock.HostTime(i*length), clock.HostTime((i+1)*length)
			draw := func(name string, most int64) int64 { return rapid.Int64Range(0, most).Draw(t, name) }
			truth := clock.PairCurve{{X: from, Y: from}, {X: to, Y: to}}
			shift := func(left, right int64) clock.PairCurve {
				c := clock.PairCurve{{X: from, Y: from + clock.HostTime(left)}, {X: to, Y: to + clock.HostTime(right)}}
				c[1].Y = max(c[1].Y, c[0].Y)
				return c
			}
			e := Estimate{Fit: Exact, First: from, Last: to}
			e.Map.Low = shift(-draw("low", 700), -draw("low", 700))
			e.Map.High = shift(draw("high", 700), draw("high", 700))
			if l := &e.Map.Low[0]; e.Map.Low[1].Y < l.Y || e.Map.Low[1].Y > to {
				l.Y, e.Map.Low[1].Y = from-700, to-700
			}
			share := draw("mid", 100)
			for k := range truth {
				l, h := e.Map.Low[k].Y, e.Map.High[k].Y
				truth[k].Y = l + clock.HostTime(int64(h-l)*share/100)
			}
			e.Map.Mid = truth
			pieces = append(pieces, e)
			if i > 0 {
				seams = append(seams, from)
			}
		}
		for k, seam := range seams {
			if pieces[k].Map.Mid.At(seam-1, clock.Nearest) > pieces[k+1].Map.Mid.At(seam, clock.Nearest) {
				back++
			}
		}
		e := joined(pieces, seams)
		for _, c := range []clock.PairCurve{e.Map.Mid, e.Map.Low, e.Map.High} {
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
		}
		for x := clock.HostTime(0); x < clock.HostTime(int64(n)*length); x++ {
			low, high := clock.HostTime(-1<<62), clock.HostTime(1<<62)
			for i := range pieces {
				// Of every segment what it says of x itself, or of its end nearest to x.
				from, to := clock.HostTime(int64(i)*length), clock.HostTime(int64(i+1)*length-1)
				m := &pieces[i].Map
				if x >= from {
					low = max(low, m.Low.At(min(x, to), clock.Down))
				}
				if x <= to {
					high = min(high, m.High.At(max(x, from), clock.Up))
				}
			}
			gotLow, gotHigh, _, _ := e.Map.Bounds(x)
			if gotLow > low || gotLow < low-1 || gotHigh < high || gotHigh > high+1 {
				t.Fatalf("at %d: [%d, %d], not [%d, %d]", x, gotLow, gotHigh, low, high)
			}
			if mid := e.Map.At(x); mid < low-1 || mid > high+1 {
				t.Fatalf("at %d: estimate %d outside [%d, %d]", x, mid, low, high)
			}
		}
	})
	if back == 0 {
		t.Fatal("no estimate stepped back")
	}
}

func TestStepBackIsSharedBetweenItsSides(t *testing.T) {
	line := func(from, to clock.HostTime, offset int64) Estimate {
		return Estimate{Map: clock.PairMap{Mid: clock.PairCurve{{X: from, Y: from + clock.HostTime(offset)}, {X: to, Y: to + clock.HostTime(offset)}}}}
	}
	e := joined([]Estimate{line(0, 999, 100), line(1000, 2000, 61)}, []clock.HostTime{1000})
	for x, want := range map[clock.HostTime]clock.HostTime{0: 100, 900: 1000, 979: 1079, 980: 1080, 990: 1080, 999: 1080, 1000: 1080, 1010: 1080, 1019: 1080, 1020: 1081, 2000: 2061} {
		if got := e.Map.At(x); got != want {
			t.Errorf("%d at %d, not %d", got, x, want)
		}
	}
}
