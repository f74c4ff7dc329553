package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fleet is a server and agents that wait for commands.
type fleet struct {
	*collection
	agents map[string]*exec.Cmd
}

func newFleet(t *testing.T) *fleet { return &fleet{newCollection(t), map[string]*exec.Cmd{}} }

// standby starts the agent of a host that waits for commands.
func (f *fleet) standby(host string, flags ...string) {
	f.t.Helper()
	f.agent(host, append(append([]string{"--standby"}, flags...), "--", "--rings", f.rings)...)
}

// agent starts the agent of a host.
func (f *fleet) agent(host string, args ...string) {
	f.t.Helper()
	said, err := os.OpenFile(filepath.Join(f.dir, host+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) // a recorder outlives its agent, and with it a pipe
	if err != nil {
		f.t.Fatal(err)
	}
	defer said.Close()
	a := exec.Command("meridian", append([]string{"agent", "--server", f.url, "-o", filepath.Join(f.dir, host), "--host", host}, args...)...)
	a.Stdout, a.Stderr = said, said
	if err := a.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		_ = a.Process.Kill()
		if f.t.Failed() {
			b, _ := os.ReadFile(filepath.Join(f.dir, host+".log"))
			f.t.Logf("%s: %s", host, b)
		}
	})
	f.agents[host] = a
}

// ask runs a command of operators and returns its exit code and what it printed.
func (f *fleet) ask(args ...string) (code int, out, problem string) {
	f.t.Helper()
	var stdout, stderr bytes.Buffer
	c := exec.Command("meridian", append([]string{"server", args[0], "--server", f.url}, args[1:]...)...)
	c.Stdout, c.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		f.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// listed is a line of 'server sessions --json'.
type listed struct {
	Session, State string
	Stats          []struct {
		Host, State, Error string
		Stored, Waiting    int64
	}
}

// state returns what a host does in a session, "" if it is not listed.
func (f *fleet) state(session, host string) (state string, stored, waiting int64) {
	f.t.Helper()
	code, out, problem := f.ask("sessions", "--json")
	if code != 0 {
		f.t.Fatalf("sessions: exit code %d: %s", code, problem)
	}
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var s listed
		if err := d.Decode(&s); err == io.EOF {
			return "", 0, 0
		} else if err != nil {
			f.t.Fatal(err)
		}
		for _, h := range s.Stats {
			if s.Session == session && h.Host == host {
				return h.State, h.Stored, h.Waiting
			}
		}
	}
}

// becomes waits until a host is in a state.
func (f *fleet) becomes(session, host, want string) {
	f.t.Helper()
	state := ""
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		var waiting int64
		if state, _, waiting = f.state(session, host); state == want && waiting == 0 {
			return
		}
	}
	f.t.Fatalf("%s is %q in session %s, not %s", host, state, session, want)
}

// waiting waits until the agents of hosts are heard.
func (f *fleet) waiting(hosts ...string) {
	f.t.Helper()
	out := ""
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		_, out, _ = f.ask("hosts", "--json")
		if !slices.ContainsFunc(hosts, func(h string) bool { return !strings.Contains(out, `"host":"`+h+`"`) }) {
			return
		}
	}
	f.t.Fatalf("%q are not all there: %s", hosts, out)
}

// same compares what a host has of a session with what the server has.
func (f *fleet) same(session, host string) {
	f.t.Helper()
	c := *f.collection
	c.trace, c.stored = filepath.Join(f.dir, host, session), filepath.Join(f.dir, "stored", session, host)
	if d := c.differences(); d != nil {
		f.t.Errorf("%s: %v", host, d)
	}
	if info, err := os.Stat(filepath.Join(c.stored, "metadata")); err != nil || info.Size() == 0 {
		f.t.Errorf("%s has no trace on the server: %v", host, err)
	}
}

// expect runs a command that must end with a code and print something.
func (f *fleet) expect(code int, want string, args ...string) {
	f.t.Helper()
	got, out, problem := f.ask(args...)
	if got != code || !strings.Contains(out+problem, want) {
		f.t.Errorf("%q: exit code %d, want %d with %q: %s%s", args, got, code, want, out, problem)
	}
}

func TestOneCommandStartsAndStopsManyHosts(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.expect(3, "no host waits", "start", "early", "--hosts", "")
	f.expect(0, "", "stop", "early")
	f.standby("web")
	f.standby("db")
	f.waiting("web", "db")
	f.expect(3, "1 of 3 hosts", "start", "night", "--hosts", "web,db,cache", "--", "--flush", "10ms")
	f.becomes("night", "web", "recording")
	f.becomes("night", "db", "recording")
	f.becomes("night", "cache", "away")
	f.expect(1, "known already", "start", "night")
	f.expect(1, "runs on host web", "start", "other", "--hosts", "web")
	f.standby("cache") // it joins
	f.becomes("night", "cache", "recording")
	emit := exec.Command("emit", "300", "0")
	emit.Env = append(os.Environ(), "MERIDIAN="+f.rings)
	if out, err := emit.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f.expect(0, "", "stop", "night")
	for _, host := range []string{"web", "db", "cache"} {
		f.becomes("night", host, "ended")
		f.same("night", host)
	}
	f.expect(1, "known already", "start", "night")
	brought := filepath.Join(f.dir, "brought")
	f.expect(3, "has a trace of nobody", "fetch", "night", "--hosts", "web,nobody", "-o", brought)
	f.expect(1, "is there already", "fetch", "night", "-o", brought, "--hosts", "web")
	f.expect(0, filepath.Join(brought, "db"), "fetch", "night", "-o", brought, "--hosts", "db,cache")
	for _, host := range []string{"web", "db", "cache"} {
		c := *f.collection
		c.trace, c.stored = filepath.Join(f.dir, host, "night"), filepath.Join(brought, host)
		if d := c.differences(); d != nil {
			t.Errorf("%s: %v", host, d)
		}
	}
	if code := f.end(f.server); code != 0 {
		t.Errorf("the server's exit code is %d: %s", code, f.serverSaid)
	}
	for host, a := range f.agents {
		if code := f.end(a); code != 0 {
			t.Errorf("the agent of %s ends with exit code %d", host, code)
		}
	}
}

