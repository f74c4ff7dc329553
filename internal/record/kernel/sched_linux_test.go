package kernel_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	meaning "meridian/internal/kernel"
	"meridian/internal/netlab"
	"meridian/internal/record/kernel"
	"meridian/trace"
)

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
	rec := record(t, kernel.Options{Groups: kernel.Sched, Pids: []int{pid}})
	other()
	pass()
	s := rec.stop()
	family := map[int64]bool{int64(pid): true}
	count := map[string]int{}
	for i := range s.events {
		e := &s.events[i]
		count[s.name(e)]++
		switch s.name(e) {
		case "sched_process_fork":
			if !family[s.value(t, e, "parent_pid").Int()] {
				t.Errorf("fork of stranger %d", s.value(t, e, "parent_pid").Int())
			}
			family[s.value(t, e, "child_pid").Int()] = true
		case "sched_switch":
			if !family[s.value(t, e, "prev_tid").Int()] && !family[s.value(t, e, "next_tid").Int()] {
				t.Errorf("switch from %s to %s", s.value(t, e, "prev_comm").Data, s.value(t, e, "next_comm").Data)
			}
		default:
			if !family[s.value(t, e, "tid").Int()] {
				t.Errorf("%s of stranger %s", s.name(e), s.value(t, e, "comm").Data)
			}
		}
	}
	if n := len(family); n < 5 || count["sched_process_exec"] < 4 || count["sched_process_exit"] < 5 || count["sched_switch"] < 10 || count["sched_waking"] == 0 {
		t.Errorf("%d processes, %v", n, count)
	}
	if n := rec.lost(); n != 0 {
		t.Errorf("%d events lost", n)
	}
}

// calls returns the names of the system calls begun, for the processes of one name.
func calls(t *testing.T, s *tape, comm string) []string {
	t.Helper()
	var names []string
	for i := range s.events {
		e := &s.events[i]
		if call, ok := strings.CutPrefix(s.name(e), "syscall_entry_"); ok && string(s.value(t, e, "procname").Data) == comm {
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
	rec := record(t, kernel.Options{Groups: kernel.Syscalls, Command: "studied-c*"})
	run(t, exec.Command(program(t, "cat", "studied-cat"), file))
	run(t, exec.Command("cat", file))
	s := rec.stop()
	names := calls(t, s, "studied-cat")
	for _, want := range []string{"openat", "read", "write", "close", "exit_group"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s among %q", want, names)
		}
	}
	if n := len(calls(t, s, "cat")); n != 0 {
		t.Errorf("%d calls of a program that was not asked for", n)
	}
	// What the program wrote came back as its length, of the same thread.
	written := int64(-1)
	for i := range s.events {
		switch e := &s.events[i]; s.name(e) {
		case "syscall_entry_write":
			if fd, n := s.value(t, e, "arg0").Bits, s.value(t, e, "arg2").Bits; fd != 1 || n != 9 {
				t.Errorf("write to %d of %d bytes", fd, n)
			}
			written = s.value(t, e, "tid").Int()
		case "syscall_exit_write":
			if got := s.value(t, e, "ret").Int(); got != 9 || s.value(t, e, "tid").Int() != written {
				t.Errorf("write returned %d to %d", got, s.value(t, e, "tid").Int())
			}
		}
	}
	if written < 0 {
		t.Error("no write")
	}
}

func TestOnlyWhomFollowNamesIsFollowed(t *testing.T) {
	rec := record(t, kernel.Options{Groups: kernel.Syscalls, OnlyFollowed: true})
	stranger := run(t, exec.Command("true"))
	pid, pass := gate(t, "named", "/bin/true")
	if err := rec.r.Follow(pid); err != nil {
		t.Fatal(err)
	}
	pass()
	s := rec.stop()
	if len(calls(t, s, "named")) == 0 || len(calls(t, s, "true")) == 0 {
		t.Error("not the process, or not its child")
	}
	for i := range s.events {
		e := &s.events[i]
		of, name := s.value(t, e, "pid").Int(), "named"
		if strings.HasPrefix(s.name(e), "syscall_entry_") {
			name = string(s.value(t, e, "procname").Data)
		}
		if of == int64(stranger) || name != "named" && name != "true" { // what comes later may have a smaller number
			t.Fatalf("%s of process %d, %s", s.name(e), of, name)
		}
	}
}

func TestACgroupAndAllBelowItIsRecorded(t *testing.T) {
	root := cgroups(t)
	studied := filepath.Join(root, fmt.Sprintf("meridian-test-%d", os.Getpid()))
	inner := filepath.Join(studied, "inner")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		missing(t, err.Error())
	}
	t.Cleanup(func() { os.Remove(inner); os.Remove(studied) })
	rec := record(t, kernel.Options{Groups: kernel.Syscalls, Cgroup: studied})
	run(t, exec.Command(program(t, "sh", "insider"), "-c", "echo $$ >"+inner+"/cgroup.procs; /bin/true"))
	run(t, exec.Command(program(t, "true", "outsider")))
	s := rec.stop()
	if len(calls(t, s, "insider")) == 0 || len(calls(t, s, "true")) == 0 || len(calls(t, s, "outsider")) != 0 {
		t.Errorf("%d, %d and %d calls", len(calls(t, s, "insider")), len(calls(t, s, "true")), len(calls(t, s, "outsider")))
	}
}

// cgroups returns where cgroup v2 is mounted.
func cgroups(t *testing.T) string {
	t.Helper()
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if parts := strings.Fields(s.Text()); len(parts) > 2 && parts[2] == "cgroup2" {
			return parts[1]
		}
	}
	missing(t, "cgroup v2 is not mounted")
	return ""
}

func TestRowsUnderstandTheEvents(t *testing.T) {
	lab := netlab.New(t)
	lab.Hosts("web", "db")
	lab.Link("web", "db")
	rec := record(t, kernel.Options{Groups: kernel.Net | kernel.Sched | kernel.IRQ | kernel.Syscalls, Pids: []int{os.Getpid()}})
	lab.Run(netlab.Traffic{From: "web", To: "db", Chats: 1, Requests: 200})
	s := rec.stop()
	if n := rec.lost(); n != 0 {
		t.Fatalf("%d events lost", n)
	}
	var w trace.Warnings
	rows := meaning.Rows(s, &w)
	found := map[string]int{}
	var e trace.Event
	for rows.Next(&e) == nil {
		row, c := &rows.Streams()[e.Stream], &rows.Classes()[e.Class]
		if e.Phase == trace.Begin || row.Kind == trace.Device {
			found[row.Kind.String()+" "+c.Name]++
		}
	}
	for _, want := range []string{"thread running", "thread read", "thread write", "interrupt softirq NET_RX", "device net_dev_queue"} {
		if found[want] == 0 {
			t.Errorf("no %q in %v", want, found)
		}
	}
	if len(s.events) < 3000 {
		t.Errorf("only %d events", len(s.events))
	}
	t.Logf("%d events; %q", len(s.events), w.Lines())
}
