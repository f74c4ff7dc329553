// measure: how long it is from one point to another, and how sure that is. Points are instants of a row, or events where
// one is close. On one clock a span is what the clock counted, up to its granularity; between two it may be shorter or
// longer by what both bounds allow, unless messages between two events say more.

import { App } from "./app.js";
import { make, button, facts } from "./elements.js";
import * as Elements from "./elements.js";
import * as Order from "./order.js";
import * as Relations from "./relation.js";

/** @import { End, Judgement, Point, Relation, TimelineEvent } from "./types.js" */

/**
 * words says a relation in a sentence. judgement is Order's of the same two ends; where there is none, the order is not told.
 * @param {Relation} relation
 * @param {string[]} parts1
 * @param {(ns: number) => string} duration
 * @param {Judgement | null} [judgement]
 */
export function words(relation, [from, to], duration, judgement = null) {
  const { delta, low, high, comparable, oneClock } = relation, span = `${duration(Math.abs(delta))} from ${from} to ${to}`;
  const order = judgement ? `; ${orderWords(judgement, from, to)}` : "";
  if (!comparable && low === null && high === null) return `${span}; not comparable: no messages connect the hosts`;
  if (oneClock) return low !== null && high !== null && high > low ? `${span}, by one clock, to within ${duration((high - low) / 2)}` : `${span}, by one clock`;
  if (low === null && high === null) return `${span}; without bounds${order}`;
  if (low === high) return `${span}, exactly`;
  return `${span}; truly ${Relations.told(relation, duration)}${order}`;
}

/**
 * orderWords says which of two ends was first, as the panel Order does.
 * @param {Judgement} judgement
 * @param {string} from
 * @param {string} to
 */
function orderWords({ answer, why }, from, to) {
  if (answer === "unknown") return why === "contradiction" ? "the order is undecided: messages contradict each other" : "the order is undecided";
  const by = why === "message" ? ", by a message" : "";
  return answer === "yes" ? `the order is certain${by}` : `the order is certain${by}, the other way round: ${to} before ${from}`;
}

export const reach = 7; // pixels within which a point snaps to the selected or hovered event
let mode = false;
/** @type {Point | null} */
let begun = null;
/** @type {[End, End] | null} */
export let ends = null;
/** @type {{ answer: Judgement, of: [End, End] } | null} */
let asked = null; // what messages say of the two ends
/** @type {HTMLElement} */
let body;
/** @type {HTMLElement} */
let live;

/**
 * pointAt makes an end of a place on the plot, or of an event.
 * @param {Point} options
 * @returns {End}
 */
function pointAt({ row, at, clock = -1, host = -1, event = null }) {
  if (event && typeof event === "object") return { ...Order.endOf(event), what: event };
  const place = { event: null, at, row, recorded: null, what: null };
  if (row >= 0) clock = App.clockOf(row, at);
  else if (clock < 0) return { ...place, clock, host, component: host < 0 ? null : App.about.hosts[host].component, low: at, high: at };
  return { ...place, clock, host, component: row >= 0 ? Order.componentOf(clock, row) : App.about.clocks[clock].component, ...Order.boundsAt(clock, at) };
}

/**
 * result measures between two ends, the earlier one first.
 * @param {[End, End]} ends
 */
const result = (ends) => {
  const [a, b] = ends[0].at <= ends[1].at ? ends : [ends[1], ends[0]], granularity = Order.granularityOf(a.clock);
  const judgement = asked?.of === ends ? asked.answer : Order.judge(a, b, { granularity });
  return { a, b, judgement, ...Relations.narrow(Relations.difference(a, b, granularity), judgement.path, Relations.least()) };
};

/**
 * @param {End} end
 */
const hostName = (end) => (end.row >= 0 ? App.hostOf(end.row).name : (App.about.hosts[end.host ?? -1]?.name ?? "the timeline"));

/**
 * @param {End} end
 */
