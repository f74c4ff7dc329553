package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/quick"

	"meridian/clock"
)

func TestNilWarningsDropWhatIsAdded(t *testing.T) {
	var w *Warnings
	w.Add("f", "line skipped", "1")
	w.AddN("f", "line skipped", "1", 7)
	if lines := w.Lines(); lines != nil {
		t.Errorf("%q", lines)
	}
}

func TestWarningsOfOneKindAboutOneSubjectAreOneLineWithACount(t *testing.T) {
	var w Warnings
	if len(w.Lines()) != 0 {
		t.Errorf("of nothing: %q", w.Lines())
	}
	w.Add("a.pcap", "header cut short", "packet 5")
	w.Add("a.pcap", "header cut short", "packet 9")
	w.Add("b.pcap", "header cut short", "")
	w.AddN("", "left out", "", 41)
	w.Add("a.pcap", "odd", "")
	w.AddN("", "left out", "late details", 1)
	w.AddN("a.pcap", "header cut short", "", 10)
	w.Add("", "single", "details")
	want := []string{"a.pcap: header cut short (12 times, first packet 5)", "b.pcap: header cut short", "left out (42 times)", "a.pcap: odd", "single (details)"}
	if got := w.Lines(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// Subject and kind do not run into each other.
	var v Warnings
	v.Add("ab", "c", "")
	v.Add("a", "bc", "")
	if len(v.Lines()) != 2 {
		t.Errorf("%q", v.Lines())
	}
}

func TestWarningsAreCountedFromManyGoroutines(t *testing.T) {
	var w Warnings
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 1000 {
				w.Add(fmt.Sprint("file ", i%2), "bad", "")
			}
		})
	}
	all.Wait()
	for _, line := range w.Lines() {
		if !strings.HasSuffix(line, "(4000 times)") {
			t.Error(line)
		}
	}
}

func TestALogHoldsWhatWasAppendedHoweverLongItIs(t *testing.T) {
	var l Log
	const n = 3<<chunkBits + 5
	for i := range n {
		if l.Len() != i {
			t.Fatalf("%d packets, want %d", l.Len(), i)
		}
		*l.Append() = Packet{Seq: uint32(i), Ack: ^uint32(i)}
	}
	i := uint32(0)
	for chunk := range l.Chunks() {
		for _, p := range chunk {
			if p.Seq != i || p.Ack != ^i || *l.At(int(i)) != p {
				t.Fatalf("packet %d is %+v", i, p)
			}
			i++
		}
	}
	if i != n || len(slices.Collect(l.Chunks())) != 4 {
		t.Errorf("%d packets in %d pieces", i, len(slices.Collect(l.Chunks())))
	}
}

func TestTheExtentIsFromTheEarliestToTheLatestStamp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, origin := range []int64{0, -5_000_000, 1_790_000_000_000_000_000} {
		var c Capture
		if _, _, ok := c.Extent(); ok {
			t.Error("a capture without packets has an extent")
		}
		stamps := []int64{}
		for range 1 + r.IntN(100) {
			s := origin + r.Int64N(2_000_000) - 1_000_000
			stamps = append(stamps, s)
			c.Packets.Append().Time = clock.HostTime(s)
		}
		first, last, ok := c.Extent()
		if !ok || int64(first) != slices.Min(stamps) || int64(last) != slices.Max(stamps) {
			t.Errorf("from %d to %d of %d", first, last, stamps)
		}
	}
}

func TestCapturesThatCannotBeAreNamedByTheirFirstPacket(t *testing.T) {
	var c Capture
	c.Flows = make([]Flow, 2)
	for range 5 {
		c.Packets.Append()
	}
	c.Packets.At(0).Flow, c.Packets.At(1).Flow, c.Packets.At(2).Kind, c.Packets.At(3).From = 3, NoFlow, Untimed, Foreign
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	c.Packets.At(4).Flow = 4
	if err := (*Capture)(nil).Check(); err == nil {
		t.Error("a nil capture was taken")
	}
	if err := c.Check(); err == nil || err.Error() != "packet 4: flow 2 of 2; NoFlow marks a packet without one" {
		t.Error(err)
	}
	c.Packets.At(3).From++
	if err := c.Check(); err == nil || !strings.HasPrefix(err.Error(), "packet 3: unknown direction") {
		t.Error(err)
	}
	c.Packets.At(2).Kind++
	if err := c.Check(); err == nil || !strings.HasPrefix(err.Error(), "packet 2: unknown kind") {
		t.Error(err)
	}
	c.Packets.At(1).Time = math.MinInt64
	if err := c.Check(); err == nil || !strings.HasPrefix(err.Error(), "packet 1: a stamp") {
		t.Error(err)
	}
	c.Granularity = -1
	if err := c.Check(); err == nil || !strings.HasPrefix(err.Error(), "a granularity") {
		t.Error(err)
	}
}

