// rows: the column of names beside the plot, and what is scrolled to. Only the names in sight are elements; they form a
// tree for keyboards and screen readers, in which one at a time takes the focus.

import { byId, inputById } from "./dom.js";
import { App } from "./app.js";
import * as Dock from "./dock.js";
import * as Draw from "./draw.js";
import * as Groups from "./groups.js";
import * as Layout from "./layout.js";
import * as Pointer from "./pointer.js";
import * as Time from "./time.js";
import * as View from "./view.js";

/** @import { About, Line, LineId } from "./types.js" */

/**
 * @param {string} id
 */
/** @type {Map<LineId, HTMLElement & { line: Line }>} */
const shown = new Map(); // line id -> its element
const expanded = new Set();
/** @type {About} */
let about;
/** @type {number[][]} */
let clocks = [];
/** @type {number[]} */
export let order = [];
let stale = true;
let text = "";
/** @type {LineId} */
let focusedId = "h0";
/** @type {any} */
let moving = null;
export let scrolled = 0;
let room = 0;
let wasSize = "";
/** @type {{ id: LineId, y: number } | null} */
let keeps = null; // the line that stays where it is while others come
/** @type {Set<number>} */
let idle = new Set(); // rows without events in sight, which are left out

/**
 * @param {About} facts
 */
export function open(facts) {
  about = facts;
  clocks = clocksOf();
  Layout.open(about);
  order = natural();
  // Where there are many hosts or rows, what is first seen is the hosts, and what goes between them.
  if (about.rows.length > 400 || about.hosts.length > 24) about.hosts.forEach((_, h) => App.hidden.collapsed.add(`h${h}`));
  const names = byId("names");
  names.addEventListener("click", click);
  names.addEventListener("dblclick", (e) => { const line = lineAt(e); if (line?.folds) fold(line); });
  names.addEventListener("keydown", key);
  names.addEventListener("pointerdown", press);
  names.addEventListener("focusin", (e) => { const line = lineAt(e); if (line && line.id !== focusedId) focusLine(line, false); });
  byId("scroll").addEventListener("scroll", () => { App.redraw(); }, { passive: true });
  inputById("filter").addEventListener("input", () => { text = inputById("filter").value.trim(); stale = true; byId("scroll").scrollTop = 0; App.emit("filter"); App.redraw(); });
  inputById("filter").addEventListener("keydown", (e) => {
    if (e.key === "Escape") { inputById("filter").value = text = ""; stale = true; App.emit("filter"); App.redraw(); }
    if (e.key === "Escape" || e.key === "Enter") { // with Enter the filter stays
      inputById("filter").blur();
      byId("over").focus({ preventScroll: true });
    }
    if (e.key === "ArrowDown") { e.preventDefault(); focusLine(Layout.lines[0], true); }
    e.stopPropagation();
  });
  App.on("hidden", () => { stale = true; keeps = null; });
  new ResizeObserver(() => App.redraw()).observe(byId("scroll"));
  Dock.widen(byId("edge"), (x) => document.documentElement.style.setProperty("--names", `${Math.max(110, Math.min(innerWidth * 0.6, x - byId("scroll").getBoundingClientRect().left))}px`), () => byId("names").offsetWidth + byId("scroll").getBoundingClientRect().left);
}

/**
 * grow takes over rows and lanes that came later. What one looks at stays where it is in the plot.
 * @param {About} facts
 */
export function grow(facts) {
  about = facts;
  clocks = clocksOf();
  for (let row = order.length; row < about.rows.length; row++) order.push(row);
  Layout.open(about);
  keeps ??= looked();
  stale = true;
}

// looked is the line that one looks at, with its place in the plot: under the pointer, the focused one, or the first in sight.
function looked() {
  const sight = inSight(), line = (Pointer.cursor.x === null ? null : lineAtY(Pointer.cursor.y)) ?? sight.find((l) => l.id === focusedId) ?? sight.find((l) => l.y >= scrolled);
  return line ? { id: line.id, y: line.y - scrolled } : null;
}

// filter makes of words what a name must hold, all of them.
function filter() {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return words.length ? (/** @type {string} */ name) => { const low = name.toLowerCase(); return words.every((w) => low.includes(w)); } : null;
}

