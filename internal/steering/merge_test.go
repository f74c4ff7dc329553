package steering

import (
	"math/rand/v2"
	"slices"
	"testing"

	"meridian/clock"
)

const origin = 1_700_000_000_000_000_000

// recorded returns the readings of a recorder that ran from one second to another.
func recorded(k *kernelSim, from, to float64, shift clock.HostTime) *Recorded {
	r := new(Recorded)
	for _, x := range record(k, to) {
		if t := float64(x.Counter-1e12) / k.hz; t >= from {
			if err := r.Add(x, "TSC", x.Stamp+shift); err != nil {
				panic(err)
			}
		}
	}
	return r
}

// holds fails unless the counter is within the bounds of a map for stamps at some instants, s.
func holds(t *testing.T, k *kernelSim, m *Map, shift clock.HostTime, instants ...float64) {
	t.Helper()
	scale := float64(m.Last-m.First) / float64(k.counter(m.endOf(k))-k.counter(m.startOf(k)))
	for _, s := range instants {
		at := s * 1e9
		stamp := clock.HostTime(int64(k.steered(at))+origin) + shift
		low, high, _, _ := m.Bounds(stamp)
		truth := (float64(k.counter(at)) - float64(k.counter(m.startOf(k)))) * scale
		if l, h := float64(low-m.Mid[0].Y), float64(high-m.Mid[0].Y); truth < l-200 || truth > h+200 {
			t.Errorf("at %v s the counter is at %.0f ns and not from %.0f to %.0f", s, truth, l, h)
		}
	}
}

// startOf and endOf return when the first and the last reading were taken.
func (m *Map) startOf(k *kernelSim) float64 { return k.when(int64(m.First) - origin) }
func (m *Map) endOf(k *kernelSim) float64   { return k.when(int64(m.Last) - origin) }

// when returns the instant at which the steered clock showed ns.
func (k *kernelSim) when(ns int64) float64 {
	low, high := -1e9, 1e12
	for range 80 {
		if m := (low + high) / 2; k.steered(m) < float64(ns) {
			low = m
		} else {
			high = m
		}
	}
	return low
}

func quiet(seed uint64) *kernelSim {
	k := &kernelSim{random: rand.New(rand.NewPCG(seed, 9)), hz: 2.596122132e9}
	k.steer(0, 60)
	return k
}

func TestRecordingsOfOneHostShareTheCounter(t *testing.T) {
	k := quiet(1)
	first, second := recorded(k, 0, 10, 0), recorded(k, 15, 30, 0)
	m, err := Merge([]*Recorded{second, nil, first}) // in any order, beside a recording without readings
	if err != nil {
		t.Fatal(err)
	}
	if m.Counter != "TSC" || m.Readings != len(first.Readings)+len(second.Readings) || m.Slewed > 0 {
		t.Errorf("%+v", m)
	}
	holds(t, k, m, 0, 1, 9, 12, 16, 29)

	// At the same time, from origins that were read with errors: those of one are taken, with the difference as an error.
	other := recorded(k, 4, 20, 90)
	both, err := Merge([]*Recorded{recorded(k, 0, 10, 0), other})
	if err != nil {
		t.Fatal(err)
	}
	if both.Least < 90 {
		t.Errorf("origins differ by 90 ns, but the error is %d ns", both.Least)
	}
	holds(t, k, both, 0, 1, 5, 9, 12, 19)
	holds(t, k, both, 90, 5, 9, 12, 19)
}

func TestReadingsOfProgramsLeadBackWhatCameBeforeTheRecorder(t *testing.T) {
	k := quiet(2)
	r := recorded(k, 20, 30, 0)
	for s := 0.0; s < 25; s++ {
		x := k.read(s*1e9, 60)
		x.Kernel = Kernel{}
		r.AddProgram(x)
	}
	wrong := k.read(7.5e9, 60) // of a program that is up to no good
	wrong.Ns += 5e9
	r.AddProgram(wrong)
	m, err := Merge([]*Recorded{r})
	if err != nil {
		t.Fatal(err)
	}
	if from := m.startOf(k); from > 1e6 || !m.Early || m.Unknown || m.Slewed > 0 {
		t.Errorf("from %.0f ns: %+v", from, m)
	}
	holds(t, k, m, 0, 0.5, 7.5, 19.5, 22, 29)
}

func TestHostsWithoutAFreeCounterHaveNoMap(t *testing.T) {
	k := quiet(3)
	steered := recorded(k, 0, 5, 0)
	steered.Source = "MONOTONIC"
	few := recorded(k, 0, 5, 0)
	few.Readings = few.Readings[:1]
	for i, all := range [][]*Recorded{nil, {nil}, {steered}, {few}} {
		if m, err := Merge(all); m != nil || err != nil {
			t.Errorf("%d: %+v, %v", i, m, err)
		}
	}
	if err := steered.Add(Reading{}, "TSC", 0); err == nil {
		t.Error("readings by two counters are one recording")
	}
	raw := recorded(k, 10, 15, 0)
	raw.Source = "MONOTONIC_RAW"
	if m, err := Merge([]*Recorded{recorded(k, 0, 5, 0), raw}); err == nil {
		t.Errorf("recordings by two counters: %+v", m)
	}
}

// TestReadingsOfTwoBootsMakeNoMap: the counter begins anew.
func TestReadingsOfTwoBootsMakeNoMap(t *testing.T) {
	k := quiet(4)
	before := recorded(k, 0, 10, 0)
	after := recorded(k, 0, 10, 0)
	for i := range after.Readings {
		after.Readings[i].Counter -= 9e11
		after.Readings[i].Stamp += 3600e9
	}
	if m, err := Merge([]*Recorded{before, after}); err == nil {
		t.Errorf("%+v", m)
	}
}

// TestNoReadingsMakeAWrongMap damages readings: there is no map then, or one that is a map.
func TestNoReadingsMakeAWrongMap(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	good := record(quiet(5), 10)
	for range 3000 {
		bad := slices.Clone(good)
		x := &bad[random.IntN(len(bad))]
		by := int64(1) << random.IntN(63)
		if random.IntN(2) == 0 {
			by = -by
		}
		for _, field := range []*int64{&x.Ns, &x.NsError, &x.Seen.Gap, &x.Seen.Bend, &x.Seen.Worst, &x.Kernel.Freq, &x.Kernel.Tick, &x.Kernel.Offset, &x.Kernel.Constant, &x.Kernel.Adjust, (*int64)(&x.Stamp)} {
			if random.IntN(4) == 0 {
				*field += by
			}
		}
		if random.IntN(4) == 0 {
			x.Counter += uint64(by)
		}
		if random.IntN(4) == 0 {
			x.Error += uint64(by)
		}
		m, err := New(bad)
		if err != nil {
			continue
		}
		if err := m.check(); err != nil {
			t.Fatal(err)
		}
	}
}
