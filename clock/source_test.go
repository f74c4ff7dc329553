package clock

import (
	"math"
	"math/big"
	"runtime"
	"strings"
	"testing"

	"meridian/clock/internal/testrand"
)

func TestCounterNeverGoesBackOnOneThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for last, n := OrderedCycles(), 0; n < 10_000; n++ {
		now := OrderedCycles()
		if now < last {
			t.Fatalf("%d after %d", now, last)
		}
		last = now
	}
	if first := Cycles(); Cycles()-first > 1<<40 {
		t.Error("two readings are an age apart")
	}
}

func TestEverySourceHasItsNameAndItsNumberInTheRings(t *testing.T) {
	for want, s := range []Source{None, TSC, CNTVCT, MonotonicRaw, Monotonic} {
		if int(s) != want {
			t.Errorf("%v is %d, not %d as the rings have it", s, s, want)
		}
	}
	for s := None; s <= TAI; s++ {
		if name := s.String(); strings.Contains(name, "unknown") || !s.Available() && s.Now() != 0 || s.Available() && s.Now() == 0 {
			t.Errorf("%v available %v says %d", s, s.Available(), s.Now())
		}
	}
	if s := Source(99); s.Available() || s.Now() != 0 || s.Grain() != math.MaxInt64 || s.String() != "unknown source" {
		t.Error("source 99 is something")
	}
}

func TestBestIsThereAndSaysWhy(t *testing.T) {
	c := Best()
	if !c.Source.Available() || c.Why == "" {
		t.Errorf("%+v", c)
	}
	if again := Best(); again != c {
		t.Errorf("then %+v", again)
	}
}

func TestCycleCounterIsChosenOnlyWhereItCanBeTrusted(t *testing.T) {
	both := []string{"tsc", "kvm-clock"}
	for _, test := range []struct {
		name string
		m    machine
		want Source
		why  string
	}{
		{"the kernel uses it", machine{TSC, true, true, "linux", "tsc", both}, TSC, "its own time by it"},
		{"a guest", machine{TSC, true, true, "linux", "kvm-clock", both}, TSC, "kvm-clock"},
		{"not announced, though in use", machine{TSC, false, true, "linux", "tsc", both}, MonotonicRaw, "does not announce"},
		{"struck from the list", machine{TSC, true, true, "linux", "hpet", []string{"hpet", "acpi_pm"}}, MonotonicRaw, "struck"},
		{"nothing is known of the kernel's", machine{TSC, true, true, "linux", "", nil}, MonotonicRaw, "cannot be read"},
		{"a kernel that does not tell", machine{TSC, true, false, "windows", "", nil}, Monotonic, "only Linux"},
		{"Arm", machine{CNTVCT, true, true, "linux", "arch_sys_counter", nil}, CNTVCT, "architecture"},
		{"Arm elsewhere", machine{CNTVCT, true, false, "darwin", "", nil}, CNTVCT, "architecture"},
		{"no counter", machine{None, false, true, "linux", "jiffies", nil}, MonotonicRaw, "no cycle counter"},
		{"no counter elsewhere", machine{None, false, false, "plan9", "", nil}, Monotonic, "no cycle counter"},
	} {
		if c := choose(test.m); c.Source != test.want || !strings.Contains(c.Why, test.why) {
			t.Errorf("%s: %v, because %s", test.name, c.Source, c.Why)
		}
	}
}

// stepped is a counter that goes by a step that need not be whole: what it shows at a time is its last step, rounded down.
type stepped struct {
	rate  *big.Rat // units a picosecond
	start *big.Rat // at time 0
	step  *big.Rat
}

// exact is the counter without steps.
func (c *stepped) exact(ps int64) *big.Rat {
	v := new(big.Rat).Mul(c.rate, new(big.Rat).SetInt64(ps))
	return v.Add(v, c.start)
}

func (c *stepped) at(ps int64) int64 {
	floor := func(v *big.Rat) *big.Int { return new(big.Int).Div(v.Num(), v.Denom()) } // Euclidean, of a positive divisor
	steps := floor(new(big.Rat).Quo(c.exact(ps), c.step))
	return floor(new(big.Rat).Mul(new(big.Rat).SetInt(steps), c.step)).Int64()
}

// grain is by how much the counter may be beyond what it shows.
func (c *stepped) grain() int64 {
	whole := new(big.Int).Div(c.step.Num(), c.step.Denom()).Int64()
	if c.step.IsInt() {
		return whole
	}
	return whole + 2 // its steps are rounded
}

// drawStepped draws a counter of so many units a second whose step is at least one unit.
func drawStepped(t *testrand.T, name string, perSecond *big.Rat) *stepped {
	return &stepped{
		rate:  new(big.Rat).Quo(perSecond, big.NewRat(1e12, 1)),
		start: big.NewRat(testrand.Int64Range(0, 1<<60).Draw(t, name+" start"), testrand.Int64Range(1, 1000).Draw(t, name+" part")),
		step: big.NewRat(testrand.SampledFrom([]int64{1, 1, 2, 3, 10, 26, 125, 4000}).Draw(t, name+" step")*24+
			testrand.SampledFrom([]int64{0, 0, 1, 16, 23}).Draw(t, name+" and"), 24),
	}
}

