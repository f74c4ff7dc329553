// links: messages between rows. A few are arrows from where they were sent to where they came, with their one-way delay
// where there is room; many are a ribbon for each link, the stronger the more of them. Violations are drawn over all
// else, at every scale, and none is left out where another hides it: of those in one place the worst is shown.
// How sure a violation is shows in its shape and line as well as its colour:
//   certain      4  filled diamond, bold line            undecidable  3  hollow diamond, dashed line
//   too quick    2  filled triangle, thin double line    within step  1  small ring, none
// Arrows that go backwards in raw time are bold, of dots and dashes, with a hollow head and a colour of their own.

import { App } from "./app.js";
import * as Colors from "./colors.js";
import * as Data from "./data.js";
import * as Decode from "./decode.js";
import * as Draw from "./draw.js";
import * as Lanes from "./lanes.js";
import * as Ribbons from "./ribbons.js";
import * as Rows from "./rows.js";
import * as Runs from "./runs.js";
import * as Time from "./time.js";
import * as View from "./view.js";

/** @import { About, Arrow, Link, LinkInSight, Span, TileLane } from "./types.js" */

const MaxArrows = 2000;
const MaxMarks = 1500;
const MaxSingle = 250; // violations in sight that are drawn one by one
const Column = 5; // pixels of a bar of density
const MaxTexts = 60;
const Near = 7;
const Apart = 5;
/** @type {About} */
let about;
let level = 0;
/** @type {Arrow[]} */
export let arrows = [];
/** @type {any[]} */
export let marks = [];
export let summed = 0; // links of which messages are drawn together, as bands
export const backwards = [9, 3, 2, 3]; // the dashes of a message that is inverted in raw time

/**
 * shown says between which heights a link goes, or null: an end that is folded is at what stands for it.
 * @param {Link} link
 */
function ends(link) {
  if (App.hidden.links.has(link.lane)) return null;
  const y0 = Rows.end(link.from), y1 = Rows.end(link.to);
  if (y0 === null || y1 === null) return null;
  const bottom = View.plot.height;
  if ((y0 < 0 && y1 < 0) || (y0 > bottom && y1 > bottom)) return null;
  return [y0, y1];
}

/**
 * reach is what any clock may show of messages.
 * @param {Span} view
 */
function reach(view) {
  if (!View.part()) return Lanes.reach(-1, view);
  const all = Runs.all.map(({ from, to, clock }) => { const [a, b] = Lanes.reach(clock, view); return [Math.max(a, from), Math.min(b, to)]; }).filter(([a, b]) => b > a);
  if (!all.length) return [0, 0];
  return [Math.min(...all.map((r) => r[0])), Math.max(...all.map((r) => r[1]))];
}

/**
 * @param {number} fine
 * @param {string[]} keys
 * @param {string[]} hoped
 */
export function want(fine, keys, hoped) {
  about = Data.about;
  if (!about.links.length) return;
  const [a, b] = reach(View.destination()), group = about.hosts.length;
  level = fine;
  while (level < about.top && (b - a) / (2 ** level * Decode.Bins) > 12) level++; // raw, hosts may be far apart
  Lanes.keysFor(group, a, b, level, keys);
  Lanes.keysFor(group, Math.max(0, a - (b - a) / 2), a, level, hoped);
  Lanes.keysFor(group, b, Math.min(about.span, b + (b - a) / 2), level, hoped);
}

// plan lists the tiles to draw; pieces are by the sender's clock when each is drawn.
function plan() {
  const [from, to] = reach(View.state), list = [], width = 2 ** level * Decode.Bins, group = about.hosts.length;
  for (let i = Math.floor(from / width); i <= Math.floor(to / width) && to > from;) {
    const tile = Data.best(group, level, i), next = tile ? Math.max(i + 1, Math.ceil(tile.to / width)) : i + 1;
    if (tile) list.push({ tile, from: list.length ? Math.max(from, i * width) : -Infinity, to: Math.min(to, next * width) });
    i = next;
  }
  return list;
}

/**
 * prepare finds what there is to draw, and makes the ribbons.
 * @param {number} fine
 */
