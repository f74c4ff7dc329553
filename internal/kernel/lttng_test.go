package kernel_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/format/ctf/ctftest"
	"meridian/format/pcap"
	"meridian/internal/corpus"
	"meridian/internal/kernel"
	"meridian/internal/testneed"
	"meridian/trace"
)

// be is an integer of a network header as lttng-modules declare it.
func be(bits int, align int, name string) string {
	return fmt.Sprintf("integer { size = %d; align = %d; signed = 0; encoding = none; base = 10; byte_order = be; } _%s;\n", bits, align, name)
}

func bes(names string, bits int) (s string) {
	for _, name := range strings.Fields(names) {
		s += be(bits, 8, name)
	}
	return s
}

// networkEvent is the declaration of net_dev_queue and its like by lttng-modules 2.10 and later.
func networkEvent(name string, id int) string {
	enum := `enum : integer { size = 8; align = 8; signed = 0; encoding = none; base = 10; } `
	tcp := bes("source_port dest_port", 16) + bes("seq ack_seq", 32) + be(4, 4, "data_offset") + be(3, 1, "reserved") + be(9, 1, "flags") +
		bes("window_size checksum urg_ptr", 16)
	transport := enum + `{ "_unknown" = 0, "_tcp" = 1, "_udp" = 2, "_icmp" = 3 } _transport_header_type;
		variant <_transport_header_type> { struct {} _unknown; struct {` + tcp + `} _tcp; struct {` + bes("source_port dest_port len check", 16) +
		`} _udp; struct {` + bes("type code", 8) + bes("checksum", 16) + bes("gateway", 32) + `} _icmp; } _transport_header;`
	four := be(4, 4, "version") + be(4, 4, "ihl") + bes("tos", 8) + bes("tot_len id frag_off", 16) + bes("ttl protocol", 8) + bes("checksum", 16) +
		bes("saddr[4] daddr[4]", 8) + transport
	six := be(4, 4, "version") + be(4, 4, "prio") + bes("flow_lbl[3]", 8) + bes("payload_len", 16) + bes("nexthdr hop_limit", 8) +
		bes("saddr[8] daddr[8]", 16) + transport
	return fmt.Sprintf("event {\n name = \"%s\";\n id = %d;\n stream_id = 0;\n fields := struct {\n", name, id) +
		`integer { size = 64; align = 8; signed = 0; encoding = none; base = 16; } _skbaddr;
		integer { size = 32; align = 8; signed = 0; encoding = none; base = 10; } _len;
		string _name;
		` + enum + `{ "_unknown" = 0, "_ipv4" = 1, "_ipv6" = 2 } _network_header_type;
		variant <_network_header_type> { struct {} _unknown; struct {` + four + `} _ipv4; struct {` + six + `} _ipv6; } _network_header;
	};
};
`
}

const preamble = `/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
trace {
	major = 1; minor = 8; uuid = "01020304-0506-0708-090a-0b0c0d0e0f10"; byte_order = le;
	packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; };
};
env { hostname = "web"; domain = "kernel"; tracer_name = "lttng-modules"; };
clock { name = "monotonic"; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := stamp_t;
stream {
	id = 0;
	event.header := struct { uint16_t id; stamp_t timestamp; };
	packet.context := struct { stamp_t timestamp_begin; stamp_t timestamp_end; uint64_t content_size; uint64_t packet_size; uint32_t cpu_id; };
};
`

