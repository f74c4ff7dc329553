package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// keyed is a server with keys, and agents by invitation.
type keyed struct {
	*collection
	keys string             // the server's directory
	said map[string]*waited // by the agents of hosts
}

func newKeyed(t *testing.T) *keyed {
	dir := t.TempDir()
	k := &keyed{&collection{t: t, dir: dir, rings: filepath.Join(dir, "rings")}, filepath.Join(dir, "stored"), map[string]*waited{}}
	t.Cleanup(k.endRecorders)
	k.command("server", "init", "-q", "--dir", k.keys, "--name", "127.0.0.1")
	k.serve("0.0.0.0:0")
	return k
}

// command runs meridian to its end, which must be a good one.
func (k *keyed) command(args ...string) (out string) {
	k.t.Helper()
	b, err := exec.Command("meridian", args...).CombinedOutput()
	if err != nil {
		k.t.Fatalf("%v: %v: %s", args, err, b)
	}
	return string(b)
}

// invited returns an agent of a host with an invitation, and what it says. drain is how long it goes on sending at its end.
func (k *keyed) invited(host, drain string) (c *exec.Cmd, said *waited) {
	k.t.Helper()
	rings, file := filepath.Join(k.dir, "rings-"+host), filepath.Join(k.dir, host+".invitation")
	if err := os.Mkdir(rings, 0o700); err != nil {
		k.t.Fatal(err)
	}
	k.command("server", "invite", "-q", "--dir", k.keys, "--server", k.url, "-o", file, host)
	k.serverSaid.await("host " + host + ": its key is accepted now")
	said = newWaited(k.t)
	k.said[host] = said
	c = exec.Command("meridian", "agent", "--invite", file, "-o", filepath.Join(k.dir, "trace-"+host), "--session", "night", "--drain", drain, "--", "-q", "--rings", rings, "--flush", "10ms")
	c.Stderr = said
	c.WaitDelay = 20 * time.Second
	if err := c.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = c.Process.Kill() })
	return c, said
}

// stores waits until the server has the metadata of a host.
func (k *keyed) stores(host string) {
	k.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(k.keys, "night", host, "metadata")); err == nil {
			return
		} else if time.Now().After(deadline) {
			k.t.Fatalf("%v; the server: %s; its agent: %s", err, k.serverSaid, k.said[host])
		}
	}
}

func TestAgentsByInvitationAreStoredAndARevokedOneIsRefused(t *testing.T) {
	k := newKeyed(t)
	agents, said := map[string]*exec.Cmd{}, map[string]*waited{}
	for host, drain := range map[string]string{"web": "3m", "db": "1s", "mail": "3m"} { // that of db sends in vain
		agents[host], said[host] = k.invited(host, drain)
	}
	for host := range agents {
		k.stores(host)
	}
	operator := []string{"--server", k.url, "--key", filepath.Join(k.keys, ".trust", "operator.key")}
	out := ""
	for until := time.Now().Add(time.Minute); strings.Count(out, "night") != 3; {
		if out = k.command(append([]string{"server", "hosts"}, operator...)...); time.Now().After(until) {
			t.Fatalf("not all hosts are heard: %s", out)
		}
	}
	k.command("server", "revoke", "--dir", k.keys, "db")
	said["db"].await("the broker does not know the key of host db")
	problem := "its key was revoked at "
	for until := time.Now().Add(time.Minute); !strings.Contains(out, problem) && time.Now().Before(until); {
		out = k.command(append([]string{"server", "sessions"}, operator...)...)
	}
	if strings.Count(out, problem) != 1 || !strings.Contains(out, "'meridian server invite db --dir "+k.keys+"' makes another") {
		t.Errorf("%s", out)
	}
	fetch := exec.Command("meridian", append([]string{"server", "fetch", "night", "-q", "-o", filepath.Join(k.dir, "brought")}, operator...)...)
	if out, _ := fetch.CombinedOutput(); fetch.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "db: "+problem) || strings.Contains(string(out), "web: ") {
		t.Errorf("fetch ends with %v: %s", fetch.ProcessState, out)
	}
	for host, c := range agents {
		want := 0
		if host == "db" {
			want = 3 // its recorder has written more at its end
		}
		if code := k.end(c); code != want {
			t.Errorf("the agent of %s ends with %d: %s", host, code, said[host])
		}
	}
	for _, host := range []string{"web", "mail"} {
		k.trace, k.stored = filepath.Join(k.dir, "trace-"+host), filepath.Join(k.keys, "night", host)
		if d := k.differences(); d != nil {
			t.Error(host, d)
		}
		if strings.Contains(said[host].String(), "connection") {
			t.Errorf("the agent of %s was disturbed: %s", host, said[host])
		}
	}
	if code := k.end(k.server); code != 0 {
		t.Errorf("the server ends with %d: %s", code, k.serverSaid)
	}
}

func TestWithoutAnInvitationNothingIsStored(t *testing.T) {
	k := newKeyed(t)
	k.command("server", "invite", "-q", "--dir", k.keys, "--server", k.url, "-o", filepath.Join(k.dir, "web.invitation"), "web")
	other := filepath.Join(k.dir, "other")
	k.command("server", "init", "-q", "--dir", other, "--name", "127.0.0.1")
	k.command("server", "invite", "-q", "--dir", other, "--server", k.url, "-o", filepath.Join(k.dir, "foreign.invitation"), "web")
	for name, test := range map[string]struct {
		flags []string
		code  int
		says  string
	}{
		"no key":                    {[]string{"--server", k.url}, 1, "asks for a key"},
		"another server's":          {[]string{"--invite", filepath.Join(k.dir, "foreign.invitation")}, 1, "the key is of another server"},
		"of another host":           {[]string{"--invite", filepath.Join(k.dir, "web.invitation"), "--host", "db"}, 2, "is the invitation of host web"},
		"the server's key":          {[]string{"--invite", filepath.Join(k.keys, ".trust", "server.key")}, 2, "one of the role host is wanted"},
		"a file that is no key":     {[]string{"--invite", filepath.Join(k.keys, ".trust", "ca.pem")}, 2, "not a key or invitation"},
		"a file that is not there":  {[]string{"--invite", filepath.Join(k.dir, "none")}, 2, "no such file"},
		"an address without a name": {[]string{"--invite", filepath.Join(k.dir, "web.invitation"), "--server", strings.Replace(k.url, "127.0.0.1", "127.0.0.2", 1)}, 1, "connect by another address"},
	} {
		c := exec.Command("meridian", append(append([]string{"agent", "-o", filepath.Join(k.dir, "trace")}, test.flags...), "--", "-q")...)
		out, _ := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); code != test.code || !strings.Contains(string(out), test.says) {
			t.Errorf("%s: exit code %d: %s", name, code, out)
		}
	}
	stored, err := filepath.Glob(filepath.Join(k.keys, "*", "*", "metadata"))
	if err != nil || len(stored) != 0 {
		t.Errorf("%v, %v", stored, err)
	}
	_ = k.end(k.server)
}
