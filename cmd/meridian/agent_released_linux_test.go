package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestWhatTheServersDiskLosesAfterItWasReleasedEndsTheAgentWith3(t *testing.T) {
	c := newCollection(t)
	c.agentFlags = []string{"--release", "--spool", "2MiB"} // chunks of 64 KiB
	c.record()
	emit := func(n string) {
		cmd := exec.Command("emit", n)
		cmd.Env = append(os.Environ(), "MERIDIAN="+c.rings)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	emit("10000")
	released := func() (n int) {
		stored, _ := filepath.Glob(filepath.Join(c.stored, "sensor_*"))
		for _, path := range stored {
			if _, err := os.Stat(filepath.Join(c.trace, filepath.Base(path))); err != nil {
				n++
			}
		}
		return n
	}
	for until := time.Now().Add(60 * time.Second); released() == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("nothing is released")
		}
	}
	_ = c.server.Process.Kill()
	_ = c.server.Wait()
	if err := os.RemoveAll(filepath.Dir(c.stored)); err != nil {
		t.Fatal(err)
	}
	c.serve(strings.TrimPrefix(c.url, "nats://"))
	c.says("servers have lost")
	code := c.end(c.agent)
	said, err := os.ReadFile(filepath.Join(c.dir, "agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	if code != 3 || !regexp.MustCompile(`meridian: [1-9][0-9]+ bytes lost with [0-9]+ packets or more since .*servers have lost them since\n`).Match(said) {
		t.Errorf("exit code %d: %s", code, said)
	}
	if d := c.differences(); d != nil {
		t.Error(d)
	}
	_ = c.end(c.server)
}
