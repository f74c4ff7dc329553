package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"meridian/internal/testneed"
)

// TestWhatACommandLeavesRunningIsTold has a command leave two processes behind, one of them the child of a child that has ended, and
// one that has ended in time; by eBPF and by tracefs.
func TestWhatACommandLeavesRunningIsTold(t *testing.T) {
	testneed.Root(t, "recording kernel events and packets")
	dir := everybodys(t)
	meridian := installed(t, dir, "meridian")
	const (
		// Whoever held its output would hold up this test.
		two  = `sleep 600 >/dev/null 2>&1 & echo $! >>pids; sh -c 'sleep 600 >/dev/null 2>&1 & echo $! >>pids'; sleep 0.01 & wait $!; exit 4`
		none = `sleep 0.01 & wait`
	)
	for i, by := range [][]string{nil, bounded(t, noBPF)} {
		for _, c := range []struct {
			script string
			flags  []string
			code   int
			told   bool
		}{
			{two, []string{"--kernel", "sched"}, 4, true},
			{two, []string{"--kernel", "syscalls"}, 4, true},
			{two, []string{"--kernel", "sched", "-q"}, 4, false},
			{none, []string{"--kernel", "sched"}, 0, false},
		} {
			os.RemoveAll(dir + "/t")
			os.Remove(dir + "/pids")
			args := append(append(append(by[:len(by):len(by)], meridian, "record", "--rings", ".", "-o", "t"), c.flags...), "--", "sh", "-c", c.script)
			o := ran(t, dir, args...)
			var want []string
			text, _ := os.ReadFile(dir + "/pids")
			for _, pid := range strings.Fields(string(text)) {
				want = append(want, pid)
				if n, err := strconv.Atoi(pid); err != nil || syscall.Kill(n, syscall.SIGKILL) != nil {
					t.Errorf("%q does not run", pid)
				}
			}
			what := fmt.Sprintf("%d, %q, %v", i, c.script, c.flags)
			if !o.is(c.code) || len(want) != 0 && len(want) != 2 {
				t.Errorf("%s: exit code %d, %q: %s", what, o.code, want, o.stderr)
			}
			said := regexp.MustCompile(`(?m)^meridian: warning: (\d+) process.* that sh has left running \((.*)\) (is|are) no longer recorded$`).FindAllStringSubmatch(o.stderr, -1)
			if !c.told {
				if len(said) > 0 {
					t.Errorf("%s: %s", what, o.stderr)
				}
				continue
			}
			if len(said) != 1 || said[0][1] != "2" || !sameWords(said[0][2], strings.Join(want, ", ")) {
				t.Errorf("%s: %q are left: %s", what, want, o.stderr)
			}
		}
	}
}

// sameWords says that two lists are of the same, in whatever order.
func sameWords(a, b string) bool {
	seen := map[string]int{}
	for _, word := range strings.Split(a, ", ") {
		seen[word]++
	}
	for _, word := range strings.Split(b, ", ") {
		seen[word]--
	}
	for _, n := range seen {
		if n != 0 {
			return false
		}
	}
	return true
}
