package clock

import (
	"context"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"meridian/clock/internal/testrand"
)

// bench is a simulated counter and a simulated clock in one time, which passes as they are read.
type bench struct {
	ps             int64
	counter, clock *stepped
	frequency      *big.Rat // of the counter by the clock, Hz
	read           []int64  // when the clock was read
}

func drawBench(t *testrand.T) *bench {
	perSecond := big.NewRat(testrand.Int64Range(1e6, 5e9).Draw(t, "frequency")*1000+testrand.Int64Range(0, 999).Draw(t, "mHz"), 1000)
	rate := big.NewRat(1_000_000_000+testrand.Int64Range(-1_000_000, 1_000_000).Draw(t, "ppb"), 1_000_000_000)
	b := &bench{
		counter:   drawStepped(t, "counter", perSecond),
		clock:     drawStepped(t, "clock", new(big.Rat).Mul(rate, big.NewRat(1e9, 1))),
		frequency: new(big.Rat).Quo(perSecond, rate),
	}
	return b
}

// pair is the bench as what readings are made with: every reading takes effect somewhere within its own time.
func (b *bench) pair(t *testrand.T) *pair {
	return &pair{
		counterGrain: b.counter.grain(), clockError: b.clock.grain(),
		counter: func() uint64 {
			b.ps += drawDelay(t)
			v := b.counter.at(b.ps)
			b.ps += drawDelay(t)
			return uint64(v)
		},
		clock: func() int64 {
			b.ps += drawDelay(t)
			b.read = append(b.read, b.ps)
			v := b.clock.at(b.ps)
			b.ps += drawDelay(t)
			return v
		},
	}
}

func within(a *big.Rat, b, error int64) bool {
	d := new(big.Rat).Sub(a, new(big.Rat).SetInt64(b))
	return d.Abs(d).Cmp(new(big.Rat).SetInt64(error)) <= 0
}

func TestReadingHoldsAtSomeInstantHoweverItWasDelayed(t *testing.T) {
	testrand.Check(t, func(t *testrand.T) {
		b := drawBench(t)
		r, ok := b.pair(t).read(testrand.IntRange(1, 8).Draw(t, "tries"))
		if !ok {
			t.Fatal("no reading")
		}
		for _, ps := range b.read {
			if within(b.counter.exact(ps), int64(r.Counter), int64(r.Error)) && within(b.clock.exact(ps), r.Ns, r.NsError) {
				return
			}
		}
		t.Fatalf("%+v was true at none of the instants %v", r, b.read)
	})
}

func TestFrequencyLiesWithinItsBoundHoweverReadingsWereDelayed(t *testing.T) {
	determined := 0
	testrand.Check(t, func(t *testrand.T) {
		b := drawBench(t)
		p := b.pair(t)
		first, _ := p.read(testrand.IntRange(1, 4).Draw(t, "tries"))
		b.ps += testrand.SampledFrom([]int64{0, 1e6, 1e9, 1e12, 1e15}).Draw(t, "wait") // up to 17 min
		last, _ := p.read(testrand.IntRange(1, 4).Draw(t, "tries"))
		first.Clock, last.Clock = Monotonic, Monotonic
		f, err := Between(first, last)
		if err != nil {
			return // too close together
		}
		determined++
		low, high := new(big.Rat).SetFloat64(f.Low), new(big.Rat).SetFloat64(f.High)
		if low.Cmp(b.frequency) > 0 || high.Cmp(b.frequency) < 0 {
			t.Fatalf("%s Hz is not from %v to %v", b.frequency.FloatString(6), f.Low, f.High)
		}
		if f.Hz < f.Low || f.Hz > f.High {
			t.Fatalf("estimate %v is not from %v to %v", f.Hz, f.Low, f.High)
		}
		hz, error := f.Rounded()
		if hz == 0 {
			return
		}
		off := new(big.Rat).Sub(b.frequency, new(big.Rat).SetInt64(int64(hz)))
		off.Quo(off.Abs(off), new(big.Rat).SetInt64(int64(hz)))
		if off.Cmp(big.NewRat(int64(error), 1e12)) > 0 {
			t.Fatalf("%d Hz is off by more than %d in 10^12", hz, error)
		}
	})
	if determined < 20 {
		t.Errorf("only %d frequencies were determined", determined)
	}
}

