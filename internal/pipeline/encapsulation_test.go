package pipeline

import (
	"cmp"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/encapsulation"
	"meridian/internal/pipeline/input"
	"meridian/match"
	"meridian/trace"
)

var encapsulatedConnections = flag.Int("encapsulated", 12, "TCP connections of the traffic that every encapsulation carries; others in proportion")

// carried is a packet of the traffic: what it was sent as, and when each end's capture saw it, by one true clock.
type carried struct {
	ip             []byte
	way            int // 0 from host a
	class          string
	sent, received int64 // ns; received 0 for a packet that the network lost
	seen           [2]bool
}

// carriedTraffic is a world of two hosts that talk in all the ways that matching tells apart.
type carriedTraffic struct {
	rng     *rand.Rand
	packets []carried
	beside  []carried // in no encapsulation
	loss    float64   // of the network
	missed  float64   // of each capture
	id      [2]uint16
}

const networkDelay, networkJitter = 80_000, 200_000

func (w *carriedTraffic) send(at int64, way int, class string, ip []byte) (arrived bool) {
	p := carried{ip: ip, way: way, class: class, sent: at}
	if arrived = w.rng.Float64() >= w.loss; arrived {
		p.received = at + networkDelay + w.rng.Int64N(networkJitter)
	}
	p.seen = [2]bool{w.rng.Float64() >= w.missed, arrived && w.rng.Float64() >= w.missed}
	w.packets = append(w.packets, p)
	return arrived
}

func (w *carriedTraffic) ip(way, protocol int, six bool, body []byte) []byte {
	hosts := [2]byte{1, 2}
	if six {
		ip := append([]byte{0x60, 0, 0, 0, 0, 0, byte(protocol), 64}, make([]byte, 32)...)
		binary.BigEndian.PutUint16(ip[4:], uint16(len(body)))
		ip[8], ip[23], ip[24], ip[39] = 0xfd, hosts[way], 0xfd, hosts[1-way]
		return append(ip, body...)
	}
	w.id[way]++
	ip := []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, byte(protocol), 0, 0, 10, 0, 0, hosts[way], 10, 0, 0, hosts[1-way]}
	binary.BigEndian.PutUint16(ip[2:], uint16(20+len(body)))
	binary.BigEndian.PutUint16(ip[4:], w.id[way])
	return append(ip, body...)
}

// connection is a TCP connection from host way: requests, answers of several segments, acknowledgements, losses and what is sent
// again for them. Without stamps nothing tells a segment sent again from the first.
func (w *carriedTraffic) connection(at int64, way int, six, stamped bool) {
	ports := [2]int{w.rng.IntN(20000) + 40000, 443}
	next := [2]uint32{w.rng.Uint32(), w.rng.Uint32()}
	segment := func(from, flags, length int, seq uint32) {
		ends := ports
		if from != way {
			ends[0], ends[1] = ends[1], ends[0]
		}
		header := 20
		if stamped {
			header = 32
		}
		b := make([]byte, header+length)
		binary.BigEndian.PutUint16(b, uint16(ends[0]))
		binary.BigEndian.PutUint16(b[2:], uint16(ends[1]))
		binary.BigEndian.PutUint32(b[4:], seq)
		if flags&trace.ACK != 0 {
			binary.BigEndian.PutUint32(b[8:], next[1-from])
		}
		b[12], b[13] = byte(header/4)<<4, byte(flags)
		binary.BigEndian.PutUint16(b[14:], 501)
		if stamped {
			copy(b[20:], "\x01\x01\x08\x0a")
			binary.BigEndian.PutUint32(b[24:], uint32(at/1e6))
			binary.BigEndian.PutUint32(b[28:], uint32(at/1e6)-1)
		}
		for i := range length {
			b[header+i] = byte(w.rng.Uint32())
		}
		for !w.send(at, from, "TCP", w.ip(from, 6, six, b)) {
			at += 210_000_000 // the retransmission timer
			if stamped {
				binary.BigEndian.PutUint32(b[24:], uint32(at/1e6))
			}
		}
		next[from] += uint32(length)
		if flags&(trace.SYN|trace.FIN) != 0 {
			next[from]++
		}
		at += int64(networkDelay+networkJitter) + w.rng.Int64N(100_000)
	}
	segment(way, trace.SYN, 0, next[way])
	segment(1-way, trace.SYN|trace.ACK, 0, next[1-way])
	segment(way, trace.ACK, 0, next[way])
	for range 12 {
		segment(way, trace.ACK|trace.PSH, 50+w.rng.IntN(300), next[way])
		for range 4 {
			segment(1-way, trace.ACK, 1000, next[1-way])
		}
		segment(way, trace.ACK, 0, next[way])
		at += w.rng.Int64N(20_000_000)
	}
	segment(way, trace.FIN|trace.ACK, 0, next[way])
	segment(1-way, trace.FIN|trace.ACK, 0, next[1-way])
	segment(way, trace.ACK, 0, next[way])
}

