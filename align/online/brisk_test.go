package online_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"meridian/align/online"
	"meridian/clock"
)

// TestBriskKeepsEightClocksTogether is BRISK's own experiment, simulated: eight hosts, rounds of eight exchanges each 5 s, ten
// minutes. The authors saw 20 to 40 us between clocks on a quiet ATM network.
func TestBriskKeepsEightClocksTogether(t *testing.T) {
	const hosts = 8
	var spreads []float64
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		b, err := online.NewBrisk(hosts, 50e3)
		if err != nil {
			t.Fatal(err)
		}
		var offset, skew [hosts]float64
		for i := range hosts {
			offset[i], skew[i] = 1e9*r.NormFloat64(), 1e-6*r.NormFloat64()
		}
		at := func(i int, x float64) float64 { return offset[i] + skew[i]*x }
		var last [hosts]int64
		for x := 0.0; x < 600e9; x += 5e9 {
			for i := range hosts {
				for k := range 8 {
					sent := x + float64(i)*5e6 + float64(k)*1e6
					received := sent + 150e3 + 20e3*r.ExpFloat64()
					returned := received + 30e3 + 150e3 + 20e3*r.ExpFloat64()
					err := b.Exchange(i, online.Exchange{Sent: clock.HostTime(sent), Received: clock.HostTime(received + at(i, received)),
						Replied: clock.HostTime(received + 30e3 + at(i, received)), Returned: clock.HostTime(returned)})
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			b.Round()
			for i := range hosts {
				if c := b.Correction(i); c < last[i] {
					t.Fatalf("clock %d was set back by %d ns", i, last[i]-c)
				}
				last[i] = b.Correction(i)
			}
			if x < 60e9 {
				continue
			}
			least, most := math.Inf(1), math.Inf(-1)
			for i := range hosts {
				v := at(i, x+5e9) + float64(b.Correction(i)) // just before the next round
				least, most = min(least, v), max(most, v)
			}
			spreads = append(spreads, most-least)
		}
	}
	slices.Sort(spreads)
	median, p99 := spreads[len(spreads)/2], spreads[len(spreads)*99/100]
	t.Logf("between the first and the last of %d clocks: median %.1f us, p99 %.1f us", hosts, median/1e3, p99/1e3)
	if median > 40e3 || p99 > 200e3 {
		t.Errorf("between the first and the last clock: median %.0f ns, p99 %.0f ns", median, p99)
	}
}

func TestBriskAdvancesThoseBehindTheAverageAlone(t *testing.T) {
	for _, c := range []struct {
		name            string
		offsets, expect []int64
		threshold       int64
	}{
		{"above the threshold by all", []int64{0, 900, 1000}, []int64{1000, 0, 0}, 100},
		{"below the threshold by 0.7", []int64{0, 900, 1000}, []int64{700, 0, 0}, 10_000},
		{"two clocks", []int64{-500, 500}, []int64{1000, 0}, 10},
		{"a clock that is not heard of", []int64{0, 1000, math.MinInt64, 1000}, []int64{1000, 0, 0, 0}, 10},
	} {
		b, err := online.NewBrisk(len(c.offsets), c.threshold)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range c.offsets {
			if o == math.MinInt64 {
				continue
			}
			x := online.Exchange{Sent: 1000, Received: clock.HostTime(1100 + o), Replied: clock.HostTime(1100 + o), Returned: 1200}
			if err := b.Exchange(i, x); err != nil {
				t.Fatal(err)
			}
		}
		b.Round()
		for i, want := range c.expect {
			if got := b.Correction(i); got != want {
				t.Errorf("%s: clock %d advances by %d, not %d", c.name, i, got, want)
			}
		}
	}
}

func TestBriskAveragesOffsetsAtTheirLimitsWithoutOverflow(t *testing.T) {
	b, err := online.NewBrisk(2, 0)
	if err != nil {
		t.Fatal(err)
	}
	const greatest = 1<<62 - 1
	ask := func(i int, offset clock.HostTime) {
		sent := -offset / 2
		if err := b.Exchange(i, online.Exchange{Sent: sent, Received: sent + offset, Replied: sent + offset, Returned: sent}); err != nil {
			t.Fatal(err)
		}
	}
	for _, offset := range []clock.HostTime{-greatest, greatest, greatest} {
		ask(0, offset)
	}
	ask(1, -greatest)
	b.Round()
	if first, second := b.Correction(0), b.Correction(1); first != 0 || second <= 0 {
		t.Errorf("the clock ahead advances by %d, the one behind by %d", first, second)
	}
}
