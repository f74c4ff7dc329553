package match

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// repeating records datagrams from a to b, each of its own content, of which a share is sent again after some time. Captures
// and the network lose shares. What nothing loses and nobody repeats is answered, so that the sides are known.
type repeating struct {
	n                        int
	repeats                  float64
	after                    int64
	jitter                   int64 // of delays; 0 for 1 us
	captureA, captureB, lost float64
	seed                     uint64
	twice                    bool // a's capture holds every frame twice
}

func (o repeating) world() *world {
	r := rand.New(rand.NewPCG(o.seed, 5))
	w := newWorld(3_000_000_000)
	from, to := addrA, addrB
	now := clock.HostTime(1_000_000_000)
	send := func(at clock.HostTime, content uint32) {
		p := trace.Packet{Time: at, Kind: trace.Datagram, Length: 100, Digest: content}
		if r.Float64() >= o.captureA {
			w.record(false, protocolUDP, from, to, p)
			if o.twice {
				p.Time += 3_000
				w.record(false, protocolUDP, from, to, p)
			}
		}
		arrived := at + 50_000 + clock.HostTime(r.Int64N(max(1000, o.jitter)))
		w.left[arrived] = at
		if r.Float64() >= o.lost && r.Float64() >= o.captureB {
			p.Time = arrived
			w.record(true, protocolUDP, from, to, p)
		}
	}
	for i := range o.n {
		now += 10_000_000
		send(now, uint32(i+1))
		if r.Float64() < o.repeats {
			send(now+clock.HostTime(o.after), uint32(i+1))
		}
		if i%100 == 0 {
			w.pass(false, protocolTCP, trace.Packet{Time: now + 1_000_000, Kind: trace.TCP, Seq: uint32(i), Ack: 7, Flags: trace.ACK}, 20_000)
			w.pass(true, protocolTCP, trace.Packet{Time: now + 1_100_000, Kind: trace.TCP, Seq: 7, Ack: uint32(i), Flags: trace.ACK}, 20_000)
		}
	}
	return w
}

func TestSingleCopiesAreUsedWhereNoLossCanHaveMadeThemFalse(t *testing.T) {
	const n, wide = 6000, 100_000_000
	for _, c := range []struct {
		repeating
		least, most float64 // share of the datagrams that are messages
	}{
		{repeating{}, 1, 1},
		{repeating{captureA: 0.1, captureB: 0.1}, 0.75, 0.85},
		{repeating{captureA: 0.1, captureB: 0.1, lost: 0.1}, 0.65, 0.8},
		{repeating{repeats: 0.1}, 1.05, 1.15},                                          // all is seen
		{repeating{repeats: 0.1, lost: 0.02}, 0.8, 1.1},                                // the sender's capture sees all
		{repeating{repeats: 0.1, captureA: 0.02}, 1, 1.1},                              // the receiver's end sees all
		{repeating{repeats: 0.1, captureA: 0.02, captureB: 0.02, jitter: wide}, 0, 0},  // a copy may be unseen at each
		{repeating{repeats: 0.1, captureA: 0.005, captureB: 0.02, jitter: wide}, 0, 0}, //
		{repeating{repeats: 0.01, captureA: 0.1, captureB: 0.1, jitter: wide}, 0, 0},   // rare, but much is missed
		{repeating{repeats: 0.001, captureA: 0.001, captureB: 0.001}, 0.98, 1},         // rare both
		{repeating{twice: true}, 1, 1},
		// The delays tell copies apart.
		{repeating{repeats: 0.1, captureA: 0.02, captureB: 0.02}, 0.8, 1.1},
		{repeating{repeats: 0.1, captureA: 0.005, captureB: 0.02}, 0.85, 1.1},
		{repeating{repeats: 0.001, captureA: 0.02, captureB: 0.1}, 0.8, 0.95},
	} {
		for _, after := range []int64{5_000, 350_000, 20_000_000} {
			t.Run(fmt.Sprintf("%+v after %d", c.repeating, after), func(t *testing.T) {
				c.n, c.after, c.seed = n, after, uint64(after)
				w := c.world()
				ab, ba, r, _ := w.match(t, Options{})
				w.check(t, ab, ba)
				got := max(0, float64(len(ab)-n/100)/n)
				if got < c.least || got > c.most {
					t.Errorf("%.3f of all are messages, want %v to %v", got, c.least, c.most)
				}
				if c.most == 0 && r.Tally.Unsure == 0 {
					t.Error("nothing is counted as unsure")
				}
			})
		}
	}
}

