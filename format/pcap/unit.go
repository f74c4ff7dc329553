package pcap

import (
	"math/bits"

	"meridian/clock"
)

// unit is how an interface of pcapng counts time: count*factor/divisor ns, or count*10^9/2^shift ns where binary, and
// offset whole seconds on top.
type unit struct {
	factor, divisor uint64
	binary          bool
	shift           uint
	offset          int64
}

// microseconds is the unit of an interface that names none.
var microseconds = unit{factor: 1000, divisor: 1}

// newUnit takes the if_tsresol option: a negative power of ten, or of two if the high bit is set.
func newUnit(resolution byte) unit {
	exponent := uint(resolution & 0x7f)
	if resolution&0x80 != 0 {
		return unit{binary: true, shift: exponent}
	}
	u := unit{factor: 1, divisor: 1}
	for ; exponent < 9; exponent++ {
		u.factor *= 10
	}
	for ; exponent > 9; exponent-- {
		if u.divisor > 1<<60 {
			u.factor = 0 // finer than 64 bits reach: all stamps are the offset
			break
		}
		u.divisor *= 10
	}
	return u
}

// step returns how much later than its stamp an event may be, in ns, rounded up, at least 1: one unit, and for units that are no
// whole number of ns also what time cuts off.
func (u *unit) step() int64 {
	if u.binary {
		switch {
		case u.shift <= 9:
			return 1_000_000_000 >> u.shift
		case u.shift >= 40: // below 1 ps
			return 1
		case u.shift > 30:
			return 2
		}
		// A unit is 5^9/2^(shift-9) ns, of which at most 1-1/2^(shift-9) are cut off.
		return (1_000_000_000+1<<u.shift-1<<9-1)>>u.shift + 1
	}
	return max(1, int64(u.factor/u.divisor))
}

// time returns the instant of a stamp, rounded down to the nanosecond, and false if it is beyond what Meridian takes.
func (u *unit) time(count uint64) (clock.HostTime, bool) {
	var hi, lo uint64
	if u.binary {
		hi, lo = bits.Mul64(count, 1_000_000_000)
		lo = lo>>u.shift | hi<<(64-u.shift) // shifts of 64 and more give 0 in Go
		if u.shift >= 64 {
			lo = hi >> (u.shift - 64)
		}
		hi >>= u.shift
	} else {
		hi, lo = bits.Mul64(count, u.factor)
		if u.divisor > 1 && hi == 0 {
			lo /= u.divisor
		}
	}
	// Seconds beyond 2^34 overflow as ns, and no stamp of 64 bits could bring them back.
	if hi != 0 || lo > 1<<63-1 || u.offset > 1<<34 || u.offset < -(1<<34) {
		return 0, false
	}
	if u.offset == 0 {
		return clock.HostTime(lo), int64(lo) < clock.Limit
	}
	return withOffset(lo, u.offset)
}

// withOffset adds whole seconds; both are below 2^64 in magnitude, their sum need not be an int64.
func withOffset(ns uint64, seconds int64) (clock.HostTime, bool) {
	const second = 1_000_000_000
	whole, part := int64(ns/second)+seconds, clock.HostTime(ns%second)
	if whole > clock.Limit/second || whole < -clock.Limit/second-1 {
		return 0, false
	}
	t := clock.HostTime(whole*second) + part
	return t, clock.Valid(t)
}
