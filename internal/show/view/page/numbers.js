// numbers: what happened in a stretch, complete, as numbers: for each row and name how often, how long in all, and
// percentiles; for each link its messages and their delays. Rows that are hidden or filtered out are left out, and it says so.

import { App } from "./app.js";
import { make, button, choice, section, table, grouped, plural } from "./elements.js";
import * as Measure from "./measure.js";
import { ranges } from "./ranges.js";
import * as Relation from "./relation.js";
import * as Renewal from "./renewal.js";
import * as Rows from "./rows.js";
import * as Save from "./save.js";
import * as Time from "./time.js";

/** @import { Column, LinkNumbers, NameNumbers, StateSum, StretchNumbers, ThreadStates, Traffic } from "./types.js" */

const listed = 5000; // names or links that the server lists at most

const where = (/** @type {number} */ row) => `${App.hostOf(row).name} · ${App.about.rows[row].name}`;

/**
 * left lists the rows that are not counted: hidden ones, and those that the filter leaves out.
 */
const left = () => App.about.rows.flatMap((r, row) => (App.hidden.rows.has(row) || App.hidden.hosts.has(r.host) || !Rows.accepts(row) ? [row] : []));

export function start() {
  const body = App.panel("numbers", "Numbers", { key: "y", hint: "how often and how long, of a stretch" });
  const said = make("output", { class: "said", "aria-live": "polite" });
  const stretch = choice("of", [["view", "what is in view"], ["measure", "what is measured"], ["all", "everything"]], () => fill());
  let open = false, pending = 0, asked = 0, span = 1;
  const percentiles = /** @type {["p50" | "p90" | "p99" | "greatest", string][]} */ ([["p50", "p50"], ["p90", "p90"], ["p99", "p99"], ["greatest", "longest"]]);
  /** @type {Column<NameNumbers>[]} */
  const nameColumns = [
    { title: "name", text: (x) => App.className(x.class), value: (x) => App.className(x.class) },
    { title: "where", text: (x) => where(x.row), value: (x) => where(x.row) },
    { title: "count", text: (x) => grouped(x.count), value: (x) => x.count, number: true },
    { title: "time", text: (x) => (x.instant ? "" : App.duration(x.sum)), value: (x) => x.sum, number: true },
    { title: "share", text: (x) => (x.instant ? "" : `${(100 * x.sum / span).toFixed(1)} %`), value: (x) => x.sum / span, number: true },
    ...percentiles.map(([key, title]) => ({ title, text: (/** @type {NameNumbers} */ x) => (x.instant ? "" : App.duration(x[key])), value: (/** @type {NameNumbers} */ x) => x[key], number: true })),
  ];
  /** @type {Column<LinkNumbers>[]} */
  const linkColumns = [
    { title: "from", text: (x) => where(x.from), value: (x) => where(x.from) },
    { title: "to", text: (x) => where(x.to), value: (x) => where(x.to) },
    { title: "messages", text: (x) => grouped(x.count), value: (x) => x.count, number: true },
    { title: "TCP bytes", text: (x) => (x.bytes === undefined ? "" : grouped(x.bytes)), value: (x) => x.bytes ?? -1, number: true, spare: true },
    ...percentiles.map(([key, title]) => ({ title, text: (/** @type {LinkNumbers} */ x) => App.duration(x[key]), value: (/** @type {LinkNumbers} */ x) => x[key], number: true })),
    { title: "certainly inverted", text: (x) => grouped(x.verdicts[4]), value: (x) => x.verdicts[4], number: true },
  ];
  const names = table({ caption: "Names in the stretch", rows: /** @type {NameNumbers[]} */ ([]), columns: nameColumns, sort: { column: 3, down: true }, empty: "", pick: (x) => { App.reveal(x.row); App.focus(x.row); } });
  /** @type {Column<StateSum>[]} */
  const stateColumns = [
    { title: "thread", text: (x) => where(x.row), value: (x) => where(x.row) },
    { title: "state", text: (x) => x.state, value: (x) => x.state },
    { title: "why", text: (x) => x.why ?? "", value: (x) => x.why ?? "" },
    { title: "call", text: (x) => x.call ?? "", value: (x) => x.call ?? "" },
    { title: "count", text: (x) => grouped(x.count), value: (x) => x.count, number: true },
    { title: "time", text: (x) => App.duration(x.sum), value: (x) => x.sum, number: true },
    { title: "share", text: (x) => `${(100 * x.sum / span).toFixed(1)} %`, value: (x) => x.sum / span, number: true },
    { title: "longest", text: (x) => App.duration(x.longest), value: (x) => x.longest, number: true },
  ];
  const states = table({ caption: "States of threads in the stretch", rows: /** @type {StateSum[]} */ ([]), columns: stateColumns, sort: { column: 5, down: true }, empty: "", pick: (x) => { App.reveal(x.row); App.focus(x.row); } });
  const statesSaid = make("output", { class: "said", "aria-live": "off" });
  const links = table({ caption: "Links in the stretch", rows: /** @type {LinkNumbers[]} */ ([]), columns: linkColumns, sort: { column: 2, down: true }, empty: "" });

  const bytesSaid = make("p", { class: "note" });

  function bounds() {
    if (stretch.list.value === "all") return [0, App.about.span + 1];
    const ends = stretch.list.value === "measure" ? Measure.ends : null;
    if (ends) return [Math.min(ends[0].at, ends[1].at), Math.max(ends[0].at, ends[1].at)];
    return [App.view.from, App.view.to];
  }

  /**
   * fillStates asks for states of threads, which may take long the first time: the other tables do not wait for them.
   * @param {number} mine
   * @param {number} from
   * @param {number} to
   * @param {number[]} without
   */
  async function fillStates(mine, from, to, without) {
    try {
      const found = /** @type {ThreadStates} */ (await App.data.questions().states(from, to, ranges(without)));
      if (mine !== asked) return;
      span = to - from;
      states.update(found.states, found.left, found.none ? "" : "No states of threads.");
      statesSaid.textContent = [found.none ?? `${plural(found.threads, "thread")}: what is listed sums to the whole stretch for each.`, found.unrecorded && found.threads ? ` ${plural(found.unrecorded, "thread")} of hosts without switches left out.` : "",
        found.left ? ` The least ${grouped(found.left)} entries are left out.` : "", found.upTo ? ` There are too many events: none after ${Time.since(found.upTo)} was read.` : "", found.since ? ` Known from ${Time.since(found.since)} on.` : ""].join("");
    } catch (/** @type {any} */ error) {
      if (mine !== asked) return;
      states.update([]);
      statesSaid.textContent = error.message;
    }
  }

  /**
   * fillTraffic adds the bytes to links between rows of packets' messages, of which there is one between two hosts.
   * @param {number} mine
   * @param {number} from
   * @param {number} to
   * @param {LinkNumbers[]} list
   * @param {number} cut
   */
  async function fillTraffic(mine, from, to, list, cut) {
    const host = (/** @type {number} */ row) => App.about.rows[row].host, packets = list.filter((l) => [l.from, l.to].every((row) => App.about.rows[row].kind === "messages"));
    bytesSaid.textContent = "";
    if (!packets.length) return;
    let words;
    try {
      const found = /** @type {Traffic} */ (await App.data.questions().traffic(from, to));
      if (mine !== asked) return;
      for (const l of packets) l.bytes = found.ways.find((w) => w.from === host(l.from) && w.to === host(l.to))?.bytes;
      words = found.none ?? ["TCP bytes are the payload of packets that arrived in the stretch, of those that both ends recorded; what was sent again counts once.",
        found.upTo && found.upTo < to ? ` There are too many packets: none after ${Time.since(found.upTo)} was read.` : "", found.since && found.since > from ? ` Known from ${Time.since(found.since)} on.` : ""].join("");
      if (packets.some((l) => l.bytes !== undefined)) links.update(list, cut);
    } catch (/** @type {any} */ error) {
      words = error.message;
    }
    if (mine === asked) bytesSaid.textContent = words;
  }

  /**
   * none says why nothing is counted, and takes away what was.
   * @param {string} why
   * @param {boolean} [threads] neither are states of threads
   */
  function none(why, threads = false) {
    said.textContent = why;
    names.update([]);
    links.update([]);
    bytesSaid.textContent = "";
    if (!threads) return;
    states.update([]);
    statesSaid.textContent = "";
  }

  async function fill(quiet = false) {
    const mine = ++asked, [a, b] = bounds(), from = Math.max(0, Math.floor(a)), to = Math.max(from + 1, Math.min(App.about.span + 1, Math.ceil(b))), without = left();
    if (stretch.list.value === "measure" && !Measure.ends) return none("Measure a stretch first: hold Shift and drag.", true);
    if (App.view.raw) return none("In raw time each host has a stretch of its own: turn raw time off.", true);
    said.setAttribute("aria-live", quiet ? "off" : "polite");
    if (!quiet) said.textContent = "counting…";
    fillStates(mine, from, to, without);
    try {
      const found = /** @type {StretchNumbers} */ (await App.data.questions().numbers(from, to, ranges(without)));
      if (mine !== asked) return;
      span = to - from;
      const cut = (/** @type {unknown[]} */ list) => (list.length >= listed ? found.left : 0);
      names.update(found.names, cut(found.names), found.none ? "" : "Nothing happened there.");
      links.update(found.links, cut(found.links), found.none ? "" : "No messages.");
      fillTraffic(mine, from, to, found.links, cut(found.links));
      const values = found.skipped?.counter ?? 0, messages = found.links.reduce((sum, l) => sum + l.count, 0);
      said.textContent = found.none ?? [`From ${Time.since(from)}, ${App.duration(span)}: all of it, ${plural(found.names.length, "name")} and ${plural(messages, "message")}`, without.length ? `; ${plural(without.length, "row")} hidden or filtered out` : "",
        values ? `; ${plural(values, "value")} of counters are not counted here` : "", found.left ? `; the least ${grouped(found.left)} entries are left out` : "", found.gone ? `; of ${App.duration(found.gone)} the index has nothing any more` : "", "."].join("");
    } catch (/** @type {any} */ error) {
      if (mine === asked) none(error.message);
    }
  }
  const save = (/** @type {string} */ name, /** @type {any} */ columns, /** @type {any} */ sheet) => button("CSV", () => Save.text(`${name}.csv`, Save.csv(columns, sheet.order())), { "aria-label": `save ${name} as CSV` });
  body.append(make("h2", {}, "Numbers"), make("p", { class: "options" }, stretch, button("refresh", () => fill())), said,
    section("By name", make("p", { class: "buttons" }, save("names", nameColumns, names)), names),
    section("States of threads", make("p", { class: "buttons" }, save("states", stateColumns, states)), statesSaid, states),
    section("By link", make("p", { class: "buttons" }, save("links", linkColumns, links)), links,
      bytesSaid, make("p", { class: "note" }, `Delays are by the estimate of the clocks; none truly is below ${Time.brief(Relation.least())}. The panel Delays has their bounds.`)));
  const later = () => { clearTimeout(pending); if (open) pending = setTimeout(fill, 300); };
  App.on("panel", (id, yes) => { const was = open; open = id === "numbers" && yes; if (open && !was) fill(); });
  for (const event of ["view", "hidden", "raw", "measure", "filter"]) App.on(event, later);
  Renewal.renew(body, () => open, () => fill(true));
}
