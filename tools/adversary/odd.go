package main

// oddKinds are worlds that no textbook has and many networks do.
var oddKinds = []kind{
	{name: "second-clock", why: "a card stamps what it receives by a clock of its own", make: secondClock},
	{name: "two-interfaces", kept: true, make: twoInterfaces},
	{name: "one-machine", kept: true, make: oneMachine},
	{name: "power-save", kept: true, make: powerSave},
	{name: "lopsided", kept: true, make: lopsided},
	{name: "ages", kept: true, make: ages},
	{name: "rotated", kept: true, make: rotated},
	{name: "smear", why: "a leap second is smeared over a day", make: smear},
	{name: "leap", why: "a leap second is inserted", make: leap},
	{name: "rollover", why: "a clock without a battery, or a receiver of GPS, learns the date", make: rollover},
	{name: "migrated", why: "a virtual machine moves to a host whose oscillator is another", make: migrated},
	{name: "clamped", why: "a recorder lets no stamp go back when its clock is set back", make: clamped},
	{name: "bogus", why: "a driver stamps a few packets wrongly", make: bogus},
}

// pair is two hosts that keep the limits, a link, and messages of a pattern of its own.
func (b *builder) pair(l limits, n int) {
	b.hosts(2)
	b.keep(l)
	b.connect("chain", pick(b.r, 1.0, 3))
	b.chat(n)
}

// captures records as captures with stamps of 1 ns.
func (b *builder) captures() {
	for i := range b.Hosts {
		b.Hosts[i].Format = pick(b.r, "pcap-ns", "ng-ns", "ng-flags")
		b.Hosts[i].Address = chance(b.r, 2)
	}
}

// secondClock is a card that stamps what it receives by a clock of its own, behind the other by more than a round trip: were it ahead,
// messages would look late, and nothing would tell.
func secondClock(b *builder) {
	n := b.draw(1, 3600, 50, 2000)
	b.hosts(3)
	b.keep(stated)
	other := b.Hosts[2].Clock
	other.Base = b.Hosts[0].Clock.Base + pick(b.r, -37*second, -second)
	b.Hosts = b.Hosts[:2]
	b.Hosts[0].Other = &Other{Select: "received", Clock: &other}
	b.connect("chain", 3)
	b.chat(n)
	b.captures()
}

// twoInterfaces is one host with a capture of two interfaces, one of which counts in µs.
func twoInterfaces(b *builder) {
	n := b.draw(1, 3600, 10, 2000)
	b.pair(stated, n)
	b.captures()
	b.Hosts[1].Format = pick(b.r, "ng-ns", "ng-flags")
	b.Hosts[1].Other = &Other{Select: "odd", Grain: Grain{Shown: 1000}}
}

// oneMachine is containers: delays below a µs, and often the same clock.
func oneMachine(b *builder) {
	n := b.draw(0.01, 600, 10, 3000)
	b.hosts(2 + b.r.IntN(3))
	if chance(b.r, 2) {
		for i := range b.Hosts {
			b.Hosts[i].Clock = b.Hosts[0].Clock
		}
	} else {
		b.keep(stated)
	}
	b.connect("star", 1)
	for _, l := range b.links {
		for _, d := range []*delays{l.there, l.back} {
			d.least = logUniform(b.r, 50, 3000)
			d.mean = d.least * logUniform(b.r, 0.1, 30)
		}
	}
	b.chat(n)
	b.record(pick[int64](b.r, 1, 1, 1000))
}

// powerSave is a station that listens for beacons: what is sent to it waits for the next one.
func powerSave(b *builder) {
	n := b.draw(1, 600, 20, 1500)
	b.pair(stated, n)
	beacon := int64(102_400_000)
	for i := range b.Messages {
		if m := &b.Messages[i]; m.To == 1 {
			arrives := m.Sent + m.Delay
			m.Delay += (arrives/beacon+1)*beacon - arrives
		}
	}
	b.record(1)
}

// lopsided is a satellite one way and a wire back.
func lopsided(b *builder) {
	n := b.draw(1, 3600, 10, 2000)
	b.hosts(2 + b.r.IntN(2))
	b.keep(stated)
	b.connect("chain", 1000)
	b.chat(n)
	b.record(1)
}

