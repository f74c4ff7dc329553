package steering

import (
	"math"
	"math/rand/v2"
	"testing"

	"meridian/clock"
)

// kernelSim is a counter and a clock that a kernel steers by it: a list of rates, each from an instant on. It shares no
// formula with the package.
type kernelSim struct {
	random *rand.Rand
	hz     float64
	at     []float64 // true ns
	ns     []float64 // of the steered clock there
	rate   []float64 // from there on, beyond 1
	state  []Kernel  // as adjtimex has it
}

func (k *kernelSim) set(t float64, rate float64, state Kernel) {
	n := len(k.at)
	k.at, k.ns = append(k.at, t), append(k.ns, k.ns[n-1]+(t-k.at[n-1])*(1+k.rate[n-1]))
	k.rate, k.state = append(k.rate, rate), append(k.state, state)
}

func (k *kernelSim) index(t float64) int {
	low, high := 0, len(k.at)
	for low+1 < high {
		if m := (low + high) / 2; k.at[m] <= t {
			low = m
		} else {
			high = m
		}
	}
	return low
}

// steered returns what the steered clock shows.
func (k *kernelSim) steered(t float64) float64 {
	i := k.index(t)
	return k.ns[i] + (t-k.at[i])*(1+k.rate[i])
}

func (k *kernelSim) counter(t float64) uint64 { return 1e12 + uint64(t*k.hz/1e9) }

// read is a reading whose error is stated right: the counter is read within width of the instant.
func (k *kernelSim) read(t float64, width float64) Reading {
	inside := t + (k.random.Float64()*2-1)*width/2
	ns := int64(k.steered(inside)) - int64(k.random.IntN(10))
	return Reading{
		Stamp:   clock.HostTime(ns + 1_700_000_000_000_000_000),
		Counter: k.counter(t), Error: uint64(width/2*k.hz/1e9) + 2, Ns: ns, NsError: 12,
		Kernel: k.state[k.index(inside)],
	}
}

// freq returns a state with a rate, by tick and freq.
func freq(rate float64) Kernel {
	tick := int64(10_000)
	if math.Abs(rate) > 400e-6 {
		tick += int64(math.Round(rate * 10_000))
	}
	rest := rate - float64(tick-10_000)/10_000
	return Kernel{Known: true, Tick: tick, Freq: int64(math.Round(rest * 65536e6))}
}

// steer makes a course of a kind of daemon for some seconds.
func (k *kernelSim) steer(kind int, seconds float64) {
	r := k.random
	base := (r.Float64()*2 - 1) * 100e-6
	k.at, k.ns, k.rate, k.state = []float64{-1e9}, []float64{1e15 - 1e9}, []float64{base}, []Kernel{freq(base)}
	for t := 0.0; t < seconds*1e9; {
		switch kind {
		case 0: // nobody steers
			return
		case 1: // chronyd: at an update a slew, and back when it is paid
			t += r.ExpFloat64() * 3e9
			base += r.NormFloat64() * 1e-7
			slew := math.Exp(r.Float64()*math.Log(83_333)) * 1e-6
			k.set(t, base+slew, freq(base+slew))
			t += math.Exp(r.Float64()*math.Log(1000)) * 1e6 // 1 ms to 1 s
			k.set(t, base, freq(base))
		case 2: // phc2sys: a new rate 16 times a second
			t += 1e9 / 16
			rate := base + r.NormFloat64()*2e-6
			k.set(t, rate, freq(rate))
		case 3: // the kernel's loop: an offset paid by a part each second
			t += r.ExpFloat64() * 20e9
			constant := int64(r.IntN(4))
			offset := (r.Float64()*2 - 1) * 5e6
			for range 12 {
				paid := offset / math.Exp2(float64(2+constant))
				offset -= paid
				state := freq(base)
				state.Offset, state.Constant = int64(offset), constant
				k.set(t, base+paid/1e9, state)
				t += 1e9
			}
			k.set(t, base, freq(base))
			t += 1e9
		case 4: // adjtime(3)
			t += r.ExpFloat64() * 5e9
			state := freq(base)
			for left := 1 + r.IntN(4); left > 0; left-- {
				state.Adjust = int64(left) * 500
				k.set(t, base+500e-6, state)
				t += 1e9
			}
			k.set(t, base, freq(base))
		}
	}
}

