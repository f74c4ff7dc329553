package clock

import "time"

// Time is the constraint of functions and types that work on instants of any clock: [HostTime], [TimelineTime], or a type of
// the caller's own for another time base. A plain int64 stands for a span in ns.
type Time interface{ ~int64 }

// HostTime is an instant on the clock of one host: ns since 1970-01-01 00:00 UTC as that clock counts them. Instants of
// different hosts must not be compared; a [Map] carries them to the timeline, where they can be.
type HostTime int64

// TimelineTime is an instant on the timeline, the time base that all hosts share: ns since 1970-01-01 00:00 UTC on the clock
// of the reference.
type TimelineTime int64

// Limit bounds the instants that Meridian takes: strictly between ±2^62 ns (the year 2116), the difference of two instants
// stays within int64. A stamp at the limit or beyond it is damaged.
const Limit = 1 << 62

// Valid reports whether t is an instant that a clock can show: one strictly between ±[Limit].
func Valid[T Time](t T) bool {
	return uint64(int64(t)+Limit-1) < 2*Limit-1 // what is beyond wraps round or becomes greater, so one comparison does
}

// Sub returns the span from u to t, saturated to the range of a Duration.
func (t HostTime) Sub(u HostTime) time.Duration { return time.Duration(Sub(t, u)) }

// Add returns the instant d after t, saturated to the int64 range.
func (t HostTime) Add(d time.Duration) HostTime { return Add(t, int64(d)) }

// Sub returns the span from u to t, saturated to the range of a Duration.
func (t TimelineTime) Sub(u TimelineTime) time.Duration { return time.Duration(Sub(t, u)) }

// Add returns the instant d after t, saturated to the int64 range.
func (t TimelineTime) Add(d time.Duration) TimelineTime { return Add(t, int64(d)) }

// Add returns the instant span ns after t, saturated to the int64 range.
func Add[T Time](t T, span int64) T {
	s := int64(t) + span
	if (int64(t) >= 0) == (span >= 0) && (s >= 0) != (span >= 0) {
		return T(saturated(span < 0))
	}
	return T(s)
}

// Distance returns how far two instants are apart, ns. It does not saturate.
func Distance[T Time](t, u T) uint64 { return uint64(max(t, u)) - uint64(min(t, u)) }

// Sub returns the span from u to t in ns, saturated to the int64 range.
func Sub[T Time](t, u T) int64 {
	d := int64(t) - int64(u)
	if (t >= 0) != (u >= 0) && (d >= 0) != (t >= 0) {
		return saturated(t < 0)
	}
	return d
}