/**
 * accepts says that the filter of names leaves a row.
 * @param {number} row
 */
export const accepts = (row) => { const f = filter(), r = about.rows[row]; return !f || f(`${about.hosts[r.host].name}\n${r.kind}\n${r.name}`); };

// layOut settles the layout and the sizes before a frame is drawn.
export function layOut() {
  const height = byId("scroll").clientHeight;
  if (stale || height !== room) {
    stale = false;
    room = height;
    Layout.make({ order, hidden: App.hidden, filter: filter(), expanded, idle, room: room - 8 });
    byId("space").style.height = `${Math.max(Layout.height + 8, 1)}px`;
    byId("none").hidden = Layout.lines.length > 0;
    const kept = keeps ? Layout.line(keeps.id) : null;
    if (keeps && kept && Math.abs(kept.y - keeps.y - byId("scroll").scrollTop) >= 1) byId("scroll").scrollTop = kept.y - keeps.y;
    keeps = null;
    if (!Layout.line(focusedId) && Layout.lines.length) focusedId = Layout.lines[0].id;
  }
  const scroll = byId("scroll"), box = byId("canvases").getBoundingClientRect();
  scrolled = Math.min(scroll.scrollTop, Math.max(0, Layout.height + 8 - scroll.clientHeight));
  const size = `${box.left},${box.top},${box.width},${scroll.clientHeight},${devicePixelRatio}`;
  if (size !== wasSize) {
    wasSize = size;
    byId("window").style.height = `${scroll.clientHeight}px`;
    View.resize(box.left, box.top, box.width, scroll.clientHeight);
    Draw.resize();
    App.redraw(1);
  }
}

// inSight lists the lines between the top and the bottom of the plot.
export function inSight() {
  /** @type {Line[]} */
  const list = [];
  if (!Layout.lines.length) return list;
  for (let i = Layout.find(scrolled); i < Layout.lines.length && Layout.lines[i].y < scrolled + View.plot.height; i++) list.push(Layout.lines[i]);
  return list;
}

// pinned is the host whose header has been scrolled away, and how far the next one pushes it.
export function pinned() {
  if (!Layout.lines.length) return null;
  const line = Layout.line(`h${Layout.lines[Layout.find(scrolled)].host}`);
  if (!line || line.y >= scrolled) return null;
  const after = Layout.lines.find((l) => l.type === "host" && l.y > line.y);
  return { line, top: Math.min(0, after ? after.y - scrolled - line.h : 0) };
}

// paint brings the names in sight to where they belong.
export function paint() {
  const names = byId("names"), seen = new Set(), pin = pinned();
  for (const line of [...inSight(), ...(pin ? [pin.line] : [])]) {
    let element = shown.get(line.id);
    if (element && element.line !== line && sameName(element.line, line)) element.line = line; // laid out anew, with the same words
    if (!element || element.line !== line) {
      const made = nameOf(line), focused = element?.contains(document.activeElement);
      if (element) element.replaceWith(made);
      else names.append(made);
      if (focused) {
        made.tabIndex = 0;
        made.focus({ preventScroll: true });
      }
      shown.set(line.id, (element = made));
    }
    seen.add(line.id);
    const top = pin && pin.line === line ? pin.top : line.y - scrolled;
    element.style.transform = `translateY(${top}px)`;
    element.classList.toggle("pinned", pin?.line === line);
    element.tabIndex = line.id === focusedId ? 0 : -1;
    element.setAttribute("aria-selected", String(line.id === focusedId));
  }
  Groups.paint(scrolled);
  for (const [id, element] of shown) {
    if (seen.has(id) || element.contains(document.activeElement)) continue;
    element.remove();
    shown.delete(id);
  }
}

/**
 * sameName says that the names of two lines are written alike.
 * @param {Line} a
 * @param {Line} b
 */
const sameName = (a, b) => a.name === b.name && a.h === b.h && a.level === b.level && a.folds === b.folds && a.folded === b.folded && a.more === b.more && a.count === b.count && a.idle === b.idle;

/**
 * @param {Line} line
 */
