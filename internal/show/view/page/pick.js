// pick: what is drawn under a point, and what is told of it: at once what the tile has, and after a moment the fields,
// which are asked for.

import { byId } from "./dom.js";
import { App } from "./app.js";
import * as Colors from "./colors.js";
import * as Data from "./data.js";
import * as Decode from "./decode.js";
import { make } from "./dock.js";
import * as Lanes from "./lanes.js";
import * as Links from "./links.js";
import * as Pointer from "./pointer.js";
import * as Relation from "./relation.js";
import * as Rows from "./rows.js";
import * as Runs from "./runs.js";
import * as Time from "./time.js";
import * as View from "./view.js";

/** @import { DrawnLane, Hovered, Line, Link, TimelineEvent } from "./types.js" */

const tip = byId("tip");
/** @type {Hovered | null} */
export let hit = null;
let asked = 0;
let timer = 0;

/**
 * at finds what is under a point of the plot: a message before what it goes over, but an event before the messages that
 * begin and end on it.
 * @param {number} x
 * @param {number} y
 * @returns {Hovered | null}
 */
export function at(x, y) {
  const line = Rows.lineAtY(y), message = Links.near(x, y, 4), below = line && line.row >= 0 ? onRow(line, x, y) : null;
  if (message && !(below?.kind === "instant" && Math.abs(x - below.x0) <= 3)) return /** @type {any} */ ({ kind: "message", ...message, row: message.link.from });
  return below ?? (line ? /** @type {any} */ ({ kind: line.type, row: -1, host: line.host, line }) : null);
}

/**
 * @param {Line} line
 * @param {number} x
 * @param {number} y
 * @returns {Hovered}
 */
function onRow(line, x, y) {
  const top = line.y - Rows.scrolled, instants = Runs.under(line.row, x), base = { row: line.row, host: line.host, line, at: instants[0].at };
  for (const lane of line.lanes) {
    if (y < top + lane.y - 1 || y > top + lane.y + lane.h) continue;
    for (const { at: instant, clock } of instants) {
      const found = inLane(lane, instant, clock, line.host);
      if (found) return /** @type {any} */ ({ ...base, at: instant, ...found, y: top + lane.y, h: lane.h, lane });
    }
  }
  return /** @type {any} */ ({ kind: "row", ...base });
}

/**
 * @param {number} host
 * @param {number} instant
 */
function tileAt(host, instant) {
  const level = Lanes.levelFor(View.perPixel());
  return Data.best(host, level, Math.floor(instant / (2 ** level * Decode.Bins)));
}

/**
 * @param {DrawnLane} lane
 * @param {number} instant
 * @param {number} clock
 * @param {number} host
 */
function inLane(lane, instant, clock, host) {
  const tile = tileAt(host, instant), data = tile?.lanes.get(lane.lane ?? -1), per = View.perPixel();
  if (!tile || !data) return null;
  const hidden = App.hidden.classes, box = (/** @type {any} */ a, /** @type {any} */ b) => ({ x0: View.x(a, clock), x1: View.x(b, clock) });
  if (data.mode === Decode.Slices) {
    // The last that began; and one too short to be hit, if the pointer is close.
    const i = Lanes.after(data.at, data.n, instant + 1) - 1;
    let best = -1, least = 3 * per;
    for (const k of [i, i + 1, i - 1]) {
      if (k < 0 || k >= data.n || hidden.has(data.name[k])) continue;
      const d = Math.max(0, data.at[k] - instant, instant - data.at[k] - data.length[k]);
      if (d < least) { least = d || -1; best = k; }
    }
    return best < 0 ? null : { kind: "slice", class: data.name[best], begin: data.at[best], length: data.length[best], flags: data.flags[best], event: data.event[best], ...box(data.at[best], data.at[best] + data.length[best]) };
  }
  if (data.mode === Decode.Instants) {
    const i = Lanes.after(data.at, data.n, instant);
    let best = -1, least = 5 * per;
    for (const k of [i - 1, i]) if (k >= 0 && k < data.n && !hidden.has(data.name[k]) && Math.abs(data.at[k] - instant) < least) { least = Math.abs(data.at[k] - instant); best = k; }
    return best < 0 ? null : { kind: "instant", class: data.name[best], begin: data.at[best], event: data.event[best], ...box(data.at[best], data.at[best]) };
  }
  if (data.mode === Decode.Counter) {
    const i = Lanes.after(data.at, data.n, instant + 1) - 1;
    if (i < 0) return data.before === null ? null : { kind: "value", value: data.before, ...box(instant, instant) };
    return { kind: "value", value: data.value[i], begin: data.at[i], event: data.event[i], ...box(data.at[i], data.at[i]) };
  }
  const bin = Math.floor((instant - tile.from) / tile.width), i = Lanes.after(data.at, data.n, bin);
  if (i >= data.n || data.at[i] !== bin) return null;
  const a = tile.from + bin * tile.width, many = { ...box(a, a + tile.width), begin: a, length: tile.width };
  if (data.mode === Decode.BinnedCounter) return { kind: "values", least: data.least[i], greatest: data.greatest[i], ...many };
  return { kind: "many", count: data.count[i], class: data.name[i], busy: data.busy ? data.busy[i] / 255 : null, ...many };
}

