// keys: every action has a name and a key here or in a panel; this hands keys to them. W, A, S and D work as long as they
// are held, a little faster the longer.

import { byId, inputById } from "./dom.js";
import { App } from "./app.js";
import * as Colors from "./colors.js";
import * as Data from "./data.js";
import * as Follow from "./follow.js";
import * as Jump from "./jump.js";
import * as Pointer from "./pointer.js";
import * as Rows from "./rows.js";
import * as View from "./view.js";

/** @import { HiddenKind } from "./types.js" */

const held = new Map(); // key -> when it was pressed
let before = 0;

/** @type {Record<string, string>} */
const shown = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "Space", Escape: "Esc" };
/**
 * @param {string} key
 */
export const label = (key) => key.split("+").filter(Boolean).map((k) => shown[k] ?? (k.length === 1 && k >= "A" && k <= "Z" ? `Shift+${k}` : k)).join("+") || key;

function own() {
  const add = (/** @type {string} */ group, /** @type {any[]} */ list) => { for (const [id, key, title, run, more] of list) App.command({ id, key, title, run, group, ...more }); };
  add("view", [
    ["pan-left", "a", "Move left, while held", null], ["pan-right", "d", "Move right, while held", null],
    ["zoom-in-held", "w", "Zoom in at the pointer, while held", null], ["zoom-out-held", "s", "Zoom out at the pointer, while held", null],
    ["left", "ArrowLeft", "Move left", () => View.pan(-0.2, true)], ["right", "ArrowRight", "Move right", () => View.pan(0.2, true)],
    ["up", "ArrowUp", "Scroll the rows up", () => Rows.scrollBy(-60)], ["down", "ArrowDown", "Scroll the rows down", () => Rows.scrollBy(60)],
    ["page-left", "PageUp", "Move left by what is in sight", () => View.pan(-0.9, true)], ["page-right", "PageDown", "Move right by what is in sight", () => View.pan(0.9, true)],
    ["zoom-out", ["-", "_"], "Zoom out", () => View.zoom(2, middle(), true), { button: true, label: "−" }],
    ["zoom-in", ["+", "="], "Zoom in", () => View.zoom(0.5, middle(), true), { button: true, label: "+" }],
    ["fit", ["0", "Home"], "Show all", () => View.fit(), { button: true, label: "fit" }],
    ["zoom-selected", "z", "Zoom to the selected event", zoomSelected],
    ["raw", "r", "Raw or corrected time", () => App.setRaw(!View.state.raw), { button: true, label: "raw", pressed: () => View.state.raw }],
    ["theme", "T", "Light or dark", () => Colors.set(Colors.theme.dark ? "light" : "dark"), { button: true, label: "◐" }],
  ]);
  add("events", [
    ["next-violation", "n", "Next violation of causality", () => Jump.violation(1), { button: Boolean(worst()) || Data.about.live, label: "next violation" }],
    ["previous-violation", "p", "Previous violation of causality", () => Jump.violation(-1)],
    ["next-event", ".", "Next event of the focused row", () => Jump.event(1)], ["previous-event", ",", "Previous event of the focused row", () => Jump.event(-1)],
    ["next-message", "]", "Next message of the focused row", () => Jump.message(1)], ["previous-message", "[", "Previous message of the focused row", () => Jump.message(-1)],
    ["let-go", "Escape", "Let go of the selection", letGo],
  ]);
  add("rows", [
    ["filter", "f", "Filter rows by name", () => { const box = inputById("filter"); box.focus(); box.select(); }],
    ["fold", "Enter", "Fold or unfold the focused row or host", () => { const { line } = Rows.focused(); if (line) Rows.fold(line); }],
    ["fold-all", "F", "Fold all hosts", () => Rows.foldAll(true)], ["unfold-all", "U", "Unfold all", () => Rows.foldAll(false)],
    ["names", "g", "Go to the names of the rows", () => Rows.focus(Rows.focused().row >= 0 ? Rows.focused().row : `h${Math.max(0, Rows.focused().host)}`, true)],
    ["row-up", "Alt+ArrowUp", "Move the focused row up", null], ["row-down", "Alt+ArrowDown", "Move the focused row down", null],
    ["show-all", "H", "Show all that was hidden", showAll],
  ]);
}

