package main

import (
	"math"
	"sort"
)

// wildKinds are the families in which some pair of clocks breaks the default assumption, as clocks that people have do.
var wildKinds = []kind{
	{name: "chronyd", why: "chronyd slews a clock", make: chronyd},
	{name: "chronyd-start", why: "chronyd sets a clock right by 83,333 ppm", make: chronydStart},
	{name: "kernel-pll", why: "ntpd or timesyncd steers a clock through the kernel", make: kernelPLL},
	{name: "servo", why: "ptp4l changes a rate every second", make: servo},
	{name: "slew", why: "a clock slews", make: slew},
	{name: "deceive", why: "ramps of parts of a round trip", make: deceive},
	{name: "wave", why: "clocks turn harder than stated", make: wave},
	{name: "fast", why: "clocks are further apart in rate than stated", make: fast},
	{name: "step", why: "a clock is set", make: step},
	{name: "small-step", why: "a clock is set by about a round trip", make: smallStep},
	{name: "set-back", why: "a clock is set back", make: setBack},
	{name: "many-steps", why: "a clock is set many times", make: manySteps},
	{name: "pause", why: "a machine is suspended", make: pause},
	{name: "reference-set", why: "the reference's clock is set or slewed", make: referenceSet},
	{name: "rounded", why: "stamps are rounded to the nearest step, or are the clock's reading at its last tick", make: rounded},
	{name: "understated", why: "clocks wander by more than is stated", make: understated},
	{name: "zoo", why: "several of the other kinds at once", make: zoo},
}

// wildHosts are hosts with ordinary clocks, one or more of which will break the assumption.
func (b *builder) wildHosts(n int) {
	b.hosts(n)
	b.keep(limits{epsilon: 10, wander: 10, skew: 100})
	if n == 2 {
		b.connect("chain", pick(b.r, 1.0, 1, 3, 19))
	} else {
		b.connect(shapes[b.r.IntN(len(shapes))], pick(b.r, 1.0, 3))
	}
}

// victim is the host whose clock breaks the assumption.
func (b *builder) victim() *Host { return &b.Hosts[b.r.IntN(len(b.Hosts))] }

// rates adds a rate that changes at knots, ordered here, to a clock.
func (c *Clock) rates(knots []Knot) {
	sort.SliceStable(knots, func(i, j int) bool { return knots[i].At < knots[j].At })
	c.Terms = append(c.Terms, Term{Kind: "rates", Knots: append([]Knot{{At: math.MinInt64 / 4}}, knots...)})
}

// slewing is a clock's error as a daemon pays it off: pay adds a slew of an amount (ns) at a rate (ppm).
type slewing struct{ changes []change }

type change struct {
	at int64
	by float64 // ppb
}

func (s *slewing) pay(at int64, amount, ppm float64) (end int64) {
	rate := math.Copysign(ppm*1e3, amount)
	end = at + int64(math.Abs(amount)/(ppm*1e-6))
	s.changes = append(s.changes, change{at, rate}, change{end, -rate})
	return end
}

// knots is the sum of all changes.
func (s *slewing) knots() []Knot {
	sort.SliceStable(s.changes, func(i, j int) bool { return s.changes[i].at < s.changes[j].at })
	var knots []Knot
	rate := 0.0
	for _, c := range s.changes {
		rate += c.by
		if n := len(knots); n > 0 && knots[n-1].At == c.at {
			knots[n-1].Rate = rate
			continue
		}
		knots = append(knots, Knot{At: c.at, Rate: rate})
	}
	return knots
}

// chronyd polls every poll seconds; each time it pays what it believes its offset to be, and corrects its frequency a little.
func (b *builder) chronyd(h *Host, poll, offset, ppb float64) {
	var s slewing
	at := int64(b.r.Float64() * poll * 1e9)
	for at < b.span {
		amount := b.r.NormFloat64() * offset
		if chance(b.r, 20) { // a burst
			amount *= 20
		}
		over := logUniform(b.r, 1, math.Max(2, poll/2)) // seconds in which it is paid
		ppm := min(83333, max(0.001, math.Abs(amount)/(over*1e3)))
		s.pay(at, amount, ppm)
		s.changes = append(s.changes, change{at, b.r.NormFloat64() * ppb})
		at += int64(poll * 1e9 * uniform(b.r, 0.9, 1.1))
	}
	h.Clock.rates(s.knots())
}

func chronyd(b *builder) {
	b.rated(60, 7200)
	poll := pick(b.r, 16.0, 64, 256, 1024)
	for i := range b.Hosts {
		if i == 0 || !chance(b.r, 3) {
			b.chronyd(&b.Hosts[i], poll, logUniform(b.r, 200, 200e3), logUniform(b.r, 5, 500))
		}
	}
	b.record(1)
}