// datagrams is a flow of UDP from host way: a stream one way, or requests and answers.
func (w *carriedTraffic) datagrams(at int64, way int, six, answered bool) {
	ports := [2]int{w.rng.IntN(20000) + 40000, 5000}
	send := func(from int) {
		body := make([]byte, 8+40+w.rng.IntN(400))
		for i := 8; i < len(body); i++ {
			body[i] = byte(w.rng.Uint32())
		}
		ends := ports
		if from != way {
			ends[0], ends[1] = ends[1], ends[0]
		}
		binary.BigEndian.PutUint16(body, uint16(ends[0]))
		binary.BigEndian.PutUint16(body[2:], uint16(ends[1]))
		binary.BigEndian.PutUint16(body[4:], uint16(len(body)))
		w.send(at, from, "UDP", w.ip(from, 17, six, body))
	}
	for range 30 {
		send(way)
		if at += networkDelay + networkJitter; answered {
			send(1 - way)
		}
		at += w.rng.Int64N(20_000_000)
	}
}

// echoes is a ping from host way.
func (w *carriedTraffic) echoes(at int64, way int) {
	for i := range 30 {
		body := make([]byte, 64)
		binary.BigEndian.PutUint16(body[4:], uint16(1000+way))
		binary.BigEndian.PutUint16(body[6:], uint16(i))
		binary.BigEndian.PutUint64(body[8:], uint64(at))
		body[0] = 8
		if w.send(at, way, "ICMP", w.ip(way, 1, false, slices.Clone(body))) {
			body[0] = 0
			w.send(at+int64(networkDelay+networkJitter), 1-way, "ICMP", w.ip(1-way, 1, false, body))
		}
		at += 20_000_000
	}
}

func newCarriedTraffic(seed uint64, connections int, loss, missed float64) *carriedTraffic {
	w := &carriedTraffic{rng: rand.New(rand.NewPCG(seed, 1)), loss: loss, missed: missed}
	for i := range connections {
		at := int64(1e18) + w.rng.Int64N(500_000_000)
		w.connection(at, i&1, i%3 == 2, i%4 != 3)
		w.datagrams(at, i&1, i%3 == 2, i%2 == 0)
		if i < 4 {
			w.echoes(at, i&1)
		}
	}
	slices.SortStableFunc(w.packets, func(p, q carried) int { return cmp.Compare(p.sent, q.sent) })
	// Stamps tell packets apart, so none occurs twice.
	sent, received := make(map[int64]bool), make(map[int64]bool)
	for i := range w.packets {
		p := &w.packets[i]
		for ; sent[p.sent]; p.sent++ {
		}
		for ; received[p.received] && p.received > 0; p.received++ {
		}
		sent[p.sent], received[p.received] = true, true
	}
	return w
}

// offsetOfB is how far host b's clock is ahead.
const offsetOfB = 3_000_000_000

