// violations: messages that break causality, or nearly. The index has judged each against the bounds of both clocks; what
// is certain is kept apart from what the bounds leave open.

import { App } from "./app.js";
import { make, button, table, check, section, grouped, plural } from "./elements.js";
import * as Jump from "./jump.js";
import * as Order from "./order.js";
import * as Relation from "./relation.js";
import * as Time from "./time.js";

/** @import { Difference, RawInversion, TimelineEvent, Violation } from "./types.js" */

// By number, as tiles and requests have them. The marks differ in shape, so that colours are not needed to tell them apart.
export const verdicts = [
  { id: "ordered", name: "in order", mark: "✓", means: "received after it was sent" },
  { id: "step", name: "within a step", mark: "≈", means: "seems received before it was sent, by less than a step of the stamps: the stamps are too coarse to say more" },
  { id: "quick", name: "too fast", mark: "▷", means: "quicker than the least delay that is possible on this way" },
  { id: "undecidable", name: "undecidable", mark: "◇", means: "seems received before it was sent, but the bounds of the clocks allow the right order" },
  { id: "certain", name: "certain", mark: "◆", means: "received before it was sent by more than the bounds of both clocks allow: an assumption about the clocks does not hold, or the message is matched wrongly" },
];

// unlisted is said of a message of which neither the list nor a tile that is held tells the verdict.
export const unlisted = { id: "unlisted", name: "not listed", mark: "?", means: "the list has only the worst messages, without this one; the tile with its verdict is not loaded" };

/**
 * judge says what the page can say by itself of a message with the delay {delta, low, high}; step is the receiver's.
 * @param {{ delta: number, low: number | null, high: number | null, comparable?: boolean }} options
 * @param {number} [step]
 */
export function judge({ delta, high, comparable = true }, step = 0) {
  if (delta >= 0 || !comparable) return verdicts[0];
  if (-delta <= step) return verdicts[1];
  return high !== null && high < 0 ? verdicts[4] : verdicts[3];
}

/** @type {Violation[] | null} */
let all = null;
let filled = false;
/** @type {any} */
let list;
/** @type {Violation | null} */
let current = null;
/** @type {HTMLElement} */
let said;
const wanted = new Set([4, 3, 2]);

/**
 * verdictOf finds what the index said of a message: in the list of the worst, or in the tile in which the message lies by
 * itself. Where neither can be had, only what bounds alone tell is said.
 * @param {TimelineEvent} sent
 * @param {TimelineEvent} received
 * @param {Difference} delay
 */
export async function verdictOf(sent, received, delay) {
  const own = judge(delay, Order.granularityOf(received.clock ?? App.clockOf(received.row, received.at))), counts = App.about.verdicts ?? [];
  if (!total()) return own;
  const listed = await load().catch(() => null), found = listed?.find((v) => v.from === sent.event && v.to === received.event);
  if (found) return verdicts[found.verdict];
  if (listed && listed.length >= total()) return verdicts[0];
  const link = App.about.links.find((l) => l.from === sent.row && l.to === received.row);
  const item = link ? await Jump.seek(App.about.hosts.length, link.lane, sent.at, sent.event - 1, 1).catch(() => null) : null;
  if (item?.exact && item.event === sent.event && item.to === received.event) return verdicts[item.verdict ?? -1] ?? unlisted;
  return own.id === "ordered" && (counts[2] || !delay.comparable) ? unlisted : own;
}

/**
 * delayOf is the delay of a violation with what the bounds of the clocks leave of it.
 * @param {Violation} v
 */
const delayOf = (v) => ({ delta: v.delay, low: v.low ?? null, high: v.high ?? null });

// total is how many messages are out of the ordinary, listed or not.
const total = () => (App.about.verdicts ?? []).slice(1).reduce((sum, n) => sum + n, 0);

async function load() {
  all ??= (await App.data.violations()).list ?? [];
  return all;
}

/**
 * @param {number} lane
 */
const linkOf = (lane) => App.about.links.find((l) => l.lane === lane);
/**
 * @param {number | undefined} row
 */
