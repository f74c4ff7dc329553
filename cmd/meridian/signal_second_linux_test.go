package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// awaitCaught waits until a process has a handler for a signal: nothing else says that a quiet agent sends.
func awaitCaught(t *testing.T, pid int, of syscall.Signal) {
	t.Helper()
	for late := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(status), "SigCgt:")
		mask, err := strconv.ParseUint(strings.Fields(after)[0], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if mask&(1<<(of-1)) != 0 {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("no handler for %v", of)
		}
	}
}

func TestASecondSignalEndsWhatAnAgentSends(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		dir := t.TempDir()
		rings := filepath.Join(dir, "rings")
		if err := os.Mkdir(rings, 0o700); err != nil {
			t.Fatal(err)
		}
		args := []string{"agent", "--server", "nats://127.0.0.1:1", "-o", filepath.Join(dir, "t"), "--drain", "10m"}
		if quiet {
			args = append(args, "-q")
		}
		c := exec.Command("meridian", append(args, "--", "--rings", rings)...)
		said := newWaited(t)
		c.Stdout, c.Stderr = said, said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill() })
		said.await("until it is interrupted") // the recorder says it
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Process.Signal(syscall.SIGTERM) // at once: it is the same
		const line = "sending the rest, up to 10m0s; ^C again ends now"
		if quiet {
			said.await("clock error")
			time.Sleep(time.Second) // not the same signal any more
			awaitCaught(t, c.Process.Pid, syscall.SIGINT)
		} else {
			said.await(line)
		}
		_ = c.Process.Signal(os.Interrupt)
		began := time.Now()
		_ = c.Wait()
		if code := c.ProcessState.ExitCode(); code != 3 || !strings.Contains(said.String(), "bytes were not acknowledged before the second signal: to send them, run the agent with -o") || time.Since(began) > time.Minute {
			t.Errorf("quiet %t: exit code %d after %v: %s", quiet, code, time.Since(began), said)
		}
		if quiet && strings.Contains(said.String(), "sending the rest") {
			t.Errorf("with -q it says: %s", said)
		}
	}
}
