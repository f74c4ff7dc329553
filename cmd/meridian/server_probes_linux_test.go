package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"meridian/internal/collect/wire"
	"meridian/internal/netlab"
	"meridian/internal/show"
)

// a and b reach the server and not each other. With the server's trace their clocks are bounded, without it they are not.
func TestHostsThatReachTheServerAloneAreBoundedThroughIt(t *testing.T) {
	t.Parallel()
	lab := netlab.New(t)
	lab.Hosts("a", "s", "b")
	lab.Link("a", "s")
	lab.Link("s", "b")
	at := lab.Address("a", "s").String() // of the server, for both
	for _, c := range []*exec.Cmd{lab.Command("s", "sysctl", "-q", "-w", "net.ipv4.ip_forward=0"), lab.Command("b", "ip", "route", "add", at, "via", lab.Address("b", "s").String()),
		lab.Command("a", "ip", "route", "add", lab.Address("s", "b").String(), "via", at)} {
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", c.Args, err, out)
		}
	}
	s := &session{t: t, dir: t.TempDir(), url: "nats://" + net.JoinHostPort(at, "4222"), agents: map[string]*exec.Cmd{}}
	stored := filepath.Join(s.dir, "stored")
	begin := func(host string, args ...string) *exec.Cmd {
		c := lab.Command(host, "meridian", args...)
		c.Stderr = s.log(host)
		t.Cleanup(func() {
			if c.Process != nil {
				_ = c.Process.Kill()
			}
		})
		return c
	}
	s.server = begin("s", "server", "--dir", stored, "--listen", net.JoinHostPort(at, "4222"), "--insecure", "--name", "s", "--probe-address", net.JoinHostPort(at, "0"))
	if lines := bufio.NewScanner(started(t, s.server)); !lines.Scan() {
		t.Fatalf("the server: %s", s.said("s"))
	}
	c := &collection{t: t, dir: s.dir}
	t.Cleanup(c.endRecorders)
	for _, host := range []string{"a", "b"} {
		rings := filepath.Join(s.dir, "rings-"+host)
		if err := os.Mkdir(rings, 0o700); err != nil {
			t.Fatal(err)
		}
		s.agents[host] = begin(host, "agent", "--server", s.url, "-o", filepath.Join(s.dir, host), "--session", "night", "--host", host, "--", "-q", "--rings", rings)
		if err := s.agents[host].Start(); err != nil {
			t.Fatal(err)
		}
	}
	measured := func() (hosts map[string]bool, said []byte) {
		said, err := lab.Command("s", "meridian", "server", "hosts", "--server", s.url, "--json").Output()
		if err != nil {
			t.Fatal(err)
		}
		hosts = map[string]bool{}
		for line := range bytes.Lines(said) {
			var a wire.AgentStatus
			if err := json.Unmarshal(line, &a); err != nil {
				t.Fatal(err)
			}
			if a.Probing == nil {
				continue
			}
			for _, x := range a.Probing.Pairs {
				if x.Exchanges >= 5 && x.WidthNs > 0 && !x.Silent && (a.Host == "server-s") != (x.Host == "server-s") {
					hosts[a.Host], hosts[x.Host] = true, true
				}
			}
		}
		return hosts, said
	}
	for until := time.Now().Add(2 * time.Minute); ; {
		hosts, said := measured()
		if len(hosts) == 3 {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("%v: %s\n%s", hosts, said, s.said("s"))
		}
	}
	s.end()
	if said := s.said("s"); bytes.Contains([]byte(said), []byte("clock probes of this server:")) {
		t.Errorf("the server: %s", said)
	}
	align := func(hosts ...string) (r *show.Report, code int) {
		report := filepath.Join(s.dir, "report.json")
		args := []string{"align", "-q", "-o", report}
		for _, h := range hosts {
			args = append(args, filepath.Join(stored, "night", h))
		}
		c := exec.Command("meridian", args...)
		out, _ := c.CombinedOutput()
		f, err := os.Open(report)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		defer f.Close()
		if r, err = show.ReadReport(f); err != nil {
			t.Fatal(err)
		}
		return r, c.ProcessState.ExitCode()
	}
	if _, code := align("a", "b"); code != 3 {
		t.Errorf("a and b have exchanged probes: align ends with exit code %d", code)
	}
	r, code := align("a", "b", "server-s")
	if code != 0 || len(r.Hosts) != 3 || len(r.Pairs) < 2 {
		t.Fatalf("exit code %d: %+v", code, r)
	}
	for _, h := range r.Hosts {
		if h.Component != r.Hosts[0].Component {
			t.Errorf("%s is not connected to %s", h.Name, r.Hosts[0].Name)
		}
	}
	for _, p := range r.Pairs {
		if p.Fit == "absent" {
			continue
		}
		if p.OffsetNs == nil || p.BoundNs == nil || max(*p.OffsetNs, -*p.OffsetNs) > *p.BoundNs {
			t.Errorf("%s and %s have one clock: its offset is %v ± %v", p.A, p.B, p.OffsetNs, p.BoundNs)
			continue
		}
		t.Log(p.A, p.B, *p.OffsetNs, *p.BoundNs)
	}
	t.Log(r.Quality.BoundNs)
}

func TestWhereHostsCannotReachTheServersClockIsWrongUsage(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"10.0.0.2", "0.0.0.0:0", ":0", "collector:0", "224.0.0.1:7", "off"} {
		c := exec.Command("meridian", "server", "--dir", t.TempDir(), "--listen", "127.0.0.1:0", "--probe-address", address)
		if out, _ := c.CombinedOutput(); c.ProcessState.ExitCode() != 2 || !bytes.Contains(out, []byte("write the ADDRESS:PORT")) {
			t.Errorf("%s: exit code %d: %s", address, c.ProcessState.ExitCode(), out)
		}
	}
}
