//go:build unix

package netlab

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var doomed = flag.String("doomed", "", "end of the process that TestNothingOutlivesTheTest starts")

// TestNothingOutlivesTheTest runs itself as another process, which builds a lab and comes to a bad end.
func TestNothingOutlivesTheTest(t *testing.T) {
	if *doomed != "" {
		perish(t, *doomed)
		return
	}
	New(t) // ends the test where no lab can be
	// A shell starts background processes with interrupts ignored. A signal that is caught here is not ignored by the
	// processes that are started from here.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	t.Cleanup(func() { signal.Stop(caught) })
	for _, end := range []string{"killed", "interrupted", "panic", "elsewhere", "fatal"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			outlive(t, end)
		})
	}
}

// perish builds a lab, prints the prefix of its namespaces, and ends as told, or waits for its end.
func perish(t *testing.T, end string) {
	l := TwoHosts(t)
	l.Capture("web")
	if err := l.Command("db", "cat").Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(os.Stdout, "prefix", l.prefix)
	switch end {
	case "panic":
		panic("as asked")
	case "elsewhere":
		go panic("as asked")
	case "fatal":
		t.Fatal("as asked")
	}
	io.Copy(io.Discard, os.Stdin)
}

// outlive starts the doomed process, brings about its end, and checks that no process and no namespace of it remains.
func outlive(t *testing.T, end string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// All processes of the doomed one inherit this pipe: it ends with the last of them.
	alive, inherited, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	c := exec.Command(self, "-test.run=^TestNothingOutlivesTheTest$", "-doomed="+end)
	c.ExtraFiles = []*os.File{inherited}
	c.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // it cannot remove what it leaves there
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	inherited.Close()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	prefix, ok := strings.CutPrefix(strings.TrimSpace(line), "prefix ")
	if !ok {
		t.Fatalf("%v: %s", err, line)
	}
	switch end {
	case "killed":
		c.Process.Kill()
	case "interrupted":
		c.Process.Signal(syscall.SIGINT)
	}
	if err := alive.SetReadDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, alive); err != nil {
		t.Errorf("processes remain: %v", err)
	}
	stdin.Close() // ends it if nothing else has
	var failed *exec.ExitError
	if err := c.Wait(); !errors.As(err, &failed) {
		t.Errorf("the doomed process ended with %v", err)
	}
	left, err := filepath.Glob("/run/netns/" + prefix + "*")
	if err != nil || len(left) > 0 {
		t.Errorf("namespaces remain: %v %v", left, err)
	}
}
