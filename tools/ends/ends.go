//go:build linux

// Package ends has the ends of benchmarks: servers, as processes that print the address at which they listen, and the agent that sends to them.
package ends

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// killAfter is how long a server may take to end.
const killAfter = 10 * time.Second

// Start starts a server and returns the first line of its output: its address. The caller calls [End]; a server that has no address was ended.
func Start(ctx context.Context, name string, args ...string) (*exec.Cmd, string, error) {
	s := exec.CommandContext(ctx, name, args...)
	s.Stderr = os.Stderr
	out, err := s.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := s.Start(); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("%s %s has no address in its output: %w", filepath.Base(name), args[0], err), End(s))
	}
	return s, strings.TrimSpace(line), nil
}

// End interrupts a server and waits until it has ended; it is killed after 10 s.
func End(s *exec.Cmd) error {
	_ = s.Process.Signal(syscall.SIGINT) // it may have ended
	timer := time.AfterFunc(killAfter, func() { _ = s.Process.Kill() })
	defer timer.Stop()
	return s.Wait()
}
