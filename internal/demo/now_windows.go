package demo

import (
	"syscall"
	"unsafe"

	"meridian/clock"
)

var preciseTime = syscall.NewLazyDLL("kernel32.dll").NewProc("GetSystemTimePreciseAsFileTime")

// machineOrigin is nothing here: the clock counts from 1970 by itself.
func machineOrigin() clock.TimelineTime { return 0 }

// machineNow is the demo's true time: a clock that all processes of the machine share, ns since 1970. What time.Now
// reads moves in steps of up to 15 ms here, longer than any message takes.
func machineNow(origin clock.TimelineTime) clock.TimelineTime {
	var t syscall.Filetime
	preciseTime.Call(uintptr(unsafe.Pointer(&t)))
	return origin + clock.TimelineTime(t.Nanoseconds())
}
