// lanes: what lies on a lane becomes one line of pixels (a counter or a density: as many as it is high). All lines of a
// frame are in one buffer, which goes to a canvas at once; from there each is stretched to the height of its lane. So a
// frame costs one write for each pixel column and lane, whatever the number of events, and a few dozen calls to the canvas.

import { context } from "./dom.js";
import * as Colors from "./colors.js";
import * as Data from "./data.js";
import * as Decode from "./decode.js";
import * as Live from "./live.js";
import * as Rows from "./rows.js";
import { Tally } from "./tally.js";
import * as View from "./view.js";

/** @import { Blit, Piece, Run, Span, Tile, TileLane } from "./types.js" */

export const canvas = document.createElement("canvas");
const g = context(canvas);
export let width = 0;
export let pixels = new Uint32Array(0);
/** @type {ImageData | null} */
let image = null;
let used = 0;
/** @type {Blit[]} */
let blits = [];
let plans = new Map();
/** @type {any[]} */
export const labels = [];

/**
 * begin empties the buffer for a frame of so many device pixels across.
 * @param {number} across
 */
export function begin(across) {
  if (across !== width) {
    width = across;
    image = null;
  } else {
    pixels.fill(0, 0, used * width);
  }
  used = 0;
  blits = [];
  labels.length = 0;
  plans = new Map();
}

/**
 * take returns where in the buffer so many lines begin.
 * @param {number} lines
 */
export function take(lines) {
  const need = (used + lines) * width;
  if (!image || need > pixels.length) {
    const rows = Math.max(64, Math.ceil((used + lines) * 1.5)), was = pixels;
    image = new ImageData(width, rows);
    pixels = new Uint32Array(image.data.buffer);
    if (was.length && used) pixels.set(was.subarray(0, used * width));
    canvas.width = width;
    canvas.height = rows;
  }
  used += lines;
  return (used - lines) * width;
}

/**
 * blit says where lines shall stand, in device pixels.
 * @param {number} offset
 * @param {number} lines
 * @param {number} y
 * @param {number} h
 * @param {boolean} [pin]
 */
export const blit = (offset, lines, y, h, pin = false) => blits.push([offset / width, lines, y, h, pin]);

/**
 * @param {CanvasRenderingContext2D} target
 * @param {boolean} pin
 */
export function flush(target, pin) {
  if (!image || !used) return;
  target.imageSmoothingEnabled = false;
  for (const [line, lines, y, h, p] of blits) if (p === pin) target.drawImage(canvas, 0, line, width, lines, 0, y, width, h);
}

// upload puts all lines that were painted on the canvas, from which flush takes them.
export const upload = () => { if (image && used) g.putImageData(image, 0, 0, 0, 0, width, used); };

/**
 * levelFor is the level whose bins are a pixel of the page wide at most, and half of one at least.
 * @param {number} perPixel
 */
export const levelFor = (perPixel) => Math.max(0, Math.min(Data.about.top, Math.floor(Math.log2(perPixel))));

/**
 * reach is the stretch of the timeline that may be seen of a clock in a view.
 * @param {number} clock
 * @param {Span} view
 */
export function reach(clock, view) {
  // Of what grows the next tile is there before it begins, so that nothing coarser is drawn when it does.
  const end = Live.growing() ? Live.end() + 0.5e9 : Data.about.span;
  return [Math.max(0, View.instantOf(clock, view.from)), Math.min(end + 1, View.instantOf(clock, view.to))];
}

/**
 * keysFor lists the tiles of a group that a view wants.
 * @param {number} group
 * @param {number} from
 * @param {number} to
 * @param {number} level
 * @param {string[]} into
 */
export function keysFor(group, from, to, level, into) {
  if (!(to > from)) return;
  const width = 2 ** level * Decode.Bins, first = Math.max(0, Math.floor(from / width)), last = Math.min(first + 32, Math.floor(to / width));
  for (let i = first; i <= last; i++) if (!Data.covered(group, level, i)) into.push(`${group}.${level}.${i}`);
}

/**
 * planOf lists what is drawn of rows that have some runs in common: what planFor does for each, of which the first piece
 * says that it goes on elsewhere (jump).
 * @param {number} group
 * @param {Run[]} runs
 * @param {number} level
 */
