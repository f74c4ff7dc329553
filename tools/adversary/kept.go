package main

import (
	"fmt"
	"math"
)

// keptKinds are the families in which every pair of clocks keeps the stated assumption.
var keptKinds = []kind{
	{name: "quiet", kept: true, make: quiet},
	{name: "limit", kept: true, make: limit},
	{name: "coarse", kept: true, make: coarse},
	{name: "coarse-few", kept: true, make: coarseFew},
	{name: "coarse-file", kept: true, make: coarseFile},
	{name: "sparse", kept: true, make: sparse},
	{name: "silence", kept: true, make: silence},
	{name: "short-talk", kept: true, make: shortTalk},
	{name: "one-way", kept: true, make: oneWay},
	{name: "network", kept: true, make: network},
	{name: "congested", kept: true, make: congested},
	{name: "delays", kept: true, make: heavyDelays},
	{name: "route", kept: true, make: route},
	{name: "loss", kept: true, make: loss},
	{name: "tcp", kept: true, make: tcp},
	{name: "unordered", kept: true, make: unordered},
	{name: "several", kept: true, make: several},
	{name: "fast-skew", kept: true, make: fastSkew},
	{name: "options", kept: true, make: options},
	{name: "methods", kept: true, make: methods},
	{name: "stated-wander", kept: true, make: statedWander},
	{name: "min-delay", kept: true, make: minDelay},
	{name: "mixed", kept: true, make: mixed},
}

// draw is how long a world lasts and how many messages it has.
func (b *builder) draw(shortest, longest float64, fewest, most float64) int {
	b.span = int64(logUniform(b.r, shortest, longest) * 1e9)
	return int(logUniform(b.r, fewest, most))
}

// quiet is two hosts with good clocks.
func quiet(b *builder) {
	n := b.draw(0.05, 3600, 4, 2000)
	b.hosts(2)
	b.keep(limits{epsilon: 20, wander: 2, skew: 100})
	b.connect("chain", pick(b.r, 1.0, 3, 19))
	b.chat(n)
	b.record(1000)
}

// limit is two hosts whose clocks take all that the assumption leaves them.
func limit(b *builder) {
	n := b.draw(0.05, 7200, 4, 3000)
	b.hosts(2)
	b.keep(stated)
	b.connect("chain", pick(b.r, 1.0, 3, 19))
	b.chat(n)
	b.record(1)
}

// grains are the steps in which clocks of computers count.
var grains = []Grain{
	{Num: 100, Den: 1}, {Shown: 1000}, {Num: 1_000_000, Den: 1}, {Num: 10_000_000, Den: 1}, {Num: 15_625_000, Den: 1},
	{Num: 15_600_000, Den: 1}, {Num: 4_000_000, Den: 1}, {Num: second, Den: 1024}, {Num: second, Den: 1 << 20},
	{Num: second, Den: 1 << 14}, {Num: second, Den: 60}, {Num: 838, Den: 1}, {Num: 1_000_000, Den: 1, Shown: 1000},
	{Num: second, Den: 1024, Shown: 1000}, {Num: second, Den: 1}, {Num: 20, Den: 1}, {Num: 512, Den: 1}, {Num: 10_000, Den: 1},
}

// coarse is clocks that count in steps, with many stamps.
func coarse(b *builder) {
	n := b.draw(1, 7200, 200, 4000)
	b.coarse(n)
}

// coarseFew is the same with few stamps: a step shows only as what all stamps have in common.
func coarseFew(b *builder) {
	n := b.draw(0.5, 3600, 4, 150)
	b.coarse(n)
}

func (b *builder) coarse(n int) {
	b.hosts(2 + b.r.IntN(2))
	b.keep(stated)
	b.connect("chain", pick(b.r, 1.0, 3))
	b.chat(n)
	b.asList()
	for i := range b.Hosts {
		if i == 0 || !chance(b.r, 3) {
			b.Hosts[i].Grain = grains[b.r.IntN(len(grains))]
		}
	}
	b.stateGrains()
}

// stateGrains states every host's step in one of four worlds.
func (b *builder) stateGrains() {
	if !chance(b.r, 4) {
		return
	}
	for i := range b.Hosts {
		if g := b.Hosts[i].Grain; g.span() > 1 {
			b.option("--granularity", fmt.Sprintf("%s=%dns", b.Hosts[i].Name, g.span()))
		}
	}
}

