// tables: what is in view, as tables for screen readers and for exact figures: the events and
// messages of the stretch shown, of rows that are not hidden. They come from the same tiles as the picture; where a tile
// only counts, the table says how many there are and that zooming in shows them.

import { App } from "./app.js";
import { make, button, table, section, grouped, plural } from "./elements.js";
import * as Perfetto from "./perfetto.js";
import * as Picture from "./picture.js";
import * as Rows from "./rows.js";
import * as Runs from "./runs.js";
import * as Save from "./save.js";
import * as Svg from "./svg.js";
import * as Time from "./time.js";
import * as View from "./view.js";
import * as Violations from "./violations.js";

/** @import { Column, InView, Listed, Tile, TileLane } from "./types.js" */

/** @type {HTMLElement} */
let body;
/** @type {HTMLElement} */
let said;
/** @type {any} */
let events;
/** @type {any} */
let messages;
let asked = 0;
let open = false;

/**
 * levelFor is the finest level of which two tiles cover a stretch.
 * @param {number} from
 * @param {number} to
 * @param {number} top
 */
export const levelFor = (from, to, top) => Math.max(0, Math.min(top, Math.ceil(Math.log2(Math.max(1, (to - from) / 1024)))));

/**
 * extent is from when to when an item is there: a slice, or a message, which may seem to be received before it was sent.
 * @param {TileLane} lane
 * @param {number} i
 */
function extent(lane, i) {
  const at = lane.at[i], other = at + (lane.length?.[i] ?? lane.delay?.[i] ?? 0);
  return [Math.min(at, other), Math.max(at, other)];
}

/**
 * collect takes from lanes of a tile what lies in [from, to): exact items, and how many are only counted. want maps the
 * number of a lane to what stands for it (a row, a link); others are left out.
 * @param {Tile} tile
 * @param {number} from
 * @param {number} to
 * @param {Map<number, any>} want
 * @param {Listed[]} list
 */
export function collect(tile, from, to, want, list) {
  let counted = 0;
  for (const lane of tile.lanes.values()) {
    const of = want.get(lane.number);
    if (of === undefined) continue;
    for (let i = 0; i < lane.n; i++) {
      if (lane.mode < 4) {
        const [begin, end] = extent(lane, i);
        if (end >= from && begin < to) list.push({ of, at: lane.at[i], lane, i });
      } else {
        const begin = tile.from + lane.at[i] * tile.width;
        if (begin + tile.width > from && begin < to) counted += lane.count?.[i] ?? 1;
      }
    }
  }
  return counted;
}

/**
 * intervals lists what of the timeline is in sight: in raw time another stretch by each clock.
 * @param {number} from
 * @param {number} to
 */
function intervals(from, to) {
  if (!App.view.raw) return [[from, to]];
  const list = Runs.all.map((r) => /** @type {[number, number]} */ ([Math.max(r.from, View.instantOf(r.clock, from, 1)), Math.min(r.to, View.instantOf(r.clock, to, 1))])).filter(([a, b]) => b > a);
  return list.sort(([a], [b]) => a - b).reduce((joined, [a, b]) => {
    const last = joined[joined.length - 1];
    if (last && a <= last[1]) last[1] = Math.max(last[1], b);
    else joined.push([a, b]);
    return joined;
  }, /** @type {[number, number][]} */ ([]));
}

/**
 * inSight says that an item is drawn in [from, to), each end by its own row's clock.
 * @param {any} options
 * @param {number} from
 * @param {number} to
 */
function inSight({ of, lane, i }, from, to) {
  const [begin, end] = extent(lane, i), rows = of.row === undefined ? [of.from, of.to] : [of.row, of.row];
  const ends = lane.delay ? [View.shown(lane.at[i], App.clockOf(rows[0], lane.at[i])), View.shown(lane.at[i] + lane.delay[i], App.clockOf(rows[1], lane.at[i] + lane.delay[i]))]
    : [begin, end].map((at) => View.shown(at, App.clockOf(rows[0], at)));
  return Math.max(...ends) >= from && Math.min(...ends) < to;
}

