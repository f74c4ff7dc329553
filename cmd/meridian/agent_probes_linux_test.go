package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/internal/collect/wire"
	"meridian/internal/show"
)

// session is a server and agents of several hosts on this machine.
type session struct {
	t      *testing.T
	dir    string
	url    string
	server *exec.Cmd
	agents map[string]*exec.Cmd
}

func newSession(t *testing.T, flags ...string) *session {
	t.Helper()
	s := &session{t: t, dir: t.TempDir(), agents: map[string]*exec.Cmd{}}
	s.server = exec.Command("meridian", append([]string{"server", "--dir", filepath.Join(s.dir, "stored"), "--listen", "127.0.0.1:0", "--name", "s"}, flags...)...)
	s.server.Stderr = s.log("server")
	lines := bufio.NewScanner(started(t, s.server))
	if !lines.Scan() {
		t.Fatalf("the server: %s", s.said("server"))
	}
	s.url = lines.Text()
	return s
}

// log returns a file that a process writes its log to: a recorder outlives its agent, and with it a pipe.
func (s *session) log(name string) *os.File {
	s.t.Helper()
	f, err := os.Create(filepath.Join(s.dir, name+".log"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { f.Close() })
	return f
}

func (s *session) said(name string) string {
	b, _ := os.ReadFile(filepath.Join(s.dir, name+".log"))
	return string(b)
}

// record has a host recorded.
func (s *session) record(host string, agentFlags ...string) {
	s.t.Helper()
	rings := filepath.Join(s.dir, "rings-"+host)
	if err := os.MkdirAll(rings, 0o700); err != nil {
		s.t.Fatal(err)
	}
	args := []string{"agent", "--server", s.url, "-o", filepath.Join(s.dir, host), "--session", "night", "--host", host}
	c := exec.Command("meridian", append(append(args, agentFlags...), "--", "-q", "--rings", rings)...)
	c.Stderr = s.log(host)
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Process.Signal(os.Interrupt); _ = c.Wait() })
	s.agents[host] = c
}

// hosts waits until agents say of themselves what is wanted.
func (s *session) hosts(wanted func(map[string]wire.AgentStatus) bool) map[string]wire.AgentStatus {
	s.t.Helper()
	var all map[string]wire.AgentStatus
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); {
		out, err := exec.Command("meridian", "server", "hosts", "--server", s.url, "--json").Output()
		if err != nil {
			s.t.Fatal(err)
		}
		all = map[string]wire.AgentStatus{}
		for line := range bytes.Lines(out) {
			var a wire.AgentStatus
			if err := json.Unmarshal(line, &a); err != nil {
				s.t.Fatal(err)
			}
			all[a.Host] = a
		}
		if wanted(all) {
			return all
		}
	}
	text, _ := json.Marshal(all)
	s.t.Fatalf("the hosts stay so: %s\n%s", text, s.said("server"))
	return nil
}

func (s *session) end() {
	s.t.Helper()
	for _, c := range s.agents {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			s.t.Fatal(err)
		}
	}
	for host, c := range s.agents {
		if err := c.Wait(); err != nil {
			s.t.Errorf("%s: %v: %s", host, err, s.said(host))
		}
	}
	if err := s.server.Process.Signal(os.Interrupt); err != nil {
		s.t.Fatal(err)
	}
	if err := s.server.Wait(); err != nil {
		s.t.Errorf("the server: %v: %s", err, s.said("server"))
	}
}