func TestASessionGoesOnWhenAgentsAndServersAreStartedAgain(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.standby("web")
	f.waiting("web")
	f.expect(0, "web", "start", "night", "--", "--flush", "10ms")
	_ = f.agents["web"].Process.Kill() // its recorder goes on
	_ = f.agents["web"].Wait()
	_ = f.server.Process.Kill()
	_ = f.server.Wait()
	f.serve(strings.TrimPrefix(f.url, "nats://"))
	f.standby("web")
	f.becomes("night", "web", "recording")
	if code := f.end(f.agents["web"]); code != 0 { // and its recorder with it
		t.Errorf("the agent ends with exit code %d", code)
	}
	f.expect(3, "is told when it comes", "stop", "night")
	f.standby("web", "--remove-sent") // it was told to record, and learns that this is over
	f.becomes("night", "web", "ended")
	if _, err := os.Stat(filepath.Join(f.dir, "web", "night", "metadata")); err == nil {
		t.Error("the trace is on the host still, and servers have it")
	}
	if _, stored, _ := f.state("night", "web"); stored == 0 {
		t.Error("the server has nothing")
	}
}

// Where the broker enforces the permissions of each role, they suffice for all that operators do.
func TestSessionsRunWithinThePermissionsOfKeys(t *testing.T) {
	t.Parallel()
	k := newKeyed(t)
	if err := os.Mkdir(k.rings, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(k.dir, "web.invitation")
	k.command("server", "invite", "-q", "--dir", k.keys, "--server", k.url, "-o", file, "web")
	k.serverSaid.await("host web: its key is accepted now")
	said := newWaited(t)
	a := exec.Command("meridian", "agent", "--standby", "--invite", file, "-o", filepath.Join(k.dir, "web"), "--", "-q", "--rings", k.rings)
	a.Stderr = said
	a.WaitDelay = 20 * time.Second
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Process.Kill() })
	said.await("waits for commands")
	ask := func(command ...string) string {
		t.Helper()
		return k.command(append([]string{"server", command[0], "--server", k.url, "--key", filepath.Join(k.keys, ".trust", "operator.key")}, command[1:]...)...)
	}
	eventually(t, "no host waits for commands", func() bool { return strings.Contains(ask("hosts"), "web") })
	if out := ask("start", "night", "--hosts", "web"); !strings.Contains(out, "recording") {
		t.Errorf("%s", out)
	}
	k.stores("web")
	if out := ask("stop", "night"); strings.Contains(out, "recording") {
		t.Errorf("%s", out)
	}
	said.await("session night is sent")
	if out := ask("sessions"); !strings.Contains(out, "stopped") || !strings.Contains(out, "web") {
		t.Errorf("%s", out)
	}
	if out, err := exec.Command("meridian", "server", "sessions", "--server", k.url).CombinedOutput(); err == nil || !strings.Contains(string(out), "asks for a key") {
		t.Errorf("without a key: %v: %s", err, out)
	}
	brought := filepath.Join(k.dir, "brought")
	ask("fetch", "night", "-o", brought)
	k.trace, k.stored = filepath.Join(k.dir, "web", "night"), filepath.Join(brought, "web")
	if d := k.differences(); d != nil {
		t.Error(d)
	}
	for _, p := range []*exec.Cmd{a, k.server} {
		if code := k.end(p); code != 0 {
			t.Errorf("%s ends with %d", p.Args[1], code)
		}
	}
	for who, text := range map[string]string{"agent": said.String(), "server": k.serverSaid.String()} {
		if strings.Contains(strings.ToLower(text), "permissions violation") {
			t.Errorf("the %s: %s", who, text)
		}
	}
}

func TestServersHaveAgentsDoNothingButRecord(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.standby("web")
	f.standby("free", "--allow-commands")
	f.waiting("web", "free")
	for _, flags := range [][]string{{"-o", "/tmp/x"}, {"--rings", "/tmp"}, {"--view"}, {"--probes", "/etc/passwd"}, {"--after", "/tmp"}, {"--kernel"}, {"stray"}, {"--nothing"}} {
		code, out, problem := f.ask(append([]string{"start", "bad", "--"}, flags...)...)
		if code != 2 || !strings.Contains(problem, "Try 'meridian server start --help'") {
			t.Errorf("%q: exit code %d: %s%s", flags, code, out, problem)
		}
	}
	marker := filepath.Join(f.dir, "ran")
	f.expect(3, "--allow-commands", "start", "run", "--", "--", "touch", marker)
	f.becomes("run", "free", "ended")
	if _, err := os.Stat(marker); err != nil {
		t.Error("the command did not run where it may")
	}
	if _, err := os.Stat(filepath.Join(f.dir, "web", "run")); err == nil {
		t.Error("the host that refused has a directory")
	}
	f.expect(0, "ended", "stop", "run")
	f.expect(3, "failed", "start", "wrong", "--hosts", "web", "--", "--kernel", "nothing")
}
