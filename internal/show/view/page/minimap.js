// minimap: the whole timeline in a strip above the plot, a line for each host, with the view as a window that can be
// dragged and stretched, and all violations below. Its picture is made anew only when tiles come or hosts are moved.

import { canvasById, context } from "./dom.js";
import { App } from "./app.js";
import * as Colors from "./colors.js";
import * as Data from "./data.js";
import * as Decode from "./decode.js";
import * as Links from "./links.js";
import * as Live from "./live.js";
import * as Rows from "./rows.js";
import * as Runs from "./runs.js";
import * as Summary from "./summary.js";
import * as Time from "./time.js";
import * as View from "./view.js";

/** @import { About, Part, Tile } from "./types.js" */

const canvas = canvasById("minimap");
const g = context(canvas);
const picture = document.createElement("canvas");
const Grip = 6;
const Foot = 11;
const Refresh = 1000; // ms between two pictures of what grows
const MaxHosts = 12;
const lines = new Map();
/** @type {About} */
let about;
let madeFor = "";
/** @type {any} */
let drag = null;
let decoded = -1;
/** @type {Tile[][]} */
let all = [];
let tiles = "";
let made = 0; // when the picture was
let extent = [0, 1]; // what it shows

/**
 * @param {About} facts
 */
export function open(facts) {
  about = facts;
  canvas.addEventListener("pointerdown", press);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", () => { drag = null; });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("dblclick", () => View.fit());
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); View.zoom(Math.exp(Math.max(-200, Math.min(200, e.deltaY)) * 0.002)); }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: -0.25, ArrowRight: 0.25, PageDown: 1, PageUp: -1 }[e.key];
    if (step) View.pan(step, true);
    else if (e.key === "Home") View.fit();
    else return;
    e.preventDefault();
    e.stopPropagation();
  });
  App.on("grown", () => { lines.clear(); made = 0; decoded = -1; });
  new ResizeObserver(() => App.redraw()).observe(canvas);
}

// whole is what the map shows, which of a timeline that grows is what there was a moment ago.
export function whole() {
  if (!Live.growing() || !made) extent = View.whole();
  return extent;
}

const level = () => Math.max(0, about.top - 1);

/**
 * want asks for the coarsest tiles of all, which also are what is drawn until finer ones are there.
 * @param {string[]} keys
 */
export function want(keys) {
  for (let group = 0; group <= about.hosts.length && group < 200; group++) {
    if (group === about.hosts.length && !about.links.length) continue;
    for (let i = 0; i <= Math.floor(about.span / (2 ** level() * Decode.Bins)); i++) if (!Data.covered(group, level(), i)) keys.push(`${group}.${level()}.${i}`);
  }
}

/**
 * @param {number} group
 */
const tilesOf = (group) => {
  const list = new Set();
  for (let i = 0; i <= Math.floor(about.span / (2 ** level() * Decode.Bins)); i++) { const tile = Data.best(group, level(), i); if (tile) list.add(tile); }
  return [...list];
};

/**
 * make draws the picture: how much happens on each host, the darker the more.
 * @param {number} width
 * @param {number} height
 * @param {number} ratio
 */
