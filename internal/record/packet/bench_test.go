//go:build linux

package packet

import (
	"context"
	"testing"

	"meridian/internal/netlab"
	"meridian/trace"
)

// BenchmarkCapture: small frames that lie in the ring are read, headers only.
func BenchmarkCapture(b *testing.B) {
	lab := netlab.TwoHosts(b)
	frame := ethernetOf(lab, "web", "db", typeIPv4, ipv4(protoUDP, "10.1.2.3", "10.3.2.1", 0, udp(4242, 4242, 400)))
	frames := make([][]byte, 100_000)
	for i := range frames {
		frames[i] = frame
	}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		c, err := Open(Options{NetNS: lab.Command("db", "true").Args[3], Interfaces: []string{"eth0"}, Filter: "udp port 4242"})
		if err != nil {
			b.Fatal(err)
		}
		inject(b, lab.Command("web", "true").Args[3], "eth0", frames)
		b.StartTimer()
		if err := c.drain(func(*trace.Frame, trace.Direction) error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := c.Read(ctx, func(*trace.Frame, trace.Direction) error { return nil }); err != nil {
			b.Fatal(err)
		}
		c.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/packet")
}
