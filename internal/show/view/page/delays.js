// delays: how long messages took one way, for each ordered pair of hosts, as a histogram on a logarithmic axis, with least,
// mean and greatest, and how sure these are. Both clocks' bounds move delays of about the same time together: where that is
// more than the delays differ, they can be compared with each other, but how long they were is not known.

import { App } from "./app.js";
import * as Bars from "./bars.js";
import { make, svg, table, choice, grouped, name, facts } from "./elements.js";
import * as Relation from "./relation.js";
import * as Time from "./time.js";

/** @import { Clock, Histogram, Scale } from "./types.js" */

/**
 * scale maps delays to [0, 1]: logarithmic if all are positive; else the middle, within `flat` of 0, is linear.
 * @param {number} least
 * @param {number} greatest
 */
export function scale(least, greatest) {
  if (!(greatest > least)) greatest = least + 1;
  const flat = least > 0 ? 0 : 100; // ns: finer than what any network or clock does
  const f = least > 0 ? Math.log10 : (/** @type {any} */ v) => Math.sign(v) * Math.log10(1 + Math.abs(v) / flat);
  const back = least > 0 ? (/** @type {number} */ y) => 10 ** y : (/** @type {number} */ y) => Math.sign(y) * flat * (10 ** Math.abs(y) - 1);
  let low = f(least), high = f(greatest);
  const room = Math.max((high - low) * 0.04, 0.02);
  low -= room;
  high += room;
  return { place: (/** @type {any} */ v) => (least > 0 && v <= 0 ? 0 : Math.max(0, Math.min(1, (f(v) - low) / (high - low)))), value: (/** @type {any} */ p) => back(low + p * (high - low)), least: back(low), greatest: back(high), log: least > 0 };
}

/**
 * ticks are powers of ten within a scale, and where there are few of these 2 and 5 times them; their labels do not meet.
 * @param {Scale} scale
 * @param {any} [most]
 */
export function ticks(scale, most = 7) {
  const { least, greatest, place } = scale, /** @type {number[]} */ values = [];
  const powers = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number[]} */ steps) => {
    for (let p = Math.floor(Math.log10(Math.max(from, 1))); p <= Math.ceil(Math.log10(Math.max(to, 1))); p++) for (const s of steps) values.push(s * 10 ** p);
  };
  for (const steps of [[1, 2, 5], [1]]) {
    values.length = 0;
    if (greatest > 0) powers(Math.max(least, 0), greatest, steps);
    if (least < 0) {
      const positive = values.splice(0);
      powers(Math.max(-greatest, 0), -least, steps);
      values.splice(0, values.length, ...values.map((v) => -v), ...(greatest >= 0 ? [0] : []), ...positive);
    }
    values.splice(0, values.length, ...[...new Set(values)].filter((v) => v >= least && v <= greatest && (scale.log || v === 0 || Math.abs(v) >= 1000)).sort((a, b) => a - b));
    if (values.length <= most) break;
  }
  const chosen = [];
  for (const v of values) if (!chosen.length || place(v) - place(chosen[chosen.length - 1]) >= 0.9 / most) chosen.push(v);
  return chosen;
}

/**
 * layout places the buckets [[from, to, n], ...] of a pair in a box: {bars: [{x, y, width, height, from, to, n}], ticks:
 * [{x, value}], marks}. The height of a bar is as its share of messages, the fullest bucket filling the box.
 * @param {Histogram} options
 * @param {number} width
 * @param {number} height
 */
export function layout({ buckets, least, greatest, mean }, width, height) {
  const full = buckets.filter(([, , n]) => n > 0);
  const s = scale(Math.min(least, ...full.map(([from]) => Math.max(from, Math.min(least, from)))), Math.max(greatest, ...full.map(([, to]) => to)));
  const most = Math.max(1, ...full.map(([, , n]) => n));
  const bars = full.map(([from, to, n]) => {
    const x = s.place(from) * width, end = s.place(to) * width, tall = Math.max(1, n / most * height);
    return { x, y: height - tall, width: Math.max(1, end - x), height: tall, from, to, n };
  });
  const mark = (/** @type {any} */ v) => ({ x: s.place(v) * width, value: v });
  return { bars, most, scale: s, ticks: ticks(s, Math.max(3, Math.floor(width / 62))).map(mark), marks: { least: mark(least), mean: mark(mean), greatest: mark(greatest) } };
}

