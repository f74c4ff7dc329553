package clock

import "math"

// Reading is one clock read beside a counter: when the counter stood at Counter, the clock said Ns.
//
//	counter  before            after
//	           |-----------------|----> Counter is the middle, Error half of it
//	clock            Ns
//
// The clock was read between two readings of the counter. Both go in steps, so what was really meant by a reading v lies from
// v up to v + grain, and the bracket ends at after + grain. At some instant the clock was within NsError of Ns and the
// counter within Error of Counter, both taken as if they ran without steps: that is all that is claimed, and it holds however
// long the processor was elsewhere in between.
type Reading struct {
	Clock   Source `json:"clock"` // None where the clock could not be read
	Counter uint64 `json:"counter"`
	Error   uint64 `json:"error"` // in units of the counter
	Ns      int64  `json:"ns"`
	NsError int64  `json:"ns_error"` // the clock's grain; for a clock on another host also what the way to it leaves open
}

// Snapshot is a counter beside all clocks of the machine, at nearly one instant.
type Snapshot struct {
	Counter      Source  `json:"counter"`
	Monotonic    Reading `json:"monotonic"`
	MonotonicRaw Reading `json:"monotonic_raw"`
	Realtime     Reading `json:"realtime"`
	TAI          Reading `json:"tai"`
}

// tries is how often a snapshot reads each clock to keep the narrowest bracket. Interrupts are rare: of a few readings one is
// undisturbed, and more of them narrow the bracket by no more than the counter's step.
const tries = 8

// Take reads the clocks beside a counter, which is one of the sources; [Best] is what sensors use. It takes some 7 µs, and at
// the first time a quarter of a millisecond more to learn the grains.
func Take(counter Source) Snapshot {
	return Snapshot{
		Counter:   counter,
		Monotonic: take(counter, Monotonic, tries), MonotonicRaw: take(counter, MonotonicRaw, tries),
		Realtime: take(counter, Realtime, tries), TAI: take(counter, TAI, tries),
	}
}

// take reads one clock beside a counter.
func take(counter, clock Source, tries int) Reading {
	if !counter.Available() || !clock.Available() {
		return Reading{}
	}
	p := pair{
		counter: counter.ordered, counterGrain: counter.Grain(),
		clock: func() int64 { return int64(clock.Now()) }, clockError: clock.Grain(),
	}
	r, ok := p.read(tries)
	if !ok {
		return Reading{}
	}
	r.Clock = clock
	return r
}

// pair is a counter and a clock that can be read beside it.
type pair struct {
	counter      func() uint64
	clock        func() int64
	counterGrain int64 // [Source.Grain] of the counter
	clockError   int64 // how far the clock's reading may be from its time
}

// read brackets the clock as often as asked and keeps the narrowest. It is not ok if neither ever moved or the counter was
// set back each time, which a clock that people set may be.
func (p *pair) read(tries int) (r Reading, ok bool) {
	if p.counterGrain == math.MaxInt64 || p.clockError == math.MaxInt64 {
		return r, false
	}
	narrowest := uint64(math.MaxUint64)
	for range tries {
		before := p.counter()
		ns := p.clock()
		width := p.counter() - before
		if width > math.MaxInt64 || width >= narrowest {
			continue
		}
		narrowest = width
		width += uint64(p.counterGrain)
		r = Reading{Counter: before + width/2, Error: width - width/2, Ns: ns, NsError: p.clockError}
		ok = true
	}
	return r, ok
}

// Origin returns what the clock said when the counter was 0, if the counter has always run at hz: what has to be added to a
// stamp's ns to have the clock's. With hz off by its error, so is the origin, but not the time near the reading.
func (r Reading) Origin(hz uint64) int64 {
	return Sub(r.Ns, ToNs(r.Counter, hz))
}

// ToNs converts counts at hz to ns, rounded to the nearest. Its cost, a division of 128 bits, is why events are stamped with
// counts and their reader converts.
func ToNs(count, hz uint64) int64 {
	if count > math.MaxInt64 || hz == 0 || hz > math.MaxInt64 {
		return math.MaxInt64
	}
	return MulDiv(int64(count), 1e9, int64(hz), Nearest)
}