// TestBoundsOfAFrequencyAreThoseOfItsReadingsRoundedOutwards holds both bounds against rationals, and their rounding against that of
// a few operations.
func TestBoundsOfAFrequencyAreThoseOfItsReadingsRoundedOutwards(t *testing.T) {
	testrand.Check(t, func(t *testrand.T) {
		first := Reading{Clock: Realtime, Counter: testrand.Uint64Range(0, 1<<40).Draw(t, "counter"), Error: testrand.Uint64Range(0, 1000).Draw(t, "error"),
			Ns: testrand.Int64Range(-1e18, 1e18).Draw(t, "ns"), NsError: testrand.Int64Range(0, 1000).Draw(t, "ns error")}
		counts, ns := testrand.Int64Range(10_000, 1<<40).Draw(t, "counts"), testrand.Int64Range(10_000, 1<<40).Draw(t, "passed")
		last := Reading{Clock: Realtime, Counter: first.Counter + uint64(counts), Error: testrand.Uint64Range(0, 1000).Draw(t, "error"),
			Ns: first.Ns + ns, NsError: testrand.Int64Range(0, 1000).Draw(t, "ns error")}
		f, err := Between(first, last)
		if err != nil {
			t.Fatal(err)
		}
		countError, nsError := int64(first.Error+last.Error), first.NsError+last.NsError
		hz := func(counts, ns int64) float64 {
			v, _ := new(big.Rat).Mul(big.NewRat(counts, ns), big.NewRat(1e9, 1)).Float64()
			return v
		}
		const rounding = 20 * 0x1p-53
		for _, x := range []struct{ inner, got, sign float64 }{
			{hz(counts-countError, ns+nsError), f.Low, -1}, {hz(counts+countError, ns-nsError), f.High, 1},
		} {
			if off := x.sign * (x.got - x.inner) / x.inner; off <= 0 || off > rounding {
				t.Fatalf("%+v: bound %v of %v", f, x.got, x.inner)
			}
		}
		if exact := hz(counts, ns); math.Abs(f.Hz-exact) > exact*rounding || f.Over != time.Duration(ns) || f.Reference != Realtime {
			t.Fatalf("%+v, not %v Hz", f, exact)
		}
		if got, want := f.Error(), max(f.High-f.Hz, f.Hz-f.Low)/f.Hz; got != want {
			t.Fatalf("error %v, want %v", got, want)
		}
	})
}

func TestOfEquallyNarrowReadingsTheFirstCounts(t *testing.T) {
	n, ns := uint64(1000), int64(0)
	p := pair{counter: func() uint64 { n += 10; return n }, clock: func() int64 { ns++; return ns }, counterGrain: 4, clockError: 3}
	r, ok := p.read(3)
	if !ok || r != (Reading{Counter: 1017, Error: 7, Ns: 1, NsError: 3}) {
		t.Errorf("%+v", r)
	}
	// The narrowest counts, whenever it comes; nothing is read of what never moves.
	widths := []uint64{30, 0, 11, 0, 20, 0}
	n, ns = 1000, 0
	p.counter = func() uint64 { n += widths[0]; widths = append(widths[1:], widths[0]); return n }
	if r, ok = p.read(3); !ok || r.Ns != 1 || r.Error != 2 {
		t.Errorf("%+v", r)
	}
	for _, q := range []pair{{counter: p.counter, clock: p.clock, counterGrain: math.MaxInt64, clockError: 3}, {counter: p.counter, clock: p.clock, counterGrain: 3, clockError: math.MaxInt64}} {
		if r, ok := q.read(3); ok {
			t.Errorf("%+v", r)
		}
	}
}

