//go:build unix

package main_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tailing is a command that follows, of which a test reads the lines.
type tailing struct {
	*exec.Cmd
	lines  chan string
	stderr strings.Builder
}

func tail(t *testing.T, args ...string) *tailing {
	t.Helper()
	c := &tailing{Cmd: exec.Command("meridian", append([]string{"tail"}, args...)...), lines: make(chan string, 1000)}
	c.Cmd.Stderr = &c.stderr
	out := started(t, c.Cmd)
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	return c
}

// interrupted interrupts it, and returns its exit code and the lines that were not read yet.
func (c *tailing) interrupted(t *testing.T) (code int, rest []string) {
	t.Helper()
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for line := range c.lines {
		rest = append(rest, line)
	}
	_ = c.Wait()
	return c.ProcessState.ExitCode(), rest
}

func TestTailPrintsEventsAsTheyAreRecordedEachOnce(t *testing.T) {
	dir := t.TempDir()
	rings, trace := filepath.Join(dir, "rings"), filepath.Join(dir, "trace")
	if err := os.Mkdir(rings, 0o700); err != nil {
		t.Fatal(err)
	}
	tailed := tail(t, trace, "--all", "--format", "json", "--event", "test:*", "--where", "n<1000") // before there is anything
	record := func() {
		c := exec.Command("meridian", "record", "-q", "-o", trace, "--rings", rings, "--", "emit", "2000")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	next := func(want int) {
		t.Helper()
		select {
		case line, ok := <-tailed.lines:
			var e struct {
				Event  string
				Row    string
				Fields struct{ N int }
			}
			if err := json.Unmarshal([]byte(line), &e); !ok || err != nil || e.Event != "test:number" || e.Row != "emit" || e.Fields.N != want {
				t.Fatalf("line %q of event %d (%v): %s", line, want, err, tailed.stderr.String())
			}
		case <-time.After(time.Minute):
			t.Fatalf("event %d was not printed", want)
		}
	}
	for range 2 { // a second recorder goes on with the directory
		record()
		for n := range 1000 {
			next(n)
		}
	}
	code, rest := tailed.interrupted(t)
	if code != 0 || len(rest) > 0 {
		t.Errorf("exit code %d, more lines %q", code, rest)
	}
	if !strings.Contains(tailed.stderr.String(), " events") {
		t.Errorf("no summary: %q", tailed.stderr.String())
	}
}

// Nothing says when it has looked for the first time: more is recorded until it prints something.
func TestTailLeavesOutWhatWasRecordedBefore(t *testing.T) {
	dir := t.TempDir()
	rings, trace := filepath.Join(dir, "rings"), filepath.Join(dir, "trace")
	if err := os.Mkdir(rings, 0o700); err != nil {
		t.Fatal(err)
	}
	record := func() {
		t.Helper()
		if out, err := exec.Command("meridian", "record", "-q", "-o", trace, "--rings", rings, "--", "emit", "10").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	record()
	before := time.Now().UnixNano()
	since := tail(t, trace, "--event", "test:*", "--format", "json")
	var printed []string
	for late := time.After(time.Minute); len(printed) == 0; {
		record()
		select {
		case line, ok := <-since.lines:
			if !ok {
				t.Fatalf("it has ended: %s", since.stderr.String())
			}
			printed = append(printed, line)
		case <-time.After(500 * time.Millisecond):
		case <-late:
			t.Fatal("nothing is printed")
		}
	}
	code, rest := since.interrupted(t)
	if code != 0 {
		t.Errorf("exit code %d: %s", code, since.stderr.String())
	}
	for _, line := range append(printed, rest...) {
		var e struct {
			At int64 `json:"recorded_ns"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.At < before {
			t.Errorf("%v: recorded %d ns before it began: %s", err, before-e.At, line)
		}
	}
}

func TestTailDrawsForGnuplotAndWritesPICL(t *testing.T) {
	dir := t.TempDir()
	rings, trace := filepath.Join(dir, "rings"), filepath.Join(dir, "trace")
	if err := os.Mkdir(rings, 0o700); err != nil {
		t.Fatal(err)
	}
	// With --all neither misses what is recorded before it looks for the first time.
	drawn := tail(t, trace, "--all", "--rows", "--format", "gnuplot", "--window", "2s")
	picl := tail(t, trace, "--all", "--event", "test:*", "--format", "picl")
	if out, err := exec.Command("meridian", "record", "-q", "-o", trace, "--rings", rings, "--", "emit", "100").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	waits := func(c *tailing, what string, n int) {
		t.Helper()
		var seen []string
		for late := time.After(time.Minute); n > 0; {
			select {
			case line := <-c.lines:
				if seen = append(seen, line); strings.HasPrefix(line, what) {
					n--
				}
			case <-late:
				t.Fatalf("%d more lines %q... are missing behind %.2000q: %s", n, what, seen, c.stderr.String())
			}
		}
	}
	waits(picl, "-2 3 ", 100) // test:number is the third class that the schema has
	waits(drawn, "plot $", 1)
	if code, _ := drawn.interrupted(t); code != 0 {
		t.Errorf("gnuplot: exit code %d: %s", code, drawn.stderr.String())
	}
	if code, rest := picl.interrupted(t); code != 0 || len(rest) == 0 || !strings.HasPrefix(rest[len(rest)-1], "-4 -901 ") {
		t.Errorf("picl: exit code %d, the end is %q: %s", code, rest, picl.stderr.String())
	}
}

func TestTailRefusesFlagsThatDoNotFit(t *testing.T) {
	for _, args := range [][]string{
		{"--window", "1s"}, {"--format", "gnuplot", "--window", "1ms"}, {"--ring-size", "4MiB"}, {"--ring", "x", "--ring-size", "1"}, {"--ring", "x", "--ring-size", "1KiB"},
		{"--ring", "x", "--format", "csv"}, {"--format", "png"}, {"--latency", "0"},
		{"--granularity", "10"}, {"--granularity", "none=10ms"}, {"--wander", "-1"}, {"--address", "x"},
	} {
		c := exec.Command("meridian", append([]string{"tail", "web=" + t.TempDir()}, args...)...)
		if out, _ := c.CombinedOutput(); c.ProcessState.ExitCode() != 2 {
			t.Errorf("%q: exit code %d: %s", args, c.ProcessState.ExitCode(), out)
		}
	}
}

func TestTailFollowsTheTracesThatADirectoryHolds(t *testing.T) {
	dir := t.TempDir()
	rings, session := filepath.Join(dir, "rings"), filepath.Join(dir, "session")
	if err := os.Mkdir(rings, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"kernel", "ust/uid/0"} {
		to := filepath.Join(session, part)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("meridian", "record", "-q", "-o", to, "--rings", rings, "--", "emit", "10").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	c := tail(t, session, "--all", "--event", "test:*")
	for n := range 20 {
		select {
		case line := <-c.lines:
			if !strings.Contains(line, "test:number") {
				t.Fatalf("line %q", line)
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("%d lines of 20: %s", n, c.stderr.String())
		}
	}
	if code, rest := c.interrupted(t); code != 0 || len(rest) > 0 {
		t.Errorf("exit code %d, lines %q: %s", code, rest, c.stderr.String())
	}
}

func TestTailRefusesDirectoriesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "notes.pcap")
	if err := os.WriteFile(file, []byte("not a capture, by its first bytes"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{""}, {"web="}, {file}, {dir, dir + "/."}, {"a=" + dir, "b=" + dir}} {
		c := exec.Command("meridian", append([]string{"tail"}, args...)...)
		if out, _ := c.CombinedOutput(); c.ProcessState.ExitCode() != 2 {
			t.Errorf("%q: exit code %d: %s", args, c.ProcessState.ExitCode(), out)
		}
	}
}
