package synchroniser

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/internal/corpus"
	"meridian/internal/probe"
)

var chronydSpan = flag.Int("chronyd-seconds", 120, "how many seconds of each recording of clocks that chronyd steers are played, from several instants on")

// steeredHost is a host of a recording: chronyd steers its system clock, and its free clock runs by itself.
type steeredHost struct {
	offsets []float64 // of the system clock from the truth, each second, ns
	count   []uint8   // what Steering says in each second
}

// steps of the rate, ns per s
const (
	kernelKnows = 20    // greater ones are taken for chronyd's, lesser for the oscillator's
	assumedStep = 10e3  // Options.Steering
	freeSkew    = 20e-6 // of the free clock there
)

func newSteeredHost(offsets []float64) *steeredHost {
	s := &steeredHost{offsets: offsets, count: make([]uint8, len(offsets))}
	s.count[0] = 1
	for i := 1; i < len(offsets)-1; i++ {
		s.count[i] = s.count[i-1]
		if math.Abs(s.bend(i)) > kernelKnows {
			s.count[i] = s.count[i]%255 + 1
		}
	}
	return s
}

// bend is by how much the rate changes where a second begins, ns per s.
func (s *steeredHost) bend(i int) float64 {
	return s.offsets[i+1] - 2*s.offsets[i] + s.offsets[i-1]
}

func (s *steeredHost) off(x float64) float64 {
	i := int(x / 1e9)
	f := x/1e9 - float64(i)
	return s.offsets[i]*(1-f) + s.offsets[i+1]*f
}

// TestBoundsHoldOfAHostThatChronydSteers plays hours of a real chronyd's clients, by which a host is asked in pairs, with the kernel's word when
// its rate was changed. Bounds may be wrong only within an interval of a change beyond what is assumed.
func TestBoundsHoldOfAHostThatChronydSteers(t *testing.T) {
	const interval, errorOfReadings = 62.5e6, 250
	for _, network := range []string{"lan", "wan"} {
		all := corpus.ChronydOffsets(t, network)
		for client, offsets := range all[1:] {
			for _, from := range []int{0, 600, 7200} {
				s := newSteeredHost(offsets[from:min(len(offsets), from+*chronydSpan+2)])
				r := rand.New(rand.NewPCG(uint64(from), uint64(client)))
				const origin = 1_700_000_000_000_000_000
				here := func(x float64) clock.HostTime { return clock.HostTime(origin + int64(x)) }
				kernel := func(free, wall clock.HostTime) probe.Stamp {
					return probe.Stamp{Time: free, Wall: wall, Kind: probe.Kernel, Error: errorOfReadings}
				}
				// A reading of both clocks is off by no more than it says.
				there := func(x float64) probe.Stamp {
					off := int64((2*r.Float64() - 1) * errorOfReadings)
					return kernel(clock.HostTime(origin+3e9+int64(x*(1+freeSkew))+off), clock.HostTime(origin+int64(x+s.off(x))))
				}
				h, err := newHost(&Options{Method: DefaultMethod, Steering: 10}, Target{Name: "far"})
				if err != nil {
					t.Fatal(err)
				}
				var errors, widths []float64
				asked, excused := 0, 0
				var late *probe.Sample
				for n, x := uint64(1), 0.0; x < float64(len(s.offsets)-2)*1e9-interval; n, x = n+1, x+interval {
					t4 := x
					for range 2 {
						t1 := t4 + 20e3
						t2 := t1 + 2e3 + 2e3*r.ExpFloat64()
						t3 := t2 + 20e3
						t4 = t3 + 2e3 + 2e3*r.ExpFloat64()
						second := int(t2 / 1e9)
						now := probe.Reading{Free: here(t4 + 1e3), Wall: here(t4 + 1e3), Error: errorOfReadings}
						if late != nil {
							h.take(*late, now)
						}
						received, replied := there(t2), there(t3)
						replied.Wall = 0
						sample := probe.Sample{
							Session: 1, Number: n, T1: kernel(here(t1), here(t1)), T2: received, T3: replied, T4: kernel(here(t4), here(t4)),
							SteeringHere: 1, SteeringThere: s.count[second],
						}
						h.take(sample, now)
						sample.Late = true
						late = &sample
					}
					ask := t4 + 1e3 + r.Float64()*(interval-100e3)
					state := h.at(h.estimators[0], probe.Reading{Free: here(ask), Wall: here(ask), Error: errorOfReadings}, 1)
					second := int(ask / 1e9)
					asked++
					if !state.System.Bounded {
						continue
					}
					truth := s.off(ask)
					errors, widths = append(errors, math.Abs(float64(state.System.Offset)-truth)), append(widths, float64(state.System.Width()))
					if float64(state.System.Low) <= truth+1 && truth-1 <= float64(state.System.High) {
						continue
					}
					if ask-float64(second)*1e9 > interval || second == 0 || math.Abs(s.bend(second)) <= assumedStep {
						t.Fatalf("%s, client %d, %.3f s: the truth %.0f is outside of %+v", network, client+1, float64(from)+ask/1e9, truth, state.System)
					}
					excused++
				}
				if len(errors) < asked/2 {
					t.Errorf("%s, client %d, from %d s: %d of %d instants were bounded", network, client+1, from, len(errors), asked)
					continue
				}
				slices.Sort(errors)
				slices.Sort(widths)
				t.Logf("%s, client %d, from %5d s: |error| %4.0f/%5.0f ns, bounds %5.0f ns wide, of %d instants %d, %d within an interval of a change beyond what is assumed; set %d, steps %d",
					network, client+1, from, errors[len(errors)/2], errors[len(errors)*99/100], widths[len(widths)/2], asked, len(errors), excused, h.last.Set, h.estimators[0].steps)
			}
		}
	}
}
