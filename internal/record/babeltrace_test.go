package record

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// runBabeltrace returns how many events babeltrace2 prints of a trace, and what it says of it on stderr.
func runBabeltrace(t testing.TB, dir string) (lines int, problems string, err error) {
	t.Helper()
	c := exec.Command(testneed.Program(t, "babeltrace2"), dir)
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "BABELTRACE_TERM_COLOR=never")
	var out, stderr bytes.Buffer
	c.Stdout, c.Stderr = &out, &stderr
	err = c.Run()
	return bytes.Count(out.Bytes(), []byte("\n")), stderr.String(), err
}

// babeltrace returns how many events babeltrace2 prints of a trace. It must not complain.
func babeltrace(t testing.TB, dir string) int {
	t.Helper()
	return babeltraceExcept(t, dir, "")
}

// babeltraceWithLoss is babeltrace for a trace of which some events were discarded, which babeltrace2 warns of.
func babeltraceWithLoss(t testing.TB, dir string) int {
	t.Helper()
	return babeltraceExcept(t, dir, "discarded")
}

func babeltraceExcept(t testing.TB, dir, expected string) int {
	t.Helper()
	lines, problems, err := runBabeltrace(t, dir)
	for _, line := range strings.Split(problems, "\n") {
		if line != "" && (expected == "" || !strings.Contains(line, expected)) {
			t.Errorf("babeltrace2 %s: %s", dir, line)
		}
	}
	if err != nil {
		t.Fatalf("babeltrace2 %s: %v", dir, err)
	}
	return lines
}

// babeltraceTorn is babeltrace for a trace that may end in the middle of a packet.
func babeltraceTorn(t *testing.T, dir string) (lines int, problems string) {
	t.Helper()
	lines, problems, _ = runBabeltrace(t, dir) // its exit code says less than its problems
	return lines, problems
}
