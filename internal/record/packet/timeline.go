package packet

import (
	"math"
	"slices"
	"sync"

	"meridian/clock"
)

// offset is by how much REALTIME was ahead of MONOTONIC, at an instant of the latter, and how far that may be off.
type offset struct {
	at, ns, error int64
}

// readOffset reads both clocks, one on either side of the other, and keeps the narrowest of a few readings.
func readOffset() offset {
	best := offset{error: math.MaxInt64}
	for range 5 {
		before := int64(clock.Monotonic.Now())
		real := int64(clock.Realtime.Now())
		width := int64(clock.Monotonic.Now()) - before
		if width >= 0 && width/2 < best.error {
			best = offset{at: before + width/2, ns: real - before - width/2, error: width / 2}
		}
	}
	return best
}

// timeline leads stamps of REALTIME back to MONOTONIC.
//
// Whatever slews one of these clocks slews the other: the kernel keeps their difference constant until somebody sets REALTIME
// or a leap second comes. So all that must be known of a packet is how many times the clock had been set when it was stamped. A
// stamp itself cannot tell where the clock was set back, but the packet's place in the ring can: when a step is seen, the
// kernel's count of packets says which are from before.
//
//	packets put into the ring   1 2 3 4 5 | 6 7 8        the step was seen when there were 5
//	offset that leads back      ----a---- | --b--
//
// Between the step and its being seen, the wake-up of a thread, lie a few packets that count as from before. Those whose
// stamps would then be in the future, or fall behind other packets or the last look at the clocks, are known to be from after it.
// What remains: a clock set back by less than has passed since then, and a packet in those microseconds. It is put too
// early by as much.
type timeline struct {
	mu      sync.Mutex
	now     offset // as of the last packet
	last    offset // as of the last step
	pending []step
	seen    reading // the last time that anybody looked
	stamp   int64   // of the last packet, REALTIME
	steps   int64   // seen so far
}

// reading is when the clocks were read, and how many packets had gone into the ring by then.
type reading struct {
	at, packets int64
}

// step is one of REALTIME.
type step struct {
	packets int64 // that had gone into the ring when it was seen
	to      offset
	before  reading // when it was not yet there
}

// Readings below this are taken for one another's error, and a step as small does no harm.
const smallestStep = 2_000

// slack is by how much packets of different processors may be out of order in the ring.
const slack = 1_000_000

// observe takes a reading of the clocks, made when so many packets had gone into the ring.
func (t *timeline) observe(o offset, packets int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o.at < t.seen.at {
		return // another goroutine has looked later and come first
	}
	before := t.seen
	t.seen = reading{o.at, packets}
	switch d := o.ns - t.last.ns; {
	case t.last == offset{}:
		t.now, t.last = o, o
	case max(d, -d) > o.error+t.last.error+smallestStep:
		t.last = o
		t.steps++
		t.pending = append(t.pending, step{packets, o, before})
	case o.error < t.last.error: // the same, better known
		t.last.ns, t.last.error = o.ns, o.error
	}
}

// monotonic returns when a packet was stamped, which is the n-th of the ring, from 1.
func (t *timeline) monotonic(n, stamp int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.pending) > 0 {
		s := t.pending[0]
		ahead := stamp-t.now.ns > s.to.at+slack
		back := t.stamp != 0 && stamp < t.stamp-slack || n > s.before.packets && stamp-t.now.ns < s.before.at-slack
		if n <= s.packets && !ahead && (!back || s.to.ns > t.now.ns) {
			break
		}
		t.now, t.stamp = s.to, 0
		t.pending = slices.Delete(t.pending, 0, 1)
	}
	t.stamp = max(t.stamp, stamp)
	return stamp - t.now.ns
}

// count returns how many steps were seen.
func (t *timeline) count() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.steps
}
