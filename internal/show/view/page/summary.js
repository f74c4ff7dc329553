// summary: what lies below a host, or below a kind or row that is folded, in one strip: how much of it is busy, by what
// takes most, as an area in the colour of that (its height is the root of the share, so that one busy thread of a hundred is
// seen); and over it how much happens, as a line on a scale of logarithms. It comes from the tiles of the rows themselves. What
// lanes have in the bins of a tile is added up once; so a frame costs a few thousand steps for each strip.
//
//	part: { number, runs, lanes: Map lane -> 1 for a first depth of slices, 0 for others, rows with slices: wide }

import { App } from "./app.js";
import * as Colors from "./colors.js";
import * as Data from "./data.js";
import * as Decode from "./decode.js";
import * as Lanes from "./lanes.js";
import * as Runs from "./runs.js";

/** @import { Line, Part, Piece, Sums, Tile } from "./types.js" */

const MaxSums = 1200; // 12 KB each
const parts = new WeakMap();
const sums = new Map();
let hidden = new Set();
let known = "";
let count = new Float32Array(0);
let busy = count;
let best = count;
let name = new Uint32Array(0);

/**
 * partsOf groups the rows below a line by the clocks that they came by.
 * @param {Pick<Line, "host" | "below">} line
 */
export function partsOf(line) {
  if (parts.has(line)) return parts.get(line);
  const groups = new Map(), { rows } = Data.about;
  for (const row of line.below ?? []) {
    const runs = Runs.of(row);
    if (!groups.has(runs)) groups.set(runs, { number: "", runs, lanes: new Map(), wide: 0, rows: [] });
    const part = groups.get(runs);
    let slices = 0;
    for (const { lane, kind, depth } of rows[row].lanes) {
      const first = kind === "slices" && !depth ? 1 : 0;
      slices |= first;
      if (kind !== "counter") part.lanes.set(lane, first);
    }
    part.wide += slices;
    part.rows.push(row);
  }
  const list = [...groups.values()];
  for (const part of list) part.number = `${number(part.rows)}.${part.lanes.size}`;
  parts.set(line, list);
  return list;
}

/**
 * number is the same for the same rows, however often they are laid out.
 * @param {number[]} rows
 */
function number(rows) {
  let a = 0x811c9dc5, b = 0x9dc5811c; // FNV-1a, twice
  for (const row of rows) {
    a = Math.imul(a ^ row, 0x01000193);
    b = Math.imul(b ^ (row + 1), 0x01000193) ^ (b >>> 15);
  }
  return `${rows.length}.${a}.${b}`;
}

/**
 * begin takes over what is hidden, before the strips of a frame.
 * @param {number} width
 */
export function begin(width) {
  const now = [...App.hidden.classes].join();
  if (now !== known) { known = now; sums.clear(); }
  hidden = App.hidden.classes;
  if (count.length === width) return;
  [count, busy, best] = [0, 0, 0].map(() => new Float32Array(width));
  name = new Uint32Array(width);
}

/**
 * sum adds up the lanes of a part in the bins of a tile.
 * @param {Tile} tile
 * @param {Part} part
 */
export function sum(tile, part) {
  const key = `${tile.serial} ${part.number}`;
  let made = sums.get(key);
  if (made) sums.delete(key); // to the end: it was used
  else made = add(tile, part);
  sums.set(key, made);
  if (sums.size > MaxSums) sums.delete(sums.keys().next().value);
  return made;
}

/**
 * @param {Tile} tile
 * @param {Part} part
 */
function add(tile, part) {
  const { Bins } = Decode, made = { count: new Float32Array(Bins), busy: new Float32Array(Bins), name: new Uint32Array(Bins) }, most = new Float32Array(Bins);
  const take = (/** @type {any} */ b, /** @type {any} */ share, /** @type {any} */ c) => {
    made.busy[b] += share;
    if (share > most[b]) { most[b] = share; made.name[b] = c; }
  };
  for (const [number, first] of part.lanes) {
    const lane = tile.lanes.get(number);
    if (!lane) continue;
    const { at, n, mode } = lane, exact = mode < Decode.BinnedInstants;
    for (let i = 0; i < n; i++) {
      if (hidden.has(lane.name[i])) continue;
      if (!exact) {
        made.count[at[i]] += lane.count[i];
        if (first) take(at[i], lane.busy[i] / 255, lane.name[i]);
        continue;
      }
      const from = (at[i] - tile.from) / tile.width;
      if (from >= 0 && from < Bins) made.count[Math.floor(from)]++;
      if (!first) continue;
      const to = Math.min(Bins, from + lane.length[i] / tile.width);
      for (let b = Math.max(0, Math.floor(from)); b < to; b++) take(b, Math.min(b + 1, to) - Math.max(b, from), lane.name[i]);
    }
  }
  return made;
}

