package trace

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

// coarse is a clock that shows the last tick: ticks come every period ns from phase on, and what is shown is cut to the unit.
type coarse struct {
	period, phase *big.Rat
	unit          int64
}

func (c *coarse) stamp(instant int64) clock.HostTime {
	floor := func(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }
	ticks := floor(new(big.Rat).Quo(new(big.Rat).Sub(big.NewRat(instant, 1), c.phase), c.period))
	shown := new(big.Rat).Add(c.phase, new(big.Rat).Mul(c.period, new(big.Rat).SetInt(ticks)))
	units := floor(shown.Quo(shown, big.NewRat(c.unit, 1)))
	return clock.HostTime(units.Int64() * c.unit)
}

// drawPhase draws the origin of the ticks: 0, or anything that is not written down as 0.
func (c *coarse) drawPhase(t *rapid.T) {
	ns, _ := c.period.Float64()
	c.phase = new(big.Rat)
	if n := rapid.Int64Range(0, int64(ns)/c.unit-1).Draw(t, "phase"); n > 0 {
		c.phase = big.NewRat((3*n+1)*c.unit, 3)
	}
}

// exchanges returns instants at which a host receives and, not long after, sends.
func exchanges(r *rand.Rand, n int, pause, answer float64) (instants []int64) {
	at := 1_790_000_000_000_000_000 + r.Int64N(1e15)
	for len(instants) < n {
		at += int64(r.ExpFloat64() * pause)
		instants = append(instants, at)
		at += int64(r.ExpFloat64() * answer)
		instants = append(instants, at)
	}
	return instants[:n]
}

// outside returns how many instants are not where their stamps say.
func outside(c *coarse, instants []int64, step int64) (n int) {
	for _, at := range instants {
		if s := int64(c.stamp(at)); at < s || at >= s+step {
			n++
		}
	}
	return n
}

func stepOf(c *coarse, instants []int64, unit int64) int64 {
	g := Granularity{Unit: unit}
	for _, at := range instants {
		g.Add(c.stamp(at))
	}
	return g.Step()
}

// Periods that clocks have: as rational numbers of ns, and whether they are known, which a clock without repeated stamps needs
// unless its period is whole in units.
var knownPeriods = map[string]*big.Rat{
	"1 us": big.NewRat(1000, 1), "1 ms": big.NewRat(1e6, 1), "4 ms": big.NewRat(4e6, 1), "10 ms": big.NewRat(1e7, 1), "1 s": big.NewRat(1e9, 1),
	"1/64 s": big.NewRat(1e9, 64), "1/1024 s": big.NewRat(1e9, 1024), "2^-20 s": big.NewRat(1e9, 1<<20), "2^-22 s": big.NewRat(1e9, 1<<22), "1/300 s": big.NewRat(1e9, 300),
	"1/60 s": big.NewRat(1e9, 60), "15.6001 ms": big.NewRat(15_600_100, 1), "1.0001 ms": big.NewRat(1_000_100, 1),
}

// Of any number of stamps from three on, of any known grid with any origin: every event is where its stamp says. The step is no
// wider than the clock's, what its file cuts off, and what few stamps leave open.
func TestEveryEventOfACoarseClockIsWithinAStepOfItsStamp(t *testing.T) {
	for name, period := range knownPeriods {
		t.Run(name, func(t *testing.T) {
			testseed.Check(t, func(t *rapid.T) {
				c := &coarse{period: period, unit: rapid.SampledFrom([]int64{1, 1, 100, 1000}).Draw(t, "unit")}
				if new(big.Rat).Quo(period, big.NewRat(c.unit, 1)).Cmp(big.NewRat(10, 1)) < 0 {
					c.unit = 1
				}
				c.drawPhase(t)
				n := rapid.OneOf(rapid.IntRange(3, 20), rapid.IntRange(21, 300)).Draw(t, "stamps")
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
				ns, _ := period.Float64()
				pause := ns * rapid.SampledFrom([]float64{0.2, 3, 100}).Draw(t, "pause")
				instants := exchanges(r, n, pause, pause)
				distinct := make(map[clock.HostTime]bool)
				for _, at := range instants {
					distinct[c.stamp(at)] = true
				}
				if len(distinct) < 5 {
					t.Skip("too few different stamps")
				}
				step := stepOf(c, instants, c.unit)
				if n := outside(c, instants, step); n > 0 {
					t.Fatalf("step %d: %d of %d outside", step, n, len(instants))
				}
				if most := 1.5*ns + 2*float64(c.unit) + 1; len(distinct) > 20 && float64(step) > most {
					t.Fatalf("step %d, want at most %v", step, most)
				}
			})
		})
	}
}

