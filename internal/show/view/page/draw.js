// draw: a frame. The rows' canvas is drawn when the view, the data or the rows change; the canvas over it (cursor, bounds
// around it, selection, what the panels add) with every move of the pointer. Everything is in device pixels on the rows'
// canvas, so that edges are sharp on every screen, and in the page's pixels on the one above.

import { byId, canvasById, context } from "./dom.js";
import { App } from "./app.js";
import * as Axis from "./axis.js";
import * as Colors from "./colors.js";
import * as Data from "./data.js";
import * as Groups from "./groups.js";
import * as Lanes from "./lanes.js";
import * as Links from "./links.js";
import * as Live from "./live.js";
import * as Minimap from "./minimap.js";
import * as Pick from "./pick.js";
import * as Pointer from "./pointer.js";
import * as Ribbons from "./ribbons.js";
import * as Rows from "./rows.js";
import * as Runs from "./runs.js";
import * as Summary from "./summary.js";
import * as Time from "./time.js";
import * as View from "./view.js";

/** @import { About, Label, Line, Overlay } from "./types.js" */

const under = canvasById("rows");
const over = canvasById("over");
const g = context(under, { alpha: false });
const o = context(over);
const MaxLabels = 700;
export const font = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const widths = new Map();
const names = new Map();
/** @type {About} */
let about;
export let ratio = 1;
/** @type {Label[]} */
let drawn = [];
/** @type {Line[]} */
let seen = [];

// stats keeps what the last frames cost, for the benchmark and for the console.
export const stats = {
  /** @type {number[]} */
  times: [],
  /** @type {number[]} */
  layers: [],
  add(/** @type {number} */ ms, /** @type {number} */ layers) {
    this.times.push(ms);
    this.layers.push(layers);
    if (this.times.length > 4000) { this.times.splice(0, 2000); this.layers.splice(0, 2000); }
  },
  report() {
    const rows = this.times.filter((_, i) => this.layers[i] & 1), sorted = [...rows].sort((a, b) => a - b);
    const part = (/** @type {any} */ p) => sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))] ?? 0;
    return { frames: rows.length, all: this.times.length, median: part(0.5), p99: part(0.99), worst: part(1), times: [...rows], decoded: Data.decoded, busy: Data.busy(), arrows: Links.count() };
  },
  last() { return this.times[this.times.length - 1] ?? 0; },
  reset() { this.times = []; this.layers = []; },
};

/**
 * @param {About} facts
 */
export function open(facts) {
  about = facts;
  App.on("theme", () => { widths.clear(); });
}

// forgetNames has the names of classes asked for again: there may be more.
export function forgetNames() { names.clear(); }

export function resize() {
  ratio = devicePixelRatio || 1;
  for (const canvas of [under, over]) {
    const w = Math.max(1, Math.round(View.plot.width * ratio)), h = Math.max(1, Math.round(View.plot.height * ratio));
    if (canvas.width !== w) canvas.width = w;
    if (canvas.height !== h) canvas.height = h;
  }
  widths.clear();
}

/**
 * want asks for the tiles of where the view will be, and hopes for those beside and above.
 * @param {any} hosts
 */
function want(hosts) {
  const { from, to } = View.destination(), level = Lanes.levelFor((to - from) / View.plot.width), /** @type {string[]} */ keys = [], /** @type {string[]} */ hoped = [];
  const length = to - from;
  for (const [host, lists] of hosts) {
    for (const run of [...lists].flat()) {
      const reach = Lanes.reach(run.clock, View.destination()), a = Math.max(reach[0], run.from), b = Math.min(reach[1], run.to);
      if (!(b > a)) continue;
      Lanes.keysFor(host, a, b, level, keys);
      Lanes.keysFor(host, Math.max(0, run.from, a - length / 2), a, level, hoped);
      Lanes.keysFor(host, b, Math.min(about.span, run.to, b + length / 2), level, hoped);
      if (level < about.top) Lanes.keysFor(host, a, b, level + 1, hoped);
    }
  }
  Links.want(level, keys, hoped);
  const own = new Set(keys), /** @type {string[]} */ map = [];
  Minimap.want(map);
  Data.want([...new Set([...keys, ...map])], [...new Set(hoped)], new Set(map.filter((key) => !own.has(key))));
}

