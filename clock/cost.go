package clock

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// Cost is what it costs to ask for the time on this machine, by each of the ways there are: tables 1, 2 and 6 of Tinetti et al.
type Cost struct {
	Machine Machine `json:"machine"`
	Sensors Choice  `json:"sensors"` // what they stamp with
	Meter   Source  `json:"meter"`   // what the costs were measured by
	// Frequencies are the meter's by MONOTONIC_RAW and by MONOTONIC over the whole measurement; none if it counts ns.
	Frequencies []Frequency `json:"frequencies"`
	Calls       []Call      `json:"calls"`
}

// Machine is what was measured.
type Machine struct {
	Processor    string `json:"processor"` // as the kernel names it; empty where it does not
	Processors   int    `json:"processors"`
	Architecture string `json:"architecture"`
	System       string `json:"system"`
	Kernel       string `json:"kernel"`
	Go           string `json:"go"`
}

// Call is one way to ask.
type Call struct {
	Name  string `json:"name"`
	Way   string `json:"way"`   // what it goes through: an instruction, the vDSO, a system call
	Clock Source `json:"clock"` // what it reads; none for a call that does not tell the time
	// Warm is over batches of calls in a row, and of each batch the mean. Cold is over single calls, before each of which the
	// caches were filled with other things: what a program pays that asks now and then.
	Warm Spread `json:"warm"`
	Cold Spread `json:"cold"`
	// StepNs is the resolution: the smallest positive difference that two calls in a row showed, ns. It is never below
	// what the call takes. 0 if the call does not tell the time.
	StepNs float64 `json:"step_ns"`
	Stamps bool    `json:"stamps"` // sensors stamp this way
}

// Spread is how costs were distributed: in ns, and in counts of the meter, null where it counts ns.
type Spread struct {
	Samples int        `json:"samples"`
	Ns      Quantiles  `json:"ns"`
	Cycles  *Quantiles `json:"cycles"`
}

// Quantiles of one cost.
type Quantiles struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
}

const (
	leastRounds = 5       // however short the time
	mostRounds  = 100_000 // beyond which quantiles do not change
	// A batch takes so many steps of the meter, to be known to a hundredth, and at least minBatch calls, so that its two readings
	// of the meter do not count.
	batchGrains = 100
	minBatch    = 32
	maxBatch    = 1 << 20
	// cacheSize is more than the caches that a processor has for itself. Where they keep no instructions that the second
	// level has lost (AMD's, Arm's), code goes too. A cache of the third level keeps what it has: other programs decide on that.
	cacheSize = 8 << 20
)

// Measure asks for the time in all ways for about so long, in rounds, so that whatever disturbs one disturbs all. Half of
// the time goes to warm calls, half to cold ones. Progress may be nil.
func Measure(ctx context.Context, during time.Duration, progress func(done, total int64)) (*Cost, error) {
	meter := Best().Source
	if !meter.CountsCycles() {
		meter = Monotonic
	}
	return measure(ctx, meter, during, progress)
}

func measure(ctx context.Context, meter Source, during time.Duration, progress func(done, total int64)) (*Cost, error) {
	c := &Cost{Machine: thisMachine(), Sensors: Best(), Meter: meter}
	quick, err := CalibrateQuick()
	if err != nil {
		return nil, err
	}
	hz, _ := quick.Rounded()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var first []Reading
	if meter.CountsCycles() {
		for _, reference := range []Source{MonotonicRaw, Monotonic} {
			if r := take(meter, reference, calibrationTries); r.Clock != None {
				first = append(first, r)
			}
		}
	}
	begin := time.Now()
	b := costs{ctx: ctx, meter: meter.ordered, grain: meter.Grain(), calls: allCalls(hz), passed: func() time.Duration { return time.Since(begin) },
		during: during, progress: progress, evicted: cacheSize}
	if err := b.run(); err != nil {
		return nil, fmt.Errorf("cost of clocks: %w", err)
	}
	for _, r := range first {
		f, err := Between(r, take(meter, r.Clock, calibrationTries))
		if err != nil {
			return nil, err
		}
		c.Frequencies = append(c.Frequencies, f)
	}
	nsPerCount := nsPerCount(c.Frequencies)
	for i := range b.calls {
		way := &b.calls[i]
		call := Call{Name: way.name, Way: way.way, Clock: way.clock, Stamps: way.clock == c.Sensors.Source && way.stamps}
		call.Warm, call.Cold = spread(way.warm, meter, nsPerCount), spread(way.cold, meter, nsPerCount)
		call.StepNs = float64(way.step)
		if way.counts {
			call.StepNs *= nsPerCount
		}
		c.Calls = append(c.Calls, call)
	}
	return c, nil
}

