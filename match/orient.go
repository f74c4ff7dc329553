package match

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"meridian/trace"
)

// orientation finds, for every conversation, which capture is nearer to the sender of a's direction 0. Whatever the
// network between, that is one bit for both directions.
//
// Evidence, the strongest first:
//
//	given      addresses that the user named
//	flags      the captures say of their packets whether they came or went, where neither hops nor round trips
//	           contradict, as they do of a host that forwards
//	rtt        the sign of round trips, without knowing the clocks (senderside.go)
//	hops       the time to live is higher nearer to the sender
//	weak rtt   round trips within the steps of the stamps, or which a constant skew cannot have made but a changing one can
//	learnt     the addresses and the link-layer addresses of conversations decided so far
//	pools      round trips again, of all conversations between two addresses together (pool.go)
//	own        the captures' own link-layer addresses (mac.go), and IP addresses that are a host's own as its conversations with others show
//
// Hops and round trips prove a direction only where packets go from one capture to the other. So they say nothing of
// what goes to many (groups.go), of packets that pass both captures in one order both ways, and of connections whose
// ends are elsewhere (taps.go).
type orientation struct {
	indexes []*index
	names   []string
	given   map[netip.Addr]int // host of an address that the user named
	named   []bool             // hosts of which the user named an address
	// learnt holds, per pair of captures, on whose side what is behind an address lies: votes for a less votes for b.
	learnt map[sideKey]int
	own    []map[netip.Addr]bool // addresses that belong to each host itself
	macs   []trace.MAC           // each capture's own, zero where unknown

	undecided int64           // packets of conversations whose sender is unknown
	repeated  int64           // packets of conversations that both captures hold several times, and nothing else
	met       map[*index]bool // captures that share packets with another host's
}

// sideKey is an address as one pair of captures knows it. A link-layer address means something in its own capture only.
type sideKey struct {
	a, b, in *index
	addr     netip.Addr
	mac      trace.MAC
}

// keysOf returns the addresses that are behind the sender of a's direction d, as learnt knows them.
func keysOf(u *conversation, d int) []sideKey {
	atA, atB := u.sender(d)
	keys := []sideKey{{a: u.a, b: u.b, addr: atA}}
	if atB != atA {
		keys = append(keys, sideKey{a: u.a, b: u.b, addr: atB})
	}
	for _, in := range []struct {
		x   *index
		mac trace.MAC
	}{{u.a, u.a.Flows[u.flowA].Source[d]}, {u.b, u.b.Flows[u.flowB].Source[u.otherDirection(d)]}} {
		if in.mac != (trace.MAC{}) {
			keys = append(keys, sideKey{a: u.a, b: u.b, in: in.x, mac: in.mac})
		}
	}
	return keys
}

func newOrientation(indexes []*index, names []string, o Options) *orientation {
	r := &orientation{indexes: indexes, names: names, given: make(map[netip.Addr]int), learnt: make(map[sideKey]int), met: make(map[*index]bool)}
	r.own, r.named = make([]map[netip.Addr]bool, len(names)), make([]bool, len(names))
	for i, name := range names {
		r.own[i] = make(map[netip.Addr]bool)
		for _, a := range o.Addresses[name] {
			r.given[a.Unmap()], r.named[i] = i, true
			r.own[i][a.Unmap()] = true
		}
	}
	r.macs = make([]trace.MAC, len(indexes))
	for i, x := range indexes {
		r.macs[i] = ownMAC(x)
	}
	return r
}

// evidence is what one conversation shows by itself.
type evidence struct {
	near      int  // +1 a, -1 b, 0 nothing
	sameHost  bool // both captures claim to have sent, or saw every packet at once
	group     bool // sameHost, but of what any host may hear: both received what went to many
	shared    int  // packets that both saw, as far as was looked
	repeated  int  // if none was seen once by each: packets that both hold
	flagged   bool // nothing but direction flags says near
	contested bool // hops or round trips contradict the flags, or each other
	timed     bool // nothing but round trips says near
	foreign   bool // the addresses of both hosts are given, and neither end has one of them
}