/**
 * uncertainty of a pair: how far all its delays may be off together, as {low, high} to be added, over the corners of the
 * two clocks; a side is null without a bound. A clock is {low, high: whether bounded, corners} or null, a true one.
 * @param {Clock | null} from
 * @param {Clock | null} to
 */
export function uncertainty(from, to) {
  const widest = (/** @type {Clock | null} */ clock, /** @type {"low" | "high"} */ side, /** @type {number} */ column) => (clock === null ? 0 : clock[side] ? Math.max(0, ...clock.corners.map((/** @type {any} */ c) => c[column])) : null);
  const add = (/** @type {any} */ a, /** @type {any} */ b) => (a === null || b === null ? null : a + b);
  const below = add(widest(to, "low", 1), widest(from, "high", 2)), above = add(widest(to, "high", 2), widest(from, "low", 1));
  return { low: below === null ? null : -below, high: above };
}

/**
 * clocksOf lists the clocks of a host's rows; the widest of them speaks for the host.
 * @param {number} host
 */
export function clockOfHost(host) {
  const of = App.about.clocks.filter((c) => c.host === host);
  if (!of.length) return null;
  const width = (/** @type {any} */ c) => (c.low && c.high ? Math.max(0, ...c.corners.map((/** @type {any} */ k) => k[1] + k[2])) : Infinity);
  return of.reduce((a, b) => (width(b) > width(a) ? b : a));
}

/**
 * inverted counts the delays of a pair below zero.
 * @param {Histogram} pair
 */
export const inverted = ({ buckets }) => buckets.reduce((sum, [, to, n]) => sum + (to < 0 ? n : 0), 0);

/**
 * percentile is the greatest delay that a share of the messages can have, to 1/32: the upper end of its bucket.
 * @param {Histogram} pair
 * @param {number} share
 */
export function percentile({ buckets, messages, least, greatest }, share) {
  let left = Math.max(1, Math.ceil(share * messages));
  for (const [, to, n] of buckets) if ((left -= n) <= 0) return Math.max(least, Math.min(greatest, to));
  return greatest;
}

/**
 * meanOf is the mean delay of a pair, with what the bounds of both clocks leave of it: no message takes less than the least delay.
 * @param {Histogram} pair
 * @param {{ low: number | null, high: number | null }} unsure
 */
export const meanOf = ({ mean }, { low, high }) => Relation.ofDelay({ delta: mean, low: low === null ? null : mean + low, high: high === null ? null : mean + high });

/**
 * @param {any} pair
 */
function picture(pair) {
  const width = 420, height = 110, left = 4, base = 14 + height, { bars, ticks, marks } = layout(pair, width, height);
  const unsure = uncertainty(clockOfHost(pair.from), clockOfHost(pair.to));
  const title = `${App.about.hosts[pair.from].name} to ${App.about.hosts[pair.to].name}`;
  const root = svg("svg", { viewBox: `0 0 ${width + 2 * left} ${base + 42}`, class: "histogram", role: "group",
    "aria-label": `${title}: ${grouped(pair.messages)} messages, delays from ${App.duration(pair.least)} to ${App.duration(pair.greatest)}, mean ${App.duration(pair.mean)}` });
  const g = svg("g", { transform: `translate(${left} 14)` });
  for (const t of ticks) {
    g.append(svg("path", { class: "grid", d: `M${t.x.toFixed(1)} 0V${height}` }));
    g.append(svg("text", { x: t.x.toFixed(1), y: height + 13, class: "tick", "text-anchor": t.x < 20 ? "start" : t.x > width - 20 ? "end" : "middle" }, App.duration(t.value).replace(/\.0+(?= )/, "")));
  }
  const below = make("div", {});
  g.append(...Bars.columns(bars, height, (bar) => Bars.list(pair, bar, below)));
  g.append(svg("path", { class: "axis", d: `M0 ${height}H${width}` }));
  g.append(svg("path", { class: "mean", d: `M${marks.mean.x.toFixed(1)} -4V${height}` }));
  g.append(svg("text", { class: "tick", x: marks.mean.x.toFixed(1), y: -6, "text-anchor": marks.mean.x < 40 ? "start" : marks.mean.x > width - 40 ? "end" : "middle" }, `mean ${App.duration(pair.mean)}`));
  // Where the mean may truly lie, by the bounds of both clocks.
  const { scale } = layout(pair, width, height), y = height + 22, truly = meanOf(pair, unsure);
  const l = truly.low === null ? 0 : scale.place(truly.low) * width, r = truly.high === null ? width : scale.place(truly.high) * width;
  g.append(svg("path", { class: "bound", d: `M${l.toFixed(1)} ${y}H${Math.max(r, l + 1).toFixed(1)}M${l.toFixed(1)} ${y - 4}v8M${Math.max(r, l + 1).toFixed(1)} ${y - 4}v8` }));
  root.append(g);
  const spread = pair.greatest - pair.least, wide = unsure.low === null || unsure.high === null ? Infinity : unsure.high - unsure.low;
  return make("figure", { class: "delay" }, make("figcaption", {}, make("b", {}, name(App.about.hosts[pair.from].name), " → ", name(App.about.hosts[pair.to].name)), ` ${grouped(pair.messages)} messages`), root, below,
    facts([["delays", `${App.duration(pair.least)} … ${App.duration(pair.greatest)}, mean ${App.duration(pair.mean)}`],
      ["mean, truly", Relation.told(truly, App.duration)],
      inverted(pair) && ["below zero", `${grouped(inverted(pair))}, which cannot be: the estimate of the clocks puts them there`],
      ["all off by", wide === 0 ? "nothing" : Time.margin(unsure.low === null ? null : -unsure.low, unsure.high)]]),
    make("p", { class: "note" }, wide === 0 ? "One clock, or clocks without error: these delays are as they were."
      : wide === Infinity ? "A clock has no bound on one side. Only delays of about the same time can be compared."
      : wide > spread ? "The bounds are wider than the delays differ. Delays of about the same time can be compared; how long they truly were is not known."
      : "The delays differ by more than the bounds allow: some truly took longer than others."));
}

