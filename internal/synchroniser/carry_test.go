package synchroniser

import (
	"testing"

	"meridian/align/bound"
	"meridian/align/online"
	"meridian/clock"
	"meridian/internal/probe"
	"meridian/internal/testseed"
)

// stampAt is a stamp of a host whose system clock is ahead of its free clock by offset at an instant, read with an error.
func stampAt(at, offset, error int64) probe.Stamp {
	return probe.Stamp{Time: clock.HostTime(at), Wall: clock.HostTime(at + offset), Error: error, Kind: probe.Kernel}
}

func TestSystemClockIsCarriedOnWithinItsBound(t *testing.T) {
	r := testseed.New(t)
	var c carried
	const error = 300
	truth, rate := 1e6, 30e-6
	at := int64(1e18)
	for i := range 2000 {
		step := int64(50e6 + r.IntN(50e6))
		at, truth = at+step, truth+rate*float64(step)
		if foretold, ok := c.at(clock.HostTime(at), 10); ok && abs(foretold.offset-int64(truth)) > foretold.error+1 {
			t.Fatalf("after %d stamps: %d ± %d, the truth is %.0f", i, foretold.offset, foretold.error, truth)
		}
		if c.take(stampAt(at, int64(truth)+r.Int64N(2*error)-error, error), 10) {
			t.Fatalf("a clock that was not set counts as set after %d stamps", i)
		}
		if r.IntN(50) == 0 {
			rate = 30e-6 + (2*r.Float64()-1)*5e-6 // a daemon corrects the rate, by no more than is assumed of a second
		}
	}
	foretold, _ := c.at(clock.HostTime(at+1e8), 10)
	if foretold.error > 2000 {
		t.Errorf("0.1 s later the error is %d ns: the rate is not used", foretold.error)
	}
	if !c.take(stampAt(at+1e8, int64(truth)+1e6, error), 10) {
		t.Error("a clock that was set by 1 ms is not found")
	}
	if p, _ := c.at(clock.HostTime(at+1e8), 10); abs(p.offset-int64(truth)-1e6) > p.error {
		t.Error("what was known before a clock was set is used after it")
	}
}

// told is an estimator that says one thing.
type told struct {
	online.Synchroniser
	online.Reading
}

func (t told) At(clock.HostTime) online.Reading { return t.Reading }

func TestBoundOfTheSystemClocksHasTheErrorsOfAllReadings(t *testing.T) {
	h := &host{options: &Options{Steering: 10}, direct: newDirect(bound.Assumption{}), last: State{Exchanges: 1}}
	h.system.take(stampAt(2_000_000, 70_000, 30), 10) // there: 70 us ahead of its free clock, to within 30 ns
	// Here the free clock shows 1 ms when the system clock shows 1.02 ms to within 7 ns; theirs is ahead by 1 ms.
	s := h.at(&estimator{method: "told", Synchroniser: told{Reading: online.Reading{Offset: 1_000_000, Low: 999_000, High: 1_002_000, Bounded: true, Known: true}}},
		probe.Reading{Free: 1_000_000, Wall: 1_020_000, Error: 7}, 0)
	// The stamp there is of this instant; 1 ns is for rounding.
	if want := (Reading{1_050_000, 999_000 + 50_000 - 38, 1_002_000 + 50_000 + 38, true}); s.System != want {
		t.Errorf("%+v, not %+v", s.System, want)
	}
}
