// relation: how long it is from one event to another, and how sure that is. What the bounds of clocks leave is cut where a
// message says more: nothing is received sooner after it was sent than the least delay. Every panel takes its spans and
// delays from here, so that all say the same of one message.
//
//	bounds of both clocks    [-----------|------]
//	least delay                     |------------->
//	the span lies in                [----|------]       nothing left: an assumption does not hold

import { App } from "./app.js";
import { interval } from "./elements.js";
import * as Order from "./order.js";

/** @import { Difference, End, Path, Relation, TimelineEvent } from "./types.js" */

// least is the least delay of a message, ns.
export const least = () => App.about?.minDelay ?? 0;

/**
 * difference of two ends as Order has them, by their clocks alone: {delta, low, high} with null for a side without bound;
 * comparable is false for hosts that nothing connects. An end without a component is an instant of the timeline.
 * @param {End} a
 * @param {End} b
 * @param {number} [granularity]
 * @returns {Difference}
 */
export function difference(a, b, granularity = 0) {
  const delta = b.at - a.at;
  if (Order.sameClock(a, b)) {
    return { delta, low: delta - granularity, high: delta + granularity, comparable: true, oneClock: true };
  }
  const comparable = a.component === b.component || a.component === null || b.component === null;
  const low = comparable && b.low !== null && a.high !== null ? b.low - a.high : null;
  const high = comparable && b.high !== null && a.low !== null ? b.high - a.low : null;
  return { delta, low, high, comparable, oneClock: false };
}

/**
 * narrow cuts a difference where a chain of messages leads from one end to the other. `against` says that nothing is left:
 * then low and high stay what the bounds say.
 * @param {Difference} d
 * @param {Path | null | undefined} path
 * @param {number} [delay] least of a message, ns
 * @returns {Relation}
 */
export function narrow(d, path, delay = 0) {
  if (!path || path.way === "both") return { ...d, cut: false, against: false };
  const floor = path.hops.length * delay;
  if (path.way === "ab") {
    if (d.high !== null && d.high < floor) return { ...d, cut: false, against: true };
    return d.low === null || d.low < floor ? { ...d, low: floor, cut: true, against: false } : { ...d, cut: false, against: false };
  }
  if (d.low !== null && d.low > -floor) return { ...d, cut: false, against: true };
  return d.high === null || d.high > -floor ? { ...d, high: -floor, cut: true, against: false } : { ...d, cut: false, against: false };
}

/**
 * ofDelay is what a message's delay can be, given what the bounds leave of it.
 * @param {{ delta: number, low?: number | null, high?: number | null, oneClock?: boolean, comparable?: boolean }} delay
 * @returns {Relation}
 */
export function ofDelay({ delta, low = null, high = null, oneClock = false, comparable = true }) {
  return narrow({ delta, low, high, oneClock, comparable }, { way: "ab", hops: [/** @type {any} */ (null)] }, least());
}

/**
 * ofMessage is the delay of a message by its two events.
 * @param {TimelineEvent} sent
 * @param {TimelineEvent} received
 */
export function ofMessage(sent, received) {
  const [a, b] = [Order.endOf(sent), Order.endOf(received)];
  return ofDelay(difference(a, b, Order.sameClock(a, b) ? Math.max(0, Order.granularityOf(a.clock) - 1) : 0));
}

/**
 * told writes between which lengths a relation lies.
 * @param {Relation} relation
 * @param {(ns: number) => string} write
 */
export function told({ low, high, comparable, against }, write) {
  if (against) return `impossible: the bounds say ${interval(low, high, write)}`;
  if (!comparable && low === null && high === null) return "not comparable: no messages connect the hosts";
  if (low !== null && low === high) return write(low);
  return interval(low, high, write);
}

/**
 * estimate writes the delay that the corrected stamps have, and says where it cannot be.
 * @param {Relation} relation
 * @param {(ns: number) => string} write
 */
export const estimate = ({ delta, low, high, against }, write) => (!against && ((low !== null && delta < low) || (high !== null && delta > high)) ? `${write(delta)} by the stamps, which cannot be` : write(delta));
