package pipeline

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/netlab"
	"meridian/internal/testneed"
	"meridian/match"
	"meridian/trace"
)

// realCaptures has two hosts talk, and returns what tcpdump with the given arguments captured on each. Prepare sets the hosts up and
// returns the address of db.
func realCaptures(t *testing.T, arguments map[string][]string, prepare func(lab *netlab.Lab) netip.Addr) []*trace.Capture {
	t.Helper()
	lab := netlab.TwoHosts(t)
	lab.Offloads("web", false)
	lab.Offloads("db", false)
	traffic := netlab.Traffic{From: "web", To: "db", Bulk: []int64{200_000}, Chats: 2, Requests: 50, Reuses: 5, Datagrams: 300, Over: time.Second}
	traffic.Via = netip.AddrPortFrom(prepare(lab), 7000)
	// The first packet to a neighbour may wait a second for its address, on a busy machine: a delay that is true.
	lab.Run(netlab.Traffic{From: "web", To: "db", Requests: 1, Via: traffic.Via})
	var captures []*trace.Capture
	var files []*netlab.Capture
	for _, host := range []string{"web", "db"} {
		files = append(files, lab.Capture(host, arguments[host]...))
	}
	lab.Run(traffic)
	lab.StopCaptures()
	for i, host := range []string{"web", "db"} {
		var w trace.Warnings
		c, err := pcap.Read(context.Background(), files[i].File, host, &w, nil)
		if err != nil || len(w.Lines()) > 0 {
			t.Fatal(err, w.Lines())
		}
		captures = append(captures, c)
	}
	return captures
}

// Both captures have one clock, so a message that was received before it was sent, or a second after, is wrong. Late says by how much
// the stamp of a packet at either end may be late.
func wantRealMessages(t *testing.T, captures []*trace.Capture, ofPackets float64, late time.Duration) {
	t.Helper()
	var w trace.Warnings
	r, err := match.Match(context.Background(), captures, match.Options{}, &w)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Channels {
		for _, m := range c.Messages {
			if delay := m.Received - m.Sent; delay < -clock.HostTime(late) || delay > clock.HostTime(time.Second+late) {
				t.Fatalf("a message that took %d ns", delay)
			}
		}
	}
	packets := min(captures[0].Packets.Len(), captures[1].Packets.Len())
	// What tcpdump missed on a busy machine makes its like unsure: it is left out, and said.
	share := float64(r.Tally.Messages) / float64(packets)
	if told := float64(r.Tally.Messages+r.Tally.Unsure) / float64(packets); told < ofPackets || share < ofPackets/2 {
		t.Errorf("%d messages of %d packets (%.1f%%): %q", r.Tally.Messages, packets, 100*share, w.Lines())
	} else {
		t.Logf("%d messages of %d packets (%.1f%%): %q", r.Tally.Messages, packets, 100*share, w.Lines())
	}
}

func runOn(t *testing.T, lab *netlab.Lab, host, command string) {
	t.Helper()
	words := strings.Fields(command)
	if out, err := lab.Command(host, words[0], words[1:]...).CombinedOutput(); err != nil {
		testneed.Missing(t, "%s on %s: %v: %s", command, host, err, out)
	}
}

// vxlan joins both hosts by the kernel's VXLAN.
func vxlan(t *testing.T) func(lab *netlab.Lab) netip.Addr {
	return func(lab *netlab.Lab) netip.Addr {
		for host, v := range map[string]struct{ other, address string }{"web": {"db", "10.77.0.1"}, "db": {"web", "10.77.0.2"}} {
			runOn(t, lab, host, "ip link add vx type vxlan id 42 dstport 4789 remote "+lab.Address(host, v.other).String()+" dev eth0")
			runOn(t, lab, host, "ip addr add "+v.address+"/24 dev vx")
			runOn(t, lab, host, "ip link set vx up")
		}
		return netip.MustParseAddr("10.77.0.2")
	}
}

func TestRealVXLANNeedsNoAddress(t *testing.T) {
	t.Parallel()
	udp := []string{"udp", "port", "4789"}
	wantRealMessages(t, realCaptures(t, map[string][]string{"web": udp, "db": udp}, vxlan(t)), 0.9, 0)
}

func TestRealVXLANMatchesWithACaptureInsideIt(t *testing.T) {
	t.Parallel()
	arguments := map[string][]string{"web": {"udp", "port", "4789"}, "db": {"-i", "vx", "-y", "EN10MB"}}
	wantRealMessages(t, realCaptures(t, arguments, vxlan(t)), 0.9, 0)
}

func TestRealNetfilterLogsMatch(t *testing.T) {
	testneed.Program(t, "nft")
	log := []string{"-i", "nflog:5"}
	wantRealMessages(t, realCaptures(t, map[string][]string{"web": log, "db": log}, func(lab *netlab.Lab) netip.Addr {
		for _, host := range []string{"web", "db"} {
			c := lab.Command(host, "nft", "-f", "-")
			c.Stdin = strings.NewReader(`table inet meridian {
	chain in {
		type filter hook input priority 0
		ip protocol { tcp, udp } log group 5
	}
	chain out {
		type filter hook output priority 0
		ip protocol { tcp, udp } log group 5
	}
}`)
			if out, err := c.CombinedOutput(); err != nil {
				testneed.Missing(t, "packets cannot be logged: nft: %v: %s", err, out)
			}
		}
		return lab.Address("web", "db")
	}), 0.9, time.Minute) // tcpdump itself stamps what is logged, when it gets a processor
}
