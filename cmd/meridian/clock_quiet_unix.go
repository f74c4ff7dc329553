//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// quietSignals returns the signals at which a quiet window begins (SIGUSR1) and ends (SIGUSR2), and what stops that.
func quietSignals() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGUSR2)
	return c, func() { signal.Stop(c) }
}

func beginsQuiet(s os.Signal) bool { return s == syscall.SIGUSR1 }
