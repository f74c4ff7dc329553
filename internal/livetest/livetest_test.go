package livetest_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"meridian/align"
	"meridian/align/live"
	"meridian/clock"
	"meridian/internal/livetest"
	"meridian/internal/sim"
)

// play plays a scenario, and fails for every place whose truth is outside.
func play(t *testing.T, s *livetest.Scenario) *livetest.World {
	t.Helper()
	w, err := livetest.Play(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(w.Tally.String())
	for _, f := range w.Failures {
		t.Errorf("seed %d: %s", s.Seed, f)
	}
	return w
}

// cheap is a method that costs a fifth of the default one; its bounds are the same.
var cheap = align.Options{Method: "two-point"}

// The short form of "make live-clocks": bounds hold as shown but between a step and the first message that contradicts it, and the
// offline run agrees.
func TestTwoHostsThatWanderAndAreSet(t *testing.T) {
	s := livetest.Two(1, 3*time.Minute, 500*time.Millisecond, time.Minute, live.Options{Interval: 5 * time.Second, Align: cheap})
	s.Samples = 2000
	w := play(t, s)
	if len(w.Unfound) != w.Steps || w.Steps < 2 {
		t.Errorf("%d of %d steps were found", len(w.Unfound), w.Steps)
	}
	if w.Bounded < w.Asked*95/100 {
		t.Errorf("%d of %d places were bounded", w.Bounded, w.Asked)
	}
	if most := int64(4 * w.Steps); w.Outside > most {
		t.Errorf("%d places were wrong before %d steps were found, more than %d", w.Outside, w.Steps, most)
	}
	a, err := w.Offline(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if a.Compared < 100 || a.Last < 100 || a.Apart > 0 || a.LastApart > 0 || a.Wrong > 0 {
		t.Errorf("compared with the offline run: %+v", *a)
	}
}

func TestHostsJoinLeaveAndHandOver(t *testing.T) {
	s := livetest.Mesh(2, 4, 100*time.Second, 100*time.Second, 500*time.Millisecond, time.Minute, live.Options{Interval: 5 * time.Second, Silence: 5 * time.Second, Align: cheap})
	s.Samples = 2000
	w := play(t, s)
	for _, k := range []live.Kind{live.Joined, live.Doubted, live.HandedOver, live.Restarted} {
		if w.Changes[k] == 0 {
			t.Errorf("no change %v", k)
		}
	}
	if w.Bounded < w.Asked*80/100 {
		t.Errorf("%d of %d places were bounded", w.Bounded, w.Asked)
	}
	a, err := w.Offline(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if a.Compared < 100 || a.Apart > 0 || a.LastApart > 0 || a.Wrong > 0 {
		t.Errorf("compared with the offline run: %+v", *a)
	}
}

// Of several clocks that are set, the reference among them, no place is outside its bounds but before the first message that
// contradicts them: not on the clock that was set for long, and never on another one.
func TestNoPlaceIsOutsideWhateverIsSet(t *testing.T) {
	for seed := uint64(1); seed <= 12; seed++ {
		hosts := 3 + int(seed%6)
		w := play(t, livetest.Mesh(seed, hosts, 90*time.Second, 90*time.Second, time.Second, 40*time.Second, live.Options{Interval: 10 * time.Second, Align: cheap}))
		if w.Beside > 0 || w.Outside > int64(4*w.Steps) {
			t.Errorf("seed %d, %d hosts: %d places outside before %d steps were found, and %d of other clocks", seed, hosts, w.Outside, w.Steps, w.Beside)
		}
		// Of these seeds 92% or more are. The rest is from a step until messages bound the clock again, a second or two, four times in 90 s.
		if w.Bounded < w.Asked*9/10 {
			t.Errorf("seed %d, %d hosts: %d of %d places were bounded", seed, hosts, w.Bounded, w.Asked)
		}
	}
}

func TestMemoryDoesNotGrow(t *testing.T) {
	const span, between = 2 * time.Hour, 4 * time.Minute
	s := livetest.Two(3, span, 4*time.Second, 0, live.Options{Window: 20 * time.Second, Interval: 20 * time.Second, Keep: time.Minute, Align: cheap})
	for i, by := clock.TimelineTime(1), int64(1e8); i < clock.TimelineTime(span/between); i, by = i+1, -by {
		c := &s.Hosts[1].Clock
		c.Steps = append(c.Steps, sim.Step{At: i * clock.TimelineTime(between), By: by})
	}
	s.Every = between
	var heaps []uint64
	s.Watch = func(time.Duration, *livetest.World) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heaps = append(heaps, m.HeapAlloc)
	}
	play(t, s)
	half := heaps[len(heaps)/2:]
	for _, h := range half {
		if float64(h) > 1.05*float64(half[0]) {
			t.Errorf("the heap grows over the last half: %d", half)
			break
		}
	}
}

// A clock that is set in a mesh takes the bounds from its own pairs alone. Seeds and sizes vary; half of the worlds solve their rounds
// while messages come.
func TestMeshesStayBoundedWhileTheirClocksAreSet(t *testing.T) {
	var asked, bounded int64
	for seed := uint64(200); seed < 206; seed++ {
		s := livetest.Mesh(seed, 4+int(seed%5), 100*time.Second, 100*time.Second, 500*time.Millisecond, 90*time.Second, live.Options{Interval: 5 * time.Second, Align: cheap})
		if seed%2 == 0 {
			s.Lag = 600 * time.Millisecond
		}
		w := play(t, s)
		if w.Beside > 0 {
			t.Errorf("seed %d: %d places of other clocks were wrong", seed, w.Beside)
		}
		asked, bounded = asked+w.Asked, bounded+w.Bounded
	}
	if bounded < asked*95/100 {
		t.Errorf("%d of %d places were bounded", bounded, asked)
	}
}
