package online

import (
	"math"
	"math/rand/v2"
	"testing"
)

// ladderOf feeds a ladder with exchanges, so many a second, of a clock that stands at offset ns at x ns, until x is over.
func ladderOf(rate, seconds float64, offset func(x float64) float64) *ladder {
	r := rand.New(rand.NewPCG(7, 7))
	l := newLadder()
	for x := 1.0; x < seconds*1e9; x += 1e9 / rate {
		l.add(there, corner{x, offset(x) + 1500 + 100*r.ExpFloat64()})
		l.add(back, corner{x + 5e3, offset(x+5e3) - 1500 - 100*r.ExpFloat64()})
		l.estimate(x + 5e3)
	}
	return l
}

func TestStretchesAreOfASecondAtHighRates(t *testing.T) {
	for _, rate := range []float64{8, 16, 128} {
		if n := ladderOf(rate, 30, func(float64) float64 { return 0 }).forecast[0].n; n < 22 || n > 30 {
			t.Errorf("%g/s: %d stretches in 30 s", rate, n)
		}
	}
}

// TestAClockThatBeginsToBendIsFollowedWithinSeconds: the lines of the least wanders are best for a minute, and lag then.
func TestAClockThatBeginsToBendIsFollowedWithinSeconds(t *testing.T) {
	const quiet, bend = 60e9, 26e-18 // ns; ns per ns²
	offset := func(x float64) float64 { return bend * math.Pow(max(x-quiet, 0), 2) / 2 }
	for seconds := 62.0; seconds < 90; seconds++ {
		l := ladderOf(16, seconds, offset)
		at := l.lines[0].at
		v, _, known := l.at(at)
		if off := v - offset(at); !known || math.Abs(off) > 350 {
			t.Errorf("%.0f s after the bend began: off by %.0f ns", seconds-60, off)
		}
	}
}

// TestAQuietLineIsKeptWhereNoMessageContradictsIt: of one way a single message passes without a queue. Lines of greater wanders
// forget it and are wrong by half of the queue, which is no reason to leave those that remember it. They are chosen once most forecasts are
// from after the message.
func TestAQuietLineIsKeptWhereNoMessageContradictsIt(t *testing.T) {
	const queue = 6000.0
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 8))
		l := newLadder()
		for i := range 16 * 65 {
			x := float64(i) * 62.5e6
			delay := 1500 + queue + 1000*r.ExpFloat64()
			if i == 16*20 {
				delay = 1500
			}
			l.add(there, corner{x, delay})
			l.add(back, corner{x + 20e3, -1500 - 100*r.ExpFloat64()})
			l.estimate(x + 20e3)
			if v, _, _ := l.at(x + 20e3); i > 16*45 && math.Abs(v) > queue/4 {
				t.Fatalf("seed %d, %.0f s after the message: off by %.0f ns", seed, x/1e9-20, v)
			}
		}
	}
}
