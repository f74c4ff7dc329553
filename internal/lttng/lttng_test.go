package lttng_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/format/ctf/ctftest"
	"meridian/format/pcap"
	"meridian/internal/kernel"
	"meridian/internal/lttng"
	"meridian/internal/testneed"
	"meridian/trace"
)

// epoch is when the traffic of these tests begins.
const epoch = 1_700_000_000_000_000_000

var own, other = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")

// traffic writes a capture of n packets of several conversations: TCP over both versions of IP, UDP, ICMP.
func traffic(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.pcap")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := pcapgo.NewWriterNanos(file)
	if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	at := int64(epoch)
	for i := range n {
		at += []int64{800, 3000, 20_000, 300_000, 200_000_000}[min(random.IntN(20), random.IntN(20))%5]
		ethernet := &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv4}
		from, to := own, other
		if random.IntN(2) == 0 {
			from, to = to, from
		}
		port := layers.TCPPort(40_000 + random.IntN(6))
		tcp := &layers.TCP{SrcPort: port, DstPort: 443, Seq: random.Uint32(), Ack: random.Uint32(), ACK: true, PSH: i%3 == 0, FIN: i%50 == 0,
			Window: uint16(random.IntN(1 << 16))}
		if from == other {
			tcp.SrcPort, tcp.DstPort = tcp.DstPort, tcp.SrcPort
		}
		if i%2 == 0 {
			tcp.Options = []layers.TCPOption{{OptionType: layers.TCPOptionKindNop}, {OptionType: layers.TCPOptionKindNop},
				{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10, OptionData: make([]byte, 8)}}
		}
		four := &layers.IPv4{Version: 4, TTL: 64, Id: uint16(i), Protocol: layers.IPProtocolTCP, SrcIP: from.AsSlice(), DstIP: to.AsSlice()}
		parts := []gopacket.SerializableLayer{ethernet, four, tcp}
		switch random.IntN(8) {
		case 0:
			four.Protocol = layers.IPProtocolUDP
			parts[2] = &layers.UDP{SrcPort: 53, DstPort: 5353}
			parts[2].(*layers.UDP).SetNetworkLayerForChecksum(four)
		case 1:
			four.Protocol = layers.IPProtocolICMPv4
			parts[2] = &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0), Id: 7, Seq: uint16(i)}
		case 2:
			ethernet.EthernetType = layers.EthernetTypeIPv6
			six := &layers.IPv6{Version: 6, HopLimit: 61, NextHeader: layers.IPProtocolTCP, SrcIP: mapped(from), DstIP: mapped(to)}
			tcp.SetNetworkLayerForChecksum(six)
			parts[1] = six
		default:
			tcp.SetNetworkLayerForChecksum(four)
		}
		out := gopacket.NewSerializeBuffer()
		parts = append(parts, gopacket.Payload(make([]byte, []int{0, 100, 9000}[random.IntN(3)])))
		if err := gopacket.SerializeLayers(out, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, parts...); err != nil {
			t.Fatal(err)
		}
		b := out.Bytes()
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(0, at), CaptureLength: min(len(b), 128), Length: len(b)}, b[:min(len(b), 128)]); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func mapped(a netip.Addr) net.IP {
	b := a.As16()
	b[0], b[10], b[11] = 0xfd, 0, 0
	return b[:]
}

func write(t *testing.T, capture string, o lttng.Options) *lttng.Trace {
	t.Helper()
	packets, err := lttng.FromCapture(capture, own, netip.AddrFrom16([16]byte(mapped(own))))
	if err != nil {
		t.Fatal(err)
	}
	written, err := lttng.Write(filepath.Join(t.TempDir(), "session"), packets, o)
	if err != nil {
		t.Fatal(err)
	}
	return written
}

// fast is a clock that is ahead and fast.
func fast(t clock.TimelineTime) clock.HostTime {
	return clock.HostTime(t + 3_500_000_000 + clock.TimelineTime(int64(t-epoch)/20_000))
}

// styles runs a test for each style.
func styles(t *testing.T, f func(*testing.T, lttng.Style)) {
	for s := range lttng.Styles {
		t.Run(s.String(), func(t *testing.T) { f(t, s) })
	}
}

