package ctf

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"meridian/internal/testneed"
	"meridian/trace"
)

// lttng is a session daemon and a program full of tracepoints.
type lttng struct {
	program string
	home    string
}

// startLTTng builds the program and starts a session daemon, which ends with the test.
func startLTTng(t *testing.T) *lttng {
	t.Helper()
	for _, tool := range []string{"lttng", "lttng-sessiond", "gcc", "babeltrace2"} {
		peer(t, tool)
	}
	l := &lttng{home: t.TempDir()}
	l.program = filepath.Join(l.home, "every_field")
	build := exec.Command("gcc", "-O1", "-I.", "-o", l.program, "every_field.c", "-llttng-ust", "-ldl", "-lm")
	build.Dir = "testdata/lttng"
	if out, err := build.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("lttng/tracepoint.h")) {
			testneed.Missing(t, "the headers of lttng-ust are not installed (apt-get install liblttng-ust-dev)")
		}
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := l.run("lttng", "--no-sessiond", "list"); err == nil {
		return l // there is one already, which is not ours to end
	}
	var said bytes.Buffer
	d := exec.Command("lttng-sessiond", "--no-kernel")
	d.Env = l.env()
	d.Stdout, d.Stderr = &said, &said
	// Its consumer daemons would hold the output's other end open after its death.
	d.WaitDelay = time.Second
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	dead := make(chan error, 1)
	go func() { dead <- d.Wait() }()
	t.Cleanup(func() {
		_ = d.Process.Signal(syscall.SIGTERM)
		select {
		case <-dead:
		case <-time.After(time.Minute):
			_ = d.Process.Kill()
			<-dead
		}
	})
	for deadline := time.Now().Add(3 * time.Minute); ; {
		if _, err := l.run("lttng", "--no-sessiond", "list"); err == nil {
			return l
		}
		select {
		case err := <-dead:
			dead <- err
			t.Fatalf("lttng-sessiond: %v\n%s", err, said.Bytes())
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("lttng-sessiond does not answer")
		}
	}
}

func (l *lttng) env() []string {
	return append(os.Environ(), "LTTNG_HOME="+l.home, "HOME="+l.home, "LTTNG_UST_REGISTER_TIMEOUT=100000")
}

func (l *lttng) run(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Env = l.env()
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// record records one run of the program and returns where.
func (l *lttng) record(t *testing.T, name, buffers string) string {
	t.Helper()
	dir := filepath.Join(l.home, name)
	session := fmt.Sprintf("meridian-%d-%s", os.Getpid(), name)
	t.Cleanup(func() { _, _ = l.run("lttng", "--no-sessiond", "destroy", session) })
	for _, args := range [][]string{
		{"lttng", "create", session, "--output=" + dir},
		{"lttng", "enable-channel", "-s", session, "--userspace", buffers, "--subbuf-size=64k", "--num-subbuf=64", "first"},
		{"lttng", "enable-channel", "-s", session, "--userspace", buffers, "--subbuf-size=16k", "--num-subbuf=256", "second"},
		{"lttng", "enable-event", "-s", session, "--userspace", "-c", "first", "meridian_test:integers,meridian_test:texts,meridian_test:nothing"},
		{"lttng", "enable-event", "-s", session, "--userspace", "-c", "second", "meridian_test:*"},
		{"lttng", "add-context", "-s", session, "--userspace", "-c", "first", "--type=vpid", "--type=vtid", "--type=procname"},
		{"lttng", "add-context", "-s", session, "--userspace", "-c", "second", "--type=pthread_id", "--type=ip"},
		{"lttng", "start", session},
		{l.program},
		{"lttng", "stop", session},
		{"lttng", "destroy", session},
	} {
		if args[0] == "lttng" {
			args = append([]string{"lttng", "--no-sessiond"}, args[1:]...)
		}
		if _, err := l.run(args[0], args[1:]...); err != nil {
			t.Fatal(err)
		}
	}
	dirs, err := Find(dir)
	if err != nil || len(dirs) != 1 {
		t.Fatalf("traces %v below %s: %v", dirs, dir, err)
	}
	return dirs[0]
}

func TestWhatLTTngRecordsPrintsAsBabeltracePrintsIt(t *testing.T) {
	l := startLTTng(t)
	for _, test := range []struct{ name, buffers string }{{"uid", "--buffers-uid"}, {"pid", "--buffers-pid"}} {
		t.Run(test.name, func(t *testing.T) {
			dir := l.record(t, test.name, test.buffers)
			var w trace.Warnings
			got := textOf(t, dir, &w)
			if said := w.Lines(); len(said) > 0 {
				t.Error(said)
			}
			// Integers, texts and nothing go to both channels.
			if want := 300 * (2*(9+6+1) + 16 + 9 + 17); len(got) != want {
				t.Errorf("%d events, want %d", len(got), want)
			}
			same(t, got, babeltraceText(t, dir))
			for _, name := range []string{"integers", "floats", "texts", "arrays", "enumerations", "nothing"} {
				if !strings.Contains(strings.Join(got, "\n"), "meridian_test:"+name) {
					t.Error("no event", name)
				}
			}
		})
	}
}
