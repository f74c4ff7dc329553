package clock

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime"
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
		if (x.StepNs > 0) != (x.Clock != None) || x.StepNs > 1e9 {
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

func TestALoopReturnsTheSumOfItsReadings(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const hz = 1_000_000_000
	for _, w := range allCalls(hz) {
		if got := w.loop(0); got != 0 {
			t.Errorf("%s: no reading is %d", w.name, got)
		}
		switch w.name {
		case "time.Now": // of which the loop reads what is less than a second
			if got := w.loop(1); got >= 1e9 {
				t.Errorf("%s: %d ns within the second", w.name, got)
			}
		case "getppid":
			if got := w.loop(3); got != 3*uint64(os.Getppid()) {
				t.Errorf("%s: %d for three of %d", w.name, got, os.Getppid())
			}
		default:
			read := w.read
			if read == nil { // Take, of which the loop reads the counter beside TAI
				if read = Best().Source.Now; !TAI.Available() {
					continue
				}
			}
			before := read()
			got := w.loop(1)
			if after := read(); got < before || got > after {
				t.Errorf("%s: %d between %d and %d", w.name, got, before, after)
			}
		}
	}
}

func TestACountIsANanosecondOrAsLongAsTheLastFrequencySays(t *testing.T) {
	for _, c := range []struct {
		hz   []float64
		want float64
	}{{nil, 1}, {[]float64{1e9}, 1}, {[]float64{2e9}, 0.5}, {[]float64{2e9, 4e9}, 0.25}, {[]float64{24e6, 62.5e6}, 16}} {
		var measured []Frequency
		for _, hz := range c.hz {
			measured = append(measured, Frequency{Hz: hz})
		}
		if got := nsPerCount(measured); got != c.want {
			t.Errorf("%v Hz: %g ns, want %g", c.hz, got, c.want)
		}
	}
}

// simulated is a machine on which nothing takes time but reading its meter and its calls.
type simulated struct {
	now     int64
	reading int64
	costs   []int64 // of one call each
}

func (s *simulated) measurement(ctx context.Context, during time.Duration, progress func(done, total int64)) *costs {
	b := &costs{ctx: ctx, during: during, progress: progress, grain: 3, evicted: 256}
	b.meter = func() uint64 {
		s.now += s.reading
		return uint64(s.now - s.reading)
	}
	b.passed = func() time.Duration { return time.Duration(s.now) }
	for _, cost := range s.costs {
		b.calls = append(b.calls, way{loop: func(n int) uint64 {
			s.now += cost * int64(n)
			return 1
		}})
	}
	return b
}

func TestBatchesAreLongEnoughAndCostsAreWithoutTheMeters(t *testing.T) {
	// 300 counts are enough: the first call takes exactly that, the last takes less than nothing.
	s := &simulated{reading: 12, costs: []int64{9, 1, 0, -5}}
	b := s.measurement(t.Context(), 0, nil)
	b.passed = func() time.Duration { return 0 }
	n := uint64(0)
	b.calls[0].read = func() uint64 { n += 5 + n%3; return n }
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		batch int
		cold  float64
	}{{32, 9}, {512, 1}, {maxBatch, 0}, {maxBatch, 0}} {
		c := &b.calls[i]
		if c.batch != want.batch {
			t.Errorf("call %d: batches of %d, want %d", i, c.batch, want.batch)
		}
		if len(c.warm) != leastRounds || len(c.cold) != leastRounds {
			t.Errorf("call %d: %d and %d rounds", i, len(c.warm), len(c.cold))
		}
		for k := range c.warm {
			if warm := float64(12+s.costs[i]*int64(c.batch)) / float64(c.batch); c.warm[k] != warm || c.cold[k] != want.cold {
				t.Errorf("call %d: %g and %g, want %g and %g", i, c.warm[k], c.cold[k], warm, want.cold)
			}
		}
	}
	if b.calls[0].step != 5 || b.calls[1].step != 0 {
		t.Errorf("steps of %d and %d", b.calls[0].step, b.calls[1].step)
	}
	for i, x := range b.garbage {
		if want := byte(leastRounds * len(b.calls)); i%64 == 0 && x != want || i%64 != 0 && x != 0 {
			t.Errorf("byte %d of the garbage was written %d times", i, x)
		}
	}
	if b.told == 0 {
		t.Error("what the calls tell is thrown away")
	}
}

func TestAMeterWithoutStepsIsNotWaitedFor(t *testing.T) {
	s := &simulated{reading: 50, costs: []int64{2}}
	b := s.measurement(t.Context(), 0, nil)
	b.grain = math.MaxInt64
	if err := b.run(); err != nil || b.calls[0].batch != minBatch {
		t.Errorf("batches of %d, %v", b.calls[0].batch, err)
	}
}

func TestHalfOfTheTimeGoesToEachKindOfCalls(t *testing.T) {
	s := &simulated{reading: 1, costs: []int64{10, 20}}
	const during = 1_000_000
	var told []int64
	b := s.measurement(t.Context(), during, func(done, total int64) {
		if total != during {
			t.Fatalf("of %d", total)
		}
		told = append(told, done)
	})
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	warm, cold := len(b.calls[0].warm), len(b.calls[0].cold)
	if len(told) != warm+cold || len(b.calls[1].warm) != warm || len(b.calls[1].cold) != cold {
		t.Fatalf("%d and %d rounds, told of %d", warm, cold, len(told))
	}
	if told[warm-2] >= during/2 || told[warm-1] < during/2 || told[len(told)-2] >= during || told[len(told)-1] != during {
		t.Errorf("warm until %d, then %d; cold until %d, then %d", told[warm-2], told[warm-1], told[len(told)-2], told[len(told)-1])
	}
	s = &simulated{}
	b = s.measurement(t.Context(), time.Hour, nil)
	rounds := 0
	if err := b.rounds(time.Hour, func(*way) {}); err != nil {
		t.Fatal(err)
	}
	b.calls = make([]way, 1)
	if err := b.rounds(time.Hour, func(*way) { rounds++ }); err != nil || rounds != mostRounds {
		t.Errorf("%d rounds, %v", rounds, err)
	}
}

// TestStepsAreWholeCounts: the resolution of the counter is measured in counts and told in ns.
func TestStepsAreWholeCounts(t *testing.T) {
	c, err := Measure(t.Context(), time.Millisecond, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range c.Calls {
		perNs := 1.0
		if x.Name == "Cycles" || x.Name == "OrderedCycles" {
			if perNs = 0; len(c.Frequencies) > 0 {
				perNs = c.Frequencies[len(c.Frequencies)-1].Hz / 1e9
			}
		}
		if counts := x.StepNs * perNs; math.Abs(counts-math.Round(counts)) > 1e-6*counts {
			t.Errorf("%s goes by %g counts", x.Name, counts)
		}
		if c.Meter.CountsCycles() {
			ratio := x.Warm.Cycles.Median / x.Warm.Ns.Median
			if hz := c.Frequencies[len(c.Frequencies)-1].Hz; math.Abs(ratio*1e9/hz-1) > 1e-12 {
				t.Errorf("%s: %g counts take 1 ns", x.Name, ratio)
			}
		}
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
	if s := spread([]float64{9, 4, 6}, Monotonic, 2); s.Ns != (Quantiles{8, 12, 18}) {
		t.Errorf("%+v", s)
	}
	one := spread([]float64{7}, Monotonic, 1)
	if one.Ns != (Quantiles{7, 7, 7}) || one.Cycles != nil {
		t.Errorf("%+v", one)
	}
}
