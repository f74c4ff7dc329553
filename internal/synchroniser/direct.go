package synchroniser

import (
	"math"

	"meridian/align/bound"
	"meridian/align/online"
	"meridian/clock"
	"meridian/internal/probe"
	"meridian/trace"
)

// direct bounds the offset of the system clocks by stamps of these clocks themselves. Kernels stamp by them, so there is no error
// of reading two clocks. While nobody steers either in another way, its rate against the free clock is constant, and the
// assumption for free clocks is one for system clocks. When the kernel of an end says that its rate was changed, or
// answers are so rare that a change may have been taken back meanwhile, everything begins anew.
type direct struct {
	strict      *online.Strict
	here, there uint8 // Sample.SteeringHere, SteeringThere
	answered    clock.HostTime
	any         bool
	since       clock.HostTime // by the free clock here: exchanges that began before are not used
}

const (
	directWindow = int64(60e9)
	// maxAnswerGap is how long the shortest slew of a daemon is at least, ns: chronyd's takes a second. Rarer answers may miss one.
	maxAnswerGap = int64(500e6)
)

func newDirect(a bound.Assumption) *direct {
	if a == (bound.Assumption{}) {
		a = bound.Default
	}
	a.MaxSkew = 0 // of free clocks; daemons slew system clocks by up to bound.MaxRate
	return &direct{strict: online.NewStrict(a, directWindow, 1, 1, 0, 0)}
}

// reset forgets everything.
func (d *direct) reset() {
	d.strict.Reset()
	d.any = false
}

// take takes a sample. set says that a clock was found to have been set. It returns true where the system clocks contradict what was known of
// them.
func (d *direct) take(x probe.Sample, set bool) (contradictory bool) {
	if x.T1.Time < d.since {
		return false // the later stamp of an answer from before
	}
	if x.T1.Wall == 0 || x.T2.Wall == 0 || x.T4.Wall == 0 || x.SteeringHere == 0 || x.SteeringThere == 0 {
		d.reset()
		return false
	}
	gap := clock.Sub(x.T4.Wall, d.answered)
	if set || d.here != x.SteeringHere || d.there != x.SteeringThere || !x.Late && (gap > maxAnswerGap || gap < -maxAnswerGap) {
		// This exchange may be from both sides of the change.
		d.reset()
		d.since = max(d.since, x.T4.Time)
		d.here, d.there = x.SteeringHere, x.SteeringThere
		if !x.Late {
			d.answered = x.T4.Wall
		}
		return false
	}
	sent := add(x.T3.Wall, -systemError(x.T3))
	if x.T3.Wall == 0 { // the stamp of the free clock, carried over where T2 was
		sent = add(x.T3.Time, x.T2.Offset()-x.T3.Error)
	}
	d.strict.BA(trace.Message{Sent: sent, Received: add(x.T4.Wall, systemError(x.T4))})
	if !x.Late {
		d.strict.AB(trace.Message{Sent: add(x.T1.Wall, -systemError(x.T1)), Received: add(x.T2.Wall, systemError(x.T2))})
		d.answered, d.any = max(d.answered, x.T4.Wall), true
	}
	if contradictory = d.strict.Contradictory(); contradictory {
		d.reset()
		d.since = max(d.since, x.T4.Time)
	}
	return contradictory
}

// systemError is by how much a stamp may be off the system clock, ns: kernels stamp by it.
func systemError(s probe.Stamp) int64 {
	if s.Kind == probe.Kernel {
		return 0
	}
	return s.Error
}

// at returns the bounds at an instant of the system clock here, whose steering is then as said. The clock there may have changed its rate
// by so many ppm since it answered.
func (d *direct) at(now clock.HostTime, here uint8, steering float64) (low, high int64, ok bool) {
	if !d.any || here == 0 || here != d.here {
		return 0, 0, false
	}
	last, _ := d.strict.Last()
	if now < last {
		return 0, 0, false
	}
	l, h, lowOK, highOK, ok := d.strict.At(now)
	if !ok || !lowOK || !highOK {
		return 0, 0, false
	}
	slack := int64(math.Ceil(float64(clock.Sub(now, d.answered))*steering*1e-6)) + 1
	return clock.Sub(l, now) - slack, clock.Sub(h, now) + slack, true
}
