// Package clockplan decides which hosts ask which for the time, so that the clocks of all of them are bounded by few exchanges.
//
// In go the hosts that are there, what is known of exchanges between them, and the pairs of the plan before. Out come the pairs of the
// next plan: a spanning tree of the best ones, and spare ones beside it.
//
//	tree    n-1 pairs; of all trees one whose widest bound is least (Prim's algorithm)
//	spare   one for each host that has tried fewer than triedEnough others, with a further one, and for each leaf of the tree
//
// The bound between two hosts is at most the sum of those on the way between them in the tree. Spare pairs take the place of one that
// falls silent, and are how better pairs are found: no host is asked by all, and no pair is tried twice.
//
// A pair is better by what it is first and by what it costs last:
//
//	class    measured before untested before silent
//	level    of measured ones: the width of the bound, in powers of two
//	held     pairs of the tree before: nothing changes for less than half the width, or for a host that comes or goes
//	room     hosts with fewer than maxDegree pairs
//	depth    pairs near the root, so that ways are short
//	hash     of the two names, so that no order of arrival matters
//
// The plan is a function of what goes in alone: every server makes the same of it. The cost is O(n²) steps of a few ns.
package clockplan

import (
	"cmp"
	"hash/fnv"
	"io"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// Host is a host that exchanges probes.
type Host struct {
	Name    string
	Answers bool // it has an address at which it can be asked
	// Scope is from where the address leads to the host: from hosts of the same scope; "": from everywhere.
	Scope string
}

// Exchange is what is known of a host that has asked another.
type Exchange struct {
	From, To string
	Width    int64 // of the bound of the offset, ns; 0: there is none yet
	LeastRTT int64 // ns
	Silent   bool  // it does not answer
}

// Pair is a host that asks another.
type Pair struct {
	From, To string
	Rate     float64 // exchanges per second at most
	Spare    bool    // it is not of the tree
}

// Plan is who asks whom.
type Plan struct {
	Pairs []Pair // in the order of names
	// Parts are the hosts that no pairs can connect: one part where all are connected, in the order of names.
	Parts [][]string
}

// Rates of exchanges per second, and between which widths, in least round trips, a pair keeps its rate.
const (
	BaseRate  = 8
	WideRate  = 32
	wideFrom  = 4
	leastTrip = 5000 // ns: shorter round trips count as such, since more exchanges do not make bounds of a few µs narrower
	narrowTo  = 2
	maxDegree = 8
	// triedEnough is how many others a host has exchanged probes with, or has tried to, before its spare pair stays.
	triedEnough = 8
)

// Make returns the next plan. Exchanges and pairs of hosts that are not there are left out; of hosts of one name the first counts.
func Make(hosts []Host, known []Exchange, before []Pair) Plan {
	p := newPlanner(hosts, known, before)
	p.grow()
	p.addSpares()
	return p.plan()
}

// planner makes one plan. Hosts are numbers, in the order of names.
type planner struct {
	hosts []Host
	hash  []uint64
	known []map[int]Exchange // of the host that asks, by the host that is asked
	held  []map[int]Pair     // the plan before, likewise
	tried []int              // hosts that a host has exchanged probes with, or has tried to

	parts  [][]int
	depth  []int
	degree []int
	tree   []chosen
	spares []chosen
}

// chosen is a pair of the plan: from asks to.
type chosen struct{ from, to int }

func newPlanner(hosts []Host, known []Exchange, before []Pair) *planner {
	p := &planner{hosts: slices.Clone(hosts)}
	slices.SortStableFunc(p.hosts, func(a, b Host) int { return strings.Compare(a.Name, b.Name) })
	p.hosts = slices.CompactFunc(p.hosts, func(a, b Host) bool { return a.Name == b.Name })
	n := len(p.hosts)
	number := make(map[string]int, n)
	p.hash, p.known, p.held = make([]uint64, n), make([]map[int]Exchange, n), make([]map[int]Pair, n)
	p.tried, p.depth, p.degree = make([]int, n), make([]int, n), make([]int, n)
	for i, h := range p.hosts {
		number[h.Name] = i
		f := fnv.New64a()
		_, _ = io.WriteString(f, h.Name)
		p.hash[i] = mix(f.Sum64())
		p.known[i], p.held[i] = make(map[int]Exchange), make(map[int]Pair)
	}
	for _, x := range known {
		from, here := number[x.From]
		to, there := number[x.To]
		if !here || !there || from == to {
			continue
		}
		if _, twice := p.known[to][from]; !twice && (x.Width > 0 || x.Silent) {
			p.tried[from]++
			p.tried[to]++
		}
		p.known[from][to] = x
	}
	for _, x := range before {
		from, here := number[x.From]
		to, there := number[x.To]
		if here && there && from != to {
			p.held[from][to] = x
		}
	}
	return p
}

// mix spreads the bits of a number (the finalizer of MurmurHash3).
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// hashOf returns the hash of a pair, in either order.
func (p *planner) hashOf(a, b int) uint64 {
	return mix(p.hash[min(a, b)] ^ bits.RotateLeft64(p.hash[max(a, b)], 21))
}

// Classes of pairs.
const (
	measured = iota
	untested
	silent
	impossible
)

// rank is how good a pair is, apart from where it is in the tree. Less is better.
type rank struct {
	class, level int
	fresh        bool // not of the tree before
}

func (a rank) compare(b rank) int {
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.level, b.level), compareBool(a.fresh, b.fresh))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// asking ranks a pair in which from asks.
func (p *planner) asking(from, to int) rank {
	x, held := p.held[from][to]
	r := rank{class: untested, fresh: !held || x.Spare}
	if h := &p.hosts[to]; !h.Answers || h.Scope != "" && h.Scope != p.hosts[from].Scope {
		return rank{class: impossible}
	}
	switch x := p.known[from][to]; {
	case x.Silent:
		r.class = silent
	case x.Width > 0:
		r.class, r.level = measured, bits.Len64(uint64(x.Width))
	}
	return r
}

