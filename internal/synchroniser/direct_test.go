package synchroniser

import (
	"math/rand/v2"
	"testing"

	"meridian/align/bound"
	"meridian/clock"
	"meridian/internal/probe"
)

// steeredWorld is two system clocks over free clocks; the one there is steered.
type steeredWorld struct {
	rates []float64 // of the system clock there, each a second
	count []uint8   // what Steering says in that second
}

// offset is the system clock there less the one here, which is true time.
func (w *steeredWorld) offset(x float64) float64 {
	o := 5e9
	for i, r := range w.rates {
		o += r * min(max(x-float64(i)*1e9, 0), 1e9)
	}
	return o
}

// TestDirectBoundsHoldWhileTheClockThereIsSteered steers it by some ppm, now and then, as chronyd does.
func TestDirectBoundsHoldWhileTheClockThereIsSteered(t *testing.T) {
	asked, bounded := 0, 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 5))
		w := &steeredWorld{}
		rate, count := 20e-6, uint8(1)
		for range 60 {
			if r.IntN(10) == 0 {
				rate += (r.Float64() - 0.5) * 18e-6
				count++
			}
			w.rates, w.count = append(w.rates, rate), append(w.count, count)
		}
		d := newDirect(bound.Assumption{})
		const origin = 1_700_000_000_000_000_000
		here := func(x float64) clock.HostTime { return clock.HostTime(origin + int64(x)) }
		there := func(x float64) clock.HostTime { return clock.HostTime(origin + int64(x+w.offset(x))) }
		for n, x := 0, 0.0; x < 59e9; n, x = n+1, x+62e6 {
			t2 := x + 2e3 + 2e3*r.ExpFloat64()
			t3 := t2 + 20e3
			t4 := t3 + 2e3 + 2e3*r.ExpFloat64()
			d.take(probe.Sample{
				T1: probe.Stamp{Wall: here(x), Kind: probe.Kernel}, T2: probe.Stamp{Time: there(t2), Wall: there(t2), Kind: probe.Kernel},
				T3: probe.Stamp{Time: there(t3), Kind: probe.Kernel}, T4: probe.Stamp{Wall: here(t4), Kind: probe.Kernel},
				SteeringHere: 1, SteeringThere: w.count[int(t2/1e9)],
			}, false)
			ask := t4 + r.Float64()*(62e6-30e3)
			asked++
			low, high, ok := d.at(here(ask), 1, 10)
			if !ok {
				continue
			}
			bounded++
			if truth := w.offset(ask); truth < float64(low)-1 || truth > float64(high)+1 {
				t.Fatalf("seed %d, %.3f s: the truth %.0f is not within %d and %d", seed, ask/1e9, truth, low, high)
			}
		}
	}
	if bounded < asked*9/10 {
		t.Errorf("%d of %d instants were bounded", bounded, asked)
	}
}

// TestDirectBoundsOfAnExactSendingAreNarrower gives T3 by a reading of the free clock that is off, and by the stamp of the system clock.
func TestDirectBoundsOfAnExactSendingAreNarrower(t *testing.T) {
	const start, readings = 1_700_000_000_000_000_000, 300
	width := func(exact bool) int64 {
		d := newDirect(bound.Assumption{})
		var last clock.HostTime
		for x := clock.HostTime(start); x < start+1e9; x += 1e8 {
			k := probe.Kernel
			t3 := probe.Stamp{Time: x + 2000 + readings/2, Error: readings, Kind: k}
			if exact {
				t3.Wall = x + 2000
			}
			d.take(probe.Sample{T1: probe.Stamp{Wall: x, Kind: k}, T2: probe.Stamp{Time: x + 1000, Wall: x + 1000, Kind: k}, T3: t3,
				T4: probe.Stamp{Wall: x + 3000, Kind: k}, SteeringHere: 1, SteeringThere: 1}, false)
			last = x + 3000
		}
		low, high, ok := d.at(last, 1, 10)
		if !ok || low > 0 || high < 0 {
			t.Fatalf("bounds %d and %d, %v, of clocks that agree", low, high, ok)
		}
		return high - low
	}
	if with, without := width(true), width(false); with > without-readings/4 {
		t.Errorf("%d ns wide, %d by the free clock's stamp", with, without)
	}
}

func TestDirectBoundsAreGoneWhenTheClockHereIsSteered(t *testing.T) {
	d := newDirect(bound.Assumption{})
	sample := func(x clock.HostTime, here, there uint8) {
		k := probe.Kernel
		d.take(probe.Sample{T1: probe.Stamp{Wall: x, Kind: k}, T2: probe.Stamp{Time: x + 1000, Wall: x + 1000, Kind: k}, T3: probe.Stamp{Time: x + 2000, Kind: k},
			T4: probe.Stamp{Wall: x + 3000, Kind: k}, SteeringHere: here, SteeringThere: there}, false)
	}
	bounded := func(x clock.HostTime, here uint8) bool { _, _, ok := d.at(x, here, 10); return ok }
	const start = 1_700_000_000_000_000_000
	sample(start, 1, 1)
	sample(start+1e8, 1, 1)
	if !bounded(start+1e8+4000, 1) {
		t.Error("not bounded by an exchange")
	}
	if bounded(start+1e8+4000, 2) || bounded(start+1e8+4000, 0) {
		t.Error("bounded though the clock here is steered in another way")
	}
	for _, c := range []struct {
		name        string
		at          clock.HostTime
		here, there uint8
	}{
		{"the rate here", start + 2e8, 2, 1}, {"the rate there", start + 2e8, 1, 2}, {"a slew there", start + 2e8, 1, 0}, {"a long gap", start + 7e8, 1, 1},
	} {
		d.reset()
		sample(start+5e7, 1, 1)
		sample(start+1e8, 1, 1)
		sample(start+15e7, 1, 1)
		sample(c.at, c.here, c.there)
		if bounded(c.at+4000, c.here) {
			t.Errorf("%s: the exchange that showed it is used", c.name)
		}
	}
}