const nameOf = (end) => (end.what ? App.describe(end.what) : end.row >= 0 ? `${hostName(end)}, ${App.about.rows[end.row].name}` : hostName(end));

/**
 * set measures between two places {row, at, event}; null lets go.
 * @param {Point | null} from
 * @param {Point | null} to
 * @param {boolean} [quiet]
 */
export function set(from, to, quiet = false) {
  ends = from && to ? [pointAt(from), pointAt(to)] : null;
  asked = null;
  if (from && to && ends && !quiet) ask(ends, [from, to]);
  fill(quiet);
  App.redraw(2);
}

/**
 * ask has Order look for messages that lead from one event to the other, and says what they say too.
 * @param {[End, End]} of
 * @param {[Point, Point]} points
 */
async function ask(of, points) {
  const found = await Promise.all(points.map(eventAt)).catch(() => []);
  if (ends !== of || !found[0] || !found[1] || found[0].event === found[1].event) return;
  const both = /** @type {[End, End]} */ (found.map((event) => ({ ...Order.endOf(/** @type {TimelineEvent} */ (event)), what: event })));
  const [a, b] = both[0].at <= both[1].at ? both : [both[1], both[0]];
  const answer = await Order.ask(/** @type {TimelineEvent} */ (a.what), /** @type {TimelineEvent} */ (b.what));
  if (ends !== of) return;
  [ends, asked] = [both, { answer, of: both }];
  fill();
  App.redraw(2);
}

/**
 * eventAt is the event that a point snapped to: of a slice, the one that begins or ends it.
 * @param {Point} point
 * @returns {Promise<TimelineEvent | null>}
 */
async function eventAt({ at, event = null }) {
  if (event === null || typeof event === "object") return event;
  const one = event < 0 ? null : (await App.data.events(event, 1))[0];
  if (!one || one.at === at) return one ?? null;
  const other = one.slice && one.slice.end >= 0 ? (await App.data.events(one.slice.end, 1))[0] : null;
  return other?.at === at ? other : null;
}

/**
 * @param {boolean} [quiet]
 */
function fill(quiet = false) {
  if (!body) return;
  if (!ends) {
    live.textContent = "";
    body.replaceChildren(make("p", { class: "dim" }, "Hold Shift and drag on the timeline; or press m and click two points. Points snap to events."));
    return;
  }
  const r = result(ends), { a, b } = r, hosts = /** @type {[string, string]} */ ([a, b].map(hostName));
  if (!quiet) live.textContent = words(r, hosts, App.duration, r.judgement);
  const exact = (/** @type {number} */ ns) => `${App.duration(ns)} (${Elements.grouped(Math.round(ns))} ns)`;
  body.replaceChildren(
    make("p", { class: "big" }, App.duration(r.delta)),
    facts([
      ["span", exact(r.delta)],
      ["truly", r.low === r.high && r.low !== null && !r.against ? "exact" : Relations.told(r, App.duration)],
      ["because", r.oneClock ? "one clock counted it" : r.cut ? "the bounds of two clocks, and a message between them" : "the bounds of two clocks"],
      !r.oneClock && ["order", orderWords(r.judgement, hosts[0], hosts[1])],
      r.delta > 0 && ["rate", `${perSecond(r.delta)} per second`],
      ["from", nameOf(a)], ["at", App.time(a.at)], ["to", nameOf(b)], ["at", App.time(b.at)],
    ]),
    make("p", { class: "buttons" }, button("go to begin", () => App.go(a.what ?? { at: a.at, row: a.row })), button("go to end", () => App.go(b.what ?? { at: b.at, row: b.row })),
      button("zoom to it", () => App.setView(a.at - r.delta * 0.1, b.at + r.delta * 0.1, { animate: true })), button("clear", () => set(null, null))));
}

/**
 * @param {number} ns
 */
function perSecond(ns) {
  const n = 1e9 / ns;
  return n >= 1e6 ? `${(n / 1e6).toFixed(2)} million` : n >= 100 ? Elements.grouped(Math.round(n)) : n.toPrecision(3);
}

