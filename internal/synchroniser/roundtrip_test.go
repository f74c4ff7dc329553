package synchroniser

import (
	"testing"

	"meridian/clock"
	"meridian/internal/probe"
)

// TestTheLeastRoundTripIsNotBelowTheTruth gives stamps of which readings of two clocks are off by as much as they say.
func TestTheLeastRoundTripIsNotBelowTheTruth(t *testing.T) {
	const start, truth, off = 1_700_000_000_000_000_000, 4_000, 1_500
	for _, c := range []struct {
		name string
		user bool
		set  int64
	}{{"kernel", false, 0}, {"user space there", true, 0}, {"REALTIME here was set meanwhile", false, 1e9}} {
		stamp := func(x, set int64, off int64) probe.Stamp {
			return probe.Stamp{Time: clock.HostTime(start + x + off), Wall: clock.HostTime(start + 5e9 + x + set), Error: max(off, -off), Kind: probe.Kernel}
		}
		x := probe.Sample{T1: stamp(0, 0, off), T2: stamp(2_000, 0, -off), T3: stamp(22_000, 0, off), T4: stamp(24_000, c.set, -off)}
		if c.user {
			x.T3.Kind = probe.User
		}
		// The free clocks' stamps show 4 * off less than the truth, which is at most what is said.
		if rtt, most := roundTrip(x); most != truth || !c.user && c.set == 0 && rtt != truth {
			t.Errorf("%s: a round trip of %d ns is %d, at most %d", c.name, int64(truth), rtt, most)
		}
		x.T1, x.T4 = stamp(0, 0, -off), stamp(24_000, c.set, off)
		x.T2, x.T3 = stamp(2_000, 0, off), stamp(22_000, 0, -off)
		if c.user {
			x.T3.Kind = probe.User
		}
		if _, most := roundTrip(x); most < truth {
			t.Errorf("%s: a round trip of %d ns is at most %d", c.name, int64(truth), most)
		}
	}
}
