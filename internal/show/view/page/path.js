// path: the critical path of a request: what it waited for, piece by piece, without a gap. A sentence says what took
// longest; where the clocks' bounds leave more than one, it says "undecided between". The path is drawn over the rows.

import { App } from "./app.js";
import { make, button, name, section, table, grouped } from "./elements.js";
import * as Elements from "./elements.js";
import * as Time from "./time.js";

/** @import { LockWait, PathItem, PathPiece, RequestPath } from "./types.js" */

const Least = 0.003; // of a path, from which a piece is listed by itself in the bar
/** @type {RequestPath | null} */
export let shown = null;
/** @type {PathPiece | null} */
let current = null;
/** @type {any} */
let pieces;

/**
 * @param {number} host
 */
const hostName = (host) => App.about.hosts[host]?.name ?? `host ${host}`;

/**
 * itemName says what an item of a path is.
 * @param {PathItem} item
 */
export const itemName = (item) => (item.fromHost >= 0 ? `on the wire ${hostName(item.fromHost)} → ${hostName(item.host)}`
  : item.name === "at the host" ? `at the host ${hostName(item.host)}` : `${item.name || "no slice (waiting, or not recorded)"} on ${hostName(item.host)}`);

/**
 * pieceName says what a piece of a path is.
 * @param {PathPiece} piece
 */
export function pieceName(piece) {
  const host = App.hostOf(piece.row).name;
  if (piece.from >= 0) return `on the wire ${App.hostOf(piece.from).name} → ${host}`;
  if (piece.unresolved) return `${piece.name ? `${piece.name}: ` : ""}not resolved further`;
  return `${piece.name || "no slice (waiting, or not recorded)"}${piece.detail ? ` (${piece.detail})` : ""}${piece.assumed ? " (assumed)" : ""}`;
}

/**
 * range writes between which lengths an item is; beyond some days nothing bounds it.
 * @param {number} low
 * @param {number} high
 * @param {(ns: number) => string} write
 */
export function range(low, high, write) {
  const open = 2 ** 46;
  if (low === high) return write(low);
  return Elements.interval(low < -open ? null : low, high > open ? null : high, write);
}

/**
 * sentences says what a path is: what took longest, and what is unusual about it.
 * @param {RequestPath} path
 * @param {(ns: number) => string} duration
 * @returns {{ total: string, beyond: string }}
 */
export function sentences({ request, items, total, beyond, like, contradiction }, duration) {
  const within = items.reduce((sum, x) => sum + (x.fromHost >= 0 ? x.estimate : 0), 0); // the items have all messages of the path
  const list = (/** @type {number[]} */ chosen, /** @type {(item: PathItem) => string} */ length) => chosen.slice(0, 4).map((i) => `${itemName(items[i])} (${length(items[i])})`).join(", or ") + (chosen.length > 4 ? `, or ${chosen.length - 4} more` : "");
  const whole = (/** @type {PathItem} */ x) => range(x.low, x.high, duration), excess = (/** @type {PathItem} */ x) => range(x.beyondLow, x.beyondHigh, duration);
  const between = request.kind === "between", ends = () => `${App.hostOf(request.client).name} ↔ ${App.hostOf(request.server).name}`;
  const wire = request.overlapping || request.alone ? "" : request.network < 0 ? ` Network ${ends()}: ${request.there?.impossible || request.back?.impossible ? "impossible, both ways took less than nothing. The messages are matched wrongly, or a clock was read wrongly" : "less than a step of the stamps"}.`
    : ` Network ${ends()}: ${duration(request.network)} both ways${within > request.network ? ` of its own messages; with exchanges within it the path has ${duration(within)} on the wire, by the estimate` : ""}.`;
  if (contradiction) return { total: `${duration(request.total)} in all. Undecided: the bounds of the clocks contradict the messages.${wire}`, beyond: "" };
  const most = total.length === 1 ? `The longest part: ${list(total, whole)}.` : `Undecided what took longest, the bounds of the clocks leave: ${list(total, whole)}.`;
  const unusual = between ? "" : !beyond.length ? (like ? `Only ${like} like requests: too few to say what is unusual.` : "No like requests to compare with.")
    : request.beyond <= 0 ? `Not slower than the median of ${like} like requests.`
    : beyond.length === 1 ? `Beyond ${like} like requests: ${list(beyond, excess)}.`
    : `Beyond ${like} like requests, undecided: ${list(beyond, excess)}.`;
  return { total: `${duration(request.total)} ${between && App.about.rows[request.client].host !== App.about.rows[request.server].host ? "by the estimate" : "in all"}. ${most}${wire}`, beyond: unusual };
}

