// Package live aligns clocks while their messages come: alignment that goes on.
//
// In go clocks that appear ([Timeline.Clock]), messages one by one in any order ([Timeline.Add]), and readings that clocks showed
// ([Timeline.Seen]). Out comes at any time an immutable snapshot ([Timeline.Maps]): where any event is on the timeline of its
// component, with a guaranteed interval.
//
// # The idea
//
// What was shown stays; what is to come is estimated again and again. A round ([Timeline.Advance]) runs the stages of package align
// over a window of messages, thinned to those that bounds and estimates rest on. The map of a clock is what earlier rounds
// showed up to the frontier, the latest reading of the clock, and what this round says behind it:
//
//	timeline
//	  |                                         .'  high, widening by the assumption
//	  |                                 .-----'
//	  |      shown, frozen      .------'  _.-- estimate
//	  |   .--------------------'   __.--'
//	  |  '--------------------|--'   ____.--- low
//	  |                       '-----'
//	  +-----------------------|---------------|------> host
//	                       frontier         Until
//
// The estimate has no jump at the frontier. It goes over to the new one within an interval. All three curves rise as clocks do.
// Bounds reach a stated time beyond the frontier (Options.Ahead), where the next round takes over. Without one the clock is
// unbounded from there on.
//
// The long part of a round can run beside all else: [Timeline.Prepare] copies what it is made of, [Work.Solve] aligns the copy,
// [Timeline.Apply] shows the result from the readings of that time on. Messages that came meanwhile are held against the result. A
// group of clocks of which one contradicts what was known stays as it is until the next round. Where a round finds that
// a clock was set or does not keep the assumption, readings shown since Prepare lose their bounds, but for those of the
// reference. A hand-over, and the epochs behind a step, are shown by the round after.
//
// [online.Strict] keeps the bound of two clocks at their leading edge with every message. A message that contradicts it, or the
// maps as shown, makes a round due soon, and takes the bounds from both clocks until a round has found out what it means, and
// from the others of their component. The reference is spared as long as only one partner contradicts it.
//
// # What clocks do
//
//   - A clock that appears is a component of its own. Once messages bound it, it joins the component of those it talks to, from
//     its first reading on as far as the window reaches.
//   - Two components that come to exchange messages are one from the frontier on: that of the lower number.
//   - A timeline follows the clock of its reference, whatever better clock appears. When the reference is gone or silent
//     (Options.Silence: two others went on, or the only other one), another clock takes over from an instant behind everything that
//     was shown. There the two are known within bounds, by which all bounds are wider from then on, so that they hold on one timeline that goes on.
//   - A clock that was set begins a new epoch. Bounds between the step and the first message that contradicts them are wrong;
//     no bounds can prevent that. The change [Stepped] says which readings these are, and their places are replaced.
//     Readings that may belong to either epoch have bounds that contain both.
//   - A clock of which no messages come has bounds that widen, and at last none. Clocks that lose touch with the reference of
//     their component, but not with one another, go on as a component of their own.
//   - A host that starts anew is a new clock ([Timeline.Clock] with the same name).
//   - Where messages contradict the assumption, but no step, the bounds are wider, as those of package align are ([Bent]).
//
// # When it fails
//
// The bounds hold for clocks that keep the assumption, and not between a step and the first message that contradicts it. A step
// within about a round trip plus a thousandth of the silence around it contradicts nothing: bounds may be wrong by as much, until the next round. Of two clocks alone, either of which
// may have been set, the reference is taken not to have been. Messages from before a silence of more than half a window, that is longer than what
// they span, are dropped, so that a clock that was set in it is bounded by messages from behind it alone. That it was set is told if bounds that were
// shown, or the messages that the window still holds, contradict it. A reference that is set by what may be a slew is followed: then all
// clocks of the component seem to be set the other way.
//
// Where one of more than two clocks was set, the pairs whose messages contradict the assumption tell which: the one that three or more
// have in common, or one of theirs. The messages of these clocks are forgotten, and their bounds begin anew with those
// that are sent from then on ([Doubted]). All other pairs keep theirs. Where the reference may have been set, all clocks are
// without bounds until then. What the messages of the next seconds tell of each pair says which clock it was, if that can be
// said ([Named]), or of which it was one ([Unnamed]): the fewest clocks that explain all pairs were set. Two of three clocks that are
// set at the same time by the same amount look like the third one, set the other way. Where no pair contradicts itself, but several together do, or a round finds a step, all
// clocks of the group begin anew. What was shown between the step and its discovery is not replaced.
//
// Two clocks of one host are not known here: they are clocks like others. Neither are clocks with a free clock beside them
// (trace.Clock.Free): the caller converts messages and readings to the free clock, and adds the error of that to their stamps and to places.
//
// # Cost
//
// A message costs some microseconds, and a round some 0.1 ms of a core for each message of its problem with the default method:
// 50 ms for two clocks, 600 ms for eight with sixteen pairs. The time between rounds grows with that. Memory depends on the number of
// clocks and pairs, on Window and on Keep, not on the number of messages.
package live