// A grid of any period is found where stamps come several times.
func TestAGridOfAnyPeriodIsFoundByRepeatedStamps(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		c := &coarse{unit: rapid.SampledFrom([]int64{1, 1000}).Draw(t, "unit")}
		c.period = big.NewRat(rapid.Int64Range(20_000*c.unit, 20_000_000*c.unit).Draw(t, "period"), rapid.Int64Range(1000, 1010).Draw(t, "part"))
		c.drawPhase(t)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		ns, _ := c.period.Float64()
		instants := exchanges(r, rapid.IntRange(40, 300).Draw(t, "stamps"), 2*ns, 0.3*ns)
		step := stepOf(c, instants, c.unit)
		if n := outside(c, instants, step); n > 0 {
			t.Fatalf("step %d of %v: %d of %d outside", step, ns, n, len(instants))
		}
		if most := 1.5*ns + 2*float64(c.unit) + 1; float64(step) > most {
			t.Fatalf("step %d, want at most %v", step, most)
		}
	})
}

// A grid of 20.001 ns looks like one of 20 ns, until a difference is no multiple of that.
func TestAGridThatLookedWholeIsFoundAgainWhenItIsNot(t *testing.T) {
	c := &coarse{period: big.NewRat(20_001, 1000), phase: big.NewRat(4, 3), unit: 1}
	instants := exchanges(rand.New(rand.NewPCG(0x1d16, 0)), 122, 40, 6)
	if step := stepOf(c, instants, 1); step < 21 || step > 23 {
		t.Errorf("step %d", step)
	}
}

// A clock that is steered has ticks of changing length.
func TestAGridWhoseTicksAreSteeredIsFound(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		period := rapid.Float64Range(1e6, 2e7).Draw(t, "period")
		tick, rate, g := 0.0, 0.0, Granularity{}
		var worst float64
		n := 0
		for range 2000 {
			length := period * (1 + rate)
			rate = min(max(rate+2e-6*r.NormFloat64(), -4e-4), 4e-4)
			for range int(r.ExpFloat64() * 2) {
				g.Add(clock.HostTime(math.Floor(tick)) + 1_790_000_000_000_000_000)
				worst = max(worst, length)
				n++
			}
			tick += length
		}
		if step := g.Step(); float64(step) < worst || float64(step) > 1.005*period+2 {
			t.Fatalf("step %d of ticks of up to %v ns, %d stamps", step, worst, n)
		}
	})
}

// Jitter, however small, tells a regular sender from a clock on a grid.
func TestARegularSenderWhoseStampsJitterIsNotCoarse(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		period := rapid.SampledFrom([]int64{125_000, 1_000_000, 10_000_000, 15_625_000, 976_562, 1_000_000_000}).Draw(t, "period")
		jitter := rapid.SampledFrom([]int64{20, 300, 5000, 50_000}).Draw(t, "jitter")
		g := Granularity{Unit: 1}
		for i := range rapid.Int64Range(30, 500).Draw(t, "stamps") {
			g.Add(clock.HostTime(1_790_000_000_123_456_789 + i*period + r.Int64N(jitter)))
		}
		if step := g.Step(); step > 4 {
			t.Fatalf("step %d", step)
		}
	})
}

