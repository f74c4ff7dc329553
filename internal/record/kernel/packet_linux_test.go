package kernel_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"meridian/format/pcap"
	meaning "meridian/internal/kernel"
	"meridian/internal/netlab"
	"meridian/internal/record/internal/kerneltest"
	"meridian/internal/record/kernel"
	"meridian/internal/record/packet"
	"meridian/trace"
)

// seen says of a packet what both a capture and the kernel's events know.
func seen(c *trace.Capture, p *trace.Packet) string {
	if p.Flow == trace.NoFlow || p.Kind != trace.TCP && p.Kind != trace.Datagram {
		return ""
	}
	f := &c.Flows[p.Flow/2]
	from, to := f.Ends(int(p.Flow % 2))
	s := fmt.Sprintf("%s %s > %s length %d", trace.ProtocolName(f.Protocol), from, to, p.Length)
	if p.Kind == trace.TCP {
		s += fmt.Sprintf(" seq %d ack %d flags %#x", p.Seq, p.Ack, p.Flags)
	}
	return s
}

func tally(c *trace.Capture) map[string]int {
	n := make(map[string]int)
	for i := range c.Packets.Len() {
		if s := seen(c, c.Packets.At(i)); s != "" {
			n[s]++
		}
	}
	return n
}

// knowEachOther tells a host its peer's address on the link: it never asks for it, in a moment when one recorder has stopped and
// another has not.
func knowEachOther(t *testing.T, lab *netlab.Lab, host, peer string) {
	t.Helper()
	mac, err := lab.Command(peer, "cat", "/sys/class/net/eth0/address").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []netip.Addr{lab.Address(host, peer), lab.Address6(host, peer)} {
		c := lab.Command(host, "ip", "neigh", "replace", to.String(), "lladdr", strings.TrimSpace(string(mac)), "dev", "eth0", "nud", "permanent")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// TestEveryPacketThatTcpdumpSeesIsAmongTheEvents lets two hosts talk while one recorder records all and one the events of a
// host alone. What they lack of the captures must be counted as lost.
func TestEveryPacketThatTcpdumpSeesIsAmongTheEvents(t *testing.T) {
	lab := netlab.TwoHosts(t)
	knowEachOther(t, lab, "web", "db")
	knowEachOther(t, lab, "db", "web")
	captures := map[string]*netlab.Capture{"web": lab.Capture("web", "-s", "128", "(ip or ip6) and not ether multicast"), "db": lab.Capture("db", "-s", "128", "(ip or ip6) and not ether multicast")}
	all := record(t, kernel.Options{Groups: kernel.Net, BufferSize: 32 << 20}) // the machine may be busy
	web := record(t, kernel.Options{Groups: kernel.Net, NetNS: netns(t, lab, "web")})
	lab.Run(netlab.Traffic{From: "web", To: "db", Bulk: []int64{1 << 20}, Chats: 2, Requests: 50, Reuses: 5, Datagrams: 50, Pings: 10},
		netlab.Traffic{From: "db", To: "web", IPv6: true, Bulk: []int64{1 << 20}, Chats: 2, Requests: 50, Datagrams: 50, Pings: 10})
	all.Stop()
	web.Stop()
	lab.StopCaptures()
	var missing []string
	lacks := map[*kerneltest.Recording]int{}
	space := map[string]uint32{"web": netns(t, lab, "web"), "db": netns(t, lab, "db")}
	for host, file := range captures {
		captured, err := pcap.Read(context.Background(), file.File, host, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		here := all.Source(func(e *kerneltest.Event) bool { return e.Value(t, "netns").Bits == uint64(space[host]) })
		recorded, err := meaning.Packets(here, host, "events", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, got := tally(captured), tally(recorded)
		alone := got
		if host == "web" {
			c, err := meaning.Packets(web.Source(nil), host, "events", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			alone = tally(c)
		} // of db, the recorder of web has nothing
		if len(want) < 500 {
			t.Fatalf("%s: only %d different packets captured", host, len(want))
		}
		for s, n := range want {
			lacks[all] += max(0, n-got[s])
			lacks[web] += max(0, n-alone[s])
			if got[s] < n || alone[s] < n {
				missing = append(missing, fmt.Sprintf("%s: %d events, %d of the namespace alone, of %d packets %s", host, got[s], alone[s], n, s))
			}
		}
		wrong := 0
		for s, n := range got {
			if (n > want[s] || alone[s] > want[s]) && !strings.Contains(s, "> ff02:") {
				if wrong++; wrong < 10 {
					t.Errorf("%s: %d events, %d of the namespace alone, of only %d packets %s", host, n, alone[s], want[s], s)
				}
			}
		}
		t.Logf("%s: %d packets, %d different", host, recorded.Packets.Len(), len(want))
	}
	for i := range web.Events {
		if of := web.Events[i].Value(t, "netns").Bits; of != uint64(space["web"]) {
			t.Fatalf("event of namespace %d", of)
		}
	}
	if lacks[all] > int(all.Lost()) || lacks[web] > int(web.Lost()) {
		t.Errorf("%d and %d packets lack, %d and %d are counted as lost; %q", lacks[all], lacks[web], all.Lost(), web.Lost(), missing[:min(len(missing), 10)])
	}
}

func TestAddressesOfBuffersAreThere(t *testing.T) {
	lab := netlab.TwoHosts(t)
	rec := record(t, kernel.Options{Groups: kernel.Net, NetNS: netns(t, lab, "web")})
	lab.Run(netlab.Traffic{From: "web", To: "db", Pings: 5})
	events := rec.Stop()
	for i := range events {
		if at := events[i].Value(t, "skbaddr").Bits; at>>48 == 0 {
			t.Errorf("%#x is not an address of the kernel", at)
		}
	}
	if lost := int(rec.Lost()); len(events)+lost < 10 {
		t.Errorf("%d events of 5 pings, %d lost", len(events), lost)
	}
}

func TestWhatThereWasNoRoomForIsCounted(t *testing.T) {
	lab := netlab.TwoHosts(t)
	space := netns(t, lab, "web")
	whole := record(t, kernel.Options{Groups: kernel.Net, NetNS: space})
	tiny := open(t, kernel.Options{Groups: kernel.Net, NetNS: space, BufferSize: 1}) // a page, and nobody reads it
	lab.Run(netlab.Traffic{From: "web", To: "db", Bulk: []int64{1 << 20}, Datagrams: 500})
	if err := tiny.Recorder.Stop(); err != nil {
		t.Fatal(err)
	}
	tiny.Read(context.Background())
	kept, truth := len(tiny.Stop()), len(whole.Stop())
	lost := int(tiny.Lost())
	if kept == 0 || lost == 0 || kept+lost > truth+int(whole.Lost()) || kept+lost < 1000 {
		t.Errorf("%d kept and %d lost of %d, and %d that the other recorder lost", kept, lost, truth, whole.Lost())
	}
}

// TestPacketsAreSelectedByTheirHeaders compares a recorder of selected packets with one of all, of the same host at the same time.
func TestPacketsAreSelectedByTheirHeaders(t *testing.T) {
	lab := netlab.TwoHosts(t)
	space := netns(t, lab, "web")
	filter, err := packet.NewHeaderFilter("udp and outbound or icmp")
	if err != nil {
		t.Fatal(err)
	}
	all := record(t, kernel.Options{Groups: kernel.Net, NetNS: space})
	some := record(t, kernel.Options{Groups: kernel.Net, NetNS: space, Packets: func(outgoing bool, network, transport []byte) bool {
		return len(network) > 0 && !filter.Excludes(&packet.Headers{Network: network, Transport: transport, Outgoing: outgoing})
	}})
	lab.Run(netlab.Traffic{From: "web", To: "db", Bulk: []int64{1 << 16}, Chats: 2, Requests: 10, Datagrams: 50, Pings: 10})
	all.Stop()
	some.Stop()
	matches := func(e *kerneltest.Event) bool {
		header := e.Value(t, "network_header")
		if header.Bits != 1 { // IPv4
			return false
		}
		protocol := header.Items[0].Items[7].Bits
		return protocol == 17 && e.Name() == "net_dev_queue" || protocol == 1
	}
	want := 0
	for i := range all.Events {
		if matches(&all.Events[i]) {
			want++
		}
	}
	for i := range some.Events {
		if !matches(&some.Events[i]) {
			t.Fatalf("%s of %v is not selected", some.Events[i].Name(), some.Events[i].Values)
		}
	}
	if got, lost, ofAll := len(some.Events), int(some.Lost()), int(all.Lost()); want+ofAll < 60 || got+lost < want || got > want+ofAll {
		t.Errorf("%d events, and %d match of all; %d and %d are counted as lost", got, want, lost, ofAll)
	}
}