const worst = () => (Data.about.verdicts ?? []).slice(2).some(Boolean);
const middle = () => Pointer.cursor.x ?? (Follow.on() ? View.plot.width : View.plot.width / 2);

function letGo() {
  for (const which of /** @type {("a" | "b")[]} */ (["a", "b"])) App.select(null, which);
  App.emit("measure", null, null, {});
}

function showAll() {
  for (const kind of /** @type {HiddenKind[]} */ (["hosts", "rows", "classes", "links"])) [...App.hidden[kind]].forEach((id) => App.setHidden(kind, id, false));
}

async function zoomSelected() {
  const { a } = App.selection;
  if (!a) return;
  let length = 0;
  if (a.slice && a.slice.end >= 0 && a.slice.begin >= 0) {
    const [[begin], [end]] = await Promise.all([Data.events(a.slice.begin, 1), Data.events(a.slice.end, 1)]);
    if (begin && end) length = end.at - begin.at;
  }
  const from = View.shown(a.at, App.clockOf(a.row, a.at)), room = (length || (View.state.to - View.state.from) / 4) * (length ? 0.1 : 0.5);
  App.setView(from - room, from + length + room, { animate: true });
}

export function open() {
  own();
  addEventListener("keydown", pressed);
  addEventListener("keyup", (e) => { held.delete(e.key.toLowerCase()); });
  addEventListener("blur", () => held.clear());
}

/**
 * typing says that a key belongs to what has the focus.
 * @param {any} target
 * @param {string} key
 */
function typing(target, key) {
  if (target.closest?.("input, textarea, select, [contenteditable]")) return true;
  if (target.closest?.("dialog")) return key !== "Escape" && key !== "?";
  if (key === "Enter" || key === " ") return Boolean(target.closest?.("button, a, summary, [role=tab], [role=treeitem], table"));
  return key.startsWith("Arrow") || key.startsWith("Page") || key === "Home" || key === "End" ? Boolean(target.closest?.("#panels, #tabs, #tools, table")) : false;
}

/**
 * @param {KeyboardEvent} e
 */
export function pressed(e) {
  const { target } = e;
  if (e.key === "Escape" && !e.defaultPrevented && target instanceof HTMLElement && target.matches("input, textarea, select") && !target.closest("dialog")) {
    e.preventDefault();
    return byId("over").focus({ preventScroll: true }); // out of the field; the next one lets go of the selection
  }
  if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || typing(e.target, e.key)) return;
  const low = e.key.toLowerCase();
  if ("wasd".includes(low) && low.length === 1 && !e.shiftKey) {
    if (!held.has(low)) {
      held.set(low, performance.now());
      move(low, 0.05); // a tap is a step, even if no frame sees it
    }
    e.preventDefault();
    return App.redraw();
  }
  const entry = App.commands.find((c) => c.run !== null && c.keys.includes(e.key));
  if (!entry) return;
  e.preventDefault();
  entry.run?.();
}

/**
 * step moves by what is held, and says whether there is more to come.
 * @param {number} now
 */
export function step(now) {
  if (!held.size) { before = 0; return false; }
  const since = before ? Math.min(50, now - before) : 16;
  before = now;
  for (const [key, begun] of held) {
    move(key, since / 1000 * Math.min(2.5, 0.9 + (performance.now() - begun) / 900));
  }
  return true;
}

/**
 * @param {string} key
 * @param {number} by
 */
function move(key, by) {
  if (key === "a" || key === "d") View.pan(key === "a" ? -by : by);
  else View.zoom(Math.exp((key === "w" ? -2.4 : 2.4) * by), middle());
}