// between ranks a pair by the better direction, and returns that.
func (p *planner) between(a, b int) (rank, chosen) {
	there, back := p.asking(a, b), p.asking(b, a)
	order := there.compare(back)
	if order == 0 { // half of the pairs are asked by the host of the lesser name
		order = 1 - 2*int(p.hashOf(a, b)&1)
		if a > b {
			order = -order
		}
	}
	if order < 0 {
		return there, chosen{a, b}
	}
	return back, chosen{b, a}
}

// crossing is the best pair found so far that leads from a host into the tree.
type crossing struct {
	rank
	full  bool
	depth int
	hash  uint64
	into  int
	pair  chosen
}

func (a *crossing) compare(b *crossing) int {
	return cmp.Or(a.rank.compare(b.rank), compareBool(a.full, b.full), cmp.Compare(a.depth, b.depth), cmp.Compare(a.hash, b.hash))
}

func (p *planner) crossing(host, into int) crossing {
	r, pair := p.between(host, into)
	return crossing{rank: r, full: p.degree[into] >= maxDegree, depth: p.depth[into], hash: p.hashOf(host, into), into: into, pair: pair}
}

// grow makes the tree, or one of each part: from the host of the least hash on, always by the best pair that leads to a further host.
func (p *planner) grow() {
	out := make([]int, len(p.hosts))
	for i := range out {
		out[i] = i
	}
	slices.SortFunc(out, func(a, b int) int { return cmp.Or(cmp.Compare(p.hash[a], p.hash[b]), cmp.Compare(a, b)) })
	best := make([]crossing, len(p.hosts))
	var part []int
	for len(out) > 0 {
		at := -1
		for i, host := range out {
			if b := &best[host]; len(part) > 0 && b.class < impossible {
				if b.full != (p.degree[b.into] >= maxDegree) { // it has filled up since
					*b = p.best(host, part)
				}
				if at < 0 || b.compare(&best[out[at]]) < 0 {
					at = i
				}
			}
		}
		if at < 0 { // the first host of a part
			if len(part) > 0 {
				p.parts = append(p.parts, part)
			}
			part, at = nil, 0
		} else {
			b := &best[out[at]]
			p.depth[out[at]] = p.depth[b.into] + 1
			p.degree[out[at]]++
			p.degree[b.into]++
			p.tree = append(p.tree, b.pair)
		}
		joined := out[at]
		out = slices.Delete(out, at, at+1)
		part = append(part, joined)
		for _, host := range out {
			if c := p.crossing(host, joined); len(part) == 1 || c.compare(&best[host]) < 0 {
				best[host] = c
			}
		}
	}
	if len(part) > 0 {
		p.parts = append(p.parts, part)
	}
}

