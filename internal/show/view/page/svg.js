// svg: what is in sight as an SVG: the ruler, the names, and on each row its slices, marks and counters as shapes, with the
// messages between them. What sums up many (a host's line, a folded row) is put in as it stands, as a picture.

import { App } from "./app.js";
import { byId, canvasById, context } from "./dom.js";
import * as Axis from "./axis.js";
import * as Decode from "./decode.js";
import * as Draw from "./draw.js";
import * as Lanes from "./lanes.js";
import * as Links from "./links.js";
import * as Rows from "./rows.js";
import * as Runs from "./runs.js";
import * as Save from "./save.js";
import * as View from "./view.js";

/** @import { DrawnLane, Line, Piece, TileLane } from "./types.js" */

const MaxShapes = 60000;
const LeastText = 24; // pixels that a slice has at least for its name to be written

/**
 * escape writes a text so that it is one in XML, which has no control characters.
 * @param {string} text
 */
export const escape = (text) => Draw.clean(text).replace(/[\ud800-\udfff\ufffe\uffff]/gu, "\ufffd").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\"", "&quot;");

const n = (/** @type {number} */ v) => String(Math.round(v * 100) / 100);

/**
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} h
 * @param {string} fill
 * @param {number} [opacity]
 */
const rect = (x, y, w, h, fill, opacity = 1) => `<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="${fill}"${opacity < 1 ? ` opacity="${n(opacity)}"` : ""}/>`;

/**
 * text writes one, cut to the room that it has.
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {string} fill
 * @param {number} room
 * @param {string} [more]
 */
function text(x, y, words, fill, room, more = "") {
  const fits = Math.floor(room / 6.2), shown = words.length <= fits ? words : fits > 2 ? `${words.slice(0, fits - 1)}…` : "";
  return shown ? `<text x="${n(x)}" y="${n(y)}" fill="${fill}"${more}>${escape(shown)}</text>` : "";
}

/**
 * laneOf draws what lies on one lane of a row.
 * @param {Piece[]} plan
 * @param {DrawnLane} lane
 * @param {number} y
 * @param {string[]} out
 */
function laneOf(plan, lane, y, out) {
  const { theme, plot } = App, h = Math.max(1, lane.h - 1), least = lane.least ?? 0, high = (lane.greatest ?? 1) - least || 1;
  for (const p of plan) {
    const items = p.tile.lanes.get(lane.lane ?? -1);
    if (!items) continue;
    const exact = items.mode < Decode.BinnedInstants, scale = p.k / Draw.ratio, x0 = p.x / Draw.ratio;
    const place = (/** @type {number} */ t) => Math.max(-2, Math.min(plot.width + 2, (t - p.from) * scale + x0));
    const at = (/** @type {number} */ i) => (exact ? items.at[i] : p.tile.from + items.at[i] * p.tile.width);
    for (let i = 0; i < items.n && out.length < MaxShapes; i++) {
      const begin = at(i), end = exact ? begin + (items.length?.[i] ?? 0) : begin + p.tile.width;
      if (end < p.from || begin >= p.to) continue;
      if (lane.kind === "counter") {
        const value = items.value?.[i] ?? items.last?.[i] ?? 0, until = i + 1 < items.n ? at(i + 1) : p.to, top = y + h - h * (value - least) / high;
        out.push(rect(place(begin), top, Math.max(0.5, place(until) - place(begin)), Math.max(1, y + h - top), theme.accent, 0.5));
      } else if (!App.hidden.classes.has(items.name[i])) out.push(...shape(items, i, lane.kind, place(begin), place(end), y, h));
    }
  }
}

/**
 * shape draws a slice with its name, a mark, or a bin of either.
 * @param {TileLane} items
 * @param {number} i
 * @param {string} kind
 * @param {number} a
 * @param {number} b
 * @param {number} y
 * @param {number} h
 */
function shape(items, i, kind, a, b, y, h) {
  const name = items.name[i], color = App.color(name);
  if (kind === "instants") return [rect(a, y, Math.max(1, items.mode < Decode.BinnedInstants ? 1 : b - a), h, color)];
  const width = Math.max(0.75, b - a), list = [rect(a, y, width, h, color, items.busy ? Math.max(0.15, items.busy[i] / 255) : 1)];
  if (!items.busy && width > LeastText) list.push(text(Math.max(a, 0) + 4, y + h / 2 + 4, App.className(name), App.ink(name), b - Math.max(a, 0) - 8));
  return list;
}

/**
 * stands cuts a part out of the rows' canvas, as a picture.
 * @param {number} y
 * @param {number} h
 */
