// chain: the critical path of one request. From an event it goes back over the latest message that its row (else its host)
// had received before, to where that was sent, and so on; and forward over the next message that the row sent, to where
// that was received. What lies between two messages is time on a host, the rest is time on the wire. A trace has no mark
// where a request begins: a pause on a host that is longer than asked for, or much longer than the others of the chain, ends
// it, as does a number of messages.

import { App } from "./app.js";
import { make, button, name, table, choice, plural } from "./elements.js";
import * as Relation from "./relation.js";
import * as Time from "./time.js";

/** @import { Followed, Hop, Passage, Source, TimelineEvent } from "./types.js" */

/**
 * @param {TimelineEvent} e
 */
const isSend = (e) => e.flow !== undefined && e.flow !== null && e.flow.received >= 0 && e.flow.received !== e.event;
/**
 * @param {TimelineEvent} e
 */
const isReceive = (e) => e.flow !== undefined && e.flow !== null && e.flow.sent >= 0 && e.flow.sent !== e.event;

/**
 * follow walks from an event by a source {before(event), after(event), other(event)}: the latest receive before
 * an event on its row or host, the next send after it, and the other end of a message; each a promise of an event or null.
 * It returns {start, hops, back, full}: hops are {sent, received} in order, `back` of them before the start. grown is called
 * as it grows; it returns false to stop.
 * @param {TimelineEvent} start
 * @param {Source} source
 * @param {{ most?: number, pause?: number, grown?: (hops: Hop[]) => unknown }} [options2]
 */
export async function follow(start, source, { most = 200, pause = Infinity, grown = () => true } = {}) {
  const /** @type {Hop[]} */ hops = [], seen = new Set();
  const take = (/** @type {TimelineEvent} */ sent, /** @type {TimelineEvent} */ received, /** @type {boolean} */ front) => {
    const id = `${sent.event}>${received.event}`;
    if (seen.has(id)) return false; // files may claim circles
    seen.add(id);
    hops[front ? "unshift" : "push"]({ sent, received });
    return grown(hops) !== false && hops.length < (front ? Math.ceil(most / 2) : most); // the rest is for the other way
  };
  // Backwards: e is where the chain begins so far.
  let e = start, received = isReceive(e) ? e : await source.before(e);
  while (received && most > 0 && Math.abs(e.at - received.at) <= pause) {
    const sent = await source.other(received);
    if (!sent || !take(sent, received, true)) break;
    e = sent;
    received = await source.before(sent);
  }
  const back = hops.length;
  // Forwards: e is where it ends so far.
  e = start;
  let sent = isSend(e) ? e : await source.after(e);
  while (hops.length < most && sent && Math.abs(sent.at - e.at) <= pause) {
    const arrived = await source.other(sent);
    if (!arrived || !take(sent, arrived, false)) break;
    e = arrived;
    sent = await source.after(arrived);
  }
  return { start, hops, back, full: hops.length >= most || back >= Math.ceil(most / 2) };
}

/**
 * pauseOf finds the pause between requests among those within them: where they, sorted, leap most, if it is a leap.
 * @param {number[]} pauses
 * @param {number} [leap]
 */
export function pauseOf(pauses, leap = 4) {
  const sorted = pauses.filter((p) => p > 0).sort((a, b) => a - b);
  let limit = Infinity, most = leap;
  for (let i = 1; i < sorted.length; i++) {
    if (sorted[i] / sorted[i - 1] < most) continue;
    most = sorted[i] / sorted[i - 1];
    limit = Math.sqrt(sorted[i] * sorted[i - 1]);
  }
  return limit;
}

/**
 * cut keeps of a chain what hangs together with its start without a longer pause.
 * @param {Followed} chain
 * @param {number} limit
 */
export function cut(chain, limit) {
  const { hops, back, start } = chain, joined = (/** @type {number} */ i) => Math.abs(hops[i].sent.at - hops[i - 1].received.at) <= limit;
  let from = back, to = back;
  if (back > 0 && (back === hops.length || Math.abs(start.at - hops[back - 1].received.at) <= limit)) from = back - 1;
  if (back < hops.length && (back === 0 || Math.abs(hops[back].sent.at - start.at) <= limit)) to = back + 1;
  while (from > 0 && from < back && joined(from)) from--;
  while (to > back && to < hops.length && joined(to)) to++;
  return { ...chain, hops: hops.slice(from, to), back: back - from, full: chain.full && (from === 0 || to === hops.length) };
}

/**
 * sums says where the time went: {total, wire, hosts: [{host, time}]}, over hops and with hostOf(row) a number. The event
 * that the chain was asked from counts if it lies before the first or behind the last message.
 * @param {{ hops: Hop[], start?: TimelineEvent | null }} options
 * @param {(row: number) => number} hostOf
 */
