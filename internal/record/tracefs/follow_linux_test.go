package tracefs

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"meridian/internal/record/internal/kerneltest"
	"meridian/internal/record/kernel"
)

func TestChildrenThatAreThereAreFollowedToo(t *testing.T) {
	c := exec.Command("sh", "-c", kerneltest.Program(t, "sh", "child")+" -c 'echo ready; read line; /bin/true'; :")
	in, err1 := c.StdinPipe()
	out, err2 := c.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	rec, _ := record(t, Options{Groups: kernel.Syscalls, Pids: []int{c.Process.Pid}})
	fmt.Fprintln(in)
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	events := rec.Stop()
	for _, name := range []string{"sh", "child", "true"} {
		if len(kerneltest.Calls(t, events, name)) == 0 {
			t.Errorf("no system calls of %s", name)
		}
	}
}

// Whenever a process is added the kernel replaces its list, and loses threads that were born meanwhile.
func TestProcessesBornWhileOthersAreAddedAreFollowed(t *testing.T) {
	pid, pass := kerneltest.Gate(t, "studied", "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do (/bin/true); done")
	rec, r := record(t, Options{Groups: kernel.Sched, Pids: []int{pid}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 30 {
			c := exec.Command("sleep", "60")
			if err := c.Start(); err != nil {
				t.Error(err)
				return
			}
			if err := r.Follow(c.Process.Pid); err != nil {
				t.Error(err)
			}
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}()
	pass()
	<-done
	born, ended := map[int64]bool{int64(pid): true}, map[int64]int{}
	for _, e := range rec.Stop() {
		switch e.Name() {
		case "sched_process_fork":
			if born[e.Value(t, "parent_pid").Int()] {
				born[e.Value(t, "child_pid").Int()] = true
			}
		case "sched_process_exit":
			ended[e.Value(t, "tid").Int()]++
		}
	}
	for tid := range born {
		if ended[tid] != 1 {
			t.Errorf("%d was born, and ended %d times", tid, ended[tid])
		}
	}
	if len(born) < 21 {
		t.Errorf("%d processes", len(born))
	}
}

func TestProgramsOfANameAreFollowedOnceTheyAreFound(t *testing.T) {
	rec, r := record(t, Options{Groups: kernel.Syscalls, Command: "studied-*"})
	_, other := kerneltest.Gate(t, "bystander", "/bin/true")
	other()
	pid, pass := kerneltest.Gate(t, "studied-sh", "/bin/true")
	for { // until the reader has found it
		followed, err := r.session.some.numbers("set_event_pid")
		if err != nil {
			t.Fatal(err)
		}
		if on, err := r.session.some.read("tracing_on"); err != nil {
			t.Fatal(err)
		} else if followed[int32(pid)] && strings.HasPrefix(on, "1") {
			break
		}
	}
	pass()
	events := rec.Stop()
	if len(kerneltest.Calls(t, events, "studied-sh")) == 0 || len(kerneltest.Calls(t, events, "true")) == 0 || len(kerneltest.Calls(t, events, "bystander")) != 0 {
		t.Errorf("%d, %d and %d calls", len(kerneltest.Calls(t, events, "studied-sh")), len(kerneltest.Calls(t, events, "true")), len(kerneltest.Calls(t, events, "bystander")))
	}
}

func TestAllThreadsAreFollowed(t *testing.T) {
	own := threads(os.Getpid())
	if len(own) < 2 {
		t.Fatal(own)
	}
	_, r := open(t, Options{Groups: kernel.Sched, Pids: []int{os.Getpid()}})
	followed, err := r.session.some.numbers("set_event_pid")
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(own, func(tid int32) bool { return !followed[tid] }) {
		t.Errorf("%v of %v", followed, own)
	}
}
