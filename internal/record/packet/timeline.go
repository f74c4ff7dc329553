package packet

import (
	"math"
	"slices"
	"sync"

	"meridian/clock"
)

// offset is REALTIME less MONOTONIC at an instant of the latter, and the error of that difference. All are ns.
type offset struct {
	at        clock.HostTime
	ns, error int64
}

// readOffset reads MONOTONIC before and after REALTIME, and returns the narrowest of a few readings. Its error includes the steps in
// which both advance.
func readOffset() offset {
	best := offset{error: math.MaxInt64}
	for range 5 {
		before := clock.HostTime(clock.Monotonic.Now())
		real := clock.HostTime(clock.Realtime.Now())
		width := int64(clock.HostTime(clock.Monotonic.Now()) - before)
		if width >= 0 && width/2 < best.error {
			best = offset{at: before + clock.HostTime(width/2), ns: int64(real-before) - width/2, error: width / 2}
		}
	}
	best.error = clock.Add(best.error, clock.Monotonic.Grain()+clock.Realtime.Grain()+1)
	return best
}

// timeline converts stamps of REALTIME to MONOTONIC.
//
// Slewing one of these clocks slews the other: the kernel keeps their difference constant until REALTIME is set or a leap second
// comes. So a packet's stamp can be converted if it is known how many times the clock had been set before. The stamp itself
// does not show it where the clock was set back, but the packet's number in the ring does: when a step is noticed, the kernel's
// count of packets says which of them are older.
//
//	packets put into the ring   1 2 3 4 5 | 6 7 8        the step was noticed when there were 5
//	offset that is subtracted   ----a---- | --b--
//
// A few packets between the step and its notice (the wakeup of a thread) are taken for older than the step. Those whose converted
// stamps would be in the future, or before earlier packets or the last reading of the clocks, are recognized as younger. One
// case remains: the clock was set back by less than the time since that reading, and the packet lies in those
// microseconds. Its stamp is then too early by the size of the step.
type timeline struct {
	mu      sync.Mutex
	now     offset // as of the last packet
	last    offset // as of the last step
	pending []step
	read    reading        // the last one
	stamp   clock.HostTime // of the last packet, REALTIME
	steps   int64          // noticed so far
	error   int64          // by how much an offset that stamps were converted by may have been wrong, ns
}

// reading is when the clocks were read, on MONOTONIC, and how many packets had gone into the ring by then.
type reading struct {
	at      clock.HostTime
	packets int64
}

// step is one of REALTIME.
type step struct {
	packets int64 // that had gone into the ring when it was noticed
	to      offset
	before  reading // the last one without it
}

// minStep is the least difference of readings, in ns beyond their errors, that counts as a step. A smaller step does no harm.
const minStep = 2_000

// maxDisorder is by how many ns packets of different processors may be out of order in the ring.
const maxDisorder = 1_000_000

// observe takes a reading of the clocks, made when so many packets had gone into the ring.
func (t *timeline) observe(o offset, packets int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o.at < t.read.at {
		return // another goroutine has read the clocks later and got the lock first
	}
	before := t.read
	t.read = reading{o.at, packets}
	d := max(o.ns-t.last.ns, t.last.ns-o.ns)
	switch {
	case t.last == offset{}:
		t.now, t.last, d = o, o, 0
	case d > o.error+t.last.error+minStep:
		t.last, d = o, 0
		t.steps++
		t.pending = append(t.pending, step{packets, o, before})
	case o.error < t.last.error: // the same with a smaller error
		t.last.ns, t.last.error = o.ns, o.error
	}
	t.error = max(t.error, d+o.error)
}

// monotonic returns the stamp of the n-th packet of the ring, from 1, on MONOTONIC.
func (t *timeline) monotonic(n int64, stamp clock.HostTime) clock.HostTime {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.pending) > 0 {
		s := t.pending[0]
		ahead := stamp-clock.HostTime(t.now.ns) > s.to.at+maxDisorder
		back := t.stamp != 0 && stamp < t.stamp-maxDisorder || n > s.before.packets && stamp-clock.HostTime(t.now.ns) < s.before.at-maxDisorder
		if n <= s.packets && !ahead && (!back || s.to.ns > t.now.ns) {
			break
		}
		t.now, t.stamp = s.to, 0
		t.pending = slices.Delete(t.pending, 0, 1)
	}
	t.stamp = max(t.stamp, stamp)
	return stamp - clock.HostTime(t.now.ns)
}

// count returns how many steps were noticed, and by how many ns stamps of packets may be off between them.
func (t *timeline) count() (steps, error int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.steps, t.error
}
