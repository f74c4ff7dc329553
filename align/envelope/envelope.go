// Package envelope estimates clocks that wander, from messages alone: the envelope smoother.
//
// In go the messages of two clocks ([Pair]) or of a whole network ([Joint]); out come curves, piecewise linear, that
// follow the clocks as closely as the messages allow. The idea: what queues do to a message makes it late, never early, so
// the quickest messages of each short window trace the clock's offset from above one way and from below the other way
//
//	offset
//	  ^    .  :    .      .   messages a to b: offset + delay
//	  |  .  .   . :  . .
//	  |  '._  .--._ .   .--   the least of each window, less the least delay
//	  |  ----''----''---''--  the curve
//	  |  .-'' '.-''' '-.-''   the same from below
//	  |  .  :  . .    .   :   messages b to a: offset - delay
//	  +-----------------------> time
//
// and the curve between them is the most probable one: a random walk of frequency as its prior, a one-sided law of the
// least delay of each window as its likelihood.
//
//   - Windows (reducer.go, windows.go). Only the least delay of each window counts. A [Reducer] keeps what any curve can
//     make the least, in memory that does not grow with the messages.
//   - Laws (law.go). How far above the least delay possible the least of n messages lies is taken from all residuals, not
//     from the minima, which would call misfit noise. Far above it grows with a logarithm only: congestion pulls hardly.
//   - Curve (model.go, direct.go, iterative.go). Newton's method on the curve's values at even knots and one delay for each
//     direction: exact bands for two clocks, conjugate gradients for many.
//   - Wander (schedule.go). The wander is the one of greatest evidence (MacKay 1992), and with it and the noise the spacing
//     of knots follows. From coarse knots to fine ones the law is at first a cliff.
//   - Bends (stiffness.go). Where a clock is known to bend more than it wanders, since a daemon slews it, the prior gives way:
//     as much as is known, and then as little as the curve needs (Student's law, by reweighting).
//   - Error (posterior.go, ways.go, walk.go). What the curve lacks is drawn from a posterior in which least delays, laws of
//     delays and wander are unknown; what is faster, from the cost's curvature.
//   - Routes (routes.go). Where the least delay of a way changes for good, the curve goes through.
//   - Levels (level.go, quadratic.go). A constant that raises the delays one way and lowers them the other is invisible.
//     It is chosen so that least delays both ways are alike, over a network by least squares, under the constraint that
//     none is below what is possible. Half of what they differ by in truth stays as an error that no method can see.
//
// It fails where there are too few messages each way (fewer than sixteen; the caller takes a straight line then), where
// one way is congested for most of a short trace, and where a clock is set: steps are the caller's to part first.
//
// The cost of two clocks is one pass over the messages and some twenty over at most 8192 windows each way.
package envelope
