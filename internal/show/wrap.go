package show

// wrapMicroseconds is by how much a 32-bit counter of microseconds runs back when it wraps, ns: 71.6 minutes.
const wrapMicroseconds = (1 << 32) * 1000

// wrapRoom is by how much a source may seem to run back less, since time passes between the timestamps around the wrap,
// ns.
const wrapRoom = 5_000_000_000

// IsCounterWrap reports whether timestamps that jump by so many ns do so because a 32-bit counter of microseconds
// wrapped. No clock is set by just that.
func IsCounterWrap(by int64) bool {
	if by < 0 {
		by = -by
	}
	return by > wrapMicroseconds-wrapRoom && by < wrapMicroseconds+wrapRoom
}

// CounterWrap is what to say of it, behind the amount.
const CounterWrap = "2^32 µs: a 32-bit counter of microseconds wraps by as much; unwrap the timestamps where they are made"

// IsCounter reports whether timestamps between two, ns since 1970, may be such a counter as it is.
func IsCounter(first, last int64) bool { return first >= 0 && last < wrapMicroseconds }
