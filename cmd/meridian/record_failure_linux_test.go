package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/record"
	"meridian/sensor/ring"
)

// TestAProgramWhoseRingFailsIsToldAtOnceAndTheRecordingGoesOn cuts a ring, which is this test's own, while it is recorded.
func TestAProgramWhoseRingFailsIsToldAtOnceAndTheRecordingGoesOn(t *testing.T) {
	dir := everybodys(t)
	meridian, waiter := installed(t, dir, "meridian"), installed(t, dir, "waiter")
	for _, as := range []string{"", "--json", "-q"} {
		rings := filepath.Join(dir, "rings"+as)
		if err := os.Mkdir(rings, 0o777); err != nil {
			t.Fatal(err)
		}
		short, err := ring.Create(ring.Options{Dir: rings, Program: "short", Shards: 1, Clock: ring.Clock{Kind: uint32(clock.Monotonic), Frequency: 1e9}})
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(meridian, "record", "-o", "t"+as, "--rings", rings, "--", waiter)
		if as != "" {
			c.Args = append(c.Args[:2:2], append([]string{as}, c.Args[2:]...)...)
		}
		c.Dir = dir
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		said, err := c.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		results, diagnostics := lines(out), lines(said)
		if line := <-results; line != "ready" {
			t.Fatalf("%q", line)
		}
		until(t, "the ring gets no reader", func() bool {
			var head [152]byte
			f, err := os.Open(short.Path())
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			_, err = f.ReadAt(head[:], 0)
			return err == nil && head[148] == 1
		})
		if err := os.Truncate(short.Path(), 0); err != nil {
			t.Fatal(err)
		}
		if as != "-q" { // it is told while the program still runs
			if line := <-diagnostics; !strings.HasPrefix(line, "meridian: warning: short (process ") || !strings.Contains(line, "offset") {
				t.Errorf("%q", line)
			}
		} else { // and the trace says so in any case
			untilContains(t, filepath.Join(dir, "t"+as, "metadata"), "incomplete_1")
		}
		another := exec.Command(installed(t, dir, "emit"), "10") // is recorded by the same recorder
		another.Env = append(os.Environ(), "MERIDIAN="+rings)
		if text, err := another.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		in.Close()
		summary, rest := drained(results, diagnostics)
		_ = c.Wait() // the exit code says all
		checkIncomplete(t, as, strings.Join(summary, "\n"))
		if code := c.ProcessState.ExitCode(); code != 3 || len(rest) != 1 || rest[0] != "meridian: the recording is incomplete: short failed before its end" {
			t.Errorf("exit code %d, %q", code, rest)
		}
		metadata, err := os.ReadFile(filepath.Join(dir, "t"+as, "metadata"))
		if err != nil || !bytes.Contains(metadata, []byte(`incomplete_1 = "short (process `)) {
			t.Errorf("the trace does not say so: %v", err)
		}
	}
}

// drained returns the lines that are left of a command's results and diagnostics.
func drained(results, diagnostics <-chan string) (summary, rest []string) {
	for results != nil || diagnostics != nil {
		select {
		case line, ok := <-results:
			if summary = append(summary, line); !ok {
				results = nil
			}
		case line, ok := <-diagnostics:
			if ok {
				rest = append(rest, line)
			} else {
				diagnostics = nil
			}
		}
	}
	return summary, rest
}

// checkIncomplete checks that a summary names the failed program and has another one.
func checkIncomplete(t *testing.T, flag, text string) {
	t.Helper()
	if flag == "--json" {
		var s record.Summary
		if err := json.Unmarshal([]byte(text), &s); err != nil || len(s.Failures) != 1 || s.Failures[0].Name != "short" || len(s.Streams) != 3 {
			t.Errorf("%v: %s", err, text)
		}
	} else if strings.Count(text, "incomplete: short (process ") != 1 || strings.Count(text, " emit") != 1 {
		t.Errorf("%s", text)
	}
}