// captures writes what both hosts captured of the traffic in an encapsulation.
func (w *carriedTraffic) captures(t *testing.T, dir string, e encapsulation.Encapsulation, snap int) [2]string {
	t.Helper()
	type frame struct {
		at   int64
		data []byte
	}
	var frames [2][]frame
	var number [2]int
	add := func(e encapsulation.Encapsulation, p *carried) {
		from := p.way
		if e.Mirror {
			from = 0
		}
		inside := encapsulation.Packet{IP: p.ip, Way: p.way, Number: number[p.way]}
		number[p.way]++
		for end, at := range [2]int64{p.sent, p.received} {
			if inside.At = from ^ end; p.seen[end] {
				frames[inside.At] = append(frames[inside.At], frame{at, e.Frame(inside)})
			}
		}
	}
	for i := range w.packets {
		add(e, &w.packets[i])
	}
	for i := range w.beside {
		add(encapsulation.All()[0], &w.beside[i])
	}
	var paths [2]string
	for h := range frames {
		slices.SortFunc(frames[h], func(f, g frame) int { return cmp.Compare(f.at, g.at) })
		out := binary.LittleEndian.AppendUint32(nil, 0xa1b23c4d)
		out = append(out, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		out = binary.LittleEndian.AppendUint32(out, uint32(snap))
		out = binary.LittleEndian.AppendUint32(out, uint32(e.Link))
		for _, f := range frames[h] {
			at, kept := f.at+int64(h)*offsetOfB, f.data[:min(snap, len(f.data))]
			for _, v := range []int{int(at / 1e9), int(at % 1e9), len(kept), len(f.data)} {
				out = binary.LittleEndian.AppendUint32(out, uint32(v))
			}
			out = append(out, kept...)
		}
		paths[h] = filepath.Join(dir, fmt.Sprintf("%s-%d.pcap", e.Name, h))
		if err := os.WriteFile(paths[h], out, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// shares is what became of the packets that both captures hold.
type shares struct {
	both, matched map[string]int // by class
	wrong         int            // messages of two different packets
	warnings      []string
}

func (s *shares) of(class string) float64 { return float64(s.matched[class]) / float64(s.both[class]) }

// matchCarried matches the captures of the traffic and compares the messages with the truth.
func (w *carriedTraffic) matchCarried(t *testing.T, e encapsulation.Encapsulation, snap int, o match.Options) shares {
	t.Helper()
	var warnings trace.Warnings
	var captures []*trace.Capture
	for h, path := range w.captures(t, t.TempDir(), e, snap) {
		c, err := pcap.Read(context.Background(), path, string(rune('a'+h)), &warnings, nil)
		if err != nil {
			t.Fatal(err)
		}
		captures = append(captures, c)
	}
	r, err := match.Match(context.Background(), captures, o, &warnings)
	if err != nil {
		t.Fatal(err)
	}
	s := shares{both: make(map[string]int), matched: make(map[string]int), warnings: warnings.Lines()}
	type stamps struct{ sent, received clock.HostTime }
	truth := make(map[stamps]string)
	for i, p := range slices.Concat(w.packets, w.beside) {
		if !p.seen[0] || !p.seen[1] {
			continue
		}
		from := p.way
		if e.Mirror && i < len(w.packets) {
			from = 0
		}
		s.both[p.class]++
		truth[stamps{clock.HostTime(p.sent + int64(from)*offsetOfB), clock.HostTime(p.received + int64(1-from)*offsetOfB)}] = p.class
	}
	for _, c := range r.Channels {
		for _, m := range c.Messages {
			class, ok := truth[stamps{m.Sent, m.Received}]
			if !ok {
				s.wrong++
				continue
			}
			s.matched[class]++
		}
	}
	return s
}

// ping is an exchange between the outer addresses, as any two hosts with a tunnel have.
func (w *carriedTraffic) ping() {
	outer := [2]string{"\xc0\x00\x02\x01", "\xc0\x00\x02\x02"}
	at := w.packets[0].sent + 1_000_000_007
	for i := range 10 {
		for way := range 2 {
			ip := append([]byte{0x45, 0, 0, 84, 0, byte(2*i + way), 0, 0, 64, 1, 0, 0}, outer[way]+outer[1-way]...)
			ip = append(ip, byte(8-8*way), 0, 0, 0, 0, 9, 0, byte(i))
			ip = append(ip, make([]byte, 56)...)
			w.beside = append(w.beside, carried{ip: ip, way: way, sent: at, received: at + networkDelay, seen: [2]bool{true, true}})
			at += networkDelay + 10_000
		}
	}
}

func TestEveryEncapsulationIsMatchedByThePacketInside(t *testing.T) {
	w := newCarriedTraffic(7, *encapsulatedConnections, 0.01, 0)
	w.ping()
	for _, e := range encapsulation.All() {
		t.Run(e.Name, func(t *testing.T) {
			s := w.matchCarried(t, e, 262144, match.Options{})
			t.Logf("| %s | %.1f | %.1f | %.1f | %d |", e.Name, 100*s.of("TCP"), 100*s.of("UDP"), 100*s.of("ICMP"), s.wrong)
			if s.wrong > 0 || s.of("TCP") < 0.9 || s.of("UDP") < 0.9 || s.of("ICMP") < 0.9 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestCapturesWithLossesGiveNoWrongMessageInAnyEncapsulation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		w := newCarriedTraffic(seed, *encapsulatedConnections, 0.05, 0.1)
		w.ping()
		for _, e := range encapsulation.All() {
			for _, snap := range [][]int{{262144, 96}, {96, 64}}[seed] {
				s := w.matchCarried(t, e, snap, match.Options{})
				t.Logf("seed %d, %s, snap length %d: TCP %.1f%%, UDP %.1f%%, ICMP %.1f%%", seed, e.Name, snap, 100*s.of("TCP"), 100*s.of("UDP"), 100*s.of("ICMP"))
				if s.wrong > 0 {
					t.Errorf("seed %d, %s, snap length %d: %+v", seed, e.Name, snap, s)
				}
			}
		}
	}
}

// Where a snap length of 96 bytes leaves nothing by which to tell packets apart.
var tooLongFor96 = map[string]string{
	"packet-tap":       "the header of 108 bytes before each packet",
	"prism":            "the header of 144 bytes before each packet",
	"avs":              "the header of 64 bytes before each packet, and 32 of 802.11",
	"radiotap-padded":  "IPv6: the header before each packet of 26 bytes, and 36 of 802.11",
	"vxlan-unnumbered": "TCP over IPv6: neither its numbers nor one of the tunnel",
	"vxlan-mirror":     "TCP over IPv6: neither its numbers nor one of the tunnel",
	"vxlan-ipv6":       "TCP over IPv6: neither its numbers nor one of the tunnel",
	"gtp-u-unnumbered": "TCP over IPv6: neither its numbers nor one of the tunnel",
	"gtp-u-5g":         "TCP over IPv6: neither its numbers nor one of the tunnel",
	"erspan-1":         "TCP over IPv6: neither its numbers nor one of the tunnel",
	"ipip-ipv6":        "TCP over IPv6: neither its numbers nor one of the tunnel",
}

func TestShortSnapLengthsLeaveEnoughToMatchMostEncapsulations(t *testing.T) {
	w := newCarriedTraffic(7, *encapsulatedConnections, 0.01, 0)
	w.ping()
	for _, e := range encapsulation.All() {
		s := w.matchCarried(t, e, 96, match.Options{})
		t.Logf("| %s | %.1f | %.1f | %.1f | %d |", e.Name, 100*s.of("TCP"), 100*s.of("UDP"), 100*s.of("ICMP"), s.wrong)
		if s.wrong > 0 {
			t.Errorf("%s: %+v", e.Name, s)
		}
		enough := min(s.of("TCP"), s.of("UDP"), s.of("ICMP")) >= 0.9
		if why, short := tooLongFor96[e.Name]; enough == short {
			t.Errorf("%s (%s): %+v", e.Name, why, s)
		}
		if !enough && !slices.ContainsFunc(s.warnings, func(l string) bool { return strings.Contains(l, "cut before the end of") }) {
			t.Errorf("%s: no warning says that packets were cut: %q", e.Name, s.warnings)
		}
	}
}

// Of copies that go one way, without anything that goes back, nothing tells where they went, and that is said. An address does.
func TestOneWayMirrorsNeedAnAddress(t *testing.T) {
	w := newCarriedTraffic(7, 4, 0.01, 0)
	for _, e := range encapsulation.All() {
		if !e.Mirror {
			continue
		}
		s := w.matchCarried(t, e, 262144, match.Options{})
		if len(s.matched) > 0 || s.wrong > 0 || len(s.warnings) != 1 || !strings.Contains(s.warnings[0], "--address") {
			t.Errorf("%s: %+v", e.Name, s)
		}
		for host, address := range map[string]string{"a": "192.0.2.1", "b": "192.0.2.2"} {
			s := w.matchCarried(t, e, 262144, match.Options{Addresses: map[string][]netip.Addr{host: {netip.MustParseAddr(address)}}})
			if s.wrong > 0 || s.of("TCP") < 0.9 || s.of("UDP") < 0.9 || s.of("ICMP") < 0.9 {
				t.Errorf("%s, with the address of %s: %+v", e.Name, host, s)
			}
		}
	}
}

// tcpdump stamps what netfilter logs when it reads it, so the bounds are no promise.
func TestStampsOfNetfilterLogsBreakThePromise(t *testing.T) {
	w := newCarriedTraffic(7, 4, 0, 0)
	for _, e := range encapsulation.All() {
		if e.Name != "nflog" && e.Name != "ethernet" {
			continue
		}
		var inputs []input.Trace
		for h, path := range w.captures(t, t.TempDir(), e, 262144) {
			inputs = append(inputs, input.Trace{Host: string(rune('a' + h)), Path: path})
		}
		outcome, err := Run(context.Background(), inputs, Options{})
		if err != nil {
			t.Fatal(err)
		}
		late := 0
		for _, b := range outcome.Broken {
			if strings.Contains(b, "NFLOG") {
				late++
			}
		}
		if want := map[string]int{"nflog": 2}[e.Name]; late != want {
			t.Errorf("%s: %d promises broken, not %d: %q", e.Name, late, want, outcome.Broken)
		}
	}
}
