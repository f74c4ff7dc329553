package main

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

// report is what the test asks of report.json.
type report struct {
	Quality struct{ Messages, Inversions int }
	Hosts   []struct{ Name string }
}

func TestThreeHostsAreRecordedAtOnceAndCollected(t *testing.T) {
	testneed.Root(t, "making network namespaces")
	testneed.Program(t, "ip")
	dir := t.TempDir()
	bin := filepath.Join(dir, "cluster")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// go run keeps what it links.
	if out, err := exec.Command("go", "run", "-exec", "cp", "meridian/cmd/meridian", filepath.Join(dir, "meridian")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := exec.Command(bin, "-dir", dir)
	c.Env = append(os.Environ(), "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	timeline := filepath.Join(dir, "timeline.html")
	if info, err := os.Stat(timeline); err != nil || info.Size() == 0 || !strings.HasSuffix(strings.TrimSpace(string(out)), timeline) {
		t.Errorf("%v: %s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	// Each host asks the two others, which answer: every line is a message.
	if want := 2 * 2 * len(hosts) * requests; len(r.Hosts) != len(hosts) || r.Quality.Messages < want || r.Quality.Inversions != 0 {
		t.Errorf("%+v, want %d hosts and %d messages: %s", r, len(hosts), want, out)
	}
	left, err := exec.Command("ip", "netns", "list").CombinedOutput()
	if err != nil || strings.Contains(string(left), fmt.Sprintf("meridian-%d-", c.Process.Pid)) {
		t.Errorf("namespaces are left: %s", left)
	}
}