// rated lets hosts talk at a rate that people's systems have for a time, up to 9000 messages.
func (b *builder) rated(shortest, longest float64) {
	rate := pick(b.r, 1.0, 3, 10, 10, 30, 100)
	b.draw(shortest, longest, 100, 9000)
	b.span = min(b.span, int64(9000/rate*1e9))
	n := max(30, int(rate*float64(b.span)/1e9))
	b.wildHosts(2 + b.r.IntN(6)/5)
	b.chat(n)
}

// chronydStart is a start of chronyd: the whole offset is paid at once at the greatest rate, then less and less.
func chronydStart(b *builder) {
	b.rated(20, 900)
	for i := range b.Hosts {
		if i > 0 && chance(b.r, 2) {
			continue
		}
		var s slewing
		at, offset := int64(b.r.Float64()*float64(b.span)*0.5), b.r.NormFloat64()*logUniform(b.r, 1e5, 2e8)
		for at < b.span && math.Abs(offset) > 100 {
			end := s.pay(at, -offset, pick(b.r, 83333.333, 83333.333, 1000, min(83333, max(1, math.Abs(offset)/1e6))))
			at = end + int64(logUniform(b.r, 2e9, 64e9))
			offset *= b.r.NormFloat64() * 0.2
		}
		b.Hosts[i].Clock.rates(s.knots())
	}
	b.record(1)
}

// kernelPLL is the loop of the kernel's ntp_update_offset: an update of an offset makes the rate jump by offset / 2^(2+tc) a second, and
// what is left decays in steps of one second.
func kernelPLL(b *builder) {
	b.rated(60, 3600)
	poll, tc := 64.0, 2.0
	switch b.r.IntN(3) {
	case 1:
		poll, tc = 32, 1
	case 2:
		poll, tc = 1024, 6
	}
	for i := range b.Hosts {
		if i > 0 && chance(b.r, 2) {
			continue
		}
		var knots []Knot
		left, next := 0.0, int64(b.r.Float64()*poll*1e9)
		first := b.r.NormFloat64() * logUniform(b.r, 1e4, 1e8)
		for at := int64(0); at < b.span; at += second {
			if at >= next {
				left = first + b.r.NormFloat64()*logUniform(b.r, 500, 1e5)
				first, next = 0, next+int64(poll*1e9)
			}
			paid := left / math.Pow(2, 2+tc)
			left -= paid
			knots = append(knots, Knot{At: at, Rate: paid}) // ns in a second
		}
		b.Hosts[i].Clock.rates(knots)
	}
	b.record(1)
}

// servo is a proportional-integral controller that measures with noise, as ptp4l with software stamps.
func servo(b *builder) {
	b.rated(20, 900)
	noise := logUniform(b.r, 100, 15e3) // ns
	for i := range b.Hosts {
		if i > 0 && chance(b.r, 2) {
			continue
		}
		var knots []Knot
		offset, integral, rate := 0.0, 0.0, 0.0
		for at := int64(0); at < b.span; at += second {
			offset += rate
			seen := offset + b.r.NormFloat64()*noise
			integral -= 0.3 * seen
			integral = max(-5e5, min(5e5, integral))
			rate = integral*0.1 - 0.7*seen
			knots = append(knots, Knot{At: at, Rate: rate})
		}
		b.Hosts[i].Clock.rates(knots)
	}
	b.record(1)
}

// slew is a clock that slews once or a few times: 5 ppm for 20 s, 500 ppm for 0.1 s, and between.
func slew(b *builder) {
	b.rated(10, 600)
	var s slewing
	for range 1 + b.r.IntN(3) {
		ppm, amount := logUniform(b.r, 1, 2000), logUniform(b.r, 5e3, 5e6)
		switch b.r.IntN(3) {
		case 0:
			ppm, amount = 5, 100e3
		case 1:
			ppm, amount = 500, 50e3
		}
		if chance(b.r, 2) {
			amount = -amount
		}
		end := s.pay(int64(b.r.Float64()*float64(b.span)), amount, ppm)
		if chance(b.r, 3) { // and back
			s.pay(end+int64(logUniform(b.r, 1e7, 1e11)), -amount, ppm)
		}
	}
	b.victim().Clock.rates(s.knots())
	b.record(1)
}

