//go:build unix

package netlab

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/internal/sim"
)

var keep = flag.String("keep", "", "put the captures of the tests, true and warped, into directories under this one")

func TestMain(m *testing.M) { Main(m) }

// kept stops the captures and, if asked to, keeps them for a person: HOST.true.pcap as it was, HOST.pcap through a
// linear clock, HOST.wave.pcap through one with a thermal wave, and the clocks.
func kept(t *testing.T, l *Lab, name string) {
	t.Helper()
	l.StopCaptures()
	if *keep == "" {
		return
	}
	dir := filepath.Join(*keep, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	clocks := make(map[string]sim.Clock)
	for _, c := range l.captures {
		origin := readAll(t, c.File)[0].time
		clock := map[string]sim.Clock{
			"web": {Origin: origin},
			"app": {Origin: origin, OffsetNs: 1_700_000_000, SkewPPM: -25},
			"db":  {Origin: origin, OffsetNs: -3_200_000_000, SkewPPM: 40},
		}[c.host]
		base := strings.TrimSuffix(filepath.Base(c.File), ".pcap")
		write := func(ending string, clock sim.Clock) {
			clocks[base+ending] = clock
			if err := Warp(c.File, filepath.Join(dir, base+ending), clock); err != nil {
				t.Fatal(err)
			}
		}
		write(".pcap", clock)
		clock.Wave = sim.Wave{AmplitudePPM: 3, Period: 1500 * time.Millisecond}
		write(".wave.pcap", clock)
		whole, err := os.ReadFile(c.File)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, base+".true.pcap"), whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.MarshalIndent(clocks, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "clocks.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// pairOf builds two linked hosts with offloads as asked.
func pairOf(t *testing.T, offloads bool) *Lab {
	l := TwoHosts(t)
	l.Offloads("web", offloads)
	l.Offloads("db", offloads)
	return l
}

func TestPlainLinkCarriesEveryKindOfTraffic(t *testing.T) {
	t.Parallel()
	l := pairOf(t, false)
	web := l.Capture("web")
	db := l.Capture("db", "--time-stamp-precision=nano")
	six := Mixed("web", "db")
	six.IPv6, six.Port = true, 7001
	l.Run(Mixed("web", "db"), six)
	kept(t, l, "plain")
	a, b := readAll(t, web.File), readAll(t, db.File)
	for _, what := range []string{"TCP", "UDP", "ICMPv4", "ICMPv6Echo"} {
		if n := count(a, what); n < 100 || n != count(b, what) {
			t.Errorf("%s: %d packets at one end, %d at the other", what, n, count(b, what))
		}
	}
	if n := largest(a, b); n > 1514 {
		t.Errorf("a frame of %d bytes without offloads", n)
	}
	oneClock(t, a, b)
}

func TestOffloadsShowSuperSegments(t *testing.T) {
	t.Parallel()
	l := pairOf(t, true)
	web, db := l.Capture("web"), l.Capture("db")
	l.Run(Mixed("web", "db"))
	kept(t, l, "offload")
	a, b := readAll(t, web.File), readAll(t, db.File)
	if n := largest(a); n < 3*1514 {
		t.Errorf("largest frame that web captured: %d bytes", n)
	}
	oneClock(t, a, b)
}

func TestReceiverThatCoalescesSeesOtherSegmentsThanTheSender(t *testing.T) {
	t.Parallel()
	l := TwoHosts(t)
	l.Offloads("web", false)
	l.Offloads("db", true)
	web, db := l.Capture("web", "-s", "128"), l.Capture("db", "-s", "128") // all of it at once is more than tcpdump's buffer
	traffic := Mixed("web", "db")
	traffic.Bulk = []int64{32 << 20}
	l.Run(traffic)
	kept(t, l, "coalesce")
	a, b := readAll(t, web.File), readAll(t, db.File)
	sent, received := 0, 0
	for _, p := range a {
		if p.source == l.Address("db", "web").String() {
			sent = max(sent, p.wire)
		}
	}
	for _, p := range b {
		if p.source == l.Address("db", "web").String() {
			received = max(received, p.wire)
		}
	}
	if sent > 1514 || received < 2*1514 {
		t.Errorf("largest frame sent %d bytes, received %d", sent, received)
	}
	oneClock(t, a, b)
}

func TestNATRewritesAddressesAndPorts(t *testing.T) {
	t.Parallel()
	l := New(t)
	l.Hosts("web", "db")
	traffic := Mixed("web", "db")
	traffic.Port = 7000
	traffic.Via = l.NAT("nat", "web", "db", traffic.Port)
	for _, host := range []string{"web", "nat", "db"} {
		l.Offloads(host, false)
	}
	web, db := l.Capture("web"), l.Capture("db")
	l.Run(traffic)
	kept(t, l, "nat")
	a, b := readAll(t, web.File), readAll(t, db.File)
	inside := l.Address("nat", "web").String()
	for _, p := range b {
		if p.source == inside || p.target == inside {
			t.Fatalf("db saw web's own address in packet %+v", p)
		}
		if p.kind == "TCP" && p.target == l.Address("nat", "db").String() && p.targetPort != 7000 {
			t.Fatalf("db was sent %+v", p)
		}
	}
	for _, p := range a {
		if p.kind == "TCP" && p.source == inside && p.targetPort != 8080 {
			t.Fatalf("web sent %+v", p)
		}
	}
	for _, what := range []string{"TCP", "UDP", "ICMPv4"} {
		if n := count(b, what); n < 100 {
			t.Errorf("%d packets of %s passed", n, what)
		}
	}
	oneClock(t, a, b)
}

func TestLossIsAboutAsAsked(t *testing.T) {
	t.Parallel()
	l := New(t)
	l.Hosts("web", "db")
	l.Router("router", "web", "db")
	l.Loss("router", 2)
	for _, host := range []string{"web", "router", "db"} {
		l.Offloads(host, false)
	}
	web, db := l.Capture("web"), l.Capture("db")
	l.Run(Mixed("web", "db"))
	kept(t, l, "loss")
	a, b := readAll(t, web.File), readAll(t, db.File)
	from := l.Address("router", "web").String()
	sent, arrived := countFrom(a, from), countFrom(b, from)
	if lost := 1 - float64(arrived)/float64(sent); lost < 0.01 || lost > 0.03 {
		t.Errorf("%d of %d packets arrived: %.2f%% lost", arrived, sent, 100*lost)
	}
	oneClock(t, a, b)
}

func TestHostsWithoutALinkDoNotTalk(t *testing.T) {
	t.Parallel()
	l := New(t)
	l.Hosts("web", "app", "db")
	l.Link("web", "app")
	l.Link("app", "db")
	web, app, db := l.Capture("web"), l.Capture("app", "-i", "any"), l.Capture("db")
	l.Run(Mixed("web", "app"), Mixed("app", "db"))
	kept(t, l, "three")
	a, b, c := readAll(t, web.File), readAll(t, app.File), readAll(t, db.File)
	if n := countFrom(c, l.Address("app", "web").String()); n != 0 {
		t.Errorf("db saw %d packets of web", n)
	}
	if n := countFrom(a, l.Address("app", "db").String()); n != 0 {
		t.Errorf("web saw %d packets of db", n)
	}
	oneClock(t, a, b)
	oneClock(t, b, c)
}

func TestCookedCapturesOfBothVersions(t *testing.T) {
	t.Parallel()
	l := pairOf(t, false)
	web := l.Capture("web", "-i", "any")
	db := l.Capture("db", "-i", "any", "-y", "LINUX_SLL")
	l.Run(Mixed("web", "db"))
	kept(t, l, "any")
	const sll, sll2 = 113, 276
	if link := linkType(t, web.File); link != sll2 {
		t.Errorf("link type %d", link)
	}
	if link := linkType(t, db.File); link != sll {
		t.Errorf("link type %d", link)
	}
	oneClock(t, readAll(t, web.File), readAll(t, db.File))
}

func TestSnapLengthCutsPackets(t *testing.T) {
	t.Parallel()
	l := pairOf(t, true)
	web, db := l.Capture("web", "-s", "96"), l.Capture("db", "-s", "66")
	l.Run(Mixed("web", "db"))
	kept(t, l, "snap")
	a, b := readAll(t, web.File), readAll(t, db.File)
	for _, p := range a {
		if p.kept > 96 {
			t.Fatalf("%d bytes kept", p.kept)
		}
	}
	if largest(a) < 3*1514 {
		t.Error("length on the wire is lost")
	}
	oneClock(t, a, b)
}
