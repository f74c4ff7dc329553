package steering

import (
	"math"
	"math/rand/v2"
	"testing"

	"meridian/clock"
)

// steeredClock is a clock that a kernel steers, piece by piece, beside a counter of 1 GHz that begins at 1e12.
type steeredClock struct {
	at   []int64 // counts at which the rate changes
	ns   []float64
	rate []float64
}

const followStart = 1_000_000_000_000

func (c *steeredClock) change(at int64, rate float64) {
	ns := 5e12
	if len(c.at) > 0 {
		ns = c.show(at)
	}
	c.at, c.ns, c.rate = append(c.at, at), append(c.ns, ns), append(c.rate, rate)
}

func (c *steeredClock) show(count int64) float64 {
	i := len(c.at) - 1
	for i > 0 && c.at[i] > count {
		i--
	}
	return c.ns[i] + float64(count-c.at[i])*(1+c.rate[i])
}

// reading returns what a recorder reads at a count: to within error counts.
func (c *steeredClock) reading(count int64, error uint64, r *rand.Rand) Reading {
	i := len(c.at) - 1
	for i > 0 && c.at[i] > count {
		i--
	}
	read := count + r.Int64N(2*int64(error)+1) - int64(error)
	return Reading{Counter: uint64(read), Error: error, Ns: int64(math.Round(c.show(count))),
		Kernel: Kernel{Known: true, Tick: 10_000, Freq: int64(math.Round(c.rate[i] * 65536e6))}}
}

// TestAFollowersBoundsHoldTheFreeClockAsReadingsCome simulates a clock whose rate changes by hundreds of ppm, read a second apart and around
// each change. At any time, the bounds known by then hold the counter for stamps of the past and up to the next reading.
func TestAFollowersBoundsHoldTheFreeClockAsReadingsCome(t *testing.T) {
	const origin = 1_700_000_000_000_000_000
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		var c steeredClock
		c.change(followStart, 20e-6)
		var counts []int64
		for at := int64(followStart); at < followStart+20e9; at += 1e9 {
			counts = append(counts, at)
			if at > followStart && r.IntN(2) == 0 {
				change := at + 100e6 + r.Int64N(700e6)
				c.change(change, (r.Float64()-0.5)*400e-6)
				counts = append(counts, change-10e6, change+10e6)
			}
		}
		var f Follower
		inside, beyond, tight := 0, 0, 0
		for i, count := range counts {
			x := c.reading(count, 50, r)
			if !f.Add("a", x, "tsc", clock.HostTime(x.Ns+origin)) {
				t.Fatalf("seed %d: reading %d is not used", seed, i)
			}
			if f.Missed() {
				t.Errorf("seed %d: reading %d lies beyond the bounds", seed, i)
			}
			if !f.Begin(false) || i+1 == len(counts) {
				continue
			}
			m := f.Map()
			for range 100 {
				at := max(count-5e9, followStart) + r.Int64N(5e9)
				at = min(at, counts[i+1])
				// The counter itself is on the scale that the follower had at its beginning.
				want := float64(f.scale.at) + float64(at-int64(f.scale.counter))*float64(f.scale.ns)/float64(f.scale.counts)
				stamp := clock.HostTime(int64(math.Round(c.show(at))) + origin)
				low, high, _, _ := m.Bounds(stamp)
				if off := max(float64(low)-want, want-float64(high)); off > 256 { // of float64 beside 1.7e18
					t.Fatalf("seed %d, reading %d: the counter at %d lies %.0f ns outside of [%d, %d]", seed, i, at, off, low, high)
				}
				if mid := m.At(stamp); mid < low || mid > high {
					t.Fatalf("seed %d: the estimate lies outside of its bounds", seed)
				}
				switch {
				case at > count:
					beyond++
				case clock.Sub(high, low) < 8_000:
					tight++
					fallthrough
				default:
					inside++
				}
			}
		}
		if beyond == 0 || tight < inside*9/10 {
			t.Errorf("seed %d: %d stamps beyond readings, %d of %d between them within 4 µs", seed, beyond, tight, inside)
		}
	}
}

// TestAFollowerSaysThatAClockWasSlewedBeforeAReading has a slew of 5% that no reading shows for 50 ms.
func TestAFollowerSaysThatAClockWasSlewedBeforeAReading(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var c steeredClock
	c.change(followStart, 0)
	var f Follower
	add := func(count int64) {
		x := c.reading(count, 50, r)
		f.Add("a", x, "tsc", clock.HostTime(x.Ns))
		f.Begin(false)
	}
	for at := int64(0); at <= 3e9; at += 1e9 {
		add(followStart + at)
	}
	if f.Missed() {
		t.Fatal("a steady clock seems to have been slewed")
	}
	c.change(followStart+3_500_000_000, 0.05)
	add(followStart + 3_550_000_000)
	if !f.Missed() || f.Missed() {
		t.Fatal("a slew of 5% is not told once")
	}
}

// TestReadingsOfAnotherOriginMakeAFollowersBoundsWider has two recordings of one clock whose stamps differ by 3 µs: readings are worse by that,
// and so are the rates that follow from them.
func TestReadingsOfAnotherOriginMakeAFollowersBoundsWider(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var c steeredClock
	c.change(followStart, 0)
	var f Follower
	for i := range int64(10) {
		for k, name := range []string{"a", "b"} {
			x := c.reading(followStart+i*1e9+int64(k)*1e6, 50, r)
			f.Add(name, x, "tsc", clock.HostTime(x.Ns+int64(k)*3_000))
			f.Begin(false)
		}
	}
	if e, ok := f.Map().Error(clock.HostTime(5e12 + 4e9)); !ok || e < 3_000 || e > 7_000 {
		t.Errorf("the error is %d ns, %v; origins differ by 3000 ns", e, ok)
	}
}

// TestReadingsThatRunBackAreLeftOut has a counter that was reset: the map goes no further.
func TestReadingsThatRunBackAreLeftOut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var c steeredClock
	c.change(followStart, 0)
	var f Follower
	for i := range int64(4) {
		x := c.reading(followStart+i*1e9, 50, r)
		f.Add("a", x, "tsc", clock.HostTime(x.Ns))
	}
	f.Begin(false)
	last := f.Map().Last
	x := c.reading(followStart+6e9, 50, r)
	x.Counter = 1000
	if f.Add("a", x, "tsc", clock.HostTime(x.Ns)) || f.Map().Last != last || f.Map().Covers(clock.HostTime(x.Ns), clock.HostTime(x.Ns)) {
		t.Error("a counter that was reset is used")
	}
}
