package live

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/lttng"
	"meridian/match"
	"meridian/trace"
)

// kernels writes what kernels record of the packets of both hosts, each some time after the capture had it.
func (w *wire) kernels(after time.Duration) (traces [2]string) {
	for i, name := range []string{"a", "b"} {
		var packets []lttng.Packet
		for _, p := range w.hosts[i].packets {
			packets = append(packets, lttng.Packet{At: clock.TimelineTime(p.at + int64(after)), Sent: p.sent, Data: p.bytes, Wire: len(p.bytes)})
		}
		written, err := lttng.Write(filepath.Join(w.t.TempDir(), name), packets, lttng.Options{Host: name, PacketSize: 4096,
			Clock: func(at clock.TimelineTime) clock.HostTime { return stampOf(i, int64(at)) }})
		if err != nil {
			w.t.Fatal(err)
		}
		traces[i] = written.Kernel
	}
	return traces
}

// TestKernelAndCaptureOfOneHostMakeEachMessageOnce follows a directory with both, over several windows of the matcher, while either is
// written later than the other. The capture may end before: then the kernel's packets are used.
func TestKernelAndCaptureOfOneHostMakeEachMessageOnce(t *testing.T) {
	for name, x := range map[string]struct{ kernel, capture, end time.Duration }{
		"together": {0, 0, time.Hour}, "kernel later": {2 * time.Second, 0, time.Hour}, "capture later": {0, 2 * time.Second, time.Hour},
		"capture ends": {0, 0, 18 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkKernelAndCapture(t, x.kernel, x.capture, x.end)
		})
	}
}

func checkKernelAndCapture(t *testing.T, kernel, capture, end time.Duration) {
	const (
		seconds = 45
		later   = 3 * time.Microsecond
	)
	w := &wire{t: t, flags: true, step: 100 * time.Millisecond}
	seq := [2]uint32{1000, 5000}
	for i := range seconds * 20 {
		from := i & 1
		w.send(from, time.Duration(i)*50*time.Millisecond, 150*time.Microsecond, segment(t, from, seq[from], seq[1-from]))
		seq[from] += 100
	}
	traces := w.kernels(later)
	dir := t.TempDir()
	a := &w.hosts[0]
	a.packets = slices.DeleteFunc(a.packets, func(p wirePacket) bool { return p.at > origin+int64(end) })
	in := w.encode(dir)
	var kernels []*growth
	for i := range in {
		in[i].Dir = filepath.Join(dir, in[i].Host)
		kernels = append(kernels, &growth{from: traces[i], to: in[i].Dir, sizes: map[string]int64{}})
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", packetFiles), 0o755); err != nil {
		t.Fatal(err)
	}
	a.file, a.lag = filepath.Join(dir, "a", packetFiles, "a.pcapng"), capture
	w.hosts[1].packets = nil // its kernel alone
	s := w.open(in)
	w.run(s, 0, (seconds+4)*time.Second, func(at time.Duration) {
		for i, g := range kernels {
			if i == 0 {
				at -= kernel
			}
			g.advance(t, max(0, min(1, at.Seconds()/seconds)))
		}
	})
	// What the kernel has within a second of the capture's end is left out, as offline: the capture may have it.
	var want []carried
	for _, m := range w.sent {
		stamp, other := &m.sent, &m.received // of a, of b
		if m.from == "b" {
			stamp, other = other, stamp
		}
		*other += clock.HostTime(later)
		switch at := time.Duration(int64(*stamp) - origin); {
		case at+later > end+time.Second:
			*stamp += clock.HostTime(later)
		case at > end:
			continue
		}
		want = append(want, m)
	}
	w.same("at the end", w.finish(s), want)
	if lines := s.w.Lines(); len(lines) > 0 {
		t.Errorf("warnings %q", lines)
	}
}

// TestTwoRecordersOfOneHostAreOneHost splits what a host sends and receives among two captures, as of two interfaces, or gives both all.
func TestTwoRecordersOfOneHostAreOneHost(t *testing.T) {
	t.Parallel()
	for _, both := range []bool{false, true} {
		w := &wire{t: t, flags: true, step: 100 * time.Millisecond}
		for i := range 1200 { // 30 s
			from := i & 1
			w.send(from, time.Duration(i)*25*time.Millisecond, 150*time.Microsecond, datagram(t, from, uint16(i), 5000+uint16(i>>1&1), number(i)))
		}
		second := &wire{t: t, flags: true} // its host a is the other recorder
		second.hosts[0].packets = slices.Clone(w.hosts[0].packets)
		if !both {
			port := func(p wirePacket) uint16 { return binary.BigEndian.Uint16(p.bytes[20:]) }
			w.hosts[0].packets = slices.DeleteFunc(w.hosts[0].packets, func(p wirePacket) bool { return port(p) == 5001 })
			second.hosts[0].packets = slices.DeleteFunc(second.hosts[0].packets, func(p wirePacket) bool { return port(p) == 5000 })
		}
		in := append(w.encode(t.TempDir()), second.encode(t.TempDir())[0])
		s := w.open(in)
		w.run(s, 0, 33*time.Second, func(at time.Duration) { second.grow(0, at) })
		got := w.finish(s)
		want := wholeMatch(t, map[string]string{w.hosts[0].file: "a", second.hosts[0].file: "a", w.hosts[1].file: "b"})
		w.same("live and offline", got, want)
		if !both {
			w.same("what was sent", got, w.sent)
		}
		if hosts := s.Schema().Hosts; len(hosts) != 2 {
			t.Errorf("hosts %q", hosts)
		}
	}
}

// wholeMatch returns the messages that the matcher finds in whole captures, by file and host.
func wholeMatch(t *testing.T, hosts map[string]string) (all []carried) {
	t.Helper()
	var captures []*trace.Capture
	for file, host := range hosts {
		c, err := pcap.Read(t.Context(), file, host, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		captures = append(captures, c)
	}
	found, err := match.Match(t.Context(), captures, match.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found.Channels {
		for _, m := range c.Messages {
			all = append(all, carried{found.Clocks[c.From].Name, found.Clocks[c.To].Name, m.Sent, m.Received})
		}
	}
	slices.SortFunc(all, compareCarried)
	return all
}