/**
 * gather asks for the tiles of groups over the stretch, and sorts what they hold; an item of two tiles counts once.
 * @param {any} groups
 * @param {number} from
 * @param {number} to
 * @param {any} want
 */
async function gather(groups, from, to, want) {
  const { top } = App.about, level = levelFor(from, to, top), width = 1024 * 2 ** level, /** @type {any[]} */ list = [];
  let counted = 0;
  for (const [a, b] of intervals(from, to)) {
    const first = Math.max(0, Math.floor(a / width)), last = Math.max(first, Math.floor(Math.max(0, b) / width)), tiles = new Set();
    for (const group of groups) for (let i = first; i <= Math.min(last, first + 2); i++) tiles.add(await App.data.load(group, level, i));
    for (const tile of tiles) if (tile) counted += collect(tile, a, b, want, list);
  }
  const seen = new Set(), single = list.filter(({ lane, i }) => {
    const key = `${lane.number} ${lane.event[i]}`;
    return !seen.has(key) && seen.add(key);
  });
  const shown = App.view.raw ? single.filter((x) => inSight(x, from, to)) : single;
  shown.sort((a, b) => a.at - b.at);
  return { list: shown, counted };
}

/**
 * @param {number} row
 */
const shownRow = (row) => !App.hidden.rows.has(row) && !App.hidden.hosts.has(App.about.rows[row].host) && Rows.accepts(row);

/**
 * inView lists all that is drawn one by one in the view, of rows, names and links that are neither hidden nor filtered out, and how many are only counted.
 * @returns {Promise<InView>}
 */
export async function inView() {
  const { about, view } = App, [from, to] = [view.from, view.to], lanes = new Map(), links = new Map();
  about.rows.forEach((r, row) => { if (shownRow(row)) for (const lane of r.lanes) lanes.set(lane.lane, { row, kind: lane.kind, name: lane.name }); });
  about.links.forEach((l) => { if (!App.hidden.links.has(l.lane) && shownRow(l.from) && shownRow(l.to)) links.set(l.lane, l); });
  const hosts = [...new Set([...lanes.values()].map((l) => about.rows[l.row].host))];
  const found = await gather(hosts, from, to, lanes), sent = await gather([about.hosts.length], from, to, links);
  const events = found.list.filter(({ of, lane, i }) => of.kind === "counter" || !App.hidden.classes.has(lane.name?.[i]));
  return { from, to, events, messages: sent.list, uncounted: [found.counted, sent.counted], counted: found.counted + sent.counted };
}

/**
 * fill takes what is in view; quiet where nobody asked for it, but the timeline has grown.
 * @param {boolean} [quiet]
 */
async function fill(quiet = false) {
  const mine = ++asked;
  said.setAttribute("aria-live", quiet ? "off" : "polite");
  if (!quiet) said.textContent = "loading…";
  try {
    const found = await inView();
    if (mine === asked) show(found);
  } catch (/** @type {any} */ error) {
    if (mine === asked) said.textContent = `Loading the tables failed: ${error.message}`;
  }
}

/**
 * @param {InView} found
 */
function show(found) {
  events.update(found.events, found.uncounted[0]);
  messages.update(found.messages, found.uncounted[1]);
  const more = (/** @type {string} */ what, /** @type {any[]} */ list, /** @type {number} */ counted) => `${plural(list.length, what)}${counted ? ` of about ${grouped(list.length + counted)} (zoom in for the others)` : ""}`;
  said.textContent = `From ${Time.since(found.from)} to ${Time.since(found.to)}: ${more("event", found.events, found.uncounted[0])}, ${more("message", found.messages, found.uncounted[1])}.`;
}

/**
 * csv saves all that is in view of one table, and says what is only counted.
 * @param {string} name
 * @param {Column<any>[]} columns
 * @param {0 | 1} which
 */
async function csv(name, columns, which) {
  const found = await inView(), list = [found.events, found.messages][which], left = found.uncounted[which];
  Save.text(`${name}.csv`, Save.csv(columns, list));
  said.textContent = `${name}.csv has ${plural(list.length, "line")}${left ? `; ${grouped(left)} more are only counted at this scale: zoom in` : ""}`;
}

