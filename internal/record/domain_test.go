//go:build unix

package record

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/clock"
)

// printed returns what babeltrace2 prints of a trace.
func printed(t *testing.T, dir string, flags ...string) []byte {
	t.Helper()
	babeltraceWithLoss(t, dir) // or skip
	c := exec.Command("babeltrace2", append(flags, dir)...)
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "BABELTRACE_TERM_COLOR=never", "TZ=UTC")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTheDomainIsNobodyElses: a trace with events of the kernel and of programs is none of LTTng-UST's or LTTng's modules, and
// is read as it was when it said so.
func TestTheDomainIsNobodyElses(t *testing.T) {
	dir, rings := filepath.Join(t.TempDir(), "trace"), t.TempDir()
	p := program(t, "good", rings, "GOROUTINES=1", "EVENTS=100")
	p.emitted(t)
	p.end(t)
	untilEnded(t, Options{Dir: dir, Host: "web", Rings: []string{rings}, Sources: []Source{&fakeKernel{cpus: true, from: uint64(clock.Monotonic.Now())}}}, 1)
	path := filepath.Join(dir, "metadata")
	metadata, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := []byte(`domain = "host"`), []byte(`domain = "ust"`)
	if bytes.Count(metadata, ours) != 1 || bytes.Contains(metadata, theirs) {
		t.Fatalf("%s", metadata)
	}
	if first, _, _ := strings.Cut(string(printed(t, dir, "--fields=trace:domain")), "\n"); !strings.Contains(first, "host") {
		t.Errorf("babeltrace2 prints %q", first)
	}
	text := printed(t, dir)
	if err := os.WriteFile(path, bytes.Replace(metadata, ours, theirs, 1), 0o666); err != nil {
		t.Fatal(err)
	}
	if before := printed(t, dir); !bytes.Equal(before, text) || bytes.Count(text, []byte("\n")) < kernelEvents+100 {
		t.Errorf("babeltrace2 prints %d bytes, and %d where the domain is ust", len(text), len(before))
	}

	// A recorder that continues the trace of an earlier version corrects it.
	recordNothing(t, Options{Dir: dir, Rings: []string{rings}})
	if metadata, err = os.ReadFile(path); err != nil || bytes.Count(metadata, ours) != 1 || bytes.Contains(metadata, theirs) {
		t.Errorf("%v: %s", err, metadata)
	}
}