/**
 * strip paints what is below a line on lines of pixels, and returns where they begin.
 * @param {Line} line
 * @param {number} lines
 * @param {number} level
 */
export function strip(line, lines, level) {
  const base = Lanes.take(lines), { width } = Lanes, list = partsOf(line);
  for (const all of [count, busy, best]) all.fill(0);
  let wide = 0;
  for (const part of list) {
    wide += part.wide;
    for (const piece of Lanes.planOf(line.host, part.runs, level)) {
      const { tile, k } = piece;
      if (tile.final && tile.width * k > 2) exactly(piece, part, width); // far below its own scale: all is known to the ns
      else binned(piece, sum(tile, part), width);
    }
  }
  paint(base, width, lines, wide);
  return base;
}

/**
 * @param {number} p
 * @param {any} share
 * @param {number} c
 */
function take(p, share, c) {
  busy[p] += share;
  if (share > best[p]) { best[p] = share; name[p] = c; }
}

/**
 * @param {Piece} options
 * @param {Sums} made
 * @param {number} width
 */
function binned({ tile, from, to, k, x }, made, width) {
  const w = tile.width * k, origin = x + (tile.from - from) * k;
  const first = Math.max(0, Math.floor((from - tile.from) / tile.width)), last = Math.min(Decode.Bins, Math.ceil((to - tile.from) / tile.width));
  for (let b = first; b < last; b++) {
    const n = made.count[b], share = made.busy[b];
    if (!n && !share) continue;
    const left = origin + b * w, right = Math.min(width, left + w);
    // Of a coarse bin that is drawn wide each pixel has a part; of several bins in a pixel each has its share.
    if (n) for (let p = Math.max(0, Math.round(left)), end = Math.min(width, Math.max(p + 1, Math.round(left + w))), each = n / Math.max(1, w); p < end; p++) count[p] += each;
    if (share) for (let p = Math.max(0, Math.floor(left)); p < right; p++) take(p, share * (Math.min(p + 1, right) - Math.max(p, left)), made.name[b]);
  }
}

/**
 * @param {Piece} options
 * @param {Part} part
 * @param {number} width
 */
function exactly({ tile, from, to, k, x }, part, width) {
  for (const [number, first] of part.lanes) {
    const lane = tile.lanes.get(number);
    if (!lane) continue;
    let i = Lanes.after(lane.at, lane.n, from);
    if (first && i > 0 && lane.at[i - 1] + lane.length[i - 1] > from) i--;
    for (; i < lane.n && lane.at[i] < to; i++) {
      if (hidden.has(lane.name[i])) continue;
      const left = x + (lane.at[i] - from) * k, p = Math.round(left);
      if (lane.at[i] >= from && p >= 0 && p < width) count[p]++;
      if (!first) continue;
      const right = Math.min(width, x + (Math.min(lane.at[i] + lane.length[i], to) - from) * k), begin = Math.max(0, left, x);
      for (let q = Math.floor(begin); q < right; q++) take(q, Math.min(q + 1, right) - Math.max(q, begin), lane.name[i]);
    }
  }
}

/**
 * @param {number} base
 * @param {number} width
 * @param {number} lines
 * @param {number} wide
 */
function paint(base, width, lines, wide) {
  const { pixels } = Lanes, { accent } = Colors.theme.packed, body = Colors.faded(accent, 90), edge = Colors.faded(accent, 190);
  let most = 0;
  for (let p = 0; p < width; p++) if (count[p] > most) most = count[p];
  const scale = (lines - 1) / Math.log1p(most * 4 || 1);
  for (let p = 0; p < width; p++) {
    const high = busy[p] ? Math.max(1, Math.round(Math.sqrt(Math.min(1, busy[p] / wide)) * lines)) : 0;
    const top = count[p] ? Math.min(lines, Math.max(1, Math.round(1 + Math.log1p(count[p] * 4) * scale))) : 0;
    if (!high && !top) continue;
    const color = high ? Colors.faded(Colors.packed(name[p]), 200) : 0;
    for (let y = 0, end = Math.max(high, top); y < end; y++) pixels[base + (lines - 1 - y) * width + p] = y === top - 1 ? edge : y < high ? color : body;
  }
}
