//go:build unix

package pipeline_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"meridian/align"
	"meridian/align/bound"
	"meridian/clock"
	"meridian/internal/lttng"
	"meridian/internal/netlab"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/sim"
)

// traced is a network whose hosts' packets are written as captures and as traces of their kernels.
type traced struct {
	network
	peers map[string]string // of each host: a neighbour, on whose link its captures listen
}

// some is what two hosts say to each other here: enough of everything that bounds are narrow.
func some(from, to string) netlab.Traffic {
	return netlab.Traffic{From: from, To: to, Bulk: []int64{1 << 20}, Chats: 2, Requests: 150, Reuses: 5, Datagrams: 200, Pings: 20, Over: time.Second}
}

var tracedNetworks = []traced{
	{network{"offloads", []string{"web", "db"}, func(l *netlab.Lab) []netlab.Traffic {
		linked(l, true)
		six := some("web", "db")
		six.IPv6, six.Port = true, 7001
		return []netlab.Traffic{some("web", "db"), six}
	}, []string{nano, "-s", "128"}}, map[string]string{"web": "db", "db": "web"}},
	{network{"nat", []string{"web", "db"}, func(l *netlab.Lab) []netlab.Traffic {
		l.Hosts("web", "db")
		traffic := some("web", "db")
		traffic.Port = 7000
		traffic.Via = l.NAT("nat", "web", "db", traffic.Port)
		return []netlab.Traffic{traffic}
	}, []string{nano, "-s", "128"}}, map[string]string{"web": "nat", "db": "nat"}},
	{network{"loss", []string{"web", "db"}, func(l *netlab.Lab) []netlab.Traffic {
		l.Hosts("web", "db")
		l.Router("router", "web", "db")
		l.Loss("router", 2)
		for _, host := range []string{"web", "router", "db"} {
			l.Offloads(host, false)
		}
		return []netlab.Traffic{some("web", "db")}
	}, []string{nano, "-s", "128"}}, map[string]string{"web": "router", "db": "router"}},
	{network{"three", []string{"web", "app", "db"}, func(l *netlab.Lab) []netlab.Traffic {
		l.Hosts("web", "app", "db")
		l.Link("web", "app")
		l.Link("app", "db")
		return []netlab.Traffic{some("web", "app"), some("app", "db")}
	}, []string{nano, "-s", "128", "-i", "any"}}, map[string]string{"web": "app", "app": "web", "db": "app"}},
}

// tracedPPM is how far the frequencies of clocks swing here.
const tracedPPM = 0.3

// recordedHost is a host's packets, their capture by the host's own clock, and that clock.
type recordedHost struct {
	name    string
	packets []lttng.Packet
	capture string
	clock   sim.Clock
}

// TestKernelTracesOfRealTrafficAlignAsItsCapturesDo sends real packets and holds what comes of their hosts' kernel traces
// against the truth, and against captures that hold no more of each packet than the traces do.
func TestKernelTracesOfRealTrafficAlignAsItsCapturesDo(t *testing.T) {
	for _, n := range tracedNetworks {
		t.Run(n.name, func(t *testing.T) {
			t.Parallel()
			lab := netlab.New(t)
			files := n.capture(lab)
			var hosts []recordedHost
			dir := t.TempDir()
			known := clocks(clock.TimelineTime(stamps(t, files[n.hosts[0]])[0]))
			for _, name := range n.hosts {
				c := known[name]
				c.Wave = sim.Wave{AmplitudePPM: tracedPPM, Period: wavePeriod, Phase: float64(len(name)) / 7}
				own := []netip.Addr{lab.Address(n.peers[name], name), lab.Address6(n.peers[name], name)}
				packets, err := lttng.FromCapture(files[name], own...)
				if err != nil {
					t.Fatal(err)
				}
				capture := filepath.Join(dir, name+".pcap")
				if err := netlab.Warp(files[name], capture, c); err != nil {
					t.Fatal(err)
				}
				hosts = append(hosts, recordedHost{name, packets, capture, c})
			}
			for s := range lttng.Styles {
				t.Run(s.String(), func(t *testing.T) { compareStyle(t, hosts, s) })
			}
			for _, first := range []lttng.Style{lttng.Separate, lttng.Extended} {
				t.Run(first.String()+" beside other styles", func(t *testing.T) { holdUnlike(t, hosts, first) })
			}
		})
	}
}

