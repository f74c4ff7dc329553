package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/internal/testneed"
)

// TestFirstSystemCallsOfACommandAreRecorded holds what is recorded of a command against what strace sees of it.
func TestFirstSystemCallsOfACommandAreRecorded(t *testing.T) {
	testneed.Root(t, "recording kernel events and packets")
	strace := testneed.Program(t, "strace")
	dir := everybodys(t)
	meridian := installed(t, dir, "meridian")
	command := []string{"/bin/cat", "/dev/null"}
	ran(t, dir, append([]string{strace, "-o", "truth", "--"}, command...)...)
	truth, err := os.ReadFile(filepath.Join(dir, "truth"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, call := range regexp.MustCompile(`(?m)^(\w+)\(`).FindAllStringSubmatch(string(truth), -1) {
		want = append(want, call[1])
	}
	if len(want) < 5 || want[0] != "execve" {
		t.Fatalf("strace saw %q", want)
	}
	child := []string{"sh", "-c", strings.Join(command, " ") + "; true"}
	tracefs := bounded(t, noBPF)
	for i := range 24 { // it is a race that is to be won each time
		os.RemoveAll(filepath.Join(dir, "t"))
		args := append([]string{meridian, "record", "-q", "--rings", ".", "-o", "t", "--kernel", "syscalls", "--"}, [][]string{command, child}[i%2]...)
		if i%4 >= 2 {
			args = append(tracefs[:len(tracefs):len(tracefs)], args...)
		}
		o := ran(t, dir, args...)
		kept := keptFrom(o)
		if o.code != 0 && (o.code != 3 || kept == 0) || (o.stderr == "") != (o.code == 0) {
			t.Fatalf("exit code %d: %s", o.code, o.stderr)
		}
		// The call of execve began as meridian. What the kernel keeps from the recorder is counted.
		got := calls(t, filepath.Join(dir, "t"), "cat")
		if missing := len(want[1:]) - len(got); missing < 0 || missing > kept || !within(named(got), named(want[1:])) {
			t.Fatalf("try %d: recorded are\n%q, and there were\n%q: %s", i, got, want[1:], o.stderr)
		}
	}
}

// keptFrom returns how many events a recorder says that the kernel kept from it.
func keptFrom(o outcome) int {
	_, text, _ := strings.Cut(o.stderr, keptFromUs)
	n, _ := strconv.Atoi(strings.ReplaceAll(text[:max(strings.Index(text, " event"), 0)], " ", ""))
	return n
}

// within reports whether calls are those of all, in their order, but for some that are missing.
func within(calls, all []string) bool {
	for _, c := range all {
		if len(calls) > 0 && calls[0] == c {
			calls = calls[1:]
		}
	}
	return len(calls) == 0
}

// named gives calls that the two may call by different names the same.
func named(calls []string) (all []string) {
	other := strings.NewReplacer("newfstatat", "fstatat", "pread64", "pread")
	for _, c := range calls {
		all = append(all, other.Replace(c))
	}
	return all
}

// calls returns the system calls of a program in a trace, in their order.
func calls(t *testing.T, dir, program string) (names []string) {
	t.Helper()
	trace, err := ctf.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	type call struct {
		at   clock.HostTime
		name string
	}
	var all []call
	source := trace.Events()
	defer source.Close()
	eachEvent(t, source, func(at clock.HostTime, class string, fields map[string]string) {
		if name, ok := strings.CutPrefix(class, "syscall_entry_"); ok && fields["procname"] == program {
			all = append(all, call{at, name})
		}
	})
	slices.SortStableFunc(all, func(a, b call) int { return int(a.at - b.at) })
	for _, c := range all {
		names = append(names, c.name)
	}
	return names
}

// TestACommandStoppedAtItsStartRunsAsOneThatIsNot compares a command that was stopped at its start with one that was not.
func TestACommandStoppedAtItsStartRunsAsOneThatIsNot(t *testing.T) {
	testneed.Root(t, "recording kernel events and packets")
	dir := everybodys(t)
	meridian := installed(t, dir, "meridian")
	// Its group and session, its terminal, who traces it, its signals. What it blocks its children inherit: a shell itself
	// blocks all for moments. Its files are listed without a pipe, of which a shell holds an end for a while.
	const show = `cut -d' ' -f5-7 /proc/$$/stat; grep -E '^(TracerPid|SigIgn|SigCgt|NoNew|Cap)' /proc/$$/status; grep SigBlk /proc/self/status; ls /proc/$$/fd; `
	const ends = `exit 7`
	stopped := ran(t, dir, meridian, "record", "-q", "--rings", ".", "-o", "a", "--kernel", "sched", "--", "sh", "-c", show+ends)
	free := ran(t, dir, meridian, "record", "-q", "--rings", ".", "-o", "b", "--", "sh", "-c", show+ends)
	head := func(o outcome) string { before, _, _ := strings.Cut(o.stdout, "  process"); return before }
	if stopped.code != 7 || free.code != 7 || head(stopped) != head(free) || !strings.Contains(stopped.stdout, "TracerPid:\t0\n") {
		t.Errorf("exit codes %d and %d\n%s\nwithout being stopped\n%s", stopped.code, free.code, stopped.stdout, free.stdout)
	}
	for code, script := range map[int]string{0: "true", 143: "kill -TERM $$", 137: "kill -KILL $$", 133: "kill -TRAP $$", 130: "kill -INT $$"} {
		if o := ran(t, dir, meridian, "record", "-q", "--rings", ".", "-o", "c", "--kernel", "sched", "--", "sh", "-c", script); !o.is(code) {
			t.Errorf("%s: exit code %d: %s", script, o.code, o.stderr)
		}
	}
	if o := ran(t, dir, meridian, "record", "-q", "--rings", ".", "-o", "d", "--kernel", "sched", "--", filepath.Join(dir, "meridian-no")); o.code != 1 || !strings.Contains(o.stderr, "no such file") {
		t.Errorf("a command that is not there: exit code %d: %s", o.code, o.stderr)
	}
}

// TestACommandRunsThoughItCannotBeStopped: a recorder that is traced itself cannot have its child traced.
func TestACommandRunsThoughItCannotBeStopped(t *testing.T) {
	testneed.Root(t, "recording kernel events and packets")
	strace := testneed.Program(t, "strace")
	dir := everybodys(t)
	meridian := installed(t, dir, "meridian")
	o := ran(t, dir, strace, "-f", "-o", "/dev/null", "-e", "trace=none", meridian, "record", "-q", "--rings", ".", "-o", "t", "--kernel", "sched", "--", "sh", "-c", "exit 9")
	if o.code != 9 {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}

// TestAPrivilegedProgramIsStoppedOnlyByRoot: the kernel would start a set-user-ID program without its privileges.
func TestAPrivilegedProgramIsStoppedOnlyByRoot(t *testing.T) {
	testneed.Root(t, "recording kernel events and packets")
	dir := everybodys(t)
	plain, set := filepath.Join(dir, "plain"), filepath.Join(dir, "set")
	for _, path := range []string{plain, set} {
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(set, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	if !canStopChild(plain) || !canStopChild(set) {
		t.Error("root may hold anything")
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never let go: the thread ends with its lack of capabilities
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		err := unix.Capset(&header, &none[0])
		if err == nil && (!canStopChild(plain) || canStopChild(set)) {
			err = errors.New("a program with the rights of another user must not be stopped, and others may be")
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestACommandStopsAndGoesOnWithItsGroup: job control is the terminal's and the command's affair.
func TestACommandStopsAndGoesOnWithItsGroup(t *testing.T) {
	testneed.Root(t, "recording kernel events and packets")
	dir := everybodys(t)
	meridian := installed(t, dir, "meridian")
	c := exec.Command(meridian, "record", "-q", "--rings", ".", "-o", "t", "--kernel", "sched", "--", "sh", "-c", "echo $$; kill -STOP $$; echo on")
	var stderr bytes.Buffer
	c.Dir, c.Stderr = dir, &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	text := lines(out)
	pid := <-text
	until(t, "it does not stop", func() bool { // as a shell would see it, and not by a tracer (t)
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(stat))[2] == "T"
	})
	if err := exec.Command("kill", "-CONT", pid).Run(); err != nil {
		t.Error(err)
	}
	if line := <-text; line != "on" {
		t.Errorf("it says %q", line)
	}
	for range text {
	}
	if err := c.Wait(); !outcomeOf(c, &stderr).is(0) {
		t.Errorf("%v: %s", err, &stderr)
	}
}

// TestACommandThatCannotBeFollowedIsTold: in a container with numbers of processes of its own nobody knows the kernel's.
func TestACommandThatCannotBeFollowedIsTold(t *testing.T) {
	testneed.Root(t, "recording kernel events and packets")
	unshare := testneed.Program(t, "unshare")
	dir := everybodys(t)
	meridian := installed(t, dir, "meridian")
	o := ran(t, dir, unshare, "--pid", "--fork", "--mount-proc", meridian, "record", "--rings", ".", "-o", "t", "--kernel", "sched,syscalls", "--", "sh", "-c", "exit 4")
	if o.code != 4 || strings.Count(o.stderr, "the command could not be followed") != 1 || !strings.Contains(o.stderr, "numbers") {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}