// coarseFile is captures of formats and clocks with steps of their own.
func coarseFile(b *builder) {
	n := b.draw(0.5, 3600, 10, 1500)
	b.hosts(2 + b.r.IntN(2))
	b.keep(stated)
	b.connect("chain", 3)
	b.chat(n)
	for i := range b.Hosts {
		h := &b.Hosts[i]
		h.Format = formats[b.r.IntN(len(formats))]
		h.Grain = formatGrain(h.Format)
		if g := grains[b.r.IntN(len(grains))]; h.Grain.Num == 0 && g.under(h.Grain.Shown) && chance(b.r, 2) {
			h.Grain.Num, h.Grain.Den = g.Num, g.Den
		}
		h.Address = chance(b.r, 2)
	}
}

// sparse is from one packet an hour to one a minute.
func sparse(b *builder) {
	b.hosts(2)
	every := logUniform(b.r, 10, 3600)
	n := 4 + b.r.IntN(200)
	b.span = int64(every * float64(n) * 1e9)
	b.keep(stated)
	b.connect("chain", 3)
	b.talk(b.links[0], n, 0, b.span, pick(b.r, "exchange", "periodic", "random"))
	b.record(1000)
}

// silence is talk, then a packet now and then.
func silence(b *builder) {
	n := b.draw(600, 86400, 20, 1000)
	b.hosts(2)
	b.keep(stated)
	b.connect("chain", 3)
	l := b.links[0]
	end := int64(float64(b.span) * logUniform(b.r, 0.001, 0.3))
	begin := int64(b.r.Float64() * float64(b.span-end))
	b.talk(l, n, begin, begin+end, patterns[b.r.IntN(len(patterns))])
	b.talk(l, 1+b.r.IntN(12), 0, b.span, pick(b.r, "one-way", "random", "exchange"))
	b.record(1)
}

// shortTalk is a talk of seconds in captures of hours, which hold packets of other hosts as well.
func shortTalk(b *builder) {
	n := b.draw(60, 7200, 4, 500)
	b.hosts(2)
	b.keep(stated)
	b.connect("chain", 3)
	length := int64(logUniform(b.r, 1e6, 10e9))
	begin := int64(b.r.Float64() * float64(b.span))
	b.talk(b.links[0], n, begin, begin+length, pick(b.r, "exchange", "random", "pingpong"))
	for i := range b.Hosts {
		b.lone(i, 1+b.r.IntN(50), 0, b.span)
	}
	for !b.List && b.Hosts[0].Format == "" {
		b.record(1000)
		b.List = false
	}
}

// oneWay is messages in one direction alone.
func oneWay(b *builder) {
	n := b.draw(1, 3600, 2, 500)
	b.hosts(2 + b.r.IntN(3))
	b.keep(stated)
	b.connect("tree", 3)
	for i, l := range b.links {
		b.talk(l, n/len(b.links)+1, 0, b.span, pick(b.r, "one-way", []string{"one-way", "random"}[i%2]))
	}
	b.record(1)
	for i := range b.Hosts {
		b.Hosts[i].Address = true
	}
}

// network is several hosts in any shape.
func network(b *builder) {
	n := b.draw(0.5, 7200, 30, 4000)
	b.hosts(3 + b.r.IntN(4))
	b.keep(stated)
	b.connect(shapes[b.r.IntN(len(shapes))], pick(b.r, 1.0, 3, 19))
	b.chat(n)
	b.record(1)
}

// congested is a network of which one link is congested all the time or in stretches, in one direction or in both.
func congested(b *builder) {
	n := b.draw(1, 3600, 50, 3000)
	b.hosts(3 + b.r.IntN(3))
	b.keep(stated)
	b.connect(pick(b.r, "chain", "ring", "mesh"), 3)
	l := b.links[b.r.IntN(len(b.links))]
	w := window{from: int64(b.r.Float64() * float64(b.span)), add: l.there.least * logUniform(b.r, 10, 1e4)}
	w.to = w.from + int64(b.r.Float64()*float64(b.span))
	l.there.queue = append(l.there.queue, w)
	if chance(b.r, 2) {
		l.back.queue = append(l.back.queue, w)
	}
	b.chat(n)
	b.record(1)
}

// heavyDelays is two hosts with delays of every sort.
func heavyDelays(b *builder) {
	n := b.draw(0.5, 7200, 10, 2000)
	b.hosts(2)
	b.keep(stated)
	b.connect("chain", 19)
	for _, d := range []*delays{b.links[0].there, b.links[0].back} {
		d.mean = d.least * logUniform(b.r, 1, 300)
		d.model = pick(b.r, "pareto", "bursts", "lognormal", "wan", "exponential")
	}
	b.chat(n)
	b.record(1)
}