export function planOf(group, runs, level) {
  if (!plans.has(runs)) plans.set(runs, new Map());
  const known = plans.get(runs);
  if (!known.has(group)) known.set(group, (View.part() ? runs : runs.slice(0, 1)).flatMap(({ from, to, clock }, i) => {
    const [a, b] = reach(clock, View.state), plan = View.part() ? planFor(group, clock, Math.max(a, from), Math.min(b, to), level) : planFor(group, clock, a, b, level);
    if (i && plan.length) plan[0].jump = true;
    for (const piece of plan) piece.stop = View.part() ? to : Infinity;
    return plan;
  }));
  return known.get(group);
}

/**
 * planFor lists which tile, or which coarser one until that is there, is drawn from where to where.
 * @param {number} group
 * @param {number} clock
 * @param {number} from
 * @param {number} to
 * @param {number} level
 */
function planFor(group, clock, from, to, level) {
  /** @type {Piece[]} */
  const plan = [];
  const width = 2 ** level * Decode.Bins;
  for (let i = Math.floor(from / width), end = Math.floor(to / width); i <= end && to > from;) {
    const tile = Data.best(group, level, i);
    let next = i + 1;
    if (tile) {
      next = Math.max(next, Math.ceil(tile.to / width));
      const begin = Math.max(from, i * width), stop = Math.min(to, next * width);
      for (const [a, b, x, y] of View.pieces(clock, begin, stop)) {
        const scale = width_(), k = (y - x) / (b - a) * scale;
        plan.push({ tile, from: a, to: b, k, x: (x - View.state.from) * scale });
      }
    }
    i = next;
  }
  return plan;
}

const width_ = () => width / (View.state.to - View.state.from);

/**
 * after finds the first entry at or beyond an instant.
 * @param {Float64Array | Uint16Array} at
 * @param {number} n
 * @param {number} t
 */
export function after(at, n, t) {
  let low = 0, high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle] < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * @param {number} from
 * @param {number} to
 * @param {number} color
 */
const fill = (from, to, color) => (to - from > 24 ? pixels.fill(color, from, to) : short(from, to, color));
/**
 * @param {number} from
 * @param {number} to
 * @param {number} color
 */
function short(from, to, color) { for (let i = from; i < to; i++) pixels[i] = color; }

/**
 * darker is a colour at the left edge of a slice, so that equal neighbours can be told apart.
 * @param {number} c
 */
const darker = (c) => ((c & 0xff000000) | ((c >>> 1) & 0x7f7f7f)) >>> 0;

/**
 * binned is the width of the bins that a lane has in sight, 0 if it has none of two pixels at most: wider ones stand in for tiles that
 * come. Beside bins exact items are painted as in such: else a lane of one density would change its looks where a tile ends.
 * @param {Piece[]} plan
 * @param {number} number
 * @param {number} mode
 * @param {number} ratio
 */
function binned(plan, number, mode, ratio) {
  let wide = 0;
  for (const { tile, k } of plan) if (tile.lanes.get(number)?.mode === mode && tile.width * k <= 2 * ratio) wide = Math.max(wide, tile.width);
  return wide;
}

/**
 * tint paints a bin where it lies on the screen, a pixel wide at least, unless something denser has its pixels.
 * @param {number} base
 * @param {number} x0
 * @param {number} x1
 * @param {number} name
 * @param {number} alpha
 */
function tint(base, x0, x1, name, alpha) {
  const color = Colors.faded(Colors.packed(name), alpha), first = Math.max(0, Math.round(x0)), end = Math.min(width, Math.max(first + 1, Math.round(x1)));
  for (let p = base + first; p < base + end; p++) if (pixels[p] >>> 24 <= alpha) pixels[p] = color;
}

/**
 * slices paints one depth of a row. label is told of those that are wide enough to be named.
 * @param {Piece[]} plan
 * @param {number} number
 * @param {number} ratio
 * @param {Set<number>} hidden
 * @param {(x0: number, x1: number, name: number) => void} label
 */
