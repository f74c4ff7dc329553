package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// endings are the signals that end a recording. A hangup of its terminal is one of them, unless it is ignored (nohup): the
// buffered events are written then, and the summary is complete.
type endings struct {
	came chan os.Signal // holds the first
}

// endingsOf returns a context that is done when the recording is to end. As with the other commands, a second signal kills.
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

// passOn sends the signal that ends the recording to a command. An interrupt from the terminal goes to all processes in its
// foreground, so the command has it already: at a second one many programs abandon what they are finishing.
func (e *endings) passOn(command *os.Process) error {
	e.stop() // waits for signals that are being delivered
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
