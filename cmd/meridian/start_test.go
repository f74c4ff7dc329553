//go:build unix

package main_test

import (
	"io"
	"os/exec"
	"testing"
)

// started starts a command that is killed when the test ends, and returns what it prints on stdout.
func started(t *testing.T, c *exec.Cmd) io.Reader {
	t.Helper()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	return out
}
