package clock

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestEveryWayToAskIsMeasured(t *testing.T) {
	c, err := Measure(t.Context(), time.Millisecond, nil)
	if err != nil {
		t.Fatal(err)
	}
	names, stamps := map[string]bool{}, 0
	for _, x := range c.Calls {
		if names[x.Name] {
			t.Errorf("%s is there twice", x.Name)
		}
		names[x.Name] = true
		if x.Stamps {
			stamps++
			if x.Clock != Best().Source {
				t.Errorf("sensors stamp with %v, not with %s", Best().Source, x.Name)
			}
		}
		for _, s := range []Spread{x.Warm, x.Cold} {
			if q := s.Ns; s.Samples < leastRounds || q.Min > q.Median || q.Median > q.P99 || q.Min < 0 {
				t.Errorf("%s: %+v", x.Name, s)
			}
			if (s.Cycles != nil) != c.Meter.CountsCycles() {
				t.Errorf("%s by %v: cycles %v", x.Name, c.Meter, s.Cycles)
			}
		}
		if x.Warm.Ns.Min <= 0 {
			t.Errorf("%s costs nothing", x.Name)
		}
		if (x.StepNs > 0) != (x.Clock != None) {
			t.Errorf("%s tells %v in steps of %v ns", x.Name, x.Clock, x.StepNs)
		}
	}
	if stamps != 1 {
		t.Errorf("sensors stamp in %d ways", stamps)
	}
	for _, f := range c.Frequencies {
		if f.Low > f.Hz || f.Hz > f.High || f.Over <= 0 {
			t.Errorf("%+v", f)
		}
	}
}

func TestCostsAreMeasuredWithoutACycleCounterToo(t *testing.T) {
	c, err := measure(t.Context(), Monotonic, time.Millisecond, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Frequencies) != 0 {
		t.Errorf("%+v", c.Frequencies)
	}
	for _, x := range c.Calls {
		if x.Warm.Cycles != nil || x.Warm.Ns.Median <= 0 {
			t.Errorf("%s: %+v", x.Name, x.Warm)
		}
	}
}

func TestMeasuringEndsWhenAskedTo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	last := int64(0)
	_, err := Measure(ctx, time.Hour, func(done, total int64) {
		if done < last || done > total {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
		cancel()
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestQuantilesAreThoseOfTheSamples(t *testing.T) {
	samples := make([]float64, 200)
	for i := range samples {
		samples[i] = float64((i*77)%200 + 1) // each of 1 to 200 once
	}
	s := spread(samples, cycleCounter, 0.5)
	if want := (Quantiles{Min: 0.5, Median: 50, P99: 99}); s.Ns != want || s.Samples != 200 {
		t.Errorf("%+v", s)
	}
	if cycleCounter != None {
		if want := (Quantiles{Min: 1, Median: 100, P99: 198}); *s.Cycles != want {
			t.Errorf("%+v", s.Cycles)
		}
	}
	one := spread([]float64{7}, Monotonic, 1)
	if one.Ns != (Quantiles{7, 7, 7}) || one.Cycles != nil {
		t.Errorf("%+v", one)
	}
}
