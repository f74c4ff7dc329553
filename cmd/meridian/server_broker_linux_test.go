package main_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A server whose broker begins later waits for it and says so; interrupted meanwhile, it ends as any server does.
func TestAServerWaitsForItsBroker(t *testing.T) {
	t.Parallel()
	address, dir := ownAddress(), t.TempDir()
	c := &collection{t: t, dir: dir, rings: filepath.Join(dir, "rings")}
	begin := func(name string) (*exec.Cmd, *waited) {
		said := newWaited(t)
		s := exec.Command("meridian", "server", "--nats", "nats://"+address, "--dir", filepath.Join(c.dir, name), "--name", name)
		s.Stderr = said
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Process.Kill() })
		said.await("nats://" + address + " cannot be reached yet")
		return s, said
	}
	waits, said := begin("waits")
	given, other := begin("given")
	if code := c.end(given); code != 0 {
		t.Errorf("interrupted, the server ends with exit code %d: %s", code, other)
	}
	c.serve(address)
	said.await("connected to nats://" + address)
	said.await("storing in ")
	if n := strings.Count(said.String(), "cannot be reached"); n != 1 {
		t.Errorf("it says %d times that it waits: %s", n, said)
	}
	if code := c.end(waits); code != 0 {
		t.Errorf("the server ends with exit code %d: %s", code, said)
	}
	if code := c.end(c.server); code != 0 {
		t.Errorf("the broker's server ends with exit code %d: %s", code, c.serverSaid)
	}
}

func TestWhatLeadsToNoBrokerIsWrong(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"server", "--nats"}, {"server", "hosts", "--server"}, {"agent", "--server"}} {
		for _, url := range []string{"nats://a b", "http://127.0.0.1", ":::", "nats://", "127.0.0.1:1,foo://x"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c := exec.CommandContext(ctx, "meridian", append(append([]string{}, args...), url)...)
			c.Dir = t.TempDir()
			out, _ := c.CombinedOutput()
			if code := c.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), "is no address of a broker") {
				t.Errorf("%s %s: exit code %d: %s", args, url, code, out)
			}
		}
	}
}
