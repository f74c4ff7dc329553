//go:build unix

package netlab

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"time"

	"meridian/internal/testneed"
)

// Link connects two hosts by a pair of virtual Ethernet interfaces with addresses of both families. A host's
// interfaces are eth0, eth1 and so on, in the order of its links.
func (l *Lab) Link(a, b string) {
	l.t.Helper()
	l.links++
	ends := [2]struct{ host, peer string }{{a, b}, {b, a}}
	var ports [2]port
	for i, end := range ends {
		ports[i] = port{
			name: fmt.Sprintf("eth%d", len(l.host(end.host).ports)),
			peer: end.peer,
			v4:   netip.AddrFrom4([4]byte{10, 77, byte(l.links), byte(i + 1)}),
			v6:   netip.MustParseAddr(fmt.Sprintf("fd77:%d::%d", l.links, i+1)),
		}
	}
	run(l.t, exec.Command("ip", "link", "add", ports[0].name, "netns", l.host(a).namespace, "type", "veth",
		"peer", "name", ports[1].name, "netns", l.host(b).namespace))
	for i, end := range ends {
		h, p := l.host(end.host), ports[i]
		h.ports = append(h.ports, p)
		h.ip("address", "add", p.v4.String()+"/24", "dev", p.name)
		// Without nodad the address is of no use for the first second.
		h.ip("address", "add", p.v6.String()+"/64", "dev", p.name, "nodad")
		h.ip("link", "set", p.name, "up")
	}
}

// Router adds a host that forwards packets between two others, which are linked to it and not to each other.
func (l *Lab) Router(name, a, b string) {
	l.t.Helper()
	router := l.forward(name, a, b)
	l.host(a).route(router)
	l.host(b).route(router)
}

// forward adds a host that forwards packets between two others.
func (l *Lab) forward(name, a, b string) *host {
	l.t.Helper()
	l.Hosts(name)
	l.Link(a, name)
	l.Link(name, b)
	h := l.host(name)
	h.run("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward && echo 1 >/proc/sys/net/ipv6/conf/all/forwarding")
	return h
}

// NAT adds a router that translates the addresses of both sides. Packets from inside arrive at outside as from the
// router, from ports between 20000 and 29999. Inside reaches the given TCP and UDP port of outside at the address and
// port that NAT returns. Outside has no route to inside. NAT is for IPv4 alone.
func (l *Lab) NAT(name, inside, outside string, port uint16) netip.AddrPort {
	l.t.Helper()
	testneed.Program(l.t, "nft")
	router := l.forward(name, inside, outside)
	l.host(inside).route(router)
	public := netip.AddrPortFrom(l.Address(inside, name), 8080)
	router.nft(fmt.Sprintf(`table ip lab {
		chain arriving {
			type nat hook prerouting priority dstnat
			iifname eth0 ip protocol { tcp, udp } th dport %d dnat to %s:%d
		}
		chain leaving {
			type nat hook postrouting priority srcnat
			oifname eth1 ip protocol { tcp, udp } masquerade to :20000-29999
			oifname eth1 masquerade
		}
	}`, public.Port(), l.Address(name, outside), port))
	return public
}

// Loss makes a host drop at random so many percent of the packets that it receives or forwards. A capture on the host
// still has those it receives; of those that a router drops, the hosts behind it see nothing.
func (l *Lab) Loss(host string, percent float64) {
	l.t.Helper()
	testneed.Program(l.t, "nft")
	drop := fmt.Sprintf("numgen random mod 100000 < %d drop", int(percent*1000))
	l.host(host).nft(fmt.Sprintf(`table inet loss {
		chain receive {
			type filter hook input priority filter
			%[1]s
		}
		chain pass {
			type filter hook forward priority filter
			%[1]s
		}
	}`, drop))
}

// Disturbance is what a network does to packets of either direction. The zero value passes them on as they come.
type Disturbance struct {
	Lost     float64       // share of packets
	Repeated float64       // share of those not lost that arrive twice
	Delay    time.Duration // of all packets
	Late     float64       // share of arrivals that take up to twice as long, behind packets sent after them
	Seed     uint64
}

// Disturbed links two hosts by a wire that loses, repeats, delays and reorders what it carries. Neither host's packets change on the
// way, so offloads, checksums included, are switched off at both.
func (l *Lab) Disturbed(wire, a, b string, how Disturbance) {
	l.t.Helper()
	testneed.Program(l.t, "ethtool")
	l.Hosts(wire)
	l.Link(a, wire)
	l.Link(wire, b)
	for _, end := range [][2]string{{a, b}, {b, a}} {
		h, other := l.host(end[0]), l.host(end[1]).portTo(wire)
		own := h.portTo(wire).name
		h.ip("route", "add", other.v4.String(), "dev", own)
		h.ip("-6", "route", "add", other.v6.String(), "dev", own)
	}
	for _, p := range l.host(wire).ports {
		l.host(wire).ip("address", "flush", "dev", p.name)
	}
	for _, host := range []string{a, b, wire} {
		for _, p := range l.host(host).ports {
			l.host(host).run("ethtool", "-K", p.name, "tx", "off", "tso", "off", "gso", "off", "gro", "off")
		}
	}
	order, err := json.Marshal(how)
	if err != nil {
		l.t.Fatalf("netlab: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		l.t.Fatalf("netlab: %v", err)
	}
	stop, err := l.host(wire).helper(self, "wire", string(order))
	if err != nil {
		l.t.Fatalf("netlab: wire between %s and %s: %v", a, b, err)
	}
	l.t.Cleanup(func() {
		if err := stop(); err != nil {
			l.t.Errorf("netlab: wire between %s and %s: %v", a, b, err)
		}
	})
}

// Offloads switches segmentation and coalescing (TSO, GSO, GRO) on or off at all interfaces of a host. With them on,
// captures have segments larger than any packet on a wire.
func (l *Lab) Offloads(host string, on bool) {
	l.t.Helper()
	testneed.Program(l.t, "ethtool")
	state := "off"
	if on {
		state = "on"
	}
	h := l.host(host)
	for _, p := range h.ports {
		h.run("ethtool", "-K", p.name, "tso", state, "gso", state, "gro", state)
	}
}