// decide sets the near end of every conversation, and says which could not be decided.
func (r *orientation) decide(ctx context.Context, conversations []conversation, w *trace.Warnings) error {
	found := make([]evidence, len(conversations))
	if err := inParallel(ctx, len(conversations), func(i int) error {
		found[i] = r.examine(&conversations[i])
		return nil
	}); err != nil {
		return err
	}
	distrustFlags(conversations, found)
	distrustTaps(conversations, found)
	for i := range conversations {
		conversations[i].near = found[i].near
		r.learn(&conversations[i])
		if found[i].shared+found[i].repeated > 0 {
			r.met[conversations[i].a], r.met[conversations[i].b] = true, true
		}
	}
	same := r.sameHosts(conversations, found, w)
	undecided := func(i int) bool {
		u := &conversations[i]
		return u.near == 0 && !found[i].sameHost && !same[[2]*index{u.a, u.b}]
	}
	open := func(i int) bool { return undecided(i) && !found[i].group && !found[i].elsewhere() }
	for i := range conversations {
		if open(i) {
			conversations[i].near = r.fromLearnt(&conversations[i])
		}
	}
	r.fromPools(conversations, func(i int) bool { return open(i) && found[i].shared > 0 && !found[i].contested })
	for i := range conversations {
		if u := &conversations[i]; open(i) {
			if u.near = r.fromLearnt(u); u.near == 0 && !found[i].contested {
				u.near = r.fromMAC(u)
			}
		}
	}
	for i := range conversations {
		if !found[i].group {
			r.claim(&conversations[i])
		}
	}
	for i := range conversations {
		u := &conversations[i]
		if !undecided(i) {
			continue
		}
		switch {
		case found[i].group:
			u.near = r.ofGroup(u)
		case open(i):
			u.near = r.fromOwn(u)
		}
		if u.near == 0 && found[i].shared > 0 {
			packets := int64(min(len(u.members(true)), len(u.members(false))))
			r.undecided += packets
			w.AddN("", "packets left out of matching: "+found[i].whyOpen(), u.String(), packets)
		} else if n := int64(found[i].repeated); u.near == 0 && n > 0 {
			r.repeated += n
			w.AddN("", "packets left out of matching: each capture holds equal ones several times (keepalives, heartbeats), so which are the same is unknown",
				u.String(), n)
		}
	}
	for i := range conversations {
		r.claim(&conversations[i])
	}
	return nil
}

// elsewhere reports whether the captures seem to be taken between the hosts of a conversation, not at them.
func (e *evidence) elsewhere() bool { return e.contested && (e.timed || e.foreign) }

// whyOpen says why no sender was found.
func (e *evidence) whyOpen() string {
	switch {
	case e.group:
		return "they went to a group, and nothing tells that either host sent them; name the sender's address with --address HOST=IP"
	case e.elsewhere():
		return "both captures seem to be taken between the hosts that sent and received them, so which saw them first is unknown; " +
			"if not, name the hosts' addresses with --address HOST=IP"
	}
	return "nothing tells which host sent them; name an address with --address HOST=IP"
}

// examine weighs a conversation's own evidence.
func (r *orientation) examine(u *conversation) evidence {
	if near := r.fromGiven(u); near != 0 {
		return evidence{near: near, shared: 1}
	}
	flagsA, flagsB := flagsOf(u.a, u.flowA, 0), flagsOf(u.b, u.flowB, u.otherDirection(0))
	seen := senderSide(u)
	e := evidence{shared: seen.shared, repeated: seen.repeated}
	nearer, ring := hops(u)
	if d, toMany := u.wayToMany(); toMany {
		e.byFlagsOfGroup(u, d, nearer, seen.together)
		return e
	}
	e.foreign = r.foreign(u)
	if ring {
		seen.first, seen.lean, seen.sure = 0, 0, 0
	}
	trips := seen.first
	if seen.weak {
		trips = 0 // hops are no chance
	}
	switch {
	case flagsA != 0 && flagsA == flagsB && trips != 0 && nearer != -trips:
		e.near = trips // one of them forwards
	case flagsA != 0 && flagsA == flagsB && trips == 0 && seen.lean != 0 && nearer != -seen.lean:
		// The same, but skew can have made the round trips: hops go first.
		if e.near = nearer; e.near == 0 {
			e.near = seen.first
		}
	case flagsA != 0 && flagsA == flagsB, seen.together && flagsA*flagsB == 0:
		e.sameHost = true
	case flagsA != flagsB:
		flags := sign(flagsA - flagsB)
		if trips == -flags && seen.sure != trips {
			trips = 0
		}
		e.byFlags(flags, nearer, trips)
	case ring:
		e.contested, e.foreign = true, true
	case trips != 0:
		e.near, e.timed = trips, nearer == 0
		e.contested = nearer == -trips && e.foreign
	default:
		if e.near = nearer; e.near == 0 {
			e.near, e.timed = seen.first, seen.first != 0
		}
	}
	return e
}