/**
 * hostsIn maps each host in sight to the runs of its rows, and of those below what is folded.
 * @param {Line[]} lines
 */
function hostsIn(lines) {
  const hosts = new Map();
  for (const line of lines) {
    if (!hosts.has(line.host)) hosts.set(line.host, new Set());
    const runs = hosts.get(line.host);
    if (line.row >= 0) runs.add(Runs.of(line.row));
    if (line.below) for (const part of Summary.partsOf(line)) runs.add(part.runs);
  }
  return hosts;
}

export function rows() {
  const W = under.width, H = under.height, lines = Rows.inSight(), pin = Rows.pinned(), { theme } = Colors;
  Lanes.begin(W);
  Summary.begin(W);
  const hosts = hostsIn(pin ? [pin.line, ...lines] : lines);
  want(hosts);
  g.setTransform(1, 0, 0, 1, 0, 0);
  g.fillStyle = theme.ground;
  g.fillRect(0, 0, W, H);
  const level = Lanes.levelFor(View.perPixel());
  drawn = [];
  seen = lines;
  backgrounds(lines, W);
  Groups.draw(g, ratio, Rows.scrolled, about);
  for (const line of lines) if (line !== pin?.line) paint(line, line.y - Rows.scrolled, level, false);
  if (pin) paint(pin.line, pin.top, level, true);
  Links.prepare(level);
  Lanes.upload();
  Ribbons.draw(g);
  Links.behind(g, ratio);
  Lanes.flush(g, false);
  text();
  Links.before(g, ratio);
  if (pin) {
    header(pin.top, pin.line.h, W);
    Lanes.flush(g, true);
  }
  Links.violations(g, ratio, pin ? pin.top + pin.line.h : 0);
  Axis.draw();
  byId("width").textContent = `${Time.duration(View.perPixel())}/px`;
}

/**
 * @param {number} y
 */
const px = (y) => Math.round(y * ratio);

/**
 * @param {number} top
 * @param {number} h
 * @param {number} W
 */
function header(top, h, W) {
  g.fillStyle = Colors.theme.panel;
  g.fillRect(0, px(top), W, px(top + h) - px(top));
  g.fillStyle = Colors.theme.line;
  g.fillRect(0, px(top + h) - Math.max(1, Math.round(ratio)), W, Math.max(1, Math.round(ratio)));
}

/**
 * @param {Line[]} lines
 * @param {number} W
 */
function backgrounds(lines, W) {
  const { theme } = Colors, hair = Math.max(1, Math.floor(ratio));
  g.fillStyle = theme.lane;
  for (const line of lines) if (line.type === "kind") g.fillRect(0, px(line.y - Rows.scrolled), W, px(line.h));
  g.fillStyle = theme.line;
  g.globalAlpha = 0.45;
  for (const [x] of Axis.ticks().list) g.fillRect(Math.round(x * ratio), 0, hair, under.height);
  for (const line of lines) if (line.type === "row") g.fillRect(0, px(line.y - Rows.scrolled + line.h) - hair, W, hair);
  g.globalAlpha = 1;
  for (const line of lines) if (line.type === "host") header(line.y - Rows.scrolled, line.h, W);
}

/**
 * paint makes the pixels of one line's lanes.
 * @param {Line} line
 * @param {number} top
 * @param {number} level
 * @param {boolean} pin
 */
