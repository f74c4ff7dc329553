package synchroniser

import (
	"testing"

	"meridian/clock"
	"meridian/internal/probe"
)

func TestBriskAdvancesThoseBehindTheClockFurthestAhead(t *testing.T) {
	b, err := NewBrisk(2, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := b.Correction(0); ok {
		t.Error("a correction before the first round")
	}
	// The first host is 1 ms ahead of this one, the second 2 ms; 10 us each way.
	for host, ahead := range []int64{1e6, 2e6} {
		for k := range int64(8) {
			at := func(ns int64) probe.Stamp {
				return probe.Stamp{Time: clock.HostTime(1e18 + k*1000 + ns), Kind: probe.Kernel}
			}
			b.Take(host, probe.Sample{T1: at(0), T2: at(10_000 + ahead), T3: at(11_000 + ahead), T4: at(21_000)})
		}
	}
	b.Round()
	// Behind the furthest: this host by 2 ms, the first by 1 ms, on average 1.5 ms. So this host alone advances, by all of it, and
	// relative to it the others are 2 ms less ahead.
	for host := range 2 {
		if c, ok := b.Correction(host); !ok || c != -2e6 {
			t.Errorf("host %d is corrected by %d (%v), not -2 ms", host, c, ok)
		}
	}
}