function nameOf(line) {
  const { make } = Dock, element = Object.assign(make("div", `name ${line.type}`), { line });
  element.id = `line-${line.id}`;
  element.setAttribute("role", "treeitem");
  element.setAttribute("aria-level", String(line.level));
  element.style.height = `${line.h}px`;
  element.style.paddingLeft = `${6 + (line.level - 1) * 12}px`;
  const mark = make("span", "fold", line.folds ? (line.folded ? "▸" : "▾") : "");
  mark.setAttribute("aria-hidden", "true");
  element.append(mark, make("span", "text", (line.type === "kind" ? heading(line.name, line.count ?? 0) : line.name) || "(no name)"));
  if (line.folds) element.setAttribute("aria-expanded", String(!line.folded));
  if (line.type === "host") {
    const facts = about.hosts[line.host], bound = make("span", "bound");
    if (line.idle) element.append(Object.assign(make("span", "idle", `−${line.idle}`), { title: `rows without events in sight, left out: ${Time.grouped(line.idle)}` }));
    element.append(bound);
    element.title = [line.name, facts.component ? `reference ${facts.reference || "-"}` : "", facts.offset && `offset ${facts.offset}`, facts.skew && `skew ${facts.skew}`, facts.bound && `bound ${facts.bound}`, (facts.addresses ?? []).join(" ")].filter(Boolean).join("\n");
  } else if (line.type === "row") {
    const row = about.rows[line.row];
    element.title = `${line.name}\n${row.kind}${row.id ? ` ${row.id}` : ""}, ${Time.grouped(row.events)} events`;
    if (line.more) element.append(make("span", "more", `+${line.more}`));
    const hide = make("button", "hide", "×");
    hide.type = "button";
    hide.tabIndex = -1;
    hide.title = "hide this row";
    element.append(hide);
  }
  return element;
}

/** @type {Record<string, [one: string, many: string]>} */
const kinds = {
  process: ["process", "processes"], thread: ["thread", "threads"], cpu: ["CPU", "CPUs"], interrupt: ["interrupt", "interrupts"],
  device: ["device", "devices"], other: ["other row", "other rows"], messages: ["row of messages", "rows of messages"], bounds: ["row of bounds", "rows of bounds"],
};

/**
 * heading names the rows of a kind with how many there are: "3 devices".
 * @param {string} kind
 * @param {number} n
 */
function heading(kind, n) {
  const [one, many] = kinds[kind] ?? [`row of ${kind}`, `rows of ${kind}`];
  return `${Time.grouped(n)} ${n === 1 ? one : many}`;
}

/**
 * bounds writes beside each host in sight how sure its instants are at the cursor.
 * @param {number} at
 */
export function bounds(at) {
  for (const [, element] of shown) {
    if (element.line.type !== "host") continue;
    const clock = clockOfHost(element.line.host), { low, high } = boundsOfHost(element.line.host, at);
    const { name, reference } = about.hosts[element.line.host], followed = name === reference && low === 0 && high === 0;
    const words = clock < 0 ? "" : followed ? "reference" : Time.bound(low, high), told = /** @type {HTMLElement} */ (element.lastChild);
    if (told.textContent !== words) {
      told.textContent = words;
      told.title = `by how much this host's instants may be off at the cursor: ${Time.margin(low, high)}`;
    }
  }
}

// clocksOf lists for each host the clocks of its events, the one of most first; of a host without events, all.
function clocksOf() {
  const events = about.clocks.map(() => 0), /** @type {number[][]} */ lists = about.hosts.map(() => []);
  for (const r of about.rows) if (r.clock >= 0) events[r.clock] += r.events;
  about.clocks.forEach((c, i) => lists[c.host]?.push(i));
  return lists.map((list) => {
    const used = list.filter((i) => events[i]);
    return used.length ? used.sort((a, b) => events[b] - events[a] || a - b) : list;
  });
}

/**
 * @param {number} host
 */
export const clockOfHost = (host) => clocks[host][0] ?? -1;

/**
 * boundsOfHost holds for whichever of a host's clocks stamped an event.
 * @param {number} host
 * @param {number} at
 */
export function boundsOfHost(host, at) {
  /** @type {number | null} */
  let low = 0;
  /** @type {number | null} */
  let high = 0;
  for (const clock of clocks[host]) {
    const one = View.bounds(clock, at);
    low = low === null || one.low === null ? null : Math.max(low, one.low);
    high = high === null || one.high === null ? null : Math.max(high, one.high);
  }
  return { low, high };
}

