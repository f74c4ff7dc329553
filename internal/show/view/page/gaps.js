// gaps: what is seen first leaves out long stretches in which nothing happens, as between a stray event and all others. It says
// so; "fit" shows all there is.

import { App } from "./app.js";
import * as Data from "./data.js";
import * as Decode from "./decode.js";
import * as Dock from "./dock.js";
import * as View from "./view.js";

/** @import { Tile } from "./types.js" */

const Part = 0.6; // of a view, from which on a gap is long
const Fine = 64; // bins that a stretch takes at least, else it is looked at more closely
const Rounds = 6;
const MaxHosts = 64;
const Most = 0.5; // of the events, which what is shown has at least
const Instants = 4; // bins that are taken in what is shown: fewer show nothing of a course

/**
 * densest cuts the longest gap off, with what lies on the side of fewer events, as long as a gap takes most of what is left. It
 * returns the first and the last bin, the share of the events there, and how many bins have something.
 * @param {ArrayLike<number>} count how many events begin in a bin
 * @param {ArrayLike<number>} busy more than 0 where something goes on
 */
export function densest(count, busy) {
  let first = 0, last = count.length - 1, all = 0;
  const there = (/** @type {number} */ b) => count[b] > 0 || busy[b] > 0;
  const sum = (/** @type {number} */ from, /** @type {number} */ to) => { let n = 0; for (let b = from; b <= to; b++) n += count[b]; return n; };
  for (;;) {
    while (first < last && !there(first)) first++;
    while (last > first && !there(last)) last--;
    all ||= sum(first, last);
    let from = -1, length = 0;
    for (let b = first, run = 0; b <= last; b++) {
      run = there(b) ? 0 : run + 1;
      if (run > length) { length = run; from = b - run + 1; }
    }
    if (first === last || length <= Part * (last - first + 1)) break;
    if (sum(first, from - 1) >= sum(from + length, last)) last = from - 1;
    else first = from + length;
  }
  let taken = 0;
  for (let b = first; b <= last; b++) if (there(b)) taken++;
  return { first, last, share: all ? sum(first, last) / all : 1, taken };
}

/**
 * worth says whether a part shows what goes on.
 * @param {{ share: number, taken: number }} part of the events, in so many bins
 */
export const worth = ({ share, taken }) => share >= Most && taken >= Instants;

/**
 * occupy adds what tiles hold to bins of so many ns, from an instant on.
 * @param {Tile} tile
 * @param {number} from
 * @param {number} width
 * @param {Float64Array} count
 * @param {Float64Array} busy
 */
export function occupy(tile, from, width, count, busy) {
  const bin = (/** @type {number} */ t) => Math.floor((t - from) / width);
  for (const lane of tile.lanes.values()) {
    const { at, n, mode } = lane, exact = mode < Decode.BinnedInstants;
    if (mode === Decode.Counter || mode === Decode.BinnedCounter) continue;
    for (let i = 0; i < n; i++) {
      const begin = exact ? at[i] : tile.from + at[i] * tile.width, b = bin(begin);
      const end = exact ? begin + (lane.length ? lane.length[i] : 0) : begin + tile.width - 1;
      if (b >= 0 && b < count.length) count[b] += lane.count ? lane.count[i] : 1;
      for (let k = Math.max(0, b); k <= Math.min(count.length - 1, bin(end)); k++) busy[k] = 1;
    }
  }
}

// look finds the stretch that is worth seeing first: null if that is all, or if not all tiles can be had.
async function look() {
  const { about } = App;
  let from = 0, to = about.span + 1, share = 1, taken = 0;
  for (let round = 0; round < Rounds; round++) {
    const level = Math.max(0, Math.ceil(Math.log2((to - from) / Decode.Bins))), width = 2 ** level, begin = Math.floor(from / width) * width;
    const bins = Math.ceil((to - begin) / width), count = new Float64Array(bins), busy = new Float64Array(bins);
    for (let i = Math.floor(begin / width / Decode.Bins); i * width * Decode.Bins < to; i++) {
      for (const tile of await Promise.all(about.hosts.map((_, h) => Data.load(h, Math.min(level, about.top), i)))) {
        if (!tile || tile.lacks) return null;
        occupy(tile, begin, width, count, busy);
      }
    }
    const found = densest(count, busy), all = found.last - found.first + 1;
    share *= found.share;
    ({ taken } = found);
    [from, to] = [begin + found.first * width, begin + (found.last + 1) * width];
    if (all >= Fine || level === 0) break;
  }
  return to - from < (1 - Part) * about.span && worth({ share, taken }) ? { from, to, share } : null;
}

export function start() {
  const { about } = App;
  if (about.live || about.hosts.length > MaxHosts || /[#&]t=/.test(location.hash) || !about.span) return;
  const was = { ...View.destination() };
  look().then((found) => {
    const { from, to } = View.destination();
    if (!found || from !== was.from || to !== was.to || App.view.raw || App.selection.a) return; // one has gone elsewhere
    const room = 0.02 * (found.to - found.from);
    App.setView(found.from - room, found.to + room);
    Dock.notice(`Shown is where most happens: ${App.duration(found.to - found.from)} of ${App.duration(about.span)}, with ${Math.floor(found.share * 1000) / 10} % of the events; a long gap without any is left out. “fit” (0) shows all.`);
  }).catch(() => {}); // tiles that cannot be had are told of elsewhere
}
