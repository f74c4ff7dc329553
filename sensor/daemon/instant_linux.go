package daemon

import "golang.org/x/sys/unix"

// sleepPrecisely sleeps until an instant of CLOCK_MONOTONIC. Signals do not shorten it.
func sleepPrecisely(atNs int64) {
	at := unix.NsecToTimespec(atNs)
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil) == unix.EINTR {
	}
}