function make(width, height, ratio) {
  picture.width = Math.max(1, Math.round(width * ratio));
  picture.height = Math.max(1, Math.round(height * ratio));
  const p = context(picture), W = picture.width, [first, last] = whole(), scale = W / (last - first);
  const { theme } = Colors, hosts = order(), strips = Math.min(hosts.length, MaxHosts), h = (height - Foot - 5) / Math.max(1, strips);
  p.fillStyle = theme.panel;
  p.fillRect(0, 0, W, picture.height);
  const sums = new Float32Array(W);
  for (let s = 0; s < strips; s++) {
    sums.fill(0);
    let most = 0;
    const group = hosts.filter((_, i) => Math.floor(i * strips / hosts.length) === s);
    for (const host of group) {
      for (const { clock, from, to, tile, count } of activityOf(host)) {
        for (let b = 0; b < Decode.Bins; b++) {
          const a = tile.from + b * tile.width;
          if (!count[b] || a + tile.width <= from || a >= to) continue;
          const x0 = Math.round((View.shown(a, clock) - first) * scale), x1 = Math.max(x0 + 1, Math.round((View.shown(a + tile.width, clock) - first) * scale));
          for (let x = Math.max(0, x0); x < x1 && x < W; x++) { sums[x] += count[b] / (x1 - x0); if (sums[x] > most) most = sums[x]; }
        }
      }
    }
    p.fillStyle = theme.accent;
    const top = Math.round((3 + s * h) * ratio), high = Math.max(1, Math.round((h - 1) * ratio)), darkest = Math.log1p(most);
    // Runs of the same shade are one rectangle.
    for (let x = 0; x < W;) {
      const shade = sums[x] ? 2 + Math.round(Math.log1p(sums[x]) / darkest * 8) : 0;
      let end = x + 1;
      while (end < W && (sums[end] ? 2 + Math.round(Math.log1p(sums[end]) / darkest * 8) : 0) === shade) end++;
      if (shade) { p.globalAlpha = shade / 12; p.fillRect(x, top, end - x, high); }
      x = end;
    }
  }
  p.globalAlpha = 1;
  violations(p, height, ratio, W, first, scale, all[about.hosts.length]);
}

/**
 * activityOf lists how much happens on a host in the bins of its tiles, by which clock: all at once if it is one.
 * @param {number} host
 */
function activityOf(host) {
  const rows = about.rows.flatMap((r, n) => (r.host === host ? [n] : [])), runs = new Set(rows.map((n) => Runs.of(n)));
  if (!View.state.raw || (runs.size === 1 && [...runs][0].length === 1)) {
    const clock = Rows.clockOfHost(host);
    return all[host].map((tile) => ({ clock, from: -Infinity, to: Infinity, tile, count: Decode.density(tile).count }));
  }
  return Summary.partsOf(everything(host, rows)).flatMap((/** @type {Part} */ part) => all[host].flatMap((tile) => { const { count } = Summary.sum(tile, part); return part.runs.map((run) => ({ ...run, tile, count })); }));
}

/**
 * everything is a line of all rows of a host, whatever is hidden.
 * @param {number} host
 * @param {number[]} rows
 */
function everything(host, rows) {
  if (!lines.has(host)) lines.set(host, { host, below: rows });
  return lines.get(host);
}

/**
 * @param {CanvasRenderingContext2D} p
 * @param {number} height
 * @param {number} ratio
 * @param {number} W
 * @param {number} first
 * @param {number} scale
 * @param {Tile[]} own
 */
function violations(p, height, ratio, W, first, scale, own) {
  const worst = new Uint8Array(W);
  for (const tile of own) {
    const sum = Decode.density(tile);
    for (let b = 0; b < Decode.Bins; b++) {
      if (sum.worst[b] < 2) continue;
      const x = Math.round((tile.from + (b + 0.5) * tile.width - first) * scale);
      if (x >= 0 && x < W && sum.worst[b] > worst[x]) worst[x] = sum.worst[b];
    }
  }
  p.setTransform(ratio, 0, 0, ratio, 0, 0);
  p.fillStyle = Colors.theme.line;
  p.fillRect(0, height - Foot, W, 0.5);
  const apart = 7, used = new Map();
  for (let x = 0; x < W; x++) if (worst[x]) { const c = Math.floor(x / ratio / apart); if (!used.has(c) || worst[x] > used.get(c)[1]) used.set(c, [x / ratio, worst[x]]); }
  for (const v of [2, 3, 4]) for (const [x, verdict] of used.values()) if (verdict === v) {
    p.fillStyle = Colors.theme[Links.kinds[v]];
    if (v === 4) p.fillRect(x - 0.75, 2, 1.5, height - Foot - 2);
    Links.shape(p, x, height - Foot / 2, v, 3.2);
  }
  p.setTransform(1, 0, 0, 1, 0, 0);
}