// The risk is compared with what happens: repeated keys are drawn, and the pairs of single copies that are false are counted.
func TestTheRiskIsTheShareOfFalsePairs(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, c := range []struct{ sender, receiver float64 }{{0.02, 0.02}, {0.1, 0.1}, {0.1, 0.01}, {0.3, 0.1}} {
		const n = 400_000
		var all census
		wrong, seen := 0, 0
		for i := range n {
			sends := 1 + i%2
			var left, came [2]bool
			var sent, received int
			for k := range sends {
				if left[k] = r.Float64() >= c.sender; left[k] {
					sent++
				}
				if came[k] = r.Float64() >= c.receiver; came[k] {
					received++
				}
			}
			all.add(sent, received)
			if sent > 1 {
				seen++
			}
			if sent == 1 && received == 1 && left[0] != came[0] {
				wrong++
			}
		}
		x := &index{Capture: &trace.Capture{}}
		f := finding{kind: kind{from: x, to: x}, unit: unit{1, 1}}
		got, want := f.chance(&all, all.losses(f.unit)).seen, float64(wrong)/float64(seen)
		// Repeated keys hide losses from the census, since one copy is enough to be seen: the estimate may be low by a third.
		if got < 0.6*want || got > 2.5*want {
			t.Errorf("%+v: risk %v of a repeated key that is seen, and %v were false", c, got, want)
		}
		x.Whole = true
		if f.chance(&all, all.losses(f.unit)) != (chance{}) {
			t.Error("a whole trace misses something")
		}
	}
}

func TestOfAKindThatMayHoldFalsePairsNoneIsUsed(t *testing.T) {
	x, y := &index{Capture: &trace.Capture{}}, &index{Capture: &trace.Capture{}}
	k := kind{from: x, to: y}
	with := func(single, repeated, unsent, uncome int32) *finding {
		f := &finding{kind: k}
		f.census[1][1], f.census[2][2], f.census[0][1], f.census[1][0] = single, repeated, unsent, uncome
		return f
	}
	quiet, loud := with(5000, 0, 100, 100), with(5000, 600, 100, 100)
	accept([]*finding{loud, quiet})
	if !quiet.accepted || loud.accepted {
		t.Errorf("the flow without repeats is used: %v, the one with them: %v", quiet.accepted, loud.accepted)
	}
	var short []*finding // many flows of one datagram each, of which some are repeated
	for range 1000 {
		short = append(short, with(1, 0, 0, 0))
	}
	for range 60 {
		short = append(short, with(0, 1, 0, 0), with(0, 0, 1, 0), with(0, 0, 0, 1))
	}
	accept(short)
	if short[0].accepted {
		t.Error("flows of a kind that repeats are used, since none of them shows it")
	}
	clean := []*finding{with(1, 0, 0, 0)}
	if accept(clean); !clean[0].accepted {
		t.Error("a single datagram is no message")
	}
	if math.IsNaN(clean[0].chance(&census{}, losses{}).seen) {
		t.Error("the risk of nothing is no number")
	}
}

// Few packets show no repeat, and yet one was sent again after a timeout: of its first sending the receiver saw nothing, and of its
// second the sender's capture.
func TestACandidateFarLaterThanAllOthersIsDropped(t *testing.T) {
	for name, o := range map[string]repeating{"frames once": {n: 60, seed: 1}, "frames twice at the sender": {n: 60, seed: 1, twice: true}} {
		w := o.world()
		first := clock.HostTime(30_000_000_000)
		p := trace.Packet{Time: first, Kind: trace.Datagram, Length: 100, Digest: 77}
		w.record(false, protocolUDP, addrA, addrB, p)
		if o.twice {
			p.Time += 3_000
			w.record(false, protocolUDP, addrA, addrB, p)
		}
		p.Time = first + 210_050_000
		w.left[p.Time] = first + 210_000_000
		w.record(true, protocolUDP, addrA, addrB, p)
		p.Digest, p.Time = 78, first+220_000_000 // the network loses it
		w.record(false, protocolUDP, addrA, addrB, p)
		p.Digest, p.Time = 79, first+230_000_000
		w.left[p.Time+50_000] = p.Time
		w.record(false, protocolUDP, addrA, addrB, p)
		p.Time += 50_000
		w.record(true, protocolUDP, addrA, addrB, p)
		ab, ba, _, _ := w.match(t, Options{})
		w.check(t, ab, ba)
		for _, m := range ab {
			if left := w.left[m.Received-clock.HostTime(w.offset)]; m.Sent != left {
				t.Errorf("%s: what left at %d is said to have left at %d", name, left, m.Sent)
			}
		}
		if len(ab) < 55 {
			t.Errorf("%s: %d messages", name, len(ab))
		}
	}
}
