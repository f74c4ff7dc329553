//go:build !windows

package demo

import (
	"time"

	"meridian/clock"
)

// machineOrigin is what machineNow adds: read once, and told to all hosts.
func machineOrigin() clock.TimelineTime {
	return clock.TimelineTime(time.Now().UnixNano() - int64(clock.Monotonic.Now()))
}

// machineNow is the demo's true time: a clock that all processes of the machine share and that cannot be set, ns since 1970.
func machineNow(origin clock.TimelineTime) clock.TimelineTime {
	return origin + clock.TimelineTime(clock.Monotonic.Now())
}
