//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// quietSignals returns the signals at which a quiet window begins (SIGUSR1) and ends (SIGUSR2), and what stops that.
func quietSignals() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGUSR2)
	return c, func() { signal.Stop(c) }
}

func beginsQuiet(s os.Signal) bool { return s == syscall.SIGUSR1 }

// processorTime returns the processor time that this process has taken.
func processorTime() (time.Duration, bool) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
