//go:build !linux

package daemon

import "time"

// sleepPrecisely sleeps until an instant of CLOCK_MONOTONIC, as precisely as the Go runtime does.
func sleepPrecisely(atNs int64) { time.Sleep(time.Duration(atNs - Monotonic())) }
