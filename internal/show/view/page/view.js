// view: which stretch of the timeline is shown, and where in it an instant lies. Instants are of the timeline; shown raw,
// each row's are moved to what its host's clock said (at + recorded; runs.js). Moves are animated; the tiles asked for are those of
// where a move ends.

import { App } from "./app.js";
import * as Follow from "./follow.js";
import * as Live from "./live.js";
import * as Runs from "./runs.js";

/** @import { About, Corner, Span } from "./types.js" */

const Least = 8; // ns across the whole plot
export const state = { from: 0, to: 1, raw: false };
export const plot = { left: 0, top: 0, width: 1, height: 1 };
const still = matchMedia("(prefers-reduced-motion: reduce)");
/** @type {About} */
let about;
/** @type {(Span & { was: Span }) | null} */
let goal = null;
/** @type {number | null} */
let begun = null;
/** @type {{ now: number, from: number, to: number, begun: number | null }} */
let shift = { now: 0, from: 0, to: 0, begun: null };

/**
 * @param {About} facts
 */
export function open(facts) {
  about = facts;
  [state.from, state.to] = whole();
}

// whole is all there is, with a little room on both sides; raw, as far as the clocks went. One that grows is long enough to
// see it grow.
export function whole() {
  let to = Math.max(Live.end(), 1), from = Live.growing() ? Math.min(0, to - 10e9) : 0;
  if (state.raw) {
    const within = (/** @type {number} */ at) => Math.max(0, Math.min(about.span, at));
    const ends = Runs.all.flatMap(({ from, to, clock }) => [shownBy(clock, within(from), 1), shownBy(clock, within(to), 1)]);
    from = Math.min(...ends);
    to = Math.max(...ends, from + 1);
  }
  const room = (to - from) * 0.02;
  return [from - room, to + room];
}

/**
 * limit keeps a view within what there is, give or take, and no finer than a few ns.
 * @param {number} from
 * @param {number} to
 */
function limit(from, to) {
  const [first, last] = whole();
  let length = Math.max(Least, Math.min(to - from, (last - first) * 1.5)), middle = (from + to) / 2;
  if (!Number.isFinite(middle)) [middle, length] = [(first + last) / 2, last - first];
  middle = Math.max(first, Math.min(last, middle));
  return [middle - length / 2, middle + length / 2];
}

/**
 * @param {number} from
 * @param {number} to
 * @param {boolean} animate
 */
export function set(from, to, animate) {
  [from, to] = limit(from, to);
  if (animate && !still.matches) {
    goal = { from, to, was: { from: state.from, to: state.to } };
    begun = null;
  } else {
    goal = null;
    [state.from, state.to] = [from, to];
  }
  App.emit("view", from, to);
}

/**
 * place shows [from, to) without a further word: the view goes along with the end of what grows.
 * @param {number} from
 * @param {number} to
 */
export function place(from, to) {
  goal = null;
  [state.from, state.to] = [from, to];
}

/**
 * step moves what is on its way by one frame, and says whether it goes on.
 * @param {number} now
 */
export function step(now) {
  let moving = false;
  if (goal) {
    begun ??= now;
    const t = Math.min(1, (now - begun) / 160), e = 1 - (1 - t) ** 3, { was } = goal;
    // A change of scale is even in its logarithm; the middle then moves with it, so that a fixed point stays fixed.
    const a = was.to - was.from, b = goal.to - goal.from, length = a * (b / a) ** e;
    const part = Math.abs(b - a) < 1e-9 * a ? e : (length - a) / (b - a);
    state.from = was.from + (goal.from - was.from) * part;
    state.to = state.from + length;
    if (t === 1) { state.from = goal.from; state.to = goal.to; goal = null; }
    moving = t < 1;
  }
  if (shift.begun !== null) {
    shift.begun = shift.begun || now;
    const t = still.matches ? 1 : Math.min(1, (now - shift.begun) / 300), e = t < 0.5 ? 2 * t * t : 1 - 2 * (1 - t) ** 2;
    shift.now = shift.from + (shift.to - shift.from) * e;
    if (t === 1) shift.begun = null;
    moving ||= t < 1;
  }
  return moving;
}

/**
 * @param {boolean} raw
 */
export function setRaw(raw) {
  if (state.raw === Boolean(raw)) return;
  state.raw = Boolean(raw);
  shift = { now: shift.now, from: shift.now, to: raw ? 1 : 0, begun: 0 };
}

/**
 * rawStretch is from where to where raw time shows what the timeline has in [from, to), over all clocks; null where it
 * shows at least half of each clock's in the same place.
 * @param {number} from
 * @param {number} to
 */
export function rawStretch(from, to) {
  const within = (/** @type {number} */ at) => Math.max(0, Math.min(about.span, at)), [a, b] = [within(from), within(to)];
  let least = Infinity, most = -Infinity, hidden = false;
  for (const run of Runs.all) {
    const [begin, end] = [Math.max(a, run.from), Math.min(b, run.to)];
    if (!(end >= begin) || run.clock < 0) continue;
    const [x0, x1] = [shownBy(run.clock, begin, 1), shownBy(run.clock, end, 1)];
    [least, most] = [Math.min(least, x0), Math.max(most, x1)];
    hidden ||= Math.min(x1, to) - Math.max(x0, from) < 0.5 * (x1 - x0);
  }
  if (!hidden) return null;
  const room = 0.02 * (most - least);
  return { from: least - room, to: most + room };
}

/**
 * locate finds the corner before an instant; corners are few, and sorted.
 * @param {Corner[]} corners
 * @param {number} at
 */
