package online_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"meridian/align/online"
	"meridian/clock"
)

// world is a remote clock, a network and a schedule.
type world struct {
	rate         float64 // exchanges a second
	burst        int     // exchanges at a time
	least, queue [2]float64
	wander       float64 // of the rate, per sqrt(s)
	wave         float64 // ns: amplitude of the offset's wave of 60 s
	skew         float64
	step         float64 // ns, at stepAt
	stepAt       float64 // s
	length       float64 // s
	from         float64 // s: where errors begin to count; 0 is 20
}

// outcome is what a synchroniser made of a world.
type outcome struct {
	median, p99    float64
	outside, asked int
	width          float64 // median, in least round trips
	steps          int
	foundAfter     int // exchanges after the step
}

// play runs a method in a world. Between exchanges the offset is asked for.
func play(t *testing.T, method string, w world, seed uint64) outcome {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	s, err := online.New(method, online.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// the offset each millisecond
	const grain = 1e6
	n := int(w.length*1e9/grain) + 10
	offsets := make([]float64, n)
	rate, at := w.skew, 3.1e9
	for i := range offsets {
		offsets[i] = at + w.wave*math.Sin(2*math.Pi*float64(i)*grain/60e9)
		at += rate * grain
		rate += w.wander * math.Sqrt(grain/1e9) * r.NormFloat64()
		if w.step != 0 && i == int(w.stepAt*1e9/grain) {
			at += w.step
		}
	}
	offset := func(x float64) float64 {
		i := int(x / grain)
		f := x/grain - float64(i)
		return offsets[i]*(1-f) + offsets[i+1]*f
	}
	const origin = 1_700_000_000_000_000_000
	local := func(x float64) clock.HostTime { return clock.HostTime(origin + int64(x)) }
	remote := func(x float64) clock.HostTime { return clock.HostTime(origin + int64(x+offset(x))) }
	var o outcome
	var errors, widths []float64
	gap := 1e9 / w.rate
	after := 0
	for x := 0.0; x+2*gap < w.length*1e9; x += gap {
		last := x
		for k := range max(w.burst, 1) {
			sent := x + float64(k)*2e6
			received := sent + w.least[0] + w.queue[0]*r.ExpFloat64()
			replied := received + 20e3
			returned := replied + w.least[1] + w.queue[1]*r.ExpFloat64()
			stepped := s.Exchange(online.Exchange{Sent: local(sent), Received: remote(received), Replied: remote(replied), Returned: local(returned)})
			last = returned
			if w.step != 0 && sent > w.stepAt*1e9 {
				if after++; stepped && o.foundAfter == 0 {
					o.foundAfter = after
				}
			}
		}
		if x < max(w.from, 20)*1e9 {
			continue
		}
		ask := last + r.Float64()*(x+gap-last)
		got := s.At(local(ask))
		truth := offset(ask)
		errors = append(errors, math.Abs(float64(got.Offset)-truth))
		o.steps = got.Steps
		if got.Bounded {
			o.asked++
			if got.Offset < got.Low || got.Offset > got.High {
				t.Fatalf("%s: the estimate %d is not within %d and %d", method, got.Offset, got.Low, got.High)
			}
			if truth < float64(got.Low) || truth > float64(got.High) {
				o.outside++
			}
			widths = append(widths, float64(got.High-got.Low)/float64(got.MinRTT))
		}
	}
	slices.Sort(errors)
	slices.Sort(widths)
	o.median, o.p99 = errors[len(errors)/2], errors[len(errors)*99/100]
	if len(widths) > 0 {
		o.width = widths[len(widths)/2]
	}
	return o
}

var (
	short = [2]float64{2e3, 2e3}
	quick = [2]float64{3e3, 3e3}
)

// worlds are clocks and networks of several kinds. least is the greatest share of NTP's p99 that the default may have.
var worlds = []struct {
	name  string
	share float64
	world
}{
	{"short delays", 0.1, world{rate: 16, least: short, queue: quick, wander: 1e-9, length: 300}},
	{"short delays, a clock that wanders", 0.2, world{rate: 16, least: short, queue: quick, wander: 1e-8, length: 300}},
	{"short delays, quick", 0.05, world{rate: 128, least: short, queue: quick, wander: 1e-9, length: 100}},
	{"long delays", 0.1, world{rate: 16, least: [2]float64{50e3, 50e3}, queue: [2]float64{50e3, 50e3}, wander: 1e-9, length: 300}},
	{"a congested way", 0.1, world{rate: 16, least: [2]float64{100e3, 100e3}, queue: [2]float64{1000e3, 20e3}, wander: 1e-9, length: 300}},
	{"a wave and a skew", 0.3, world{rate: 16, least: short, queue: quick, wander: 1e-11, wave: 2387, skew: 44e-6, length: 300}},
	{"one in 5 s", 0.3, world{rate: 0.2, least: [2]float64{50e3, 50e3}, queue: [2]float64{50e3, 50e3}, wander: 1e-9, length: 3000}},
	{"rare bursts", 0.3, world{rate: 0.2, burst: 8, least: [2]float64{50e3, 50e3}, queue: [2]float64{50e3, 50e3}, wander: 1e-8, length: 3000}},
}

func TestBoundsHoldAndTheDefaultIsFarBetterThanNTP(t *testing.T) {
	for _, w := range worlds {
		ntp, best := play(t, "ntp", w.world, 1), play(t, online.Default, w.world, 1)
		t.Logf("%-36s ntp %6.0f/%6.0f posterior %6.0f/%6.0f ns, width %.2f", w.name, ntp.median, ntp.p99, best.median, best.p99, best.width)
		for _, o := range []outcome{ntp, best} {
			if o.outside > 0 || o.asked == 0 {
				t.Errorf("%s: %d of %d bounds do not hold", w.name, o.outside, o.asked)
			}
			if o.steps > 0 {
				t.Errorf("%s: %d steps were found where there is none", w.name, o.steps)
			}
		}
		if best.p99 > w.share*ntp.p99 {
			t.Errorf("%s: p99 %.0f ns, NTP's is %.0f", w.name, best.p99, ntp.p99)
		}
		if limit := 1.75; w.rate >= 10 && best.width > limit {
			t.Errorf("%s: the bound is %.2f least round trips wide", w.name, best.width)
		}
	}
}

func TestAStepOfThreeRoundTripsIsFoundWithinFourExchanges(t *testing.T) {
	for seed := range uint64(10) {
		for _, sign := range []float64{1, -1} {
			w := world{rate: 16, least: short, queue: quick, wander: 1e-9, length: 60, step: sign * 3 * 4e3, stepAt: 40.03}
			for _, m := range online.Methods() {
				if o := play(t, m, w, seed); o.foundAfter == 0 || o.foundAfter > 4 || o.steps != 1 {
					t.Errorf("%s, seed %d: found %d exchanges after the step, %d steps", m, seed, o.foundAfter, o.steps)
				}
			}
		}
	}
}

func TestImpossibleExchangesAreDroppedAndCounted(t *testing.T) {
	for _, m := range online.Methods() {
		s, err := online.New(m, online.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.Exchange(online.Exchange{Sent: 100, Received: 50, Replied: 60, Returned: 40})
		s.Exchange(online.Exchange{Sent: 100, Received: 50, Replied: 40, Returned: 140})
		s.Exchange(online.Exchange{Sent: math.MinInt64, Received: math.MaxInt64, Replied: math.MaxInt64, Returned: math.MinInt64})
		if r := s.At(200); r.Known || r.Bounded || r.Invalid != 3 {
			t.Errorf("%s: %+v", m, r)
		}
		s.Exchange(online.Exchange{Sent: 1000, Received: 5050, Replied: 5060, Returned: 1140})
		if r := s.At(1140); !r.Known || !r.Bounded || r.Low > 3950 || r.High < 3950 || r.MinRTT != 130 {
			t.Errorf("%s: %+v", m, r)
		}
	}
}

// TestErrorsOfStampsWidenBoundsAndLeaveEstimates: errors differ from stamp to stamp, by which outward stamps would be noise.
func TestErrorsOfStampsWidenBoundsAndLeaveEstimates(t *testing.T) {
	for _, m := range online.Methods() {
		exact, err := online.New(m, online.Options{})
		if err != nil {
			t.Fatal(err)
		}
		wide, err := online.New(m, online.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(3, 3))
		x := online.Exchange{}
		for i := range clock.HostTime(1000) {
			x = exampleExchange(i * 62_500_000)
			exact.Exchange(x)
			e := func() int64 { return 200 + r.Int64N(300) }
			x.Errors = online.Errors{Sent: e(), Received: e(), Replied: e(), Returned: e()}
			wide.Exchange(x)
		}
		at := x.Returned + 1000
		a, b := exact.At(at), wide.At(at)
		if a.Offset != b.Offset || a.Skew != b.Skew || a.Offset != 1_000_000 {
			t.Errorf("%s: %d and %g, with errors %d and %g", m, a.Offset, a.Skew, b.Offset, b.Skew)
		}
		// The bound is as narrow as the least errors allow, 400 ns on either side, and what they leave open of the rate.
		if low, high := a.Low-b.Low, b.High-a.High; !b.Bounded || low < 400 || low > 800 || high < 400 || high > 800 {
			t.Errorf("%s: the bound is wider by %d and %d", m, low, high)
		}
		x.Errors.Replied = -1
		if wide.Exchange(x); wide.At(at).Invalid != 1 {
			t.Errorf("%s: an error below zero is taken", m)
		}
		if wide.Back(x); wide.At(at).Invalid != 2 {
			t.Errorf("%s: an error below zero is taken by Back", m)
		}
		x.Errors.Sent = -1
		if wide.Forward(x); wide.At(at).Invalid != 3 {
			t.Errorf("%s: an error below zero is taken by Forward", m)
		}
	}
}

func TestNothingAllocatesInTheLongRun(t *testing.T) {
	for _, m := range online.Methods() {
		s, err := online.New(m, online.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 1))
		x := clock.HostTime(0)
		exchange := func() {
			x += 62e6
			there, back := clock.HostTime(2000+r.Int64N(3000)), clock.HostTime(2000+r.Int64N(3000))
			s.Exchange(online.Exchange{Sent: x, Received: x + there, Replied: x + there + 20e3, Returned: x + there + 20e3 + back})
			s.At(x + 1e6)
		}
		for range 20_000 {
			exchange()
		}
		if n := testing.AllocsPerRun(10_000, exchange); n > 0 {
			t.Errorf("%s: %g allocations an exchange", m, n)
		}
	}
}

func BenchmarkExchange(b *testing.B) {
	for _, m := range online.Methods() {
		for _, rate := range []int{10, 128} {
			b.Run(fmt.Sprintf("%s/%d", m, rate), func(b *testing.B) {
				s, err := online.New(m, online.Options{})
				if err != nil {
					b.Fatal(err)
				}
				r := rand.New(rand.NewPCG(1, 1))
				b.ReportAllocs()
				x := clock.HostTime(0)
				for b.Loop() {
					x += clock.HostTime(1e9 / rate)
					there, back := clock.HostTime(2000+3000*r.ExpFloat64()), clock.HostTime(2000+3000*r.ExpFloat64())
					s.Exchange(online.Exchange{Sent: x, Received: x + there, Replied: x + there + 20e3, Returned: x + there + 20e3 + back})
					s.At(x + 1e6)
				}
			})
		}
	}
}
