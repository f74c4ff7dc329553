//go:build unix

package record

import (
	"context"
	"math/big"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

// TestStampsLieOnTheLineThroughTheReadingsAroundThem holds lines against exact arithmetic.
func TestStampsLieOnTheLineThroughTheReadingsAroundThem(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		hz := rapid.Uint64Range(1_000_000, 6_000_000_000).Draw(t, "hz")
		k := knot{rapid.Uint64Range(1<<20, 1<<60).Draw(t, "counter"), rapid.Int64Range(1, 1<<60).Draw(t, "ns")}
		knots := []knot{k}
		for range rapid.IntRange(1, 200).Draw(t, "readings") {
			ns := rapid.Int64Range(1000, 20e9).Draw(t, "between")
			wander := rapid.Int64Range(-500, 500).Draw(t, "ppm")
			counts := uint64(clock.MulDiv(ns, int64(hz), 1e9, clock.Nearest))
			k = knot{k.counter + counts + 1, k.ns + ns + ns/1e6*wander}
			knots = append(knots, k)
		}
		next := 0
		l := &line{counter: clock.TSC, take: func(clock.Source) clock.Snapshot {
			k := knots[next]
			next++
			return clock.Snapshot{Monotonic: clock.Reading{Clock: clock.Monotonic, Counter: k.counter, Ns: k.ns, Error: 10, NsError: 1}}
		}}
		for range knots {
			l.read()
		}
		before := uint64(0)
		for i := range knots[:len(knots)-1] {
			a, b := knots[i], knots[i+1]
			span := b.counter - a.counter
			for _, stamp := range []uint64{a.counter, a.counter + rapid.Uint64Range(0, span-1).Draw(t, "stamp"), b.counter - 1} {
				exact := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(int64(stamp-a.counter)), big.NewInt(b.ns-a.ns)), new(big.Int).SetUint64(span))
				exact.Add(exact, new(big.Rat).SetInt64(a.ns))
				got := l.at(stamp)
				off := exact.Sub(exact, new(big.Rat).SetFrac(new(big.Int).SetUint64(got), big.NewInt(1)))
				if off.Sign() < 0 || off.Cmp(big.NewRat(2, 1)) > 0 { // rounded down, the rate too
					t.Fatalf("stamp %d between %+v and %+v is at %d, off by %s ns", stamp, a, b, got, off.FloatString(3))
				}
				if got < before {
					t.Fatalf("stamp %d runs back from %d to %d", stamp, before, got)
				}
				before = got
			}
		}
		if got := l.at(k.counter + 5); got != uint64(k.ns) {
			t.Fatalf("a stamp behind the last reading is at %d, which was at %d", got, k.ns)
		}
		first, span, took := knots[0], k.counter-knots[0].counter, k.ns-knots[0].ns
		back := rapid.Uint64Range(1, first.counter).Draw(t, "back")
		want := float64(first.ns) - float64(back)*float64(took)/float64(span)
		if got := float64(l.at(first.counter - back)); got < max(want, 0)-1-1e-6*float64(first.ns) || got > max(want, 0)+1+1e-6*float64(first.ns) {
			t.Fatalf("a stamp %d before the first reading is at %f, want %f", back, got, want)
		}
	})
}

func TestLinesForgetOldReadingsAndNotTheFirst(t *testing.T) {
	n := uint64(0)
	l := &line{counter: clock.TSC, take: func(clock.Source) clock.Snapshot {
		n++
		return clock.Snapshot{Monotonic: clock.Reading{Clock: clock.Monotonic, Counter: n * 3000, Ns: int64(n * 1000)}}
	}}
	for range 10 * mostKnots {
		l.read()
	}
	if len(l.knots) > mostKnots || l.knots[0].ns != 1000 || l.knots[len(l.knots)-1].ns != int64(n*1000) {
		t.Fatalf("%d readings are kept, from %+v to %+v", len(l.knots), l.knots[0], l.knots[len(l.knots)-1])
	}
	for i := range l.knots[1:] {
		if l.knots[i+1].counter <= l.knots[i].counter {
			t.Fatalf("reading %d is out of order", i+1)
		}
	}
	for stamp := uint64(3000); stamp < n*3000; stamp += 299_999 {
		if got, want := l.at(stamp), stamp/3; got+1 < want || got > want {
			t.Fatalf("stamp %d is at %d, want %d", stamp, got, want)
		}
	}
}

// TestStepsOfRealtimeMoveNoEvent sets REALTIME back and forth by an hour while a program is recorded.
func TestStepsOfRealtimeMoveNoEvent(t *testing.T) {
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	steps := 0
	r, err := newRecorder(Options{Dir: dir, Rings: []string{rings}, Interval: time.Millisecond}, func(c clock.Source) clock.Snapshot {
		s := clock.Take(c)
		if steps++; steps > 1 && steps%2 == 0 {
			s.Realtime.Ns += int64(time.Hour)
		}
		return s
	})
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	p := program(t, "steady", rings, "GOROUTINES=1")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.o.Counts = func(s Summary) {
		if s.Total.Events > 500 {
			p.in.Close()
		}
		if len(s.Streams) > 0 && !s.Streams[0].Open {
			cancel()
		}
	}
	s, err := r.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p.emitted(t)
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	after := time.Now()
	all := read(t, dir)
	stepped := map[bool]int{}
	n := 0
	for _, e := range all {
		if at := time.Unix(0, int64(e.Time)); at.Before(before.Add(-time.Second)) || at.After(after.Add(time.Second)) {
			t.Fatalf("event %v at %v, recorded from %v to %v", e.class.Name, at, before, after)
		}
		switch {
		case e.class.Name == "test:number":
			n++
		case e.row.Name == "clocks" && string(e.values[0].Data) == "REALTIME":
			stepped[e.values[3].Int() > after.Add(time.Minute).UnixNano()]++
		}
	}
	if n <= 500 || stepped[true] == 0 || stepped[false] == 0 {
		t.Errorf("%d events; REALTIME was read %v times", n, stepped)
	}
	if s.ClockError <= 0 || s.ClockError > time.Millisecond {
		t.Errorf("the clock is known to %v", s.ClockError)
	}
}