// byFlags decides by what direction flags say, and hops and round trips if they are not 0. A host that forwards receives a packet
// before another sends it on: captured at one interface of each, the flags then say the contrary of the packet's way. So flags that
// are contradicted decide nothing, unless something else supports them.
func (e *evidence) byFlags(flags, nearer, trips int) {
	switch {
	case nearer == -flags && trips == -flags:
		e.near, e.contested = -flags, true
	case nearer+trips == -flags:
		e.contested = true
	default:
		e.near, e.flagged = flags, nearer == 0 && trips == 0
	}
}

// distrustFlags takes back what nothing but flags says between captures whose flags are contradicted elsewhere.
func distrustFlags(conversations []conversation, found []evidence) {
	contested := make(map[[2]*index]bool)
	for i := range found {
		if found[i].contested {
			contested[[2]*index{conversations[i].a, conversations[i].b}] = true
		}
	}
	for i := range found {
		if found[i].flagged && contested[[2]*index{conversations[i].a, conversations[i].b}] {
			found[i].near, found[i].contested = 0, true
		}
	}
}

// fromGiven uses the addresses that the user named: an address of host a lies on a's side. An address inside a tunnel tells where
// packets go the way that it says.
func (r *orientation) fromGiven(u *conversation) int {
	near := firstWay(func(d int) int { return r.givenSide(u, u.sender, d) })
	if near == 0 && u.a.straight(u.flowA) && u.b.straight(u.flowB) {
		near = firstWay(func(d int) int { return r.givenSide(u, u.insideSender, d) })
	}
	return near
}

func (r *orientation) givenSide(u *conversation, sender func(d int) (atA, atB netip.Addr), d int) int {
	atA, atB := sender(d)
	if h, ok := r.given[atA]; ok && h == u.a.host {
		return 1
	}
	if h, ok := r.given[atB]; ok && h == u.b.host {
		return -1
	}
	return 0
}

// firstWay asks of direction 0, and else of direction 1, which capture is nearer to its sender (+1 a, -1 b, 0 not known), and
// returns the answer for direction 0.
func firstWay(nearer func(d int) int) int {
	if near := nearer(0); near != 0 {
		return near
	}
	return -nearer(1)
}

// bothWays weighs the votes of both directions.
func bothWays(votes func(d int) int) int { return sign(votes(0) - votes(1)) }

// flagsOf returns +1 if the capture says that it sent the flow's packets of direction d (and received the others), -1 if
// it received them, 0 if it says nothing or both, as a router does.
func flagsOf(x *index, flow, d int) int {
	votes, total := 0, 0
	for _, n := range head(x.packets(flow), firstPackets) {
		p := x.at(n)
		from := x.fromOf(p)
		if from != trace.Sent && from != trace.Received {
			continue
		}
		total++
		if (from == trace.Sent) == (direction(p) == d) {
			votes++
		} else {
			votes--
		}
	}
	switch {
	case total > 0 && 10*votes >= 9*total:
		return 1
	case total > 0 && -10*votes >= 9*total:
		return -1
	}
	return 0
}

