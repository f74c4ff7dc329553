package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"meridian/internal/dirlock"
)

// recorder is the recorder of an agent: a process of its own, so that either survives the other.
type recorder struct {
	dir            string
	args           []string // of 'meridian record', besides the directory
	stdout, stderr io.Writer
	log            func(format string, args ...any)
	program        string // that records; "" for this one
	ready          func() // called when everything is being recorded; nil for nothing
	ends           bool   // another recorder of the directory is asked to end as well, whoever started it

	wrong []string // what run found of recorders that it did not start
}

// Times of a recorder.
const (
	restartAfter = time.Second            // when it was killed
	lookForOwner = 200 * time.Millisecond // whether another recorder has ended
	endWithin    = 30 * time.Second       // after it was asked to
	findWithin   = 5 * time.Second        // which process it is
)

// run records until ctx ends or the recorder does, and returns its exit code. One that was killed is started again. If ctx ends before a recorder
// catches signals, what is in the rings is recorded still.
func (r *recorder) run(ctx context.Context) (code int, err error) {
	for {
		other, err := r.waitForOther(ctx)
		if err != nil {
			return 0, err
		}
		if other && r.hasCommand() {
			r.wrong = append(r.wrong, "COMMAND was not run: another recorder wrote "+r.dir+" already")
			return r.lastLook()
		}
		if ctx.Err() != nil {
			return r.interruptedBefore()
		}
		code, how, err := r.once(ctx, r.args)
		if code == exitFailed && how == endedItself && recorderOf(r.dir).ofAgent { // the one of an agent that was killed had begun meanwhile
			continue
		}
		switch {
		case err != nil || how == endedItself:
			return code, err
		case how == notBegun:
			return r.interruptedBefore()
		case ctx.Err() != nil:
			_, err := r.lastLook()
			return code, err
		case r.hasCommand():
			return code, nil
		}
		r.log("the recorder was killed; it is started again")
		select {
		case <-ctx.Done():
		case <-time.After(restartAfter):
		}
	}
}

// hasCommand reports whether the recorder runs a command, which must not run twice.
func (r *recorder) hasCommand() bool { return slices.Contains(r.args, "--") }

// waitForOther waits while another recorder writes the directory, and reports whether there was one. What such recorders left as wrong is in r.wrong.
func (r *recorder) waitForOther(ctx context.Context) (any bool, err error) {
	defer func() {
		lines, failed := outcomes(r.dir)
		for _, line := range slices.Backward(lines) {
			if !slices.Contains(r.wrong, line) { // else it was read before the recorder was started again
				r.wrong = slices.Insert(r.wrong, 0, line)
			}
		}
		err = errors.Join(err, failed)
	}()
	var other otherRecorder
	free, err := r.unlocked(ctx, &other, func() {
		if o := recorderOf(r.dir); o.known {
			other = o
		}
		if !any {
			r.log("a recorder writes %s already; its trace is sent", r.dir)
			any = true
			r.tellReady()
		}
	})
	if err == nil && !free {
		err = r.leaveOther(other)
	}
	return any, err
}

// unlocked waits until no other recorder writes the directory, and for the process of the last to end; it is false if ctx ends before. each is called as
// often as one does.
func (r *recorder) unlocked(ctx context.Context, last *otherRecorder, each func()) (free bool, err error) {
	for {
		lock, err := dirlock.Lock(r.dir)
		if err == nil {
			err = lock.Close()
			last.left(r.dir)
			return true, err
		}
		if !errors.Is(err, dirlock.ErrLocked) {
			return false, err
		}
		each()
		select {
		case <-ctx.Done():
			return false, nil
		case <-time.After(lookForOwner):
		}
	}
}

// ending is how a recorder has ended.
type ending int

const (
	endedItself ending = iota
	wasKilled
	notBegun // it was interrupted before it caught signals, or was not started
)

