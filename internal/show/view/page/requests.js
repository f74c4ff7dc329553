// requests: what was asked and answered, the slowest first: how long each took, of that the server, both ways of the
// network, and each way with its bound; and percentiles for each name and pair of hosts. A press shows one with its
// critical path.

import { App } from "./app.js";
import { make, button, check, choice, section, table, grouped, plural } from "./elements.js";
import * as Path from "./path.js";
import * as Relation from "./relation.js";
import * as Renewal from "./renewal.js";
import * as Save from "./save.js";
import * as Time from "./time.js";
import * as View from "./view.js";

/** @import { Column, RequestGroup, RequestLength, RequestList, TimelineRequest } from "./types.js" */

const sorts = /** @type {[string, string][]} */ ([["total", "longest"], ["beyond", "furthest beyond the median"], ["server", "longest at the server"], ["network", "longest on the wire"], ["client", "longest at the client"], ["transfer", "longest from the first packet of the reply to its last"], ["begin", "first"]]);
let asked = 0;
/** @type {TimelineRequest | null} */
let current = null;

/**
 * way writes how long one way took: the interval that bounds and least delay leave.
 * @param {RequestLength} length
 */
export const way = (length) => Relation.told({ delta: length.estimate, low: length.low, high: length.high, against: Boolean(length.impossible), cut: false, comparable: true, oneClock: false }, Time.brief);

/**
 * where names the hosts of a request, by the address that of which no more is known.
 * @param {TimelineRequest} r
 */
const where = (r) => `${r.clientAddress ?? App.hostOf(r.client).name} → ${r.serverAddress ?? App.hostOf(r.server).name}`;

/**
 * divided writes a part of a request, where it can be divided.
 * @param {TimelineRequest} r
 * @param {number} ns
 */
const divided = (r, ns) => (r.overlapping ? "overlapping" : r.alone ? "" : App.duration(ns));

/**
 * isSame says whether two lists have the same request. Its number changes while the timeline grows.
 * @param {TimelineRequest} x
 * @param {TimelineRequest} y
 */
const isSame = (x, y) => x.event === y.event && x.last === y.last && (x.id === y.id || App.about.live);

