//go:build unix

package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"meridian/align"
	"meridian/align/bound"
	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/netlab"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/sim"
)

func TestMain(m *testing.M) {
	if name := os.Getenv("MERIDIAN_TEST_PEER"); name != "" {
		if err := sensorPeer(name, os.Getenv("MERIDIAN_TEST_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	netlab.Main(m)
}

// network is a small network with captures on its hosts; its packets are really sent, and one clock stamps them all.
type network struct {
	name  string
	hosts []string
	build func(*netlab.Lab) []netlab.Traffic
	args  []string // of tcpdump
}

const nano = "--time-stamp-precision=nano"

func mixed(ipv6 bool) []netlab.Traffic {
	traffic := []netlab.Traffic{netlab.Mixed("web", "db")}
	if ipv6 {
		six := netlab.Mixed("web", "db")
		six.IPv6, six.Port = true, 7001
		traffic = append(traffic, six)
	}
	return traffic
}

var networks = []network{
	{"plain", []string{"web", "db"}, func(l *netlab.Lab) []netlab.Traffic {
		linked(l, false)
		return mixed(true)
	}, []string{nano}},
	{"microseconds", []string{"web", "db"}, func(l *netlab.Lab) []netlab.Traffic {
		linked(l, false)
		return mixed(false)
	}, nil},
	{"offloads", []string{"web", "db"}, func(l *netlab.Lab) []netlab.Traffic {
		linked(l, true)
		traffic := mixed(true)
		traffic[0].Bulk = append(traffic[0].Bulk, 16<<20)
		return traffic
	}, []string{nano, "-s", "128"}},
	{"coalescing", []string{"web", "db"}, func(l *netlab.Lab) []netlab.Traffic {
		linked(l, true)
		l.Offloads("web", false)
		return mixed(false)
	}, []string{nano}},
	{"any", []string{"web", "db"}, func(l *netlab.Lab) []netlab.Traffic {
		linked(l, true)
		return mixed(false)
	}, []string{nano, "-i", "any"}},
	{"headers", []string{"web", "db"}, func(l *netlab.Lab) []netlab.Traffic {
		linked(l, true)
		return mixed(false)
	}, []string{nano, "-s", "66"}},
	{"nat", []string{"web", "db"}, func(l *netlab.Lab) []netlab.Traffic {
		l.Hosts("web", "db")
		traffic := netlab.Mixed("web", "db")
		traffic.Port = 7000
		traffic.Via = l.NAT("nat", "web", "db", traffic.Port)
		return []netlab.Traffic{traffic}
	}, []string{nano}},
	{"loss", []string{"web", "db"}, func(l *netlab.Lab) []netlab.Traffic {
		l.Hosts("web", "db")
		l.Router("router", "web", "db")
		l.Loss("router", 2)
		for _, host := range []string{"web", "router", "db"} {
			l.Offloads(host, false)
		}
		return mixed(false)
	}, []string{nano}},
	{"three", []string{"web", "app", "db"}, func(l *netlab.Lab) []netlab.Traffic {
		l.Hosts("web", "app", "db")
		l.Link("web", "app")
		l.Link("app", "db")
		return []netlab.Traffic{netlab.Mixed("web", "app"), netlab.Mixed("app", "db")}
	}, []string{nano, "-i", "any"}},
}

func linked(l *netlab.Lab, offloads bool) {
	l.Hosts("web", "db")
	l.Link("web", "db")
	l.Offloads("web", offloads)
	l.Offloads("db", offloads)
}

// clocks gives each host the clock of a machine of its own.
func clocks(origin clock.TimelineTime) map[string]sim.Clock {
	return map[string]sim.Clock{
		"web": {Origin: origin, OffsetNs: 250_000_000, SkewPPM: 11},
		"app": {Origin: origin, OffsetNs: 1_700_000_000, SkewPPM: -25},
		"db":  {Origin: origin, OffsetNs: -37_200_000_000, SkewPPM: 40},
	}
}

// capture builds the network in a laboratory, sends its traffic, and returns the capture file of each host.
func (n *network) capture(lab *netlab.Lab) map[string]string {
	traffic := n.build(lab)
	files := make(map[string]string)
	for _, host := range n.hosts {
		files[host] = lab.Capture(host, n.args...).File
	}
	lab.Run(traffic...)
	lab.StopCaptures()
	return files
}

func TestRealTrafficComesWithinItsBoundsAndWithoutInversions(t *testing.T) {
	for _, n := range networks {
		t.Run(n.name, func(t *testing.T) {
			t.Parallel()
			truth := n.capture(netlab.New(t))
			origin := stamps(t, truth["web"])[0]
			linear := clocks(clock.TimelineTime(origin))
			t.Run("linear", func(t *testing.T) { check(t, n, truth, linear, nil, true) })
			wave := clocks(clock.TimelineTime(origin))
			for host, c := range wave {
				c.Wave = sim.Wave{AmplitudePPM: wavePPM, Period: wavePeriod, Phase: float64(len(host)) / 7}
				wave[host] = c
			}
			// A wave a thousand times as quick as that of any room. Stated, it is bounded; unstated, jitter may hide it.
			stated := bound.Assumption{Wander: 2 * wavePPM * 1000 * 2 * math.Pi / wavePeriod.Seconds(), Epsilon: 100}
			t.Run("wave", func(t *testing.T) { check(t, n, truth, wave, &stated, true) })
			t.Run("wave unstated", func(t *testing.T) { check(t, n, truth, wave, nil, false) })
		})
	}
}

const (
	wavePPM    = 3
	wavePeriod = 1500 * time.Millisecond
)

// check warps the captures by the clocks, aligns them under an assumption, and holds the result against the truth.
func check(t *testing.T, n network, truth map[string]string, clocks map[string]sim.Clock, a *bound.Assumption, holds bool) {
	dir := t.TempDir()
	var inputs []string
	for _, host := range n.hosts {
		path := filepath.Join(dir, host+".pcap")
		if err := netlab.Warp(truth[host], path, clocks[host]); err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, path)
	}
	parsed, err := input.Parse(inputs)
	if err != nil {
		t.Fatal(err)
	}
	merged := filepath.Join(dir, "merged.pcapng")
	outcome, err := pipeline.Run(context.Background(), parsed, pipeline.Options{Outputs: []string{merged}, Align: pipeline.AlignOptions{Options: align.Options{Assumption: a}}})
	if err != nil {
		t.Fatal(err)
	}
	report := outcome.Report
	for _, line := range report.Warnings {
		t.Log(line)
	}
	if len(outcome.Broken) > 0 {
		t.Errorf("promises not kept: %v", outcome.Broken)
	}
	if report.Quality.InversionsBeyondGranularity > 0 {
		t.Errorf("%d inversions", report.Quality.InversionsBeyondGranularity)
	}
	reference := clocks[report.Reference]
	packets, inside := 0, 0
	instants := make(map[string][]clock.TimelineTime) // where each packet belongs on the timeline
	for i, host := range n.hosts {
		h := report.Hosts[i]
		m := h.ClockMap()
		warped := stamps(t, inputs[i])
		for k, real := range stamps(t, truth[host]) {
			low, high, lowOK, highOK := m.Bounds(warped[k])
			at := clock.TimelineTime(reference.At(clock.TimelineTime(real)))
			instants[host] = append(instants[host], at)
			packets++
			// The simulated clocks round twice to a nanosecond.
			if lowOK && highOK && low-2 <= at && at <= high+2 {
				inside++
			}
		}
		if h.BoundNs == nil {
			t.Errorf("%s is unbounded", host)
			continue
		}
		t.Logf("%s: %d packets, bound %d ns", host, len(warped), *h.BoundNs)
	}
	t.Logf("%d of %d packets within their bounds, %d messages, fit %s", inside, packets, report.Quality.Messages, report.Pairs[0].Fit)
	if holds && inside < packets {
		t.Errorf("%d of %d packets outside their bounds", packets-inside, packets)
	}
	if messages := int(report.Quality.Messages); messages < packets/5 {
		t.Errorf("%d messages found among %d packets", messages, packets)
	}
	inOrder(t, merged, instants, *report.Quality.BoundNs.Worst)
}

// inOrder reads the merged capture by other eyes: all packets are there under their host's name, in order of time and near
// the truth, and no TCP segment that both ends saw once arrives before it was sent.
func inOrder(t *testing.T, path string, instants map[string][]clock.TimelineTime, bound int64) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := pcapgo.NewNgReader(file, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string][]int64)
	sightings := make(map[string][]sighting)
	last := int64(0)
	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		face, err := r.Interface(info.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}
		at := info.Timestamp.UnixNano()
		if at < last {
			t.Fatalf("packet at %d after one at %d", at, last)
		}
		last = at
		seen[face.Name] = append(seen[face.Name], at)
		if key, ok := segmentKey(data, face.LinkType); ok {
			sightings[key] = append(sightings[key], sighting{face.Name, at, len(seen[face.Name]) - 1})
		}
	}
	for host, want := range instants {
		slices.Sort(want)
		if len(seen[host]) != len(want) {
			t.Fatalf("%s: %d packets merged of %d", host, len(seen[host]), len(want))
		}
	}
	pairs, inverted := 0, 0
	for _, s := range sightings {
		if len(s) != 2 || s[0].host == s[1].host {
			continue
		}
		pairs++
		// The captures are in order of time, so the k-th packet of a host on the timeline is the k-th in truth; where both
		// ends have one true stamp, either order is right.
		first, second := instants[s[0].host][s[0].place], instants[s[1].host][s[1].place]
		if first > second+1 && s[1].at-s[0].at > 1000 {
			inverted++
		}
	}
	if pairs < 500 || inverted > 0 {
		t.Errorf("%d of %d segments seen at both ends are inverted", inverted, pairs)
	}
}

