package steering

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// straight returns readings of a counter of 1 GHz, spaced by h ns, of a clock whose rate between them is given: r ns of error each.
func straight(h int64, r uint64, rates []float64, kernels []Kernel) (all []Reading) {
	ns := int64(1e15)
	for i := range len(rates) + 1 {
		all = append(all, Reading{Stamp: clock.HostTime(ns), Counter: 1e12 + uint64(h)*uint64(i), Error: r, Ns: ns, Kernel: kernels[i]})
		if i < len(rates) {
			ns += h + int64(math.Round(float64(h)*rates[i]))
		}
	}
	return all
}

// TestTheErrorOfAStretchIsWhatItsReadingsLeaveOpen compares the stretch in the middle of many with what follows by hand.
func TestTheErrorOfAStretchIsWhatItsReadingsLeaveOpen(t *testing.T) {
	const n, h = 41, 50_000_000
	still, ppm := Kernel{Known: true, Tick: 10_000}, 1e-6
	with := func(change func(k *Kernel)) Kernel {
		k := still
		change(&k)
		return k
	}
	// Both rates may be off by half a ppm, and by what the readings at both ends of a stretch leave open.
	const margin = 2*0.5*1e-6*h/4 + 2*(40+40)/4
	const gap = 1.226 / 0.774 // of time on the counter, at most, per time on the steered clock
	for name, test := range map[string]struct {
		rate          float64 // of the stretch
		before, after Kernel
		seen          Seen
		want          float64
		slewed        bool
	}{
		"quiet":                    {0, still, still, Seen{}, 40 + margin, false},
		"a bend was seen":          {0, still, still, Seen{Gap: h / 2, Bend: 300}, 300 + margin/2*gap, false},
		"a worse reading was used": {0, still, still, Seen{Worst: 70}, 110 + margin, false},
		"a change of 100 ppm":      {50 * ppm, still, with(func(k *Kernel) { k.Freq = 100 << 16 }), Seen{}, 40 + margin + 100*ppm*h/4, false},
		"a change back":            {-50 * ppm, with(func(k *Kernel) { k.Freq = -100 << 16 }), still, Seen{}, 40 + margin + 100*ppm*h/4, false},
		"a tick of 10,001 µs":      {50 * ppm, still, with(func(k *Kernel) { k.Tick = 10_001 }), Seen{}, 40 + margin + 100*ppm*h/4, false},
		"adjtime forward":          {250 * ppm, with(func(k *Kernel) { k.Adjust = 9 }), with(func(k *Kernel) { k.Adjust = 1 }), Seen{}, 40 + margin + 500*ppm*h/4, false},
		"adjtime back":             {-250 * ppm, with(func(k *Kernel) { k.Adjust = -9 }), with(func(k *Kernel) { k.Adjust = -1 }), Seen{}, 40 + margin + 500*ppm*h/4, false},
		// 1 ms of offset, of which a sixteenth is paid each second, or twice that.
		"an offset of 1 ms":    {62.5 * ppm, with(func(k *Kernel) { k.Offset, k.Constant = 1e6, 2 }), with(func(k *Kernel) { k.Offset, k.Constant = 1e6, 2 }), Seen{}, 40 + margin + 125*ppm*h/4, false},
		"an offset of -1 ms":   {-62.5 * ppm, with(func(k *Kernel) { k.Offset, k.Constant = -1e6, 2 }), with(func(k *Kernel) { k.Offset, k.Constant = -1e6, 2 }), Seen{}, 40 + margin + 125*ppm*h/4, false},
		"a slew that is over":  {20 * ppm, still, still, Seen{}, 40 + 0.452*h/4/(1-0.226), true},
		"a slew back, as well": {-20 * ppm, still, still, Seen{Gap: h / 2, Bend: 100}, 100 + 0.452*h/8/(1-0.226)*gap, true},
		"no time passed":       {-0.9, still, still, Seen{}, h * (1 - 0.9/n), true},
	} {
		rates, kernels := make([]float64, n), make([]Kernel, n+1)
		for i := range kernels {
			kernels[i] = still
		}
		rates[n/2], kernels[n/2], kernels[n/2+1] = test.rate, test.before, test.after
		readings := straight(h, 40, rates, kernels)
		for i := range readings {
			if i == n/2+1 {
				readings[i].Seen = test.seen
			}
		}
		p := newPath(readings, nil)
		p.judge()
		s := p.stretches[n/2]
		// The scale follows from the mean rate; readings' own errors make up for what is left.
		if got := float64(s.error); got < test.want-1 || got > test.want*1.03+30 || s.slewed != test.slewed {
			t.Errorf("%s: the error is %.0f ns, want %.0f; slewed %v", name, got, test.want, s.slewed)
		}
	}
}

