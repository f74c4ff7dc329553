//go:build linux

package main_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPlantedFaultIsNamed runs the example in which a replica is slow: the writes are done in time, and the check of the replicas is no,
// with its pair and the host.
func TestAPlantedFaultIsNamed(t *testing.T) {
	t.Parallel()
	c := exec.Command("meridian", "run", "../../examples/quorum/quorum.yaml", "--on", "processes", "-o", filepath.Join(t.TempDir(), "out"), "-q")
	text, err := c.CombinedOutput()
	for _, want := range []string{"no replica is slow       no        8 of 48 beyond the threshold", "from three to three", "verdict: no"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%v\n%s\nwant %s", err, text, want)
		}
	}
}

// TestCallsToSeveralHosts runs the other example of calls, which all are answered.
func TestCallsToSeveralHosts(t *testing.T) {
	t.Parallel()
	c := exec.Command("meridian", "run", "../../examples/fanout/fanout.yaml", "--on", "processes", "-o", filepath.Join(t.TempDir(), "out"), "-q")
	if text, err := c.CombinedOutput(); err != nil || !strings.Contains(string(text), "verdict: yes") {
		t.Errorf("%v\n%s", err, text)
	}
}
