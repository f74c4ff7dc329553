// runs: by which clock a row's events came. A clock that was set back is another one from there on: its row has several
// runs, each shown in raw time where its own clock put it, so that one may lie over another.
//
//	run: { from, to, clock }   from -Infinity to Infinity without a gap, in order of the timeline

import * as View from "./view.js";

/** @import { About, Run } from "./types.js" */

/** @type {Map<number, Run[]>} */
const alone = new Map(); // clock -> the only run of rows that have but one
/** @type {About} */
let about;
/** @type {Run[][]} */
let lists = [];
/** @type {Run[]} */
export let all = [];

/**
 * @param {About} facts
 */
export function open(facts) {
  about = facts;
  lists = about.rows.map(({ clock, clocks }) => (clocks && clocks.length > 1 ? several(clocks) : single(clock)));
  all = [...new Set(lists)].flat();
}

/**
 * @param {number} clock
 */
function single(clock) {
  if (!alone.has(clock)) alone.set(clock, [{ from: -Infinity, to: Infinity, clock }]);
  return /** @type {Run[]} */ (alone.get(clock));
}

/**
 * @param {[at: number, clock: number][]} clocks
 */
const several = (clocks) => clocks.map(([from, clock], i) => ({ from: i ? from : -Infinity, to: clocks[i + 1]?.[0] ?? Infinity, clock }));

/**
 * @param {number} row
 */
export const of = (row) => lists[row] ?? single(-1);

/**
 * at is the clock of a row at an instant; without one, that of most of its events.
 * @param {number} row
 * @param {number} [instant]
 */
export function at(row, instant) {
  const runs = of(row);
  if (runs.length === 1) return runs[0].clock;
  if (instant === undefined) return about.rows[row].clock;
  let i = runs.length - 1;
  while (i > 0 && runs[i].from > instant) i--;
  return runs[i].clock;
}

/**
 * under lists the instants of a row that are shown at a place, what is drawn over others first. Where nothing is, that is
 * the end of a run.
 * @param {number} row
 * @param {number} x
 */
export function under(row, x) {
  const runs = of(row), found = [];
  /** @type {{ at: number, clock: number }} */
  let nearest = { at: 0, clock: -1 }, least = Infinity;
  for (let i = runs.length - 1; i >= 0; i--) {
    const { from, to, clock } = runs[i], instant = View.at(x, clock);
    if (instant >= from && instant < to) found.push({ at: instant, clock });
    const beyond = Math.max(from - instant, instant - to);
    if (beyond < least) { least = beyond; nearest = { at: Math.max(from, Math.min(to, instant)), clock }; }
  }
  return found.length ? found : [nearest];
}

/**
 * cut lists what of [from, to) is of which run.
 * @param {Run[]} runs
 * @param {number} from
 * @param {number} to
 */
export function cut(runs, from, to) {
  if (runs.length === 1) return [{ from, to, clock: runs[0].clock }];
  return runs.map((r) => ({ from: Math.max(r.from, from), to: Math.min(r.to, to), clock: r.clock })).filter((r) => r.to > r.from);
}
