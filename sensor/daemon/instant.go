package daemon

import (
	"context"
	"time"

	"meridian/clock"
)

// LongestLead is how far ahead the instant of a start may lie. A later one is a mistake: its phase begins at once.
const LongestLead = 2 * time.Second

// lastPart is slept by a timer of the kernel. Timers of the Go runtime are up to a millisecond late: they wait in epoll_wait(2).
const lastPart = 20 * time.Millisecond

// Monotonic reads CLOCK_MONOTONIC of this machine in ns, the clock of the instants of starts. All processes of a machine share it.
func Monotonic() int64 { return int64(clock.Monotonic.Now()) }

// SleepUntil returns at an instant of CLOCK_MONOTONIC of this machine, or earlier when ctx ends. It returns at once if the instant has
// passed, lies more than [LongestLead] ahead, or is 0.
func SleepUntil(ctx context.Context, atNs int64) {
	left := time.Duration(atNs - Monotonic())
	if atNs == 0 || left <= 0 || left > LongestLead {
		return
	}
	if left > lastPart {
		timer := time.NewTimer(left - lastPart/2)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
	sleepPrecisely(atNs)
}