// deceive is ramps of a part of a round trip, half of which are undone soon.
func deceive(b *builder) {
	b.rated(60, 1800)
	rtt := b.links[0].there.least + b.links[0].back.least
	var s slewing
	for at := int64(0); at < b.span; at += int64(60e9 * uniform(b.r, 0.5, 1.5)) {
		amount, length := rtt*logUniform(b.r, 0.02, 5)*pick(b.r, 1.0, -1), logUniform(b.r, 0.2, 60)
		ppm := min(1e5, math.Abs(amount)/length/1e3)
		end := s.pay(at, amount, ppm)
		if chance(b.r, 2) {
			s.pay(end+int64(logUniform(b.r, 0.2e9, 30e9)), -amount, ppm)
		}
	}
	b.victim().Clock.rates(s.knots())
	b.record(1)
}

// wave is turns harder than stated: fans, sunshine, a machine that is switched on.
func wave(b *builder) {
	b.rated(10, 3600)
	for range 1 + b.r.IntN(3) {
		period := logUniform(b.r, 0.5, 600) // s
		wander := logUniform(b.r, 30, 1e5)
		size := min(wander*math.Pow(period/2/math.Pi, 2), 1e8)
		h := b.victim()
		h.Clock.Terms = append(h.Clock.Terms, Term{Kind: "sine", At: b.r.Int64N(b.span), Size: size, Period: period * 1e9})
	}
	b.record(1)
}

// fast is skews beyond what is stated.
func fast(b *builder) {
	n := b.draw(0.01, 600, 4, 2000)
	b.wildHosts(2)
	b.victim().Clock.rates([]Knot{{At: math.MinInt64 / 4, Rate: pick(b.r, 1.0, -1) * logUniform(b.r, 600, 5e4) * 1e3}})
	b.chat(n)
	b.record(1)
}

// step is clocks set by more than a round trip, either way, in traffic of any rate.
func step(b *builder) {
	n := b.draw(1, 36000, 20, 3000)
	b.wildHosts(2 + b.r.IntN(3))
	b.chat(n)
	for range 1 + b.r.IntN(3) {
		h := b.victim()
		h.Clock.Terms = append(h.Clock.Terms, Term{Kind: "step", At: b.r.Int64N(b.span),
			Size: pick(b.r, 1.0, 1, -1) * math.Round(pick(b.r, logUniform(b.r, 1e6, 1e12), 1e9, 3600e9))})
	}
	b.record(1)
}

// smallStep is a clock set by a part of a round trip or a few.
func smallStep(b *builder) {
	n := b.draw(1, 3600, 50, 4000)
	b.wildHosts(2)
	l := b.links[0]
	for _, d := range []*delays{l.there, l.back} {
		d.mean = d.least * logUniform(b.r, 0.001, 0.5)
	}
	b.chat(n)
	rtt := l.there.least + l.back.least
	for range 1 + b.r.IntN(2) {
		h := b.victim()
		h.Clock.Terms = append(h.Clock.Terms, Term{Kind: "step", At: b.r.Int64N(b.span), Size: rtt * logUniform(b.r, 0.2, 5) * pick(b.r, 1.0, -1)})
	}
	b.record(1)
}

// setBack is a clock set back so that it shows readings twice, in dense traffic.
func setBack(b *builder) {
	n := b.draw(1, 600, 100, 3000)
	b.wildHosts(2 + b.r.IntN(2))
	b.chat(n)
	h := b.victim()
	h.Clock.Terms = append(h.Clock.Terms, Term{Kind: "step", At: b.r.Int64N(b.span), Size: -logUniform(b.r, 1e6, float64(b.span)*2)})
	b.record(1)
}

// manySteps is a clock that something sets again and again.
func manySteps(b *builder) {
	n := b.draw(10, 3600, 1000, 10000)
	b.wildHosts(2)
	b.chat(n)
	h := b.victim()
	for range int(logUniform(b.r, 4, 100)) {
		h.Clock.Terms = append(h.Clock.Terms, Term{Kind: "step", At: b.r.Int64N(b.span), Size: pick(b.r, 1.0, -1) * logUniform(b.r, 1e4, 1e10)})
	}
	b.record(1)
}

