//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"meridian/internal/netlab"
	"meridian/internal/record"
)

// recorder is one of those that are compared.
type recorder struct {
	name    string
	what    string   // is recorded
	command []string // its trace goes to the path that is put for OUT
	summary bool     // is what it prints
	ready   func(r *running) bool
	result  func(r *running) (tally, error) // when it has ended
}

// tally is what a recorder says that it has.
type tally struct {
	events, lost uint64
	bytes        int64
	missed       uint64 // of the lost events, those for which the kernel ran no program
}

// running is a recorder at work.
type running struct {
	*exec.Cmd
	out   string // the trace
	said  bytes.Buffer
	ended chan error
}

const (
	unrecorded  = "unrecorded"
	oursName    = "meridian --kernel net"
	allName     = "the same, both ends"
	packetsName = "meridian --packets"
)

// recorders returns the recorders to measure, and those that cannot be measured with the reason.
func (b *bench) recorders(l *netlab.Lab) (all []*recorder, missing []string) {
	ours := func(args ...string) []string {
		// Rings are looked for where there are none: other programs of this machine are not to be recorded.
		return append([]string{b.meridian, "record", "--quiet", "--json", "--rings", b.dir, "--output", "OUT"}, args...)
	}
	all = []*recorder{
		{name: unrecorded},
		{name: oursName, what: "headers, times, buffers", command: ours("--netns", l.Namespace("web"), "--kernel", "net"), summary: true, ready: began, result: summed},
		{name: allName, what: "the same", command: ours("--kernel", "net"), summary: true, ready: began, result: summed},
		{name: packetsName, what: "headers, times", command: ours("--netns", l.Namespace("web"), "--packets=eth0", "--snaplen", "128"), summary: true, ready: began, result: summed},
	}
	if _, err := exec.LookPath("tcpdump"); err == nil {
		all = append(all, &recorder{name: "tcpdump -s 128", what: "headers, times", ready: listens, result: captured,
			command: []string{"ip", "netns", "exec", l.Namespace("web"), "tcpdump", "-n", "-Z", "root", "-s", "128", "-B", "65536", "-i", "eth0", "-w", "OUT"}})
	} else {
		missing = append(missing, "tcpdump is not installed (Debian: tcpdump)")
	}
	if _, err := exec.LookPath("trace-cmd"); err == nil {
		all = append(all, &recorder{name: "trace-cmd, both ends", what: "times, buffers, lengths", ready: piping, result: reported,
			command: append(withoutFilters(), "trace-cmd", "record", "-C", "mono", "-b", "4096", "-e", "net:net_dev_queue", "-e", "net:netif_receive_skb", "-o", "OUT")})
	} else {
		missing = append(missing, "trace-cmd is not installed (Debian: trace-cmd)")
	}
	return all, missing
}

// withoutFilters is for kernels that forbid writing the filters of the function tracer, which trace-cmd clears before it
// records events. It runs trace-cmd in a mount namespace in which other files replace them.
func withoutFilters() []string {
	f, err := os.OpenFile("/sys/kernel/tracing/set_ftrace_filter", os.O_WRONLY, 0)
	if err == nil {
		f.Close()
	}
	if !errors.Is(err, fs.ErrPermission) || os.Geteuid() != 0 {
		return nil
	}
	// It takes tracefs where it finds it first.
	const script = `for dir in /sys/kernel/tracing /sys/kernel/debug/tracing; do
		for f in $dir/set_ftrace_filter $dir/set_ftrace_notrace $dir/set_ftrace_pid; do
			if [ -e $f ]; then mount --bind /dev/null $f; fi
		done
	done
	mount --bind /dev/null /proc/sys/kernel/ftrace_enabled
	exec "$@"`
	return []string{"unshare", "-m", "sh", "-ec", script, "sh"}
}

// start starts a recorder and returns when it records. The one that does not record is nil.
func (r *recorder) start(out string) (*running, error) {
	if r.command == nil {
		return nil, nil
	}
	var args []string
	for _, a := range r.command {
		args = append(args, strings.ReplaceAll(a, "OUT", out))
	}
	run := &running{Cmd: exec.Command(args[0], args[1:]...), out: out, ended: make(chan error, 1)}
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	// What it says goes to files: it must be read while it runs.
	logs, err := os.Create(out + ".log")
	if err != nil {
		return nil, err
	}
	defer logs.Close()
	run.Stdout, run.Stderr = logs, logs
	if r.summary {
		run.Stdout = &run.said
	}
	if err := run.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	go func() { run.ended <- run.Wait() }()
	for begun := time.Now(); !r.ready(run); time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-run.ended:
			run.kill()
			return nil, fmt.Errorf("%s exited at once: %v: %s", r.name, err, run.log())
		default:
		}
		if time.Since(begun) > 20*time.Second {
			run.kill()
			return nil, fmt.Errorf("%s does not start: %s", r.name, run.log())
		}
	}
	time.Sleep(settleTime)
	return run, nil
}