type sighting struct {
	host  string
	at    int64
	place int
}

// segmentKey identifies a TCP segment whatever a NAT did to it.
func segmentKey(data []byte, link layers.LinkType) (string, bool) {
	p := gopacket.NewPacket(data, link, gopacket.DecodeOptions{Lazy: true, NoCopy: true})
	tcp, ok := p.Layer(layers.LayerTypeTCP).(*layers.TCP)
	if !ok || len(tcp.Contents) < 20 {
		return "", false
	}
	// Sequence to window, then the options; between them is the checksum.
	key := append([]byte{}, tcp.Contents[4:16]...)
	key = append(key, tcp.Contents[20:]...)
	if ip, ok := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4); ok {
		key = append(key, byte(ip.Length), byte(ip.Length>>8))
	} else if ip, ok := p.Layer(layers.LayerTypeIPv6).(*layers.IPv6); ok {
		key = append(key, byte(ip.Length), byte(ip.Length>>8))
	}
	return string(key), true
}

// stamps returns the stamps of a capture in file order.
func stamps(t *testing.T, path string) []clock.HostTime {
	t.Helper()
	c, err := pcap.Read(context.Background(), path, "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]clock.HostTime, c.Packets.Len())
	for i := range all {
		all[i] = c.Packets.At(i).Time
	}
	return all
}
