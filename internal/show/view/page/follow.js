// follow: the view keeps its span and its right edge at the present, in whole pixels so that what is drawn does not shimmer.
// A move of the view that leaves the present out of sight ends that. Where motion is to be reduced, the view stands until the
// present reaches its edge, and then moves on by a quarter.

import { App } from "./app.js";
import * as Draw from "./draw.js";
import * as Live from "./live.js";
import * as Pointer from "./pointer.js";
import * as View from "./view.js";

const First = 10e9; // ns that are seen first
const Least = 1e9; // what is shorter flies by
const Catch = 200; // ms in which the view comes two thirds of the way to where it belongs
const Slack = 4; // pixels by which the edge may be missed
const still = matchMedia("(prefers-reduced-motion: reduce)");
let following = false;
let span = First;
let whole = false; // all there is is in sight, and stays so
let edge = 0; // where the right edge is, before it is set to a pixel
let before = 0; // when it was there
let placed = NaN; // what was last shown
let timer = 0;

export const on = () => following;

// start follows the end; a view that is too short for that becomes longer.
export function start() {
  const { from, to } = View.state;
  if (!following) App.on("view", moved);
  span = Number.isNaN(placed) ? First : Math.max(Least, to - from);
  following = true;
  whole = false;
  edge = Number.isNaN(placed) ? Live.now() : to;
  before = 0;
  say();
}

export function stop() {
  if (!following) return;
  following = false;
  clearTimeout(timer);
  say();
}

export function toggle() {
  if (!following && !Live.growing()) return App.announce("the recording has ended");
  if (following) stop();
  else start();
  App.announce(following ? "following the end" : "no longer following the end");
}

function say() {
  App.emit("follow", following);
  App.redraw();
}

/**
 * moved looks whether a move of the view leaves the present in sight.
 * @param {number} from
 * @param {number} to
 */
function moved(from, to) {
  if (!following) return;
  if (to < (still.matches ? Live.now() : placed) - Slack * (to - from) / View.plot.width) {
    stop();
    return App.announce("no longer following the end");
  }
  span = Math.max(Least, to - from);
  whole = false;
}

// fitted says that all there is has been brought into sight.
export function fitted() { whole = following; }

/**
 * step moves the view to the present, and says whether the next frame is to do so again at once.
 * @param {number} now
 */
export function step(now) {
  if (!following) return false;
  const length = whole ? Live.end() - View.whole()[0] : span, present = Live.now();
  const by = before ? Math.min(1000, now - before) : 0;
  before = now;
  if (Pointer.pressed()) return true; // what is under the pointer stays there
  if (still.matches) jump(length, present);
  else {
    edge += by * 1e6;
    if (Math.abs(present - edge) > 2 * length) edge = present;
    edge += (present - edge) * (1 - Math.exp(-by / Catch));
    const shown = View.state.to - View.state.from, next = Math.abs(length - shown) < 1e-3 * shown ? length : shown + (length - shown) * (1 - Math.exp(-by / 60));
    const pixel = next / View.plot.width / Draw.ratio, to = Math.floor(edge / pixel) * pixel;
    placed = to;
    View.place(to - next, to);
  }
  return again(length);
}

/**
 * @param {number} length
 * @param {number} present
 */
function jump(length, present) {
  const { from, to } = View.state;
  if (present <= to && present >= from && Math.abs(to - from - length) < 1e-3 * length) return;
  placed = present + length / 4;
  View.place(placed - length, placed);
}

/**
 * again plans the next frame: when the picture has moved by a pixel, and so that drawing takes half of the time at most.
 * @param {number} length
 */
function again(length) {
  if (!Live.growing()) return false;
  const pixel = length / View.plot.width / Draw.ratio / 1e6, wait = Math.max(pixel, 2 * Draw.stats.last());
  if (!still.matches && wait < 12) return true;
  clearTimeout(timer);
  timer = setTimeout(() => App.redraw(), (still.matches ? 250 : Math.min(wait, 250)) - 8);
  return false;
}
