// live: a timeline that grows. The server says what is new (api/live, docs/viewer.md): Data then asks again for the tiles that
// are in sight and have changed, and for `about` when rows, classes, links, hosts or clocks have come. The chip in the header says
// how late the picture is; the button beside it lets the view follow the end (follow.js).
//
//   App.on("grown", (shaped) => ...)   `about` is a newer one; shaped: of more rows, classes, links, hosts or clocks
//   App.on("tick", () => ...)          once a second while events come: what a panel shows may be refreshed

import { byId } from "./dom.js";
import { App } from "./app.js";
import * as Colors from "./colors.js";
import * as Data from "./data.js";
import * as Dock from "./dock.js";
import * as Draw from "./draw.js";
import * as Follow from "./follow.js";
import * as Rows from "./rows.js";
import * as Runs from "./runs.js";
import * as Time from "./time.js";

/** @import { About, LiveUpdate } from "./types.js" */

const Retry = 1000; // ms until a lost connection is tried again
const Silence = 5000; // ms without a word after which it counts as lost: the server speaks each second
const Shaped = 1000; // ms between two requests for about when rows and the like came
const Counted = 5000; // ms between two requests for about when only counts changed
/** @type {"" | "connecting" | "on" | "lost" | "ended"} "" of a timeline that does not grow */
export let state = "";
/** @type {LiveUpdate | null} */
let last = null;
/** @type {{ close(): void } | null} */
let stream = null;
let heard = 0; // when the last message came
let ahead = -Infinity; // ns that the timeline's present is ahead of performance.now()
/** @type {[at: number, events: number][]} */
const rates = [];
let shape = -1; // that of `about`
let asked = -Infinity; // when about was last asked for
let asking = false;
let counted = 0; // events when it was
let cost = 0; // ms that it took
let ticked = 0; // events at the last tick
let complained = -Infinity;
let looked = false; // at what was dropped
/** @type {HTMLElement} */
let chip;

/**
 * open begins to listen if the timeline grows.
 * @param {About} about
 */
export function open(about) {
  if (!about.live) return;
  state = "connecting";
  counted = ticked = about.events;
  App.command({ id: "live", key: ["L", "End"], title: "Follow the end of the timeline", button: true, label: "live", group: "view", run: () => Follow.toggle(), pressed: () => Follow.on() });
  chip = Dock.make("span", "chip");
  chip.id = "chip";
  byId("tools").before(chip);
  say();
  Follow.start();
  connect();
  setInterval(tick, 1000);
}

function connect() {
  const mine = Data.listen(last?.growth.version ?? 0, (update) => { if (mine === stream) hear(update); }, () => { if (mine === stream) lose(); });
  stream = mine;
  heard = performance.now();
}

function lose() {
  stream?.close();
  stream = null;
  if (state === "ended") return;
  if (state === "on") App.announce("the connection is lost; trying again");
  state = "lost";
  say();
  setTimeout(() => { if (!stream && state === "lost") connect(); }, Retry);
}

/**
 * hear takes a message of the server.
 * @param {LiveUpdate} update
 */
function hear(update) {
  heard = performance.now();
  if (state === "lost") App.announce("connected again");
  const first = !last, before = state;
  last = update;
  state = update.ended ? "ended" : "on";
  if (state !== before) say();
  synchronize(Number(update.now));
  Data.grow(update.growth);
  rates.push([heard, update.growth.events]);
  while (rates.length > 2 && heard - rates[0][0] > 3000) rates.shift();
  if (first && shape < 0) shape = update.growth.shape; // about was asked for just before, or a moment earlier
  if (first || update.growth.hosts !== App.about.hosts.length) renew();
  if (update.ended) {
    stream?.close();
    stream = null;
    App.announce("the recording has ended");
    Follow.stop();
    renew();
  }
  App.redraw();
}

/**
 * synchronize keeps how far the present of the timeline is ahead: messages come late by more or less, never early.
 * @param {number} now
 */
function synchronize(now) {
  const by = now - performance.now() * 1e6;
  ahead = Math.abs(by - ahead) > 2e9 ? by : ahead + (by - ahead) * (by > ahead ? 0.5 : 0.02);
}

// now is the present on the timeline, which goes on between messages.
export const now = () => (state === "on" && last ? ahead + performance.now() * 1e6 : last ? Math.max(Number(last.now), Data.about.span) : Data.about.span);

// end is how far the timeline reaches.
export const end = () => (state ? Math.max(Data.about.span, now()) : Data.about.span);

// growing says that there is more to come.
export const growing = () => state !== "" && state !== "ended";

