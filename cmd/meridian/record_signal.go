package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// endings are the signals by which a recording ends. That its terminal is gone is one of them, unless it was told to outlive
// that (nohup): what lies in memory is written then, and the summary is right.
type endings struct {
	came chan os.Signal // the first
}

// endingsOf returns a context that is done when the recording is to end. As with our other commands, a second signal kills.
func endingsOf(parent context.Context) (context.Context, *endings) {
	e := &endings{came: make(chan os.Signal, 1)}
	signal.Notify(e.came, os.Interrupt, syscall.SIGTERM)
	ctx := parent
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(e.came, syscall.SIGHUP)
		var stop func()
		ctx, stop = signal.NotifyContext(parent, syscall.SIGHUP)
		context.AfterFunc(ctx, stop)
	}
	context.AfterFunc(ctx, e.stop)
	return ctx, e
}

func (e *endings) stop() { signal.Stop(e.came) }

// passOn gives a command the signal that ends the recording. The interrupt of a terminal is for all in its foreground, and has come
// to the command as it came to us: with a second one many programs drop what they are finishing.
func (e *endings) passOn(command *os.Process) error {
	e.stop() // which waits for whoever is being told of a signal
	select {
	case s := <-e.came:
		if s == os.Interrupt && inForeground() {
			return nil
		}
		return command.Signal(s)
	default: // not by a signal
		return command.Signal(os.Interrupt)
	}
}
