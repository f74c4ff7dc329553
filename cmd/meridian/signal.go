package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// sameSignal is how long after a signal another one counts as the same: timeout(1) signals its child, and then the child's process group. Tests
// make it longer.
var sameSignal = 200 * time.Millisecond

// endingSignals are the signals at which a command ends in order: temporary outputs are removed. A hangup of its terminal is one of them,
// unless it is ignored (nohup).
func endingSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// firstSignal is the context key of when the first signal came, an *atomic.Pointer[time.Time].
type firstSignal struct{}

// untilSignal returns a context that ends at the first signal. Signals within [sameSignal] of it are ignored. Then the system's default
// returns, so that the next one kills, unless [secondSignal] takes it. stop ends the context without a signal.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	first := new(atomic.Pointer[time.Time])
	ctx, cancel := context.WithCancel(context.WithValue(parent, firstSignal{}, first))
	came := make(chan os.Signal, 1)
	signal.Notify(came, endingSignals()...)
	go func() {
		defer signal.Stop(came)
		select {
		case <-came:
		case <-ctx.Done():
			return
		}
		now := time.Now()
		first.Store(&now) // before the context ends: secondSignal reads it then
		cancel()
		time.Sleep(sameSignal)
	}()
	return ctx, cancel
}

// secondSignal returns a channel that is closed at the first signal that comes more than [sameSignal] after the one that ended ctx. The system's
// default returns behind it, so that a third one kills. stop gives the signals up.
func secondSignal(ctx context.Context) (again <-chan struct{}, stop func()) {
	second, stopped := make(chan struct{}), make(chan struct{})
	came := make(chan os.Signal, 1)
	signal.Notify(came, endingSignals()...)
	first, _ := ctx.Value(firstSignal{}).(*atomic.Pointer[time.Time])
	go func() {
		defer signal.Stop(came)
		for {
			select {
			case <-came:
			case <-stopped:
				return
			}
			if first != nil {
				if at := first.Load(); at != nil && time.Since(*at) < sameSignal {
					continue
				}
			}
			close(second)
			time.Sleep(sameSignal)
			return
		}
	}()
	return second, func() { close(stopped) }
}