// TestTenSecondsForAMillionthAsInThePaper: tget 2 µs and td 8 µs in the sum, equation (4).
func TestTenSecondsForAMillionthAsInThePaper(t *testing.T) {
	first := Reading{Clock: Realtime, Counter: 1000, Ns: 0, NsError: 5000}
	last := Reading{Clock: Realtime, Counter: 1000 + 2_400_000_000, Ns: 1e9, NsError: 5000}
	f, err := Between(first, last)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.SpanFor(1e-6); got < 9990*time.Millisecond || got > 10_010*time.Millisecond {
		t.Errorf("%v", got)
	}
	if f.Hz != 2.4e9 {
		t.Errorf("%v Hz", f.Hz)
	}
}

func TestReadingsThatDetermineNothingAreRefused(t *testing.T) {
	a := Reading{Clock: Monotonic, Counter: 1000, Error: 40, Ns: 1000, NsError: 10}
	for want, last := range map[string]Reading{
		"the other of REALTIME":   {Clock: Realtime, Counter: 5000, Error: 40, Ns: 5000, NsError: 10},
		"stopped or was reset":    {Clock: Monotonic, Counter: 1000, Error: 40, Ns: 5000, NsError: 10},
		"known to 80 counts":      {Clock: Monotonic, Counter: 1080, Error: 40, Ns: 5000, NsError: 10},
		"4000 counts in 20 ns":    {Clock: Monotonic, Counter: 5000, Error: 40, Ns: 1020, NsError: 10},
		"4000 counts in -1000 ns": {Clock: Monotonic, Counter: 5000, Error: 40, Ns: 0, NsError: 10},
	} {
		if f, err := Between(a, last); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, %v; want %q", f, err, want)
		}
	}
}

func TestCounterSetBackWithinABracketIsNoReading(t *testing.T) {
	n := uint64(1000)
	p := pair{counter: func() uint64 { n -= 10; return n }, clock: func() int64 { return 5 }, counterGrain: 1, clockError: 1}
	if r, ok := p.read(3); ok {
		t.Errorf("%+v", r)
	}
}

func TestSnapshotReadsEachClockWhenItSays(t *testing.T) {
	for _, counter := range []Source{Best().Source, Monotonic} {
		before, countBefore := int64(Monotonic.Now()), counter.ordered()
		s := Take(counter)
		after, countAfter := int64(Monotonic.Now()), counter.ordered()
		if m := s.Monotonic; m.Clock != Monotonic || m.Ns < before || m.Ns > after {
			t.Errorf("MONOTONIC by %v: %+v is not from %d to %d", counter, m, before, after)
		}
		for _, r := range []Reading{s.Monotonic, s.MonotonicRaw, s.Realtime, s.TAI} {
			if r.Clock != None && (r.Counter+r.Error < countBefore || r.Counter-r.Error > countAfter+uint64(counter.Grain())) {
				t.Errorf("%v: %+v is not from %d to %d", counter, r, countBefore, countAfter)
			}
		}
	}
	if s := Take(None); s.Monotonic.Clock != None {
		t.Errorf("%+v", s)
	}
}

