package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// TestTheProcessesNamedAreRecordedAlone records two shells, of which one is named, while both start programs.
func TestTheProcessesNamedAreRecordedAlone(t *testing.T) {
	t.Parallel()
	testneed.Root(t, "kernel events")
	dir := t.TempDir()
	var shells []*exec.Cmd
	for range 2 { // each waits for a line, then starts a program
		c := exec.Command("sh", "-c", "read -r line; /bin/true; : >ended.$$; read -r line")
		c.Dir = dir
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); _ = c.Wait() })
		shells = append(shells, c)
	}
	trace, table := filepath.Join(dir, "trace"), filepath.Join(dir, "events.jsonl")
	named, other := shells[0].Process.Pid, shells[1].Process.Pid
	// The recording ends with its command, which tells the shells to go on and waits for their programs.
	script := fmt.Sprintf("for p in %d %d; do echo >/proc/$p/fd/0; while [ ! -e %s/ended.$p ]; do sleep 0.01; done; done", named, other, dir)
	c := exec.Command("meridian", "record", "-o", trace, "--kernel", "syscalls", "--pid", fmt.Sprint(named), "-q", "--", "sh", "-c", script)
	out, err := c.CombinedOutput()
	lost := c.ProcessState.ExitCode() == 3 && strings.Contains(string(out), ", counted as lost") // by a busy machine's kernel
	if err != nil && !lost {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command("meridian", "convert", trace, "--method", "none", "-o", table, "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[int]int{}
	programs := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		var e struct {
			Event  string
			Fields struct {
				Pid, Tid int
				Procname string
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if strings.HasPrefix(e.Event, "syscall_entry_") {
			calls[e.Fields.Tid]++
			programs[e.Fields.Procname] = true
		}
	}
	if calls[named] == 0 || calls[other] != 0 || !programs["true"] {
		t.Errorf("calls of the process named: %d, of the other: %d; programs %v", calls[named], calls[other], programs)
	}
}
