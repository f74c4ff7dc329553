package main_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The words of scripts for clocks, which wait for what other processes do, however long a busy machine lets these wait:
//
// serveclock ARGUMENT...                start 'meridian clock serve' at a free port of 127.0.0.1, which is $PORT once it answers
// endclock                              interrupt it; it must end with 0, and what it said is in clock.said
// asks CODE N COMMAND...                interrupt a command when the server has sent N datagrams more; it must end with CODE
// says CODE PATTERN LINES COMMAND...    interrupt a command when so many lines have come behind one that matches; it must end with CODE

// servedClock is the server of a script.
type servedClock struct {
	*exec.Cmd
	said    *linesOf
	metrics string
}

// linesOf collects what a command writes.
type linesOf struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *linesOf) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *linesOf) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// comes waits a minute for what other processes do.
func comes(ts *testscript.TestScript, what func() string, done func() bool) {
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("%s", what())
		}
	}
}

var answeringAt, metricsAt = regexp.MustCompile(`answering at (\S+)\n`), regexp.MustCompile(`metrics at (\S+)\n`)

func serveClock(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 0, 99)
	c := &servedClock{said: new(linesOf)}
	c.Cmd = exec.Command("meridian", append([]string{"clock", "serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"}, args...)...)
	c.Dir, c.Stderr = ts.MkAbs("."), c.said
	ts.Check(c.Start())
	ts.Defer(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	comes(ts, func() string { return "the server of the clock: " + c.said.String() }, func() bool { return answeringAt.MatchString(c.said.String()) })
	said := c.said.String()
	_, port, err := net.SplitHostPort(answeringAt.FindStringSubmatch(said)[1])
	ts.Check(err)
	ts.Setenv("PORT", port)
	c.metrics = metricsAt.FindStringSubmatch(said)[1]
	benchOf(ts).clock = c
}

func endClock(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 0, 0)
	c := benchOf(ts).clock
	ts.Check(c.Process.Signal(os.Interrupt))
	if err := c.Wait(); err != nil {
		ts.Fatalf("the server of the clock: %v: %s", err, c.said)
	}
	ts.Check(os.WriteFile(ts.MkAbs("clock.said"), []byte(c.said.String()), 0o666))
}

// sent returns how many datagrams the server has sent.
func (c *servedClock) sent(ts *testscript.TestScript) int {
	r, err := http.Get(c.metrics)
	ts.Check(err)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	ts.Check(err)
	_, rest, found := strings.Cut(string(b), "\nmeridian_clock_packets_sent_total ")
	var n float64
	if _, err := fmt.Sscan(rest, &n); err != nil || !found {
		ts.Fatalf("%v: %s", err, b)
	}
	return int(n)
}

func asks(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 3, 99)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	c := benchOf(ts).clock
	before := c.sent(ts)
	interruptWhen(ts, args[0], args[2:], func(string) bool { return c.sent(ts) >= before+n })
}

func says(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 4, 99)
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	lines, err := strconv.Atoi(args[2])
	ts.Check(err)
	interruptWhen(ts, args[0], args[3:], func(said string) bool {
		at := pattern.FindStringIndex(said)
		return at != nil && strings.Count(said[at[1]:], "\n") > lines
	})
}

// interruptWhen runs a command and interrupts it when what it has said, and what others did, is enough. It must end with a code.
func interruptWhen(ts *testscript.TestScript, code string, args []string, enough func(said string) bool) {
	if runtime.GOOS == "windows" {
		benchOf(ts).t.Skip("processes cannot be interrupted here")
	}
	var both linesOf
	c := exec.Command(args[0], args[1:]...)
	c.Dir, c.Env = ts.MkAbs("."), append(os.Environ(), "PATH="+ts.Getenv("PATH"))
	c.Stdout, c.Stderr = io.MultiWriter(&both, ts.Stdout()), io.MultiWriter(&both, ts.Stderr())
	ts.Check(c.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait() // the state says how
	}()
	over := func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}
	late := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
	defer late.Stop()
	for !over() && !enough(both.String()) {
		time.Sleep(5 * time.Millisecond)
	}
	if over() {
		ts.Fatalf("it ended by itself, or after a minute: %v: %s", c.ProcessState, both.String())
	}
	ts.Check(c.Process.Signal(os.Interrupt))
	<-ended
	if got := strconv.Itoa(c.ProcessState.ExitCode()); got != code {
		ts.Fatalf("interrupted, it ended with %v, want code %s: %s", c.ProcessState, code, both.String())
	}
}
