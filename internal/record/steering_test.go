//go:build unix

package record

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"meridian/clock"
	"meridian/internal/steering"
)

// steeredClock is a MONOTONIC that is slewed by turns: it gains by a rate in every other part of a cycle. It is computed from the
// counter, which is the machine's.
type steeredClock struct {
	mu    sync.Mutex
	start clock.Reading
	hz    uint64
	cycle int64 // ns
	ppm   int64
}

// at returns the clock when the counter stood at a count.
func (s *steeredClock) at(counter uint64) int64 {
	since := int64(clock.ToNs(counter-s.start.Counter, s.hz))
	whole, rest := since/s.cycle, since%s.cycle
	slewed := whole*(s.cycle/2) + max(0, rest-s.cycle/2)
	return s.start.Ns + since + slewed*s.ppm/1_000_000
}

func (s *steeredClock) take(c clock.Source) clock.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := clock.Take(c)
	if s.start.Clock == clock.None {
		s.start = x.Monotonic
	}
	x.Monotonic.Ns = s.at(x.Monotonic.Counter)
	return x
}

// kernel says what adjtimex would.
func (s *steeredClock) kernel() steering.Kernel {
	since := int64(clock.ToNs(clock.Best().Source.Now()-s.start.Counter, s.hz))
	k := steering.Kernel{Known: true, Tick: 10_000}
	if since%s.cycle >= s.cycle/2 {
		k.Freq = s.ppm << 16
	}
	return k
}

// TestReadingsTellWhereTheCounterStoodHoweverTheKernelSteers records while the clock is slewed, and compares the stored readings
// with many that are not stored.
func TestReadingsTellWhereTheCounterStoodHoweverTheKernelSteers(t *testing.T) {
	counter := clock.Best().Source
	if !counter.CountsCycles() {
		t.Skip("this machine has no counter beside its clocks")
	}
	f, err := clock.CalibrateQuick()
	if err != nil {
		t.Fatal(err)
	}
	for name, ppm := range map[string]int64{"quiet": 0, "slewed": 200} {
		dir := filepath.Join(t.TempDir(), "trace")
		s := &steeredClock{hz: uint64(f.Hz), cycle: 400e6, ppm: ppm}
		r, err := newRecorder(Options{Dir: dir, Rings: []string{t.TempDir()}, Interval: 200 * time.Millisecond}, s.take)
		if err != nil {
			t.Fatal(err)
		}
		r.own.kernel = s.kernel
		ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
		if _, err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		var readings []steering.Reading
		for _, e := range read(t, dir) {
			d, ok := steering.NewDecoder(&e.class)
			if !ok {
				continue
			}
			x, source, ok := d.Read(e.values)
			if !ok || source != counter.String() || e.Time != clock.HostTime(x.Ns+r.Origin()) {
				t.Fatalf("%s: event at %d: %+v of %q", name, e.Time, x, source)
			}
			x.Stamp = clock.HostTime(x.Ns)
			readings = append(readings, x)
		}
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