// Of clocks that are not coarse, whatever few stamps there are seldom look it.
func TestStampsOfAFineClockSeldomLookCoarse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 4, 6, 10, 100} {
		for _, answer := range []float64{3e3, 1e6} {
			const rounds = 2000
			coarse := 0
			for range rounds {
				g := Granularity{Unit: 1}
				for _, at := range exchanges(r, n, 1e8, answer) {
					g.Add(clock.HostTime(at))
				}
				if g.Step() >= 1000 {
					coarse++
				}
			}
			if coarse > rounds/50 {
				t.Errorf("%d stamps, answers after %v ns: %d of %d are taken to be of 1 us or more", n, answer, coarse, rounds)
			}
		}
	}
}

func TestGranularityOfHardlyAnyStamps(t *testing.T) {
	const base = 1_790_000_000_000_000_000
	for _, c := range []struct {
		unit   int64
		stamps []clock.HostTime
		want   int64
	}{
		{0, nil, 1}, {1000, nil, 1000},
		{0, []clock.HostTime{base + 123_456_789}, 1}, {0, []clock.HostTime{base + 123_000_000}, 1_000_000}, {0, []clock.HostTime{base + 124_000_000}, 4_000_000},
		{0, []clock.HostTime{base + 123_000_000, base + 777_000_000}, 1_000_000},
		{1000, []clock.HostTime{base + 123_456_000, base + 777_889_000}, 1000},
		{0, []clock.HostTime{base, base + 1_000_000_000, base + 60_000_000_000}, 1_000_000_000},
		{0, []clock.HostTime{base, base + 60_000_000_000, base + 120_000_000_000}, 1_000_000_000},
		{0, []clock.HostTime{base + 77, base + 15_600_177, base + 77, base + 77, base + 15_600_177, base + 15_600_177, base + 77, base + 15_600_177, base + 15_600_177}, 1},
		{0, []clock.HostTime{base + 77, base + 77, base + 77, base + 15_600_177, base + 15_600_177, base + 15_600_177}, 15_600_101},
		{0, []clock.HostTime{math.MinInt64}, 512}, {0, []clock.HostTime{math.MinInt64, math.MaxInt64}, 1}, {0, []clock.HostTime{0}, 1_000_000_000},
		{1024, []clock.HostTime{base + 1}, 1024},
	} {
		g := Granularity{Unit: c.unit}
		for _, s := range c.stamps {
			g.Add(s)
		}
		if got := g.Step(); got != c.want {
			t.Errorf("%v in units of %d: %d, want %d", c.stamps, c.unit, got, c.want)
		}
	}
}

// A grid that the first stamps are on, and a later one is not, is none.
func TestALaterStampDisprovesAGrid(t *testing.T) {
	for _, period := range []float64{1e6, 1e9 / 1024} {
		for _, off := range []clock.HostTime{0, 12_345} {
			r := rand.New(rand.NewPCG(3, 4))
			var g Granularity
			at := clock.HostTime(0)
			for i := range 500 {
				at += clock.HostTime(i % 3)
				g.Add(clock.HostTime(float64(at) * period))
				if i > 400 {
					g.Add(clock.HostTime(float64(at)*period) + off*clock.HostTime(r.Int64N(100))/10)
				}
			}
			if step := g.Step(); off == 0 && step < int64(period) || off > 0 && step > 1000 {
				t.Errorf("period %v, %d ns off: %d", period, off, step)
			}
		}
	}
}

func BenchmarkGranularity(b *testing.B) {
	for _, period := range []int64{1, 1000, 1_000_000, 15_600_100, 976_562} {
		b.Run(fmt.Sprintf("ns=%d", period), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			stamps := make([]clock.HostTime, 1<<16)
			at := int64(1_790_000_000_000_000_000)
			for i := range stamps {
				at += r.Int64N(2_000_000)
				stamps[i] = clock.HostTime(at / period * period)
				if period == 976_562 {
					stamps[i] = clock.HostTime(math.Floor(float64(at/period) * (1e9 / 1024)))
				}
			}
			var g Granularity
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				g.Add(stamps[i&(1<<16-1)])
			}
		})
	}
}