// TestBoundsHoldWhatEachStretchLeavesOpen compares the curves with the stretches, one by one and nanosecond by nanosecond at random:
// the free clock never runs back, so what bounds it at one instant bounds it at all others.
func TestBoundsHoldWhatEachStretchLeavesOpen(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 11))
	for range 300 {
		n := 2 + random.IntN(30)
		rates, kernels := make([]float64, n), make([]Kernel, n+1)
		for i := range rates {
			rates[i] = random.NormFloat64() * 2e-7
			if random.IntN(5) == 0 {
				rates[i] = random.NormFloat64() * 1e-4
			}
		}
		readings := straight(1_000_000+random.Int64N(50_000_000), 20+random.Uint64N(40), rates, kernels)
		p := newPath(readings, nil)
		p.judge()
		for i := range p.stretches {
			p.stretches[i].error = 50 + random.Int64N(20)
			if random.IntN(4) == 0 {
				p.stretches[i].error = random.Int64N(3_000_000)
			}
		}
		m := p.tube()
		chord := func(i int, x clock.HostTime) float64 {
			return float64(p.y[i]-p.y[0]) + float64(x-p.x[i])*float64(p.y[i+1]-p.y[i])/float64(p.x[i+1]-p.x[i])
		}
		// Bounds by the stretches: the greatest lower end of all before, the least upper end of all after.
		for range 60 {
			i := random.IntN(n)
			x := p.x[i] + clock.HostTime(random.Int64N(int64(p.x[i+1]-p.x[i])+1))
			low, high := math.Inf(-1), math.Inf(1)
			for k := range p.stretches {
				e := float64(p.stretches[k].error)
				if k < i {
					low = max(low, float64(p.y[k+1]-p.y[0])-e)
				}
				if k > i {
					high = min(high, float64(p.y[k]-p.y[0])+e)
				}
			}
			e := float64(p.stretches[i].error)
			low, high = max(low, chord(i, x)-e), min(high, chord(i, x)+e)
			gotLow, gotHigh, _, _ := m.Bounds(x)
			if l, h := float64(gotLow-p.y[0]), float64(gotHigh-p.y[0]); l > low+1 || h < high-1 {
				t.Fatalf("at %d the bounds are %.0f and %.0f, and %.0f and %.0f are possible", x, l, h, low, high)
			}
		}
	}
}

// TestALineIsAsStraightAsTheDoorSays gives random readings to a door and looks at the line that it lets pass.
func TestALineIsAsStraightAsTheDoorSays(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 12))
	lines, bent := 0, 0
	for range 400 {
		var d Door
		var inner []Point
		p := Point{Counter: 1e12, Ns: 1e15, Error: 30}
		d.Begin(p)
		start := p
		for range 40 {
			step := uint64(1e6 + random.Float64()*5e7)
			p.Counter += step
			p.Ns += int64(step) + int64(random.NormFloat64()*25)
			p.Error = 20 + random.Int64N(60)
			if !d.Fits(p) {
				bent++
				break
			}
			d.Add(p)
			inner = append(inner, p)
		}
		if len(inner) == 0 {
			continue
		}
		last := inner[len(inner)-1]
		if d.Last() != last {
			t.Fatalf("the last reading is %+v, not %+v", d.Last(), last)
		}
		seen, gap, worst := d.Seen(), int64(0), int64(0)
		before := start
		for i, q := range inner {
			gap, worst, before = max(gap, q.Ns-before.Ns), max(worst, q.Error), q
			line := float64(start.Ns) + float64(q.Counter-start.Counter)*float64(last.Ns-start.Ns)/float64(last.Counter-start.Counter)
			if off := math.Abs(line-float64(q.Ns)) + float64(q.Error); i < len(inner)-1 && off > float64(seen.Bend) {
				t.Fatalf("a reading may be %.0f ns off the line, which bends by %d at most", off, seen.Bend)
			}
		}
		if len(inner) == 1 {
			gap = 0
		}
		if seen.Gap != gap || seen.Worst != worst {
			t.Fatalf("%+v of a gap of %d and a worst of %d", seen, gap, worst)
		}
		lines++
	}
	if lines < 100 || bent < 100 {
		t.Errorf("%d lines, %d bent", lines, bent)
	}
}