// route is least delays that change, in one direction or in both, once or back and forth.
func route(b *builder) {
	n := b.draw(10, 7200, 50, 3000)
	b.hosts(2 + b.r.IntN(2))
	b.keep(stated)
	b.connect("chain", 3)
	for _, l := range b.links {
		for range 1 + b.r.IntN(3) {
			d := pick(b.r, l.there, l.back)
			w := window{from: int64(b.r.Float64() * float64(b.span)), to: b.span + 1, add: d.least * logUniform(b.r, 0.05, 20)}
			if chance(b.r, 2) {
				w.to = w.from + int64(b.r.Float64()*float64(b.span))
			}
			d.route = append(d.route, w)
		}
		for _, d := range []*delays{l.there, l.back} {
			d.mean = d.least * logUniform(b.r, 0.001, 0.5)
		}
	}
	b.chat(n)
	b.record(1)
}

// loss is captures that miss packets, on either side, that were cut short, or that kept the beginning of packets.
func loss(b *builder) {
	n := b.draw(1, 3600, 20, 1500)
	b.hosts(2 + b.r.IntN(3))
	b.keep(stated)
	b.connect("tree", 3)
	b.chat(n)
	b.record(1)
	rate := []float64{b.r.Float64() * 0.5, b.r.Float64() * 0.5}
	for i := range b.Messages {
		if u := b.r.Float64(); u < rate[0] {
			b.Messages[i].Lost += "s"
		}
		if u := b.r.Float64(); u < rate[1] {
			b.Messages[i].Lost += "r"
		}
	}
	for i := range b.Hosts {
		if chance(b.r, 3) {
			b.Hosts[i].Cut = b.r.IntN(20000)
		}
		if chance(b.r, 2) {
			b.Hosts[i].Snap = 64 + b.r.IntN(64)
		}
	}
}

// tcp is streams.
func tcp(b *builder) {
	n := b.draw(0.5, 600, 10, 1500)
	b.hosts(2)
	b.keep(stated)
	b.connect("chain", 3)
	b.chat(n)
	size := pick(b.r, 16, 100, 1400)
	for i := range b.Messages {
		b.Messages[i].TCP, b.Messages[i].Size = true, size
	}
	for b.Hosts[0].Format == "" {
		b.record(1000)
		b.List = false
	}
}

// unordered is captures whose packets are a little out of order, as several queues of a card deliver them.
func unordered(b *builder) {
	n := b.draw(0.5, 600, 20, 1500)
	b.hosts(2)
	b.keep(stated)
	b.connect("chain", 3)
	b.chat(n)
	for b.Hosts[0].Format == "" {
		b.record(1000)
		b.List = false
	}
	for i := range b.Hosts {
		b.Hosts[i].Shuffle = int(logUniform(b.r, 1e3, 1e6))
	}
}

// several is groups of hosts that have nothing to do with each other, in one call.
func several(b *builder) {
	b.hosts(4 + b.r.IntN(4))
	n := b.draw(1, 3600, 40, 2000)
	b.keep(stated)
	b.Groups = make([]int, len(b.Hosts))
	for i := 2; i < len(b.Hosts); i++ {
		b.Groups[i] = b.Groups[i-1]
		if i == 2 || chance(b.r, 3) && i+1 < len(b.Hosts) {
			b.Groups[i]++
		}
		if b.Groups[i] == b.Groups[i-1] {
			b.link(i-1, i, 3)
		}
	}
	b.link(0, 1, 3)
	b.chat(n)
	b.record(1)
}

// fastSkew is clocks as far apart in rate as they may be, and few messages.
func fastSkew(b *builder) {
	n := b.draw(0.001, 60, 2, 60)
	b.hosts(2)
	b.keep(limits{epsilon: 20, wander: 29, skew: 400})
	for i := range b.Hosts {
		// The rates of keep are up to 0.9 of the share; these are what there is, in opposite directions.
		b.Hosts[i].Clock.Terms = []Term{{Kind: "rates", Knots: []Knot{{Rate: []float64{249, -249}[i] * 1e3}}}}
	}
	b.connect("chain", 3)
	b.talk(b.links[0], n, 0, b.span, pick(b.r, patterns...))
	if chance(b.r, 2) && n > 8 {
		b.talk(b.links[0], 2, b.span, b.span*20, "one-way")
	}
	b.record(1)
}

