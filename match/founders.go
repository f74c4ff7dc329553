package match

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"

	"meridian/trace"
)

// Equal packets are not always copies of one sending. Ten services that are asked every 10 s with the same bytes make
// two captures that did not even run at the same time look as if they shared a packet of each service, and all of these
// agree on one offset:
//
//	a      |p1 p2 ... p10|                          p1 of a and p1 of b: equal, sent 10 s apart
//	b                       |p1 p2 ... p10|
//
// No capture shows a period longer than itself. So a packet founds the match of two hosts only if it cannot repeat: it
// has an identification where these change from packet to packet, or numbers of TCP that advance, or it is of a flow
// among whose packets hardly two are alike, where there are many of these. Pings start again at 1, so the content of
// ICMP founds nothing. All other packets follow: they are used where they fit the founders, within what a queue may
// hold them. Between hosts without founders nothing is used.

const (
	// minFounders is how many founders show that two captures have packets in common.
	minFounders = 2
	// minDistinct is how many different packets of a flow show that its content changes, alikeShare the share that may
	// be alike. Such packets found only where both hosts together sent minChanging of them.
	minDistinct = 4
	minChanging = 16
	alikeShare  = 0.2
	// minShort is how many packets of flows of a kind that are too short to show that their content changes found
	// together: nobody asks so many services of one host from ports of their own, but a resolver takes a port for each
	// question.
	minShort = 100
	// minVaried is from how many packets on a flow's own identifications count, and not all of its host's.
	minVaried = 4
	// maxFounders is about how many founders are kept for each direction between two hosts, foundersOfKnot how many are
	// taken together.
	maxFounders    = 1 << 14
	foundersOfKnot = 8
	// followerDelay is by how much longer or shorter than the founders around it a follower may seem to travel, ns; one
	// in followerDrift of the time to these is added.
	followerDelay = 50_000_000
	followerDrift = 1000
	// maxRoundTrip is how long packets both ways may take together where founders went the other way only, ns.
	maxRoundTrip = 1_000_000_000
)

// varies reports whether identifications change from packet to packet.
func (n *numbering) varies(share float64) bool {
	return n.packets >= 2 && float64(n.varied) >= share*float64(n.packets-1)
}

// merge adds the packets of another flow.
func (n *numbering) merge(o *numbering) {
	if o.packets == 0 {
		return
	}
	n.note(o.first)
	n.packets += o.packets - 1
	n.varied += o.varied
	n.last = o.last
}

// founds reports whether the packets of a finding cannot repeat, whatever their content. all is the identifications of
// all that its host sent to the other.
func (f *finding) founds(all *numbering) bool {
	if f.certain {
		return true
	}
	if f.numbers.packets < minVaried {
		return f.ids && all.varies(0.9)
	}
	return f.ids && f.numbers.varies(0.5)
}

// content counts the different packets of flows, and those that are alike.
type content struct{ keys, alike float64 }

func (f *finding) content() content {
	if f.protocol == protocolICMP || f.protocol == protocolICMPv6 {
		return content{}
	}
	return content{
		keys:  f.census.sum(func(int, int) bool { return true }),
		alike: f.census.sum(func(i, j int) bool { return i > f.unit.sent || j > f.unit.received }),
	}
}

// changes reports whether content changes from packet to packet, as so many packets or more show.
func (c content) changes(least float64) bool { return c.keys >= least && c.alike <= alikeShare*c.keys }

const protocolICMP, protocolICMPv6 = 1, 58

// founderKnot is what some founders in a row took.
type founderKnot struct{ at, low, high int64 }

// founders are what packets that cannot repeat seem to take from one host to another, in the order of time. No founders
// allow nothing.
type founders []founderKnot

// newFounders summarises a sample, which it sorts.
func newFounders(sample []knot) (all founders) {
	slices.SortFunc(sample, func(a, b knot) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.took, b.took)) })
	for some := range slices.Chunk(sample, foundersOfKnot) {
		k := founderKnot{at: some[len(some)/2].at, low: math.MaxInt64, high: math.MinInt64}
		for _, s := range some {
			k.low, k.high = min(k.low, s.took), max(k.high, s.took)
		}
		all = append(all, k)
	}
	return all
}

// allows reports whether a message took about what the founders around it took.
func (all founders) allows(m trace.Message) bool {
	at, took := int64(m.Sent), int64(m.Received-m.Sent)
	i, _ := slices.BinarySearchFunc(all, at, func(k founderKnot, at int64) int { return cmp.Compare(k.at, at) })
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, k := range all[max(0, i-1):min(len(all), i+1)] {
		margin := followerDelay + max(at-k.at, k.at-at)/followerDrift
		low, high = min(low, k.low-margin), max(high, k.high+margin)
	}
	return low <= took && took <= high
}