/**
 * @param {Hovered | null} a
 * @param {Hovered | null} b
 */
const same = (a, b) => a?.kind === b?.kind && a?.row === b?.row && a?.event === b?.event && a?.begin === b?.begin && a?.x0 === b?.x0;

/**
 * hover takes what is now under the pointer.
 * @param {Hovered | null} found
 */
export function hover(found) {
  if (same(found, hit)) { hit = found; return positionTip(); }
  hit = found;
  clearTimeout(timer);
  asked++;
  tell();
  App.emit("hover", hit);
  if (hit && hit.event >= 0) {
    const mine = asked, { event: number } = hit;
    timer = setTimeout(() => Data.events(number, 1).then(([event]) => { if (mine === asked && event) fields(event); }).catch(() => {}), 90);
  }
}

/**
 * @param {[term: string, value: unknown][]} list
 */
const texts = (list) => {
  const dl = make("dl");
  for (const [term, value] of list) if (value !== "" && value !== null && value !== undefined) dl.append(make("dt", "", term), make("dd", "", String(value)));
  return dl;
};

export const verdictNames = ["in order", "received within a step of the stamps before it was sent", "quicker than the least delay", "received before it was sent, within the bounds: undecidable", "received before it was sent, beyond the bounds: certain"];

/**
 * interval is how long a message can truly have been on the way.
 * @param {{ link: Link, at: number, delay: number }} options
 */
export function interval({ link, at, delay }) {
  const [c, d] = [App.clockOf(link.from, at), App.clockOf(link.to, at + delay)];
  const s = View.happened(c, at), r = View.happened(d, at + delay);
  if (c === d) return [delay - s.hidden, delay + s.hidden];
  return [r.low === null || s.high === null ? null : delay - r.low - s.high, r.high === null || s.low === null ? null : delay + r.high + s.low];
}

