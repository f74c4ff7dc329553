package main_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// timeout(1) signals its child, and then the process group, in which the child is.
func TestTwoSignalsAtOnceEndARecordingAsOneDoes(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command("meridian", "record", "-o", filepath.Join(dir, "t"), "--rings", dir)
	said, out := newWaited(t), new(bytes.Buffer)
	c.Stdout, c.Stderr = out, said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	said.await("until it is interrupted")
	_ = c.Process.Signal(syscall.SIGTERM)
	time.Sleep(time.Millisecond) // as much as two calls of kill are apart; pending signals of one kind are one
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.Wait(); err != nil || !strings.Contains(out.String(), "on one clock") {
		t.Errorf("%v: %s%s", err, out, said)
	}
}