// drawDelay draws how long something takes, ps: mostly alike, sometimes an interrupt.
func drawDelay(t *testrand.T) int64 {
	if testrand.IntRange(0, 19).Draw(t, "interrupt") == 0 {
		return testrand.Int64Range(0, 1e9).Draw(t, "delay")
	}
	return testrand.Int64Range(0, 60_000).Draw(t, "delay")
}

func TestCounterIsNeverBeyondItsGrain(t *testing.T) {
	testrand.Check(t, func(t *testrand.T) {
		c := drawStepped(t, "counter", big.NewRat(testrand.Int64Range(1e6, 5e9).Draw(t, "frequency"), 1))
		ps, seed := int64(0), testrand.Uint64().Draw(t, "seed")
		usual, jitter := testrand.Int64Range(200, 300_000).Draw(t, "usual"), testrand.Uint64Range(1, 100_000).Draw(t, "jitter")
		length, _ := new(big.Rat).Quo(c.step, c.rate).Float64()
		usual = max(usual, int64(length/20)) // else it stands still most of the time, and this takes its time
		got := grain(func() uint64 {
			seed = seed*6364136223846793005 + 1442695040888963407
			ps += usual + int64((seed>>33)%jitter)
			if seed>>55 == 7 {
				ps += int64(seed >> 24 % 1e8)
			}
			return uint64(c.at(ps))
		})
		if got < c.grain() {
			t.Fatalf("grain %d of a counter that goes by %v", got, c.step.FloatString(3))
		}
	})
}

func TestGrainIsCloseToTheStepWhereReadingsVary(t *testing.T) {
	for _, test := range []struct{ step, most int64 }{{1, 4}, {26, 29}, {10, 13}} {
		n := uint64(0)
		got := grain(func() uint64 {
			n += 40 + n*n%67
			return n / uint64(test.step) * uint64(test.step)
		})
		if got < test.step || got > test.most {
			t.Errorf("step %d: %d", test.step, got)
		}
	}
}

// TestGrainOfSteps holds grain against its reasoning: steps whose differences are 2 or more apart belong to different
// multiples; three in a row bound it by 4.
func TestGrainOfSteps(t *testing.T) {
	for _, test := range []struct {
		steps []uint64
		want  int64
	}{
		{[]uint64{10}, 13}, {[]uint64{10, 11}, 13}, {[]uint64{10, 20}, 13}, {[]uint64{10, 25}, 13}, {[]uint64{30, 37}, 10},
		{[]uint64{28, 29, 30}, 4}, {[]uint64{28, 29, 31}, 5}, {[]uint64{1}, 4}, {[]uint64{5, 7}, 5}, {[]uint64{100, 101, 150, 151}, 52},
	} {
		n, k := uint64(0), 0
		got := grain(func() uint64 {
			n += test.steps[k%len(test.steps)]
			k++
			return n
		})
		if got != test.want {
			t.Errorf("steps of %v: %d, want %d", test.steps, got, test.want)
		}
	}
}

func TestStepsAreThoseForwardAndSoManyAsAreLookedAt(t *testing.T) {
	n := uint64(0)
	if steps := stepsOf(func() uint64 { n += 3; return n }); len(steps) != grainSteps || steps[0] != 3 || steps[grainSteps-1] != 3 {
		t.Errorf("%d steps", len(steps))
	}
	reads := 0
	if steps := stepsOf(func() uint64 { reads++; return uint64(reads / 20_000) }); len(steps) != coarseStep || reads > 10*20_000 {
		t.Errorf("%d steps of a coarse source in %d reads", len(steps), reads)
	}
	reads = 0
	if steps := stepsOf(func() uint64 { reads++; return 5 }); len(steps) != 0 || reads != stillRead+1 {
		t.Errorf("%d steps of a source that stands still in %d reads", len(steps), reads)
	}
	back := []uint64{100, 90, 95, 95, 120}
	k := -1
	if steps := stepsOf(func() uint64 { k++; return back[min(k, 4)] }); len(steps) != 2 || steps[0] != 5 || steps[1] != 25 {
		t.Errorf("%v", steps)
	}
}

func TestACounterOfAnotherArchitectureReadsZero(t *testing.T) {
	for _, s := range []Source{None, TSC, CNTVCT, TAI + 1} {
		if !s.Available() && (s.ordered() != 0 || s.Now() != 0) {
			t.Errorf("%v: %d, %d", s, s.ordered(), s.Now())
		}
		if s.Available() && s.ordered() == 0 {
			t.Errorf("%v reads zero", s)
		}
	}
}

func TestGrainOfASourceThatMovedOnce(t *testing.T) {
	n := 0
	if got := grain(func() uint64 { n++; return 7 * uint64(min(n/100, 1)) }); got != 10 {
		t.Errorf("%d", got)
	}
}

func TestClockThatStandsStillHasNoGrain(t *testing.T) {
	if got := grain(func() uint64 { return 5 }); got != math.MaxInt64 {
		t.Errorf("grain %d", got)
	}
}
