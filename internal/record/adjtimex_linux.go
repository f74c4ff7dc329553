package record

import (
	"golang.org/x/sys/unix"

	"meridian/clock"
)

// suspended returns CLOCK_BOOTTIME less CLOCK_MONOTONIC to a microsecond or so, ns: for how long the machine was suspended.
func suspended() int64 {
	var t unix.Timespec
	before := int64(clock.Monotonic.Now())
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	after := int64(clock.Monotonic.Now())
	return t.Nano() - before - (after-before)/2
}