/**
 * @param {TileLane} lane
 * @param {number} i
 */
const value = (lane, i) => (lane.value ? String(lane.value[i]) : lane.length ? App.duration(lane.length[i]) : "");

export function start() {
  body = App.panel("tables", "Tables", { key: "t", hint: "what is in view, as tables" });
  said = make("output", { class: "said", "aria-live": "polite" });
  const where = (/** @type {number} */ row) => `${App.hostOf(row).name} · ${App.about.rows[row].name}`;
  const pick = (/** @type {any} */ x) => { App.select(x.lane.event[x.i], "a"); App.go({ at: x.at, row: x.of.row ?? x.of.from }); };
  /** @type {Column<any>[]} */
  const eventColumns = [
    { title: "time", text: (x) => Time.since(x.at), value: (x) => x.at, number: true },
    { title: "name", text: (x) => (x.of.kind === "counter" ? x.of.name ?? "" : App.className(x.lane.name[x.i])), value: (x) => (x.of.kind === "counter" ? x.of.name ?? "" : App.className(x.lane.name[x.i])) },
    { title: "where", text: (x) => where(x.of.row), value: (x) => where(x.of.row) },
    { title: "length or value", text: (x) => value(x.lane, x.i), value: (x) => x.lane.value?.[x.i] ?? x.lane.length?.[x.i] ?? "", number: true },
  ];
  events = table({ caption: "Events in view", rows: [], empty: "No events are shown one by one.", pick, columns: eventColumns });
  /** @type {Column<any>[]} */
  const messageColumns = [
    { title: "sent", text: (x) => Time.since(x.at), value: (x) => x.at, number: true },
    { title: "delay", text: (x) => App.duration(x.lane.delay[x.i]), value: (x) => x.lane.delay[x.i], number: true },
    { title: "verdict", text: (x) => { const v = Violations.verdicts[x.lane.verdict[x.i]] ?? Violations.verdicts[0]; return `${v.mark} ${v.name}`; }, value: (x) => x.lane.verdict[x.i] },
    { title: "from", text: (x) => where(x.of.from), value: (x) => where(x.of.from) },
    { title: "to", text: (x) => where(x.of.to), value: (x) => where(x.of.to) },
  ];
  messages = table({ caption: "Messages in view", rows: [], empty: "No messages are shown one by one.", pick, columns: messageColumns });
  const say = (/** @type {string} */ words) => { said.textContent = words; App.announce(words); };
  const svg = () => say(Svg.save()), perfetto = () => Perfetto.open(say).catch((/** @type {Error} */ error) => say(`Perfetto: ${error.message}`));
  App.command({ id: "svg", key: "G", title: "Save what is in sight as SVG", group: "view", run: svg });
  App.command({ id: "perfetto", key: "O", title: "Open what is in view in the Perfetto UI", group: "view", run: () => { App.show("tables"); perfetto(); } });
  body.append(make("h2", {}, "In view"), make("p", { class: "buttons" }, button("refresh", () => fill()), button("PNG", () => Picture.save(), { title: "save the picture in sight" }), button("SVG", svg, { title: "save the picture in sight as shapes" }),
    button("open in Perfetto", perfetto, { title: "in a tab of ui.perfetto.dev; the trace stays in this browser" })), said,
  section("Events", make("p", { class: "buttons" }, button("CSV", () => csv("events", eventColumns, 0), { "aria-label": "save the events in view as CSV" })), events),
  section("Messages", make("p", { class: "buttons" }, button("CSV", () => csv("messages", messageColumns, 1), { "aria-label": "save the messages in view as CSV" })), messages));
  let pending = 0;
  const later = () => { clearTimeout(pending); if (open) pending = setTimeout(() => fill(), 300); }; // once the view has come to rest
  App.on("panel", (id, yes) => { open = id === "tables" && yes; if (open) fill(); });
  for (const event of ["view", "hidden", "raw", "filter"]) App.on(event, later);
  App.on("tick", () => { if (open && !body.contains(document.activeElement)) fill(true); }); // what has the focus is not replaced
}
