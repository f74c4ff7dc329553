// share: the view as a piece of the page's address, after the "#", so that others see the same. Only numbers of the timeline
// go into it, and the text that was searched for. An address is untrusted input: what does not fit the
// timeline is left out, and what says that it is of another timeline is not followed at all.
//
// What is before the "#" of a served page is a secret that gives access to the trace: it is never copied.
//
//   #v=1&id=TIMELINE&t=FROM,TO&raw=1&a=EVENT&b=EVENT&hosts=0-3,7&rows=...&classes=...&links=...&fold=h0,3&order=4,0-3&idle=1&notes=AT.ROW:WORDS,FROM-TO:WORDS&q=TEXT

import { App } from "./app.js";
import * as Dock from "./dock.js";
import { make, button } from "./elements.js";
import * as Elements from "./elements.js";
import * as Follow from "./follow.js";
import * as Idle from "./idle.js";
import * as Notes from "./notes.js";
import { ranges, unranged } from "./ranges.js";
import * as Rows from "./rows.js";
import * as Search from "./search.js";

/** @import { About, Limits, SharedState } from "./types.js" */

/**
 * plain undoes what a kind of rows in "fold" was written with; what is damaged is nothing.
 * @param {string} text
 */
function plain(text) {
  try { return decodeURIComponent(text); } catch { return ""; }
}

/** @type {("hosts" | "rows" | "classes" | "links")[]} */
const kinds = ["hosts", "rows", "classes", "links"];

/**
 * identity is short and the same for the same timeline, served or in a file: of its hosts and from when to when it is.
 * @param {Pick<About, "hosts" | "origin" | "span" | "live">} options
 */
export function identity({ hosts, origin, span, live }) {
  const text = [origin, ...(live ? [""] : [span, ...hosts.map((h) => h.name)])].join("\u0000");
  const hash = (/** @type {number} */ h) => { for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193); return ((h ^ (h >>> 15)) >>> 0).toString(36); };
  return hash(0x811c9dc5) + hash(0x1b873593);
}

/**
 * idOf is the timeline that a text says it is of; "" where it does not.
 * @param {string} text
 */