func TestBabeltraceReadsEveryEventAtItsTime(t *testing.T) {
	testneed.Program(t, "babeltrace2")
	capture := traffic(t, 1500)
	styles(t, func(t *testing.T, s lttng.Style) {
		written := write(t, capture, lttng.Options{Host: "web", Style: s, Clock: fast, User: true, PacketSize: 8 << 10})
		c := exec.Command("babeltrace2", "--clock-seconds", "--no-delta", written.Dir)
		var problems strings.Builder
		c.Stderr = &problems
		out, err := c.Output()
		if err != nil || problems.Len() > 0 {
			t.Fatalf("%v: %s", err, problems.String())
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		var want []clock.HostTime
		for _, e := range written.Events {
			want = append(want, e.Shown)
		}
		slices.Sort(want)
		if len(lines) != len(want) {
			t.Fatalf("%d events, not %d", len(lines), len(want))
		}
		counts := map[string]int{}
		for i, l := range lines {
			if stamp := fmt.Sprintf("[%d.%09d] ", int64(want[i])/1e9, int64(want[i])%1e9); !strings.HasPrefix(l, stamp) {
				t.Fatalf("line %d is not at %s: %s", i, stamp, l)
			}
			counts[strings.TrimSuffix(strings.Fields(l)[2], ":")]++
		}
		if counts["sched_switch"] < 100 || counts["server:request_start"] < 20 || counts["irq_handler_entry"] < 50 {
			t.Errorf("%v", counts)
		}
	})
}

func TestTheKernelsPacketsAreThoseOfTheCapture(t *testing.T) {
	capture := traffic(t, 1500)
	c, err := pcap.Read(context.Background(), capture, "web", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	styles(t, func(t *testing.T, s lttng.Style) {
		written := write(t, capture, lttng.Options{Style: s, Clock: fast, OutOfOrder: true, PacketSize: 8 << 10})
		var w trace.Warnings
		got := packetsOf(t, written.Kernel, &w)
		if got.Packets.Len() != written.Packets {
			t.Fatalf("%d packets, not %d", got.Packets.Len(), written.Packets)
		}
		byTime := make(map[clock.HostTime]*trace.Packet)
		for i := range c.Packets.Len() {
			byTime[fast(clock.TimelineTime(c.Packets.At(i).Time))] = c.Packets.At(i)
		}
		early := 0
		for i := range got.Packets.Len() {
			p := *got.Packets.At(i)
			want := byTime[p.Time]
			if want == nil {
				early++ // an arrival whose decoding was written before it
				continue
			}
			same := p.Kind == want.Kind && p.Length == want.Length && p.Flags == want.Flags && p.Flow&1 == want.Flow&1 && p.TTL == want.TTL && p.ID == want.ID
			switch s {
			case lttng.Unaddressed:
				same = p.Kind == trace.Unaddressed && p.Flags == want.Flags
			case lttng.Extended:
				same = p.Kind == want.Kind && p.Length == want.Length && p.Flags == want.Flags&^trace.PSH && p.Flow&1 == want.Flow&1
			}
			if !same || want.Kind == trace.TCP && (p.Seq != want.Seq || p.Ack != want.Ack) {
				t.Fatalf("packet %d: %+v, not %+v", i, p, *want)
			}
		}
		if early > 20 || s != lttng.Extended && early > 0 {
			t.Errorf("%d packets at times of none", early)
		}
		if told := strings.Join(w.Lines(), "\n"); written.OutOfOrder < 10 || strings.Count(told, "stamp earlier than the one before") < 2 {
			t.Errorf("%d events out of order: %s", written.OutOfOrder, told)
		}
	})
}

func TestWhatTheTracerDiscardedIsCountedInItsPackets(t *testing.T) {
	capture := traffic(t, 3000)
	styles(t, func(t *testing.T, s lttng.Style) {
		written := write(t, capture, lttng.Options{Style: s, Gap: 10 * time.Second, PacketSize: 4 << 10})
		n := 0
		tally, _ := ctftest.Each(t, written.Kernel, func(*trace.Event, *ctf.Source) { n++ })
		if written.Discarded < 50 || n != len(written.Events) {
			t.Errorf("%d discarded, %d events, not %d", written.Discarded, n, len(written.Events))
		}
		if tally.Discarded != written.Discarded {
			t.Errorf("the reader counts %d discarded, not %d", tally.Discarded, written.Discarded)
		}
	})
}

func TestSlicesOfThreadsAreWhole(t *testing.T) {
	capture := traffic(t, 1500)
	styles(t, func(t *testing.T, s lttng.Style) {
		written := write(t, capture, lttng.Options{Style: s, Program: "nginx"})
		var w trace.Warnings
		rows := kernel.Rows(ctftest.Open(t, written.Kernel, nil).Events(), &w)
		defer rows.Close()
		slicesOf := map[string]int{}
		for e := (trace.Event{}); rows.Next(&e) == nil; {
			if e.Phase == trace.Begin {
				slicesOf[rows.Classes()[e.Class].Name]++
			}
		}
		if lines := w.Lines(); len(lines) > 0 {
			t.Errorf("%q", lines)
		}
		for _, name := range []string{"running", "sendto", "recvfrom", "irq 27 eth0-rx", "softirq NET_RX"} {
			if slicesOf[name] < 20 {
				t.Errorf("%d slices %s of %v", slicesOf[name], name, slicesOf)
			}
		}
		threads := 0
		for _, r := range rows.Streams() {
			if r.Kind == trace.Thread && strings.HasPrefix(r.Name, "nginx ") {
				threads++
			}
		}
		if threads < 3 {
			t.Errorf("%d threads of %v", threads, rows.Streams())
		}
	})
}

func TestEventsSayWhenTheyHappened(t *testing.T) {
	written := write(t, traffic(t, 500), lttng.Options{Clock: fast})
	for _, e := range written.Events {
		if e.Shown != fast(e.True) {
			t.Fatalf("%+v", e)
		}
	}
	if !slices.IsSortedFunc(written.Events[:50], func(a, b lttng.Stamp) int { return cmp.Compare(a.True, b.True) }) {
		t.Error("the first stream is not in order")
	}
}

func packetsOf(t *testing.T, dir string, w *trace.Warnings) *trace.Capture {
	t.Helper()
	c, err := kernel.Packets(ctftest.Open(t, dir, w).Events(), "web", dir, nil, w)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
