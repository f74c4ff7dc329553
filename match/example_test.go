package match_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"

	"meridian/clock"
	"meridian/match"
	"meridian/trace"
)

// capture is what a host saw of ten UDP requests from 10.0.0.1 and their answers. Its clock is ahead by the given ns.
// Captures usually come from a file: pcap.Read in meridian/format/pcap.
func capture(host string, asks bool, ahead clock.HostTime) *trace.Capture {
	c := &trace.Capture{Host: host, File: host + ".pcap", Granularity: 1000}
	client := trace.Endpoint{Addr: netip.MustParseAddr("10.0.0.1"), Port: 40_000}
	server := trace.Endpoint{Addr: netip.MustParseAddr("10.0.0.2"), Port: 53}
	c.Flows = []trace.Flow{{Low: client, High: server, Protocol: 17}}
	for i := range clock.HostTime(10) {
		request, answer := 1_700_000_000_000_000_000+i*20_000_000, clock.HostTime(0)
		answer = request + 900_000
		if !asks { // 200 µs on the way, each way
			request += 200_000
			answer -= 200_000
		}
		*c.Packets.Append() = trace.Packet{Time: request + ahead, Kind: trace.Datagram, Flow: 0, Length: 40, Digest: uint32(1000 + i), ID: uint16(i)}
		*c.Packets.Append() = trace.Packet{Time: answer + ahead, Kind: trace.Datagram, Flow: 1, Length: 90, Digest: uint32(2000 + i), ID: uint16(i)}
	}
	return c
}

// Match two captures of one conversation. Nothing is known of their clocks: the round trips tell which host asks.
func ExampleMatch() {
	captures := []*trace.Capture{capture("web", true, 0), capture("dns", false, 37_000_000_000)}
	var warnings trace.Warnings
	result, err := match.Match(context.Background(), captures, match.Options{}, &warnings)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range result.Channels {
		m := c.Messages[0]
		fmt.Printf("%s to %s: %d messages, the first %d ns by the stamps\n", result.Clocks[c.From].Name, result.Clocks[c.To].Name, len(c.Messages), m.Received-m.Sent)
	}
	for _, line := range warnings.Lines() {
		fmt.Println(line)
	}
	// Output:
	// web to dns: 10 messages, the first 37000200000 ns by the stamps
	// dns to web: 10 messages, the first -36999800000 ns by the stamps
}

// An address decides where the captures do not tell who sent: here one of them has only the requests.
func ExampleMatch_addresses() {
	web, dns := capture("web", true, 0), capture("dns", false, 0)
	requests := &trace.Capture{Host: "dns", File: dns.File, Granularity: dns.Granularity, Flows: dns.Flows}
	for i := 0; i < dns.Packets.Len(); i += 2 {
		*requests.Packets.Append() = *dns.Packets.At(i)
	}
	for _, o := range []match.Options{{}, {Addresses: map[string][]netip.Addr{"web": {netip.MustParseAddr("10.0.0.1")}}}} {
		var warnings trace.Warnings
		result, err := match.Match(context.Background(), []*trace.Capture{web, requests}, o, &warnings)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Tally.Messages, "messages", warnings.Lines())
	}
	// Output:
	// 0 messages [packets left out of matching: nothing tells which host sent them; name an address with --address HOST=IP (10 times, first UDP 10.0.0.1:40000-10.0.0.2:53 in web.pcap and dns.pcap)]
	// 10 messages []
}

// Match marks: events that say themselves of which message they are an end.
func ExampleTagged() {
	key := trace.KeyOf("request", "4711")
	client := &trace.Marks{Hosts: []string{"web"}, Marks: []trace.Mark{{Time: 100, Key: key, Role: trace.Sends}}}
	server := &trace.Marks{Hosts: []string{"db"}, Marks: []trace.Mark{{Time: 350, Key: key, Role: trace.Receives}}}
	result := match.Tagged([]match.TaggedFile{{Marks: client, Clocks: []int{0}}, {Marks: server, Clocks: []int{1}}}, nil)
	for _, c := range result.Channels {
		fmt.Println("from clock", c.From, "to clock", c.To, c.Messages)
	}
	fmt.Println(result.Tally)
	// Output:
	// from clock 0 to clock 1 [{100 350}]
	// 1 messages, 0 collectives, 0 on one clock, 0 ambiguous, 0 with one end alone
}

// A barrier amounts to a message from every member to every other: nobody leaves before all have entered.
func ExampleCollectives() {
	barrier := trace.Collective{Name: "barrier", Members: []trace.Member{{Clock: 0, Entered: 10, Left: 90}, {Clock: 1, Entered: 40, Left: 70}}}
	for _, c := range match.Collectives([]trace.Collective{barrier}) {
		fmt.Println("from clock", c.From, "to clock", c.To, c.Messages)
	}
	// Output:
	// from clock 0 to clock 1 [{10 70}]
	// from clock 1 to clock 0 [{40 90}]
}
