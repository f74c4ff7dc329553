// Package clock holds time as Meridian knows it: instants and spans as int64 nanoseconds of one named clock, and
// [Map], the function that carries a host's clock to the timeline together with a guaranteed interval.
//
// A [Curve] is a polyline through integer [Knot]s (host time, timeline time); a [Map] is three of them:
//
//	timeline
//	   ^            . High     no instant of the host lies above
//	   |        . '  _ Mid     the estimate
//	   |    . ' _ -' . Low     no instant of the host lies below
//	   |  '_ -'  . '
//	   +------------------> host
//
// Everything is computed in integers: the interpolation takes a 128-bit product, so that a curve is as exact at
// nanoseconds since 1970 as it is near zero, and each bound is rounded outwards. A lookup costs a binary search and
// one division; a [Cursor] that moves forward needs the division alone.
package clock