/**
 * draw shows the span as two uprights with a bar between, and how far each may be off as thinner bars at its foot.
 * @param {CanvasRenderingContext2D} ctx
 */
function draw(ctx) {
  if (!ends) return;
  const { plot, theme } = App, r = result(ends), x0 = App.x(r.a.at, r.a.clock), x1 = App.x(r.b.at, r.b.clock);
  const middle = (/** @type {End} */ end) => { const p = end.row < 0 ? null : App.rowY(end.row); return p ? p.top + p.height / 2 : plot.height / 2; };
  const top = 27;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = theme.accent;
  ctx.globalAlpha = 0.1;
  ctx.fillRect(x0, 0, x1 - x0, plot.height);
  ctx.globalAlpha = 1;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  for (const [x, end] of /** @type {[number, End][]} */ ([[x0, r.a], [x1, r.b]])) {
    ctx.moveTo(x, 0);
    ctx.lineTo(x, plot.height);
    const y = middle(end), l = end.low === null ? 0 : App.x(end.low, end.clock), h = end.high === null ? plot.width : App.x(end.high, end.clock);
    if (h - l > 2) { ctx.moveTo(l, y); ctx.lineTo(h, y); ctx.moveTo(l, y - 4); ctx.lineTo(l, y + 4); ctx.moveTo(h, y - 4); ctx.lineTo(h, y + 4); }
  }
  ctx.moveTo(x0, top);
  ctx.lineTo(x1, top);
  for (const [x, way] of [[x0, 1], [x1, -1]]) { ctx.moveTo(x + 5 * way, top - 4); ctx.lineTo(x, top); ctx.lineTo(x + 5 * way, top + 4); }
  ctx.stroke();
  const text = App.duration(r.delta) + (!r.oneClock && r.low !== null && r.high !== null && r.low !== r.high ? ` (${Relations.told(r, App.duration)})` : "");
  ctx.font = "600 12px system-ui, sans-serif";
  const width = ctx.measureText(text).width + 12, at = Math.max(0, Math.min(plot.width - width, (x0 + x1 - width) / 2));
  ctx.fillStyle = theme.ground;
  ctx.fillRect(at, top - 20, width, 17);
  ctx.fillStyle = theme.accent;
  ctx.textBaseline = "middle";
  ctx.fillText(text, at + 6, top - 11);
  ctx.restore();
}

/**
 * click takes a point in measure mode; the second one ends it.
 * @param {Point} point
 */
export function click(point) {
  if (!mode || !point) return false;
  if (!begun) {
    begun = point;
    set(point, point, true);
    live.textContent = "first point taken; click the second";
  } else {
    set(begun, point);
    toggle(false);
    App.show("measure");
  }
  return true;
}

export function toggle(yes = !mode) {
  mode = yes;
  begun = null;
  document.body.classList.toggle("measuring", mode);
  App.announce(mode ? "measuring: click two points" : "no longer measuring");
  App.emit("panel");
}

export function start() {
  const whole = App.panel("measure", "Measure", { hint: "between two points" });
  live = make("output", { class: "said", "aria-live": "polite" });
  body = make("div");
  const between = button("measure between A and B", () => { const { a, b } = App.selection; if (a && b) set({ ...a, event: a }, { ...b, event: b }); });
  const ready = () => { between.disabled = !App.selection.a || !App.selection.b; };
  whole.append(make("h2", {}, "Measure"), body, make("p", { class: "buttons" }, between), live);
  App.command({ id: "measure", key: "m", title: "Measure between two points", button: true, label: "measure", group: "events", pressed: () => mode, run: () => toggle() });
  App.on("measure", (from, to, { done = true } = {}) => {
    if (from && to) set(from, to, !done);
    else if (from) click(from);
    else set(null, null);
    if (done && ends && !begun) { App.show("measure"); if (mode) toggle(false); }
  });
  App.on("select", ready);
  App.overlay(draw);
  ready();
  fill();
}
