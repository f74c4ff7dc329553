// pointer: mouse, pen and fingers become moves of the view.
//
//   wheel            scrolls the rows; zooms at the pointer where all rows fit, and with Ctrl (a pinch of the touchpad)
//   Shift+wheel      moves along time, as does a sideways wheel
//   drag             moves the view; with Shift measures; with Alt, or along the ruler, zooms to the zoomRange
//   click            selects (a); with Shift selects the second (b); double click zooms to a slice

import { byId, canvasById } from "./dom.js";
import { App } from "./app.js";
import * as Colors from "./colors.js";
import * as Jump from "./jump.js";
import * as Pick from "./pick.js";
import * as Rows from "./rows.js";
import * as Runs from "./runs.js";
import * as Time from "./time.js";
import * as View from "./view.js";

/** @import { Hovered, Place } from "./types.js" */

const over = canvasById("over");
const ruler = canvasById("ruler");
/** @type {{ x: number | null, y: number }} */
export const cursor = { x: null, y: 0 }; // x is null while the pointer is elsewhere
const down = new Map();
/** @type {any} */
let drag = null;
/** @type {any} */
let zoomRange = null;

export function open() {
  for (const target of [over, ruler]) {
    target.addEventListener("pointerdown", press);
    target.addEventListener("pointermove", move);
    target.addEventListener("pointerup", release);
    target.addEventListener("pointercancel", release);
    target.addEventListener("pointerleave", () => { if (!down.size) leave(); });
    target.addEventListener("wheel", wheel, { passive: false });
  }
  over.addEventListener("dblclick", doubleClick);
  ruler.addEventListener("dblclick", () => View.fit());
  byId("names").addEventListener("wheel", (e) => { if (e.ctrlKey) { e.preventDefault(); wheel(e); } }, { passive: false });
  App.overlay(drawZoomRange);
}

/**
 * @param {MouseEvent} e
 */
const onPlot = (e) => ({ x: e.clientX - View.plot.left, y: e.clientY - View.plot.top });

function leave() {
  cursor.x = null;
  Pick.hover(null);
  App.redraw(2);
}

/**
 * point is what a place stands for: an instant on a row, and the event that is drawn there if there is one.
 * @param {{ x: number, y: number }} options
 */
function point({ x, y }) {
  const hit = Pick.at(x, y), line = Rows.lineAtY(y), row = line ? line.row : -1;
  const here = row >= 0 ? Runs.under(row, x)[0] : null, clock = here?.clock ?? (line ? Rows.clockOfHost(line.host) : -1);
  const exact = hit && (hit.kind === "slice" || hit.kind === "instant");
  return { x, y, row, clock, host: line?.host ?? -1, at: exact ? (nearEnd(hit, x) ? hit.begin + hit.length : hit.begin) : Math.round(here?.at ?? View.at(x, clock)), event: exact ? hit.event : -1 };
}

/**
 * nearEnd says that the end of a slice is meant rather than its begin.
 * @param {Hovered} hit
 * @param {number} x
 */
const nearEnd = (hit, x) => hit.length !== undefined && Math.abs(x - hit.x1) < Math.abs(x - hit.x0);

/**
 * @param {PointerEvent} e
 */
function press(e) {
  if (e.button !== 0 && e.button !== 1) return;
  e.preventDefault();
  /** @type {Element} */ (e.currentTarget).setPointerCapture(e.pointerId);
  down.set(e.pointerId, onPlot(e));
  const here = onPlot(e), kind = e.currentTarget === ruler || e.altKey ? "zoom" : e.shiftKey ? "measure" : "pan";
  drag = { kind, ...here, moved: false, target: e.currentTarget, start: kind === "measure" ? point(here) : null };
  over.focus({ preventScroll: true });
}

/**
 * @param {PointerEvent} e
 */
function move(e) {
  const here = onPlot(e), before = down.get(e.pointerId);
  cursor.x = here.x;
  cursor.y = e.currentTarget === ruler ? -1 : here.y;
  if (!before) {
    hoverAt();
    return App.redraw(2);
  }
  if (down.size === 2) pinch(e.pointerId, before, here);
  else if (drag) {
    if (Math.hypot(here.x - drag.x, here.y - drag.y) > 3) drag.moved = true;
    if (drag.moved) dragged(before, here);
  }
  down.set(e.pointerId, here);
  App.redraw(2);
}

/**
 * @param {Place} before
 * @param {Place} here
 */
function dragged(before, here) {
  Pick.hover(null);
  if (drag.kind === "measure") App.emit("measure", drag.start, point(here), { done: false });
  else if (drag.kind === "zoom") zoomRange = [drag.x, here.x];
  else {
    document.body.classList.add("dragging");
    View.pan((before.x - here.x) / View.plot.width);
    if (before.y !== here.y) Rows.scrollBy(before.y - here.y);
  }
}

