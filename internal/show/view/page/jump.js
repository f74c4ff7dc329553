// jump: to the next or the previous event of a row, message of a link, or violation. What comes next is found by going
// down the tiles: the first bin that is not empty, then the tile that has that bin in full, until the event itself is
// there. So a jump costs a few tiles, however far it goes.

import { App } from "./app.js";
import * as Data from "./data.js";
import * as Decode from "./decode.js";
import * as Lanes from "./lanes.js";
import * as Rows from "./rows.js";
import * as Runs from "./runs.js";
import * as View from "./view.js";

/** @import { Item, Line, Link, Tile, TileLane } from "./types.js" */

const Steps = 64; // more than any two instants are apart in levels, up and down

/**
 * seek finds on a lane the item nearest beyond (t, event), in the direction dir; null if there is none. What a file does
 * not hold in full is found as finely as it does.
 * @param {number} group
 * @param {number} number
 * @param {number} t
 * @param {number} event
 * @param {number} dir
 * @returns {Promise<Item | null>}
 */
export async function seek(group, number, t, event, dir) {
  const about = Data.about;
  let level = Math.min(about.top, Lanes.levelFor(View.perPixel()));
  for (let step = 0; step < Steps * 4; step++) {
    const width = 2 ** level * Decode.Bins, index = dir > 0 ? Math.floor(t / width) : Math.ceil((t + (event > -Infinity ? 1 : 0)) / width) - 1;
    if (index < 0 || index * width > about.span) return null;
    const tile = await Data.load(group, level, index);
    if (!tile) return null;
    const lane = tile.lanes.get(number), found = lane ? within(lane, tile, t, event, dir, index * width, (index + 1) * width) : null;
    if (found?.item) return found.item;
    if (found) {
      if (tile.level < level || tile.level > level || level === 0) return { at: found.from, event: -1, exact: false };
      if (dir > 0 ? found.from > t : found.to < t) { t = dir > 0 ? found.from : found.to; event = dir > 0 ? -1 : -Infinity; }
      level = Math.max(0, level - 10);
      continue;
    }
    t = dir > 0 ? (index + 1) * width : index * width;
    event = dir > 0 ? -1 : -Infinity;
    level = Math.min(about.top, level + 4);
  }
  return null;
}

/**
 * within looks in one lane of a tile, between two instants: for an item, or for the bin that has one.
 * @param {TileLane} lane
 * @param {Tile} tile
 * @param {number} t
 * @param {number} event
 * @param {number} dir
 * @param {number} begin
 * @param {number} end
 * @returns {{ item: Item } | { item?: undefined, from: number, to: number } | null}
 */
function within(lane, tile, t, event, dir, begin, end) {
  const { at, n } = lane, exact = lane.mode < Decode.BinnedInstants;
  const order = dir > 0 ? (/** @type {number} */ i) => i : (/** @type {number} */ i) => n - 1 - i;
  if (exact) {
    for (let j = 0; j < n; j++) {
      const i = order(j), beyond = dir > 0 ? at[i] > t || (at[i] === t && lane.event[i] > event) : at[i] < t || (at[i] === t && lane.event[i] < event);
      if (beyond && at[i] < end) return { item: { at: at[i], event: lane.event[i], length: lane.length?.[i] ?? 0, delay: lane.delay?.[i], to: lane.to?.[i], verdict: lane.verdict?.[i], exact: true } };
    }
    return null;
  }
  for (let j = 0; j < n; j++) {
    const i = order(j), from = tile.from + at[i] * tile.width, to = from + tile.width;
    if (to <= begin || from >= end) continue;
    if (dir > 0 ? to > t : from < t) return { from, to };
  }
  return null;
}

/**
 * best is the nearest of several lanes' next items.
 * @param {number} group
 * @param {number[]} numbers
 * @param {number} t
 * @param {number} event
 * @param {number} dir
 */
async function best(group, numbers, t, event, dir) {
  const all = await Promise.all(numbers.map((number) => seek(group, number, t, event, dir))), found = all.flatMap((item) => (item ? [item] : []));
  return found.sort((a, b) => dir * (a.at - b.at || a.event - b.event))[0] ?? null;
}

/**
 * from is where jumps begin: at the selected event if it is in sight, else in the middle of the view.
 * @param {number} row
 */
function from(row) {
  const { a } = App.selection;
  if (a && (row < 0 || a.row === row)) {
    const { from, to } = View.destination(), at = View.shown(a.at, App.clockOf(a.row, a.at)), pixel = View.perPixel();
    if (at >= from - pixel && at <= to + pixel) return [a.at, a.event];
  }
  return [row >= 0 ? Runs.under(row, View.plot.width / 2)[0].at : View.at(View.plot.width / 2), -1];
}

/**
 * rowsOf lists the rows that a line stands for: its own, what is folded into it, or all of a host.
 * @param {{ row: number, host: number, line: Line | null }} options
 */
function rowsOf({ row, host, line }) {
  if (line?.folded && line.below?.length) return row >= 0 ? [row, ...line.below] : line.below;
  if (row >= 0 && (line?.lanes.length || Data.about.rows[row].lanes.length)) return [row];
  return Data.about.rows.map((_, n) => n).filter((n) => Data.about.rows[n].host === host);
}

/**
 * @param {number} dir
 */