// compareStyle aligns captures cut to what the style tells, traces of that style, and one trace beside captures.
func compareStyle(t *testing.T, hosts []recordedHost, s lttng.Style) {
	dir := t.TempDir()
	var cut, traces, mixed []string
	told := make(map[string]*instants)
	for i, h := range hosts {
		short := filepath.Join(dir, h.name+".pcap")
		cutToHeaders(t, h.capture, short, s)
		cut = append(cut, h.name+"="+short)
		written, err := lttng.Write(filepath.Join(dir, h.name), h.packets, lttng.Options{
			Host: h.name, Style: s, Clock: h.clock.At, Processors: 2 + i, OutOfOrder: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		if written.OutOfOrder == 0 || written.Packets < 200 {
			t.Errorf("%s: %d packets, %d events out of order", h.name, written.Packets, written.OutOfOrder)
		}
		told[h.name] = &instants{events: written.Events, packets: stamps(t, short)}
		traces = append(traces, written.Dir)
		if i%2 == 0 {
			mixed = append(mixed, written.Dir)
		} else {
			mixed = append(mixed, h.name+"="+h.capture)
		}
	}
	base := hold(t, "captures", cut, hosts, told)
	// Where addresses are missing, segments that were divided on the way are known by their first part alone, and what was
	// sent again is left out. (Behind a NAT neither captures cut short nor kernels know datagrams, which have nothing but their
	// contents.)
	least := map[string]float64{"traces": 1, "mixed": 0.98}
	if s == lttng.Unaddressed {
		least = map[string]float64{"traces": 0.95, "mixed": 0.95}
	}
	for name, inputs := range map[string][]string{"traces": traces, "mixed": mixed} {
		got := hold(t, name, inputs, hosts, told)
		if float64(got.messages) < least[name]*float64(base.messages) {
			t.Errorf("%s: %d messages, captures of as much have %d", name, got.messages, base.messages)
		}
		if got.width > base.width*1.05+50 {
			t.Errorf("%s: bounds are %.0f ns wide, of captures of as much %.0f ns", name, got.width, base.width)
		}
	}
}

// holdUnlike aligns traces of hosts whose tracers are of different versions.
func holdUnlike(t *testing.T, hosts []recordedHost, first lttng.Style) {
	dir := t.TempDir()
	var inputs []string
	told := make(map[string]*instants)
	packets := 0
	for i, h := range hosts {
		written, err := lttng.Write(filepath.Join(dir, h.name), h.packets, lttng.Options{
			Host: h.name, Style: (first + lttng.Style(i)) % lttng.Styles, Clock: h.clock.At, Quiet: i == 0,
		})
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, written.Dir)
		told[h.name] = &instants{events: written.Events}
		packets += written.Packets
	}
	if got := hold(t, "traces", inputs, hosts, told); got.messages < int64(packets/5) {
		t.Errorf("%d messages of %d packets", got.messages, packets)
	}
}

// instants is what a host's bounds are looked at for: all that its kernel recorded, and the packets that are known from
// whatever the input was, by the host's own clock.
type instants struct {
	events  []lttng.Stamp
	packets []clock.HostTime
}

// result is what is compared: how many messages there were, and how wide the bounds are at packets, in the mean.
type result struct {
	messages int64
	width    float64
}

// hold aligns inputs and holds every event of every host's kernel against its bounds.
func hold(t *testing.T, what string, inputs []string, hosts []recordedHost, told map[string]*instants) result {
	t.Helper()
	parsed, err := input.Parse(inputs)
	if err != nil {
		t.Fatal(err)
	}
	// The wander of the clocks of this test, doubled.
	stated := bound.Assumption{Wander: 2 * tracedPPM * 1000 * 2 * math.Pi / wavePeriod.Seconds(), Epsilon: 100}
	outcome, err := pipeline.Run(context.Background(), parsed, pipeline.Options{Align: pipeline.AlignOptions{Options: align.Options{Assumption: &stated}}})
	if err != nil {
		t.Fatal(err)
	}
	r := outcome.Report
	if len(outcome.Broken) > 0 || r.Quality.InversionsBeyondGranularity > 0 {
		t.Errorf("%s: promises not kept: %v, %d inversions", what, outcome.Broken, r.Quality.InversionsBeyondGranularity)
	}
	reference := slices.IndexFunc(hosts, func(h recordedHost) bool { return h.name == r.Reference })
	all, outside, packets, width := 0, 0, 0, 0.0
	for _, h := range r.Hosts {
		m := h.ClockMap()
		if what == "traces" && h.Events != int64(len(told[h.Name].events)) {
			t.Errorf("%s has %d events in the report, not %d", h.Name, h.Events, len(told[h.Name].events))
		}
		for _, e := range told[h.Name].events {
			low, high, lowOK, highOK := m.Bounds(e.Shown)
			at := clock.TimelineTime(hosts[reference].clock.At(e.True))
			all++
			// The simulated clocks round twice to a nanosecond.
			if !lowOK || !highOK || at < low-2 || at > high+2 {
				outside++
			}
		}
		for _, stamp := range told[h.Name].packets {
			low, high, _, _ := m.Bounds(stamp)
			width += float64(high - low)
			packets++
		}
	}
	if outside > 0 || len(r.Hosts) != len(hosts) {
		t.Errorf("%s: %d of %d events of %d hosts outside their bounds", what, outside, all, len(r.Hosts))
	}
	t.Logf("%s: %d messages, %d packets within bounds %.0f ns wide, %d events", what, r.Quality.Messages, packets, width/float64(max(packets, 1)), all)
	for _, line := range r.Warnings {
		if strings.Contains(line, "rest of the packet") || strings.Contains(line, "invalid packet") {
			t.Errorf("%s: %s", what, line)
		}
	}
	return result{r.Quality.Messages, width / float64(max(packets, 1))}
}

// cutToHeaders copies a capture of the packets that a style tells of, as long as the headers that it knows.
func cutToHeaders(t *testing.T, source, target string, s lttng.Style) {
	t.Helper()
	in, err := os.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(target)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r, err := pcapgo.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	w := pcapgo.NewWriterNanos(out)
	if err := w.WriteFileHeader(128, r.LinkType()); err != nil {
		t.Fatal(err)
	}
	link, at := 14, 12
	if r.LinkType() != layers.LinkTypeEthernet {
		link, at = 20, 0
	}
	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		kind, ip, protocol := binary.BigEndian.Uint16(data[at:]), 40, byte(0)
		switch kind {
		case 0x0800:
			ip, protocol = int(data[link]&15)*4, data[link+9]
		case 0x86dd:
			protocol = data[link+6]
		}
		if s == lttng.Extended && (kind != 0x0800 || protocol != 6) || s == lttng.Unaddressed && protocol != 6 {
			continue
		}
		data = data[:min(len(data), link+ip+map[byte]int{6: 20, 17: 8}[protocol])]
		if kind == 0x0800 && (s == lttng.Extended || s == lttng.Unaddressed) {
			clear(data[link+4 : link+6]) // the identification, which they do not record
		}
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: info.Timestamp, CaptureLength: len(data), Length: info.Length}, data); err != nil {
			t.Fatal(err)
		}
	}
}