/**
 * longest returns the pieces of which each can be the longest by the bounds.
 * @param {PathPiece[]} all
 */
export function longest(all) {
  const low = (/** @type {PathPiece} */ p) => (p.from >= 0 ? Math.max(0, p.low ?? 0) : p.end - p.begin), high = (/** @type {PathPiece} */ p) => (p.from >= 0 ? p.high ?? Infinity : p.end - p.begin);
  const most = Math.max(...all.map(low));
  return all.filter((p) => high(p) >= most);
}

/**
 * locked says whether a lock was held across hosts, as far as that is recorded.
 * @param {LockWait} lock
 * @param {(ns: number) => string} duration
 */
export function locked({ holder, total, elsewhere, unknown, hosts }, duration) {
  const here = App.hostOf(holder).name, who = App.about.rows[holder].name, open = unknown ? ` For ${duration(unknown)} it is not known what the holder waited for.` : "";
  if (elsewhere) return `The lock on ${here} was held across hosts: it was waited for ${duration(total)}, of that ${duration(elsewhere)} while its holder (${who}) waited for ${hosts.map(hostName).join(", ")}, by the clock of ${here} alone.${open}`;
  if (unknown) return `Undecided whether the lock on ${here} was held across hosts: it was waited for ${duration(total)}.${open}`;
  return `The lock on ${here} was held there alone: it was waited for ${duration(total)}, and its holder (${who}) waited for no other host.`;
}

/**
 * again says of each packet that was sent again who waited for it: the receiver, which lies less deep, for a reply; else the sender itself.
 * @param {RequestPath} path
 * @param {(ns: number) => string} duration
 */
export const again = ({ pieces: all }, duration) => all.flatMap((p, i) => {
  if (p.from >= 0 || p.name !== "retransmission") return [];
  const next = all[i + 1], reply = next && next.from >= 0 && next.depth < p.depth, sender = App.hostOf(p.row).name;
  return [`Sent again: ${p.detail}, ${duration(p.end - p.begin)} after its first sending by the clock of ${sender} alone. ${reply ? `${App.hostOf(next.row).name} waited for it.` : `${sender} waited for the answer.`}`];
});

/**
 * bar is the path as one line of pieces; those too short for a pixel are joined with their neighbours.
 * @param {RequestPath} path
 */
function bar({ pieces: all, request }) {
  const whole = Math.max(1, request.total), list = all.filter((p) => p.end - p.begin >= Least * whole);
  return make("div", { class: "path-bar", role: "img", "aria-label": `path of ${grouped(all.length)} pieces` }, ...list.map((p) => {
    const part = make("span", { class: p.from >= 0 ? "wire" : p.unresolved || !p.name ? "unknown" : "host", title: `${pieceName(p)}: ${App.duration(p.end - p.begin)}`, onclick: () => go(p) });
    part.style.flexGrow = String(Math.max(0, (p.end - p.begin) / whole));
    if (p.from < 0 && p.name) part.style.background = App.colorOf(p.name);
    return part;
  }));
}

/**
 * @param {PathPiece} piece
 */
function go(piece) {
  current = piece;
  pieces?.mark(piece);
  App.reveal(piece.row);
  const span = Math.max(piece.end - piece.begin, 100) * 1.6;
  App.go({ at: (piece.begin + piece.end) / 2, row: piece.row }, { span });
}

/**
 * show writes a path into a box and draws it.
 * @param {RequestPath | null} path
 * @param {HTMLElement} box
 */
