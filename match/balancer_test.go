package match

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// A balancer passes requests on to a server, which answers the client itself. So the balancer sees one way only; that
// the client's address is the client's shows in what client and server have in common.
func TestABalancerWhoseServersAnswerTheClientIsAligned(t *testing.T) {
	client, service := trace.Endpoint{Addr: netip.MustParseAddr("192.0.2.7"), Port: 40_000}, trace.Endpoint{Addr: netip.MustParseAddr("198.51.100.1"), Port: 80}
	r := testseed.New(t)
	for range 60 {
		offsets := []int64{0, r.Int64N(1e10) - 5e9, r.Int64N(1e10) - 5e9}
		names := []string{"client", "balancer", "server"}
		packets := make([][]trace.Packet, 3)
		left := make(map[[2]int64]bool) // true times of packets at two hosts, the earlier first
		pass := func(at int64, way uint32, p trace.Packet, hosts ...int) int64 {
			p.Kind, p.Flow, p.TTL = trace.TCP, way, 64
			before := int64(0)
			for k, h := range hosts {
				if k > 0 {
					at += 100_000 + r.Int64N(50_000)
				}
				p.Time = clock.HostTime(at + offsets[h])
				packets[h] = append(packets[h], p)
				if k > 0 {
					left[[2]int64{before, at}] = true
				}
				before = at
			}
			return at
		}
		now, seq, ack := int64(1e12), r.Uint32(), r.Uint32()
		for i := range 30 {
			request := trace.Packet{Seq: seq, Ack: ack, Length: 100, TSVal: uint32(i + 1), Flags: trace.ACK, ID: uint16(i + 1)}
			now = pass(now, 0, request, 0, 1, 2)
			seq += 100
			answer := trace.Packet{Seq: ack, Ack: seq, Length: 500, TSVal: uint32(i + 1), Flags: trace.ACK, ID: uint16(1000 + i)}
			now = pass(now+20_000, 1, answer, 2, 0)
			ack += 500
			now += r.Int64N(20_000_000)
		}
		order := rand.New(rand.NewPCG(r.Uint64(), 1)).Perm(3)
		var captures []*trace.Capture
		for _, h := range order {
			c := &trace.Capture{Host: names[h], File: names[h] + ".pcap", Granularity: 1, Flows: []trace.Flow{{Low: client, High: service, Protocol: protocolTCP}}}
			slices.SortStableFunc(packets[h], func(a, b trace.Packet) int { return cmp.Compare(a.Time, b.Time) })
			for _, p := range packets[h] {
				*c.Packets.Append() = p
			}
			captures = append(captures, c)
		}
		var w trace.Warnings
		found, err := Match(context.Background(), captures, Options{}, &w)
		if err != nil {
			t.Fatal(err)
		}
		messages := make(map[[2]string]int)
		for _, c := range found.Channels {
			from, to := found.Clocks[c.From].Host, found.Clocks[c.To].Host
			messages[[2]string{from, to}] += len(c.Messages)
			for _, m := range c.Messages {
				sent, received := int64(m.Sent)-offsets[slices.Index(names, from)], int64(m.Received)-offsets[slices.Index(names, to)]
				if sent >= received {
					t.Fatalf("%s to %s: received %d ns before it was sent", from, to, sent-received)
				}
			}
		}
		for _, ends := range [][2]string{{"client", "balancer"}, {"balancer", "server"}, {"server", "client"}} {
			if messages[ends] != 30 {
				t.Errorf("%v: %d messages, want 30: %q", ends, messages[ends], w.Lines())
			}
		}
	}
}
