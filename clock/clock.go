// Package clock holds time as Meridian knows it: instants of two kinds, the curves and maps that lead from one clock to
// another, and the clocks of this machine.
//
// # Instants
//
// A [HostTime] is an instant on the clock of one host, a [TimelineTime] one on the timeline that all hosts share. Both
// count nanoseconds since 1970, and they are types of their own so that the compiler keeps them apart. Spans of time are
// int64 nanoseconds or a [time.Duration]. [Add] and [Sub] saturate instead of overflowing.
//
// # Curves and maps
//
// A [CurveOf] is a polyline through integer knots (X, Y); its type says of which clocks X and Y are instants. A [MapOf] is
// three curves: an estimate and a guaranteed interval around it.
//
//	Y, timeline
//	   ^            . High     no instant of the host lies above
//	   |        . '  _ Mid     the estimate
//	   |    . ' _ -' . Low     no instant of the host lies below
//	   |  '_ -'  . '
//	   +------------------> X, host
//
// [Curve] and [Map] lead from a host's clock to the timeline, [PairCurve] and [PairMap] from one host's clock to another's,
// [InverseCurve] and [InverseMap] from the timeline back to a host's clock. [ComposeCurves] and [ComposeMaps] join two in a row.
//
// Everything is computed in integers: the interpolation takes a 128-bit product, so that a curve is as exact at
// nanoseconds since 1970 as it is near zero, and each bound is rounded outwards. A lookup costs a binary search and
// one division; a [CursorOf] that moves forward needs the division alone.
//
// # Clocks of this machine
//
// A [Source] is a clock that can be read: the processor's counter or one of the kernel's. [Best] chooses the one to stamp
// events with, [Take] reads a counter beside the kernel's clocks, [Calibrate] measures the counter's frequency, and [Measure]
// what each way to ask for the time costs.
package clock