export function slices(plan, number, ratio, hidden, label) {
  const base = take(1), gap = Math.max(1, Math.round(ratio)), wide = binned(plan, number, Decode.BinnedSlices, ratio);
  for (const piece of plan) {
    const { tile, from, to, k, x, stop = Infinity } = piece, lane = tile.lanes.get(number);
    if (!lane) continue;
    const shade = (/** @type {number} */ name, /** @type {number} */ busy, /** @type {number} */ x0, /** @type {number} */ x1) =>
      tint(base, x0, x1, name, 60 + Math.round(195 * Math.min(1, busy)));
    if (lane.mode === Decode.Slices) {
      const tally = wide ? new Tally(wide, piece, shade) : null;
      const { at, length, name, flags } = lane;
      let i = after(at, lane.n, from);
      if (i > 0 && at[i - 1] + length[i - 1] > from) i--;
      for (; i < lane.n && at[i] < to; i++) {
        if (hidden.has(name[i])) continue;
        const right = x + (Math.min(at[i] + length[i], to) - from) * k;
        const x0 = Math.max(0, Math.round(x + (Math.max(at[i], from) - from) * k)), x1 = Math.min(width, Math.max(x0 + 1, Math.round(right)));
        if (x0 >= width || x1 <= 0) continue;
        if (tally && length[i] < wide && !flags[i]) { tally.slice(at[i], length[i], name[i]); continue; }
        const color = Colors.packed(name[i]);
        fill(base + x0, base + x1, color);
        if (x1 - x0 > 3 * gap && at[i] >= from) short(base + x0, base + x0 + gap, darker(color));
        if (flags[i]) open(base, x0, x1, flags[i], color, ratio);
        // A slice that goes over several tiles is named once, where it begins to be seen, for all its length.
        if (at[i] >= from || piece === plan[0] || piece.jump) {
          const end = Math.min(width, x + (Math.min(at[i] + length[i], stop) - from) * k);
          if (end - x0 > 22 * ratio) label(x0, end, name[i]);
        }
      }
      tally?.paint();
    } else if (lane.mode === Decode.BinnedSlices) {
      bins(lane, tile, from, to, k, x, (/** @type {number} */ i, /** @type {number} */ x0, /** @type {number} */ x1) => {
        if (!hidden.has(lane.name[i])) shade(lane.name[i], lane.busy[i] / 255, x0, x1);
      });
    }
  }
  return base;
}

/**
 * open leaves every other pixel out where a slice was cut off: it began before, or went on after, what was recorded.
 * @param {number} base
 * @param {number} x0
 * @param {number} x1
 * @param {any} flags
 * @param {number} color
 * @param {number} ratio
 */
function open(base, x0, x1, flags, color, ratio) {
  const n = Math.min(14 * ratio, (x1 - x0) / 2), pale = Colors.faded(color, 70), step = Math.max(1, Math.round(2 * ratio));
  for (let i = 0; i < n; i++) {
    if (Math.floor(i / step) % 2) continue;
    if (flags & 1) pixels[base + x1 - 1 - i] = pale;
    if (flags & 2) pixels[base + x0 + i] = pale;
  }
}

/**
 * bins goes over the bins of a lane that lie in a piece, with the pixels that each takes, one at least.
 * @param {TileLane} lane
 * @param {Tile} tile
 * @param {number} from
 * @param {number} to
 * @param {number} k
 * @param {number} x
 * @param {any} paint
 */
export function bins(lane, tile, from, to, k, x, paint) {
  const { at, n } = lane, w = tile.width, origin = x + (tile.from - from) * k;
  const first = after(at, n, Math.floor((from - tile.from) / w)), last = (to - tile.from) / w;
  for (let i = first; i < n && at[i] < last; i++) {
    const x0 = Math.max(0, Math.round(origin + at[i] * w * k)), x1 = Math.min(width, Math.max(x0 + 1, Math.round(origin + (at[i] + 1) * w * k)));
    if (x0 < width && x1 > x0) paint(i, x0, x1);
  }
}

/**
 * instants paints ticks; where many fall together, the darker the more.
 * @param {Piece[]} plan
 * @param {number} number
 * @param {number} ratio
 * @param {Set<number>} hidden
 * @param {(x0: number, x1: number, name: number) => void} label
 */
