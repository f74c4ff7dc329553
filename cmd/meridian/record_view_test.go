//go:build unix

package main_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRecordingIsShownWhileItIsMadeAndUntilItIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	rings := filepath.Join(dir, "rings")
	if err := os.Mkdir(rings, 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("meridian", "record", "-o", filepath.Join(dir, "trace"), "--rings", rings, "--view=127.0.0.1:0", "--", "emit", "300", "7")
	c.Env = append(os.Environ(), "TMPDIR="+dir)
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := started(t, c)
	address := make(chan string, 1)
	rest := make(chan string, 1)
	go func() {
		var text strings.Builder
		for s := bufio.NewScanner(stdout); s.Scan(); {
			if strings.HasPrefix(s.Text(), "http://") {
				address <- s.Text()
				continue
			}
			text.WriteString(s.Text() + "\n")
		}
		rest <- text.String()
	}()
	url := <-address
	said := bufio.NewScanner(stderr)
	for said.Scan() && !strings.Contains(said.Text(), "the recording has ended") { // emit's own exit is printed before
	}
	if err := said.Err(); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	v := &viewing{url: url}
	type class struct {
		Name   string
		Events int
	}
	for shown := false; !shown; time.Sleep(10 * time.Millisecond) {
		var about struct{ Classes []class }
		v.get(t, "about", &about)
		shown = slices.Contains(about.Classes, class{"test:number", 300})
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	text := <-rest
	if _ = c.Wait(); c.ProcessState.ExitCode() != 7 {
		t.Errorf("exit code %d, not that of the command", c.ProcessState.ExitCode())
	}
	if !strings.Contains(text, "emitted 300") || !strings.Contains(text, "total") {
		t.Errorf("stdout:\n%s", text)
	}
}
