package sampled

import (
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

const since1970 = 1_790_000_000_000_000_000

// drawLinear draws samples of a clock that is linear against its reference, with the line.
func drawLinear(t *rapid.T) ([]trace.Sample, func(clock.HostTime) *big.Rat) {
	origin := clock.HostTime(rapid.SampledFrom([]int64{0, since1970, -5_000_000_000}).Draw(t, "origin"))
	ppm := rapid.Int64Range(-400, 400).Draw(t, "ppm")
	offset := rapid.Int64Range(-1e9, 1e9).Draw(t, "offset")
	truth := func(x clock.HostTime) *big.Rat {
		v := big.NewRat(1_000_000+ppm, 1_000_000)
		v.Mul(v, new(big.Rat).SetInt64(int64(x-origin)))
		return v.Add(v, new(big.Rat).SetInt64(int64(origin+clock.HostTime(offset))))
	}
	hosts := rapid.SliceOfNDistinct(rapid.Int64Range(0, 3_600_000_000_000), 2, 9, rapid.ID[int64]).Draw(t, "hosts")
	var samples []trace.Sample
	for _, h := range hosts {
		e := rapid.Int64Range(1, 200_000).Draw(t, "error")
		exact := truth(origin + clock.HostTime(h))
		floor := clock.HostTime(new(big.Int).Div(exact.Num(), exact.Denom()).Int64())
		samples = append(samples, trace.Sample{Clock: 3, Host: origin + clock.HostTime(h), Reference: floor + clock.HostTime(rapid.Int64Range(-e+1, e-1).Draw(t, "off")), Error: e})
	}
	return samples, truth
}

func TestBoundsHoldALinearClockEverywhere(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		samples, truth := drawLinear(t)
		mode := rapid.SampledFrom([]Mode{Between, Both}).Draw(t, "mode")
		m, err := Map(samples, mode)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []clock.PairCurve{m.Mid, m.Low, m.High} {
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
		}
		for range 20 {
			x := samples[0].Host + clock.HostTime(rapid.Int64Range(-4_000_000_000_000, 4_000_000_000_000).Draw(t, "x"))
			low, high, _, _ := m.Bounds(x)
			want := truth(x)
			if new(big.Rat).SetInt64(int64(low)).Cmp(want) > 0 || new(big.Rat).SetInt64(int64(high)).Cmp(want) < 0 {
				t.Fatalf("at %d: %v outside [%d, %d]", x, want.FloatString(1), low, high)
			}
			if mid := m.At(x); mid < low-1 || mid > high+1 {
				t.Fatalf("at %d: estimate %d outside [%d, %d]", x, mid, low, high)
			}
		}
	})
}

func TestBoundsAtASampleAreNoWiderThanItsError(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		samples, _ := drawLinear(t)
		m, err := Map(samples, Between)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			if low, high, _, _ := m.Bounds(s.Host); low < s.Reference-clock.HostTime(s.Error) || high > s.Reference+clock.HostTime(s.Error) {
				t.Fatalf("[%d, %d] around the sample %+v", low, high, s)
			}
		}
	})
}

func TestEveryModeTakesItsSamplesAndNoOthers(t *testing.T) {
	samples := []trace.Sample{{Host: 3000, Reference: 5500, Error: 400}, {Host: 1000, Reference: 3000, Error: 400}, {Host: 2000, Reference: 4100, Error: 400}}
	for mode, want := range map[Mode]map[clock.HostTime]clock.HostTime{
		Before:  {1000: 3000, 2000: 4000, 3000: 5000, 0: 2000},
		After:   {1000: 3500, 3000: 5500, 4000: 6500},
		Both:    {1000: 3000, 2000: 4250, 3000: 5500, 5000: 8000},
		Between: {1000: 3000, 2000: 4100, 2500: 4800, 3000: 5500},
	} {
		m, err := Map(slices.Clone(samples), mode)
		if err != nil {
			t.Fatal(mode, err)
		}
		for x, y := range want {
			if got := m.At(x); got != y {
				t.Errorf("%v: %d at %d, not %d", mode, got, x, y)
			}
		}
		if bounded := m.Low != nil && m.High != nil; bounded != (mode == Both || mode == Between) {
			t.Errorf("%v: bounded %v", mode, bounded)
		}
	}
}

func TestSamplesThatSayNothingAreErrors(t *testing.T) {
	for name, samples := range map[string][]trace.Sample{
		"none":              nil,
		"one instant":       {{Host: 5}, {Host: 5, Error: 1}},
		"two clocks":        {{Host: 5}, {Clock: 1, Host: 6}},
		"negative error":    {{Host: 5}, {Host: 6, Error: -1}},
		"far from any time": {{Host: 5}, {Host: clock.Limit}},
		"runs back":         {{Host: 5, Reference: 100, Error: 3}, {Host: 6, Reference: 90, Error: 3}},
	} {
		if m, err := Map(samples, Between); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestAReferenceThatStepsBackWithinItsErrorNeverRunsBack(t *testing.T) {
	m, err := Map([]trace.Sample{{Host: 5, Reference: 100, Error: 10}, {Host: 6, Reference: 95, Error: 10}, {Host: 900, Reference: 1000, Error: 10}}, Between)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []clock.PairCurve{m.Mid, m.Low, m.High} {
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkAThousandSamples(b *testing.B) {
	var samples []trace.Sample
	for i := range int64(1000) {
		samples = append(samples, trace.Sample{Host: clock.HostTime(i * 1e9), Reference: clock.HostTime(i*1e9 + i*20_000), Error: 30_000})
	}
	for b.Loop() {
		if _, err := Map(samples, Between); err != nil {
			b.Fatal(err)
		}
	}
}

func TestBoundsOfSteepAndOfVagueSamplesAreCurves(t *testing.T) {
	for _, samples := range [][]trace.Sample{
		{{Host: 0, Reference: 0}, {Host: 2308, Reference: 1 << 59, Error: 264}},
		{{Host: 0, Reference: -1 << 61}, {Host: 1 << 44, Reference: 1 << 61, Error: 1 << 62}},
	} {
		m, err := Map(samples, Between)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []clock.PairCurve{m.Low, m.Mid, m.High} {
			if err := c.Check(); err != nil {
				t.Errorf("%v: %v", err, c)
			}
		}
	}
}