/**
 * @param {Event} e
 */
const lineAt = (e) => /** @type {any} */ (e.target).closest?.(".name")?.line ?? null;

/**
 * @param {Line} line
 * @param {boolean} [yes]
 */
export function fold(line, yes = !line.folded) {
  if (line.folds) App.setHidden("collapsed", line.id, yes);
  App.announce(`${line.name} ${yes ? "folded" : "unfolded"}`);
}

/**
 * foldAll folds every host, or unfolds all.
 * @param {boolean} yes
 */
export function foldAll(yes) {
  if (!yes) [...App.hidden.collapsed].forEach((id) => App.setHidden("collapsed", id, false));
  else about.hosts.forEach((_, h) => App.setHidden("collapsed", `h${h}`, true));
}

/**
 * @param {Line | null} line
 */
function expand(line) {
  if (!line || line.type !== "row") return;
  if (!expanded.delete(line.row)) expanded.add(line.row);
  stale = true;
  App.redraw();
}

/**
 * @param {MouseEvent} e
 */
function click(e) {
  const line = lineAt(e);
  if (!line) return;
  if (/** @type {Element} */ (e.target).className === "hide") return App.setHidden("rows", line.row, true);
  if (/** @type {Element} */ (e.target).className === "more") return expand(line);
  if (/** @type {Element} */ (e.target).className === "fold") return fold(line);
  focusLine(line, true);
}

/**
 * key is what people expect of a tree: up and down, left folds or goes up, right unfolds or goes down.
 * @param {KeyboardEvent} e
 */