export function show(path, box) {
  shown = path;
  current = null;
  App.redraw(2);
  if (!path) { box.replaceChildren(); return; }
  const said = sentences(path, App.duration), most = longest(path.pieces), sure = most.length === 1 && !most[0].assumed;
  pieces = table({
    caption: "Pieces of the path", rows: path.pieces, pick: go,
    columns: [
      { title: "what", text: (/** @type {PathPiece} */ p) => `${"· ".repeat(Math.min(p.depth, 6))}${most.includes(p) && most.length < 5 ? (sure ? "▶ " : "▶? ") : ""}${pieceName(p)}` },
      { title: "where", text: (p) => (p.from >= 0 ? "" : `${App.hostOf(p.row).name} · ${App.about.rows[p.row].name}`) },
      { title: "length", text: (p) => App.duration(p.end - p.begin), value: (p) => p.end - p.begin, number: true },
      { title: "truly", text: (p) => (p.from >= 0 ? Elements.interval(p.low ?? null, p.high ?? null, Time.brief) : "exact") },
      { title: "from", text: (p) => Time.since(p.begin), value: (p) => p.begin, number: true },
    ],
  });
  const items = table({
    caption: "Items of the path", rows: path.items, sort: { column: 1, down: true },
    columns: [
      { title: "item", text: (/** @type {PathItem} */ x) => itemName(x), value: (x) => itemName(x) },
      { title: "total", text: (x) => range(x.low, x.high, App.duration), value: (x) => x.estimate, number: true },
      { title: "beyond the usual", text: (x) => (path.like ? range(x.beyondLow, x.beyondHigh, App.duration) : "–"), value: (x) => x.beyondHigh, number: true },
      { title: "pieces", text: (x) => grouped(x.pieces), value: (x) => x.pieces, number: true },
    ],
  });
  const atHost = (/** @type {PathPiece} */ p) => p.name === "at the host", shared = path.pieces.filter((p) => p.assumed && atHost(p));
  const assumed = !shared.length && path.pieces.some((p) => p.assumed), unnamed = path.pieces.some((p) => p.from < 0 && !p.name);
  box.replaceChildren(
    section("Critical path", make("p", { class: "path-total", "aria-live": "polite" }, name(said.total)), said.beyond ? make("p", { class: "path-beyond" }, name(said.beyond)) : "",
      ...[...again(path, App.duration), ...(path.locks ?? []).map((lock) => locked(lock, App.duration))].map((text) => make("p", { class: "path-wait" }, name(text))), bar(path),
      assumed ? make("p", { class: "note" }, "Assumed: what a row received in answer to its own message is taken to have been waited for. Spans with parents, or one row for each thread, make it exact.") : "",
      shared.length ? make("p", { class: "note" }, "Assumed: a host had several requests at a time, and its packets do not tell which of them waited for what it asked others. Both readings count for what took longest.") : "",
      path.pieces.some(atHost) ? make("p", { class: "note" }, "At the host: of it packets alone were recorded. Record its threads (meridian record --kernel net,sched,syscalls,sockets) to see what it did.") : "",
      unnamed ? make("p", { class: "note" }, "No slice: nothing that was recorded says what the row did there. Record system calls and switches (meridian record --kernel), or slices of the program.") : "",
      make("p", { class: "buttons" }, button("clear the path", () => show(null, box)))),
    section("Items", items), section("Pieces", pieces));
}

/**
 * draw goes over the path: pieces of rows as thick lines, ways as lines between them.
 * @param {CanvasRenderingContext2D} ctx
 */
export function draw(ctx) {
  if (!shown) return;
  const { theme, plot } = App;
  ctx.save();
  ctx.lineCap = "butt";
  for (const [extra, color, alpha] of /** @type {[number, string, number][]} */ ([[3, theme.ground, 0.7], [0, theme.accent, 1]])) {
    for (const p of shown.pieces) {
      const from = p.from >= 0 ? p.from : p.row, y0 = App.endY(from), y1 = App.endY(p.row);
      if (y0 === null || y1 === null) continue;
      const x0 = App.x(p.begin, App.clockOf(from, p.begin)), x1 = App.x(p.end, App.clockOf(p.row, p.end));
      if (Math.max(x0, x1) < 0 || Math.min(x0, x1) > plot.width) continue;
      ctx.strokeStyle = p.from >= 0 && color === theme.accent ? theme.message : color;
      ctx.globalAlpha = alpha;
      ctx.lineWidth = (p.from >= 0 ? 2 : p === current ? 6 : 4) + extra;
      ctx.setLineDash(p.unresolved || (p.from < 0 && !p.name) ? [4, 3] : []);
      ctx.beginPath();
      ctx.moveTo(x0, y0);
      ctx.lineTo(p.from < 0 ? Math.max(x1, x0 + 1) : x1, y1);
      ctx.stroke();
    }
  }
  ctx.restore();
}