// pause is a machine that sleeps or is moved: its clock stands still, and the time is made up for at once, slowly, or never; or it jumps
// ahead and is slewed back.
func pause(b *builder) {
	b.rated(60, 900)
	h := b.r.IntN(len(b.Hosts))
	from := int64(b.r.Float64() * float64(b.span) * 0.8)
	length := int64(logUniform(b.r, 1e7, 1e10))
	switch b.r.IntN(3) {
	case 0: // ahead by 2 s, slewed back
		b.Hosts[h].Clock.Terms = append(b.Hosts[h].Clock.Terms, Term{Kind: "step", At: from, Size: float64(length)})
		var s slewing
		s.pay(from+int64(uniform(b.r, 0, 30e9)), -float64(length), 83333.333)
		b.Hosts[h].Clock.rates(s.knots())
	case 1: // asleep; the clock goes on where it was, and is slewed to where it should be
		b.Hosts[h].Clock.Terms = append(b.Hosts[h].Clock.Terms, Term{Kind: "step", At: from, Size: -float64(length)})
		var s slewing
		s.pay(from+length+int64(uniform(b.r, 0, 30e9)), float64(length), 83333.333)
		b.Hosts[h].Clock.rates(s.knots())
	case 2: // asleep, and not made up for
		b.Hosts[h].Clock.Terms = append(b.Hosts[h].Clock.Terms, Term{Kind: "step", At: from, Size: -float64(length)})
	}
	// A machine that sleeps neither sends nor receives. One that jumped ahead misses a little, too.
	asleep := func(t int64) bool { return t >= from && t < from+length }
	kept := b.Messages[:0]
	for _, m := range b.Messages {
		if m.From == h && asleep(m.Sent) || m.To == h && asleep(m.Sent+m.Delay) {
			continue
		}
		kept = append(kept, m)
	}
	b.Messages = kept
	b.record(1)
}

// referenceSet names the host whose clock is set or slewed as the reference.
func referenceSet(b *builder) {
	b.rated(10, 900)
	h := b.victim()
	var s slewing
	switch b.r.IntN(3) {
	case 0:
		h.Clock.Terms = append(h.Clock.Terms, Term{Kind: "step", At: b.r.Int64N(b.span), Size: pick(b.r, 1.0, -1) * logUniform(b.r, 1e4, 1e10)})
	case 1:
		s.pay(b.r.Int64N(b.span), pick(b.r, 1.0, -1)*logUniform(b.r, 1e4, 1e8), logUniform(b.r, 1, 83333))
		h.Clock.rates(s.knots())
	case 2:
		b.chronyd(h, 16, 50e3, 100)
	}
	b.option("--reference", h.Name)
	b.record(1)
}

// rounded is stamps that are not cut: printed with %.6f, kept as float64 seconds (2^-22 s apart today), or read from a clock that the kernel
// moves on at its ticks alone (CLOCK_REALTIME_COARSE).
func rounded(b *builder) {
	n := b.draw(0.5, 3600, 10, 3000)
	b.hosts(2)
	b.keep(limits{epsilon: 10, wander: 10, skew: 100})
	b.connect("chain", 3)
	b.chat(n)
	b.asList()
	for i := range b.Hosts {
		if i > 0 && chance(b.r, 2) {
			continue
		}
		b.Hosts[i].Grain = pick(b.r, Grain{Num: 1000, Den: 1, Round: true}, Grain{Num: 1_000_000, Den: 1, Round: true},
			Grain{Num: second, Den: 1 << 22, Round: true}, Grain{Num: 838, Den: 1, Shown: 1000},
			Grain{Num: second, Den: 1 << 21, Round: true},
			Grain{Num: 4_000_000, Den: 1, Phase: b.r.Int64N(4_000_000)}, Grain{Num: second, Den: 1000, Phase: b.r.Int64N(1_000_000)},
			Grain{Num: 10_000_000, Den: 1, Phase: b.r.Int64N(10_000_000)})
	}
}

// understated states less wander than there is.
func understated(b *builder) {
	n := b.draw(10, 3600, 50, 3000)
	b.hosts(2)
	l := stated
	l.wander = logUniform(b.r, 30, 3000)
	b.keep(l)
	b.connect("chain", 3)
	b.chat(n)
	b.option("--wander", pick(b.r, "0.1", "1", "5", "30"))
	b.record(1)
}

// zoo is several faults at once, in a network.
func zoo(b *builder) {
	n := b.draw(30, 3600, 200, 4000)
	b.wildHosts(2 + b.r.IntN(4))
	b.chat(n)
	for i := range b.Hosts {
		h := &b.Hosts[i]
		var s slewing
		switch b.r.IntN(7) {
		case 0:
			b.chronyd(h, 64, 50e3, 100)
		case 1:
			h.Clock.Terms = append(h.Clock.Terms, Term{Kind: "step", At: b.r.Int64N(b.span), Size: pick(b.r, 1.0, -1) * logUniform(b.r, 1e4, 1e10)})
		case 2:
			s.pay(b.r.Int64N(b.span), pick(b.r, 1.0, -1)*logUniform(b.r, 1e4, 1e7), logUniform(b.r, 1, 83333))
			h.Clock.rates(s.knots())
		case 3:
			h.Clock.Terms = append(h.Clock.Terms, Term{Kind: "sine", Size: logUniform(b.r, 1e3, 1e6), Period: logUniform(b.r, 1e9, 1e12)})
		}
	}
	b.record(1000)
}