export const idOf = (text) => (new URLSearchParams(text.replace(/^#/, "")).get("id") ?? "").slice(0, 100);

/**
 * write makes the text of a state {id, from, to, raw, a, b: numbers of events or null, hidden: {hosts, ...: numbers},
 * collapsed: texts, order: rows or null if it is the natural one, q}.
 * @param {SharedState} state
 */
export function write(state) {
  const list = new URLSearchParams();
  list.set("v", "1");
  if (state.id) list.set("id", state.id);
  if (state.from !== null && state.to !== null) list.set("t", `${Math.round((state.from ?? 0) * 1000) / 1000},${Math.round((state.to ?? 0) * 1000) / 1000}`);
  if (state.raw) list.set("raw", "1");
  for (const end of /** @type {("a" | "b")[]} */ (["a", "b"])) if (state[end] !== null && state[end] !== undefined) list.set(end, String(state[end]));
  for (const kind of kinds) if (state.hidden[kind]?.length) list.set(kind, ranges([...state.hidden[kind]].sort((x, y) => x - y)));
  if (state.collapsed?.length) list.set("fold", state.collapsed.map(encodeURIComponent).join(","));
  if (state.order) list.set("order", ranges(state.order));
  if (state.idle) list.set("idle", "1");
  if (state.notes) list.set("notes", Notes.write(state.notes));
  if (state.q) list.set("q", state.q);
  return list.toString().replaceAll("%2C", ",");
}

/**
 * read makes a state of such a text, within limits {events, hosts, rows, classes, links}; null is no state of ours.
 * @param {string} text
 * @param {Limits} limits
 */
export function read(text, limits) {
  const list = new URLSearchParams(text.replace(/^#/, ""));
  if (list.get("v") !== "1") return null;
  const [from, to] = (list.get("t") ?? "").split(",").map(Number);
  const event = (/** @type {string} */ name) => (/^\d{1,15}$/.test(list.get(name) ?? "") && Number(list.get(name)) < limits.events ? Number(list.get(name)) : null);
  const order = list.has("order") ? unranged(list.get("order") ?? "", limits.rows) : null;
  return {
    from: Number.isFinite(from) && Number.isFinite(to) && from < to ? from : null, to: Number.isFinite(from) && Number.isFinite(to) && from < to ? to : null,
    raw: list.get("raw") === "1", a: event("a"), b: event("b"),
    hidden: Object.fromEntries(kinds.map((kind) => [kind, unranged(list.get(kind) ?? "", limits[kind])])),
    collapsed: (list.get("fold") ?? "").split(",").map(plain).filter((id) => /^(\d{1,9}|h\d{1,9}|k\d{1,9}\..{1,64})$/.test(id)).slice(0, 10000),
    order: order && order.length === limits.rows ? order : null,
    idle: list.get("idle") === "1", notes: list.has("notes") ? Notes.read(list.get("notes") ?? "", limits.rows) : null,
    q: (list.get("q") ?? "").slice(0, 1000),
  };
}

let pending = 0;
let restoring = false;
let known = location.hash; // as it was last written here or gone to

const limits = () => ({ events: App.about.events, hosts: App.about.hosts.length, rows: App.about.rows.length, classes: App.about.classes.length, links: 1 + Math.max(-1, ...App.about.links.map((l) => l.lane)) });

export function state() {
  const usual = Rows.natural(), natural = App.order.every((row, i) => row === usual[i]);
  return {
    id: identity(App.about), from: Follow.on() ? null : App.view.from, to: Follow.on() ? null : App.view.to, raw: App.view.raw, a: App.selection.a?.event ?? null, b: App.selection.b?.event ?? null,
    hidden: Object.fromEntries(kinds.map((kind) => [kind, [...App.hidden[kind]]])), collapsed: [...App.hidden.collapsed].map(String),
    order: natural ? null : [...App.order], idle: Idle.on(), notes: Notes.shared(), q: Search.text,
  };
}

// soon keeps the address as the view is, a moment after it has come to rest: browsers allow few changes a second.
function soon() {
  if (restoring) return;
  clearTimeout(pending);
  pending = setTimeout(() => {
    if (location.hash !== known) return; // somebody goes elsewhere: restore is about to be called
    try { history.replaceState(null, "", `#${write(state())}`); known = location.hash; } catch { /* some pages from a disk may not */ }
  }, 400);
}

async function restore() {
  known = location.hash;
  const s = read(location.hash, limits()), id = idOf(location.hash);
  if (!s) return;
  if (id && id !== identity(App.about)) return Dock.notice("The address describes a view of another timeline. It was ignored.");
  restoring = true;
  try {
    if (s.order) App.setOrder(s.order);
    for (const kind of kinds) {
      const wanted = new Set(s.hidden[kind]);
      for (const id of [...App.hidden[kind]]) if (!wanted.has(id)) App.setHidden(kind, id, false);
      for (const id of wanted) App.setHidden(kind, id, true);
    }
    const folded = new Set(s.collapsed.map((id) => (/^\d+$/.test(id) ? Number(id) : id)));
    for (const id of [...App.hidden.collapsed]) if (!folded.has(id)) App.setHidden("collapsed", id, false);
    for (const id of folded) App.setHidden("collapsed", id, true);
    Idle.set(s.idle);
    Notes.set(s.notes);
    App.setRaw(s.raw, { fit: s.from === null });
    if (s.from !== null && s.to !== null) App.setView(s.from, s.to);
    for (const end of /** @type {("a" | "b")[]} */ (["a", "b"])) if (s[end] !== null) await App.select(s[end], end).catch(() => {});
    if (s.q) Search.run(s.q, { quiet: true });
  } finally {
    restoring = false;
  }
}

export function start() {
  const dialog = Elements.dialog("Share this view", { id: "share" });
  const served = App.data.served();
  const address = make("input", { type: "text", readOnly: true, "aria-label": served ? "this view, as text" : "link to this view" });
  const said = make("output", { class: "said", "aria-live": "polite" });
  const given = make("input", { type: "text", "aria-label": "a view that was shared", placeholder: "a view that was shared: #v=1&…", autocomplete: "off", spellcheck: false });
  const open = (/** @type {Event} */ e) => {
    e.preventDefault();
    const text = given.value.trim(), at = text.indexOf("#");
    if (!read(text.slice(Math.max(0, at)), limits())) { said.textContent = "Not a shared view: it must begin with #v=1."; return; }
    dialog.close();
    location.hash = text.slice(Math.max(0, at));
  };
  const copy = button("copy", async () => { said.textContent = (await Elements.copy(address.value)) ? "copied" : "select the text and copy it"; }, { class: "main" });
  dialog.append(make("h2", {}, "Share this view"),
    make("p", {}, served ? "This text shows the same interval, selection and search of the same timeline, served or in a file. Paste it behind the address there, or into the box below." : "What follows the # of this link shows the same interval, selection and search in every copy of this file."),
    make("p", { class: "buttons" }, address, copy),
    served ? make("p", { class: "note" }, "The address of this page is left out: it contains a secret that gives access to the whole trace while it is served.") : "",
    said, make("form", { class: "buttons", onsubmit: open }, given, make("button", { type: "submit" }, "go there")),
    make("p", { class: "buttons end" }, button("close", () => dialog.close())));
  App.command({ id: "share", key: "l", title: "Share: copy this view, or go to one", button: true, label: "share", group: "view", run: () => {
    address.value = `${served ? "" : location.href.replace(/#.*/, "")}#${write({ ...state(), notes: Notes.forOthers() })}`;
    said.textContent = given.value = "";
    dialog.showModal();
    address.select();
  } });
  for (const name of ["view", "select", "hidden", "raw", "order", "search", "follow", "idle", "notes"]) App.on(name, soon);
  addEventListener("hashchange", restore);
  queueMicrotask(restore); // all other panels have begun by then
}
