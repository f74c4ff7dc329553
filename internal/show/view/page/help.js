// help: what one can do here, by keys and by pointer, and what the colours and shapes mean. The keys are those of the
// commands as they are registered, so that this page cannot be behind them.

import { App } from "./app.js";
import { make, button, section } from "./elements.js";
import * as Elements from "./elements.js";
import * as Keys from "./keys.js";

/** @import { Command } from "./types.js" */

const gestures = [
  ["wheel", "scroll the rows; zoom at the pointer where all fit"], ["Ctrl + wheel", "zoom at the pointer, as two fingers do"], ["Shift + wheel", "move in time"],
  ["drag", "move in time and over the rows"], ["Shift + drag", "measure between two points, with how sure that is"],
  ["Alt + drag", "zoom to an interval; so does a drag along the time axis"], ["click", "select an event, or both ends of a message"],
  ["Shift + click", "select as B, to compare with the selected one"], ["double click", "zoom to a slice, or in"],
];

const shapes = [
  ["mark", "an event; its colour is its name's"], ["slice", "something that lasts; what lies within it is below"],
  ["message", "a message from where it was sent to where it was received"], ["certain", "◆ received before it was sent, beyond the bounds of the clocks: certain"],
  ["undecidable", "◇ received before it was sent, within the bounds: undecidable"], ["quick", "▷ quicker than the least delay"],
  ["inverted", "in raw time: received before it was sent, by the clocks of their hosts"],
  ["slice", "beside a host, or a row that is folded: how much of what is below is busy, and with what; the line over it is how many events there are"],
  ["bound", "the band in which an instant of this host truly lies"], ["hit", "an event that was searched for"],
];

const order = ["view", "events", "messages", "search", "panels"];

/**
 * grouped sorts commands with a key by their groups; those known come first.
 * @param {Command[]} commands
 */
export function groups(commands) {
  const all = new Map();
  for (const c of commands) {
    if (!c.keys.length) continue;
    if (!all.has(c.group)) all.set(c.group, []);
    all.get(c.group).push(c);
  }
  const place = (/** @type {any} */ g) => (order.includes(g) ? order.indexOf(g) : order.length);
  return [...all].sort(([a], [b]) => place(a) - place(b));
}

/**
 * @param {string} text
 */
const key = (text) => make("kbd", {}, Keys.label(text));

/**
 * @param {string} title
 * @param {Command[]} list
 */
function keysOf(title, list) {
  return section(title, make("table", {}, make("caption", {}, title), make("tbody", {}, ...list.map((c) => make("tr", {},
    make("th", { scope: "row" }, ...c.keys.flatMap((k, i) => (i ? [" ", key(k)] : [key(k)]))), make("td", {}, c.title))))));
}

export function start() {
  const dialog = Elements.dialog("Help", { id: "help" });
  const rows = (/** @type {any} */ list, /** @type {(one: string) => any} */ first) => make("table", {}, make("tbody", {}, ...list.map((/** @type {any} */ [a, b]) => make("tr", {}, make("th", { scope: "row" }, first(a)), make("td", {}, b)))));
  App.command({ id: "help", key: "?", title: "Help: keys, gestures, colours and shapes", button: true, label: "?", group: "view", run: () => {
    if (dialog.open) return;
    dialog.replaceChildren(make("header", {}, make("h2", {}, "Help"), button("close", () => dialog.close())),
      make("div", { class: "columns" }, ...groups(App.commands).map(([title, list]) => keysOf(title[0].toUpperCase() + title.slice(1), list)),
        section("Pointer", rows(gestures, (/** @type {any} */ g) => g)),
        section("Colours and shapes", rows(shapes, (/** @type {any} */ s) => make("span", { class: `sample ${s}`, "aria-hidden": "true" })))));
    dialog.showModal();
  } });
}
