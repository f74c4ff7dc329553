package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"meridian/format/ctf"
	"meridian/internal/testneed"
)

// recording waits until a recorder has begun the trace.
func (c *collection) recording() {
	c.t.Helper()
	for until := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(c.trace, "metadata")); err == nil {
			return
		} else if time.Now().After(until) {
			c.t.Fatal("nothing is recorded")
		}
	}
}

// says waits until the agent that was started last has said something.
func (c *collection) says(what string) {
	c.t.Helper()
	for until := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if said, _ := os.ReadFile(filepath.Join(c.dir, "agent.log")); strings.Contains(string(said), what) {
			return
		} else if time.Now().After(until) {
			c.t.Fatalf("the agent does not say %q but %s", what, said)
		}
	}
}

func TestAnAgentAnswersForTheRecorderOfOneThatWasKilled(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	for _, test := range []struct {
		name      string
		flags     []string
		interrupt bool
		code      int
		says      []string
	}{
		{"ended with the agent", nil, true, 0, nil},
		{"broke a promise", []string{"--program", "nosuch"}, true, 3, []string{"an earlier recorder", "--program nosuch"}},
		{"ran a command", []string{"--", "sh", "-c", "until test -e " + gate + "; do sleep 0.05; done; exit 7"}, false, 3,
			[]string{"exit status 7", "COMMAND was not run"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCollection(t)
			c.record(test.flags...)
			c.recording()
			_ = c.agent.Process.Kill()
			_ = c.agent.Wait()
			c.record(test.flags...)
			c.says("a recorder writes")
			if test.interrupt {
				_ = c.agent.Process.Signal(os.Interrupt)
			} else if err := os.WriteFile(gate, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			_ = c.agent.Wait()
			if code := c.agent.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			for _, what := range test.says {
				c.says(what)
			}
			if left := c.recorders(); len(left) > 0 {
				t.Errorf("%d recorders go on", len(left))
			}
			if d := c.differences(); d != nil {
				t.Error(d)
			}
			_ = c.end(c.server)
		})
	}
}

// leaves waits until a recorder has left a text for the case that it is killed.
func (c *collection) leaves(what string) {
	c.t.Helper()
	for until := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		paths, _ := filepath.Glob(filepath.Join(c.trace, ".outcome-*"))
		for _, path := range paths {
			if b, _ := os.ReadFile(path); strings.Contains(string(b), what) {
				return
			}
		}
		if time.Now().After(until) {
			c.t.Fatalf("the recorder does not leave %q in %v", what, paths)
		}
	}
}

// overflow has a program emit more than its ring has room for while the recorder is stopped.
func (c *collection) overflow() {
	c.t.Helper()
	for _, p := range c.recorders() {
		_ = p.Signal(unix.SIGSTOP)
		defer func() { _ = p.Signal(unix.SIGCONT) }()
	}
	if out, err := exec.Command("emit", "20000", "small", c.rings).CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
}

func TestAnAgentAnswersForARecorderThatWasKilled(t *testing.T) {
	testneed.Root(t, "recording packets")
	for _, test := range []struct {
		name      string
		flags     []string
		overflows bool
		agent     bool // is killed too
		code      int
		says      string
	}{
		{"programs alone", nil, false, true, 0, ""},
		{"packets", []string{"--packets=lo", "--filter", "udp port 9"}, false, true, 3, "it was killed: kernel events and packets from then"},
		{"packets, and the agent lives", []string{"--packets=lo", "--filter", "udp port 9"}, false, false, 3, "it was killed: kernel events and packets from then"},
		{"events that had no room", nil, true, true, 3, "events were lost: their buffers were full"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCollection(t)
			c.record(test.flags...)
			c.recording()
			if test.overflows {
				c.overflow()
			}
			if test.says != "" {
				c.leaves(test.says)
			}
			if test.agent {
				_ = c.agent.Process.Kill()
				_ = c.agent.Wait()
			}
			c.endRecorders()
			for until := time.Now().Add(60 * time.Second); len(c.recorders()) > 0 && test.agent; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(until) {
					t.Fatal("the recorder lives")
				}
			}
			if test.agent {
				c.record(test.flags...)
			} else {
				c.says("it is started again")
			}
			for until := time.Now().Add(60 * time.Second); len(c.recorders()) == 0; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(until) {
					t.Fatal("no recorder follows")
				}
			}
			if code := c.end(c.agent); code != test.code {
				said, _ := os.ReadFile(filepath.Join(c.dir, "agent.log"))
				t.Errorf("exit code %d, want %d: %s", code, test.code, said)
			}
			if test.says != "" {
				c.says(test.says)
			}
			if left, _ := filepath.Glob(filepath.Join(c.trace, ".outcome-*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if d := c.differences(); d != nil {
				said, _ := os.ReadFile(filepath.Join(c.dir, "agent.log"))
				t.Errorf("%v: %s", d, said)
			}
			_ = c.end(c.server)
		})
	}
}