function tick() {
  if (stream && performance.now() - heard > Silence) lose();
  const wait = Math.max(last && last.growth.shape !== shape ? Shaped : Counted, 20 * cost);
  if (last && performance.now() - asked >= wait && (last.growth.shape !== shape || last.growth.events !== counted)) renew();
  if (last && last.growth.events !== ticked) {
    ticked = last.growth.events;
    Data.forgetAnswers();
    Dock.totals(App.about);
    App.emit("tick");
  }
  say();
}

// renew asks for about again.
async function renew() {
  if (asking || !last) return;
  asking = true;
  const begun = asked = performance.now(), { growth } = last, before = [...App.about.verdicts ?? []];
  try {
    await Data.reopen();
    cost = performance.now() - begun;
    const shaped = growth.shape !== shape;
    shape = growth.shape;
    counted = growth.events;
    take(shaped);
    complain(before);
  } catch (/** @type {any} */ error) {
    console.error(error); // it is asked for again
  } finally {
    asking = false;
  }
}

/**
 * take has all parts take over a newer `about`.
 * @param {boolean} shaped
 */
function take(shaped) {
  const { about } = App;
  Runs.open(about);
  Colors.grow(about);
  Draw.forgetNames();
  Rows.grow(about);
  Dock.totals(about);
  Dock.warn(about);
  App.emit("grown", shaped);
  App.redraw();
}

/**
 * complain tells a screen reader of new violations, but not of each.
 * @param {number[]} before
 */
function complain(before) {
  const more = ((App.about.verdicts ?? [])[4] ?? 0) - (before[4] ?? 0);
  if (more <= 0 || performance.now() - complained < 10000) return;
  complained = performance.now();
  App.announce(more === 1 ? "one more message certainly violates causality" : `${Time.grouped(more)} more messages certainly violate causality`);
}

// rate is how many events came a second, of late.
function rate() {
  const [t0, n0] = rates[0] ?? [0, 0], [t1, n1] = rates[rates.length - 1] ?? [0, 0];
  return t1 - t0 < 500 ? null : (n1 - n0) / (t1 - t0) * 1000;
}

/**
 * seconds writes a lag: tenths are enough.
 * @param {number} ns
 */
const seconds = (ns) => (ns < 9.95e9 ? `${(Math.max(0, ns) / 1e9).toFixed(1)} s` : Time.brief(Math.round(ns / 1e9) * 1e9));

// say writes the chip, and in its title how each host does.
function say() {
  const gap = dropped();
  if (gap && !looked) App.announce(`the index has no longer what is in sight; ${gone(gap)}`);
  looked = Boolean(gap);
  const words = told(), kind = state === "on" && last && (last.lost || last.late || gap) ? "on warned" : state;
  if (chip.textContent !== words) chip.textContent = words;
  if (chip.className !== `chip ${kind}`) chip.className = `chip ${kind}`;
  chip.title = [`The picture waits ${seconds(last?.frame ?? 0)} for late events.`,
    ...(last?.hosts ?? []).map((h, i) => [`${App.about.hosts[i]?.name ?? `host ${i}`}: last event ${seconds(h.behind)} ago`, h.bound, h.lost ? `${Time.grouped(h.lost)} lost` : ""].filter(Boolean).join(", "))].join("\n");
}

// dropped is what the index has no longer and the view would show.
function dropped() {
  const { view } = App;
  return view && last?.growth.dropped?.find(([from, to]) => view.from < to && view.to > from);
}

/**
 * gone says what was dropped.
 * @param {[from: number, to: number]} gap
 */
const gone = ([from, to]) => (from <= 0 ? `dropped: all before ${Time.clock(to, 0)}` : `dropped: ${Time.clock(from, 0)} to ${Time.clock(to, 0)}`);

function told() {
  if (state === "connecting") return "connecting…";
  if (state === "lost") return "connection lost, trying again…";
  if (!last) return "";
  const per = rate(), { behind, frame, lost, late } = last;
  const parts = state === "ended" ? ["recording ended"] : per === 0 && behind > frame + 2e9 ? [`no events for ${seconds(behind)}`] : [`${seconds(behind)} behind`];
  if (state === "on" && per) parts.push(`${Time.grouped(Number(per.toPrecision(per < 100 ? 2 : 3)))} events/s`);
  if (lost) parts.push(`${Time.grouped(lost)} lost`);
  if (late) parts.push(`${Time.grouped(late)} late`);
  const gap = dropped();
  if (gap) parts.push(gone(gap));
  return parts.join(" · ");
}

// status is what the last message said, for the console, for tests and for benchmarks.
export const status = () => last && { ...last, state, following: Follow.on(), rate: rate() };
