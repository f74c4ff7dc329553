// order: "can these two events be ordered?" What goes in is two ends, each an instant of a clock with its interval; what
// comes out is an answer, a margin and the reason. The rule is in docs/viewer.md: of one clock, events stand as recorded; of
// two, the intervals decide; and a chain of messages decides whatever the clocks say, since nothing is received before it
// was sent.
//
//   end = {event, at, row, clock, recorded: BigInt or null, low, high: instants or null for unbounded, component}

import { App } from "./app.js";
import * as Between from "./between.js";
import * as Chain from "./chain.js";
import * as Details from "./details.js";
import * as Dock from "./dock.js";
import { make, button, name, facts } from "./elements.js";
import * as Why from "./why.js";

/** @import { End, Judgement, Passage, Path, TimelineEvent } from "./types.js" */

/**
 * @param {End} a
 * @param {End} b
 */
export const distance = (a, b) => (a.recorded !== null && b.recorded !== null ? Number(b.recorded - a.recorded) : b.at - a.at);
/**
 * Without a clock, stamps are taken as true but for their step. One that was set meanwhile says nothing of the order of its stamps.
 * @param {number} clock
 */
const wasSet = (clock) => Boolean(App.about?.clocks[clock]?.set);
/**
 * @param {End} a
 * @param {End} b
 */
export const sameClock = (a, b) => a.clock === b.clock && a.clock >= 0 && !wasSet(a.clock);

/**
 * judge answers "is a before b?" with {answer: yes, no or unknown; margin: ns or null; why}. granularity is that of the
 * clock, if both are of one; path is what `through` found: {way: "ab" or "ba", hops}, or "both", which cannot be.
 * @param {End} a
 * @param {End} b
 * @param {{ granularity?: number, path?: Path | null }} [options]
 * @returns {Judgement}
 */
export function judge(a, b, { granularity = 0, path = null } = {}) {
  const clocks = byClocks(a, b, granularity);
  if (!path || clocks.why === "same") return clocks;
  if (path.way === "both") return { answer: "unknown", margin: null, why: "contradiction", path };
  const answer = path.way === "ab" ? "yes" : "no";
  return { answer, margin: clocks.answer === answer ? clocks.margin : null, why: "message", path, against: clocks.answer !== "unknown" && clocks.answer !== answer };
}

/**
 * @param {End} a
 * @param {End} b
 * @param {number} granularity
 * @returns {Judgement}
 */
function byClocks(a, b, granularity) {
  if (a.event === b.event && a.event !== null) return { answer: "unknown", margin: null, why: "same" };
  if (sameClock(a, b)) {
    const d = distance(a, b), step = Math.max(1, granularity);
    if (Math.abs(d) >= step) return { answer: d > 0 ? "yes" : "no", margin: Math.abs(d), why: "clock" };
    return { answer: "unknown", margin: Math.abs(d) - step, why: "granularity" };
  }
  if (a.component !== b.component && a.component !== null && b.component !== null) return { answer: "unknown", margin: null, why: "unconnected" };
  const gap = (/** @type {End} */ early, /** @type {End} */ late) => (early.high === null || late.low === null ? null : late.low - early.high);
  const ab = gap(a, b), ba = gap(b, a);
  if (ab !== null && ab > 0) return { answer: "yes", margin: ab, why: "intervals" };
  if (ba !== null && ba > 0) return { answer: "no", margin: ba, why: "intervals" };
  if (ab === null && ba === null) return { answer: "unknown", margin: null, why: "unbounded" };
  if (ab === null || ba === null) return { answer: "unknown", margin: ab ?? ba, why: "half" };
  return { answer: "unknown", margin: Math.max(ab, ba), why: "intervals" };
}

/**
 * through looks for a chain of messages by which a happened before b: over messages [{sent: end, received: end}], the
 * least stamp of each clock that is known to be after a. What is later on the same clock, by its granularity, is after
 * it too; stamps without a clock are of one time only where their hosts are connected. It returns the messages of the
 * chain, or null. Rounds are bounded, since files may claim anything.
 * @param {End} a
 * @param {End} b
 * @param {Passage[]} messages
 * @param {(clock: number) => number} granularityOf
 * @param {any} [options4]
 */