// sampleReversed returns what packets the other way may seem to take.
func sampleReversed(sample []knot) (all []knot) {
	for _, k := range sample {
		at := k.at + k.took // by the clock of the other host
		all = append(all, knot{at: at, took: -k.took}, knot{at: at, took: -k.took + maxRoundTrip})
	}
	return all
}

// placeByFounders sets what the findings follow that may repeat: the founders between their hosts.
func placeByFounders(findings []*finding) {
	numbers := make(map[[2]int]*numbering) // of all that one host sent to another
	for _, f := range findings {
		n := numbers[f.hosts()]
		if n == nil {
			n = &numbering{}
			numbers[f.hosts()] = n
		}
		n.merge(&f.numbers)
	}
	single := make(map[[2]int]*numbering) // of a question and its answer
	for hosts, n := range numbers {
		if back := numbers[[2]int{hosts[1], hosts[0]}]; n.packets == 1 && back != nil && back.packets == 1 {
			both := *n
			both.merge(back)
			single[hosts] = &both
		}
	}
	maps.Copy(numbers, single)
	changing := make(map[[2]int]int) // packets of flows whose content changes, by host, the lower first
	short := make(map[kind]content)  // of the flows that are too short to show it
	for _, f := range findings {
		n := f.candidates()
		if n == 0 || f.founds(numbers[f.hosts()]) {
			continue
		}
		switch c := f.content(); {
		case c.changes(minDistinct):
			changing[f.ends()] += n
		case c.keys < minDistinct:
			all := short[f.kind]
			short[f.kind] = content{all.keys + c.keys, all.alike + c.alike}
		}
	}
	candidates := make(map[[2]int]int) // founders, by sending and receiving host
	var founding, following []*finding
	for _, f := range findings {
		c := f.content()
		switch n := f.candidates(); {
		case n == 0:
		case f.founds(numbers[f.hosts()]),
			c.changes(minDistinct) && changing[f.ends()] >= minChanging,
			c.keys < minDistinct && short[f.kind].changes(minShort):
			founding = append(founding, f)
			candidates[f.hosts()] += n
		default:
			following = append(following, f)
		}
	}
	if len(following) == 0 {
		return
	}
	samples := make(map[[2]int][]knot)
	for _, f := range founding {
		step := candidates[f.hosts()]/maxFounders + 1
		samples[f.hosts()] = f.sample(samples[f.hosts()], step)
	}
	between := make(map[[2]int]func() founders)
	for _, f := range following {
		there, back := f.hosts(), [2]int{f.kind.to.host, f.kind.from.host}
		if between[there] == nil {
			between[there] = sync.OnceValue(func() founders {
				switch {
				case len(samples[there]) >= minFounders:
					return newFounders(samples[there])
				case len(samples[there])+len(samples[back]) >= minFounders:
					return newFounders(append(slices.Clone(samples[there]), sampleReversed(samples[back])...))
				}
				return founders{}
			})
		}
		f.follows = between[there]()
	}
}

// candidates returns how many messages a finding may have, but for copies.
func (f *finding) candidates() int { return f.to - f.from + len(f.several) }

// hosts returns the numbers of the host that sent and of the one that received.
func (f *finding) hosts() [2]int { return [2]int{f.kind.from.host, f.kind.to.host} }

// ends returns the numbers of both hosts, the lower first.
func (f *finding) ends() [2]int {
	return [2]int{min(f.kind.from.host, f.kind.to.host), max(f.kind.from.host, f.kind.to.host)}
}

// sample appends what every so many of the candidates took.
func (f *finding) sample(to []knot, step int) []knot {
	for place := f.from; place < f.to; place += step {
		m := f.link.at(place)
		to = append(to, knot{at: int64(m.Sent), took: int64(m.Received - m.Sent)})
	}
	for i := 0; f.unit != (unit{1, 1}) && i < len(f.several); i += step {
		if k := &f.several[i]; f.whole(k) {
			to = append(to, knot{at: int64(k.first(0)), took: int64(k.first(1) - k.first(0))})
		}
	}
	return to
}

// fits reports whether a message may be used as far as the founders tell.
func (f *finding) fits(m trace.Message) bool { return f.follows == nil || f.follows.allows(m) }

// misplaced counts the candidates that do not fit the founders.
func (f *finding) misplaced() (n int64) {
	if f.follows == nil {
		return 0
	}
	for place := f.from; place < f.to; place++ {
		if !f.follows.allows(*f.link.at(place)) {
			n++
		}
	}
	return n
}

// put adds a message of a key with several copies, unless it does not fit. It returns how many it added.
func (f *finding) put(sent, received int, s *several) (added int64) {
	m := trace.Message{Sent: s.time[0][sent], Received: s.time[1][received]}
	if !f.fits(m) {
		return 0
	}
	f.link.add(m)
	return 1
}
