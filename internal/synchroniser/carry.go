package synchroniser

import (
	"math"

	"meridian/clock"
	"meridian/internal/probe"
)

// carried is how the system clock of another host stands to its free clock: system - free, known to within an error at the instants
// of its stamps, and carried on between them.
type carried struct {
	anchor, newest point
	rate           float64 // of system - free, per ns of the free clock
	rateKnown      bool
	rateError      float64
	settled        bool // whether the rate is over minRateSpan
}

// point is one reading.
type point struct {
	at     clock.HostTime // on the free clock there
	offset int64          // system - free, ns
	error  int64
}

// minRateSpan is how far apart two readings are at least that give a rate for good, ns: their errors of some 300 ns are then below 1 ppm. The
// first rate is by the first two answers, and the better the further the newest is from the first.
const minRateSpan = int64(1e9)

// maxFirstRate bounds the rate until two readings show it: the kernel's ticks may be 10% longer or shorter, which chronyd uses to slew, and its
// loop steers by 500 ppm.
const maxFirstRate = 0.1005

// take takes a stamp made there. It reports true where the system clock there was set, or its rate changed by more than is assumed,
// since the newest: then what was known before is dropped.
func (c *carried) take(s probe.Stamp, steering float64) (set bool) {
	p := point{s.Time, s.Offset(), s.Error}
	switch {
	case c.newest.at == 0:
		c.anchor, c.newest = p, p
		return false
	case p.at <= c.newest.at:
		return false // overtaken
	}
	if foretold, _ := c.at(p.at, steering); abs(p.offset-foretold.offset) > foretold.error+p.error {
		*c = carried{anchor: p, newest: p}
		return true
	}
	c.newest = p
	span := clock.Sub(p.at, c.anchor.at)
	off := float64(p.error+c.anchor.error) / float64(span)
	if span >= minRateSpan || !c.settled && off < maxFirstRate {
		c.rate, c.rateKnown, c.rateError = float64(p.offset-c.anchor.offset)/float64(span), true, off
	}
	if span >= minRateSpan {
		c.anchor, c.settled = p, true
	}
	return false
}

// at returns system - free at an instant of the free clock there; false if nothing is known.
func (c *carried) at(t clock.HostTime, steering float64) (p point, ok bool) {
	if c.newest.at == 0 {
		return p, false
	}
	age := float64(clock.Sub(t, c.newest.at))
	slope := maxFirstRate
	if c.rateKnown {
		slope = c.rateError + steering*1e-6
	}
	return point{
		at: t, offset: c.newest.offset + int64(math.Round(c.rate*age)), error: c.newest.error + int64(math.Ceil(math.Abs(age)*slope)) + 1,
	}, true
}

func abs(v int64) int64 { return max(v, -v) }
