package main

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
)

func TestAHangupEndsACommandUnlessItIsIgnored(t *testing.T) {
	defer signal.Reset(syscall.SIGHUP)
	signal.Reset(syscall.SIGHUP)
	for _, ignored := range []bool{false, true} {
		if ignored {
			signal.Ignore(syscall.SIGHUP)
		}
		if got := slices.Contains(endingSignals(), os.Signal(syscall.SIGHUP)); got == ignored {
			t.Errorf("ignored %t: ends a command: %t", ignored, got)
		}
	}
}