export function start() {
  const body = App.panel("delays", "Delays", { key: "", hint: "how long messages took, per pair of hosts" });
  let pairs = App.about.delays ?? [];
  const hosts = () => App.about.hosts, used = () => [...new Set(pairs.flatMap((p) => [p.from, p.to]))].sort((a, b) => a - b);
  const choices = () => used().map((h) => /** @type {[string, string]} */ ([String(h), hosts()[h].name]));
  const figures = make("div", { class: "figures" });
  const which = choice("host", [["", "all"], ...choices()], () => fill());
  const label = (/** @type {any} */ h) => hosts()[h].name;
  const list = table({
    caption: "One-way delays", rows: pairs, empty: "No messages.", sort: { column: 2, down: true },
    columns: [
      { title: "from", text: (p) => label(p.from), value: (p) => label(p.from) },
      { title: "to", text: (p) => label(p.to), value: (p) => label(p.to) },
      { title: "messages", text: (p) => grouped(p.messages), value: (p) => p.messages, number: true },
      { title: "least", text: (p) => App.duration(p.least), value: (p) => p.least, number: true },
      { title: "mean", text: (p) => App.duration(p.mean), value: (p) => p.mean, number: true },
      ...[50, 90, 99].map((p) => ({ title: `p${p}`, text: (/** @type {Histogram} */ pair) => App.duration(percentile(pair, p / 100)), value: (/** @type {Histogram} */ pair) => percentile(pair, p / 100), number: true })),
      { title: "greatest", text: (p) => App.duration(p.greatest), value: (p) => p.greatest, number: true },
      { title: "off by up to", text: (p) => { const u = uncertainty(clockOfHost(p.from), clockOfHost(p.to)); return Time.margin(u.low === null ? null : -u.low, u.high); } },
    ],
  });
  const most = 24; // pictures at once
  let drawn = false;
  function fill() {
    drawn = true;
    const chosen = which.list.value === "" ? pairs : pairs.filter((p) => String(p.from) === which.list.value || String(p.to) === which.list.value);
    const first = [...chosen].sort((a, b) => b.messages - a.messages).slice(0, most);
    figures.replaceChildren(...first.map(picture), chosen.length > most ? make("p", { class: "note" }, `${most} of ${chosen.length} pairs are drawn, those with the most messages; choose a host for others.`) : "");
    list.update(chosen);
  }
  body.append(make("h2", {}, "One-way delays"), make("p", { class: "options" }, which), figures, list);
  let shown = false;
  App.on("panel", (id, open) => { shown = id === "delays" && open; if (shown && !drawn) fill(); });
  App.on("grown", () => {
    pairs = App.about.delays ?? [];
    drawn = false;
    for (const [value, text] of choices()) if (![...which.list.options].some((o) => o.value === value)) which.list.append(make("option", { value }, text));
    if (shown && !body.contains(document.activeElement)) fill();
  });
}
