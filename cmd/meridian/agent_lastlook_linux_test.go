package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAnAgentInterruptedBeforeItsRecorderBeginsRecordsWhatIsInTheRings has the agent wait for the name of its session, which is read from a pipe.
func TestAnAgentInterruptedBeforeItsRecorderBeginsRecordsWhatIsInTheRings(t *testing.T) {
	c := newCollection(t)
	emit := exec.Command("emit", "300")
	emit.Env = append(os.Environ(), "MERIDIAN="+c.rings)
	if out, err := emit.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Mkdir(c.trace, 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(c.trace, ".session")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	c.record("--program", "emit")
	pipe, err := os.OpenFile(name, os.O_WRONLY, 0) // when the agent reads it
	if err != nil {
		t.Fatal(err)
	}
	if err := c.agent.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	delivered(t, c.agent.Process.Pid, syscall.SIGINT)
	if _, err := pipe.WriteString("night\n"); err != nil {
		t.Fatal(err)
	}
	pipe.Close()
	_ = c.agent.Wait()
	said, _ := os.ReadFile(filepath.Join(c.dir, "agent.log"))
	if code := c.agent.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d: %s", code, said)
	}
	if left, _ := filepath.Glob(filepath.Join(c.rings, "*")); len(left) > 0 {
		t.Errorf("the rings %v are left: %s", left, said)
	} else if n := emittedIn(t, c.stored); n != 300 {
		t.Errorf("%d events are stored, want 300: %s", n, said)
	}
	_ = c.end(c.server)
}

// delivered waits until a signal to a process is not pending any more.
func delivered(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	for until := time.Now().Add(time.Minute); pending(t, pid, s); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("process %d takes no notice of %v", pid, s)
		}
	}
}

// pending reports whether a signal to a process is still to be delivered.
func pending(t *testing.T, pid int, s syscall.Signal) bool {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	mask := regexp.MustCompile(`(?m)^ShdPnd:\s*([0-9a-f]+)$`).FindSubmatch(status)
	if mask == nil {
		t.Fatalf("no signals in %s", status)
	}
	bits, err := strconv.ParseUint(string(mask[1]), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return bits>>(s-1)&1 == 1
}