export function instants(plan, number, ratio, hidden, label) {
  const base = take(1), tick = Math.max(1, Math.round(1.5 * ratio)), wide = binned(plan, number, Decode.BinnedInstants, ratio);
  const shade = (/** @type {number} */ name, /** @type {number} */ count, /** @type {number} */ x0, /** @type {number} */ x1) =>
    tint(base, x0, x1, name, Math.min(255, 150 + Math.round(26 * Math.log2(count))));
  for (const piece of plan) {
    const { tile, from, to, k, x, stop = Infinity } = piece, lane = tile.lanes.get(number);
    if (!lane) continue;
    if (lane.mode === Decode.Instants) {
      const { at, name } = lane, tally = wide ? new Tally(wide, piece, shade) : null;
      for (let i = after(at, lane.n, from); i < lane.n && at[i] < to; i++) {
        if (hidden.has(name[i])) continue;
        const x0 = Math.round(x + (at[i] - from) * k), next = x + (Math.min(stop, i + 1 < lane.n ? at[i + 1] : Math.max(tile.to, to)) - from) * k;
        if (x0 < 0 || x0 >= width) continue;
        if (tally) tally.add(Math.floor(at[i] / wide), 1, name[i]);
        else short(base + x0, base + Math.min(width, x0 + tick), Colors.packed(name[i]));
        if (next - x0 > 26 * ratio) label(x0 + tick, Math.min(next, width + 200), name[i]);
      }
      tally?.paint();
    } else if (lane.mode === Decode.BinnedInstants) {
      bins(lane, tile, from, to, k, x, (/** @type {number} */ i, /** @type {number} */ x0, /** @type {number} */ x1) => {
        if (!hidden.has(lane.name[i])) shade(lane.name[i], lane.count[i], x0, x1);
      });
    }
  }
  return base;
}

/**
 * counter paints an area: what a value was until the next; in bins, from the least to the greatest paler.
 * @param {Piece[]} plan
 * @param {any} lane
 * @param {number} lines
 */
export function counter(plan, lane, lines) {
  const base = take(lines), span = lane.greatest - lane.least || 1, { accent } = Colors.theme.packed;
  const solid = Colors.faded(accent, 130), pale = Colors.faded(accent, 60), edge = Colors.faded(accent, 255);
  const high = (/** @type {any} */ v) => Math.max(1, Math.min(lines, 1 + Math.round((v - lane.least) / span * (lines - 2))));
  const column = (/** @type {number} */ x0, /** @type {number} */ x1, /** @type {number} */ low, /** @type {number} */ top) => {
    for (let y = 0; y < top; y++) {
      const row = base + (lines - 1 - y) * width;
      short(row + x0, row + x1, y === top - 1 ? edge : y < low ? solid : pale);
    }
  };
  /** @type {number | null} */
  let last = null;
  let reached = 0;
  const hold = (/** @type {number} */ until) => {
    const x0 = Math.max(0, reached), x1 = Math.min(width, until);
    if (last !== null && x1 > x0) column(x0, x1, high(last), high(last));
  };
  for (const { tile, from, to, k, x, jump } of plan) {
    const data = tile.lanes.get(lane.lane);
    if (jump) reached = Math.round(x); // back, or forward over what the clock never said
    if (data && from <= tile.from && data.before !== null) last = data.before;
    if (data?.mode === Decode.Counter) {
      let i = after(data.at, data.n, from);
      if (i > 0 || data.before !== null) last = i > 0 ? data.value[i - 1] : data.before;
      for (; i < data.n && data.at[i] < to; i++) {
        const x0 = Math.round(x + (data.at[i] - from) * k);
        hold(x0);
        reached = x0;
        last = data.value[i];
      }
    } else if (data?.mode === Decode.BinnedCounter) {
      bins(data, tile, from, to, k, x, (/** @type {number} */ i, /** @type {number} */ x0, /** @type {number} */ x1) => {
        hold(x0);
        column(x0, x1, high(data.least[i]), high(data.greatest[i]));
        reached = x1;
        last = data.last[i];
      });
    }
    const end = Math.round(x + (to - from) * k);
    hold(end);
    reached = Math.max(reached, end);
  }
  return base;
}

/**
 * bound paints how sure a host's instants are over the time in sight: from 1 ns to 1 s, on a scale of logarithms.
 * @param {number} host
 * @param {number} clock
 * @param {number} lines
 * @param {number} ratio
 */
export function bound(host, clock, lines, ratio) {
  const base = take(lines), step = Math.max(1, Math.round(3 * ratio)), { bound: color } = Colors.theme.packed;
  const known = Colors.faded(color, 150), none = Colors.faded(color, 60);
  for (let p = 0; p < width; p += step) {
    const { low, high } = Rows.boundsOfHost(host, View.at((p + step / 2) / width * View.plot.width, clock));
    const free = low === null || high === null, wide = free ? Infinity : low + high;
    const h = free ? lines : wide <= 0 ? 1 : Math.max(1, Math.min(lines, Math.round(1 + Math.log10(1 + wide) / 9 * (lines - 1))));
    const top = (lines - h) >> 1, end = Math.min(width, p + step);
    for (let y = top; y < top + h; y++) short(base + y * width + p, base + y * width + end, free && (y + p / step) % 2 ? 0 : free ? none : known);
  }
  return base;
}
