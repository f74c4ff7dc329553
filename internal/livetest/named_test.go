package livetest_test

import (
	"testing"
	"time"

	"meridian/align/live"
	"meridian/internal/livetest"
	"meridian/internal/sim"
)

// No clock is named that was not set (play fails for it), and most of those that were set are.
func TestClocksThatWereSetInAMeshAreNamed(t *testing.T) {
	var steps int
	var named int64
	for seed := uint64(300); seed < 304; seed++ {
		s := livetest.Mesh(seed, 3+int(seed%4), 100*time.Second, 100*time.Second, 500*time.Millisecond, 40*time.Second, live.Options{Interval: 5 * time.Second, Align: cheap})
		if seed%2 == 0 {
			s.Lag = 600 * time.Millisecond
		}
		w := play(t, s)
		steps, named = steps+w.Steps, named+w.Named
	}
	if t.Logf("%d of %d steps were named", named, steps); steps < 10 || 10*named < 6*int64(steps) {
		t.Errorf("%d of %d steps were named", named, steps)
	}
}

// A clock that is set back just after it was doubted shows readings again that were taken for stragglers: its step is found, and no place
// is wrong, though its messages are like those from before the doubt for seconds.
func TestClockThatIsSetBackAfterADoubtIsFound(t *testing.T) {
	s := livetest.Mesh(7, 3, 60*time.Second, 60*time.Second, 500*time.Millisecond, time.Hour, live.Options{Interval: 5 * time.Second, Align: cheap})
	s.Hosts[0].Leave = 0
	s.Hosts[2].Clock.Steps = []sim.Step{{At: 20e9, By: 32e6}, {At: 21e9, By: -8e9}}
	w := play(t, s)
	if len(w.Unfound) != 2 {
		t.Fatalf("%d of 2 steps were found", len(w.Unfound))
	}
	if w.Unfound[1] > 3*time.Second {
		t.Errorf("the second step was found after %v", w.Unfound[1])
	}
}

// Groups of clocks become one while messages between them are on their way: no clock bends for that, and none is set (play fails for both).
func TestGroupsThatJoinAreNotAccused(t *testing.T) {
	var joined int64
	for seed := uint64(1); seed <= 20; seed++ {
		s := livetest.Mesh(seed, 8, time.Hour, time.Hour, 500*time.Millisecond, time.Hour, live.Options{Interval: 5 * time.Second, Align: cheap})
		s.Span = 2 * time.Second
		w := play(t, s)
		if joined += w.Changes[live.Joined]; w.Alarms > 0 {
			t.Errorf("seed %d: %d changes that a command exits with 3 for", seed, w.Alarms)
		}
	}
	if joined < 100 {
		t.Errorf("clocks joined %d times", joined)
	}
}
