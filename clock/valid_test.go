package clock_test

import (
	"math"
	"testing"

	"meridian/clock"
)

func TestValidInstantsLieStrictlyBetweenTheLimits(t *testing.T) {
	for at, valid := range map[clock.HostTime]bool{
		0: true, 1: true, -1: true, clock.Limit - 1: true, 1 - clock.Limit: true,
		clock.Limit: false, -clock.Limit: false, clock.Limit + 1: false, -clock.Limit - 1: false, math.MaxInt64: false, math.MinInt64: false,
	} {
		if clock.Valid(at) != valid {
			t.Errorf("%d: valid %t", at, !valid)
		}
	}
}
