package fuzztest_test

import (
	"math/rand/v2"
	"testing"

	"meridian/align/bound"
	"meridian/clock"
	"meridian/internal/fuzztest"
)

// The clocks of a pair must keep bound.Default as long before and after their messages as those last: targets ask bounds there.
func TestClocksOfAPairKeepTheGreatestSkew(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const second = 1_000_000_000
	for range 20_000 {
		data := make([]byte, 20+random.IntN(100))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		p := fuzztest.From(data).Pair(int(bound.Default.Wander))
		if p.A.Events == 0 {
			continue
		}
		span := clock.Sub(p.A.Last, p.A.First)
		for _, x := range []clock.HostTime{clock.Add(p.A.First, -span), p.A.First, p.A.Last, clock.Add(p.A.Last, span)} {
			gained := clock.Sub(p.At(x+second, clock.Down), x+second) - clock.Sub(p.At(x, clock.Up), x)
			if ppm := float64(gained) / second * 1e6; ppm < -bound.Default.MaxSkew || ppm > bound.Default.MaxSkew {
				t.Fatalf("%g ppm at %d of %+v", ppm, x, p)
			}
		}
	}
}