function tell() {
  const kinds = ["slice", "instant", "value", "values", "many", "message"];
  if (!hit || !kinds.includes(hit.kind)) {
    tip.hidden = true;
    return;
  }
  tip.hidden = false;
  tip.className = hit.verdict ? Links.kinds[hit.verdict] : "";
  const about = Data.about, name = hit.class !== undefined ? App.className(hit.class) : "";
  const lead = make("div", "lead");
  /** @type {[term: string, value: unknown][]} */
  const list = [];
  if (hit.class !== undefined) {
    const swatch = make("span", "swatch");
    swatch.style.background = Colors.css(hit.class);
    lead.append(swatch);
  }
  const rowName = (/** @type {number} */ row) => `${App.hostOf(row).name} · ${about.rows[row].name}`;
  if (hit.kind === "message") {
    const single = hit.delay !== undefined;
    lead.append(single ? "message" : `${Time.grouped(hit.n)} message${hit.n === 1 ? "" : "s"}, the worst of them:`);
    list.push(["from", rowName(hit.link.from)], ["to", rowName(hit.link.to)]);
    if (single) {
      const [low, high] = interval(hit), relation = Relation.ofDelay({ delta: hit.delay, low, high });
      list.push(["sent", Time.since(hit.at)], ["delay", Relation.estimate(relation, Time.duration)]);
      if (low !== high || relation.against) list.push(["truly", Relation.told(relation, Time.brief)]);
    }
    if (hit.verdict) list.push(["verdict", verdictNames[hit.verdict]]);
  } else {
    const clock = App.clockOf(hit.row, hit.begin ?? hit.at), bound = View.happened(clock, hit.begin ?? hit.at);
    if (hit.kind === "many") lead.append(`${Time.grouped(hit.count)} event${hit.count === 1 ? "" : "s"}, most of them ${name}`);
    else if (hit.kind === "values") lead.append(`${hit.lane.name}: ${number(hit.least)} … ${number(hit.greatest)}`);
    else if (hit.kind === "value") lead.append(`${hit.lane.name} = ${number(hit.value)}`);
    else lead.append(name);
    list.push(["on", rowName(hit.row)]);
    if (hit.begin !== undefined) list.push([hit.length === undefined ? "at" : "begin", Time.since(hit.begin)]);
    if (hit.length !== undefined) list.push([hit.kind === "slice" ? "length" : "in", `${Time.duration(hit.length)}${hit.flags & 1 ? ", no end was recorded" : ""}${hit.flags & 2 ? ", no begin was recorded" : ""}`]);
    if (hit.busy) list.push(["busy", `${Math.round(hit.busy * 100)} %`]);
    if (clock >= 0 && hit.kind !== "many") list.push(["bound", Time.margin(bound.low, bound.high)]);
  }
  tip.replaceChildren(lead, texts(list));
  positionTip();
}

/**
 * @param {number} v
 */
const number = (v) => (Number.isInteger(v) ? Time.grouped(v) : String(Number(v.toPrecision(7))));

/**
 * @param {TimelineEvent} event
 */
function fields(event) {
  const all = event.fields ?? [];
  if (!all.length || tip.hidden) return;
  /** @type {[term: string, value: unknown][]} */
  const list = all.slice(0, 6).map(([name, value]) => [name, value.length > 160 ? `${value.slice(0, 160)}…` : value]);
  if (all.length > 6) list.push(["…", `${all.length - 6} more`]);
  tip.append(texts(list));
  positionTip();
}

// positionTip keeps the tip beside the pointer and within the page.
function positionTip() {
  if (tip.hidden) return;
  const { x, y } = Pointer.cursor, { left, top } = View.plot, w = tip.offsetWidth, h = tip.offsetHeight;
  const px = left + (x ?? 0) + 16, py = top + (y ?? 0) + 18;
  tip.style.transform = `translate(${Math.round(Math.max(4, px + w > innerWidth - 6 ? px - w - 28 : px))}px, ${Math.round(Math.max(4, py + h > innerHeight - 6 ? py - h - 30 : py))}px)`;
}

/**
 * outline draws around what is under the pointer.
 * @param {CanvasRenderingContext2D} o
 */
export function outline(o) {
  if (!hit || hit.x0 === undefined) return;
  const { theme } = Colors;
  if (hit.kind === "message") {
    if (hit.delay === undefined) return;
    o.strokeStyle = theme.text;
    o.lineWidth = 2;
    o.beginPath();
    o.moveTo(hit.x0, hit.y0);
    o.lineTo(hit.x1, hit.y1);
    o.stroke();
    return;
  }
  o.strokeStyle = theme.text;
  o.lineWidth = 1.5;
  const x0 = Math.max(-4, hit.x0), x1 = Math.min(View.plot.width + 4, hit.x1);
  o.strokeRect(Math.round(x0) - 0.5, hit.y - 0.5, Math.max(2, Math.round(x1 - x0)) + 1, hit.h + 1);
}

// told is one line on what is under the pointer, for the foot of the page.
export function told() {
  if (!hit) return "";
  const about = Data.about;
  if (hit.kind === "message") return hit.delay === undefined ? "" : `message ${App.hostOf(hit.link.from).name} → ${App.hostOf(hit.link.to).name}, ${Time.duration(hit.delay)}`;
  if (hit.row < 0) return about.hosts[hit.host]?.name ?? "";
  const rowName = `${App.hostOf(hit.row).name} · ${about.rows[hit.row].name}`;
  return hit.class !== undefined ? `${App.className(hit.class)}  ${rowName}` : rowName;
}