export function through(a, b, messages, granularityOf, { most = 200 } = {}) {
  const key = (/** @type {End} */ end) => (wasSet(end.clock) ? `event ${end.event}` : end.clock >= 0 ? `clock ${end.clock}` : `true time of ${end.component}`);
  const stamp = (/** @type {End} */ end) => (end.clock >= 0 && end.recorded !== null ? end.recorded : BigInt(Math.round(end.at)));
  const step = (/** @type {End} */ end) => BigInt(Math.max(1, Math.round(end.clock >= 0 ? granularityOf(end.clock) : 1)));
  /** @typedef {{ end: End, message: Passage | null, before: Reached | null, hops: number }} Reached */
  /** @type {Map<string, Reached>} */
  const reached = new Map([[key(a), { end: a, message: null, before: null, hops: 0 }]]);
  const after = (/** @type {End} */ end) => {
    const r = reached.get(key(end));
    return r && (r.end.event === end.event || stamp(end) - stamp(r.end) >= step(end)) ? r : null;
  };
  for (let round = 0, changed = true; changed && round < 16; round++) {
    changed = false;
    for (const message of messages) {
      const from = after(message.sent);
      if (!from || from.hops >= most) continue;
      const known = reached.get(key(message.received));
      if (known && stamp(known.end) <= stamp(message.received)) continue;
      reached.set(key(message.received), { end: message.received, message, before: from, hops: from.hops + 1 });
      changed = true;
    }
  }
  let r = after(b);
  if (!r || !r.message) return null;
  /** @type {Passage[]} */
  const hops = [];
  for (; r?.message; r = r.before) hops.unshift(r.message);
  return hops;
}

/**
 * sentence says why, in one sentence, to people. names are those of the two hosts.
 * @param {Judgement} options
 * @param {string[]} parts1
 * @param {(ns: number) => string} duration
 */
export function sentence({ why, margin, path, against }, [a, b], duration) {
  switch (why) {
    case "same": return "Both are the same event.";
    case "clock": return `Both were stamped by the same clock of ${a}, which counted ${duration(margin ?? 0)} between them.`;
    case "granularity": return `Both were stamped by the same clock of ${a}, and lie within one step of its stamps.`;
    case "unconnected": return `No chain of messages connects ${a} and ${b}: their clocks cannot be compared.`;
    case "unbounded": return "A clock has no bound on the side that matters, so that no distance would be enough.";
    case "half": return "A clock is bounded on one side only, and that side does not decide.";
    case "contradiction": return "Chains of messages lead from A to B and from B to A, which cannot be: one of them is matched or stamped wrongly.";
    case "message": {
      const by = path?.hops.length === 1 ? "A message" : `A chain of ${path?.hops.length} messages`;
      return `${by} leads from ${path?.way === "ab" ? "A to B" : "B to A"}, and nothing is received before it was sent${against ? ", though the clocks' bounds say the opposite: an assumption of theirs does not hold" : ""}.`;
    }
    default: return margin !== null && margin > 0 ? `The intervals in which they happened for certain lie ${duration(margin)} apart.`
      : `The intervals in which they happened for certain overlap by ${duration(-(margin ?? 0))}.`;
  }
}

export const verdicts = { yes: "Yes: A is before B", no: "No: B is before A", unknown: "Unknown: either may be the first" };

/**
 * boundsAt is the interval in which an instant of a clock truly lies, as instants; null is a side without a bound.
 * @param {number} clock
 * @param {number} at
 */
export function boundsAt(clock, at) {
  const facts = App.about.clocks[clock], { low, high } = App.bounds(clock, at);
  if (clock < 0 || !facts) return { low: at, high: at };
  return { low: facts.low && low !== null ? at - low : null, high: facts.high && high !== null ? at + high : null };
}

/**
 * endOf makes an end of an event; what the index knows of its bounds goes before what the clock's corners say. A stamp
 * stands for all that its clock showed until the next step. Beyond 2^53 ns, what came rounded is an interval itself.
 * @param {TimelineEvent} event
 */
export function endOf(event) {
  const clock = event.clock ?? App.clockOf(event.row, event.at), bounds = boundsAt(clock, event.at), hidden = Math.max(0, granularityOf(clock) - 1);
  const low = event.low ?? bounds.low, high = event.high ?? (bounds.high === null ? null : bounds.high + hidden);
  return {
    event: event.event, at: event.at, row: event.row, clock, component: componentOf(clock, event.row),
    recorded: /^-?[0-9]+$/.test(String(event.recorded ?? "")) ? BigInt(event.recorded) : null,
    low: low === null ? null : low - rounded(low), high: high === null ? null : high + rounded(high),
  };
}

/**
 * @param {number} clock
 * @param {number} row
 */