const hostName = (row) => (row === undefined ? "?" : App.hostOf(row).name);

/**
 * go shows a violation with both of its ends and their bounds.
 * @param {Violation} v
 */
async function go(v) {
  current = v;
  list.mark(v);
  const link = linkOf(v.link), span = Math.max(Math.abs(v.delay), (v.high ?? v.delay) - (v.low ?? v.delay), 200) * 6;
  const order = list.order(), verdict = verdicts[v.verdict];
  said.textContent = `${order.indexOf(v) + 1} of ${order.length}: ${verdict.name}, ${hostName(link?.from)} to ${hostName(link?.to)}, delay ${App.duration(v.delay)}`;
  if (link) App.reveal(link.to);
  App.go({ at: v.sent + v.delay / 2, row: link?.from ?? -1 }, { span });
  await App.select(v.from, "a").catch(() => {});
  await App.select(v.to, "b").catch(() => {});
}

/**
 * next goes on from where one is: the current violation, else the middle of the view.
 * @param {number} step
 */
export async function next(step) {
  await open();
  const order = [...list.order()].sort((a, b) => a.sent - b.sent);
  if (!order.length) return App.announce("no violations are listed");
  let i = order.indexOf(current);
  if (i >= 0) {
    i = (i + step + order.length) % order.length;
  } else {
    const middle = (App.view.from + App.view.to) / 2, later = order.findIndex((v) => v.sent > middle);
    i = step > 0 ? (later < 0 ? 0 : later) : ((later < 0 ? order.length : later) - 1 + order.length) % order.length;
  }
  await go(order[i]);
}

async function open() {
  if (filled) return;
  if (!App.about.live) said.textContent = "loading…";
  try {
    await load();
    filled = true;
    current = (current && all?.find((v) => v.from === current?.from && v.to === current?.to)) ?? null;
    said.textContent = all && all.length < total() ? `the worst ${grouped(all.length)} are listed` : "";
  } catch (/** @type {any} */ error) {
    all = null;
    said.textContent = `Loading the list failed: ${error.message}`;
  }
  fill();
}

function fill() {
  list.update((all ?? []).filter((v) => wanted.has(v.verdict)));
}

/** @type {any} */
let rawList;
/** @type {HTMLElement} */
let rawPart;
/** @type {HTMLElement} */
let rawSaid;

/**
 * goRaw shows an inverted message in raw time, where it goes backwards.
 * @param {RawInversion} v
 */
async function goRaw(v) {
  rawList.mark(v);
  App.setRaw(true);
  const link = linkOf(v.link), clock = link ? App.clockOf(link.from, v.sent) : -1, shown = App.recorded(clock, v.sent);
  if (link) { App.reveal(link.to); App.reveal(link.from); }
  const room = Math.max(Math.abs(v.delay), 200) * 2;
  App.setView(shown + Math.min(0, v.delay) - room, shown + Math.max(0, v.delay) + room, { animate: true });
  await App.select(v.from, "a").catch(() => {});
  await App.select(v.to, "b").catch(() => {});
}

// fillRaw says what the recorded stamps alone make of the messages, with the worst of them.
async function fillRaw() {
  const { inverted, messages } = App.about;
  if (inverted === undefined) { rawSaid.textContent = "The index does not tell: an older version made it."; return; }
  rawSaid.textContent = `By the clocks of their hosts, as they were recorded, ${grouped(inverted)} of ${plural(messages, "message")} were received before they were sent. Alignment leaves ${grouped((App.about.verdicts ?? [])[4] ?? 0)} that certainly were.`;
  try {
    const raw = (await App.data.violations()).raw;
    rawList.update(raw?.list ?? []);
    if (raw && raw.list.length < inverted) rawSaid.textContent += ` The worst ${grouped(raw.list.length)} are listed.`;
  } catch (/** @type {any} */ error) {
    rawSaid.textContent += ` Loading the list failed: ${error.message}`;
  }
}

