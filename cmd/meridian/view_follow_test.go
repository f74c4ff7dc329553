//go:build unix

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestViewFollowsARecordingAndTheOneAfterIt(t *testing.T) {
	dir := t.TempDir()
	rings, trace := filepath.Join(dir, "rings"), filepath.Join(dir, "trace")
	if err := os.Mkdir(rings, 0o700); err != nil {
		t.Fatal(err)
	}
	v := follow(t, "meridian", []string{"TMPDIR=" + dir}, trace, "--event", "test:*")
	var about struct {
		Live   bool
		Events int
		Rows   []struct{ Name string }
	}
	for recorders := 1; recorders <= 2; recorders++ {
		record := exec.Command("meridian", "record", "-q", "-o", trace, "--rings", rings, "--", "emit", "500")
		if out, err := record.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for about.Events < 500*recorders {
			v.get(t, "about", &about)
			time.Sleep(10 * time.Millisecond)
		}
	}
	if !about.Live || about.Events != 1000 || len(about.Rows) != 3 {
		t.Errorf("%+v", about)
	}
	if err := v.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := v.Wait(); err != nil {
		t.Errorf("%v: %s", err, v.stderr.String())
	}
	if left, err := filepath.Glob(filepath.Join(dir, "meridian-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q (%v)", left, err)
	}
}
