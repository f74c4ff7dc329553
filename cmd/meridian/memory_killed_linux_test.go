package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"meridian/internal/filetest"
)

// spilledRun is a run of the command whose arrays lie in files.
type spilledRun struct {
	dir     string // with the captures
	scratch string
	stderr  strings.Builder
}

// newSpilledRun makes captures of more packets than one array has.
func newSpilledRun(t *testing.T) *spilledRun {
	t.Helper()
	r := &spilledRun{dir: t.TempDir()}
	r.scratch = filepath.Join(r.dir, "scratch")
	if err := os.Mkdir(r.scratch, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := newWorld(`host a
host b offset=2s skew=3
tcp a b n=20000 every=1ms
capture a.pcap a ns
capture b.pcap b ns
`, r.dir); err != nil {
		t.Fatal(err)
	}
	return r
}

// command returns the run, which writes outputs of a name.
func (r *spilledRun) command(name string) *exec.Cmd {
	c := exec.Command("meridian-spilling", "align", "a=a.pcap", "b=b.pcap", "--scratch", r.scratch, "-q", "-o", name+".report.json", "-o", name+".pcapng")
	c.Dir, c.Stderr = r.dir, &r.stderr
	return c
}

// end starts a run, and gives it a signal as soon as its scratch file is there. It returns the exit code, -1 for one that was killed. A
// run that is done sooner is repeated.
func (r *spilledRun) end(t *testing.T, signal syscall.Signal) (code int) {
	t.Helper()
	const attempts = 50
	for range attempts {
		r.stderr.Reset()
		c := r.command("killed")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = c.Wait() // the state says what it was
		}()
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true
			case <-time.After(time.Millisecond):
				if len(filetest.Names(t, r.scratch)) > 0 {
					_ = c.Process.Signal(signal)
					<-done
					ended = true
				}
			}
		}
		if code := c.ProcessState.ExitCode(); code != 0 {
			return code
		}
	}
	t.Fatalf("%d runs were done before the signal", attempts)
	return 0
}

func TestAnInterruptedRunLeavesNoScratch(t *testing.T) {
	t.Parallel()
	r := newSpilledRun(t)
	if code := r.end(t, syscall.SIGINT); code != 1 || !strings.Contains(r.stderr.String(), "interrupted; no output was written") {
		t.Errorf("exit code %d: %s", code, r.stderr.String())
	}
	if left := filetest.Names(t, r.scratch); len(left) > 0 {
		t.Errorf("scratch holds %v", left)
	}
	want := []string{"a.pcap", "b.pcap", "scratch"}
	if left := filetest.Names(t, r.dir); strings.Join(left, " ") != strings.Join(want, " ") {
		t.Errorf("left are %v, want %v", left, want)
	}
}

// The file itself has no name, so that its room on the disk is free at once; the directory is what is left.
func TestTheNextRunRemovesTheScratchOfOneThatWasKilled(t *testing.T) {
	t.Parallel()
	r := newSpilledRun(t)
	if code := r.end(t, syscall.SIGKILL); code != -1 {
		t.Fatalf("exit code %d: %s", code, r.stderr.String())
	}
	left := filetest.Names(t, r.scratch)
	if len(left) != 1 {
		t.Fatalf("the killed run left %v", left)
	}
	if err := filepath.WalkDir(filepath.Join(r.scratch, left[0]), func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, statErr := e.Info(); statErr == nil && info.Size() > 0 {
				t.Errorf("the killed run left %s of %d bytes", path, info.Size())
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := r.command("next").Run(); err != nil {
		t.Fatalf("the next run: %v: %s", err, r.stderr.String())
	}
	if left := filetest.Names(t, r.scratch); len(left) > 0 {
		t.Errorf("after the next run there are %v", left)
	}
	in := exec.Command("meridian", "align", "a=a.pcap", "b=b.pcap", "-q", "-o", "want.report.json", "-o", "want.pcapng")
	if in.Dir = r.dir; in.Run() != nil {
		t.Fatal("the run in memory failed")
	}
	for _, name := range []string{".report.json", ".pcapng"} {
		want, err := os.ReadFile(filepath.Join(r.dir, "want"+name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(r.dir, "next"+name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs from that of a run in memory", name)
		}
	}
}