// rawSection makes the part of the panel about raw time.
function rawSection() {
  rawSaid = make("p", { class: "dim raw-said" });
  rawList = table({
    caption: "Inverted in raw time", rows: [], empty: "None.", pick: goRaw, sort: { column: 2, down: false },
    columns: [
      { title: "from", text: (/** @type {RawInversion} */ v) => hostName(linkOf(v.link)?.from), value: (v) => hostName(linkOf(v.link)?.from) },
      { title: "to", text: (v) => hostName(linkOf(v.link)?.to), value: (v) => hostName(linkOf(v.link)?.to) },
      { title: "by the stamps", text: (v) => App.duration(v.delay), value: (v) => v.delay, number: true },
      { title: "sent", text: (v) => Time.since(v.sent), value: (v) => v.sent },
    ],
  });
  rawPart = section("In raw time", rawSaid, rawList);
  return rawPart;
}

export function start() {
  const body = App.panel("violations", "Violations", { key: "v", hint: "messages that break causality" });
  const counts = App.about.verdicts ?? [];
  said = make("output", { class: "said", "aria-live": "polite" });
  if (!counts[4] && !counts[3] && !counts[2]) wanted.add(1);
  const filters = make("fieldset", { class: "verdicts" }, make("legend", {}, "Show"), ...[4, 3, 2, 1].map((n) => {
    const v = verdicts[n];
    const box = check(make("span", {}, make("span", { class: `verdict ${v.id}` }, `${v.mark} ${v.name}`), make("b", { class: "count" }, grouped(counts[n] ?? 0)), make("span", { class: "means" }, v.means)),
      wanted.has(n), (on) => { if (on) wanted.add(n); else wanted.delete(n); fill(); });
    return box;
  }));
  list = table({
    caption: "Violations", rows: [], empty: "None of these.", pick: go,
    columns: [
      { title: "verdict", node: (v) => make("span", { class: `verdict ${verdicts[v.verdict].id}` }, `${verdicts[v.verdict].mark} ${verdicts[v.verdict].name}`), text: (v) => verdicts[v.verdict].name, value: (v) => v.verdict },
      { title: "from", text: (v) => hostName(linkOf(v.link)?.from), value: (v) => hostName(linkOf(v.link)?.from) },
      { title: "to", text: (v) => hostName(linkOf(v.link)?.to), value: (v) => hostName(linkOf(v.link)?.to) },
      { title: "delay", text: (v) => App.duration(v.delay), value: (v) => v.delay, number: true },
      { title: "truly", text: (v) => Relation.told(Relation.ofDelay(delayOf(v)), Time.brief), value: (v) => v.high ?? Infinity },
      { title: "sent", text: (v) => Time.since(v.sent), value: (v) => v.sent },
    ],
  });
  const summary = make("p", { class: "dim" });
  const count = () => {
    summary.textContent = `${plural(total(), "message")} of ${grouped(App.about.messages)} out of the ordinary.`;
    filters.querySelectorAll(".count").forEach((e, i) => { e.textContent = grouped(App.about.verdicts?.[4 - i] ?? 0); });
  };
  count();
  body.append(make("h2", {}, "Violations"), summary,
    filters, make("p", { class: "buttons" }, button("◂ previous", () => next(-1)), button("next ▸", () => next(1)), said), list, rawSection());
  // In raw time, what is inverted there comes first.
  App.on("raw", (raw) => { if (raw) summary.after(rawPart); else body.append(rawPart); });
  let shown = false, listed = total();
  App.on("panel", (id, yes) => { shown = id === "violations" && yes; if (shown) { open(); fillRaw(); } });
  App.on("grown", () => {
    count();
    if (total() === listed) return;
    listed = total();
    all = null;
    filled = false;
    if (shown) open();
  });
  // However one came to a violation, it is marked in the list.
  App.on("select", () => {
    const { a, b } = App.selection, here = a && b && (all ?? []).find((v) => v.from === a.event && v.to === b.event);
    if (here && here !== current) { current = here; list.mark(here); }
  });
}
