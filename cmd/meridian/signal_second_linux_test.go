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
	c := exec.Command("meridian-patient", "record", "-o", filepath.Join(dir, "t"), "--rings", dir)
	said, out := newWaited(t), new(bytes.Buffer)
	c.Stdout, c.Stderr = out, said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	said.await("until it is interrupted")
	_ = c.Process.Signal(syscall.SIGTERM)
	delivered(t, c.Process.Pid, syscall.SIGTERM) // pending signals of one kind are one
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.Wait(); err != nil || !strings.Contains(out.String(), "on one clock") {
		t.Errorf("%v: %s%s", err, out, said)
	}
}

// sendingAgent starts an agent that has no broker, and so sends until its drain is over.
func sendingAgent(t *testing.T, program, drain string, flags ...string) (c *exec.Cmd, said *waited) {
	t.Helper()
	dir := t.TempDir()
	rings := filepath.Join(dir, "rings")
	if err := os.Mkdir(rings, 0o700); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"agent", "--server", "nats://127.0.0.1:1", "-o", filepath.Join(dir, "t"), "--drain", drain}, flags...)
	c = exec.Command(program, append(args, "--", "--rings", rings)...)
	c.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // the recorder is a process of its own
	said = newWaited(t)
	c.Stdout, c.Stderr = said, said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	said.await("until it is interrupted") // the recorder says it
	return c, said
}

const sendingTheRest = "; ^C again ends now" // behind how long it goes on, which a busy machine makes shorter

func TestASecondSignalEndsWhatAnAgentSends(t *testing.T) {
	c, said := sendingAgent(t, "meridian", "1h")
	_ = c.Process.Signal(os.Interrupt)
	said.await(sendingTheRest) // by then another signal is not the same any more
	_ = c.Process.Signal(os.Interrupt)
	limit := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
	defer limit.Stop()
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 3 || !strings.Contains(said.String(), "bytes were not acknowledged before the second signal: to send them, run the agent with -o") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

func TestTwoSignalsAtOnceDoNotEndWhatAnAgentSends(t *testing.T) {
	c, said := sendingAgent(t, "meridian-patient", "1h")
	_ = c.Process.Signal(os.Interrupt)
	_ = c.Process.Signal(syscall.SIGTERM)
	said.await(sendingTheRest)
	_ = c.Process.Kill()
	_ = c.Wait()
}

func TestAQuietAgentDoesNotSayThatItSends(t *testing.T) {
	c, said := sendingAgent(t, "meridian", "1s", "-q") // others say it after half a second
	_ = c.Process.Signal(os.Interrupt)
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 3 || !strings.Contains(said.String(), "were not acknowledged within 1s") || strings.Contains(said.String(), "sending the rest") {
		t.Errorf("exit code %d: %s", code, said)
	}
}