// options are worlds with what a user may state, all of it true.
func options(b *builder) {
	n := b.draw(1, 7200, 20, 2000)
	b.hosts(2 + b.r.IntN(3))
	l := stated
	if chance(b.r, 2) {
		l.wander, l.epsilon = logUniform(b.r, 0.5, 3000), logUniform(b.r, 5, 5000)
		b.option("--wander", fmt.Sprintf("%.4g", l.wander*1.01))
		b.option("--epsilon", fmt.Sprintf("%dns", int(l.epsilon*1.01)+4))
	}
	if chance(b.r, 3) {
		b.option("--max-skew", "100")
		l.skew = 99
	}
	b.keep(l)
	b.connect(shapes[b.r.IntN(len(shapes))], 3)
	b.chat(n)
	b.record(1)
	if chance(b.r, 3) {
		b.option("--reference", b.Hosts[b.r.IntN(len(b.Hosts))].Name)
	}
	if chance(b.r, 4) {
		b.option("--segment", seconds(math.Max(1e9, float64(b.span)*uniform(b.r, 0.05, 1.5))))
	}
	if chance(b.r, 3) {
		b.option("--network", pick(b.r, "joint", "clement", "jezequel", "hofmann-hilgers", "duda", "duda-chain", "least-squares"))
	}
	if chance(b.r, 6) {
		b.option("--repair", "clc")
	}
}

// methods are the published methods on clocks that all of them assume: linear ones.
func methods(b *builder) {
	n := b.draw(1, 600, 20, 1000)
	b.hosts(2 + b.r.IntN(3))
	for i := range b.Hosts {
		b.Hosts[i].Clock.Terms = []Term{{Kind: "rates", Knots: []Knot{{Rate: uniform(b.r, -249, 249) * 1e3}}}}
	}
	b.connect(shapes[b.r.IntN(len(shapes))], 3)
	for _, l := range b.links {
		b.talk(l, max(4, n/len(b.links)), 0, b.span, pick(b.r, "exchange", "random"))
	}
	b.record(1)
	b.option("--method", pick(b.r, "envelope", "hull", "corridor", "regression", "regression-filtered", "lts", "two-point", "interval",
		"cristian", "ntp"))
	if chance(b.r, 2) {
		b.option("--network", pick(b.r, "clement", "jezequel", "hofmann-hilgers", "duda", "duda-chain", "least-squares"))
	}
}

// statedWander is clocks that wander by more than the default, as is stated.
func statedWander(b *builder) {
	n := b.draw(1, 3600, 10, 2000)
	b.hosts(2)
	l := stated
	l.wander = logUniform(b.r, 30, 3e4)
	b.option("--wander", fmt.Sprintf("%.4g", l.wander*1.01))
	b.keep(l)
	b.connect("chain", 3)
	b.chat(n)
	b.record(1)
}

// minDelay states a least delay that every message keeps.
func minDelay(b *builder) {
	n := b.draw(1, 3600, 10, 1000)
	b.hosts(2 + b.r.IntN(2))
	b.keep(stated)
	b.connect("chain", 10)
	b.chat(n)
	b.record(1)
	least := int64(math.MaxInt64)
	for _, m := range b.Messages {
		least = min(least, m.Delay)
	}
	// The delay counts by whatever clock the command measures it with: 0.1% off is the most that is kept.
	b.option("--min-delay", fmt.Sprintf("%dns", int64(float64(least)*uniform(b.r, 0.1, 0.995))-3))
}

// mixed draws a bit of all that keeps the assumption.
func mixed(b *builder) {
	n := b.draw(0.05, 20000, 4, 3000)
	b.hosts(2 + b.r.IntN(4))
	b.keep(stated)
	b.connect(shapes[b.r.IntN(len(shapes))], 19)
	for _, l := range b.links {
		from := int64(b.r.Float64() * float64(b.span) * 0.8)
		to := from + int64(b.r.Float64()*float64(b.span-from))
		b.talk(l, max(2, n/len(b.links)), from, to, pick(b.r, append(patterns, "one-way")...))
	}
	b.record(1000)
	for i := range b.Hosts {
		if b.List || b.Hosts[i].Grain.Num == 0 {
			if g := grains[b.r.IntN(len(grains))]; chance(b.r, 4) && g.under(b.Hosts[i].Grain.Shown) {
				b.Hosts[i].Grain.Num, b.Hosts[i].Grain.Den = g.Num, g.Den
			}
		}
		if !b.List {
			b.lone(i, b.r.IntN(30), 0, b.span)
		}
	}
	if chance(b.r, 3) {
		b.option("--reference", b.Hosts[b.r.IntN(len(b.Hosts))].Name)
	}
}
