package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"meridian/clock"
	"meridian/internal/testneed"
	"meridian/trace"
)

// bounded begins a command line that has only some of root's capabilities, as setpriv names them. Tracefs is mounted for it
// where this machine has not mounted it: without CAP_SYS_ADMIN the command cannot.
func bounded(t *testing.T, capabilities string) []string {
	t.Helper()
	return []string{testneed.Program(t, "unshare"), "-m", "sh", "-c", `[ -d /sys/kernel/tracing/instances ] || mount -t tracefs none /sys/kernel/tracing && exec "$@"`, "sh",
		testneed.Program(t, "setpriv"), "--bounding-set=" + capabilities, "--"}
}

// noBPF are the capabilities that leave tracefs.
const noBPF = "-bpf,-perfmon,-sys_admin"

// everybodys returns a directory that every user may enter and write in.
func everybodys(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "meridian-record-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// installed puts this test binary into a directory under the name of a process that it can be. A link takes no time, and cannot be busy: a file that was
// just written cannot be started while a child of another test has it open.
func installed(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err == nil {
		return path // of another call; and a link must not be written to
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const everybody = 0o555
	if info, err := os.Stat(self); err == nil && info.Mode()&everybody == everybody && os.Link(self, path) == nil {
		return path
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// outcome is what a command said, and how it ended.
type outcome struct {
	stdout, stderr string
	code           int
}

// is reports whether the exit code is as wanted. A busy machine's kernel may keep events from any recorder: 3 is as good as 0 where such a
// loss is told.
func (o outcome) is(code int) bool {
	return o.code == code || code == 0 && o.code == 3 && slices.ContainsFunc(strings.Split(o.stderr, "\n"), countedLoss)
}

// outcomeOf returns how a command ended that has been waited for.
func outcomeOf(c *exec.Cmd, stderr *bytes.Buffer) outcome {
	return outcome{stderr: stderr.String(), code: c.ProcessState.ExitCode()}
}

func ran(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	c := exec.Command(args[0], args[1:]...)
	var stdout, stderr bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = dir, &stdout, &stderr
	err := c.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatalf("%q: %v", args, err)
	}
	return outcome{stdout.String(), stderr.String(), c.ProcessState.ExitCode()}
}

// lines returns the lines of a stream until it ends.
func lines(r io.Reader) <-chan string {
	c := make(chan string)
	go func() {
		defer close(c)
		for s := bufio.NewScanner(r); s.Scan(); {
			c <- s.Text()
		}
	}()
	return c
}

// eachEvent calls f for the events of a source, with those of their fields that are texts.
func eachEvent(t *testing.T, source trace.Source, f func(at clock.HostTime, class string, fields map[string]string)) {
	t.Helper()
	var e trace.Event
	for {
		err := source.Next(&e)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		class := &source.Classes()[e.Class]
		fields := make(map[string]string)
		for i, v := range source.Values() {
			if v.Kind == trace.Text && i < len(class.Fields) {
				fields[class.Fields[i].Name] = string(v.Data)
			}
		}
		f(e.Time, class.Name, fields)
	}
}

// untilContains waits for a text in a file.
func untilContains(t *testing.T, path, text string) {
	t.Helper()
	until(t, path+" never says "+text, func() bool {
		b, _ := os.ReadFile(path)
		return bytes.Contains(b, []byte(text))
	})
}

// until waits for what other processes do.
func until(t *testing.T, otherwise string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(otherwise)
		}
	}
}
