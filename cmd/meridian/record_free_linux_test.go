package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"meridian/internal/netlab"
	"meridian/internal/show"
	"meridian/internal/testneed"
)

func init() { helpers = append(helpers, netlab.Helper) }

// TestRecordedHostsAreAlignedAsFreeClocks records two namespaces with the command, one of them until its recorder is killed, and
// aligns what they left.
func TestRecordedHostsAreAlignedAsFreeClocks(t *testing.T) {
	testneed.Root(t, "recording kernel events and packets")
	lab := netlab.TwoHosts(t)
	dir := everybodys(t)
	meridian := installed(t, dir, "meridian")
	recorders, said := make(map[string]*exec.Cmd), make(map[string]*bytes.Buffer)
	for _, name := range []string{"web", "db"} {
		c := exec.Command(meridian, "record", "-q", "-o", name, "--host", name, "--rings", ".", "--netns", lab.Namespace(name), "--packets", "--kernel", "net")
		said[name] = new(bytes.Buffer)
		c.Dir, c.Stderr = dir, said[name]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		recorders[name] = c
		t.Cleanup(func() { _ = c.Process.Kill() })
	}
	for name := range recorders {
		untilContains(t, filepath.Join(dir, name, "metadata"), "meridian:steering")
	}
	lab.Run(netlab.Mixed("web", "db"))
	if err := recorders["web"].Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := recorders["web"].Wait(); !outcomeOf(recorders["web"], said["web"]).is(0) {
		t.Errorf("%v: %s", err, said["web"])
	}
	if err := recorders["db"].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = recorders["db"].Wait()

	o := ran(t, dir, meridian, "align", "web=web", "db=db", "-o", "report.json")
	if o.code != 0 {
		t.Fatalf("exit code %d: %s", o.code, o.stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report show.Report
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	if report.Quality.Messages < 500 || report.Quality.Inversions > 0 || len(report.Hosts) != 2 {
		t.Errorf("%+v", report.Quality)
	}
	for _, h := range report.Hosts {
		if c := h.Clock; c == nil || c.Kind != "free" || c.Readings < 2 || c.ReadingErrorNs <= 0 || c.LeastErrorNs < c.ReadingErrorNs {
			t.Errorf("%s: %+v", h.Name, c)
		}
	}
	if !strings.Contains(report.Assumption, "nobody steers") || !strings.Contains(o.stdout, "clock of web, db:") {
		t.Errorf("%q\n%s", report.Assumption, o.stdout)
	}
	t.Log(o.stdout, o.stderr)
}