export function sums({ hops, start = null }, hostOf) {
  const hosts = new Map(), on = (/** @type {number} */ row, /** @type {number} */ time) => hosts.set(hostOf(row), (hosts.get(hostOf(row)) ?? 0) + time);
  if (!hops.length) return { total: 0, wire: 0, hosts: [] };
  let wire = 0, first = hops[0].sent, last = hops[hops.length - 1].received;
  hops.forEach(({ sent, received }, i) => {
    wire += received.at - sent.at;
    if (i) on(sent.row, sent.at - hops[i - 1].received.at);
  });
  if (start && start.at < first.at) { on(start.row, first.at - start.at); first = start; }
  if (start && start.at > last.at) { on(start.row, start.at - last.at); last = start; }
  return { total: last.at - first.at, wire, hosts: [...hosts].map(([host, time]) => ({ host, time })).sort((a, b) => b.time - a.time) };
}

/**
 * scanner is a source over the numbered events of a trace: events(from, count) is a promise of those that can be had. It
 * looks at no more than `far` events for one step, and keeps the blocks it has seen. An event's flow names the other end's
 * number. Where an event cannot be had, a message may be missed: there a step ends with nothing.
 * @param {(from: number, count: number) => Promise<TimelineEvent[]>} events
 * @param {number} total
 * @param {(row: number) => number} hostOf
 * @param {{ far?: number, block?: number, stopped?: () => boolean }} [options3]
 */
export function scanner(events, total, hostOf, { far = 32768, block = 1024, stopped = () => false } = {}) {
  const kept = new Map();
  const blockAt = (/** @type {number} */ i) => {
    if (!kept.has(i)) kept.set(i, events(i * block, Math.min(block, total - i * block)).then((all) => new Map(all.map((e) => [e.event, e]))));
    if (kept.size > 96) kept.delete(kept.keys().next().value);
    return kept.get(i);
  };
  async function look(/** @type {TimelineEvent} */ start, /** @type {number} */ step, /** @type {(e: TimelineEvent) => boolean} */ fits) {
    let onHost = null;
    for (let i = start.event + step, seen = 0; i >= 0 && i < total && seen < far && !stopped(); seen++, i += step) {
      const e = (await blockAt(Math.floor(i / block))).get(i);
      if (!e) return null;
      if (!fits(e)) continue;
      if (e.row === start.row) return e;
      if (!onHost && hostOf(e.row) === hostOf(start.row)) onHost = e;
    }
    return stopped() ? null : onHost;
  }
  return {
    before: (/** @type {any} */ e) => look(e, -1, isReceive),
    after: (/** @type {any} */ e) => look(e, 1, isSend),
    other: async (/** @type {any} */ e) => {
      const number = isReceive(e) ? e.flow.sent : e.flow.received;
      return (await blockAt(Math.floor(number / block))).get(number) ?? null;
    },
  };
}

/** @type {any} */
export let chain = null;
/** @type {{ stopped: boolean } | null} */
let running = null;
/** @type {any} */
let list;
/** @type {HTMLElement} */
let parts;

/**
 * @param {Hop} options
 */
const delayOf = ({ sent, received }) => Relation.ofMessage(sent, received);

/**
 * draw goes over the chain: messages as thick lines, time on hosts as thick pieces of their rows.
 * @param {CanvasRenderingContext2D} ctx
 */
function draw(ctx) {
  if (!chain?.hops.length) return;
  const { theme, plot } = App, line = (/** @type {TimelineEvent} */ from, /** @type {TimelineEvent} */ to) => {
    const y0 = App.endY(from.row), y1 = App.endY(to.row);
    if (y0 === null || y1 === null) return;
    const x0 = App.x(from.at, App.clockOf(from.row, from.at)), x1 = App.x(to.at, App.clockOf(to.row, to.at));
    if (Math.max(x0, x1) < 0 || Math.min(x0, x1) > plot.width) return;
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
  };
  ctx.save();
  ctx.lineCap = ctx.lineJoin = "round";
  for (const [width, color, alpha] of [[5.5, theme.ground, 0.6], [2.5, theme.accent, 1]]) {
    ctx.lineWidth = width;
    ctx.globalAlpha = alpha;
    ctx.strokeStyle = color;
    ctx.beginPath();
    chain.hops.forEach((/** @type {any} */ hop, /** @type {number} */ i) => {
      line(hop.sent, hop.received);
      if (i) line(chain.hops[i - 1].received, hop.sent);
    });
    if (chain.start && chain.hops.length) {
      const first = chain.hops[0].sent, last = chain.hops[chain.hops.length - 1].received;
      if (chain.start.at < first.at) line(chain.start, first);
      if (chain.start.at > last.at) line(last, chain.start);
    }
    ctx.stroke();
  }
  ctx.restore();
}

function rows() {
  return chain.hops.map((/** @type {any} */ hop, /** @type {number} */ i) => ({ ...hop, number: i + 1, pause: i ? hop.sent.at - chain.hops[i - 1].received.at : null, delay: delayOf(hop) }));
}

