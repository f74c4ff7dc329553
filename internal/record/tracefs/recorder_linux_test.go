package tracefs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/internal/record/kernel"
)

// program links to a program under another name, which its processes then have.
func program(t *testing.T, path, name string) string {
	t.Helper()
	whole, err := exec.LookPath(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(whole, to); err != nil {
		t.Fatal(err)
	}
	return to
}

// gate starts a shell script that waits for a line, and returns what lets it go on and waits for its end.
func gate(t *testing.T, name, script string) (pid int, pass func()) {
	t.Helper()
	c := exec.Command(program(t, "sh", name), "-c", "read line; "+script)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return c.Process.Pid, func() {
		t.Helper()
		fmt.Fprintln(in)
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSwitchesAreThoseOfTheProcessAndItsChildren(t *testing.T) {
	pid, pass := gate(t, "studied", "/bin/true; (/bin/true; /bin/true); sleep 0.01")
	_, other := gate(t, "bystander", "/bin/true; /bin/true")
	rec, _ := record(t, Options{Groups: kernel.Sched, Pids: []int{pid}})
	other()
	pass()
	family := map[int64]bool{int64(pid): true}
	count := map[string]int{}
	running := map[int64]bool{}
	for _, e := range rec.stop() {
		count[e.class.Name]++
		switch e.class.Name {
		case "sched_process_fork":
			if !family[e.value(t, "parent_pid").Int()] {
				t.Errorf("fork of stranger %d", e.value(t, "parent_pid").Int())
			}
			family[e.value(t, "child_pid").Int()] = true
		case "sched_switch":
			from, to := e.value(t, "prev_tid").Int(), e.value(t, "next_tid").Int()
			if !family[from] && !family[to] {
				t.Errorf("switch from %s to %s", e.value(t, "prev_comm").Data, e.value(t, "next_comm").Data)
			}
			if e.value(t, "prev_followed").Bool() != family[from] || e.value(t, "next_followed").Bool() != family[to] {
				t.Errorf("who is followed of %d and %d", from, to)
			}
			running[from], running[to] = false, family[to]
		default:
			if !family[e.value(t, "tid").Int()] {
				t.Errorf("%s of stranger %s", e.class.Name, e.value(t, "comm").Data)
			}
		}
	}
	for tid, runs := range running {
		if runs {
			t.Errorf("the last switch of %d is missing", tid)
		}
	}
	if n := len(family); n < 5 || count["sched_process_exec"] < 4 || count["sched_process_exit"] < 5 ||
		count["sched_switch"] < 10 || count["sched_waking"] == 0 {
		t.Errorf("%d processes, %v", n, count)
	}
	if n := rec.lost(); n != 0 {
		t.Errorf("%d events lost", n)
	}
}

// calls returns the names of the system calls begun, for the processes of one name.
func calls(t *testing.T, events []taped, comm string) []string {
	t.Helper()
	var names []string
	for i := range events {
		if call, ok := strings.CutPrefix(events[i].class.Name, "syscall_entry_"); ok && string(events[i].value(t, "procname").Data) == comm {
			names = append(names, call)
		}
	}
	return names
}

func TestSystemCallsHaveNamesAndArguments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("some text"), 0o600); err != nil {
		t.Fatal(err)
	}
	pid, pass := gate(t, "studied", program(t, "cat", "studied-cat")+" "+file)
	rec, _ := record(t, Options{Groups: kernel.Syscalls, Pids: []int{pid}})
	if err := exec.Command("cat", file).Run(); err != nil {
		t.Fatal(err)
	}
	pass()
	events := rec.stop()
	names := calls(t, events, "studied-cat")
	for _, want := range []string{"openat", "read", "write", "close", "exit_group"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s among %q", want, names)
		}
	}
	if n := len(calls(t, events, "cat")); n != 0 {
		t.Errorf("%d calls of a program that was not asked for", n)
	}
	// What the program wrote came back as its length, of the same thread.
	written := int64(-1)
	for i := range events {
		switch e := &events[i]; e.class.Name {
		case "syscall_entry_write":
			if fd, n := e.value(t, "arg0").Bits, e.value(t, "arg2").Bits; fd != 1 || n != 9 {
				t.Errorf("write to %d of %d bytes", fd, n)
			}
			written = e.value(t, "tid").Int()
		case "syscall_exit_write":
			if got := e.value(t, "ret").Int(); got != 9 || e.value(t, "tid").Int() != written {
				t.Errorf("write returned %d to %d", got, e.value(t, "tid").Int())
			}
		}
	}
	if written < 0 {
		t.Error("no write")
	}
}

func TestOnlyWhomFollowNamesIsFollowed(t *testing.T) {
	rec, r := record(t, Options{Groups: kernel.Syscalls, OnlyFollowed: true})
	stranger := exec.Command("true")
	if err := stranger.Run(); err != nil {
		t.Fatal(err)
	}
	pid, pass := gate(t, "named", "/bin/true")
	if err := r.Follow(pid); err != nil {
		t.Fatal(err)
	}
	pass()
	events := rec.stop()
	if len(calls(t, events, "named")) == 0 || len(calls(t, events, "true")) == 0 {
		t.Error("not the process, or not its child")
	}
	for i := range events {
		e := &events[i]
		of, name := e.value(t, "pid").Int(), "named"
		if strings.HasPrefix(e.class.Name, "syscall_entry_") {
			name = string(e.value(t, "procname").Data)
		}
		if of == int64(stranger.Process.Pid) || name != "named" && name != "true" { // what comes later may have a smaller number
			t.Fatalf("%s of process %d, %s", e.class.Name, of, name)
		}
	}
}

func TestWhatHappenedBeforeTheContextEndsIsGiven(t *testing.T) {
	rec, _ := open(t, Options{Groups: kernel.Sched})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var pids []int
	for range 10 {
		c := exec.Command("true")
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, c.Process.Pid)
	}
	cancel()
	rec.read(ctx)
	if err := <-rec.done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if !slices.ContainsFunc(rec.events, func(e taped) bool {
			return e.class.Name == "sched_process_exit" && e.value(t, "tid").Int() == int64(pid)
		}) {
			t.Errorf("the end of %d is missing", pid)
		}
	}
}