export function start() {
  const body = App.panel("requests", "Requests", { key: "q", hint: "what was asked and answered, the slowest first" });
  const said = make("output", { class: "said", "aria-live": "polite" });
  const words = make("input", { type: "search", placeholder: "name or host", "aria-label": "filter requests", spellcheck: false });
  const sort = choice("order", sorts, () => fill());
  const most = choice("at most", [["20", "20"], ["100", "100"], ["1000", "1 000"]], () => fill());
  most.list.value = "100";
  let inView = false, open = false, pending = 0;
  const view = check("only in view", false, (on) => { inView = on; fill(); });
  const path = make("div", { class: "path" });

  async function go(/** @type {TimelineRequest} */ r) {
    current = r;
    list.mark(r);
    App.reveal(r.server);
    App.reveal(r.client);
    const room = Math.max(r.total, 100) * 0.06, clock = App.clockOf(r.client, r.begin);
    App.setView(View.shown(r.begin, clock) - room, View.shown(r.begin + r.total, clock) + room, { animate: true });
    App.select(r.event, "a").catch(() => {});
    path.replaceChildren(make("p", { class: "dim" }, "looking for the critical path…"));
    try {
      const found = await App.data.questions().path(r);
      if (current !== r) return;
      Path.show(found, path);
    } catch (/** @type {any} */ error) {
      if (current === r) path.replaceChildren(make("p", { class: "note" }, `The critical path: ${error.message}`));
    }
  }

  /** @type {Column<TimelineRequest>[]} */
  const columns = [
    { title: "name", text: (r) => r.name, value: (r) => r.name },
    { title: "status", text: (r) => r.status ?? "", value: (r) => r.status ?? "", spare: true },
    { title: "total", text: (r) => App.duration(r.total), value: (r) => r.total, number: true },
    { title: "beyond", text: (r) => (!r.like ? "–" : r.beyond > 0 ? `+${App.duration(r.beyond)}` : App.duration(r.beyond)), value: (r) => r.beyond, number: true },
    { title: "server", text: (r) => divided(r, r.serverTime), value: (r) => r.serverTime, number: true },
    { title: "network", text: (r) => divided(r, r.network), value: (r) => r.network, number: true },
    { title: "there", text: (r) => (r.overlapping || r.alone ? "" : way(r.there)), value: (r) => r.there.estimate, number: true },
    { title: "back", text: (r) => (r.overlapping || r.alone ? "" : way(r.back)), value: (r) => r.back.estimate, number: true },
    { title: "transfer", text: (r) => (r.kind === "span" ? "" : divided(r, r.transfer)), value: (r) => r.transfer, number: true, spare: true },
    { title: "client", text: (r) => (r.kind === "span" ? divided(r, r.clientTime) : ""), value: (r) => r.clientTime, number: true, spare: true },
    { title: "sent again", text: (r) => (r.again ? plural(r.again, "packet") : ""), value: (r) => r.again ?? 0, number: true, spare: true },
    { title: "hosts", text: where, value: where },
    { title: "peer", text: (r) => r.peer ?? "", value: (r) => r.peer ?? "", spare: true },
    { title: "begins", text: (r) => Time.since(r.begin), value: (r) => r.begin, number: true },
  ];
  const list = table({
    caption: "Requests", rows: /** @type {TimelineRequest[]} */ ([]), empty: "No requests. They are found in spans (OTLP, Jaeger), in tagged messages, and in packets that go there and back by turns.", pick: go, columns,
  });
  const names = make("p", { class: "note" });
  const host = (/** @type {number} */ h) => App.about.hosts[h].name;
  const clientOf = (/** @type {RequestGroup} */ g) => g.clientAddress ?? host(g.client), serverOf = (/** @type {RequestGroup} */ g) => g.serverAddress ?? host(g.server);
  const groups = table({
    caption: "Percentiles", rows: /** @type {RequestGroup[]} */ ([]), empty: "", sort: { column: 2, down: true },
    pick: (g) => { words.value = `${g.name} ${clientOf(g)} ${serverOf(g)}`; fill(); },
    columns: [
    { title: "name", text: (g) => g.name, value: (g) => g.name },
    { title: "hosts", text: (g) => `${clientOf(g)} → ${serverOf(g)}`, value: (g) => `${clientOf(g)} → ${serverOf(g)}` },
    { title: "requests", text: (g) => grouped(g.count), value: (g) => g.count, number: true },
    { title: "p50", text: (g) => App.duration(g.p50), value: (g) => g.p50, number: true },
    { title: "p90", text: (g) => App.duration(g.p90), value: (g) => g.p90, number: true },
    { title: "p99", text: (g) => App.duration(g.p99), value: (g) => g.p99, number: true },
    { title: "longest", text: (g) => App.duration(g.most), value: (g) => g.most, number: true },
    ],
  });

  async function fill(quiet = false) {
    const mine = ++asked, query = { sort: sort.list.value, q: words.value.trim(), n: Number(most.list.value), ...(inView ? { from: Math.floor(App.view.from), to: Math.ceil(App.view.to) } : {}) };
    said.setAttribute("aria-live", quiet ? "off" : "polite");
    if (!quiet) said.textContent = "loading…";
    try {
      const found = /** @type {RequestList} */ (await App.data.questions().requests(query));
      if (mine !== asked) return false;
      list.update(found.requests, found.matched - found.requests.length);
      groups.update(found.groups, (found.names ?? 0) - found.groups.length);
      const cut = found.upTo === undefined ? "" : `; too many packets: none was read after ${Time.since(found.upTo)}`, lost = !found.lost ? "" : `; ${plural(found.lost.count, "request")} without a reply, not listed: ${found.lost.names.join(", ")}${found.lost.count > found.lost.names.length ? ", …" : ""}`, late = found.since === undefined ? "" : `; those of the latest events, from ${Time.since(found.since)} on`;
      said.textContent = found.none ?? `${grouped(found.requests.length)} of ${plural(found.matched, "request")}${found.matched < found.count ? ` of ${grouped(found.count)} in all` : ""}${found.held && found.held < found.count ? `; this file holds the ${grouped(found.held)} slowest` : ""}${cut}${lost}${late}`;
      names.textContent = found.names > found.groups.length ? `The ${grouped(found.groups.length)} most frequent of ${grouped(found.names)} names.` : "";
      if (current) {
        const at = found.requests.find((r) => current !== null && isSame(r, current));
        current = at ?? current;
        list.mark(at ?? null, !quiet);
      }
      return Boolean(found.behind);
    } catch (/** @type {any} */ error) {
      if (mine === asked) said.textContent = error.message;
    }
    return false;
  }

  words.addEventListener("input", () => { clearTimeout(pending); pending = setTimeout(() => fill(), 200); });
  words.addEventListener("keydown", (e) => { if (e.key === "Escape") words.blur(); e.stopPropagation(); });
  body.append(make("h2", {}, "Requests"), make("p", { class: "buttons" }, words, sort, most), make("p", { class: "options" }, view, button("refresh", () => fill()), button("CSV", () => Save.text("requests.csv", Save.csv(columns, list.order())), { "aria-label": "save the list as CSV" })), said, list, path, section("Percentiles of the total", names, groups));
  App.on("panel", (id, yes) => { const was = open; open = id === "requests" && yes; if (open && !was) fill(); });
  App.on("view", () => { if (open && inView) { clearTimeout(pending); pending = setTimeout(() => fill(), 300); } });
  Renewal.renew(body, () => open, () => fill(true));
  App.overlay(Path.draw);
}
