package main_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The failure is one line that says what to do, and no directory is made.
func TestAServerWhosePortIsTakenLeavesNothing(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := filepath.Join(t.TempDir(), "stored")
	c := exec.CommandContext(t.Context(), "meridian", "server", "--dir", dir, "--listen", l.Addr().String())
	out, _ := c.CombinedOutput()
	if code := c.ProcessState.ExitCode(); code != 1 || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "uses the port: end it or choose another port") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory: %v", err)
	}
}
