// Package sim makes clocks and traffic with known truth, so that estimates can be compared with it.
//
//	Scenario --> true time --> Clock.At      --> host stamps --> trace.Problem --> (alignment under test)
//	         \   true time <-- Clock.Inverse <-- host stamps                              |
//	          '-> Truth, a file <---------------------- compared with -------------------'
//
// A [Clock] reads, at the true instant t, with x = t - Origin,
//
//	host(t) = t + OffsetNs + the steps up to t + SkewPPM·x + Wave(x) + Walk(x)
//
// and only the last three, which are small, are floating-point: the reading is exact to the nanosecond at any epoch.
//
// A [Scenario] says in a few words what hosts, network and traffic are like, draws the rest from its seed, and hands out
// the messages and the [Truth]; [Environments] has those of the accuracy study. [Traffic] is for tests that want to name
// every clock and link themselves. Equal seeds give equal traffic. The cost of a reading is a cosine and a table lookup,
// that of an inverse a few readings; a message of a scenario costs some 0.2 µs.
//
// The model of clocks follows the usual one of oscillators: a constant frequency error, a slow periodic one
// (temperature), and random-walk frequency noise (Allan 1966; RFC 5905 appendix G calls its result wander). A delay is a
// minimum and a random wait of a given [Distribution], longer while the link is congested.
package sim