/**
 * @param {number} id
 * @param {Place} before
 * @param {Place} here
 */
function pinch(id, before, here) {
  const other = [...down].filter(([key]) => key !== id)[0][1], was = Math.abs(before.x - other.x), is = Math.abs(here.x - other.x);
  drag.moved = true;
  if (was > 8 && is > 8) View.zoom(was / is, (here.x + other.x) / 2);
  View.pan((before.x - here.x) / 2 / View.plot.width);
  Rows.scrollBy((before.y - here.y) / 2);
}

/**
 * @param {PointerEvent} e
 */
function release(e) {
  const one = drag, here = onPlot(e);
  down.delete(e.pointerId);
  document.body.classList.remove("dragging");
  if (down.size) return;
  drag = null;
  if (!one || e.type !== "pointerup") zoomRange = null;
  else if (one.moved && one.kind === "measure") App.emit("measure", one.start, point(here), { done: true });
  else if (one.moved && one.kind === "zoom") zoomTo();
  else if (!one.moved && one.target === over) click(here, e.shiftKey);
  zoomRange = null;
  App.redraw();
}

function zoomTo() {
  const [a, b] = zoomRange.map((/** @type {any} */ x) => View.state.from + x * View.perPixel());
  App.setView(Math.min(a, b), Math.max(a, b), { animate: true });
}

/**
 * @param {any} here
 * @param {boolean} second
 */
async function click(here, second) {
  if (document.body.classList.contains("measuring")) return App.emit("measure", point(here), null, { done: false });
  const hit = Pick.at(here.x, here.y), which = second ? "b" : "a";
  if (!hit) return;
  if (hit.kind === "message") {
    if (hit.event >= 0) return Jump.both({ at: hit.at, delay: 0, event: hit.event, to: hit.to }, hit.link);
    return View.zoom(0.2, here.x, true);
  }
  if (hit.row >= 0) Rows.focus(hit.row, false);
  if (hit.event >= 0) return App.select(hit.event, which);
  if (hit.kind === "many") {
    const item = await Jump.near(hit.host, hit.lane.lane ?? -1, hit.at);
    if (item && item.event >= 0) return App.select(item.event, which);
  }
  if (!second && (hit.kind === "row" || hit.kind === "host" || hit.kind === "kind")) {
    App.select(null, "a");
    App.select(null, "b");
  }
}

/**
 * @param {MouseEvent} e
 */
function doubleClick(e) {
  const here = onPlot(e), hit = Pick.at(here.x, here.y);
  if (hit?.kind === "slice" && hit.length > 0) {
    const from = View.shown(hit.begin, App.clockOf(hit.row, hit.begin)), room = hit.length * 0.1;
    App.setView(from - room, from + hit.length + room, { animate: true });
  } else View.zoom(0.25, here.x, true);
}

/**
 * @param {WheelEvent} e
 */
function wheel(e) {
  e.preventDefault();
  const unit = e.deltaMode === 1 ? 18 : e.deltaMode === 2 ? 400 : 1, here = onPlot(e);
  if (e.shiftKey && !e.ctrlKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) View.pan((Math.abs(e.deltaX) > Math.abs(e.deltaY) ? e.deltaX : e.deltaY) * unit / View.plot.width);
  else if (e.ctrlKey || e.metaKey || e.altKey || e.currentTarget === ruler || !Rows.overflows()) {
    View.zoom(Math.exp(Math.max(-240, Math.min(240, e.deltaY * unit)) * (e.ctrlKey && Math.abs(e.deltaY) < 40 ? 0.01 : 0.0025)), Math.max(0, here.x));
  } else Rows.scrollBy(e.deltaY * unit);
  hoverAt();
}

// hoverAt looks again at what is under the pointer, which may have moved or be drawn anew.
export function hoverAt() {
  if (cursor.x === null || cursor.y < 0 || drag) return Pick.hover(null);
  Pick.hover(Pick.at(cursor.x, cursor.y));
}

/**
 * @param {CanvasRenderingContext2D} o
 */
function drawZoomRange(o) {
  if (!zoomRange) return;
  const [a, b] = [Math.min(...zoomRange), Math.max(...zoomRange)];
  o.fillStyle = Colors.theme.accent;
  o.globalAlpha = 0.15;
  o.fillRect(a, 0, b - a, View.plot.height);
  o.globalAlpha = 1;
  o.fillRect(a, 0, 1, View.plot.height);
  o.fillRect(b, 0, 1, View.plot.height);
  o.font = "11px system-ui, sans-serif";
  o.textBaseline = "top";
  o.fillText(Time.duration((b - a) * View.perPixel()), a + 6, 6);
}

export function pressed() { return down.size > 0; }
