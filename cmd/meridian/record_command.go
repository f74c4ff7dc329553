package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"meridian/internal/private"
)

// statusOf returns the error of a command that failed, with its exit code, nil for success.
func statusOf(name string, err error) error {
	var exit *exec.ExitError
	switch {
	case errors.Is(err, context.Canceled): // interrupted, and it exited with 0
		return nil
	case !errors.As(err, &exit):
		return err
	}
	code := exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal()) // as shells do
	}
	return &commandEnded{fmt.Errorf("%s: %v", name, exit), code}
}

// notFollowed is the error of a command that runs but is not followed: what the kernel does for it is not recorded.
type notFollowed struct{ error }

// recordedCommand is the command that a recording runs, and with whose end it ends.
type recordedCommand struct {
	args           []string
	stdout, stderr io.Writer

	process *exec.Cmd // nil until it is started
	ended   chan error
}

// start starts the command and has it followed, if follow is not nil. The context ending is done when the recording is to be
// interrupted, which is passed on to the command. The context returned is done when the command has ended, or could not be
// started. An error is a [notFollowed] if the command runs.
func (r *recordedCommand) start(ending context.Context, ends *endings, rings string, follow func(pid int) error) (context.Context, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ending))
	c, err := startCommand(func() *exec.Cmd {
		c := exec.CommandContext(ending, r.args[0], r.args[1:]...)
		c.Cancel = func() error { return ends.passOn(c.Process) }
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, r.stdout, underneath(r.stderr)
		c.Env = append(private.Environ(os.Environ()), "MERIDIAN="+rings)
		return c
	}, follow)
	var unfollowed *notFollowed
	if err != nil && !errors.As(err, &unfollowed) {
		cancel()
		return ctx, err
	}
	r.process, r.ended = c, make(chan error, 1)
	go func() {
		r.ended <- c.Wait()
		cancel()
	}()
	return ctx, err
}

// running reports whether the command was started.
func (r *recordedCommand) running() bool { return r.process != nil }

// wait waits for the command's end and returns its status, nil for success.
func (r *recordedCommand) wait() error { return statusOf(r.args[0], <-r.ended) }

// startCommand starts a command and has it followed, if follow is not nil: before its first instruction where the system lets
// it be stopped there, else right after. Command makes a new command for each attempt. An error is a [notFollowed] if the
// command runs.
func startCommand(command func() *exec.Cmd, follow func(pid int) error) (*exec.Cmd, error) {
	c, program, execs := ofUser(command())
	if follow == nil {
		return c, c.Start()
	}
	var failed error
	followed := false
	if canStopChild(program) {
		err := startStopped(c, execs, func() { failed, followed = follow(c.Process.Pid), true })
		if errors.Is(err, os.ErrPermission) { // this process is being debugged, or ptrace is forbidden
			c, _, _ = ofUser(command())
			err = c.Start()
		}
		if err != nil {
			return nil, err
		}
	} else if err := c.Start(); err != nil {
		return nil, err
	}
	if !followed {
		failed = follow(c.Process.Pid)
	}
	if failed != nil {
		return c, &notFollowed{failed}
	}
	return c, nil
}

// ofUser has a command run with the umask of the user's shell, not with ours. It returns the path of its program too, and how often the
// process executes until it is that program.
func ofUser(c *exec.Cmd) (_ *exec.Cmd, program string, execs int) {
	program = c.Path
	args, wrapped := private.Command(c.Args)
	if _, err := exec.LookPath(program); err != nil || c.Err != nil || !wrapped {
		return c, program, 1 // what cannot be started is told by its start, not by a shell
	}
	c.Path, c.Args = args[0], args
	return c, program, 2
}
