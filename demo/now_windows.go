package demo

import (
	"syscall"
	"unsafe"
)

var preciseTime = syscall.NewLazyDLL("kernel32.dll").NewProc("GetSystemTimePreciseAsFileTime")

// machineNow is the demo's true time: a clock that all processes of the machine share, ns since 1970. What time.Now
// reads moves in steps of up to 15 ms here, longer than any message takes.
func machineNow() int64 {
	var t syscall.Filetime
	preciseTime.Call(uintptr(unsafe.Pointer(&t)))
	return t.Nanoseconds()
}
