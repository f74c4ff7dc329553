// Package realtime leads from CLOCK_REALTIME, by which the kernel stamps packets, to CLOCK_MONOTONIC, by which traces are stamped.
// In go readings of both (Offset) and stamps, out come stamps of MONOTONIC (Line), however often REALTIME was set meanwhile.
package realtime

import (
	"math"
	"slices"
	"sync"

	"meridian/clock"
)

// Offset is REALTIME less MONOTONIC at an instant of the latter, and the error of that difference. All are ns.
type Offset struct {
	At        clock.HostTime
	Ns, Error int64
}

// Read reads MONOTONIC before and after REALTIME, and returns the narrowest of a few readings. Its error includes the steps in
// which both advance.
func Read() Offset {
	best := Offset{Error: math.MaxInt64}
	for range 5 {
		before := clock.HostTime(clock.Monotonic.Now())
		real := clock.HostTime(clock.Realtime.Now())
		width := int64(clock.HostTime(clock.Monotonic.Now()) - before)
		if width >= 0 && width/2 < best.Error {
			best = Offset{At: before + clock.HostTime(width/2), Ns: int64(real-before) - width/2, Error: width / 2}
		}
	}
	best.Error = clock.Add(best.Error, clock.Monotonic.Grain()+clock.Realtime.Grain()+1)
	return best
}

// Line converts stamps of REALTIME to MONOTONIC.
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
type Line struct {
	mu      sync.Mutex
	now     Offset // as of the last packet
	last    Offset // as of the last step
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
	to      Offset
	before  reading // the last one without it
}

// minStep is the least difference of readings, in ns beyond their errors, that counts as a step. A smaller step does no harm.
const minStep = 2_000

// maxDisorder is by how many ns packets of different processors may be out of order in the ring.
const maxDisorder = 1_000_000

// Observe takes a reading of the clocks, made when so many packets had gone into the ring.
func (t *Line) Observe(o Offset, packets int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o.At < t.read.at {
		return // another goroutine has read the clocks later and got the lock first
	}
	before := t.read
	t.read = reading{o.At, packets}
	d := max(o.Ns-t.last.Ns, t.last.Ns-o.Ns)
	switch {
	case t.last == Offset{}:
		t.now, t.last, d = o, o, 0
	case d > o.Error+t.last.Error+minStep:
		t.last, d = o, 0
		t.steps++
		t.pending = append(t.pending, step{packets, o, before})
	case o.Error < t.last.Error: // the same with a smaller error
		t.last.Ns, t.last.Error = o.Ns, o.Error
	}
	t.error = max(t.error, d+o.Error)
}

// Monotonic returns the stamp of the n-th packet of the ring, from 1, on MONOTONIC.
func (t *Line) Monotonic(n int64, stamp clock.HostTime) clock.HostTime {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.pending) > 0 {
		s := t.pending[0]
		ahead := stamp-clock.HostTime(t.now.Ns) > s.to.At+maxDisorder
		back := t.stamp != 0 && stamp < t.stamp-maxDisorder || n > s.before.packets && stamp-clock.HostTime(t.now.Ns) < s.before.at-maxDisorder
		if n <= s.packets && !ahead && (!back || s.to.Ns > t.now.Ns) {
			break
		}
		t.now, t.stamp = s.to, 0
		t.pending = slices.Delete(t.pending, 0, 1)
	}
	t.stamp = max(t.stamp, stamp)
	return stamp - clock.HostTime(t.now.Ns)
}

// Count returns how many steps were noticed, and by how many ns stamps of packets may be off between them.
func (t *Line) Count() (steps, error int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.steps, t.error
}
