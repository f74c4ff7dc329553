package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// child is a program that notes events when told to: it reads "WHAT COUNT" lines and answers each with the nanoseconds
// that it took.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startChild starts a program and returns it with the first line that it says.
func startChild(c *exec.Cmd) (*child, string, error) {
	in, err := c.StdinPipe()
	if err != nil {
		return nil, "", err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		return nil, "", err
	}
	k := &child{c, in, bufio.NewReader(out)}
	first, err := k.line()
	if err != nil {
		_ = k.close()
		return nil, "", err
	}
	return k, first, nil
}

func (k *child) line() (string, error) {
	s, err := k.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s says no more: %w", k.cmd.Path, err)
	}
	return strings.TrimSpace(s), nil
}

// run is a contender's: n events of a kind.
func (k *child) run(what string) func(n int) (time.Duration, error) {
	return func(n int) (time.Duration, error) {
		if _, err := fmt.Fprintf(k.in, "%s %d\n", what, n); err != nil {
			return 0, err
		}
		said, err := k.line()
		if err != nil {
			return 0, err
		}
		ns, err := strconv.ParseInt(said, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s says %q, not a time: %w", k.cmd.Path, said, err)
		}
		return time.Duration(ns), nil
	}
}

// close lets the program go: the end of its input is its end.
func (k *child) close() error {
	_ = k.in.Close()
	return k.cmd.Wait()
}