function stands(y, h) {
  const canvas = document.createElement("canvas"), { width } = App.plot;
  canvas.width = Math.max(1, Math.round(width * Draw.ratio));
  canvas.height = Math.max(1, Math.round(h * Draw.ratio));
  context(canvas).drawImage(canvasById("rows"), 0, -Math.round(y * Draw.ratio));
  return `<image x="0" y="${n(y)}" width="${n(width)}" height="${n(h)}" preserveAspectRatio="none" href="${canvas.toDataURL("image/png")}"/>`;
}

/**
 * messages draws what goes between rows: an arrow each, violations in their colours.
 * @param {string[]} out
 */
function messages(out) {
  const { theme } = App;
  for (const m of [...Links.arrows, ...Links.marks]) {
    if (out.length >= MaxShapes || ![m.x0, m.x1, m.y0, m.y1].every(Number.isFinite)) continue;
    const color = m.inverted && m.verdict < 2 ? theme.inverted : theme[Links.kinds[m.verdict]] ?? theme.message, turn = Math.atan2(m.y1 - m.y0, m.x1 - m.x0), tip = (/** @type {number} */ by) => `L${n(m.x1 - 6 * Math.cos(turn + by))} ${n(m.y1 - 6 * Math.sin(turn + by))}`;
    out.push(`<path d="M${n(m.x0)} ${n(m.y0)}L${n(m.x1)} ${n(m.y1)}${tip(0.4)}M${n(m.x1)} ${n(m.y1)}${tip(-0.4)}" stroke="${color}" stroke-width="${m.verdict === 4 ? 2 : m.inverted ? 1.75 : 1}" fill="none"${m.verdict === 3 ? " stroke-dasharray=\"5 4\"" : m.inverted && m.verdict < 2 ? ` stroke-dasharray="${Links.backwards.join(" ")}"` : ""}/>`);
  }
}

/** draw makes the SVG of what is in sight; full says that not all shapes had room. */
export function draw() {
  const { theme, plot } = App, stage = byId("stage").getBoundingClientRect(), left = plot.left - stage.left, top = plot.top - stage.top, lines = Rows.inSight(), level = Lanes.levelFor(View.perPixel());
  /** @type {string[]} */
  const names = [], /** @type {string[]} */ rows = [], /** @type {string[]} */ above = [];
  const { list, step } = Axis.ticks();
  for (const [x, words] of list) rows.push(rect(x, 0, 1, plot.height, theme.line, 0.45), `<text x="${n(x + 3)}" y="-6" fill="${theme.text}">${escape(words)}</text>`);
  rows.push(`<text x="4" y="-24" fill="${theme.dim}">${escape(App.time(Axis.ticks().anchor))}, a tick each ${escape(App.duration(step))}</text>`);
  lines.forEach((/** @type {Line} */ line) => {
    const y = line.y - Rows.scrolled, indent = 14 + 12 * line.level;
    if (line.type === "host") names.push(rect(0, y, left, line.h, theme.panel));
    names.push(text(indent, y + (line.type === "host" ? line.h / 2 : 11) + 4, line.name, line.type === "kind" ? theme.dim : theme.text, left - indent - 8, line.type === "host" ? " font-weight=\"600\"" : ""));
    if (line.type === "host" || line.lanes.some((l) => l.kind === "summary")) { rows.push(stands(y, line.h)); return; }
    const plan = line.row >= 0 ? Lanes.planOf(line.host, Runs.of(line.row), level) : [];
    for (const lane of line.lanes) laneOf(plan, lane, y + lane.y, rows);
  });
  messages(above);
  const full = rows.length >= MaxShapes || above.length >= MaxShapes;
  return { full, text: `<svg xmlns="http://www.w3.org/2000/svg" width="${n(stage.width)}" height="${n(stage.height)}" viewBox="0 0 ${n(stage.width)} ${n(stage.height)}" font-family="system-ui, sans-serif" font-size="11">
<title>${escape(App.about.title)}</title>
${rect(0, 0, stage.width, stage.height, theme.ground)}
<clipPath id="plot"><rect x="0" y="-40" width="${n(plot.width)}" height="${n(plot.height + 40)}"/></clipPath>
<clipPath id="names"><rect x="0" y="0" width="${n(left)}" height="${n(plot.height)}"/></clipPath>
<g transform="translate(0 ${n(top)})" clip-path="url(#names)">
${names.join("\n")}
</g>
<g transform="translate(${n(left)} ${n(top)})" clip-path="url(#plot)">
${rows.join("\n")}
${above.join("\n")}
</g>
</svg>
` };
}

/** save has the browser save it. */
export function save() {
  const { text, full } = draw();
  Save.file("timeline.svg", new Blob([text], { type: "image/svg+xml" }));
  return `what is in sight is saved as timeline.svg${full ? `; of more than ${MaxShapes} shapes the last are left out` : ""}${Links.summed ? "; messages that are drawn together, as bands, are left out: zoom in" : ""}`;
}