// ages is captures of weeks and years: a talk now and another after a long time.
func ages(b *builder) {
	b.span = int64(logUniform(b.r, 1, 400) * 86400e9)
	b.hosts(2)
	b.keep(stated)
	b.connect("chain", 3)
	for range 2 + b.r.IntN(4) {
		from := int64(b.r.Float64() * float64(b.span))
		b.talk(b.links[0], 2+b.r.IntN(60), from, from+int64(logUniform(b.r, 1e9, 3600e9)), pick(b.r, "exchange", "random", "periodic"))
	}
	b.record(1)
}

// rotated is captures in several files each.
func rotated(b *builder) {
	n := b.draw(1, 3600, 50, 2000)
	b.pair(stated, n)
	b.captures()
	for i := range b.Hosts {
		b.Hosts[i].Files = 1 + b.r.IntN(5)
	}
}

// smear is a second spread over a day, or over 1000 s, at a rate that jumps or turns like a cosine; the other hosts leap or do not.
func smear(b *builder) {
	b.rated(600, 7200)
	h := b.victim()
	length := float64(b.span) * uniform(b.r, 0.1, 1.2)
	from := int64(uniform(b.r, -0.5, 1) * float64(b.span))
	amount := second * pick[int64](b.r, 1, -1)
	if chance(b.r, 2) { // 11.6 ppm, of which the world sees a part
		amount = int64(length / 86400e9 * 1e9)
	}
	knots := []Knot{{At: from, Rate: float64(amount) / length * 1e9}, {At: from + int64(length)}}
	if chance(b.r, 2) {
		peak, half := 2*float64(amount)/length*1e9, length/2/1e9
		knots = []Knot{{At: from, Slope: peak / half}, {At: from + int64(length/2), Rate: peak, Slope: -peak / half}, {At: from + int64(length)}}
	}
	h.Clock.rates(knots)
	b.record(1)
}

// leap is clocks that repeat a second, each when its daemon or kernel thinks of it.
func leap(b *builder) {
	b.rated(10, 900)
	at := b.r.Int64N(b.span)
	for i := range b.Hosts {
		if i == 0 || chance(b.r, 2) {
			late := int64(logUniform(b.r, 1e3, 1e9)) * int64(i)
			b.Hosts[i].Clock.Terms = append(b.Hosts[i].Clock.Terms, Term{Kind: "step", At: at + late, Size: -1e9})
		}
	}
	b.record(1)
}

// rollover is a clock that leaps over years, once.
func rollover(b *builder) {
	b.rated(10, 900)
	h := b.victim()
	size := pick(b.r, 1024*7*86400e9, 1.7e18-1e15, 20*365*86400e9)
	h.Clock.Base -= int64(size)
	if h.Clock.Base < 0 {
		h.Clock.Base = 86400 * second
	}
	h.Clock.Terms = append(h.Clock.Terms, Term{Kind: "step", At: b.r.Int64N(b.span), Size: size})
	b.record(1)
}

// migrated is a pause of up to a second, and another rate after it.
func migrated(b *builder) {
	b.rated(10, 900)
	h := b.victim()
	at, length := b.r.Int64N(b.span), int64(logUniform(b.r, 1e6, 1e9))
	ppm := logUniform(b.r, 0.05, 100) * pick(b.r, 1.0, -1)
	h.Clock.rates([]Knot{{At: at, Rate: ppm * 1e3}})
	if chance(b.r, 2) {
		h.Clock.Terms = append(h.Clock.Terms, Term{Kind: "step", At: at, Size: -float64(length)})
	}
	b.record(1)
}

// clamped is a recorder that waits for a clock that was set back.
func clamped(b *builder) {
	b.rated(10, 600)
	h := b.victim()
	h.Clock.Terms = append(h.Clock.Terms, Term{Kind: "step", At: b.r.Int64N(b.span), Size: -logUniform(b.r, 1e5, 3e9)})
	h.Clamp = true
	b.captures()
}

// bogus is stamps of long ago, as of a wrap of 2^32 ns or µs: before the message was sent, or nothing would tell.
func bogus(b *builder) {
	n := b.draw(1, 600, 50, 2000)
	b.pair(limits{epsilon: 10, wander: 10, skew: 100}, n)
	b.captures()
	for range 1 + b.r.IntN(3) {
		m := &b.Messages[b.r.IntN(len(b.Messages))]
		m.Bogus = pick[int64](b.r, -(1 << 32), -1000*(1<<32), -1e15, -10e9)
	}
}
