package match

import (
	"net/netip"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// translated makes b see a behind another address and port, and a see b behind one of its own.
func translated(w *world) {
	w.natural = func(e trace.Endpoint, atB bool) trace.Endpoint {
		switch {
		case atB && e.Addr == addrA.Addr:
			e.Addr = netip.MustParseAddr("192.0.2.1") // above b's own: the flow's ends change places
			e.Port = max(e.Port, 1) - 1
		case !atB && e.Addr == addrB.Addr:
			e.Addr = netip.MustParseAddr("10.0.0.0") // below a's own
			if e.Port == 80 {
				e.Port = 8080
			}
		}
		return e
	}
}

func TestTranslatedConnectionIsRecognisedWithAndWithoutItsBeginning(t *testing.T) {
	for _, begun := range []bool{true, false} {
		w := newWorld(-11_000_000_000)
		translated(w)
		now := clock.HostTime(1_000_000_000)
		if begun {
			w.pass(true, protocolTCP, trace.Packet{Time: now, Kind: trace.TCP, Seq: 100, Flags: trace.SYN}, 30_000)
			w.pass(false, protocolTCP, trace.Packet{Time: now + 40_000, Kind: trace.TCP, Seq: 9, Ack: 101, Flags: trace.SYN | trace.ACK}, 30_000)
		}
		for i := range int64(20) {
			at := now + 1_000_000 + clock.HostTime(i*100_000)
			w.pass(true, protocolTCP, trace.Packet{Time: at, Kind: trace.TCP, Seq: uint32(101 + 50*i), Ack: 10, Length: 50, Flags: trace.ACK}, 30_000)
			w.pass(false, protocolTCP, trace.Packet{Time: at + 40_000, Kind: trace.TCP, Seq: 10, Ack: uint32(151 + 50*i), Flags: trace.ACK}, 30_000)
		}
		ab, ba, _, _ := w.match(t, Options{})
		w.check(t, ab, ba)
		want := 20
		if begun {
			want = 21
		}
		if len(ab) != want || len(ba) != want {
			t.Errorf("beginning captured %v: %d and %d messages, want %d each", begun, len(ab), len(ba), want)
		}
	}
}

func TestTranslatedDatagramsAreRecognisedByContent(t *testing.T) {
	w := newWorld(5_000_000_000)
	translated(w)
	for i := range int64(12) {
		w.answered(clock.HostTime(1_000_000_000+i*10_000_000), trace.Packet{Length: 40, Digest: uint32(i + 1), ID: uint16(i + 1)})
	}
	ab, ba, _, _ := w.match(t, Options{})
	w.check(t, ab, ba)
	if len(ab) != 12 || len(ba) != 12 {
		t.Errorf("%d and %d messages of 12 questions and 12 answers", len(ab), len(ba))
	}
}

func TestConnectionsThatOnlyLookAlikeAreNotJoined(t *testing.T) {
	// Two private networks with the same addresses: the captures are of different hosts altogether.
	w := newWorld(0)
	for i := range int64(50) {
		at := clock.HostTime(1_000_000_000 + i*100_000)
		w.record(false, protocolTCP, addrA, addrB, trace.Packet{Time: at, Kind: trace.TCP, Seq: uint32(1000 + 10*i), Ack: 1, Length: 10, Flags: trace.ACK})
		w.record(true, protocolTCP, addrA, addrB, trace.Packet{Time: at, Kind: trace.TCP, Seq: uint32(900_000 + 10*i), Ack: 1, Length: 10, Flags: trace.ACK})
	}
	if ab, ba, _, _ := w.match(t, Options{}); len(ab)+len(ba) > 0 {
		t.Errorf("%d messages between strangers", len(ab)+len(ba))
	}
}