function key(e) {
  layOut(); // what the key before this one changed
  const line = Layout.line(lineAt(e)?.id), at = Layout.lines.indexOf(line);
  if (at < 0) return;
  const to = (/** @type {number} */ n) => focusLine(Layout.lines[Math.max(0, Math.min(Layout.lines.length - 1, n))], true);
  const above = () => { let i = at; while (i > 0 && Layout.lines[i].level >= line.level) i--; return i; };
  /** @type {Record<string, () => void>} */
  const actions = {
    ArrowDown: () => to(at + 1), ArrowUp: () => to(at - 1), Home: () => to(0), End: () => to(Layout.lines.length - 1),
    PageDown: () => to(at + 12), PageUp: () => to(at - 12),
    ArrowRight: () => (line.folded ? fold(line, false) : to(at + 1)), ArrowLeft: () => (line.folds && !line.folded ? fold(line, true) : to(above())),
    Enter: () => (line.more || expanded.has(line.row) ? expand(line) : fold(line)), " ": () => fold(line),
    Delete: () => App.setHidden(line.type === "host" ? "hosts" : "rows", line.type === "host" ? line.host : line.row, true),
  };
  if (e.altKey && (e.key === "ArrowUp" || e.key === "ArrowDown")) shiftLine(line, e.key === "ArrowUp" ? -1 : 1);
  else if (actions[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey && !(e.key === "Delete" && line.type === "kind")) actions[e.key]();
  else return;
  e.preventDefault();
  e.stopPropagation();
}

/**
 * @param {Line} line
 * @param {number} by
 */
function shiftLine(line, by) {
  const among = Layout.siblings(line);
  App.setOrder(Layout.moved(order, line, among.indexOf(line) + by));
  App.announce(`${line.name} moved ${by < 0 ? "up" : "down"}`);
  layOut();
  focusLine(Layout.line(line.id), true);
}

/**
 * @param {PointerEvent} e
 */
function press(e) {
  const line = lineAt(e);
  if (!line || line.type === "kind" || e.button || /** @type {Element} */ (e.target).className !== "text") return;
  moving = { line, y: e.clientY, begun: false };
  const move = (/** @type {PointerEvent} */ m) => {
    if (!moving.begun && Math.abs(m.clientY - moving.y) < 5) return;
    moving.begun = true;
    document.body.classList.add("moving");
    const y = m.clientY - View.plot.top + scrolled, among = Layout.siblings(Layout.line(line.id));
    let to = among.findIndex((l) => y < l.y + l.h / 2);
    if (line.type === "host") to = among.findIndex((l, i) => y < (among[i + 1]?.y ?? Infinity));
    const from = among.indexOf(Layout.line(line.id));
    if (to < 0) to = among.length - 1;
    else if (to > from && line.type !== "host") to--;
    if (to !== from) { App.setOrder(Layout.moved(order, Layout.line(line.id), to)); layOut(); }
  };
  const up = () => {
    document.body.classList.remove("moving");
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", up);
    removeEventListener("pointercancel", up);
    moving = null;
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", up);
  addEventListener("pointercancel", up);
}

/**
 * @param {Line | null | undefined} line
 * @param {boolean} take
 */
function focusLine(line, take) {
  if (!line) return;
  focusedId = line.id;
  show(line);
  App.emit("focus", line.row, line.host);
  layOut();
  paint();
  if (take) shown.get(line.id)?.focus({ preventScroll: true });
  App.redraw(2);
}

/**
 * show scrolls as little as it takes to see a line below the header of its host.
 * @param {Line} line
 */
function show(line) {
  const scroll = byId("scroll"), head = line.type === "host" ? 0 : Layout.HostHeight;
  if (line.y - head < scroll.scrollTop) scroll.scrollTop = line.y - head;
  else if (line.y + line.h > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = Math.min(line.y - head, line.y + line.h - scroll.clientHeight);
}

/**
 * reveal unfolds what a row is folded into, and scrolls to it.
 * @param {number} row
 */
export function reveal(row) {
  const { host, kind } = about.rows[row];
  for (const id of [`h${host}`, `k${host}.${kind}`]) App.setHidden("collapsed", id, false);
  for (let r = Layout.parent(row); r >= 0; r = Layout.parent(r)) {
    App.setHidden("collapsed", r, false);
    App.setHidden("collapsed", `k${host}.${about.rows[r].kind}`, false);
  }
  App.setHidden("rows", row, false);
  App.setHidden("hosts", host, false);
  if (idle.delete(row)) stale = true;
  if (filter() && !Layout.line(row)) { inputById("filter").value = text = ""; stale = true; }
  layOut();
  const line = Layout.standsFor(row);
  if (line) show(line);
  App.redraw();
}

/**
 * setIdle leaves out rows without events in sight; what one looks at stays where it is.
 * @param {Set<number>} rows
 */
export function setIdle(rows) {
  if (rows.size === idle.size && [...rows].every((row) => idle.has(row))) return;
  keeps ??= looked();
  idle = rows;
  stale = true;
  App.redraw();
}

// natural is the order of rows that nobody has moved: processes and threads of a host by how many events they have, the
// busiest first, others as they come. Of a timeline that grows none moves.
export const natural = () => (about.live ? about.rows.map((_, n) => n) : Layout.busiest());

/**
 * @param {number[]} rows
 */
export function setOrder(rows) { order = [...rows]; stale = true; }

export function focused() { const line = Layout.line(focusedId); return line ? { row: line.row, host: line.host, line } : { row: -1, host: -1, line: null }; }

/**
 * focus has a row's line focused, also before the first frame: an event of the address may come that early.
 * @param {number} row
 * @param {boolean} take
 */
export function focus(row, take) { layOut(); focusLine(Layout.line(row) ?? Layout.standsFor(row), take); }

/**
 * @param {number} row
 */
export function y(row) { const line = Layout.line(row); return line ? { top: line.y - scrolled, height: line.h } : null; }

/**
 * @param {number} row
 */
export function end(row) { const line = about.rows[row] ? Layout.standsFor(row) : null; return line ? line.y - scrolled + (line.type === "host" ? line.h / 2 : Math.min(line.h / 2, 12)) : null; }

/**
 * @param {number} y
 */
export function lineAtY(y) {
  const pin = pinned();
  if (pin && y < pin.top + pin.line.h) return pin.line;
  const line = Layout.lines[Layout.find(y + scrolled)];
  return line && y + scrolled < line.y + line.h ? line : null;
}

/**
 * @param {number} y
 */
export function scrollBy(y) { byId("scroll").scrollTop += y; }

export function overflows() { return Layout.height + 8 > View.plot.height; }
