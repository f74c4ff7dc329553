package match

import (
	"fmt"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// oneWayDelay is what every packet of a skewedWorld takes, ns: skew makes more than both ways of it in a second.
const oneWayDelay = 30_000

// skewedWorld is a world whose b's clock gains skew parts per million. It knows the numbers of what each host sent.
type skewedWorld struct {
	*world
	skew    int64
	routed  bool // a router between both counts times to live down
	packets int64
	sent    [2]map[clock.HostTime]bool // stamps of the sender
}

func newSkewedWorld(skew int64, routed bool) *skewedWorld {
	return &skewedWorld{world: newWorld(0), skew: skew, routed: routed, sent: [2]map[clock.HostTime]bool{{}, {}}}
}

// send passes a datagram at a true time, ns.
func (w *skewedWorld) send(at int64, fromB bool, protocol uint8) {
	w.packets++
	from, to, sender := addrA, addrB, 0
	if fromB {
		from, to, sender = addrB, addrA, 1
	}
	for _, atB := range []bool{fromB, !fromB} {
		p := trace.Packet{Kind: trace.Datagram, Length: 24, ID: uint16(w.packets), Digest: uint32(w.packets), TTL: 64}
		now := at
		if atB != fromB {
			now += oneWayDelay
			if w.routed {
				p.TTL--
			}
		}
		p.Time = clock.HostTime(1_700_000_000_000_000_000 + now)
		if atB {
			p.Time += clock.HostTime(now / 1_000_000 * w.skew)
		}
		if atB == fromB {
			w.sent[sender][p.Time] = true
		}
		w.record(atB, protocol, from, to, p)
	}
}

// exchange lets a ask and b answer later.
func (w *skewedWorld) exchange(at, answer int64, protocol uint8) {
	w.send(at, false, protocol)
	w.send(at+oneWayDelay+answer, true, protocol)
}

// ownLinks gives a's frames link-layer addresses, and a second neighbour, so that only its own address is in every frame.
func (w *skewedWorld) ownLinks() {
	mac := func(last byte) trace.MAC { return trace.MAC{2, 0, 0, 0, 0, last} }
	w.a.Flows[0].Source, w.a.Flows[0].Target = [2]trace.MAC{mac(1), mac(2)}, [2]trace.MAC{mac(2), mac(1)}
	w.a.Flows = append(w.a.Flows, trace.Flow{Low: addrA, High: trace.Endpoint{Addr: addrB.Addr.Next()}, Protocol: protocolUDP,
		Source: [2]trace.MAC{mac(1)}, Target: [2]trace.MAC{mac(3)}})
}

const second = 1_000_000_000

// traffic is of one UDP flow in which skew can make more than the round trips, unless it says otherwise.
var traffic = map[string]struct {
	pass func(w *skewedWorld)
	told bool // by round trips alone
}{
	"one answer after a second": {func(w *skewedWorld) { w.exchange(0, second, protocolUDP) }, false},
	"each ten seconds an answer after one": {func(w *skewedWorld) {
		for i := range int64(60) {
			w.exchange(10*second*i, second, protocolUDP)
		}
	}, false},
	"sparse, now one and now the other": {func(w *skewedWorld) {
		for i := range int64(20) {
			w.send(7*second*i, false, protocolUDP)
			w.send(7*second*i+1_900_000_000, true, protocolUDP)
			w.send(7*second*i+4*second, true, protocolUDP)
		}
	}, false},
	"sparse, b first": {func(w *skewedWorld) {
		for i := range int64(20) {
			w.send(7*second*i, true, protocolUDP)
			w.send(7*second*i+1_900_000_000, false, protocolUDP)
		}
	}, false},
	"a packet each second": {func(w *skewedWorld) {
		for i := range int64(20) {
			w.exchange(2*second*i, second, protocolUDP)
		}
	}, true},
	"sparse first, then quick answers": {func(w *skewedWorld) {
		for i := range int64(100) {
			w.exchange(10*second*i, second, protocolUDP)
		}
		for i := range int64(20) {
			w.exchange(1000*second+10*second*i, 100_000, protocolUDP)
		}
	}, true},
}

func TestSkewDoesNotTurnSenderAndReceiverAbout(t *testing.T) {
	for name, c := range traffic {
		for _, evidence := range []string{"nothing", "hops", "link address", "addresses known elsewhere"} {
			for _, ppm := range []int64{-500, -100, -70, 0, 70, 100, 500} {
				t.Run(fmt.Sprintf("%s, %s, %d ppm", name, evidence, ppm), func(t *testing.T) {
					w := newSkewedWorld(ppm, evidence == "hops")
					c.pass(w)
					switch evidence {
					case "link address":
						w.ownLinks()
					case "addresses known elsewhere":
						for i := range int64(6) {
							w.exchange(second/2+i*1_000_000, 50_000, 132)
						}
					}
					w.demand(t, c.told || evidence != "nothing")
				})
			}
		}
	}
}

// demand wants all messages, each of its true sender, or none and the advice to name an address.
func (w *skewedWorld) demand(t *testing.T, all bool) {
	t.Helper()
	ab, ba, _, warnings := w.match(t, Options{})
	for i, messages := range [][]trace.Message{ab, ba} {
		for _, m := range messages {
			if !w.sent[i][m.Sent] {
				t.Fatalf("%s did not send at %d: %q", []string{"a", "b"}[i], m.Sent, warnings)
			}
		}
	}
	want := int64(0)
	if all {
		want = w.packets
	}
	// With no skew at all the round trips are right, yet it cannot be known.
	if got := int64(len(ab) + len(ba)); got != want {
		t.Errorf("%d messages, want %d: %q", got, want, warnings)
	}
	if said := strings.Contains(strings.Join(warnings, "\n"), "--address"); said == all {
		t.Errorf("advice %v: %q", said, warnings)
	}
}

func TestARoundTripStandsWhereItIsMoreThanSkewMakes(t *testing.T) {
	for name, c := range map[string]struct {
		gap, both int64
		votes     int
		first     int
	}{
		"more than a thousandth":             {1_000_000, 1_001, 1, 1},
		"a thousandth":                       {1_000_000, 1_000, 0, 0},
		"more, of b":                         {1_000_000, -1_002, 1, -1},
		"a thousandth, of b":                 {1_000_000, -999, 0, 0},
		"a long way":                         {maxGap, 100_000_000, 1, 1},
		"within the steps, so it may be one": {1_000_000, 2, 1, 0},
		"at one instant":                     {1_000_000, 0, 1, 0},
	} {
		// a's time is longer than b's by both.
		common := []commonPacket{{a: 5 * second, b: 9 * second}, {a: 5*second + clock.HostTime(c.gap+c.both), b: 9*second + clock.HostTime(c.gap), direction: 1}}
		v := compare(common, span{}, 2)
		if v.pairs != 1 || v.votes != c.votes || v.first != c.first {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestTwoClocksOfOneCaptureLeaveRoomForSkewToo(t *testing.T) {
	split := span{37 * second, 37*second + 1000}
	for _, c := range []struct{ over, votes, first int64 }{{900_000, 0, 0}, {1_100_000, 1, 1}, {-900_000, 0, 0}, {-1_100_000, 1, -1}, {500, 0, 0}} {
		both := split.high + c.over
		if c.over < 0 {
			both = split.low + c.over
		}
		common := []commonPacket{{}, {a: clock.HostTime(second + both), b: second, direction: 1}}
		if v := compare(common, split, 2); int64(v.votes) != c.votes || int64(v.first) != c.first {
			t.Errorf("%+v: %+v", c, v)
		}
	}
}

func TestAThirdPacketTakesSkewOut(t *testing.T) {
	for _, ppm := range []int64{-1000, -90, 0, 90, 1000} {
		for _, trip := range []int64{60_000, -60_000, 200, -200, 0} {
			for _, middle := range []int64{1, 300_000_000, second} {
				at := func(i int, b int64, over int64) commonPacket {
					return commonPacket{a: clock.HostTime(77*second + b + b/1_000_000*ppm + over), b: clock.HostTime(3*second + b), direction: i % 2}
				}
				last := middle + second
				p, q, r := at(0, 0, 0), at(1, middle/1_000_000*1_000_000, trip), at(0, last/1_000_000*1_000_000, 0)
				if got := skewFree(&p, &q, &r); got != sign(int(trip)) {
					t.Errorf("%d ppm, a round trip of %d ns after %d ns: %d", ppm, trip, middle, got)
				}
				p.direction, q.direction, r.direction = 1, 0, 1
				if got := skewFree(&p, &q, &r); got != -sign(int(trip)) {
					t.Errorf("%d ppm, the other way, a round trip of %d ns after %d ns: %d", ppm, trip, middle, got)
				}
			}
		}
	}
	// Within what wander bends in two seconds to either side nothing is told, nor of packets that are no round trips.
	at := func(b, over int64, d int) *commonPacket {
		return &commonPacket{a: clock.HostTime(b + over), b: clock.HostTime(b), direction: d}
	}
	for name, got := range map[string]int{
		"a bend":         skewFree(at(0, 0, 0), at(maxGap, 119, 1), at(2*maxGap, 0, 0)),
		"a bend back":    skewFree(at(0, 0, 0), at(maxGap, -119, 1), at(2*maxGap, 0, 0)),
		"too far before": skewFree(at(0, 0, 0), at(maxGap+1, 9000, 1), at(maxGap+2, 0, 0)),
		"too far behind": skewFree(at(0, 0, 0), at(1, 9000, 1), at(maxGap+2, 0, 0)),
		"one way":        skewFree(at(0, 0, 0), at(10, 9000, 0), at(20, 0, 0)),
		"then one way":   skewFree(at(0, 0, 0), at(10, 9000, 1), at(20, 0, 1)),
		"out of order":   skewFree(at(5, 0, 0), at(0, 9000, 1), at(20, 0, 0)),
		"at one time":    skewFree(at(5, 0, 0), at(5, 9000, 1), at(5, 0, 0)),
	} {
		if got != 0 {
			t.Errorf("%s: %d", name, got)
		}
	}
	if got := skewFree(at(0, 0, 0), at(maxGap, 121, 1), at(2*maxGap, 0, 0)); got != 1 {
		t.Errorf("more than a bend: %d", got)
	}
}
