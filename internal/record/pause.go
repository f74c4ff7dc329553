package record

import "time"

// DefaultFlush is how long an event waits at most, unless [Options.Flush] says otherwise, before it is in the trace's files.
const DefaultFlush = 100 * time.Millisecond

// MinFlush is the least of [Options.Flush] that is kept.
const MinFlush = 2 * time.Millisecond

// pauses are those of the recorder between two passes over the rings. An event of a ring waits for one pause, and is in its file
// at the end of the pass. A shard of the usual
// size, without spare ones, loses nothing below 20 MB/s so.
type pauses struct {
	least time.Duration
	busy  time.Duration // the longest while there are any events
	empty time.Duration // the longest while there are none
}

// findInterval is the longest time between two looks for new rings, and the time between two for programs that were killed. Both
// cost more than a pass.
const findInterval = 50 * time.Millisecond

const makingTime = time.Second // in which a program is expected to finish its ring, usually in 4 ms

// pausesFor returns the pauses with which no event waits longer than the time given, but for the first ones after a longer rest.
func pausesFor(flush, rest time.Duration) pauses {
	return pauses{least: time.Millisecond, busy: min(8*time.Millisecond, max(flush/2, time.Millisecond)),
		empty: max(rest, min(50*time.Millisecond, max(flush/2, time.Millisecond)))}
}

// next returns the pause after the given one. Fill is the share in use of the fullest shard.
func (p *pauses) next(pause time.Duration, fill float64) time.Duration {
	switch {
	case fill > 1./8:
		return max(pause/2, p.least)
	case fill > 1./16:
		return pause
	case fill > 0:
		return min(2*pause, p.busy)
	}
	return min(2*pause, p.empty)
}