func TestMeasuredFrequenciesAgree(t *testing.T) {
	quick, err := CalibrateQuick()
	if err != nil {
		t.Fatal(err)
	}
	long, err := Calibrate(t.Context(), Monotonic, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	// By the same clock, moments apart: NTP turns it by no more than 500 ppm.
	if quick.Low > long.High*(1+500e-6) || long.Low > quick.High*(1+500e-6) {
		t.Errorf("%+v and %+v", quick, long)
	}
}

func TestAClockMeasuredByItselfRunsAtItsOwnRate(t *testing.T) {
	want := Frequency{Hz: 1e9, Low: 1e9, High: 1e9, Reference: TAI}
	if got := nominal(TAI); got != want {
		t.Errorf("%+v", got)
	}
	if f, err := Calibrate(t.Context(), Best().Source, time.Hour); err != nil || f.Hz != 1e9 || f.Reference != Best().Source {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestCalibrationEndsWhenAskedTo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Calibrate(ctx, Realtime, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Calibrate(ctx, Source(99), time.Hour); err == nil || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCountsBecomeTheClocksTime(t *testing.T) {
	testrand.Check(t, func(t *testrand.T) {
		hz := testrand.Uint64Range(1e6, 5e9).Draw(t, "hz")
		r := Reading{Counter: testrand.Uint64Range(0, 1<<55).Draw(t, "counter"), Ns: testrand.Int64Range(0, 2e18).Draw(t, "ns")}
		if got := r.Origin(hz) + ToNs(r.Counter, hz); got != r.Ns {
			t.Fatalf("%d, not %d", got, r.Ns)
		}
		exact := new(big.Rat).SetFrac(new(big.Int).Mul(new(big.Int).SetUint64(r.Counter), big.NewInt(1e9)), new(big.Int).SetUint64(hz))
		if got, want := ToNs(r.Counter, hz), round(exact, Nearest); got != want {
			t.Fatalf("%d ns, not %d", got, want)
		}
	})
	if ToNs(math.MaxUint64, 1e9) != math.MaxInt64 || ToNs(1, 0) != math.MaxInt64 || ToNs(5, 1<<63) != math.MaxInt64 {
		t.Error("what cannot be converted is not at the end of time")
	}
}

func BenchmarkCycles(b *testing.B) {
	for b.Loop() {
		Cycles()
	}
}

func BenchmarkOrderedCycles(b *testing.B) {
	for b.Loop() {
		OrderedCycles()
	}
}

func TestAFrequencyThatWasNotMeasuredHasAnInfiniteError(t *testing.T) {
	for _, f := range []Frequency{{}, {Over: time.Second}, {Hz: math.NaN(), Over: time.Second}} {
		if got := f.Error(); !math.IsInf(got, 1) {
			t.Errorf("%v: error %v", f, got)
		}
		if got := f.SpanFor(1e-6); got != math.MaxInt64/2 {
			t.Errorf("%v: span %v", f, got)
		}
		if hz, error := f.Rounded(); hz != 0 || error != math.MaxUint64 {
			t.Errorf("%v: %d Hz, error %d", f, hz, error)
		}
	}
	f := Frequency{Hz: 1e9, Low: 0.9e9, High: 1.1e9, Over: time.Second}
	for _, relative := range []float64{0, -1, math.NaN()} {
		if got := f.SpanFor(relative); got != math.MaxInt64/2 {
			t.Errorf("span for %v: %v", relative, got)
		}
	}
}

func TestANegativeCalibrationIsRefused(t *testing.T) {
	for _, reference := range []Source{Monotonic, Best().Source} {
		if _, err := Calibrate(t.Context(), reference, -time.Nanosecond); err == nil {
			t.Errorf("%v: no error", reference)
		}
	}
}

func TestAFrequencyThatRoundsToNothingIsUnknown(t *testing.T) {
	for _, c := range []struct {
		hz, want float64
		err      uint64
	}{{1, 1, 0}, {0.5, 1, 500_000_000_000}, {1.25, 1, 250_000_000_000}, {2, 2, 0}, {0.49, 0, math.MaxUint64}, {0, 0, math.MaxUint64}, {-1, 0, math.MaxUint64}, {math.NaN(), 0, math.MaxUint64}} {
		if hz, err := (Frequency{Hz: c.hz, Low: c.hz, High: c.hz}).Rounded(); float64(hz) != c.want || err != c.err {
			t.Errorf("%g Hz: %d, error %d, want %g and %d", c.hz, hz, err, c.want, c.err)
		}
	}
}
