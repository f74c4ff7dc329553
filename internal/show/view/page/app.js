// app: App joins the parts. It holds what the page shows (the view, the selection, what is hidden) and is all that the
// panels know of the canvas. Nothing here draws: a change marks what it touched, and the next frame draws it.
//
//   App.on(name, fn)   ready, view, select, hover, hidden, raw, redraw, order, theme, focus, measure, grown, tick, follow;
//                      returns how to stop
//   an event           {event, at, row, class, recorded, fields, flow, slice, low, high}, as the request `events` answers it
//   times              ns since the origin, of the timeline; pixels from the left and top of the plot

import { byId } from "./dom.js";
import * as Colors from "./colors.js";
import * as Data from "./data.js";
import * as Dock from "./dock.js";
import * as Draw from "./draw.js";
import * as Follow from "./follow.js";
import * as Keys from "./keys.js";
import * as Live from "./live.js";
import * as Minimap from "./minimap.js";
import * as Pick from "./pick.js";
import * as Pointer from "./pointer.js";
import * as Rows from "./rows.js";
import * as Runs from "./runs.js";
import * as Time from "./time.js";
import * as View from "./view.js";

/** @import { About, Command, HiddenKind, LineId, Overlay, TimelineEvent } from "./types.js" */

const listeners = new Map();
/** @type {Overlay[]} */
const overlays = [];
/** @type {Command[]} */
const commands = [];
/** @type {{ a: TimelineEvent | null, b: TimelineEvent | null }} */
const selection = { a: null, b: null };
/** @type {Record<HiddenKind, Set<any>>} */
const hidden = { hosts: new Set(), rows: new Set(), classes: new Set(), links: new Set(), collapsed: new Set() };
/** @type {About} */
let about;
let frame = 0;
let dirty = 3;

/**
 * @param {string} name
 * @param {(...what: any[]) => unknown} fn
 */
function on(name, fn) {
  if (!listeners.has(name)) listeners.set(name, new Set());
  listeners.get(name).add(fn);
  return () => listeners.get(name).delete(fn);
}

/**
 * emit calls all that listen; one that fails must not keep the others from hearing.
 * @param {string} name
 * @param {...unknown} what
 */
function emit(name, ...what) {
  for (const fn of [...(listeners.get(name) ?? [])]) {
    try { fn(...what); } catch (/** @type {any} */ error) { console.error(error); }
  }
}

// redraw asks for a frame; layer 1 is the rows, 2 what lies over them (cursor, selection, measure).
function redraw(layer = 3) {
  dirty |= layer;
  if (!frame && about) frame = requestAnimationFrame(paint);
}

/**
 * paint draws a frame: what was touched since the last one, and decodes what came meanwhile.
 * @param {number} now
 */
export function paint(now) {
  frame = 0;
  const begun = performance.now(), layers = dirty;
  dirty = 0;
  if (Number(View.step(now)) | Number(Keys.step(now)) | Number(Follow.step(now))) redraw();
  Rows.layOut();
  if (layers & 1) {
    Draw.rows();
    Rows.paint();
    Minimap.draw();
    if (View.moving()) Pick.hover(null);
    else Pointer.hoverAt();
    emit("redraw");
  }
  Draw.overlay(overlays);
  // However long drawing took, some is decoded; and more of it while nothing is drawn yet.
  if (Data.work(Math.max(begun + (Data.decoded ? 8 : 40), performance.now() + 3))) redraw(1);
  Draw.stats.add(performance.now() - begun, layers);
}

/**
 * clockOf is the clock of a row's events, at an instant where it was another one before or after.
 * @param {number} row
 * @param {number} [at]
 */
const clockOf = (row, at) => Runs.at(row, at);

/**
 * setView shows [from, to) of the timeline; with animate the eye can follow the way there.
 * @param {number} from
 * @param {number} to
 * @param {{ animate?: boolean }} [options2]
 */
function setView(from, to, { animate = false } = {}) {
  View.set(from, to, animate);
  redraw();
}

/** @type {{ was: { from: number, to: number }, shown: { from: number, to: number } } | null} */
let refitted = null; // the view from which raw time was turned on, and what it then was

/**
 * setRaw turns raw time on or off. The view goes along, so that what was in sight stays in sight on every host, and comes
 * back if nobody moved it.
 * @param {boolean} raw
 * @param {{ fit?: boolean }} [options1]
 */
function setRaw(raw, { fit = true } = {}) {
  if (View.state.raw === Boolean(raw)) return;
  const { from, to } = View.destination();
  View.setRaw(raw);
  if (fit && raw) {
    const shown = View.rawStretch(from, to);
    if (shown) {
      setView(shown.from, shown.to, { animate: true });
      refitted = { was: { from, to }, shown: { ...View.destination() } };
    }
  } else if (fit && refitted && from === refitted.shown.from && to === refitted.shown.to) {
    setView(refitted.was.from, refitted.was.to, { animate: true });
  } else if (fit && refitted) { // it was moved meanwhile: what stood in its middle stays there
    const { row, host } = Rows.focused(), clock = selection.a ? clockOf(selection.a.row, selection.a.at) : row >= 0 ? clockOf(row) : host >= 0 ? Rows.clockOfHost(host) : -1;
    const middle = (from + to) / 2, at = View.instantOf(clock, middle, 1);
    setView(at - (to - from) / 2, at + (to - from) / 2, { animate: true });
  }
  if (!raw) refitted = null;
  emit("raw", View.state.raw);
  const inverted = about.inverted === undefined ? "" : `: ${Time.grouped(about.inverted)} of ${Time.grouped(about.messages)} messages were received before they were sent`;
  announce(View.state.raw ? `raw time, every host by its own clock${inverted}` : "corrected time");
  redraw();
}