// once runs the recorder until it ends. When ctx ends it is asked to.
func (r *recorder) once(ctx context.Context, args []string) (code int, how ending, err error) {
	program := r.program
	if program == "" {
		if program, err = os.Executable(); err != nil {
			return 0, endedItself, err
		}
	}
	c := exec.CommandContext(ctx, program, append([]string{"record", "-o", r.dir, "--" + ofAgentFlag}, args...)...)
	c.Stdout, c.Stderr = r.stdout, underneath(r.stderr)
	told, err := r.readyPipe(c)
	if err != nil {
		return 0, endedItself, err
	}
	defer told()
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = endWithin
	err = c.Run()
	var exit *exec.ExitError
	switch {
	case c.ProcessState == nil && ctx.Err() != nil:
		return 0, notBegun, nil
	case err == nil || errors.Is(err, ctx.Err()):
		return 0, endedItself, nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode(), endedItself, nil
	case errors.As(err, &exit) && ctx.Err() != nil && diedOfInterrupt(exit):
		r.log("the recorder was asked to end before it had begun") // it did not catch signals yet
		return 0, notBegun, nil
	case errors.As(err, &exit):
		return exitFailed, wasKilled, nil
	}
	return 0, endedItself, fmt.Errorf("the recorder: %w", err)
}

// diedOfInterrupt reports whether a process left an interrupt or a terminal's hangup to the system.
func diedOfInterrupt(e *exec.ExitError) bool {
	status, known := e.Sys().(syscall.WaitStatus)
	return known && status.Signaled() && slices.Contains(endingSignals(), os.Signal(status.Signal()))
}

// readyPipe has a recorder say when everything is being recorded. The function that it returns ends that.
func (r *recorder) readyPipe(c *exec.Cmd) (end func(), err error) {
	if r.ready == nil {
		return func() {}, nil
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.ExtraFiles = []*os.File{to} // which is 3 there
	c.Args = slices.Insert(c.Args, 2, "--ready-fd", "3")
	read := make(chan struct{})
	go func() {
		defer close(read)
		word := make([]byte, len(readyWord))
		if _, err := io.ReadFull(from, word); err == nil && string(word) == readyWord {
			r.ready()
		}
	}()
	return func() {
		to.Close()
		_ = from.SetReadDeadline(time.Now()) // pipes have deadlines
		<-read
		from.Close()
	}, nil
}

func (r *recorder) tellReady() {
	if r.ready != nil {
		r.ready()
	}
}

// leaveOther ends another recorder of the directory that an agent started, or says that it goes on.
func (r *recorder) leaveOther(other otherRecorder) error {
	if !other.known {
		other = awaitRecorderOf(r.dir)
	}
	if r.ends || other.ofAgent {
		return r.endOther()
	}
	if lock, err := dirlock.Lock(r.dir); err == nil {
		return lock.Close() // it has ended by itself
	}
	which := "the recorder of " + r.dir + " goes on, which no agent started"
	if !other.known {
		which = "a process that is not known has locked " + r.dir + " and may record on"
	}
	r.wrong = append(r.wrong, which+": to send what it writes, run the agent again")
	return nil
}

// endOther asks another recorder of the directory to end and waits for that. It is one that an agent before this one has started.
func (r *recorder) endOther() error {
	o := awaitRecorderOf(r.dir)
	if !o.known {
		if lock, err := dirlock.Lock(r.dir); err == nil {
			return lock.Close() // it has ended by itself
		}
		return fmt.Errorf("a recorder writes %s, and which process that is is not known: end it by hand", r.dir)
	}
	other, err := os.FindProcess(o.pid)
	if err == nil {
		err = other.Signal(os.Interrupt)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("process %d, which records into %s: %w", o.pid, r.dir, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	free, err := r.unlocked(ctx, &o, func() {})
	if err == nil && !free {
		err = fmt.Errorf("process %d records into %s still, %v after it was asked to end", o.pid, r.dir, endWithin)
	}
	return err
}