// best returns the best pair of a host with one of a tree.
func (p *planner) best(host int, tree []int) crossing {
	best := p.crossing(host, tree[0])
	for _, into := range tree[1:] {
		if c := p.crossing(host, into); c.compare(&best) < 0 {
			best = c
		}
	}
	return best
}

// spareSearch is what is left to do while spare pairs are added.
type spareSearch struct {
	*planner
	planned map[[2]int]bool // pairs, the lesser host first
	wants   []bool          // hosts that are to have a spare pair
}

func key(a, b int) [2]int { return [2]int{min(a, b), max(a, b)} }

// addSpares adds a pair for each leaf of the tree and each host that is to try others. Those of the plan before stay while they serve.
func (p *planner) addSpares() {
	s := &spareSearch{p, make(map[[2]int]bool, 2*len(p.hosts)), make([]bool, len(p.hosts))}
	for _, x := range p.tree {
		s.planned[key(x.from, x.to)] = true
	}
	for i, n := range p.degree {
		s.wants[i] = n == 1 || p.curious(i)
	}
	for from := range p.hosts {
		for _, to := range slices.Sorted(maps.Keys(p.held[from])) {
			r, pair := p.between(from, to)
			serves := r.class == untested || r.class == measured && !p.curious(from) && !p.curious(to)
			if serves && pair.from == from && (s.wants[from] || s.wants[to]) && !s.planned[key(from, to)] {
				s.add(pair)
			}
		}
	}
	for host, wanted := range s.wants {
		if wanted && s.wants[host] {
			if pair, ok := s.best(host); ok {
				s.add(pair)
			}
		}
	}
}

func (s *spareSearch) add(x chosen) {
	s.planned[key(x.from, x.to)] = true
	for _, host := range [2]int{x.from, x.to} {
		s.wants[host] = false
		s.degree[host]++
	}
	s.spares = append(s.spares, x)
}

// best returns the best pair for a host beside those that are planned: an untested one while it is curious.
func (s *spareSearch) best(host int) (pair chosen, ok bool) {
	var best crossing
	for other := range s.hosts {
		if other == host || s.planned[key(host, other)] {
			continue
		}
		c := s.crossing(host, other)
		if c.depth = 0; c.class >= silent {
			continue
		}
		if c.class == untested && s.curious(host) {
			c.class = measured - 1
		}
		if !ok || c.compare(&best) < 0 {
			best, ok = c, true
		}
	}
	return best.pair, ok
}

// curious reports whether a host is to try further ones, of which there are some.
func (p *planner) curious(host int) bool { return p.tried[host] < min(triedEnough, len(p.hosts)-1) }

// plan returns the result.
func (p *planner) plan() (out Plan) {
	for i, list := range [][]chosen{p.tree, p.spares} {
		for _, x := range list {
			out.Pairs = append(out.Pairs, Pair{From: p.hosts[x.from].Name, To: p.hosts[x.to].Name, Rate: p.rate(x), Spare: i == 1})
		}
	}
	slices.SortFunc(out.Pairs, func(a, b Pair) int { return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To)) })
	for _, part := range p.parts {
		slices.Sort(part)
		names := make([]string, len(part))
		for i, host := range part {
			names[i] = p.hosts[host].Name
		}
		out.Parts = append(out.Parts, names)
	}
	slices.SortFunc(out.Parts, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return out
}

// rate returns how often a pair exchanges probes: more often while the bound is wide beside what a round trip permits.
func (p *planner) rate(x chosen) float64 {
	k := p.known[x.from][x.to]
	trip := max(k.LeastRTT, leastTrip)
	switch {
	case k.Silent || k.Width == 0 || k.LeastRTT <= 0:
		return BaseRate
	case k.Width/wideFrom > trip, k.Width/narrowTo > trip && p.held[x.from][x.to].Rate == WideRate:
		return WideRate
	}
	return BaseRate
}