function paint(line, top, level, pin) {
  if (line.type === "host") {
    const clock = Rows.clockOfHost(line.host), high = px(20), low = px(8);
    Lanes.blit(Summary.strip(line, high, level), high, px(top + 2), high, pin);
    if (clock >= 0) Lanes.blit(Lanes.bound(line.host, clock, low, ratio), low, px(top + 24), low, pin);
    return;
  }
  const plan = line.row >= 0 ? Lanes.planOf(line.host, Runs.of(line.row), level) : [], hidden = App.hidden.classes;
  for (const lane of line.lanes) {
    const y = top + lane.y, h = px(y + lane.h) - px(y);
    if (y > View.plot.height || y + lane.h < 0) continue;
    if (lane.kind === "summary") {
      Lanes.blit(Summary.strip(line, h, level), h, px(y), h);
      continue;
    }
    const label = (/** @type {number} */ x0, /** @type {number} */ x1, /** @type {number} */ name) => drawn.length < MaxLabels && drawn.push({ x0, x1, y: px(y) + h / 2, name, ticks: lane.kind === "instants" });
    if (lane.kind === "slices") Lanes.blit(Lanes.slices(plan, lane.lane ?? -1, ratio, hidden, label), 1, px(y), h);
    else if (lane.kind === "instants") Lanes.blit(Lanes.instants(plan, lane.lane ?? -1, ratio, hidden, label), 1, px(y), h);
    else Lanes.blit(Lanes.counter(plan, lane, h), h, px(y), h);
  }
}

/**
 * nameOf is a class's name without what would steer the letters around it.
 * @param {number} c
 */
function nameOf(c) {
  if (!names.has(c)) names.set(c, clean(App.className(c)));
  return names.get(c);
}
/**
 * @param {string} t
 */
// eslint-disable-next-line no-control-regex
export const clean = (t) => t.slice(0, 200).replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");

/**
 * @param {string} t
 */
export function widthOf(t) {
  let w = widths.get(t);
  if (w === undefined) {
    if (widths.size > 20000) widths.clear();
    widths.set(t, (w = g.measureText(t).width));
  }
  return w;
}

/**
 * fitted is a text cut to a width, or nothing if little would be left.
 * @param {string} t
 * @param {number} room
 */
export function fitted(t, room) {
  const w = widthOf(t);
  if (w <= room) return t;
  const n = Math.floor(t.length * room / w) - 1;
  return n < 2 ? "" : `${t.slice(0, n)}…`;
}

function text() {
  g.font = font.replace("11px", `${Math.round(11 * ratio)}px`);
  g.textBaseline = "middle";
  const pad = 4 * ratio;
  for (const ticks of [false, true]) {
    let ink = g.fillStyle = Colors.theme.dim;
    for (const d of drawn) {
      if (d.ticks !== ticks) continue;
      if (!ticks && Colors.ink(d.name) !== ink) ink = g.fillStyle = Colors.ink(d.name);
      const x = Math.max(d.x0, 0) + (ticks ? 2 * ratio : pad), shown = fitted(nameOf(d.name), d.x1 - x - (ticks ? 6 * ratio : pad));
      if (shown) g.fillText(shown, Math.round(x), Math.round(d.y + 0.5 * ratio));
    }
  }
}

/**
 * @param {Overlay[]} more
 */
export function overlay(more) {
  const { width, height } = View.plot;
  o.setTransform(ratio, 0, 0, ratio, 0, 0);
  o.clearRect(0, 0, width, height);
  const { x } = Pointer.cursor;
  const at = x === null ? (View.state.from + View.state.to) / 2 : View.at(x, -1);
  Rows.bounds(at);
  if (x !== null) cursor(x);
  focus();
  if (Live.growing()) present();
  Pick.outline(o);
  selected();
  for (const fn of more) {
    o.save();
    try { fn(o); } catch (/** @type {any} */ error) { console.error(error); }
    o.restore();
  }
  status(x);
}

// spans joins the lines in sight into one stretch for each host.
function spans() {
  /** @type {{ host: number, top: number, bottom: number }[]} */
  const list = [];
  for (const line of seen) {
    const top = line.y - Rows.scrolled, last = list[list.length - 1];
    if (last?.host === line.host) last.bottom = top + line.h;
    else list.push({ host: line.host, top, bottom: top + line.h });
  }
  return list;
}

