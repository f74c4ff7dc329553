// Package align turns messages into clock maps: for every clock the map from its readings to one timeline, with a lower and
// an upper bound at every instant.
//
// In goes a [trace.Problem], the clocks and the messages between them. Out comes a [Solution]. [Solve] does everything;
// its stages can be called one by one, each a function from one value that does not change to the next:
//
//	trace.Problem   clocks, channels of messages
//	    |  Estimate    every pair of clocks: estimate and strict bounds; clocks that were set are parted
//	*Estimated
//	    |  Place       one timeline for each component of the network
//	*Placed
//	    |  Bound       bounds tightened over all paths, estimates of our own methods moved into them
//	*Bounded
//	    |  Order       the clock condition restored: nothing is received before it was sent
//	*Ordered
//	    |  Solution    what there is to know: skews, errors, quality, routes, steps
//	*Solution
//
// # When more messages have come
//
// Every stage may be run again, and none changes the value that it is run on. Only these functions make one: the zero
// value is no stage, and its methods return an error. So a live timeline keeps the last *Ordered and serves its maps while the
// next one is made:
//
//   - More messages, or a new clock: [Estimate] is run again, with the grown problem, and all stages after it. What can be
//     kept is the timeline itself: every map says how it departs from the last one. Bounds of old instants only become
//     tighter, unless the messages prove a greater wander than was assumed.
//   - A timeline is wanted at once: [Placed.Tree] and [Bounded.Tree] already hold maps. Those of Placed have the bounds along
//     one path, those of Bounded are as tight as those of the solution.
//   - Only the figures are wanted: [Ordered.Solution] can be called later, or never.
//
// [Ordered.Reconsider] is the one way back: the aligned pieces of a clock that was set may show that some step was none.
//
// # Packages
//
//	pair      two clocks: the published estimators
//	envelope  the envelope smoother, for two clocks and for all at once
//	bound     strict bounds of two clocks under a stated wander
//	steps     clocks that were set, and outliers among the messages
//	network   the reference of each component, the maps carried to it, bounds over all paths
//	causal    the least change that restores the clock condition
//	sampled   clocks by samples of a reference instead of messages
//	live      alignment that goes on while messages come
//	quality   what the messages look like afterwards: inversions, delays, bounds
//
// A method ([Methods]) estimates pairs, and a network strategy ([Networks]) joins them to a timeline. By default, clocks are
// smoothed along a tree of the surest pairs, then all at once, with levels chosen so that no delay is negative (package
// envelope). The bounds do not come from the method. They hold for all clocks that keep the assumption ([bound.Assumption]).
// The estimate of the default method is kept within them. Those of published methods stay as published, and may leave the
// bounds: [Host] says at how many events.
//
// The cost is O(n) in the messages. Pairs are worked on in parallel, and the result does not depend on how many at a time.
package align