// hops compares the times to live of both directions. Those of different headers say nothing. Ring says that both
// directions passed one capture before the other, so neither capture is at an end of the conversation.
func hops(u *conversation) (near int, ring bool) {
	if u.a.Flows[u.flowA].Tunnel != u.b.Flows[u.flowB].Tunnel {
		return 0, false
	}
	nearer := func(d, most int) int {
		a, b := ttl(u.a, u.flowA, d, most), ttl(u.b, u.flowB, u.otherDirection(d), most)
		if a == 0 || b == 0 {
			return 0
		}
		return sign(int(a) - int(b))
	}
	there, most := nearer(0, math.MaxInt), math.MaxInt
	if there != 0 {
		most = 16 * firstPackets // a flow of one direction is not searched to its end for the other
	}
	back := nearer(1, most)
	if there != 0 && there == back {
		return 0, true
	}
	return firstWay(func(d int) int { return [2]int{there, back}[d] }), false
}

// ttl returns the time to live of the first packet of a direction among the first most packets, 0 if there is none.
func ttl(x *index, flow, d, most int) uint8 {
	for _, n := range head(x.packets(flow), most) {
		if p := x.at(n); direction(p) == d && p.TTL != 0 {
			return p.TTL
		}
	}
	return 0
}

// learn notes on whose side the addresses of a decided conversation lie.
func (r *orientation) learn(u *conversation) {
	if u.near == 0 {
		return
	}
	for d := range 2 {
		vote := u.near
		if d == 1 {
			vote = -vote
		}
		for _, key := range keysOf(u, d) {
			r.learnt[key] += vote
		}
	}
}

// fromLearnt uses the sides of addresses met in other conversations.
func (r *orientation) fromLearnt(u *conversation) int {
	return bothWays(func(d int) (votes int) {
		for _, key := range keysOf(u, d) {
			votes += sign(r.learnt[key])
		}
		return votes
	})
}

// fromOwn uses the addresses that are a host's own as conversations with any other host showed: behind a balancer whose
// servers answer the clients themselves (direct server return), no packet comes back, but the client's address is known
// from the server's capture.
func (r *orientation) fromOwn(u *conversation) int {
	return firstWay(func(d int) (near int) {
		atA, atB := u.sender(d)
		if r.own[u.a.host][atA] {
			near++
		}
		if r.own[u.b.host][atB] {
			near--
		}
		return near
	})
}

func sign(v int) int {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// claim notes whose own address the near ends are: the address lies on the host's side and its packets pass there with
// an initial time to live, so no router is in between.
func (r *orientation) claim(u *conversation) {
	if u.near == 0 {
		return
	}
	for d := range 2 {
		x, flow, e := u.a, u.flowA, d
		if (u.near > 0) != (d == 0) {
			x, flow, e = u.b, u.flowB, u.otherDirection(d)
		}
		from, _ := x.Flows[flow].Way(e)
		switch ttl(x, flow, e, math.MaxInt) {
		case 32, 64, 128, 255:
			if _, taken := r.given[from]; !taken {
				r.own[x.host][from] = true
			}
		}
	}
}

// addressesOf lists the addresses of each clock's host.
func (r *orientation) addressesOf(clocks []trace.Clock) [][]netip.Addr {
	lists := make([][]netip.Addr, len(clocks))
	for i, c := range clocks {
		for a := range r.own[slices.Index(r.names, c.Host)] {
			lists[i] = append(lists[i], a)
		}
		slices.SortFunc(lists[i], netip.Addr.Compare)
	}
	return lists
}

// sameHosts finds and names the pairs of captures most of whose conversations look as if one host had recorded them
// twice.
func (r *orientation) sameHosts(conversations []conversation, found []evidence, w *trace.Warnings) map[[2]*index]bool {
	same := make(map[[2]*index]bool)
	type count struct{ same, all int }
	counts := make(map[[2]*index]count)
	for i := range conversations {
		if found[i].group {
			continue
		}
		key := [2]*index{conversations[i].a, conversations[i].b}
		c := counts[key]
		if found[i].shared > 0 {
			c.all++
		}
		if found[i].sameHost {
			c.same++
		}
		counts[key] = c
	}
	for i, a := range r.indexes {
		for _, b := range r.indexes[i+1:] {
			if c := counts[[2]*index{a, b}]; c.same > 0 && 2*c.same > c.all {
				same[[2]*index{a, b}] = true
				w.Add(b.File, fmt.Sprintf("looks like a second capture of the host of %s; if it is, give both one name: HOST=%s HOST=%s",
					a.File, a.File, b.File), "")
			}
		}
	}
	return same
}