// TestTheEstimateBendsWhereTheKernelDid: with one rate stated at each end, the mean rate tells when it changed.
func TestTheEstimateBendsWhereTheKernelDid(t *testing.T) {
	k := &kernelSim{random: rand.New(rand.NewPCG(13, 13)), hz: 1e9}
	k.at, k.ns, k.rate, k.state = []float64{-1e9}, []float64{1e15 - 1e9}, []float64{0}, []Kernel{freq(0)}
	k.set(5.003e9, 300e-6, freq(300e-6))
	k.set(9.011e9, -80e-6, freq(-80e-6))
	stored := record(k, 14)
	m, err := New(stored)
	if err != nil {
		t.Fatal(err)
	}
	first, last := stored[0], stored[len(stored)-1]
	scale := float64(last.Ns-first.Ns) / float64(last.Counter-first.Counter)
	for at := 4.9e9; at < 9.2e9; at += 1e6 {
		truth := float64(k.counter(at)-first.Counter) * scale
		stamp := clock.HostTime(int64(k.steered(at)) + origin)
		if off := math.Abs(float64(m.At(stamp)-m.Mid[0].Y) - truth); off > 400 {
			t.Fatalf("at %.0f ns the estimate is off by %.0f ns", at, off)
		}
	}
}

func TestEventsHoldReadings(t *testing.T) {
	r := Reading{
		Counter: 1 << 63, Error: 2, Ns: 3, NsError: 4, Seen: Seen{5, 6, 7},
		Kernel:    Kernel{Known: true, Freq: -9, Tick: 10, Offset: -11, Adjust: 12, Constant: 13, Status: 14, State: 15, MaxError: 16, EstError: 17, TAI: 37},
		Suspended: 19,
	}
	class := Class()
	d, ok := NewDecoder(&class)
	values := r.Values("CNTVCT", nil)
	got, source, read := d.Read(values)
	if !ok || !read || source != "CNTVCT" || !reflect.DeepEqual(got, r) {
		t.Errorf("%+v of %q", got, source)
	}
	r.Kernel.Known = false
	if got, _, _ := d.Read(r.Values("TSC", nil)); got.Kernel.Known {
		t.Error("what could not be read is known")
	}
	if _, _, ok := d.Read(values[:19]); ok {
		t.Error("an event without its last field is a reading")
	}
	class.Fields = class.Fields[1:]
	if _, ok := NewDecoder(&class); ok {
		t.Error("a class without a field is decoded")
	}

	of := func(clock string) []trace.Value {
		return []trace.Value{trace.OfText(clock), trace.OfUint(1), trace.OfUint(2), trace.OfInt(3), trace.OfInt(4)}
	}
	program := trace.Class{Name: "meridian:clock"}
	for _, name := range []string{"clock", "counter", "counter_error", "ns", "ns_error"} {
		if _, ok := NewProgramDecoder(&program); ok {
			t.Error("a class without a field is decoded")
		}
		program.Fields = append(program.Fields, trace.Field{Name: name})
	}
	d, ok = NewProgramDecoder(&program)
	if x, read := d.ReadProgram(of("MONOTONIC")); !ok || !read || !reflect.DeepEqual(x, Reading{Counter: 1, Error: 2, Ns: 3, NsError: 4}) {
		t.Errorf("%+v", x)
	}
	if _, read := d.ReadProgram(of("REALTIME")); read {
		t.Error("a reading of REALTIME is one of MONOTONIC")
	}
	if _, read := d.ReadProgram(of("MONOTONIC")[:3]); read {
		t.Error("an event without its last fields is a reading")
	}
}
