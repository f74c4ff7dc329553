package main_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// collection is a server, an agent and what they write.
type collection struct {
	t               *testing.T
	dir, rings, url string
	trace, stored   string
	server, agent   *exec.Cmd
	agentFlags      []string
	group           bool // the agent is of a process group of its own, with its recorder
	serverSaid      *waited
	agentSaid       *bytes.Buffer
}

func (c *collection) serve(listen string) {
	c.t.Helper()
	c.serverSaid = newWaited(c.t)
	c.server = exec.Command("meridian", "server", "--dir", filepath.Join(c.dir, "stored"), "--listen", listen, "--name", "s")
	c.server.Stderr = c.serverSaid
	lines := bufio.NewScanner(started(c.t, c.server))
	if !lines.Scan() {
		_ = c.server.Wait()
		c.t.Fatalf("the server: %s", c.serverSaid)
	}
	c.url = lines.Text()
}

func (c *collection) record(flags ...string) {
	c.t.Helper()
	c.agentSaid = new(bytes.Buffer)
	c.agent = exec.Command("meridian", slices.Concat([]string{"agent", "--server", c.url, "-o", c.trace, "--session", "night", "--host", "web", "--drain", "3m"}, c.agentFlags,
		[]string{"--", "-q", "--rings", c.rings, "--flush", "10ms"}, flags)...)
	file, err := os.Create(filepath.Join(c.dir, "agent.log")) // a recorder outlives its agent, and with it a pipe
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { file.Close() })
	c.agent.Stderr = file
	c.agent.SysProcAttr = &syscall.SysProcAttr{Setpgid: c.group}
	if err := c.agent.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = c.agent.Process.Kill() })
}

// endRecorders lets no recorder outlive a test that failed: they outlive their agents.
func (c *collection) endRecorders() {
	for _, p := range c.recorders() {
		_ = p.Kill()
	}
}

// recorders returns the processes that record into traces of the test.
func (c *collection) recorders() (found []*os.Process) {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, path := range all {
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), "\x00record\x00-o\x00"+c.dir+"/") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			c.t.Fatal(err)
		}
		if p, err := os.FindProcess(pid); err == nil {
			found = append(found, p)
		}
	}
	return found
}

func newCollection(t *testing.T) *collection {
	dir := t.TempDir()
	c := &collection{t: t, dir: dir, rings: filepath.Join(dir, "rings"), trace: filepath.Join(dir, "trace"), stored: filepath.Join(dir, "stored", "night", "web")}
	if err := os.Mkdir(c.rings, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.endRecorders)
	c.serve(ownAddress())
	return c
}

// addresses counts those of [ownAddress].
var addresses atomic.Int32

// ownAddress returns an address at which nobody else listens, and from which nobody connects: it is of this process, and its port is of none that
// systems choose when a program asks for any. So a server can be started there again.
func ownAddress() string {
	pid := os.Getpid() // of up to 22 bits
	own := netip.AddrFrom4([4]byte{127, 64 + byte(pid>>16), byte(pid >> 8), byte(pid)})
	return netip.AddrPortFrom(own, uint16(10_000+addresses.Add(1))).String()
}

// differences compares what was recorded with what is stored. A file that grows meanwhile may have more in the store than was read here first, of
// what it has by now.
func (c *collection) differences() (out []string) {
	c.t.Helper()
	content := func(dir string) map[string]string {
		files := map[string]string{}
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // not yet
			}
			if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") {
				return err
			}
			b, err := os.ReadFile(path)
			files[strings.TrimPrefix(path, dir)] = string(b)
			return err
		})
		if err != nil {
			c.t.Fatal(err)
		}
		return files
	}
	recorded, stored := content(c.trace), content(c.stored)
	grew := func(name string) bool {
		now, err := os.ReadFile(filepath.Join(c.trace, name))
		return err == nil && strings.HasPrefix(stored[name], recorded[name]) && strings.HasPrefix(string(now), stored[name])
	}
	for name, b := range recorded {
		if stored[name] != b && !grew(name) {
			out = append(out, fmt.Sprintf("%s: %d bytes recorded, %d stored", name, len(b), len(stored[name])))
		}
	}
	for name := range stored {
		if _, ok := recorded[name]; !ok {
			out = append(out, name+" is stored and was not recorded")
		}
	}
	return out
}

func (c *collection) end(cmd *exec.Cmd) (code int) {
	c.t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		c.t.Fatal(err)
	}
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

