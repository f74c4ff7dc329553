package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/internal/testneed"
)

// onDemand starts an agent that sends what is asked for alone.
func (f *fleet) onDemand(host, rings string) {
	f.t.Helper()
	f.agent(host, "--on-demand", "--session", "fleet", "--", "--rings", rings, "--keep", "10m", "--flush", "10ms")
}

func TestFlightRecordersSendWhatIsAskedForAlone(t *testing.T) {
	t.Parallel()
	babeltrace := testneed.Program(t, "babeltrace2")
	f := newFleet(t)
	f.expect(1, "no host sends on demand", "fetch", "--around", "-1s", "-o", filepath.Join(f.dir, "none"))
	quiet := filepath.Join(f.dir, "quiet")
	if err := os.Mkdir(quiet, 0o700); err != nil {
		t.Fatal(err)
	}
	f.onDemand("web", f.rings)
	f.onDemand("db", quiet)
	f.waiting("web", "db")
	emit := func() {
		t.Helper()
		c := exec.Command("emit", "300", "0")
		c.Env = append(os.Environ(), "MERIDIAN="+f.rings)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	emit()
	begin := time.Now() // of the span that is asked for
	emit()
	span := time.Since(begin)
	if _, err := os.Stat(filepath.Join(f.dir, "stored", "fleet")); err == nil {
		t.Error("the server has something that nobody asked for")
	}
	brought, at := filepath.Join(f.dir, "brought"), begin.Add(span/2).UTC().Format(time.RFC3339Nano)
	f.expect(3, "db is ended: nothing was recorded in the span", "fetch", "crash", "--around", at, "--span", span.String(), "-o", brought)
	f.expect(1, "db is refused: session crash is of another span", "fetch", "crash", "--around", at, "--span", (2 * span).String(), "-o", brought+"2")
	f.expect(2, "--span", "fetch", "crash", "--around", at, "--span", "2h")
	f.expect(2, "--around", "fetch", "--around", "noon")
	f.expect(2, "need --around", "fetch", "crash", "--span", "2s")
	for host, want := range map[string]int{"web": 300, "db": 0} {
		c := *f.collection
		c.trace, c.stored = filepath.Join(f.dir, "stored", "crash", host), filepath.Join(brought, host)
		if d := c.differences(); d != nil {
			t.Errorf("%s: %v", host, d)
		}
		read := exec.Command(babeltrace, filepath.Join(brought, host))
		var said strings.Builder
		read.Stderr = &said
		// The first 300 are in one packet before the span at most, which is there for its counts.
		if out, err := read.Output(); err != nil || strings.Count(string(out), "test:number") < want || said.Len() > 0 || want == 0 && strings.Contains(string(out), "test:number") {
			t.Errorf("%s: babeltrace2 prints %d events: %v: %s%.300s", host, strings.Count(string(out), "test:number"), err, said.String(), out)
		}
	}
	report := filepath.Join(f.dir, "report.json")
	if out, err := exec.Command("meridian", "align", "-q", filepath.Join(brought, "web"), filepath.Join(brought, "db"), "-o", report).CombinedOutput(); err != nil {
		t.Errorf("align: %v: %s", err, out)
	}
	for host, a := range f.agents {
		if code := f.end(a); code != 0 {
			t.Errorf("the agent of %s ends with exit code %d", host, code)
		}
		if left, _ := os.ReadDir(filepath.Join(f.dir, host, ".asked")); len(left) > 0 {
			t.Errorf("%s has %v of what was asked for", host, left)
		}
	}
}

func TestAFlightRecorderIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--on-demand"}, "without bound"}, {[]string{"--on-demand", "--", "--", "x", "--keep", "1m"}, "without bound"},
		{[]string{"--on-demand", "--standby"}, "--standby"}, {[]string{"--on-demand", "--release", "--spool", "1GiB"}, "--release"},
	} {
		out, _ := exec.Command("meridian", append([]string{"agent", "-o", filepath.Join(t.TempDir(), "x")}, c.args...)...).CombinedOutput()
		if !strings.Contains(string(out), c.want) {
			t.Errorf("%q: %s", c.args, out)
		}
	}
}