function order() {
  const seen = [...new Set(Rows.order.map((row) => about.rows[row].host))];
  return [...seen, ...about.hosts.map((_, h) => h).filter((h) => !seen.includes(h))].filter((h) => !App.hidden.hosts.has(h));
}

export function draw() {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (Live.growing() && made && performance.now() - made >= Refresh) made = 0;
  if (decoded !== Data.decoded && !(Live.growing() && made)) { // new tiles may be finer ones for here
    decoded = Data.decoded;
    all = Array.from({ length: about.hosts.length + 1 }, (_, group) => tilesOf(group));
    tiles = all.map((list) => list.map((t) => t.serial).join()).join(";");
  }
  const key = [width, height, ratio, Colors.theme.dark, View.state.raw, order().join(), tiles, ...whole()].join("|");
  if (key !== madeFor) {
    madeFor = key;
    made = performance.now();
    make(width, height, ratio);
  }
  if (canvas.width !== picture.width) canvas.width = picture.width;
  if (canvas.height !== picture.height) canvas.height = picture.height;
  g.setTransform(1, 0, 0, 1, 0, 0);
  g.drawImage(picture, 0, 0);
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  const [x0, x1] = ends(), { theme } = Colors;
  g.fillStyle = theme.ground;
  g.globalAlpha = 0.6;
  g.fillRect(0, 0, x0, height);
  g.fillRect(x1, 0, width - x1, height);
  g.globalAlpha = 1;
  g.strokeStyle = theme.accent;
  g.lineWidth = 1.5;
  g.strokeRect(Math.max(0.75, x0), 0.75, Math.max(3, Math.min(width - 0.75, x1) - Math.max(0.75, x0)), height - 1.5);
  g.fillStyle = theme.accent;
  for (const x of [Math.max(1, x0), Math.min(width - 1, x1)]) g.fillRect(x - 1.75, height / 2 - 8, 3.5, 16);
  const now = Math.round(((View.state.from + View.state.to) / 2 - whole()[0]) / (whole()[1] - whole()[0]) * 100);
  if (canvas.getAttribute("aria-valuenow") !== String(now)) {
    canvas.setAttribute("aria-valuenow", String(now));
    canvas.setAttribute("aria-valuetext", `${Time.duration(View.state.to - View.state.from)} in sight, from ${Time.since(View.state.from)}`);
  }
}

function ends() {
  const [first, last] = whole(), scale = canvas.clientWidth / (last - first);
  return [(View.state.from - first) * scale, (View.state.to - first) * scale];
}

/**
 * @param {number} x
 */
const timeAt = (x) => { const [first, last] = whole(); return first + x / canvas.clientWidth * (last - first); };

/**
 * press takes an edge of the window, the window, or, beside it, brings it there first.
 * @param {PointerEvent} e
 */
function press(e) {
  if (e.button) return;
  canvas.setPointerCapture(e.pointerId);
  const x = e.offsetX, [x0, x1] = ends(), { from, to } = View.state;
  const wide = x1 - x0 > 4 * Grip;
  if (Math.abs(x - x0) <= Grip && (wide || x < x0)) drag = { edge: "from" };
  else if (Math.abs(x - x1) <= Grip && (wide || x > x1)) drag = { edge: "to" };
  else if (x > x0 && x < x1) drag = { by: timeAt(x) - from };
  else {
    drag = { by: (to - from) / 2 };
    App.setView(timeAt(x) - drag.by, timeAt(x) + drag.by, { animate: true });
  }
}

/**
 * @param {PointerEvent} e
 */
function move(e) {
  const x = e.offsetX, [x0, x1] = ends(), { from, to } = View.destination();
  if (!drag) {
    canvas.style.cursor = Math.min(Math.abs(x - x0), Math.abs(x - x1)) <= Grip ? "ew-resize" : x > x0 && x < x1 ? "grab" : "pointer";
    return;
  }
  const t = timeAt(x);
  if (drag.edge === "from") App.setView(Math.min(t, to - 8), to);
  else if (drag.edge === "to") App.setView(from, Math.max(t, from + 8));
  else App.setView(t - drag.by, t - drag.by + (to - from));
}
