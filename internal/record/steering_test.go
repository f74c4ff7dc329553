//go:build unix

package record

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"meridian/clock"
	"meridian/internal/steering"
)

// steeredClock is a simulated MONOTONIC that is slewed by turns: it gains by a rate in every other part of a cycle. It is computed from
// a simulated counter, which passes as it is read.
type steeredClock struct {
	counter uint64
	hz      uint64
	cycle   int64 // ns
	ppm     int64
	random  *rand.Rand
}

const (
	steeredBegin = 1 << 40 // of the counter
	steeredError = 60      // of a reading, counts
	sinceBoot    = 12345e9 // of MONOTONIC at the beginning, ns
	sinceEpoch   = 17e17   // of REALTIME at the beginning, ns
)

// at returns the clock when the counter stood at a count.
func (s *steeredClock) at(counter uint64) int64 {
	since := clock.ToNs(counter-steeredBegin, s.hz)
	whole, rest := since/s.cycle, since%s.cycle
	slewed := whole*(s.cycle/2) + max(0, rest-s.cycle/2)
	return sinceBoot + since + slewed*s.ppm/1_000_000
}

func (s *steeredClock) pass(d time.Duration) {
	s.counter += uint64(clock.MulDiv(int64(d), int64(s.hz), 1e9, clock.Nearest))
}

func (s *steeredClock) take(c clock.Source) clock.Snapshot {
	s.pass(7 * time.Microsecond)
	ns := s.at(s.counter + s.random.Uint64N(2*steeredError+1) - steeredError) // the clock was read at any instant within the error
	x := clock.Snapshot{Counter: c,
		Monotonic: clock.Reading{Clock: clock.Monotonic, Counter: s.counter, Error: steeredError, Ns: ns, NsError: 1},
		Realtime:  clock.Reading{Clock: clock.Realtime, Counter: s.counter, Error: steeredError, Ns: sinceEpoch + ns - sinceBoot, NsError: 1}}
	if c == clock.Monotonic {
		x.Monotonic.Counter, x.Realtime.Counter = uint64(ns), uint64(ns)
	}
	return x
}

// kernel says what adjtimex would, a moment after the clock was read.
func (s *steeredClock) kernel() steering.Kernel {
	s.pass(3 * time.Microsecond)
	k := steering.Kernel{Known: true, Tick: 10_000}
	if clock.ToNs(s.counter-steeredBegin, s.hz)%s.cycle >= s.cycle/2 {
		k.Freq = s.ppm << 16
	}
	return k
}

// TestReadingsTellWhereTheCounterStoodHoweverTheKernelSteers reads a clock that is slewed, at instants as a recorder has them that at
// times gets no processor, and compares the stored readings with many that are not stored.
func TestReadingsTellWhereTheCounterStoodHoweverTheKernelSteers(t *testing.T) {
	counter := clock.Best().Source
	if !counter.CountsCycles() {
		t.Skip("this machine has no counter beside its clocks")
	}
	for name, ppm := range map[string]int64{"quiet": 0, "slewed": 200} {
		dir := filepath.Join(t.TempDir(), "trace")
		random := rand.New(rand.NewPCG(1, uint64(ppm)))
		s := &steeredClock{counter: steeredBegin, hz: 3_000_000_000, cycle: 400e6, ppm: ppm, random: random}
		r, err := newRecorder(Options{Dir: dir, Rings: []string{t.TempDir()}}, s.take)
		if err != nil {
			t.Fatal(err)
		}
		r.own.kernel = s.kernel
		for n := 0; s.at(s.counter) < sinceBoot+1500e6; n++ {
			if err := r.own.read(time.Time{}, n%10 == 0); err != nil {
				t.Fatal(err)
			}
			s.pass(steerInterval + time.Duration(random.IntN(20))*time.Millisecond)
			if random.IntN(20) == 0 {
				s.pass(70 * time.Millisecond)
			}
		}
		if err := errors.Join(r.finish()...); err != nil {
			t.Fatal(err)
		}
		readings := steeringOf(t, dir, counter, r.Origin())
		m, err := steering.New(readings)
		if err != nil {
			t.Fatal(err)
		}
		first, last := readings[0], readings[len(readings)-1]
		for at := first.Counter; at <= last.Counter; at += (last.Counter - first.Counter) / 1000 {
			want := clock.Add(m.Mid[0].Y, clock.MulDiv(int64(at-first.Counter), last.Ns-first.Ns, int64(last.Counter-first.Counter), clock.Nearest))
			low, high, _, _ := m.Bounds(clock.HostTime(s.at(at)))
			if want < low-2 || want > high+2 {
				t.Fatalf("%s: the counter stood at %d and not from %d to %d", name, want, low, high)
			}
		}
		t.Logf("%s: %d readings stored; errors %d to %d ns, slewed %v", name, len(readings), m.Least, m.Most, time.Duration(m.Slewed))
		if ppm == 0 && len(readings) > 20 {
			t.Errorf("%d readings of a clock that nobody steers are stored", len(readings))
		}
		if ppm != 0 && len(readings) < 7 {
			t.Errorf("%d readings of a clock that was slewed 6 times are stored", len(readings))
		}
	}
}

// steeringOf returns the stored readings of a trace.
func steeringOf(t *testing.T, dir string, counter clock.Source, origin int64) (readings []steering.Reading) {
	t.Helper()
	for _, e := range read(t, dir) {
		d, ok := steering.NewDecoder(&e.class)
		if !ok {
			continue
		}
		x, source, ok := d.Read(e.values)
		if !ok || source != counter.String() || e.Time != clock.HostTime(x.Ns+origin) {
			t.Fatalf("event at %d: %+v of %q", e.Time, x, source)
		}
		x.Stamp = clock.HostTime(x.Ns)
		readings = append(readings, x)
	}
	return readings
}

// BenchmarkReading is what the recorder pays for a reading of the clocks, some 20 times a second.
func BenchmarkReading(b *testing.B) {
	r, err := New(Options{Dir: filepath.Join(b.TempDir(), "trace"), Rings: []string{b.TempDir()}})
	if err != nil {
		b.Fatal(err)
	}
	defer r.finish()
	for b.Loop() {
		if err := r.own.read(time.Now(), false); err != nil {
			b.Fatal(err)
		}
	}
}
