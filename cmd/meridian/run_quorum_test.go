//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// example writes an example's experiment into a directory of its own, with some of its text replaced by other text, and returns the file.
func example(t *testing.T, path string, replaced ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../examples", path))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replaced); i += 2 {
		if !strings.Contains(string(b), replaced[i]) {
			t.Fatalf("%s does not have %q", path, replaced[i])
		}
	}
	file := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(file, []byte(strings.NewReplacer(replaced...).Replace(string(b))), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestAPlantedFaultIsNamed runs the example in which a replica is slow, with a slower one: the check of the replicas is no, with its pair and the host. On
// a busy machine replies of others may be late too.
func TestAPlantedFaultIsNamed(t *testing.T) {
	t.Parallel()
	file := example(t, "quorum/quorum.yaml", "slow: 200ms", "slow: 1s", "count: 8", "count: 3")
	c := exec.Command("meridian", "run", file, "--on", "processes", "-o", filepath.Join(t.TempDir(), "out"), "-q")
	text, err := c.CombinedOutput()
	found := regexp.MustCompile(`no replica is slow +no +(\d+) of 18 beyond the threshold.* from three to three`).FindSubmatch(text)
	if found == nil || !strings.Contains(string(text), "verdict: no") {
		t.Fatalf("%v\n%s", err, text)
	}
	if n, err := strconv.Atoi(string(found[1])); err != nil || n < 3 {
		t.Errorf("%d late replies, want those of 3 requests to the slow replica\n%s", n, text)
	}
}

// TestCallsToSeveralHosts runs the other example of calls, which all are answered, however late on a busy machine.
func TestCallsToSeveralHosts(t *testing.T) {
	t.Parallel()
	file := example(t, "fanout/fanout.yaml", "max=1s", "max=1m", "max=5s", "max=1m")
	c := exec.Command("meridian", "run", file, "--on", "processes", "-o", filepath.Join(t.TempDir(), "out"), "-q")
	if text, err := c.CombinedOutput(); err != nil || !strings.Contains(string(text), "verdict: yes") {
		t.Errorf("%v\n%s", err, text)
	}
}