async function toEvent(dir) {
  const focused = Rows.focused();
  if (focused.host < 0) return;
  const rows = rowsOf(focused), [t, e] = from(rows.length === 1 ? rows[0] : -1), lanes = new Map();
  for (const row of rows) for (const lane of Data.about.rows[row].lanes) lanes.set(lane.lane, row);
  const found = await best(focused.host, [...lanes.keys()], t, e, dir);
  await arrive(found, rows[0], dir > 0 ? "no event comes after this on the row" : "no event comes before this on the row");
}

/**
 * @param {Item | null} found
 * @param {number} row
 * @param {string} none
 */
async function arrive(found, row, none) {
  if (!found) return App.announce(none);
  if (found.event < 0) {
    App.announce("the file has no single events here");
    return App.go({ at: found.at, row });
  }
  const [event] = await Data.events(found.event, 1);
  if (!event) return App.go({ at: found.at, row });
  App.go(event, { span: spanFor(found.length || 0) });
  await App.select(event, "a");
}

/**
 * spanFor leaves the scale as it is, unless what was jumped to would be too small or too large to be seen.
 * @param {number} length
 */
function spanFor(length) {
  const span = View.destination().to - View.destination().from;
  if (length && length > span * 0.8) return length * 1.5;
  return 0;
}

/**
 * @param {number} dir
 */
async function toMessage(dir) {
  const about = Data.about, focused = Rows.focused(), rows = new Set(focused.host < 0 ? [] : rowsOf(focused));
  let links = about.links.filter((l) => !App.hidden.links.has(l.lane) && (rows.has(l.from) || rows.has(l.to)));
  if (!links.length) links = about.links.filter((l) => !App.hidden.links.has(l.lane));
  const [t, e] = from(-1);
  const all = await Promise.all(links.map(async (link) => ({ link, item: await seek(about.hosts.length, link.lane, t, e, dir) })));
  const found = all.flatMap(({ link, item }) => (item ? [{ link, item }] : []));
  found.sort((p, q) => dir * (p.item.at - q.item.at));
  if (!found.length) return App.announce(dir > 0 ? "no message comes after this" : "no message comes before this");
  await both(found[0].item, found[0].link);
  if (focused.row >= 0) Rows.focus(focused.row, false); // the next one is of the same row again
}

/**
 * both shows a message with its two ends, wide enough to tell them apart.
 * @param {Item} item
 * @param {Link} link
 */
export async function both(item, link) {
  if (item.event < 0 || item.event === undefined) return App.go({ at: item.at, row: link.from });
  const [[sent], [received]] = await Promise.all([Data.events(item.event, 1), Data.events(item.to ?? -1, 1)]);
  const span = View.destination().to - View.destination().from, delay = Math.abs(item.delay ?? 0);
  // Wide enough to see how sure the two ends are, not only how far apart.
  const sure = [link.from, link.to].reduce((sum, row) => { const { low, high } = View.bounds(App.clockOf(row, item.at), item.at); return sum + (low ?? 0) + (high ?? 0); }, 0);
  const size = Math.max(delay * 6, sure * 2, 100), wanted = size > span * 0.9 || size < span / 60 ? size : 0;
  App.reveal(link.to);
  App.go({ at: item.at + (item.delay ?? 0) / 2, row: link.from }, { span: wanted });
  if (sent) await App.select(sent, "a");
  if (received) await App.select(received, "b");
}

/**
 * @param {number} dir
 */
async function toViolation(dir) {
  const { list } = await Data.violations();
  const [t] = from(-1), links = new Map(Data.about.links.map((l) => [l.lane, l]));
  const shown = list.filter((/** @type {any} */ v) => v.verdict > 1 && links.has(v.link) && !App.hidden.links.has(v.link));
  const { a } = App.selection, here = a ? shown.findIndex((/** @type {any} */ v) => v.from === a.event && (!App.selection.b || v.to === App.selection.b.event)) : -1;
  let next = here >= 0 ? shown[here + dir] : dir > 0 ? shown.find((/** @type {any} */ v) => v.sent > t) : shown.findLast((/** @type {any} */ v) => v.sent < t);
  if (!next && shown.length) {
    next = dir > 0 ? shown[0] : shown[shown.length - 1];
    App.announce("continued from the other end");
  }
  const link = next && links.get(next.link);
  if (!link) return App.announce("no violations");
  await both({ at: next.sent, delay: next.delay, event: next.from, to: next.to }, link);
}

const MaxWaiting = 8;
let waiting = 0;
let last = Promise.resolve();

/**
 * inTurn has a jump begin where the one before it has arrived: keys come faster than answers. Of a key that is held, those beyond
 * what can be followed are dropped.
 * @param {(dir: number) => Promise<unknown>} jump
 */
const inTurn = (jump) => (/** @type {number} */ dir) => {
  if (waiting >= MaxWaiting) return last;
  waiting++;
  last = last.then(() => jump(dir)).then(() => {}, (error) => { App.announce(`This cannot be gone to: ${error.message}`); }).finally(() => { waiting--; });
  return last;
};

export const event = inTurn(toEvent), message = inTurn(toMessage), violation = inTurn(toViolation);

/**
 * near finds the event of a lane that is closest to an instant, for a click where many are drawn as one.
 * @param {number} group
 * @param {number} number
 * @param {number} at
 */
export async function near(group, number, at) {
  const [after, before] = await Promise.all([seek(group, number, at, -1, 1), seek(group, number, at, -Infinity, -1)]);
  if (!after || !before) return after ?? before;
  return after.at - at < at - before.at ? after : before;
}