/**
 * cursor draws the line under the pointer, and around it, for each host, where an instant that is shown there may
 * truly lie.
 * @param {number} x
 */
function cursor(x) {
  const { theme } = Colors, { width, height } = View.plot;
  for (const { host, top, bottom } of spans()) {
    const clock = Rows.clockOfHost(host);
    if (clock < 0) continue;
    const at = View.at(x, clock), { low, high } = Rows.boundsOfHost(host, at);
    const x0 = low === null ? 0 : Math.max(-4, View.x(at - low, clock)), x1 = high === null ? width : Math.min(width + 4, View.x(at + high, clock));
    o.fillStyle = theme.bound;
    // A band that is wider than the plot says that nothing in sight is sure: it may tint, but not hide.
    o.globalAlpha = low === null || high === null || (x0 <= 0 && x1 >= width) ? 0.06 : 0.17;
    o.fillRect(Math.min(x0, x - 0.5), top, Math.max(1, x1 - x0), bottom - top);
    o.globalAlpha = 0.75;
    if (low !== null && x - x0 > 1.5) o.fillRect(x0, top, 1, bottom - top);
    if (high !== null && x1 - x > 1.5) o.fillRect(x1 - 1, top, 1, bottom - top);
  }
  // An instant is one within its group only: over the others the line is faint.
  const line = Rows.lineAtY(Pointer.cursor.y), [top, bottom] = line ? Groups.stretch(about, about.hosts[line.host].component, Rows.scrolled) : [0, height];
  o.fillStyle = theme.text;
  for (const [alpha, from, to] of [[0.8, top, bottom], [0.2, 0, top], [0.2, bottom, height]]) {
    o.globalAlpha = alpha;
    o.fillRect(Math.round(x * ratio) / ratio, from, 1 / ratio, Math.max(0, to - from));
  }
  o.globalAlpha = 1;
}

// present draws a line where the timeline has come to.
function present() {
  const x = View.x(Live.now());
  if (x < 0 || x > View.plot.width - 1) return;
  o.fillStyle = Colors.theme.accent;
  o.globalAlpha = 0.6;
  o.fillRect(Math.round(x * ratio) / ratio, 0, 1, View.plot.height);
  o.globalAlpha = 1;
}

function focus() {
  const { line } = Rows.focused();
  if (!line) return;
  const pin = Rows.pinned(), top = line.type === "host" && pin && pin.line === line ? pin.top : line.y - Rows.scrolled;
  if (top > View.plot.height || top + line.h < 0) return;
  o.fillStyle = Colors.theme.accent;
  o.globalAlpha = 0.07;
  o.fillRect(0, top, View.plot.width, line.h);
  o.globalAlpha = 1;
}

// selected draws a line through each of the two chosen events, a's full, b's dashed; Order adds their letters and bounds.
function selected() {
  for (const which of /** @type {("a" | "b")[]} */ (["a", "b"])) {
    const event = App.selection[which];
    if (!event) continue;
    const x = View.x(event.at, App.clockOf(event.row, event.at));
    if (x < -2 || x > View.plot.width + 2) continue;
    o.strokeStyle = Colors.theme[which];
    o.lineWidth = 1.25;
    o.globalAlpha = 0.7;
    o.setLineDash(which === "a" ? [] : [5, 3]);
    const [top, bottom] = Groups.stretch(about, App.hostOf(event.row).component, Rows.scrolled);
    o.beginPath();
    o.moveTo(x, top);
    o.lineTo(x, Math.max(top, bottom));
    o.stroke();
    o.setLineDash([]);
    o.globalAlpha = 1;
  }
}

/**
 * @param {number | null} x
 */
function status(x) {
  const now = byId("now"), here = byId("here");
  const at = x === null ? null : View.at(x, -1);
  const words = at === null ? "" : `${Time.full(at)}   ${Time.since(at)}`;
  if (now.textContent !== words) now.textContent = words;
  const told = Pick.told() || (Data.busy() ? "reading…" : "");
  if (here.textContent !== told) here.textContent = told;
}
