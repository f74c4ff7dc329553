package match

import (
	"math/rand/v2"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// networkRepeats records datagrams from a to b of which the network repeats a fifth, and the application some. Captures miss 5 %.
func networkRepeats(numbered bool, sentAgain float64) *world {
	r := rand.New(rand.NewPCG(4, 2))
	w := newWorld(3_000_000_000)
	now := clock.HostTime(1_000_000_000)
	for i := range 2000 {
		now += 10_000_000
		p := trace.Packet{Length: 100, Kind: trace.Datagram, Digest: uint32(i + 1)}
		sendings := 1
		if r.Float64() < sentAgain {
			sendings = 2
		}
		for again := range sendings {
			if numbered {
				p.ID++
				p.ID += uint16(2 * i)
			}
			sent := now + clock.HostTime(100_000*again)
			if p.Time = sent; r.Float64() >= 0.05 {
				w.record(false, protocolUDP, addrA, addrB, p)
			}
			for copies := range 2 {
				if copies == 1 && r.IntN(5) > 0 {
					break
				}
				p.Time = sent + 50_000 + clock.HostTime(r.Int64N(200_000))
				w.left[p.Time] = sent
				if r.Float64() >= 0.05 {
					w.record(true, protocolUDP, addrA, addrB, p)
				}
			}
		}
		if i%100 == 0 {
			w.pass(false, protocolTCP, trace.Packet{Time: now + 1_000_000, Kind: trace.TCP, Seq: uint32(i), Ack: 7, Flags: trace.ACK}, 20_000)
			w.pass(true, protocolTCP, trace.Packet{Time: now + 1_100_000, Kind: trace.TCP, Seq: 7, Ack: uint32(i), Flags: trace.ACK}, 20_000)
		}
	}
	return w
}

func TestOfOneSendingThatTheNetworkRepeatsTheFirstReceptionIsTheMessage(t *testing.T) {
	w := networkRepeats(true, 0.1)
	ab, _, _, _ := w.match(t, Options{})
	if len(ab) < 1900 { // of 2200 sendings a tenth is not seen at both ends
		t.Errorf("%d messages", len(ab))
	}
	for _, m := range ab {
		if left := w.left[m.Received-clock.HostTime(w.offset)]; left != m.Sent && left != 0 {
			t.Errorf("sent at %d, received what left at %d", m.Sent, left)
		}
	}
}

func TestOfOneSendingSeenWhereSendersRepeatSeveralReceptionsMakeNoMessage(t *testing.T) {
	w := networkRepeats(false, 0.1)
	ab, ba, _, _ := w.match(t, Options{})
	w.check(t, ab, ba)
	if len(ab) > 100 {
		t.Errorf("%d messages", len(ab))
	}
}

// A SYN sent again says nothing of segments, which have reasons of their own to be repeated.
func TestAnOpeningSentAgainDropsNoData(t *testing.T) {
	for name, id := range map[string]uint16{"without numbers": 0, "with numbers": 1} {
		r := rand.New(rand.NewPCG(4, 3))
		w := newWorld(3_000_000_000)
		now := clock.HostTime(1_000_000_000)
		send := func(fromA bool, p trace.Packet) {
			p.Time = now
			arrived := now + 50_000 + clock.HostTime(r.Int64N(200_000))
			from, to := addrA, addrB
			if !fromA {
				from, to = addrB, addrA
			}
			if r.Float64() >= 0.05 {
				w.record(!fromA, protocolTCP, from, to, p)
			}
			p.Time = arrived
			if r.Float64() >= 0.05 {
				w.record(fromA, protocolTCP, from, to, p)
			}
			if fromA {
				w.left[arrived] = now
			} else {
				w.left[-arrived] = now
			}
		}
		for range 2 { // kernels do not number what opens
			send(true, trace.Packet{Kind: trace.TCP, Seq: 1, Flags: trace.SYN})
			now += 150_000
			send(false, trace.Packet{Kind: trace.TCP, Seq: 1, Ack: 2, Flags: trace.SYN | trace.ACK})
			now += 150_000
		}
		for i := range uint32(1000) {
			now += 1_000_000
			send(true, trace.Packet{Kind: trace.TCP, Seq: 2 + 100*i, Ack: 2 + 10*i, Length: 100, Flags: trace.ACK, ID: id * uint16(i+7)})
			now += 500_000
			send(false, trace.Packet{Kind: trace.TCP, Seq: 2 + 10*i, Ack: 102 + 100*i, Length: 10, Flags: trace.ACK, ID: id * uint16(i+9)})
		}
		ab, ba, _, _ := w.match(t, Options{})
		w.check(t, ab, ba)
		if len(ab) < 850 || len(ba) < 850 {
			t.Errorf("%s: %d and %d messages", name, len(ab), len(ba))
		}
	}
}
