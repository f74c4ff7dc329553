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
	steered func() // called when it was steered; nil for nothing
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
	if c.steered != nil {
		c.steered()
	}
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
	address, key := answering(t, 80_000_000)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	c := &heldClock{steered: interrupt} // after the first round in which the host is heard and bounded
	steering(t, c)
	var stdout, stderr strings.Builder
	root := newRoot()
	root.SetArgs([]string{"clock", "daemon", address, "--key", key, "--discipline", "--round", "2s"})
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	// 80 ms are far beyond what a busy machine makes of a round trip, and take more than the greatest slew, 100 ppm beside the 7 of before; at the end
	// these stay.
	if err := root.ExecuteContext(ctx); err != nil || len(c.set) != 2 || c.set[0] != 107 || c.set[1] != 7 || len(c.steps) != 0 {
		t.Fatalf("%v: frequencies %v, not 107 and 7; steps %v\n%s%s", err, c.set, c.steps, stdout.String(), stderr.String())
	}
	if !strings.Contains(stdout.String(), "this host: frequency +107.000 ppm, of which +100.000 ppm take the offset away") || !strings.Contains(stdout.String(), "next round in ") {
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