export function prepare(fine) {
  arrows = [];
  marks = [];
  Ribbons.begin(Lanes.width);
  if (!about?.links.length) return;
  level = Math.max(fine, 0);
  const [a, b] = reach(View.state);
  while (level < about.top && (b - a) / (2 ** level * Decode.Bins) > 12) level++;
  const tiles = plan(), many = [];
  const shown = [];
  for (const link of about.links) {
    const y = ends(link);
    if (!y) continue;
    /** @type {LinkInSight} */
    const one = { link, y0: y[0], y1: y[1], exact: [], binned: [], n: 0 };
    for (const { tile, from, to } of tiles) {
      const lane = tile.lanes.get(link.lane);
      if (!lane) continue;
      if (lane.mode === Decode.Messages) exact(one, lane, from, to);
      else if (lane.mode === Decode.BinnedMessages) one.binned.push({ lane, tile, from, to });
    }
    if (one.n || one.binned.length) shown.push(one);
  }
  shown.sort((p, q) => p.n - q.n);
  let room = MaxArrows;
  for (const one of shown) {
    // What is denser than arrows can be told apart, or is partly known by bins only, is a ribbon all along.
    const asArrows = one.n <= room && !one.binned.length && one.n * Apart <= View.plot.width;
    if (asArrows) {
      room -= one.n;
      for (const e of one.exact) arrows.push(e);
    }
    if (one.binned.length || (one.n && !asArrows)) many.push({ one, alsoExact: !asArrows });
    collect(one, asArrows);
  }
  summed = many.length;
  // Ribbons lie over each other: the more there are, the paler each.
  const strength = Math.max(1, many.length) ** -0.75;
  for (const { one, alsoExact } of many) ribbon(one, alsoExact, strength);
  Ribbons.prepare();
}

/**
 * behind draws the lines of arrows, over which slices are drawn.
 * @param {CanvasRenderingContext2D} g
 * @param {number} ratio
 */
export function behind(g, ratio) {
  const { ordered, inverted } = sorted();
  g.strokeStyle = Colors.theme.message;
  g.lineWidth = ratio;
  g.globalAlpha = arrows.length > 400 ? 0.35 : arrows.length > 100 ? 0.55 : 0.8;
  strokes(g, ordered, ratio);
  g.globalAlpha = 1;
  if (!inverted.length) return;
  g.strokeStyle = Colors.theme.inverted;
  g.lineWidth = 1.75 * ratio;
  g.setLineDash(backwards.map((n) => n * ratio));
  strokes(g, inverted, ratio);
  g.setLineDash([]);
}

/**
 * before draws over slices where arrows end, and their delays.
 * @param {CanvasRenderingContext2D} g
 * @param {number} ratio
 */
export function before(g, ratio) {
  if (!arrows.length) return;
  heads(g, ratio);
  texts(g, ratio);
}

const sorted = () => ({ ordered: arrows.filter((a) => !a.inverted), inverted: arrows.filter((a) => a.inverted) });

const sentX = (/** @type {LinkInSight} */ one, /** @type {number} */ at) => View.x(at, Runs.at(one.link.from, at)), receivedX = (/** @type {LinkInSight} */ one, /** @type {number} */ at) => View.x(at, Runs.at(one.link.to, at));

/**
 * exact lists the messages of a link that may be in sight.
 * @param {LinkInSight} one
 * @param {TileLane} lane
 * @param {number} from
 * @param {number} to
 */
function exact(one, lane, from, to) {
  const { at, delay, verdict, event, to: received } = lane, { width } = View.plot, { raw } = View.state;
  let i = from === -Infinity ? 0 : Lanes.after(at, lane.n, from);
  for (; i < lane.n && at[i] < to; i++) {
    const x0 = sentX(one, at[i]), x1 = receivedX(one, at[i] + delay[i]);
    if ((x0 < 0 && x1 < 0) || (x0 > width && x1 > width)) continue;
    const by = raw ? View.recorded(Runs.at(one.link.to, at[i] + delay[i]), at[i] + delay[i]) - View.recorded(Runs.at(one.link.from, at[i]), at[i]) : delay[i];
    one.exact.push({ x0, x1, y0: one.y0, y1: one.y1, verdict: verdict[i], delay: delay[i], by, inverted: raw && by < 0, at: at[i], link: one.link, event: event[i], to: received[i] });
    one.n++;
  }
}

/**
 * collect keeps the worst violation of a link for each few pixels.
 * @param {LinkInSight} one
 * @param {boolean} asArrows
 */
