package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// statusOf returns how a command ended, nil for well.
func statusOf(name string, err error) error {
	var exit *exec.ExitError
	switch {
	case errors.Is(err, context.Canceled): // interrupted, and it ended well
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

// notFollowed is why what a command does is not recorded, though it runs.
type notFollowed struct{ error }

// startCommand starts a command and has it followed, if follow is not nil, before it runs its first instruction where the
// system lets it be held there, and else right behind. A command made anew is asked for with each try. An error is a
// notFollowed if the command runs.
func startCommand(command func() *exec.Cmd, follow func(pid int) error) (*exec.Cmd, error) {
	c := command()
	if follow == nil {
		return c, c.Start()
	}
	var failed error
	followed := false
	if mayBeHeld(c.Path) {
		err := startHeld(c, func() { failed, followed = follow(c.Process.Pid), true })
		if errors.Is(err, os.ErrPermission) { // a debugger has us, or nobody may trace here
			c = command()
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
