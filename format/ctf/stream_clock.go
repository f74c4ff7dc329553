package ctf

import (
	"math"
	"math/bits"

	"meridian/clock"
)

// cycleClock converts the stamps of one clock into nanoseconds, exactly: rounded down, for any frequency.
//
// With a frequency f and a base of b cycles for which (offset + b) * 10^9 = q * f + r has been divided once in 128 bits,
// a stamp of b + d cycles is q + (r + d * 10^9) / f: a product and a division of 64 bits, as long as d stays below 2^33.
type cycleClock struct {
	clock  Clock
	known  bool   // there is a clock
	plain  uint64 // of 10^9 Hz: a stamp below this is only moved; 0 otherwise
	offset int64  // by this

	base       uint64         // b
	ns         clock.HostTime // q
	remainder  uint64         // r
	outOfRange bool           // q is beyond the limit
}

const second = 1_000_000_000

func newCycleClock(m *Metadata, index int) cycleClock {
	if index < 0 || index >= len(m.Clocks) {
		return cycleClock{}
	}
	t := cycleClock{clock: m.Clocks[index], known: true}
	if f := t.clock.Frequency; f == 0 || f > 1<<62 {
		t.clock.Frequency = second
	}
	seconds, offset := t.clock.OffsetSeconds, t.clock.Offset
	const far = clock.Limit / second
	if t.clock.Frequency == second && seconds > -far && seconds < far && offset > -clock.Limit && offset < clock.Limit {
		t.offset = seconds*second + offset
		if t.offset > -clock.Limit && t.offset < clock.Limit {
			t.plain = uint64(clock.Limit)
		}
	}
	t.rebase(0)
	return t
}

// at returns the time of a stamp in ns, less than clock.Limit away from the origin.
func (t *cycleClock) at(cycles uint64) clock.HostTime {
	if cycles < t.plain {
		return clampTime(clock.HostTime(t.offset + int64(cycles)))
	}
	return t.convert(cycles)
}

// convert is at for any frequency.
func (t *cycleClock) convert(cycles uint64) clock.HostTime {
	if !t.known {
		return 0
	}
	d := cycles - t.base
	if cycles < t.base || d >= 1<<33 || t.outOfRange {
		t.rebase(cycles)
		return clampTime(t.ns)
	}
	return clampTime(t.ns + clock.HostTime((t.remainder+d*second)/t.clock.Frequency))
}

// rebase repeats the 128-bit division for a new base.
func (t *cycleClock) rebase(cycles uint64) {
	f := t.clock.Frequency
	if f == 0 {
		return
	}
	s1, r1 := t.clock.Offset/int64(f), t.clock.Offset%int64(f)
	if r1 < 0 {
		s1, r1 = s1-1, r1+int64(f)
	}
	s2, r2 := cycles/f, cycles%f
	r := uint64(r1) + r2
	if r >= f {
		r -= f
		s2++
	}
	high, low := bits.Mul64(r, second)
	q, rest := bits.Div64(high, low, f)
	t.base, t.remainder = cycles, rest
	// A time far from the origin is damage: it becomes the limit instead of wrapping to the other side. What
	// is not far is right even if a sum on the way has wrapped.
	t.outOfRange = false
	if far := float64(t.clock.OffsetSeconds) + float64(s1) + float64(s2); math.Abs(far) > 5e9 {
		t.outOfRange, t.ns = true, clock.Limit
		if far < 0 {
			t.ns = -clock.Limit
		}
		return
	}
	t.ns = clock.HostTime((t.clock.OffsetSeconds+s1+int64(s2))*second + int64(q))
}

func clampTime(ns clock.HostTime) clock.HostTime { return max(1-clock.Limit, min(clock.Limit-1, ns)) }

// extendStamp completes a stamp of fewer bits than its clock: it returns the first value from the previous stamp on that ends with them.
// Within a packet whose begin and end are known, a stamp that would lie after the end, but without the wrap not before
// the begin, has stepped back instead.
func extendStamp(before, v uint64, width uint8, begin, end uint64) uint64 {
	if width == 0 || width >= 64 {
		return v
	}
	mask := uint64(1)<<width - 1
	c := before&^mask | v&mask
	if c < before {
		if wrapped := c + mask + 1; end == 0 || wrapped <= end || c < begin {
			return wrapped
		}
	}
	return c
}