function collect(one, asArrows) {
  const by = new Map();
  const put = (/** @type {number} */ x0, /** @type {number} */ x1, /** @type {number} */ verdict, /** @type {number} */ n, /** @type {Arrow | null} */ message) => {
    const column = Math.floor(x0 / Near), was = by.get(column);
    if (!was) by.set(column, { x0, x1, y0: one.y0, y1: one.y1, verdict, n, link: one.link, message });
    else {
      was.n += n;
      if (verdict > was.verdict) Object.assign(was, { x0, x1, verdict, message });
    }
  };
  for (const e of one.exact) if (e.verdict) put(e.x0, e.x1, e.verdict, 1, e);
  for (const { lane, tile, from, to } of one.binned) {
    for (let i = 0; i < lane.n; i++) {
      if (!lane.verdict[i]) continue;
      const at = tile.from + (lane.at[i] + 0.5) * tile.width;
      if (at < from || at >= to) continue;
      const x0 = sentX(one, at);
      if (x0 < -9 || x0 > View.plot.width + 9) continue;
      put(x0, receivedX(one, at + (lane.verdict[i] > 1 ? lane.least[i] : lane.greatest[i])), lane.verdict[i], lane.count[i], null);
    }
  }
  for (const mark of by.values()) if (mark.verdict > 1 || (asArrows && mark.message)) marks.push(mark);
}

/**
 * ribbon notes how many messages a link carries along time, leaning as they took on the way.
 * @param {LinkInSight} one
 * @param {boolean} alsoExact
 * @param {number} strength
 */
function ribbon(one, alsoExact, strength) {
  const base = Ribbons.take(), { width } = Lanes, { alphas } = Ribbons;
  const per = View.plot.width / width;
  let delays = 0, n = 0;
  const put = (/** @type {number} */ x0, /** @type {number} */ x1, /** @type {number} */ count) => {
    const each = count / Math.max(1, x1 - x0), alpha = Math.max(4, Math.round(strength * Math.min(80, 22 + 9 * Math.log2(1 + each))));
    for (let p = x0; p < x1; p++) if (alphas[base + p] < alpha) alphas[base + p] = alpha;
  };
  if (alsoExact) {
    for (const e of one.exact) {
      const x = Math.floor(e.x0 / per);
      if (x >= 0 && x < width) put(x, x + 1, 1);
      delays += e.x1 - e.x0;
      n++;
    }
  }
  for (const { lane, tile, from, to } of one.binned) {
    const runs = Runs.cut(Runs.of(one.link.from), Math.max(from, tile.from), Math.min(to, tile.to));
    for (const [a, b, x, y] of runs.flatMap((r) => View.pieces(r.clock, r.from, r.to))) {
      const k = (y - x) / (b - a) / View.perPixel() / per;
      Lanes.bins(lane, tile, a, b, k, (x - View.state.from) / View.perPixel() / per, (/** @type {number} */ i, /** @type {number} */ x0, /** @type {number} */ x1) => put(x0, x1, lane.count[i]));
    }
    const i = lane.n >> 1, at = tile.from + lane.at[i] * tile.width;
    delays += receivedX(one, at + lane.least[i]) - sentX(one, at);
    n++;
  }
  const lean = n ? delays / n : 0, top = Math.min(one.y0, one.y1), h = Math.abs(one.y1 - one.y0);
  if (h < 1) return;
  Ribbons.add(base, top, h, one.y0 < one.y1 ? 0 : lean, one.y0 < one.y1 ? lean : -lean);
}

/**
 * @param {CanvasRenderingContext2D} g
 * @param {number} ratio
 */
function heads(g, ratio) {
  const { ordered, inverted } = sorted();
  if (arrows.length <= 300) {
    g.globalAlpha = 0.9;
    g.fillStyle = Colors.theme.message;
    g.beginPath();
    for (const a of ordered) head(g, a, ratio);
    g.fill();
    g.globalAlpha = 1;
  }
  if (inverted.length > 300) return;
  g.strokeStyle = Colors.theme.inverted;
  g.lineWidth = 1.25 * ratio;
  g.fillStyle = Colors.theme.ground;
  for (const a of inverted) {
    g.beginPath();
    head(g, a, ratio, 9);
    g.closePath();
    g.fill();
    g.stroke();
  }
}

/**
 * strokes draws lines, a few to a path: one of thousands is slow to fill where lines cross.
 * @param {CanvasRenderingContext2D} g
 * @param {Arrow[]} list
 * @param {number} ratio
 */
function strokes(g, list, ratio) {
  for (let i = 0; i < list.length; i += 16) {
    g.beginPath();
    for (let j = i; j < Math.min(list.length, i + 16); j++) {
      const a = list[j];
      g.moveTo(a.x0 * ratio, a.y0 * ratio);
      g.lineTo(a.x1 * ratio, a.y1 * ratio);
    }
    g.stroke();
  }
}

/**
 * legend says what the lines of raw time are, in the corner.
 * @param {CanvasRenderingContext2D} g
 */
