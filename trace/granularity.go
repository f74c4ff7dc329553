package trace

import "meridian/clock"

const (
	// maxGranularity is the coarsest step that is looked for, ns: logs and some loggers cut stamps to whole seconds.
	maxGranularity = 1_000_000_000
	// minStamps is how many stamps a clock must have made before a common step of them is taken for the clock's own. Below
	// that, round instants are as likely the trace's doing: a timer, an example written by hand.
	minStamps = 100
)

// Granularity finds how coarse the stamps of a clock are: the largest power of ten, up to a second, that divides all of
// them. A stamp of step g stands for any instant of [stamp, stamp+g), so a step found too small can void a bound, while
// one found too large only widens it. The zero value is ready.
type Granularity struct {
	step int64 // 0 before the first stamp
}

// Add takes account of a stamp, ns.
func (g *Granularity) Add(stamp clock.HostTime) {
	if g.step == 0 {
		g.step = maxGranularity
	}
	for g.step > 1 && int64(stamp)%g.step != 0 {
		g.step /= 10
	}
}

// Step returns the step of the clock's stamps in ns: finest, which is the unit in which they were written down, or the
// coarser step that all added stamps keep. The latter counts where the clock made at least 100 stamps, whether or not all
// of them were added.
func (g *Granularity) Step(finest, stamps int64) int64 {
	if stamps < minStamps {
		return finest
	}
	return max(finest, g.step)
}
