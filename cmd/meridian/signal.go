package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// sameSignal is how long after a signal another one counts as the same: timeout(1) signals its child, and then the child's process group.
const sameSignal = 200 * time.Millisecond

// endingSignals are the signals at which a command ends in order: temporary outputs are removed. A hangup of its terminal is one of them,
// unless it is ignored (nohup).
func endingSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// untilSignal returns a context that ends at the first signal. Signals within [sameSignal] of it are ignored. Then the system's default
// returns, so that the next one kills. stop ends the context without a signal.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	came := make(chan os.Signal, 1)
	signal.Notify(came, endingSignals()...)
	go func() {
		defer signal.Stop(came)
		select {
		case <-came:
		case <-ctx.Done():
			return
		}
		cancel()
		time.Sleep(sameSignal)
	}()
	return ctx, cancel
}
