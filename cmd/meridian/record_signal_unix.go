//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// inForeground says whether what is typed at the terminal that has started us is for us.
func inForeground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
