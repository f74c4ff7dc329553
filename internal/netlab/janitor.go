//go:build unix

package netlab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// role is the environment variable that makes the test binary a helper.
const role = "MERIDIAN_NETLAB"

var helping bool

// Main is what a test package's TestMain calls: it runs the tests, or the helper that this process was started as.
func Main(m *testing.M) {
	Helper()
	os.Exit(m.Run())
}

// Helper returns at once in an ordinary process. In one that a lab started it does the helper's work and exits.
func Helper() {
	helping = true
	var err error
	switch os.Getenv(role) {
	case "":
		return
	case "janitor":
		err = clean(os.Stdin)
	case "server":
		err = serve(os.Stdin, os.Stdout)
	case "client":
		err = talk(os.Stdin)
	case "wire":
		err = disturb(os.Stdin, os.Stdout)
	default:
		err = fmt.Errorf("no helper called %s", os.Getenv(role))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// asHelper makes a command that starts this binary, on a host or not, one that starts it in a role.
func asHelper(c *exec.Cmd, as string) *exec.Cmd {
	c.Env = append(os.Environ(), role+"="+as)
	return c
}

// janitor is the other process, which holds one end of a pipe and is told of everything that must not outlive the
// test. However the test ends, by returning, by a panic in any goroutine, by its time limit or by a signal, the pipe
// ends with it, and the janitor removes what is left. It is the only one to remove namespaces, so that every test that
// passes has tested it.
type janitor struct {
	command *exec.Cmd
	pipe    io.WriteCloser
}

func startJanitor() (*janitor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := asHelper(exec.Command(self), "janitor")
	c.Stderr = new(strings.Builder)
	// A session of its own, so that the terminal's interrupt reaches the test but not the janitor.
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("janitor: %w", err)
	}
	return &janitor{command: c, pipe: pipe}, nil
}

// tell adds ("+") or takes off ("-") a namespace or a process.
func (j *janitor) tell(what, which string) {
	// A janitor that died shows in finish.
	fmt.Fprintf(j.pipe, "%s %s\n", what, which)
}

func (j *janitor) finish() error {
	j.pipe.Close()
	if err := j.command.Wait(); err != nil {
		return fmt.Errorf("janitor: %w: %s", err, j.command.Stderr)
	}
	return nil
}

// clean is the janitor's work.
func clean(orders io.Reader) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	processes := make(map[int]bool)
	var namespaces []string
	lines := bufio.NewScanner(orders)
	for lines.Scan() {
		what, which, _ := strings.Cut(lines.Text(), " ")
		pid, _ := strconv.Atoi(which)
		switch what {
		case "+namespace":
			namespaces = append(namespaces, which)
		case "+process":
			processes[pid] = true
		case "-process":
			delete(processes, pid)
		}
	}
	if err := lines.Err(); err != nil { // what was announced before is cleaned all the same
		fmt.Fprintln(os.Stderr, "janitor:", err)
	}
	for pid := range processes {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	var failed []error
	for _, name := range namespaces {
		if _, err := os.Stat("/run/netns/" + name); err != nil {
			continue // announced, but never made
		}
		if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out))))
		}
	}
	return errors.Join(failed...)
}
