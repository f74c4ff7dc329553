package main_test

import (
	"bytes"
	"os"
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
		c.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // the recorder is a process of its own
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
			time.Sleep(2 * time.Second) // nothing else says that it sends, and not the same signal any more
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