export const componentOf = (clock, row) => App.about.clocks[clock]?.component ?? App.hostOf(row).component;
/**
 * @param {number} t
 */
const rounded = (t) => (Math.abs(t) < 2 ** 53 ? 0 : 2 ** (Math.floor(Math.log2(Math.abs(t))) - 52));

/**
 * @param {number} clock
 */
export const granularityOf = (clock) => (clock < 0 ? App.about.step : App.about.clocks[clock]?.granularity) ?? 0;

/**
 * messagesBetween lists the messages among the events from one to the other and a few around them, both ends known; far
 * says that there were more events than are looked at, or some that cannot be had.
 * @param {TimelineEvent} a
 * @param {TimelineEvent} b
 * @param {number} [most]
 */
async function messagesBetween(a, b, most = 4096) {
  const from = Math.max(0, Math.min(a.event, b.event) - 128), to = Math.max(a.event, b.event) + 129;
  const events = new Map([[a.event, a], [b.event, b]]);
  let far = to - from > most;
  for (let at = from; at < Math.min(to, from + most); at += 1024) {
    const some = await App.data.events(at, Math.min(1024, to - at));
    for (const e of some) events.set(e.event, e);
    far ||= some.length < Math.min(1024, to - at, App.about.events - at);
  }
  const messages = [];
  for (const e of events.values()) {
    if (!e.flow) continue;
    const sent = events.get(e.flow.sent ?? e.event), received = events.get(e.flow.received ?? e.event);
    if (sent && received && sent !== received && received === e) messages.push({ sent: endOf(sent), received: endOf(received) });
  }
  return { messages, far };
}

/**
 * ask answers for two events, with what messages say.
 * @param {TimelineEvent} first
 * @param {TimelineEvent} second
 */
export async function ask(first, second) {
  const a = endOf(first), b = endOf(second), granularity = granularityOf(a.clock);
  /** @type {Path | null} */
  let path = null;
  /** @type {boolean} */
  let far;
  try {
    const found = await messagesBetween(first, second);
    far = found.far;
    const ab = through(a, b, found.messages, granularityOf), ba = through(b, a, found.messages, granularityOf);
    if (ab || ba) path = { way: ab && ba ? "both" : ab ? "ab" : "ba", hops: [...(ab ?? []), ...(ba ?? [])] };
  } catch {
    far = true; // what is not at hand cannot be followed: clocks alone answer
  }
  return { a, b, far, ...judge(a, b, { granularity, path: sameClock(a, b) ? null : path }) };
}

/** @type {any} */
let result = null;
let asked = 0;

/**
 * draw shows both intervals over the rows: a band with closed ends from lowest to highest, and its letter above it.
 * @param {CanvasRenderingContext2D} ctx
 */
function draw(ctx) {
  if (!result) return;
  for (const [letter, end] of [["A", result.a], ["B", result.b]]) {
    const box = App.rowY(end.row);
    if (box) bracket(ctx, letter, end, box);
  }
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} letter
 * @param {End} end
 * @param {any} options3
 */
function bracket(ctx, letter, end, { top, height }) {
  const { plot, theme } = App, x = App.x(end.at, end.clock);
  const left = end.low === null ? -8 : App.x(end.low, end.clock), right = end.high === null ? plot.width + 8 : App.x(end.high, end.clock);
  if (right < 0 || left > plot.width) return;
  const l = Math.max(-8, Math.min(left, x - 1)), r = Math.min(plot.width + 8, Math.max(right, x + 1)), middle = top + height / 2;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = letter === "A" ? theme.a : theme.b;
  ctx.globalAlpha = 0.13;
  ctx.fillRect(l, top, r - l, height);
  ctx.globalAlpha = 1;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  for (const side of [l, r]) { ctx.moveTo(side, top + 1); ctx.lineTo(side, top + height - 1); }
  ctx.moveTo(l, middle);
  ctx.lineTo(r, middle);
  ctx.stroke();
  ctx.beginPath();
  ctx.arc(x, middle, 4, 0, 2 * Math.PI);
  ctx.fill();
  ctx.font = "600 12px system-ui, sans-serif";
  const at = Math.max(9, Math.min(plot.width - 9, x));
  ctx.beginPath();
  ctx.arc(at, Math.max(9, top - 2), 9, 0, 2 * Math.PI);
  ctx.fill();
  ctx.fillStyle = theme.ground;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(letter, at, Math.max(9, top - 2) + 0.5);
  ctx.restore();
}