func TestAKeyTellsItsPartsApart(t *testing.T) {
	groups := [][]string{{}, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"ab"}, {"a", "b"}, {"b", "a"}, {"a", "b", ""}, {"a\x00b"}, {"a", "\x00b"}, {"\x01\x00\x00\x00\x00\x00\x00\x00a"}, {strings.Repeat("x", 300)}, {strings.Repeat("x", 299), "x"}}
	seen := make(map[Key][]string)
	for _, g := range groups {
		k := KeyOf(g...)
		if other, taken := seen[k]; taken {
			t.Errorf("%q and %q have one key", g, other)
		}
		seen[k] = g
		if KeyOf(slices.Clone(g)...) != k {
			t.Errorf("%q has two keys", g)
		}
	}
	if err := quick.Check(func(a, b []string) bool { return (KeyOf(a...) == KeyOf(b...)) == slices.Equal(a, b) }, nil); err != nil {
		t.Error(err)
	}
}

func TestTheEndsOfAFlowAreSenderAndReceiver(t *testing.T) {
	low, high := Endpoint{netip.MustParseAddr("10.0.0.1"), 4000}, Endpoint{netip.MustParseAddr("2001:db8::1"), 0}
	f := Flow{Low: low, High: high, Protocol: 6}
	if from, to := f.Ends(0); from != low || to != high {
		t.Errorf("direction 0: %v to %v", from, to)
	}
	if from, to := f.Ends(1); from != high || to != low {
		t.Errorf("direction 1: %v to %v", from, to)
	}
	if got := f.String(); got != "TCP 10.0.0.1:4000-2001:db8::1" {
		t.Error(got)
	}
	for p, want := range map[uint8]string{1: "ICMP", 6: "TCP", 17: "UDP", 58: "ICMPv6", 132: "SCTP", 47: "IP protocol 47", 0: "IP protocol 0"} {
		if got := ProtocolName(p); got != want {
			t.Errorf("%d: %s", p, got)
		}
	}
	if got := (Endpoint{high.Addr, 53}).String(); got != "[2001:db8::1]:53" {
		t.Error(got)
	}
}

func TestEndpointsAreOrderedByAddressThenPort(t *testing.T) {
	e := func(addr string, port uint16) Endpoint { return Endpoint{netip.MustParseAddr(addr), port} }
	order := []Endpoint{e("1.2.3.4", 0), e("1.2.3.4", 1), e("1.2.3.4", 65535), e("10.0.0.1", 0), e("255.0.0.0", 9), e("::1", 1), e("2001::", 1)}
	for i, a := range order {
		for j, b := range order {
			if got := a.Compare(b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%v and %v: %d", a, b, got)
			}
		}
	}
}

// end returns an endpoint as a table looks it up.
func end(e Endpoint) FlowEnd {
	b := e.Addr.As16()
	word := func(b []byte) (w uint64) {
		for _, x := range b {
			w = w<<8 | uint64(x)
		}
		return w
	}
	if e.Addr.Is4() {
		return FlowEnd{Lo: word(b[12:]), Port: e.Port}
	}
	return FlowEnd{Hi: word(b[:8]), Lo: word(b[8:]), Port: e.Port}
}

// TestAFlowTableNumbersFlowsInTheOrderOfTheirFirstPackets against a map, for so many flows that the table grows.
func TestAFlowTableNumbersFlowsInTheOrderOfTheirFirstPackets(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	four := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("9.255.0.7"), netip.MustParseAddr("0.0.0.0"), netip.MustParseAddr("255.255.255.255")}
	six := []netip.Addr{netip.MustParseAddr("::"), netip.MustParseAddr("::a00:1"), netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8:0:0:1::1"), netip.MustParseAddr("ffff:ffff::2")}
	type key struct {
		low, high Endpoint
		protocol  uint8
	}
	numbers, directions := make(map[key]int), make(map[uint32]bool)
	var want []Flow
	table := NewFlowTable()
	for range 20_000 {
		addrs := four
		if r.IntN(2) == 0 {
			addrs = six
		}
		from, to := Endpoint{addrs[r.IntN(5)], uint16(r.IntN(8))}, Endpoint{addrs[r.IntN(5)], uint16(r.IntN(8))}
		protocol := []uint8{6, 17}[r.IntN(2)]
		k, d := key{from, to, protocol}, uint32(0)
		if from.Compare(to) > 0 {
			k, d = key{to, from, protocol}, 1
		}
		n, known := numbers[k]
		if !known {
			n = len(want)
			numbers[k] = n
			want = append(want, Flow{Low: k.low, High: k.high, Protocol: protocol})
		}
		flow := uint32(n)<<1 | d
		got, first := table.Find(end(from), end(to), protocol, from.Addr.Is6())
		if got != flow || first == directions[flow] {
			t.Fatalf("%v to %v of %d: flow %d, first %v; want %d", from, to, protocol, got, first, flow)
		}
		directions[flow] = true
	}
	if !slices.Equal(table.Flows(), want) || len(want) < 1000 {
		t.Errorf("%d flows, want %d", len(table.Flows()), len(want))
	}
}
