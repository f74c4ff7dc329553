package match

import (
	"math/rand/v2"
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

// TestTranslatedFlowsAreJoinedWhateverStandsBesideThem: in any order in either capture, with flows that both know by their
// addresses and with flows that only one captured, a host without an address among them.
func TestTranslatedFlowsAreJoinedWhateverStandsBesideThem(t *testing.T) {
	type conversed struct {
		name            string
		protocol        uint8
		translated      bool
		begun           bool // its first packets were captured, of TCP its SYNs
		inA, inB, bound bool // captured by a, by b; bound: it has a sender's address
	}
	var all []conversed
	for _, protocol := range []uint8{protocolTCP, protocolUDP} {
		for _, begun := range []bool{true, false} {
			all = append(all, conversed{"known", protocol, false, begun, true, true, true}, conversed{"translated", protocol, true, begun, true, true, true},
				conversed{"of a", protocol, false, begun, true, false, true}, conversed{"of b", protocol, false, begun, false, true, true})
		}
	}
	all = append(all, conversed{"without an address", protocolUDP, false, true, true, true, false})
	capture := func(order []int, atB bool) *index {
		c := &trace.Capture{Granularity: 1}
		for _, k := range order {
			f := all[k]
			if atB && !f.inB || !atB && !f.inA {
				continue
			}
			flow := trace.Flow{Low: addrA, High: addrB, Protocol: f.protocol}
			flow.Low.Port = uint16(1000 + k)
			if atB && f.translated {
				flow.Low.Port += 500
			}
			if !f.bound {
				flow.Low.Addr = netip.IPv4Unspecified()
			}
			there, seq := uint32(2*len(c.Flows)), uint32(1_000_000*(k+1))
			c.Flows = append(c.Flows, flow)
			own := uint32(50_000) // a packet that the other capture does not have
			if atB {
				own *= 2
			}
			if f.protocol == protocolUDP {
				if !f.begun {
					*c.Packets.Append() = trace.Packet{Kind: trace.Datagram, Flow: there, Length: 9}
					*c.Packets.Append() = trace.Packet{Kind: trace.Datagram, Flow: there, Length: 9, Digest: seq + own, ID: 9}
				}
				for i := range uint32(4) {
					*c.Packets.Append() = trace.Packet{Kind: trace.Datagram, Flow: there, Length: 9, Digest: seq + i, ID: uint16(i + 1)}
				}
				continue
			}
			if f.begun {
				*c.Packets.Append() = trace.Packet{Kind: trace.TCP, Flow: there, Seq: seq - 1, Flags: trace.SYN}
				*c.Packets.Append() = trace.Packet{Kind: trace.TCP, Flow: there | 1, Seq: 6 * seq, Ack: seq, Flags: trace.SYN | trace.ACK}
			} else {
				*c.Packets.Append() = trace.Packet{Kind: trace.TCP, Flow: there, Seq: seq, Length: 1, Flags: trace.ACK} // acknowledges nothing
				*c.Packets.Append() = trace.Packet{Kind: trace.TCP, Flow: there, Seq: seq + own, Ack: 6*seq + 1, Length: 10, Flags: trace.ACK}
			}
			for i := range uint32(5) {
				*c.Packets.Append() = trace.Packet{Kind: trace.TCP, Flow: there, Seq: seq + 10*i, Ack: 6*seq + 1, Length: 10, Flags: trace.ACK}
			}
		}
		return newIndex(c, 0, nil)
	}
	number := func(x *index, f int) int { return int(x.Flows[f].Low.Port) % 500 }
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		a, b := capture(r.Perm(len(all)), false), capture(r.Perm(len(all)), true)
		joined := make([]int, len(all))
		for _, u := range pairUp(a, b) {
			if number(a, u.flowA) != number(b, u.flowB) {
				t.Fatalf("seed %d: %+v was joined with %+v", seed, all[number(a, u.flowA)], all[number(b, u.flowB)])
			}
			joined[number(a, u.flowA)]++
		}
		for k, n := range joined {
			want := 0
			if all[k].inA && all[k].inB && all[k].bound {
				want = 1
			}
			if n != want {
				t.Fatalf("seed %d: %+v was joined %d times, want %d", seed, all[k], n, want)
			}
		}
	}
}
