package main

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"meridian/clock"
	"meridian/internal/probe"
	"meridian/internal/synchroniser"
)

// heldClock is a system clock in memory.
type heldClock struct {
	sync.Mutex
	set     []float64
	steps   []time.Duration
	daemons []string
}

func (c *heldClock) Frequency() (float64, bool, error) { return 7, false, nil }
func (c *heldClock) Daemons() ([]string, error)        { return c.daemons, nil }
func (c *heldClock) SetFrequency(ppm float64) error {
	c.Lock()
	defer c.Unlock()
	c.set = append(c.set, ppm)
	return nil
}

func (c *heldClock) Step(by time.Duration) error {
	c.Lock()
	defer c.Unlock()
	c.steps = append(c.steps, by)
	return nil
}

// answering serves a clock that is ahead, and returns its address and the file of its key.
func answering(t *testing.T, ahead int64) (address, key string) {
	t.Helper()
	k := probe.NewKey()
	key = filepath.Join(t.TempDir(), "key")
	if err := probe.WriteKey(key, k); err != nil {
		t.Fatal(err)
	}
	far := probe.NewWarped(probe.System(), func(t clock.HostTime) clock.HostTime { return clock.Add(t, ahead) })
	s, err := probe.Listen(t.Context(), "127.0.0.1:0", probe.Options{Key: k, Clock: far})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s.Addr().String(), key
}

// steering puts a clock in the place of the machine's.
func steering(t *testing.T, c synchroniser.SystemClock) {
	real := systemClock
	systemClock = func() (synchroniser.SystemClock, error) { return c, nil }
	t.Cleanup(func() { systemClock = real })
}

func TestDaemonSteersAfterTheFirstHostAndReleasesTheClock(t *testing.T) {
	address, key := answering(t, 800_000)
	c := new(heldClock)
	steering(t, c)
	var stdout, stderr strings.Builder
	code := run([]string{"clock", "daemon", address, "--key", key, "--discipline", "--round", "2s", "--for", "2500ms"}, &stdout, &stderr)
	if code != 0 || len(c.set) != 2 || len(c.steps) != 0 {
		t.Fatalf("exit code %d, frequencies %v, steps %v\n%s%s", code, c.set, c.steps, stdout.String(), stderr.String())
	}
	// 0.8 ms in 16 s are 50 ppm beside the 7 of before; at the end these stay.
	if c.set[0] < 56 || c.set[0] > 58 || c.set[1] < 6 || c.set[1] > 8 {
		t.Errorf("frequencies %v, not 57 and 7", c.set)
	}
	if !strings.Contains(stdout.String(), "this host: frequency +5") || !strings.Contains(stdout.String(), "next round in 8s") {
		t.Errorf("the log says\n%s", stdout.String())
	}
}

func TestDaemonRefusesAClockThatAnotherProgramSteers(t *testing.T) {
	address, key := answering(t, 0)
	c := &heldClock{daemons: []string{"chronyd"}}
	steering(t, c)
	var stdout, stderr strings.Builder
	code := run([]string{"clock", "daemon", address, "--key", key, "--discipline"}, &stdout, &stderr)
	if code != 1 || len(c.set)+len(c.steps) > 0 || !strings.Contains(stderr.String(), "chronyd steers the system clock; stop it first") {
		t.Errorf("exit code %d, frequencies %v\n%s", code, c.set, stderr.String())
	}
}