func TestAnAgentBringsTheTraceOfACommand(t *testing.T) {
	c := newCollection(t)
	c.record("--", "emit", "300", "7")
	_ = c.agent.Wait()
	if code := c.agent.ProcessState.ExitCode(); code != 7 { // the command's
		said, _ := os.ReadFile(filepath.Join(c.dir, "agent.log"))
		t.Fatalf("exit code %d: %s", code, said)
	}
	if d := c.differences(); d != nil {
		t.Error(d)
	}
	if code := c.end(c.server); code != 0 {
		t.Errorf("the server's exit code is %d: %s", code, c.serverSaid)
	}
}

func TestWhatIsDroppedUnsentIsToldByTheAgentAndByReadersOfTheServersDirectory(t *testing.T) {
	c := newCollection(t)
	c.record("--keep", "1MiB")
	emit := func(n string) {
		cmd := exec.Command("emit", n)
		cmd.Env = append(os.Environ(), "MERIDIAN="+c.rings)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	emit("10")
	eventually(t, "the agent sends nothing", func() bool {
		_, err := os.Stat(filepath.Join(c.stored, "metadata"))
		return err == nil
	})
	_ = c.server.Process.Kill()
	_ = c.server.Wait()
	for range 5 {
		emit("200000") // some 60 MB: more than the agent sends of what was removed
	}
	c.serve(strings.TrimPrefix(c.url, "nats://"))
	emit("10")
	code := c.end(c.agent)
	said, err := os.ReadFile(filepath.Join(c.dir, "agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	if code != 3 || !regexp.MustCompile(`meridian: [0-9]+ bytes lost with [0-9]+ packets or more since .* was begun: the recorder dropped them before they were sent \(--keep, --spool\)`).Match(said) {
		t.Errorf("exit code %d: %s", code, said)
	}
	if d := c.differences(); d != nil {
		for _, line := range d {
			if !strings.HasSuffix(line, " is stored and was not recorded") { // it was, and was dropped
				t.Error(line)
			}
		}
	}
	out, err := exec.Command("meridian", "convert", c.stored, "-o", filepath.Join(c.dir, "events.csv")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the recorder kept the last part only") {
		t.Errorf("%v: %s", err, out)
	}
	_ = c.end(c.server)
}

func TestAnAgentRecordsBeforeItsBrokerIsThere(t *testing.T) {
	c := newCollection(t)
	_ = c.server.Process.Kill()
	_ = c.server.Wait()
	c.record()
	emit := func(n string) {
		cmd := exec.Command("emit", n)
		cmd.Env = append(os.Environ(), "MERIDIAN="+c.rings)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	emit("300")
	for until := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) { // the recorder has them
		if sensors, _ := filepath.Glob(filepath.Join(c.trace, "sensor_*")); len(sensors) > 0 {
			break
		} else if time.Now().After(until) {
			t.Fatal("nothing is recorded")
		}
	}
	c.serve(strings.TrimPrefix(c.url, "nats://"))
	emit("10")
	code := c.end(c.agent)
	said, err := os.ReadFile(filepath.Join(c.dir, "agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	if code != 0 || !strings.Contains(string(said), "cannot be reached yet") || !strings.Contains(string(said), "connected to "+c.url) {
		t.Errorf("the agent's exit code is %d: %s", code, said)
	}
	if d := c.differences(); d != nil {
		t.Error(d)
	}
	_ = c.end(c.server)
}

func TestAnAgentThatIsRefusedWhenTheBrokerComesSaysSo(t *testing.T) {
	c := newCollection(t)
	_ = c.end(c.server)
	c.record()
	for until := time.Now().Add(60 * time.Second); len(c.recorders()) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("nothing is recorded")
		}
	}
	address := strings.TrimPrefix(c.url, "nats://")
	if out, err := exec.Command("meridian", "server", "init", "-q", "--dir", filepath.Join(c.dir, "stored"), "--name", netip.MustParseAddrPort(address).Addr().String()).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.serve(address)
	path := filepath.Join(c.dir, "agent.log")
	for until := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if said, _ := os.ReadFile(path); strings.Contains(string(said), "the broker asks for a key") {
			break
		} else if time.Now().After(until) {
			t.Fatalf("the agent says %s", said)
		}
	}
	_ = c.agent.Process.Kill()
	_ = c.agent.Wait()
	for _, p := range c.recorders() {
		_ = p.Signal(os.Interrupt)
	}
	_ = c.end(c.server)
}
