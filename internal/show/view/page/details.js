// details: all that is known of the selected event: its time as corrected and as recorded, between which instants it
// happened for certain, where, in what slice, its message with the other end, and every field.

import { App } from "./app.js";
import * as Dock from "./dock.js";
import { make, button, name, facts, section, table } from "./elements.js";
import * as Elements from "./elements.js";
import * as Order from "./order.js";
import * as Relation from "./relation.js";
import * as Time from "./time.js";
import * as Violations from "./violations.js";
import * as Why from "./why.js";

/** @import { TimelineEvent } from "./types.js" */

/** @type {HTMLElement} */
let body;
/** @type {string} */
let shown = "";
let asked = 0;

/**
 * @param {number} ns
 */
const signed = (ns) => (ns > 0 ? "+" : "") + App.duration(ns);

/**
 * stamp writes what the host's clock said.
 * @param {TimelineEvent} event
 */
export function stamp(event) {
  if (!/^-?\d+$/.test(String(event.recorded ?? ""))) return "not known";
  const since = Number(BigInt(event.recorded) - BigInt(App.about.origin));
  return `${App.time(since)}${since === event.at ? "" : ` (${signed(since - event.at)} beside the timeline)`}`;
}

/**
 * certainly writes the interval of an end around its instant.
 * @param {any} options
 */
export const certainly = ({ at, low, high }) => Time.margin(low === null ? null : at - low, high === null ? null : high - at);

/**
 * @param {number} number
 */
async function one(number) {
  try { return (await App.data.events(number, 1))[0] ?? null; } catch { return null; }
}

/**
 * gather collects what is to be said as parts [title, [[label, text, event to go to], ...]], for the page and for copying.
 * @param {TimelineEvent} event
 */
async function gather(event) {
  const row = App.about.rows[event.row], host = App.hostOf(event.row), kind = App.about.classes[event.class];
  /** @type {any[]} */
  const parts = [["Event", [
    ["name", App.className(event.class)], kind?.category && ["category", kind.category], ["number", Elements.grouped(event.event)],
    ["host", host.name], ["row", row.name], ["time", App.time(event.at)], ["since start", Time.since(event.at)],
    ["recorded", stamp(event)], ["certainly", certainly(Order.endOf(event))],
    event.phase && event.phase !== "instant" && ["phase", event.phase]].filter(Boolean)]];
  if (event.slice) {
    const [begin, end] = await Promise.all([event.slice.begin, event.slice.end].map((n) => (n === undefined || n === null || n < 0 ? null : n === event.event ? event : one(n))));
    parts.push(["Slice", [["begins", begin ? Time.since(begin.at) : "not recorded", begin], ["ends", end ? Time.since(end.at) : "not recorded", end],
      begin && end && ["length", App.duration(end.at - begin.at)]].filter(Boolean)]);
  }
  if (event.flow) parts.push(...await messages(event));
  return parts;
}

/**
 * messages: an event may receive one message and send another.
 * @param {TimelineEvent} event
 */
async function messages(event) {
  /** @type {any[]} */
  const parts = [];
  for (const [side, other] of /** @type {[string, number | null | undefined][]} */ ([["sent", event.flow?.sent], ["received", event.flow?.received]])) {
    if (other === undefined || other === null || other < 0 || other === event.event) continue;
    const far = await one(other), [sent, received] = side === "sent" ? [far, event] : [event, far];
    const title = side === "sent" ? "Message received" : "Message sent";
    if (!far) {
      parts.push([title, [[side, `event ${Elements.grouped(other)}, which ${App.live ? "the index has no longer" : "this file does not have"}`]]]);
      continue;
    }
    const d = Relation.ofMessage(sent, received), verdict = await Violations.verdictOf(sent, received, d);
    parts.push([title, [
      [side === "sent" ? "sent by" : "received by", `${App.hostOf(far.row).name}, ${App.about.rows[far.row].name}`, far],
      [side, Time.since(far.at)], ["delay", Relation.estimate(d, App.duration)], ["truly", Relation.told(d, Time.brief)],
      ["verdict", `${verdict.mark} ${verdict.name}`, null, verdict.id], verdict.id !== "ordered" && ["that is", verdict.means]].filter(Boolean)]);
  }
  return parts;
}

/**
 * @param {any} parts
 * @param {TimelineEvent} event
 */
export function asText(parts, event) {
  const lines = parts.flatMap((/** @type {any} */ [title, pairs]) => [title, ...pairs.map((/** @type {any} */ [label, value]) => `  ${label}: ${value}`)]);
  if (event.fields?.length) lines.push("Fields", ...event.fields.map(([label, value]) => `  ${label}: ${value}`));
  return lines.join("\n") + "\n";
}

/**
 * @param {TimelineEvent} event
 */
const go = (event) => () => { App.select(event, "a"); App.go(event); };

/** @param {string} [missing] why the event is not there */
async function fill(missing) {
  const event = App.selection.a, mine = ++asked;
  if (!event) {
    shown = "";
    body.replaceChildren(make("p", { class: "dim" }, missing || "Click an event, or go to one with the keys that ? lists. Its time, bounds, fields and message appear here."));
    return;
  }
  const parts = await gather(event);
  if (mine !== asked) return;
  shown = asText(parts, event);
  const said = make("output", { class: "said", "aria-live": "polite" });
  const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = App.color(event.class);
  body.replaceChildren(
    make("h2", { class: "event" }, swatch, name(App.className(event.class))),
    make("p", { class: "buttons" }, button("go there", () => App.go(event)), button("as B, to compare", () => App.select(event, "b")),
      button("follow messages", () => { App.commands.find((c) => c.id === "follow")?.run?.(); }),
      button("copy as text", async () => { said.textContent = (await Elements.copy(shown)) ? "copied" : "the browser did not allow it"; }), said),
    ...parts.map(([title, pairs]) => section(title, facts(pairs.map((/** @type {any} */ [label, value, target, verdict]) => [label,
      [make("span", verdict ? { class: `verdict ${verdict}` } : {}, name(value)), target ? button("go", go(target), { "aria-label": `go to where it ${label}` }) : null].filter(Boolean)])))),
    certainly(Order.endOf(event)) === "exact" ? "" : section("Why the bound is as wide", Why.section(App.about.rows[event.row].host, event.clock ?? App.clockOf(event.row, event.at), event.at)),
    event.fields?.length ? section("Fields", table({ caption: `Fields of event ${event.event}`, rows: event.fields,
      columns: [{ title: "name", text: (f) => f[0] }, { title: "value", text: (f) => f[1] }] })) : "");
}

export function start() {
  const whole = App.panel("details", "Details", { key: "i", hint: "the selected event" });
  body = make("div", { class: "details" });
  whole.append(body);
  App.on("select", (which, event, missing) => {
    if (which !== "a") return;
    fill(missing);
    if ((event || missing) && !Dock.shown()) App.show("details");
  });
  fill();
}
