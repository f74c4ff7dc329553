package synchroniser

import (
	"math/rand/v2"
	"testing"

	"meridian/clock"
	"meridian/internal/probe"
)

// TestNoBoundSpansAStepThatWasFound sets both clocks of the other host, or its system clock alone, by three round trips or more. Bounds are
// wrong, as is said, until an exchange shows it, which one of the next does. From then on they hold.
func TestNoBoundSpansAStepThatWasFound(t *testing.T) {
	const origin, interval = 1_700_000_000_000_000_000, 62e6
	asked := 0
	for seed := range uint64(16) {
		r := rand.New(rand.NewPCG(seed, 9))
		size := float64(12_000 + r.IntN(20_000))
		if seed%2 == 1 {
			size = -size
		}
		freeToo := seed%3 > 0
		freeError := int64(50) // the error of stamps on free clocks
		if seed%4 > 1 {
			freeError = 3_000
		}
		at := 8e9 + r.Float64()*8e9
		step := func(x float64) float64 {
			if x < at {
				return 0
			}
			return size
		}
		here := func(x float64) clock.HostTime { return clock.HostTime(origin + int64(x)) }
		free := func(x float64) clock.HostTime {
			if freeToo {
				x += step(x)
			}
			return clock.HostTime(origin + 3e9 + int64(x))
		}
		wall := func(x float64) clock.HostTime { return clock.HostTime(origin + 5e9 + int64(x+step(x))) }
		h, err := newHost(&Options{Method: DefaultMethod, Steering: 10}, Target{Name: "far"})
		if err != nil {
			t.Fatal(err)
		}
		kernel := func(free, wall clock.HostTime) probe.Stamp {
			return probe.Stamp{Time: free, Wall: wall, Kind: probe.Kernel, Error: freeError}
		}
		var late *probe.Sample
		known, after := false, 0
		for n, x := uint64(1), 0.0; x < 24e9; n, x = n+1, x+interval {
			for range 2 { // a pair
				t2 := x + 2e3 + 2e3*r.ExpFloat64()
				t3 := t2 + 20e3
				t4 := t3 + 2e3 + 2e3*r.ExpFloat64()
				s := probe.Sample{
					Session: 1, Number: n, T1: kernel(here(x), here(x)), T2: kernel(free(t2), wall(t2)), T3: kernel(free(t3-5e3), 0),
					T4: kernel(here(t4), here(t4)), SteeringHere: 1, SteeringThere: 1,
				}
				now := probe.Reading{Free: here(t4 + 1e3), Wall: here(t4 + 1e3), Error: 50}
				if late != nil {
					h.take(*late, now)
				}
				h.take(s, now)
				s.T3, s.Late = kernel(free(t3), 0), true
				late = &s
				state := h.state.Load()
				if x > at && !known {
					known = state.Steps+state.Set > 0
				}
				if x < at && state.Steps+state.Set > 0 {
					t.Fatalf("seed %d: a step of %.0f ns at %.3f s is found at %.3f s", seed, size, at/1e9, x/1e9)
				}
				if x < at && t4 >= at || x > at && !known {
					x = t4 + 20e3
					if after++; after > 5 {
						t.Fatalf("seed %d: a step of %.0f ns is not found", seed, size)
					}
					continue
				}
				truth := func(y float64) int64 { return int64(step(y)) }
				if state.Free.Bounded {
					want := int64(3e9)
					if freeToo {
						want += truth(t4)
					}
					within(t, "the free clocks", state.Free, want)
				}
				if state.System.Bounded {
					asked++
					within(t, "the system clocks", state.System, 5e9+truth(t4))
				}
				if t.Failed() {
					t.Fatalf("seed %d: at %.6f s, a step of %.0f ns at %.6f s, of the free clock too: %v, %+v", seed, x/1e9, size, at/1e9, freeToo, *state)
				}
				x = t4 + 20e3
			}
		}
		if state := h.state.Load(); state.Steps+state.Set != 1 {
			t.Errorf("seed %d: one step, of the free clock too: %v, counted as %d and %d", seed, freeToo, state.Steps, state.Set)
		}
	}
	if asked < 5_000 {
		t.Errorf("%d bounds were asked", asked)
	}
}