function fill(note = "") {
  parts.replaceChildren();
  if (!chain) {
    list.update([]);
    return;
  }
  list.update(rows());
  if (!chain.hops.length) {
    parts.append(make("p", {}, note || "No message leads to or from this event."));
    return App.redraw(2);
  }
  const { total, wire, hosts } = sums(chain, (row) => App.about.rows[row].host);
  const share = (/** @type {number} */ ns) => `${App.duration(ns)} · ${total > 0 ? Math.round(100 * ns / total) : 0} %`;
  const bars = [...hosts.map(({ host, time }) => [App.about.hosts[host].name, time, "host"]), ["on the wire", wire, "wire"]];
  parts.append(
    make("p", { class: "big" }, App.duration(total)),
    make("div", { class: "shares", role: "list", "aria-label": "where the time went" }, ...bars.map(([label, time, kind]) => {
      const bar = make("span", { class: `part-of ${kind}` });
      bar.style.width = `${total > 0 ? Math.max(0, Math.min(100, 100 * time / total)) : 0}%`;
      return make("div", { role: "listitem" }, make("span", { class: "label" }, name(label)), make("span", { class: "track" }, bar), make("span", { class: "figure" }, share(time)));
    })),
    note ? make("p", { class: "note" }, note) : "");
  App.redraw(2);
}

/**
 * show takes a chain that is known already.
 * @param {(Hop | Passage)[]} hops
 * @param {TimelineEvent | null} [start]
 */
export function show(hops, start = null) {
  chain = { hops, start, back: 0, full: false };
  Promise.all(hops.flatMap((h) => [h.sent, h.received]).map(async (e) => ("fields" in e && e.fields ? e : (await App.data.events(e.event ?? -1, 1))[0]))).then((events) => {
    chain = { start, back: 0, full: false, hops: hops.map((_, i) => ({ sent: events[2 * i], received: events[2 * i + 1] })) };
    fill();
    App.show("chain");
  });
}

export function start() {
  const body = App.panel("chain", "Chain", { hint: "follow messages across hosts" });
  const said = make("output", { class: "said", "aria-live": "polite" });
  const pause = choice("a pause on a host ends it", [["auto", "if much longer than others"], ["Infinity", "never"], ["1000000", "after 1 ms"], ["10000000", "after 10 ms"], ["100000000", "after 100 ms"], ["1000000000", "after 1 s"]], () => run());
  const most = choice("at most", [["20", "20 messages"], ["50", "50 messages"], ["200", "200 messages"]], () => run());
  
  const go = button("follow from the selected event", () => run(), { class: "main" });
  const stop = button("stop", () => { if (running) running.stopped = true; }, { hidden: true });
  const clear = button("clear", () => { if (running) running.stopped = true; chain = null; fill(); said.textContent = ""; App.redraw(2); });
  parts = make("div");
  const end = (/** @type {any} */ e) => `${App.hostOf(e.row).name} · ${App.about.rows[e.row].name}`;
  list = table({
    caption: "Messages of the chain", rows: /** @type {any[]} */ ([]), empty: "Select an event, then follow it.", pick: (row) => { App.select(row.sent, "a"); App.go(row.sent); list.mark(row); },
    columns: [
      { title: "#", text: (r) => String(r.number), number: true },
      { title: "from", text: (r) => end(r.sent) },
      { title: "to", text: (r) => end(r.received) },
      { title: "on host", text: (r) => (r.pause === null ? "–" : App.duration(r.pause)), number: true },
      { title: "delay", text: (r) => App.duration(r.delay.delta), number: true },
      { title: "truly", text: (r) => Relation.told(r.delay, Time.brief) },
      { title: "sent", text: (r) => Time.since(r.sent.at), number: true },
    ],
  });

  async function run() {
    const event = App.selection.a;
    if (!event) { said.textContent = "Select an event first."; return; }
    if (running) running.stopped = true;
    const mine = running = { stopped: false };
    stop.hidden = false;
    said.textContent = "following messages…";
    const source = scanner((from, count) => App.data.events(from, count), App.about.events, (row) => App.about.rows[row].host, { stopped: () => mine.stopped });
    let note = "";
    try {
      const found = await follow(event, source, { most: Number(most.list.value), pause: pause.list.value === "auto" ? Infinity : Number(pause.list.value), grown: (hops) => {
        said.textContent = `following messages… ${hops.length}`;
        return !mine.stopped;
      } });
      if (running !== mine) return;
      chain = pause.list.value === "auto" ? cut(found, pauseOf(found.hops.slice(1).map((h, i) => h.sent.at - found.hops[i].received.at))) : found;
    } catch (/** @type {any} */ error) {
      if (running !== mine) return;
      note = `The chain could not be followed further: ${error.message}`;
      chain = { start: event, hops: [], back: 0, full: false };
    }
    running = null;
    stop.hidden = true;
    fill(note);
    const over = new Set(chain.hops.flatMap((/** @type {any} */ h) => [h.sent.row, h.received.row]).map((/** @type {any} */ r) => App.about.rows[r].host)).size;
    said.textContent = `${plural(chain.hops.length, "message")} over ${plural(over, "host")}${mine.stopped ? ", stopped" : chain.full ? ", and more: the chain was cut" : ""}`;
  }

  body.append(make("h2", {}, "Message chain"), make("p", { class: "buttons" }, go, stop, clear), make("p", { class: "options" }, pause, most), said, parts, list);
  App.command({ id: "follow", key: "c", title: "Follow the chain of messages from the selected event", group: "events", run: () => { App.show("chain"); run(); } });
  App.overlay(draw);
  fill();
}
