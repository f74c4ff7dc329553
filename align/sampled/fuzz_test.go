package sampled

import (
	"slices"
	"testing"

	"meridian/clock"
	"meridian/internal/fuzztest"
	"meridian/trace"
)

// FuzzMap takes any samples, and samples of clocks of which the truth is known: a polyline through the samples. What Map
// documents as an error must be one. Else the three curves must be curves, the estimate within the bounds, and every bound
// outside what its sample says or what the samples around it say. Between must hold the truth at every instant.
func FuzzMap(f *testing.F) {
	f.Add([]byte{0, 4, 0, 9, 0, 4, 0, 9, 0, 1, 0, 1, 0, 8, 0, 20, 0, 8, 0, 21, 0, 1, 0, 2, 0, 0})
	f.Add([]byte{1, 0, 4, 0, 9, 0, 4, 1, 9, 0, 1, 0, 1, 0, 8, 0, 20, 0, 8, 0, 21, 0, 1, 0, 2, 0, 0, 30, 30, 30})
	fuzztest.Run(f, func(t *testing.T, in *fuzztest.Input) {
		var samples []trace.Sample
		var truth clock.PairCurve
		if in.N(2) == 1 {
			samples, truth = trueSamples(in)
		} else {
			for in.More() && len(samples) < 40 {
				s := trace.Sample{Host: clock.HostTime(in.Number()), Reference: clock.HostTime(in.Number()), Error: in.Number()}
				if in.N(16) == 15 {
					s.Clock = 1
				}
				samples = append(samples, s)
			}
		}
		for mode := Between; mode <= After+1; mode++ {
			given := slices.Clone(samples)
			m, err := Map(samples, mode)
			if !slices.Equal(samples, given) {
				t.Fatal("the samples were changed")
			}
			if wrong, certain := wrongSamples(samples, mode); certain && wrong != (err != nil) {
				t.Fatalf("%v of %+v: wrong is %v, but %v", mode, samples, wrong, err)
			}
			if err != nil && truth != nil && mode <= After && len(truth) > 1 {
				t.Fatalf("%v of %+v: %v", mode, samples, err)
			}
			if err == nil {
				checkMap(t, samples, mode, &m, truth)
			}
		}
	})
}

// trueSamples makes samples of a clock that is linear between any two of them.
func trueSamples(in *fuzztest.Input) (samples []trace.Sample, truth clock.PairCurve) {
	scale, origin := in.N(30), []clock.HostTime{0, 1_790_000_000_000_000_000, -clock.Limit + 1<<54}[in.N(3)]
	k := clock.PairKnot{X: origin, Y: origin + clock.HostTime(in.Below(scale))}
	for in.More() && len(samples) < 40 {
		truth = append(truth, k)
		most := in.Below(in.N(16))
		samples = append(samples, trace.Sample{Host: k.X, Reference: k.Y + clock.HostTime(int64(in.N(255)-127)*most/127), Error: most})
		k.X += clock.HostTime(1 + in.Below(scale))
		k.Y += clock.HostTime(in.Below(scale))
	}
	for i := range samples { // in any order
		j := in.N(i + 1)
		samples[i], samples[j] = samples[j], samples[i]
	}
	return samples, truth
}

// wrongSamples says what the comment of Map says of errors, as far as single samples tell.
func wrongSamples(samples []trace.Sample, mode Mode) (wrong, certain bool) {
	if len(samples) == 0 || mode > After {
		return true, true
	}
	instants := make(map[clock.HostTime]bool)
	for _, s := range samples {
		for _, x := range []clock.HostTime{s.Host, s.Reference} {
			wrong = wrong || x >= clock.Limit || x <= -clock.Limit
		}
		wrong = wrong || s.Clock != samples[0].Clock || s.Error < 0 || s.Error > clock.Limit
		instants[s.Host] = true
	}
	if wrong || mode >= Before {
		return wrong, true
	}
	return true, len(instants) < 2 // whether the reference ran back is another question
}

func checkMap(t *testing.T, samples []trace.Sample, mode Mode, m *clock.PairMap, truth clock.PairCurve) {
	t.Helper()
	for _, c := range []clock.PairCurve{m.Mid, m.Low, m.High} {
		if c == nil && mode >= Before {
			continue
		}
		if err := c.Check(); err != nil {
			t.Fatalf("%v of %+v: %v: %v", mode, samples, err, c)
		}
	}
	if mode >= Before {
		if m.Low != nil || m.High != nil {
			t.Fatalf("%v has bounds", mode)
		}
		return
	}
	for _, s := range samples {
		low, high, _, _ := m.Bounds(s.Host)
		if at := m.At(s.Host); at < low || at > high {
			t.Fatalf("%v of %+v at %d: %d is not within %d and %d", mode, samples, s.Host, at, low, high)
		}
		if mode == Between && (low > s.Reference.Add(0)+clock.HostTime(s.Error) || high < s.Reference-clock.HostTime(s.Error)) && unique(samples, s) {
			t.Fatalf("%+v: the sample %+v is not within %d and %d", samples, s, low, high)
		}
	}
	if mode != Between || len(truth) < 2 {
		return
	}
	first, last := truth[0].X, truth[len(truth)-1].X
	span := clock.Sub(last, first)
	for i := range int64(12) {
		x := clock.Add(first, clock.MulDiv(span, i-3, 5, clock.Nearest))
		if at := truth.At(x, clock.Nearest); at >= clock.Limit || at <= -clock.Limit {
			continue // no clock shows that
		}
		low, high, _, _ := m.Bounds(x)
		if low > truth.At(x, clock.Down) || high < truth.At(x, clock.Up) {
			t.Fatalf("%+v at %d: the truth %d is not within %d and %d", samples, x, truth.At(x, clock.Nearest), low, high)
		}
	}
}

// unique reports whether no other sample is of the same instant.
func unique(samples []trace.Sample, s trace.Sample) bool {
	n := 0
	for _, o := range samples {
		if o.Host == s.Host {
			n++
		}
	}
	return n == 1
}
