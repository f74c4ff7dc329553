package match

import (
	"net/netip"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// answered passes a datagram and an answer of other content, so that the captures tell who sends.
func (w *world) answered(at clock.HostTime, p trace.Packet) {
	p.Time, p.Kind = at, trace.Datagram
	arrived := w.pass(true, protocolUDP, p, 20_000)
	w.pass(false, protocolUDP, trace.Packet{Time: arrived + 1_000, Kind: trace.Datagram, Length: 9, Digest: uint32(at), ID: p.ID}, 20_000)
}

func TestDatagramsAreMatchedByContentAndRepeatsLeftOut(t *testing.T) {
	for _, c := range []struct {
		name                string
		packets             []trace.Packet
		messages, ambiguous int
	}{
		{"different content", []trace.Packet{{Length: 40, Digest: 1}, {Length: 40, Digest: 2}}, 2, 0},
		{"one content, told minClockOffset by identification", []trace.Packet{{Length: 40, Digest: 1, ID: 7}, {Length: 40, Digest: 1, ID: 8}}, 2, 0},
		{"one beginning, told minClockOffset by length", []trace.Packet{{Length: 40, Digest: 1}, {Length: 41, Digest: 1}}, 2, 0},
		{"one content throughout", []trace.Packet{{Length: 40, Digest: 1}, {Length: 40, Digest: 1}, {Length: 40, Digest: 2}}, 1, 2},
		{"content not kept, identification tells", []trace.Packet{{Length: 40, ID: 3}, {Length: 40, ID: 4}}, 2, 0},
		{"content not kept and no identification", []trace.Packet{{Length: 40}, {Length: 40}}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(7_000_000_000)
			for i, p := range c.packets {
				w.answered(clock.HostTime(1_000_000_000+int64(i)*100_000_000), p)
			}
			for i := range int64(3) { // TCP between the two, to learn the sides from
				w.pass(i%2 == 0, protocolTCP, trace.Packet{Time: clock.HostTime(5_000_000_000 + i*60_000), Kind: trace.TCP, Seq: uint32(i), Ack: 7, TSVal: uint32(i + 1), Flags: trace.ACK}, 20_000)
			}
			ab, ba, r, _ := w.match(t, Options{})
			w.check(t, ab, ba)
			if n := len(ab) - 2; n != c.messages || int(r.Tally.Ambiguous) != c.ambiguous {
				t.Errorf("%d messages and %d ambiguous, want %d and %d", n, r.Tally.Ambiguous, c.messages, c.ambiguous)
			}
		})
	}
}

func TestSuperDatagramIsMatchedByItsFirstPart(t *testing.T) {
	w := newWorld(0)
	for i := range int64(4) {
		now := clock.HostTime(1_000_000_000 + i*1_000_000)
		w.record(false, protocolUDP, addrA, addrB, trace.Packet{Time: now, Kind: trace.Datagram, Length: 12_000, Digest: uint32(100 * (i + 1)), ID: uint16(10 * (i + 1))})
		for k := range int64(10) {
			w.record(true, protocolUDP, addrA, addrB, trace.Packet{
				Time: now + 20_000 + clock.HostTime(k*1_000), Kind: trace.Datagram, Length: 1200, Digest: uint32(100*(i+1) + k), ID: uint16(10*(i+1) + k),
			})
			w.left[now+20_000+clock.HostTime(k*1_000)] = now
		}
		w.pass(false, protocolUDP, trace.Packet{Time: now + 40_000, Kind: trace.Datagram, Length: 30, Digest: uint32(i + 5), ID: 1}, 20_000)
	}
	ab, ba, _, _ := w.match(t, Options{Addresses: map[string][]netip.Addr{"a": {addrA.Addr}}})
	w.check(t, ab, ba)
	if len(ab) != 4 || len(ba) != 4 {
		t.Errorf("%d and %d messages of 4 super-datagrams and 4 answers", len(ab), len(ba))
	}
}

func TestNobodySendsFromTheUnspecifiedAddress(t *testing.T) {
	w := newWorld(0)
	nobody := trace.Endpoint{Addr: netip.IPv6Unspecified()}
	all := trace.Endpoint{Addr: netip.MustParseAddr("ff02::16")}
	for i := range int64(2) { // each host asks for itself, with the same bytes
		p := trace.Packet{Time: clock.HostTime(1_000_000_000 + i*5_000_000), Kind: trace.Datagram, Length: 20, Digest: 9}
		w.record(i == 1, 58, nobody, all, p)
		p.Time += 20_000
		w.record(i == 0, 58, nobody, all, p)
	}
	if ab, ba, _, _ := w.match(t, Options{}); len(ab)+len(ba) > 0 {
		t.Errorf("%d messages of packets that any host may have sent", len(ab)+len(ba))
	}
}