// Three hosts have no traffic and know nothing of each other. One comes later, and is found too.
func TestTheServerHasHostsProbeEachOther(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	measured := func(hosts ...string) func(map[string]wire.AgentStatus) bool {
		return func(all map[string]wire.AgentStatus) bool {
			of := map[string]bool{}
			for from, a := range all {
				if a.Probing == nil {
					return false
				}
				for _, x := range a.Probing.Pairs {
					if x.Exchanges >= 5 && x.WidthNs > 0 && !x.Silent {
						of[from], of[x.Host] = true, true
					}
				}
			}
			for _, h := range hosts {
				if !of[h] {
					return false
				}
			}
			return true
		}
	}
	s.record("a")
	s.record("b")
	s.hosts(measured("a", "b"))
	s.record("c")
	all := s.hosts(measured("a", "b", "c"))
	for host, a := range all {
		if !strings.HasPrefix(a.Probing.Address, "127.0.0.1:") || a.Probing.Error != "" {
			t.Errorf("%s answers at %q: %s", host, a.Probing.Address, a.Probing.Error)
		}
		info, err := os.Stat(filepath.Join(s.dir, host, ".probes"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the plan of %s, which has a key: %v, %v", host, info.Mode(), err)
		}
	}
	eventually(t, "the table does not have each host's pairs", func() bool { // it has what it hears within its time
		out, err := exec.Command("meridian", "server", "hosts", "--server", s.url).CombinedOutput()
		return err == nil && strings.Count(string(out), "pairs") == 3 && !strings.Contains(string(out), "no bound")
	})
	s.end()

	stored := filepath.Join(s.dir, "stored", "night")
	report := filepath.Join(s.dir, "report.json")
	if out, err := exec.Command("meridian", "align", "-q", filepath.Join(stored, "a"), filepath.Join(stored, "b"), filepath.Join(stored, "c"), "-o", report).CombinedOutput(); err != nil {
		t.Fatalf("align: %v: %s", err, out)
	}
	text, err := os.Open(report)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	r, err := show.ReadReport(text)
	if err != nil || len(r.Hosts) != 3 {
		t.Fatalf("%d hosts, %v", len(r.Hosts), err)
	}
	for _, h := range r.Hosts {
		if h.Component != r.Hosts[0].Component {
			t.Errorf("%s is not connected to %s", h.Name, r.Hosts[0].Name)
		}
	}
	for _, p := range r.Pairs {
		if p.OffsetNs == nil || p.BoundNs == nil || max(*p.OffsetNs, -*p.OffsetNs) > *p.BoundNs {
			t.Errorf("%s and %s have one clock: its offset is %v ± %v", p.A, p.B, p.OffsetNs, p.BoundNs)
		}
		t.Log(p.A, p.B, *p.OffsetNs, *p.BoundNs)
	}
	for _, host := range []string{"a", "b", "c"} {
		lost, err := exec.Command("meridian", "convert", filepath.Join(stored, host), "-o", filepath.Join(s.dir, fmt.Sprintf("%s.csv", host))).CombinedOutput()
		if err != nil || strings.Contains(string(lost), "lost") {
			t.Errorf("%s: %v: %s", host, err, lost)
		}
	}
}

func TestAnAgentThatIsToExchangeNoProbesDoesNot(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.record("a")
	s.record("b", "--probe-address", "off")
	s.hosts(func(all map[string]wire.AgentStatus) bool {
		return len(all) == 2 && all["a"].Probing != nil && all["b"].Probing == nil && len(all["b"].Servers) > 0
	})
	if _, err := os.Stat(filepath.Join(s.dir, "b", ".probes")); err == nil {
		t.Error("it has a plan")
	}
	s.end()
}

func TestAddressesOfProbesThatCannotBeAreWrongUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"write ADDRESS:PORT":           {"--probe-address", "10.0.0.2", "--"},
		"--probe-address :x":           {"--probe-address", ":x", "--"},
		"cannot be used with --probes": {"--probe-address", ":0", "--", "--probes", "plan"},
		"cannot be used with --netns":  {"--probe-address", ":0", "--", "--netns=web", "--", "true"},
	} {
		c := exec.Command("meridian", append([]string{"agent", "-o", t.TempDir()}, args...)...)
		out, _ := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), want) {
			t.Errorf("%v: exit code %d: %s", args, code, out)
		}
	}
}