func TestARecorderThatNoAgentStartedGoesOnAndTheAgentSaysSo(t *testing.T) {
	c := newCollection(t)
	recorder := exec.Command("meridian", "record", "-o", c.trace, "-q", "--host", "web", "--rings", c.rings)
	if err := recorder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = recorder.Process.Kill() })
	c.recording()
	c.record()
	c.says("a recorder writes")
	if code := c.end(c.agent); code != 3 {
		t.Errorf("the agent's exit code is %d, want 3", code)
	}
	c.says("goes on, which no agent started")
	if code := c.end(recorder); code != 0 {
		t.Errorf("the recorder's exit code is %d", code)
	}
	_ = c.end(c.server)
}

// Directories of two file systems often have the same inode number, by which the kernel tells who has locked them.
func TestAnAgentEndsTheRecorderOfItsOwnDirectoryThoughAnotherFileSystemHasOneOfThatNumber(t *testing.T) {
	c := [2]*collection{newCollection(t), newCollection(t)}
	var inodes [2]uint64
	for i := range c {
		disk := filepath.Join(c[i].dir, "disk")
		mountSmall(t, disk, chaosDisk)
		c[i].trace = filepath.Join(disk, "trace")
		c[i].record()
		c[i].recording()
		var stat unix.Stat_t
		if err := unix.Stat(c[i].trace, &stat); err != nil {
			t.Fatal(err)
		}
		inodes[i] = stat.Ino
	}
	if inodes[0] != inodes[1] {
		t.Fatalf("the directories have the inodes %v: this test needs two of the same number", inodes)
	}
	for i := range c {
		_ = c[i].agent.Process.Kill()
		_ = c[i].agent.Wait()
		c[i].record()
		c[i].says("a recorder writes")
	}
	for i := range c {
		if code := c[i].end(c[i].agent); code != 0 {
			said, _ := os.ReadFile(filepath.Join(c[i].dir, "agent.log"))
			t.Errorf("the agent's exit code is %d: %s", code, said)
		}
		if left := c[i].recorders(); len(left) > 0 {
			t.Errorf("%d recorders go on", len(left))
		}
		if d := c[i].differences(); d != nil {
			t.Error(d)
		}
	}
}

func TestASignalToTheWholeGroupEndsTheRecorderInOrder(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		c := newCollection(t)
		c.group = true
		c.record()
		c.recording()
		if err := syscall.Kill(-c.agent.Process.Pid, s); err != nil {
			t.Fatal(err)
		}
		_ = c.agent.Wait()
		said, _ := os.ReadFile(filepath.Join(c.dir, "agent.log"))
		if code := c.agent.ProcessState.ExitCode(); code != 0 || strings.Contains(string(said), "before it had begun") {
			t.Errorf("%v: exit code %d: %s", s, code, said)
		}
		if d := c.differences(); d != nil {
			t.Error(d)
		}
		_ = c.end(c.server)
	}
}

func TestAnAgentWhoseDiskIsFullSaysSoAndGoesOnWhenThereIsRoom(t *testing.T) {
	c := newCollection(t)
	disk := filepath.Join(c.dir, "disk")
	mountSmall(t, disk, chaosDisk)
	c.trace = filepath.Join(disk, "trace")
	c.record()
	c.recording()
	full := &chaos{collection: c}
	emit := func() {
		cmd := exec.Command("emit", "300")
		cmd.Env = append(os.Environ(), "MERIDIAN="+c.rings)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	full.fill(disk)
	emit()
	_ = c.agent.Wait()
	if code := c.agent.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	c.says("no space left on device")
	emit() // into its ring
	full.room(disk)
	c.record()
	for until := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if rings, _ := filepath.Glob(filepath.Join(c.rings, "*")); len(rings) == 0 {
			break // all are read
		} else if time.Now().After(until) {
			t.Fatalf("the rings %v are left", rings)
		}
	}
	if code := c.end(c.agent); code != 0 && code != 3 { // 3: the account could not be written, so the end of the recorder is said once more
		said, _ := os.ReadFile(filepath.Join(c.dir, "agent.log"))
		t.Errorf("exit code %d: %s", code, said)
	}
	if d := c.differences(); d != nil {
		t.Error(d)
	}
	if n := emittedIn(t, c.stored); n != 600 {
		t.Errorf("%d events are stored, want 600", n)
	}
	_ = c.end(c.server)
}

// emittedIn returns how many events a trace has of the program emit.
func emittedIn(t *testing.T, dir string) (n int) {
	t.Helper()
	tr, err := ctf.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for _, s := range tr.Streams {
		for r := s.Reader(); r.Next() == nil; {
			if class, _ := r.Class(); class.Name == "test:number" {
				n++
			}
		}
	}
	return n
}