// writeLTTng writes frames (with Ethernet headers) as a kernel trace, sent and received by turns.
func writeLTTng(t *testing.T, frames [][]byte) string {
	dir := t.TempDir()
	var events []byte
	le := binary.LittleEndian
	for n, f := range frames {
		kind, ip := byte(1), f[14:]
		header := 20
		if ip[0]>>4 == 6 {
			kind, header = 2, 40
		}
		events = le.AppendUint16(events, uint16(n%2))
		events = le.AppendUint64(events, uint64(1000*(n+1)))
		events = le.AppendUint64(events, 0xffff888000000000+uint64(n))
		events = le.AppendUint32(events, uint32(len(f)))
		events = append(events, "eth0\x00"...)
		events = append(append(events, kind), ip[:header]...)
		switch words, protocol := int(ip[0]&15), ip[9]; {
		case kind == 2 && ip[6] == 6:
			events = append(append(events, 1), ip[40:60]...)
		case kind == 1 && protocol == 6:
			events = append(append(events, 1), ip[4*words:4*words+20]...)
		case kind == 1 && protocol == 17:
			events = append(append(events, 2), ip[4*words:4*words+8]...)
		default:
			events = append(events, 0)
		}
	}
	packet := le.AppendUint32(nil, 0xc1fc1fc1)
	packet = append(packet, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	packet = le.AppendUint32(packet, 0)
	packet = le.AppendUint64(packet, 0)
	packet = le.AppendUint64(packet, uint64(1000*len(frames)+1000))
	size := uint64(len(packet)+20+len(events)) * 8
	packet = le.AppendUint64(le.AppendUint64(packet, size), size)
	packet = append(le.AppendUint32(packet, 3), events...)
	metadata := preamble + networkEvent("net_dev_queue", 0) + networkEvent("net_if_receive_skb", 1)
	for name, data := range map[string][]byte{"metadata": []byte(metadata), "channel0_3": packet} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// someFrames are frames of both versions of IP, TCP with and without data, and UDP.
func someFrames() (frames [][]byte) {
	be := binary.BigEndian
	four, other := netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("192.168.7.9")
	six := netip.MustParseAddr("2001:db8::7:1")
	for n := range 40 {
		data := bytes.Repeat([]byte{byte(n)}, 37*(n%3))
		tcp := append(be.AppendUint16(be.AppendUint16(nil, 40_000), 443), 0x80, 0, 0, byte(n), 0x90, 1, 2, byte(n), 5<<4, trace.ACK|byte(n%4)*2, 0x12, byte(n), 9, 9, 0, 0)
		body, protocol := append(tcp, data...), byte(6)
		if n%4 == 3 {
			protocol = 17
			body = append(be.AppendUint16(be.AppendUint16(be.AppendUint16(be.AppendUint16(nil, 53), 5353), uint16(8+len(data))), 77), data...)
		}
		f := make([]byte, 12, 200)
		if n%5 == 4 && protocol == 6 {
			f = append(f, 0x86, 0xdd, 0x60, 0, 0, 0)
			f = append(be.AppendUint16(f, uint16(len(body))), protocol, 61)
			f = append(append(f, six.AsSlice()...), netip.IPv6LinkLocalAllNodes().AsSlice()...)
		} else {
			f = append(f, 8, 0, 0x45, 0)
			f = be.AppendUint16(be.AppendUint16(be.AppendUint16(f, uint16(20+len(body))), uint16(500+n)), 0x4000)
			f = append(f, 64, protocol, 1, 2)
			f = append(append(f, four.AsSlice()...), other.AsSlice()...)
		}
		frames = append(frames, append(f, body...))
	}
	return frames
}

func TestKernelTraceAndCaptureOfTheSameFramesAreTheSamePackets(t *testing.T) {
	frames := someFrames()
	dir := writeLTTng(t, frames)
	var w trace.Warnings
	c := packetsOf(t, dir, &w)
	if c.Packets.Len() != len(frames) || len(w.Lines()) != 0 {
		t.Fatalf("%d packets of %d, %q", c.Packets.Len(), len(frames), w.Lines())
	}
	d := pcap.NewDecoder("x.pcap", nil)
	for n, f := range frames {
		var want trace.Packet
		d.Decode(1, &trace.Frame{Time: clock.HostTime(1_700_000_000_000_000_000 + 1000*int64(n+1)), Data: f, Wire: uint32(len(f))}, &want)
		want.From = [...]trace.Direction{trace.Sent, trace.Received}[n%2]
		got := *c.Packets.At(n)
		if want.Kind != trace.TCP {
			want.Digest = 0 // content is not recorded
		}
		want.Point = 0 // the events of a packet name no link-layer addresses
		if got != want {
			t.Errorf("packet %d: %+v\nwant %+v", n, got, want)
		}
	}
	for i, f := range d.Flows() {
		if g := c.Flows[i]; g.Low != f.Low || g.High != f.High || g.Protocol != f.Protocol {
			t.Errorf("flow %d: %v, want %v", i, &g, &f)
		}
	}
}

// TestBabeltraceReadsTheTraceOfTheTest checks with another reader that the trace above is one of LTTng.
func TestBabeltraceReadsTheTraceOfTheTest(t *testing.T) {
	testneed.Program(t, "babeltrace2")
	frames := someFrames()
	out, err := exec.Command("babeltrace2", writeLTTng(t, frames)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(frames) || !strings.Contains(lines[0], "source_port = 40000, dest_port = 443") || !strings.Contains(lines[0], "saddr = [ [0] = 10, [1] = 1, [2] = 2, [3] = 3 ]") {
		t.Errorf("%d lines for %d frames, the first: %s", len(lines), len(frames), lines[0])
	}
}

// TestRowsOfARealKernelAgreeWithItsSwitches holds the slices of a trace of four processors against sums made of its
// sched_switch events alone.
func TestRowsOfARealKernelAgreeWithItsSwitches(t *testing.T) {
	dir := corpus.Trace(t, "bug446190")
	var w trace.Warnings
	tr := ctftest.Open(t, dir, &w)
	var e trace.Event
	last, events := clock.HostTime(0), 0
	type running struct {
		tid   int64
		since clock.HostTime
	}
	runs := make(map[int64]running) // by processor
	want := make(map[int64]int64)   // time of each thread
	src := tr.Events()
	for src.Next(&e) == nil {
		last = max(last, e.Time)
		events++
		c := &src.Classes()[e.Class]
		if c.Name != "sched_switch" {
			continue
		}
		at := func(name string) int {
			return slices.IndexFunc(c.Fields, func(f trace.Field) bool { return f.Name == name })
		}
		v := src.Values()
		cpu, next := v[at("cpu_id")].Int(), v[at("next_tid")].Int()
		if s, ok := runs[cpu]; ok {
			want[s.tid] += int64(e.Time - s.since)
		}
		runs[cpu] = running{next, e.Time}
	}
	for _, s := range runs {
		want[s.tid] += int64(last - s.since)
	}
	delete(want, 0)

	got := make(map[int64]int64)
	cpus := int64(0)
	begun := make(map[uint64]clock.HostTime)
	phases := [4]int{}
	src2 := tr.Events()
	r := kernel.Rows(src2, &w)
	for r.Next(&e) == nil {
		s, c := &r.Streams()[e.Stream], &r.Classes()[e.Class]
		phases[e.Phase]++
		switch {
		case e.Phase == trace.Begin:
			begun[e.Slice] = e.Time
		case e.Phase == trace.End && s.Kind == trace.Thread && c.Name == "running":
			got[s.ID] += int64(e.Time - begun[e.Slice])
		case e.Phase == trace.End && s.Kind == trace.CPU:
			cpus += int64(e.Time - begun[e.Slice])
		}
	}
	sum := int64(0)
	for tid, ns := range want {
		sum += ns
		if got[tid] != ns {
			t.Errorf("thread %d ran for %d ns, want %d", tid, got[tid], ns)
		}
	}
	if len(got) > len(want) || cpus != sum {
		t.Errorf("%d threads, want %d; processors were busy for %d ns, want %d", len(got), len(want), cpus, sum)
	}
	if phases[trace.Begin] != phases[trace.End] || events < 30_000 {
		t.Errorf("phases %v of %d events", phases, events)
	}
	for _, line := range w.Lines() {
		if strings.Contains(line, "ended early") {
			t.Error(line)
		}
	}
	c := packetsOf(t, dir, &w)
	if lines := w.Lines(); c.Packets.Len() != 0 || !strings.Contains(lines[len(lines)-1], "nothing can be matched") {
		t.Errorf("%d packets, %q", c.Packets.Len(), lines)
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
