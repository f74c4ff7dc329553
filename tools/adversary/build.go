package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
)

// builder makes a world step by step: span and hosts, clocks, links with their delays, traffic, recording, options.
type builder struct {
	*World
	r     *rand.Rand
	span  int64 // the world's true instants are 0 to span
	links []*link
	// What the clocks of every pair keep; see budget.go.
	limits limits
}

// link joins two hosts.
type link struct {
	a, b        int
	there, back *delays
}

// build makes the world of a kind and a seed.
func build(k *kind, seed uint64) *World {
	h := fnv.New64a()
	h.Write([]byte(k.name))
	b := &builder{World: &World{Kind: k.name, Seed: seed, Kept: k.kept, Why: k.why}, r: rand.New(rand.NewPCG(seed, h.Sum64()))}
	b.limits = stated
	k.make(b)
	b.finish()
	return b.World
}

// hosts makes n hosts with true clocks of ns, from epochs that differ a little or, sometimes, by decades.
func (b *builder) hosts(n int) {
	epoch := pick[int64](b.r, 1767225600, 1700000000, 1893456000, 1400000000) * second
	for i := range n {
		base := epoch + int64(b.r.NormFloat64()*pick(b.r, 1e3, 1e6, 1e9, 1e11))
		if chance(b.r, 40) { // without a battery clocks begin in 1970
			base = b.r.Int64N(1000*second) + 200*second
		}
		b.Hosts = append(b.Hosts, Host{Name: string(rune('a' + i)), Clock: Clock{Base: base}})
	}
}

// connect links hosts in a shape. Least delays of the two directions differ by up to the ratio.
func (b *builder) connect(shape string, ratio float64) {
	n := len(b.Hosts)
	join := func(i, j int) { b.link(i, j, ratio) }
	for i := 1; i < n; i++ {
		switch shape {
		case "chain":
			join(i-1, i)
		case "star":
			join(0, i)
		case "tree":
			join(b.r.IntN(i), i)
		case "mesh":
			for j := range i {
				join(j, i)
			}
		case "ring":
			join(i-1, i)
			if i == n-1 && n > 2 {
				join(i, 0)
			}
		}
	}
}

var shapes = []string{"chain", "star", "tree", "mesh", "ring"}

// link joins two hosts with delays of a scale drawn between a loopback's and a satellite's.
func (b *builder) link(i, j int, ratio float64) *link {
	least := logUniform(b.r, 5e3, pick(b.r, 200e3, 200e3, 20e6, 300e6))
	asymmetry := math.Exp(b.r.Float64() * math.Log(max(ratio, 1)))
	if chance(b.r, 2) {
		asymmetry = 1 / asymmetry
	}
	l := &link{a: i, b: j, there: newDelays(b.r, least), back: newDelays(b.r, least*asymmetry)}
	b.links = append(b.links, l)
	return l
}

// message sends one from i to j at t and returns the instant of its arrival.
func (b *builder) message(l *link, there bool, t int64) int64 {
	from, to, d := l.a, l.b, l.there
	if !there {
		from, to, d = l.b, l.a, l.back
	}
	delay := d.draw(b.r, t)
	b.Messages = append(b.Messages, Message{ID: len(b.Messages) + 1, From: from, To: to, Sent: t, Delay: delay, Size: 32})
	return t + delay
}

// talk sends n messages over a link between two instants, in a pattern.
func (b *builder) talk(l *link, n int, from, to int64, pattern string) {
	if to <= from || n < 1 {
		return
	}
	at := func(i, n int) int64 { return from + int64(float64(to-from)*(float64(i)+b.r.Float64())/float64(n)) }
	switch pattern {
	case "exchange": // request and reply
		think := int64(logUniform(b.r, 1e3, 1e6))
		for i := range (n + 1) / 2 {
			t := b.message(l, true, at(i, (n+1)/2))
			b.message(l, false, t+1+b.r.Int64N(think))
		}
	case "pingpong": // back to back, from the beginning
		t, there := from, true
		for range n {
			t = b.message(l, there, t) + 1 + b.r.Int64N(1000)
			there = !there
		}
	case "periodic":
		for i := range n {
			b.message(l, i%2 == 0, from+int64(float64(to-from)*float64(i)/float64(n)))
		}
	case "one-way":
		for i := range n {
			b.message(l, true, at(i, n))
		}
	case "mostly": // one direction, with few replies
		for i := range n {
			b.message(l, i%17 != 3, at(i, n))
		}
	case "bursts":
		for i := 0; i < n; {
			t, k := from+int64(float64(to-from)*b.r.Float64()), min(n-i, 1+b.r.IntN(20))
			for range k {
				b.message(l, chance(b.r, 2), t)
				t += int64(logUniform(b.r, 1e3, 1e7))
			}
			i += k
		}
	default: // random both ways
		for i := range n {
			b.message(l, chance(b.r, 2), at(i, n))
		}
	}
}

var patterns = []string{"exchange", "periodic", "random", "bursts", "mostly"}

// chat lets every link talk, n messages in all.
func (b *builder) chat(n int) {
	each := max(2, n/len(b.links))
	for _, l := range b.links {
		b.talk(l, each, 0, b.span, patterns[b.r.IntN(len(patterns))])
	}
}

// record draws how the hosts record: as a list or as captures of formats whose step is at most most ns.
func (b *builder) record(most int64) {
	if chance(b.r, 3) {
		b.asList()
		return
	}
	for i := range b.Hosts {
		for {
			b.Hosts[i].Format = formats[b.r.IntN(len(formats))]
			if g := formatGrain(b.Hosts[i].Format); g.span() <= max(most, 1) {
				b.Hosts[i].Grain = g
				break
			}
		}
		b.Hosts[i].Address = chance(b.r, 2)
	}
}

// asList records as text, in ns.
func (b *builder) asList() {
	b.List, b.Digits = true, 9
}

// option states something to the command.
func (b *builder) option(flag, value string) { b.Options = append(b.Options, flag, value) }

// lone adds packets to and from hosts that recorded nothing.
func (b *builder) lone(host, n int, from, to int64) {
	for range n {
		b.Lone = append(b.Lone, Lone{ID: 1_000_000 + len(b.Lone), Host: host, At: from + b.r.Int64N(max(1, to-from))})
	}
}

// finish orders the messages by their sending.
func (b *builder) finish() {
	slices.SortStableFunc(b.Messages, func(x, y Message) int { return cmp.Compare(x.Sent, y.Sent) })
	for i := range b.Messages {
		b.Messages[i].ID = i + 1
	}
}

// seconds is a span for an option.
func seconds(ns float64) string { return fmt.Sprintf("%.9fs", ns/1e9) }