function legend(g) {
  if (!View.state.raw) return;
  const n = arrows.reduce((sum, a) => sum + (a.inverted ? 1 : 0), 0);
  if (!n && !summed) return;
  const { plot } = View, of = `${Time.grouped(n)} of ${Time.grouped(arrows.length)}`, sample = n ? 44 : 0, y = plot.height - 14;
  const long = [n ? `received before it was sent, by these clocks: ${of} arrows` : "", summed ? "bands hold messages of both kinds: zoom in" : ""].filter(Boolean).join("; ");
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  const words = g.measureText(long).width + sample < plot.width - 20 ? long : n ? `inverted, by these clocks: ${of}` : "bands: zoom in";
  g.fillStyle = Colors.theme.ground;
  g.fillRect(4, y - 9, g.measureText(words).width + sample + 10, 18);
  g.strokeStyle = Colors.theme.inverted;
  g.lineWidth = 1.75;
  g.setLineDash(backwards);
  if (n) { g.beginPath(); g.moveTo(9, y); g.lineTo(45, y); g.stroke(); }
  g.setLineDash([]);
  g.fillStyle = n ? Colors.theme.inverted : Colors.theme.dim;
  g.fillText(words, 9 + sample, y);
}

/**
 * @param {CanvasRenderingContext2D} g
 * @param {Arrow} options1
 * @param {number} ratio
 * @param {number} [size]
 */
function head(g, { x0, x1, y0, y1 }, ratio, size = 6.5) {
  const dx = x1 - x0, dy = y1 - y0, length = Math.hypot(dx, dy);
  if (length < 12) return;
  const ux = dx / length, uy = dy / length;
  g.moveTo(x1 * ratio, y1 * ratio);
  g.lineTo((x1 - size * ux - size * 0.42 * uy) * ratio, (y1 - size * uy + size * 0.42 * ux) * ratio);
  g.lineTo((x1 - size * ux + size * 0.42 * uy) * ratio, (y1 - size * uy - size * 0.42 * ux) * ratio);
}

/**
 * texts writes delays beside arrows that have room for it, no two over each other.
 * @param {CanvasRenderingContext2D} g
 * @param {number} ratio
 */
function texts(g, ratio) {
  if (arrows.length > 400) return;
  const taken = new Set();
  let n = 0;
  g.font = Draw.font.replace("11px", `${Math.round(10 * ratio)}px`);
  g.textBaseline = "middle";
  for (const a of arrows) {
    if (n >= MaxTexts) break;
    // In the middle of what is in sight of it.
    const tall = a.y1 - a.y0, part = (/** @type {number} */ y) => Math.max(0, Math.min(1, (y - a.y0) / tall)), middle = (part(0) + part(View.plot.height)) / 2;
    const x = a.x0 + (a.x1 - a.x0) * middle, y = a.y0 + tall * middle;
    if (Math.abs(tall) < 28 || x < 20 || x > View.plot.width - 60 || y < 8 || y > View.plot.height - 8) continue;
    const column = Math.floor(x / 74), row = Math.floor(y / 16);
    if ([-1, 0, 1].some((i) => [-1, 0, 1].some((j) => taken.has((column + i) * 10000 + row + j)))) continue;
    taken.add(column * 10000 + row);
    const text = Time.brief(a.by), w = g.measureText(text).width / ratio;
    g.fillStyle = Colors.theme.ground;
    g.globalAlpha = 0.85;
    g.fillRect((x + 2) * ratio, (y - 7) * ratio, (w + 6) * ratio, 14 * ratio);
    g.globalAlpha = 1;
    g.fillStyle = a.verdict > 2 ? Colors.theme[kinds[a.verdict]] : a.inverted ? Colors.theme.inverted : Colors.theme.message;
    g.fillText(text, (x + 5) * ratio, y * ratio);
    n++;
  }
}

export const kinds = ["", "step", "quick", "undecidable", "certain"];

/**
 * violations draws the marks, the worst last so that nothing hides them.
 * @param {CanvasRenderingContext2D} g
 * @param {number} ratio
 * @param {any} clip
 */
