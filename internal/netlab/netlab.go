//go:build unix

// Package netlab builds small networks inside this machine for tests, sends real traffic through them and captures it
// on every host. All its hosts read one clock, the kernel's, so the true order and delay of all packets is known;
// [Warp] then gives a capture the clock it would have had on a machine of its own.
//
//	 network namespace "web"            "nat"                "db"
//	+----------------------+      +--------------+      +--------------+
//	| tcpdump  client  eth0 ------ eth0 nft eth1 ------ eth0   server  |
//	+------|---------------+ veth +--------------+ veth +---|----------+
//	    web.pcap -- Warp(sim.Clock) -->                  db.pcap
//
// A test builds a network, captures, lets its hosts talk, and has two files:
//
//	lab := netlab.New(t)
//	lab.Hosts("web", "db")
//	lab.Link("web", "db")
//	web, db := lab.Capture("web"), lab.Capture("db", "-i", "any", "-s", "96")
//	lab.Run(netlab.Mixed("web", "db"))
//	lab.StopCaptures()
//	err := netlab.Warp(db.File, warped, sim.Clock{OffsetNs: -3e9, SkewPPM: 40})
//
// A test package that uses it calls [Main] in its TestMain (or [Helper] first). The traffic inside the namespaces, and
// the janitor that removes them if the test dies, are processes of the same test binary.
//
// It needs Linux, root, iproute2 and tcpdump; nftables for routers that translate or lose packets, ethtool for
// offloads. Where one of them is missing the test is skipped, or fails if MERIDIAN_CI=1 (package testneed). Building a network of two
// hosts takes some 50 ms, and stopping a capture up to a second.
package netlab

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"meridian/internal/testneed"
)

// Lab is a network that lasts as long as the test that built it.
type Lab struct {
	t        testing.TB
	prefix   string // of the names of its namespaces
	dir      string // of its captures
	janitor  *janitor
	hosts    map[string]*host
	links    int
	captures []*Capture
}

var labs atomic.Int64

// New returns a lab without hosts, or ends the test if this machine cannot hold one.
func New(t testing.TB) *Lab {
	t.Helper()
	if !helping {
		t.Fatal("netlab: the package's TestMain does not call netlab.Main or netlab.Helper")
	}
	testneed.Root(t, "a network of namespaces")
	testneed.Program(t, "ip")
	testneed.Program(t, "tcpdump")
	l := &Lab{t: t, dir: t.TempDir(), hosts: make(map[string]*host)}
	l.prefix = fmt.Sprintf("meridian-%d-%d-", os.Getpid(), labs.Add(1))
	probe := l.prefix + "probe"
	if out, err := exec.Command("ip", "netns", "add", probe).CombinedOutput(); err != nil {
		testneed.Missing(t, "no network namespace can be made (in a container, run it with --privileged): %s", strings.TrimSpace(string(out)))
	}
	run(t, exec.Command("ip", "netns", "del", probe))

	var err error
	if l.janitor, err = startJanitor(); err != nil {
		t.Fatalf("netlab: %v", err)
	}
	t.Cleanup(func() {
		for _, c := range l.captures {
			c.kill()
		}
		if err := l.janitor.finish(); err != nil {
			t.Errorf("netlab: %v", err)
		}
	})
	return l
}

// TwoHosts returns a lab of the hosts web and db with a link between them.
func TwoHosts(t testing.TB) *Lab {
	t.Helper()
	l := New(t)
	l.Hosts("web", "db")
	l.Link("web", "db")
	return l
}

// Hosts adds hosts.
func (l *Lab) Hosts(names ...string) {
	l.t.Helper()
	for _, name := range names {
		if l.hosts[name] != nil {
			l.t.Fatalf("netlab: two hosts called %s", name)
		}
		h := &host{t: l.t, name: name, namespace: l.prefix + name}
		l.janitor.tell("+namespace", h.namespace)
		run(l.t, exec.Command("ip", "netns", "add", h.namespace))
		// Without a loopback address programs assume that there is no IPv6 (Go's net does).
		h.ip("link", "set", "lo", "up")
		l.hosts[name] = h
	}
}

// Command returns a command that runs on a host. It is killed when the test ends.
func (l *Lab) Command(host, program string, args ...string) *exec.Cmd {
	l.t.Helper()
	return l.host(host).command(l.t.Context(), program, args...)
}

// Namespace returns the name of a host's network namespace.
func (l *Lab) Namespace(host string) string { return l.host(host).namespace }

// Address returns the address under which one host reaches another: on the link they share, else on the target's
// first link.
func (l *Lab) Address(from, to string) netip.Addr { return l.host(to).portTo(from).v4 }

// Address6 is Address for IPv6.
func (l *Lab) Address6(from, to string) netip.Addr { return l.host(to).portTo(from).v6 }

func (l *Lab) host(name string) *host {
	l.t.Helper()
	h := l.hosts[name]
	if h == nil {
		l.t.Fatalf("netlab: no host called %s", name)
	}
	return h
}