// settleTime is how long a recorder has before a load, to start, and after it, to read the rest.
const settleTime = 300 * time.Millisecond

func (r *running) log() string {
	b, _ := os.ReadFile(r.out + ".log")
	return strings.TrimSpace(string(b))
}

// stop ends a recorder as a user does.
func (r *running) stop() error {
	if err := r.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	select {
	case err := <-r.ended:
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 3 {
			return nil // ours, which has lost something and says so
		}
		if err != nil {
			return fmt.Errorf("%w: %s", err, r.log())
		}
		return nil
	case <-time.After(time.Minute):
		r.kill()
		return fmt.Errorf("%s does not exit", r.Path)
	}
}

// kill ends all processes of a recorder.
func (r *running) kill() { _ = syscall.Kill(-r.Process.Pid, syscall.SIGKILL) }

func began(r *running) bool   { _, err := os.Stat(filepath.Join(r.out, "metadata")); return err == nil }
func listens(r *running) bool { return strings.Contains(r.log(), "listening on") }

// piping says that trace-cmd has a process for each processor at work. What it says itself waits in its buffer.
func piping(r *running) bool {
	files, _ := filepath.Glob(r.out + ".cpu*")
	return len(files) > 0
}

// summed reads the summary of meridian record. Only packets are counted; the summary does not have the size of their file.
func summed(r *running) (t tally, err error) {
	var s record.Summary
	if err := json.Unmarshal(r.said.Bytes(), &s); err != nil {
		return t, fmt.Errorf("summary of meridian record: %w: %s", err, r.log())
	}
	for _, c := range s.Streams {
		if strings.HasPrefix(c.Name, "kernel") {
			t.events, t.lost, t.bytes = t.events+c.Events, t.lost+c.Lost, t.bytes+int64(c.Bytes)
		}
		if c.Interface != "" {
			t.events, t.lost = t.events+c.Events, t.lost+c.Lost
		}
	}
	t.missed = s.Missed
	files, _ := filepath.Glob(filepath.Join(r.out, "packets", "*"))
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			t.bytes += info.Size()
		}
	}
	return t, nil
}

var captures = regexp.MustCompile(`(\d+) packets? (captured|dropped by kernel)`)

// captured reads what tcpdump says at its end.
func captured(r *running) (t tally, err error) {
	found := captures.FindAllStringSubmatch(r.log(), -1)
	if len(found) != 2 {
		return t, fmt.Errorf("unexpected output of tcpdump: %q", r.log())
	}
	for _, f := range found {
		n, _ := strconv.ParseUint(f[1], 10, 64)
		if f[2] == "captured" {
			t.events = n
		} else {
			t.lost = n
		}
	}
	info, err := os.Stat(r.out)
	if err == nil {
		t.bytes = info.Size()
	}
	return t, err
}

var sizes, dropped = regexp.MustCompile(`(\d+) bytes in size(?: \((\d+) uncompressed\))?`), regexp.MustCompile(`\[(\d+) EVENTS DROPPED\]`)

// reported has trace-cmd read its file. The bytes are those that it wrote while it recorded; it compresses in the end.
func reported(r *running) (t tally, err error) {
	c := exec.Command("trace-cmd", "report", "-i", r.out)
	out, err := c.StdoutPipe()
	if err != nil {
		return t, err
	}
	if err := c.Start(); err != nil {
		return t, err
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, "net_dev_queue:") || strings.Contains(line, "netif_receive_skb:") {
			t.events++
		} else if m := dropped.FindStringSubmatch(line); m != nil {
			n, _ := strconv.ParseUint(m[1], 10, 64)
			t.lost += n
		}
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return t, err
		}
	}
	for _, m := range sizes.FindAllStringSubmatch(r.log(), -1) {
		text := m[1]
		if m[2] != "" && m[2] != "0" {
			text = m[2]
		}
		n, _ := strconv.ParseInt(text, 10, 64)
		t.bytes += n
	}
	return t, c.Wait()
}