export function violations(g, ratio, clip) {
  if (!marks.length && !View.state.raw) return;
  marks.sort((p, q) => p.verdict - q.verdict || p.n - q.n);
  if (marks.length > MaxMarks) marks = marks.slice(-MaxMarks);
  g.save();
  g.beginPath();
  g.rect(0, clip * ratio, View.plot.width * ratio, View.plot.height * ratio);
  g.clip();
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (marks.length > MaxSingle) density(g);
  else for (const m of marks) {
    g.strokeStyle = g.fillStyle = Colors.theme[kinds[m.verdict]];
    if (m.verdict > 1) {
      g.lineWidth = m.verdict === 4 ? 2.25 : 1.25;
      g.setLineDash(m.verdict === 3 ? [5, 4] : m.verdict === 2 ? [1.5, 2.5] : []);
      g.globalAlpha = marks.length > 250 ? 0.4 : marks.length > 40 && Math.abs(m.x1 - m.x0) < 2 ? 0.6 : 0.95;
      g.beginPath();
      g.moveTo(m.x0, m.y0);
      g.lineTo(m.x1, m.y1);
      g.stroke();
      g.setLineDash([]);
      g.globalAlpha = 1;
    }
    shape(g, m.x1, m.y1, m.verdict, marks.length > 400 ? 3.5 : 5);
    if (m.verdict > 1) shape(g, m.x0, m.y0, m.verdict, 2.5);
  }
  legend(g);
  g.restore();
}

/**
 * density draws where violations are received, as bars that are the higher the more of them: solid where one is certain, hollow
 * where it is undecidable. Each by itself would cover the page.
 * @param {CanvasRenderingContext2D} g
 */
function density(g) {
  const columns = new Map();
  for (const m of marks) {
    const x = Math.floor(m.x1 / Column) * Column, key = `${x} ${m.y1}`, c = columns.get(key);
    if (c) { c.n += m.n; c.verdict = Math.max(c.verdict, m.verdict); } else columns.set(key, { x, y: m.y1, n: m.n, verdict: m.verdict });
  }
  for (const { x, y, n, verdict } of columns.values()) {
    const h = Math.min(14, 4 + 3 * Math.log10(Math.max(1, n)));
    g.fillStyle = g.strokeStyle = Colors.theme[kinds[verdict]];
    if (verdict === 4) g.fillRect(x, y - h / 2, Column - 1, h);
    else if (verdict === 3) { g.lineWidth = 1; g.strokeRect(x + 0.5, y - h / 2 + 0.5, Column - 2, h - 1); } else g.fillRect(x, y, Column - 1, h / 2);
  }
  const note = "violations as density: zoom in to see each";
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "alphabetic";
  const wide = g.measureText(note).width + 10;
  g.fillStyle = Colors.theme.ground;
  g.fillRect(View.plot.width - wide - 4, View.plot.height - 22, wide, 17);
  g.fillStyle = Colors.theme.dim;
  g.fillText(note, View.plot.width - wide + 1, View.plot.height - 9);
}

/**
 * shape draws a mark of a verdict: filled is sure, hollow is not.
 * @param {CanvasRenderingContext2D} g
 * @param {number} x
 * @param {number} y
 * @param {number} verdict
 * @param {number} r
 */
export function shape(g, x, y, verdict, r) {
  const { theme } = Colors, color = theme[kinds[verdict]];
  g.beginPath();
  if (verdict >= 3) {
    g.moveTo(x, y - r * 1.2);
    g.lineTo(x + r * 1.2, y);
    g.lineTo(x, y + r * 1.2);
    g.lineTo(x - r * 1.2, y);
    g.closePath();
  } else if (verdict === 2) {
    g.moveTo(x - r * 0.8, y - r);
    g.lineTo(x + r * 1.1, y);
    g.lineTo(x - r * 0.8, y + r);
    g.closePath();
  } else {
    g.arc(x, y, r * 0.5, 0, 7);
  }
  g.fillStyle = verdict === 3 || verdict === 1 ? theme.ground : color;
  g.fill();
  g.strokeStyle = verdict === 3 || verdict === 1 ? color : theme.ground;
  g.lineWidth = verdict === 3 ? 1.75 : 1;
  g.stroke();
}

/**
 * near finds the message drawn closest to a point, a violation first.
 * @param {number} x
 * @param {number} y
 * @param {any} [reachOf]
 */
export function near(x, y, reachOf = 5) {
  let best = null, least = reachOf;
  for (const m of marks) {
    const d = Math.min(Math.hypot(x - m.x1, y - m.y1), Math.hypot(x - m.x0, y - m.y0)) - 3;
    if (d < least) { least = d; best = m.message ?? m; }
  }
  if (best) return best;
  for (const a of arrows) {
    const d = distance(x, y, a);
    if (d < least) { least = d; best = a; }
  }
  return best;
}

/**
 * @param {number} x
 * @param {number} y
 * @param {any} options2
 */
function distance(x, y, { x0, x1, y0, y1 }) {
  const dx = x1 - x0, dy = y1 - y0, square = dx * dx + dy * dy;
  const t = square ? Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / square)) : 0;
  return Math.hypot(x - x0 - t * dx, y - y0 - t * dy);
}

export function count() { return arrows.length; }