// nsPerCount returns how long a count of the meter is by the last clock that it was measured by. A meter that was not measured
// counts ns.
func nsPerCount(measured []Frequency) float64 {
	if len(measured) == 0 {
		return 1
	}
	return 1e9 / measured[len(measured)-1].Hz
}

// costs is one measurement.
type costs struct {
	ctx      context.Context
	meter    func() uint64 // reads it
	grain    int64         // [Source.Grain] of the meter
	calls    []way
	passed   func() time.Duration // since the measurement began
	during   time.Duration
	progress func(done, total int64)
	evicted  int // bytes
	garbage  []byte
	told     uint64 // by all calls, so that the compiler leaves none out
}

func (b *costs) run() error {
	enough := int64(batchGrains)
	if b.grain < math.MaxInt64/enough {
		enough *= b.grain
	}
	for i := range b.calls {
		c := &b.calls[i]
		for c.batch = minBatch; c.batch < maxBatch && b.time(c.loop, c.batch) < enough; c.batch *= 2 {
		}
		if c.read != nil {
			c.step = slices.Min(append(stepsOf(c.read), math.MaxInt64))
		}
	}
	err := b.rounds(b.during/2, func(c *way) {
		c.warm = append(c.warm, float64(b.time(c.loop, c.batch))/float64(c.batch))
	})
	if err != nil {
		return err
	}
	// What two readings of the meter take between themselves is not the call's.
	empty := int64(math.MaxInt64)
	for range 1000 {
		empty = min(empty, b.time(func(int) uint64 { return 0 }, 0))
	}
	b.garbage = make([]byte, b.evicted)
	return b.rounds(b.during, func(c *way) {
		b.evict()
		c.cold = append(c.cold, float64(max(b.time(c.loop, 1)-empty, 0)))
	})
}

// rounds does something with each call in turn until the time is up.
func (b *costs) rounds(until time.Duration, do func(*way)) error {
	for n := 0; n < leastRounds || n < mostRounds && b.passed() < until; n++ {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		for i := range b.calls {
			do(&b.calls[i])
		}
		if b.progress != nil {
			b.progress(int64(min(b.passed(), b.during)), int64(b.during))
		}
	}
	return nil
}

// time returns how long n calls took, in the meter's unit.
func (b *costs) time(loop func(n int) uint64, n int) int64 {
	before := b.meter()
	b.told += loop(n)
	return int64(b.meter() - before)
}

// evict fills the caches, one write to each line, and reads the meter so that its own code is there again.
func (b *costs) evict() {
	for i := 0; i < len(b.garbage); i += 64 {
		b.garbage[i]++
	}
	b.meter()
}

// spread sorts the samples of one call, which are in the meter's unit.
func spread(samples []float64, meter Source, nsPerCount float64) Spread {
	slices.Sort(samples)
	at := func(q float64) float64 { return samples[max(int(math.Ceil(q*float64(len(samples))))-1, 0)] }
	q := Quantiles{Min: samples[0], Median: at(0.5), P99: at(0.99)}
	s := Spread{Samples: len(samples), Ns: Quantiles{Min: q.Min * nsPerCount, Median: q.Median * nsPerCount, P99: q.P99 * nsPerCount}}
	if meter.CountsCycles() {
		s.Cycles = &q
	}
	return s
}