/**
 * go centres an instant, or an event with its row, without a change of scale unless the event would not be seen.
 * @param {number | { at: number, row?: number }} target
 * @param {{ span?: number, animate?: boolean }} [options1]
 */
function go(target, { span = 0, animate = true } = {}) {
  Follow.stop();
  const at = typeof target === "number" ? target : target.at, row = (typeof target === "number" ? -1 : target.row) ?? -1;
  if (row >= 0) Rows.reveal(row);
  const shown = View.shown(at, clockOf(row, at)), half = (span || View.state.to - View.state.from) / 2;
  setView(shown - half, shown + half, { animate });
}

/**
 * select takes an event or its number; null lets go. An event that cannot be read is let go of, and listeners are given the reason.
 * @param {TimelineEvent | number | null} what
 * @param {"a" | "b"} [which]
 */
async function select(what, which = "a") {
  let event = typeof what === "number" ? null : what, missing = "";
  if (typeof what === "number") {
    try { event = (await Data.events(what, 1))[0] ?? null; } catch (error) { missing = `Event ${Time.grouped(what)} cannot be read: ${/** @type {Error} */ (error).message}.`; }
  }
  selection[which] = event;
  if (event && which === "a") Rows.focus(event.row, false);
  emit("select", which, event, missing);
  if (missing) announce(missing);
  if (event) announce(`selected ${which}: ${describe(event)}`);
  redraw();
}

/**
 * @param {number} c
 */
const className = (c) => about.classes[c]?.name ?? `class ${c}`;
/**
 * @param {number} row
 */
const hostOf = (row) => about.hosts[about.rows[row].host];
/**
 * @param {TimelineEvent} e
 */
const describe = (e) => `${className(e.class)} on ${hostOf(e.row).name}, ${about.rows[e.row].name}, ${Time.since(e.at)}`;

/**
 * setHidden hides or shows a host, row, class or link; kind collapsed folds a row by its number, a host by "h" and its
 * number, a heading by "k", its host's number, "." and its kind.
 * @param {HiddenKind} kind
 * @param {LineId} id
 * @param {boolean} yes
 */
function setHidden(kind, id, yes) {
  if (hidden[kind].has(id) === yes) return;
  if (yes) hidden[kind].add(id);
  else hidden[kind].delete(id);
  emit("hidden", kind, id, yes);
  redraw();
}

/**
 * @param {number[]} rows
 */
function setOrder(rows) {
  Rows.setOrder(rows);
  emit("order", Rows.order);
  redraw();
}

/**
 * command gives an action a name, a key as KeyboardEvent.key writes it ("n", "Shift+N" as "N", "Alt+ArrowUp"), and
 * with button a place in the header.
 * @param {{ id: string, key?: string | string[], title: string, run: (() => unknown) | null, button?: boolean, group?: string, pressed?: (() => unknown) | null, label?: string }} options
 */
function command({ id, key = "", title, run, button = false, group = "panels", pressed = null, label = "" }) {
  const keys = Array.isArray(key) ? key : key ? [key] : [];
  const entry = { id, key: keys[0] ?? "", keys, title, run, button, group, pressed, label };
  commands.push(entry);
  if (button) Dock.button(entry);
  return entry;
}

/**
 * announce tells a screen reader what happened.
 * @param {string} text
 */
function announce(text) {
  byId("live").textContent = text;
}

/**
 * open takes what the page is told first; until then nothing is drawn.
 * @param {About} facts
 */
export function open(facts) {
  about = facts;
}

export const App = {
  on, emit, redraw, setView, setRaw, go, select, setHidden, setOrder, command, announce, describe,
  selection, hidden, commands,
  get about() { return about; },
  get data() { return Data; },
  get view() { return View.state; },
  get order() { return Rows.order; },
  get plot() { return View.plot; },
  get hover() { return Pick.hit; },
  get cursor() { return Pointer.cursor; },
  get focused() { return Rows.focused(); },
  get live() { return Live.status(); },
  x: (/** @type {number} */ at, /** @type {number} */ clock = -1) => View.x(at, clock),
  at: (/** @type {any} */ x, /** @type {number} */ clock = -1) => View.at(x, clock),
  rowY: (/** @type {number} */ row) => Rows.y(row),
  // endY is where an arrow to a row ends: its middle, or that of what stands for it while it is folded; null if hidden.
  endY: (/** @type {number} */ row) => Rows.end(row),
  reveal: (/** @type {number} */ row) => Rows.reveal(row),
  focus: (/** @type {number} */ row) => Rows.focus(row, true),
  overlay: (/** @type {Overlay} */ fn) => { overlays.push(fn); redraw(2); },
  bounds: (/** @type {number} */ clock, /** @type {number} */ at) => View.bounds(clock, at),
  recorded: (/** @type {number} */ clock, /** @type {number} */ at) => View.recorded(clock, at),
  clockOf, className, hostOf,
  time: (/** @type {number} */ ns) => Time.full(ns),
  duration: (/** @type {number} */ ns) => Time.duration(ns),
  color: (/** @type {any} */ c) => Colors.css(c),
  colorOf: (/** @type {string} */ name) => Colors.ofText(name),
  ink: (/** @type {any} */ c) => Colors.ink(c),
  // theme has the colours of the page by name, for canvases: text, dim, line, certain, undecidable, quick, bound, ...
  get theme() { return Colors.theme; },
  panel: (/** @type {string} */ id, /** @type {string} */ title, /** @type {{ key?: string, hint?: string }} */ options) => Dock.panel(id, title, options),
  show: (/** @type {string} */ id, /** @type {boolean} */ yes = true) => Dock.show(id, yes),
  fit: () => View.fit(),
  stats: () => Draw.stats.report(),
  resetStats: () => Draw.stats.reset(),
};
