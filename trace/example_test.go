package trace_test

import (
	"fmt"
	"net/netip"

	"meridian/clock"
	"meridian/trace"
)

// A reader reports each bad packet; a user sees one line.
func ExampleWarnings() {
	var w trace.Warnings
	for n := range 1000 {
		w.Add("web.pcap", "header cut short", fmt.Sprintf("packet %d", 40+n))
	}
	w.Add("db.pcap", "no packets", "")
	for _, line := range w.Lines() {
		fmt.Println(line)
	}
	// Output:
	// web.pcap: header cut short (1000 times, first packet 40)
	// db.pcap: no packets
}

// Both ends of a message name it by the same parts, the kind of name first.
func ExampleKeyOf() {
	sent := trace.KeyOf("span", "4bf92f3577b34da6", "00f067aa0ba902b7")
	received := trace.KeyOf("span", "4bf92f3577b34da6", "00f067aa0ba902b7")
	fmt.Println(sent == received)
	fmt.Println(trace.KeyOf("span", "4bf9", "2f35") == trace.KeyOf("span", "4bf92", "f35")) // parts are not just joined
	// Output:
	// true
	// false
}

// Make a capture of packets that another program has.
func ExampleCapture() {
	c := trace.Capture{Host: "web", File: "my tracer", Granularity: 1}
	c.Flows = append(c.Flows, trace.Flow{
		Low:  trace.Endpoint{Addr: netip.MustParseAddr("10.0.0.1"), Port: 40_000},
		High: trace.Endpoint{Addr: netip.MustParseAddr("10.0.0.2"), Port: 443}, Protocol: 6,
	})
	const fromLow, fromHigh = 0, 1 // of the first flow
	*c.Packets.Append() = trace.Packet{Time: 1_700_000_000_000_000_000, Kind: trace.TCP, Flow: fromLow, Seq: 1, Length: 100, From: trace.Sent}
	*c.Packets.Append() = trace.Packet{Time: 1_700_000_000_000_900_000, Kind: trace.TCP, Flow: fromHigh, Ack: 101, Flags: trace.ACK, From: trace.Received}
	*c.Packets.Append() = trace.Packet{Time: 1_700_000_000_001_000_000, Kind: trace.TCP, Flow: 1 << 1}
	fmt.Println(c.Flows[0].String(), c.Packets.Len())
	fmt.Println(c.Check())
	// Output:
	// TCP 10.0.0.1:40000-10.0.0.2:443 3
	// packet 2: flow 1 of 1; NoFlow marks a packet without one
}

// Stamps of a log that was cut to milliseconds.
func ExampleGranularity() {
	var g trace.Granularity
	for i := range clock.HostTime(500) {
		g.Add(1_700_000_000_000_000_000 + (16*i*i+i)*1_000_000)
	}
	fmt.Println(g.Step(), "ns")
	// Output:
	// 1000000 ns
}