/**
 * @param {"a" | "b"} letter
 */
function slot(letter) {
  const event = App.selection[letter];
  const label = letter.toUpperCase();
  if (!event) return make("p", { class: "slot" }, make("b", {}, label), make("span", { class: "dim" }, letter === "a" ? "click an event" : "Shift-click another event, or select one and press “as B”"));
  return make("p", { class: "slot" }, make("b", {}, label), make("span", { class: "what" }, name(App.describe(event))),
    button("go", () => App.go(event), { "aria-label": `go to ${label}` }), button("×", () => App.select(null, letter), { "aria-label": `let go of ${label}` }));
}

export function start() {
  const body = App.panel("order", "Order", { key: "o", hint: "can two events be ordered?" });
  const slots = make("div", { class: "slots" });
  const answer = make("output", { class: "answer", "aria-live": "polite" });
  const swap = button("swap A and B", async () => {
    const { a, b } = App.selection;
    await App.select(b, "a");
    await App.select(a, "b");
  });
  const asB = button("selected as B", () => App.select(App.selection.a, "b"));
  body.append(make("h2", {}, "Can these two events be ordered?"), slots, make("p", { class: "buttons" }, swap, asB), answer, Between.section(),
    make("p", { class: "note" }, "Each event happened somewhere in its interval, whatever the clocks did within their assumption. Only where the intervals do not meet, or a message leads from one to the other, is the order certain."));
  const both = () => make("div", {}, facts([["A", span(result.a)], ["B", span(result.b)]]));
  const span = (/** @type {End} */ end) => `happened ${Details.certainly(end) === "exact" ? "exactly then" : `within ${Details.certainly(end)} of its instant`}`;

  // decides says of each event's host why its bound is as wide as it is.
  const decides = (/** @type {TimelineEvent[]} */ events) => events.map((e) => make("div", {}, make("b", {}, name(App.hostOf(e.row).name)), Why.section(App.about.rows[e.row].host, e.clock ?? App.clockOf(e.row, e.at), e.at)));

  async function fill() {
    const { a, b } = App.selection, mine = ++asked;
    slots.replaceChildren(slot("a"), slot("b"));
    swap.disabled = !a || !b;
    asB.disabled = !a;
    if (!a || !b) {
      result = null;
      answer.replaceChildren();
      answer.removeAttribute("data-answer");
      Between.offer(null);
      answer.removeAttribute("aria-busy");
      return App.redraw(2);
    }
    answer.setAttribute("aria-busy", "true"); // what stands there is of other events
    const found = await ask(a, b);
    if (mine !== asked) return;
    answer.removeAttribute("aria-busy");
    result = found;
    const hosts = [a, b].map((e) => App.hostOf(e.row).name), mark = { yes: "A → B", no: "B → A", unknown: "A ? B" }[found.answer];
    Between.offer(found);
    answer.dataset.answer = found.answer;
    answer.dataset.why = found.why;
    answer.replaceChildren(make("strong", { class: "verdict" }, make("span", { class: "mark", "aria-hidden": "true" }, mark), verdicts[found.answer]),
      found.margin === null ? "" : make("p", { class: "margin" }, found.margin > 0 ? `by ${found.why === "clock" ? "" : "at least "}${App.duration(found.margin)}` : `margin ${App.duration(found.margin)}`),
      make("p", {}, name(sentence(found, hosts, App.duration))), both(),
      found.far && found.answer === "unknown" ? make("p", { class: "note" }, "Not all messages between could be followed; a chain of them may still order these events.") : "");
    if (found.answer === "unknown" && ["intervals", "unbounded", "half", "unconnected"].includes(found.why)) answer.append(...(found.why === "unconnected" ? [make("p", {}, "What would decide it: messages between the two groups of hosts.")] : [make("p", {}, "What would decide it: narrower bounds."), ...decides([a, b])]));
    const { path } = found;
    if (path) answer.append(button("show the chain of messages", () => Chain.show(path.hops)));
    App.redraw(2);
  }
  App.on("select", (which) => {
    fill();
    const { a, b } = App.selection, message = a?.flow && b && (a.flow.sent === b.event || a.flow.received === b.event);
    if (which === "b" && a && b && !message && ["", "details"].includes(Dock.shown())) App.show("order");
  });
  App.overlay(draw);
  App.command({ id: "as-b", key: "b", title: "Take the selected event as B, to compare with the next one", group: "events", run: () => { if (App.selection.a) App.select(App.selection.a, "b"); } });
  fill();
}
