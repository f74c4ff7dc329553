package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The test binary is the demo, and each of its hosts.
func TestMain(m *testing.M) {
	if os.Getenv("MERIDIAN_DEMO_TEST") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestTheDemoEndsWithTheTruthWithinItsBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{{nil, 0, "timeline.html"}, {[]string{"now"}, usage, "takes no arguments"}} {
		program := exec.Command(os.Args[0], c.args...)
		program.Env = append(os.Environ(), "MERIDIAN_DEMO_TEST=1", "TMPDIR="+t.TempDir())
		out, err := program.CombinedOutput()
		if code := program.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("%q: exit code %d, %v\n%s", c.args, code, err, out)
		}
	}
}