function locate(corners, at) {
  let low = 0, high = corners.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (corners[middle][0] <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * value is straight between corners, and what the nearest says beyond them.
 * @param {Corner[]} corners
 * @param {number} at
 * @param {number} column
 */
function value(corners, at, column) {
  const i = locate(corners, at), a = corners[i], b = corners[i + 1];
  if (!b || at <= a[0]) return a[column];
  return a[column] + (b[column] - a[column]) * ((at - a[0]) / (b[0] - a[0]));
}

/**
 * @param {number} clock
 */
const cornersOf = (clock) => {
  const corners = clock >= 0 ? about.clocks[clock]?.corners : null;
  return corners?.length ? corners : null;
};

/**
 * @param {number} clock
 * @param {number} at
 */
export function offset(clock, at) {
  const corners = cornersOf(clock);
  return corners ? value(corners, at, 3) : 0;
}

/**
 * shownBy is where an instant is shown: part of the way to what the clock said while the switch is on its way.
 * @param {number} clock
 * @param {number} at
 * @param {number} [part]
 */
const shownBy = (clock, at, part = shift.now) => (part && clock >= 0 ? at + part * offset(clock, at) : at);

/**
 * instantOf is the instant shown at a place. A clock goes forward, so a few steps back by the offset converge.
 * @param {number} clock
 * @param {number} shown
 * @param {number} [part]
 */
export function instantOf(clock, shown, part = shift.now) {
  if (!part || clock < 0) return shown;
  let at = shown - part * offset(clock, shown);
  for (let i = 0; i < 4; i++) at = shown - part * offset(clock, at);
  return at;
}

/**
 * pieces cuts [from, to) of the timeline where a clock bends, so that each piece [from, to, shown begin, shown end] is
 * straight to within a quarter of a pixel.
 * @param {number} clock
 * @param {number} from
 * @param {number} to
 */
export function pieces(clock, from, to) {
  const corners = shift.now ? cornersOf(clock) : null;
  if (!corners) return [[from, to, from, to]];
  const /** @type {[from: number, to: number, begin: number, end: number][]} */ list = [], fine = (state.to - state.from) / plot.width / 4;
  let begin = from, i = locate(corners, from) + 1;
  const end = (/** @type {number} */ at) => {
    list.push([begin, at, shownBy(clock, begin), shownBy(clock, at)]);
    begin = at;
  };
  for (let last = i; i < corners.length && corners[i][0] < to; i++) {
    if (corners[i][0] <= begin) continue;
    const next = Math.min(to, corners[i + 1]?.[0] ?? to);
    const straight = shownBy(clock, begin) + (shownBy(clock, next) - shownBy(clock, begin)) * ((corners[i][0] - begin) / (next - begin));
    if (Math.abs(straight - shownBy(clock, corners[i][0])) > fine || i - last > 16) { end(corners[i][0]); last = i; }
  }
  end(to);
  return list;
}

/**
 * bounds says by how much an instant of a clock may be early (low) or late (high): it truly lies in [at-low, at+high].
 * @param {number} clock
 * @param {number} at
 */
export function bounds(clock, at) {
  const corners = cornersOf(clock), facts = about.clocks[clock];
  if (clock < 0) return { low: 0, high: 0, known: false };
  if (!corners) return { low: null, high: null, known: false };
  return { low: facts.low ? value(corners, at, 1) : null, high: facts.high ? value(corners, at, 2) : null, known: Boolean(facts.low && facts.high) };
}

/**
 * happened is bounds for an event, whose stamp stands for all that the clock showed until the next step.
 * @param {number} clock
 * @param {number} at
 */
export function happened(clock, at) {
  const { low, high } = bounds(clock, at), hidden = Math.max(0, ((clock < 0 ? about.step : about.clocks[clock]?.granularity) ?? 1) - 1);
  return { low, high: high === null ? null : high + hidden, hidden };
}

/**
 * @param {number} left
 * @param {number} top
 * @param {number} width
 * @param {number} height
 */
export function resize(left, top, width, height) {
  Object.assign(plot, { left, top, width: Math.max(1, width), height: Math.max(1, height) });
}

export function perPixel() { return (state.to - state.from) / plot.width; }

// destination is where the view will be: what is asked for is for there.
export function destination() { return goal ?? state; }

export function moving() { return Boolean(goal) || shift.begun !== null; }

export function part() { return shift.now; }

/**
 * @param {number} at
 * @param {number} [clock]
 */
export const x = (at, clock = -1) => (shownBy(clock, at) - state.from) / (state.to - state.from) * plot.width;

/**
 * @param {number} x
 * @param {number} [clock]
 */
export const at = (x, clock = -1) => instantOf(clock, state.from + x / plot.width * (state.to - state.from));

/**
 * @param {number} at
 * @param {number} [clock]
 */
export const shown = (at, clock = -1) => shownBy(clock, at, state.raw ? 1 : 0);

/**
 * @param {number} clock
 * @param {number} at
 */
export const recorded = (clock, at) => at + offset(clock, at);

export function fit(animate = true) {
  const [from, to] = whole();
  App.setView(from, to, { animate });
  Follow.fitted();
}

/**
 * @param {number} part
 * @param {boolean} [animate]
 */
export function pan(part, animate = false) {
  const { from, to } = goal ?? state, by = part * (to - from);
  App.setView(from + by, to + by, { animate });
}

/**
 * zoom keeps what is shown at x where it is.
 * @param {number} factor
 * @param {number} [x]
 * @param {boolean} [animate]
 */
export function zoom(factor, x = plot.width / 2, animate = false) {
  const { from, to } = goal ?? state, here = from + x / plot.width * (to - from);
  const length = Math.max(Least, (to - from) * factor), part = x / plot.width;
  App.setView(here - length * part, here + length * (1 - part), { animate });
}
