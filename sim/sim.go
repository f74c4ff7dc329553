// Package sim makes clocks and traffic of which the truth is known, so that whatever Meridian estimates can be held
// against what really was.
//
//	true time --> Clock.At      --> host stamps --> trace.Problem --> (alignment under test)
//	true time <-- Clock.Inverse <-- host stamps
//
// A [Clock] reads, at the true instant t, with x = t - Origin,
//
//	host(t) = t + OffsetNs + SkewPPM·x + Wave(x) + Walk(x)
//
// and only the last three, which are small, are floating-point: the reading is exact to the nanosecond at any epoch.
// [Traffic] sends messages between such clocks over links with random delays and hands out the problem and its truth.
// Equal seeds give equal traffic. The cost of a reading is a cosine and a table lookup, that of an inverse a few
// readings.
//
// The model follows the usual one of oscillators: a constant frequency error, a slow periodic one (temperature), and
// random-walk frequency noise (Allan 1966; RFC 5905 appendix G calls its result wander).
package sim
