//go:build unix

package main_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestViewFollowsARecordingAndTheOneAfterIt(t *testing.T) {
	dir := t.TempDir()
	rings, trace := filepath.Join(dir, "rings"), filepath.Join(dir, "trace")
	if err := os.Mkdir(rings, 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("meridian", "view", "--follow", trace, "--no-browser", "--event", "test:*")
	c.Env = append(os.Environ(), "TMPDIR="+dir)
	var stderr strings.Builder
	c.Stderr = &stderr
	lines := bufio.NewScanner(started(t, c))
	if !lines.Scan() {
		t.Fatal("no address")
	}
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
			r, err := http.Get(lines.Text() + "api/about")
			if err != nil {
				t.Fatal(err)
			}
			if r.StatusCode == http.StatusOK {
				err = json.NewDecoder(r.Body).Decode(&about)
			}
			r.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	if !about.Live || about.Events != 1000 || len(about.Rows) != 3 {
		t.Errorf("%+v", about)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr.String())
	}
	if left, err := filepath.Glob(filepath.Join(dir, "meridian-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q (%v)", left, err)
	}
}