// record reads the clocks as a recorder does, every 50 ms or so, and returns what it stores.
func record(k *kernelSim, seconds float64) (stored []Reading) {
	var d Door
	var before Reading
	point := func(r Reading) Point {
		return Point{r.Counter, r.Ns, int64(float64(r.Error)*1e9/k.hz) + 1 + r.NsError}
	}
	store := func(r Reading) {
		r.Seen = d.Seen()
		stored = append(stored, r)
		d.Begin(point(r))
	}
	lastStored := 0.0
	for t := 0.0; t < seconds*1e9; t += (20 + k.random.Float64()*35) * 1e6 {
		width := 60.0
		if k.random.IntN(50) == 0 {
			width = 5000 // an interrupt
		}
		r := k.read(t, width)
		switch p := point(r); {
		case !d.Began():
			store(r)
		case !d.Fits(p):
			if before.Counter != stored[len(stored)-1].Counter {
				store(before)
			}
			d.Add(p)
			if r.Kernel.Steers(before.Kernel) {
				store(r)
			}
		default:
			changed := r.Kernel.Steers(before.Kernel)
			if changed && before.Counter != stored[len(stored)-1].Counter {
				store(before)
			}
			d.Add(p)
			if changed || t-lastStored > 1e9 {
				store(r)
				lastStored = t
			}
		}
		before = r
	}
	if before.Counter != stored[len(stored)-1].Counter {
		store(before)
	}
	return stored
}

func TestTheFreeClockIsWithinTheBoundsHoweverTheKernelSteers(t *testing.T) {
	const seconds = 40
	for kind := range 5 {
		var widths, mids float64
		n := 0
		for seed := range uint64(30) {
			k := &kernelSim{random: rand.New(rand.NewPCG(seed, uint64(kind))), hz: []float64{2.596122132e9, 25e6, 1e9}[seed%3]}
			k.steer(kind, seconds)
			stored := record(k, seconds)
			m, err := New(stored)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []clock.PairCurve{m.Mid, m.Low, m.High} {
				if err := c.Check(); err != nil {
					t.Fatal(err)
				}
			}
			first, last := stored[0], stored[len(stored)-1]
			scale := float64(last.Ns-first.Ns) / float64(last.Counter-first.Counter)
			for range 2000 {
				at := k.random.Float64() * seconds * 1e9
				if k.random.IntN(2) == 0 { // near where the rate changes
					at = k.at[k.random.IntN(len(k.at))] + k.random.NormFloat64()*50e6
				}
				if k.counter(at) < first.Counter || k.counter(at) > last.Counter {
					continue
				}
				stamp := clock.HostTime(int64(k.steered(at))) + 1_700_000_000_000_000_000
				truth := float64(k.counter(at)-first.Counter) * scale
				low, high, _, _ := m.Bounds(stamp)
				l, h := float64(low-m.Mid[0].Y), float64(high-m.Mid[0].Y)
				grain := 1e9/k.hz + 1 // of the counter and of the stamp
				if truth < l-grain || truth > h+grain {
					t.Fatalf("kind %d, seed %d: at %.0f ns the free clock is %.0f ns beyond its bounds, %.0f wide", kind, seed, at, max(l-truth, truth-h), h-l)
				}
				widths, mids, n = widths+h-l, mids+math.Abs(float64(m.At(stamp)-m.Mid[0].Y)-truth), n+1
			}
		}
		t.Logf("kind %d: mean width %.0f ns, mean error %.0f ns", kind, widths/float64(n), mids/float64(n))
	}
}
