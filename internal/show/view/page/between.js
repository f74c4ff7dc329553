// between: the critical path between the two selected events, A and B: what the later one waited for since the earlier one. It lies in
// the panel Order, below the answer which of them was first. Where that is undecided, both ways are offered.

import { App } from "./app.js";
import { make, button } from "./elements.js";
import * as Path from "./path.js";

/** @import { RequestPath, TimelineEvent } from "./types.js" */

let asked = 0;
/** @type {HTMLElement} */
let box;
/** @type {HTMLElement} */
let offers;
/** @type {{ answer: string, why: string } | null} */
let order = null;

/**
 * ways lists which paths there are, the likelier one first: from which event, to which, and in which case.
 * @param {{ answer: string, why: string }} order
 * @param {TimelineEvent} a
 * @param {TimelineEvent} b
 * @returns {{ from: TimelineEvent, to: TimelineEvent, name: string, undecided: boolean }[]}
 */
export function ways({ answer, why }, a, b) {
  const ab = { from: a, to: b, name: "A to B", undecided: answer === "unknown" }, ba = { from: b, to: a, name: "B to A", undecided: answer === "unknown" };
  if (why === "unconnected") return [];
  if (answer === "yes") return [ab];
  if (answer === "no") return [ba];
  return a.at <= b.at ? [ab, ba] : [ba, ab];
}

/**
 * sentence says what a path between two events is, before its parts are named.
 * @param {RequestPath} path
 * @param {string} name
 * @param {boolean} undecided
 */
export function sentence({ reaches, request, pieces }, name, undecided) {
  const from = App.hostOf(request.client).name, to = App.hostOf(request.server).name;
  return [undecided ? `Undecided which event was first; this is the path from ${name}, if it was in this order.` : `The path from ${name}.`,
    !pieces.length ? "By the estimate no time lies between them." : reaches ? "" : `It does not pass ${from}: nothing that was recorded says that ${to} waited for it.`].filter(Boolean).join(" ");
}

/**
 * show asks for a path and shows it.
 * @param {{ from: TimelineEvent, to: TimelineEvent, name: string, undecided: boolean }} way
 */
async function show({ from, to, name, undecided }) {
  const mine = ++asked, said = make("p", { class: "dim", "aria-live": "polite" }, "looking for the critical path…");
  box.replaceChildren(said);
  try {
    const found = await App.data.questions().between(from.event, to.event);
    if (mine !== asked) return;
    said.textContent = sentence(found, name, undecided);
    const path = make("div", { class: "path" });
    if (found.pieces.length) Path.show(found, path);
    box.replaceChildren(said, path);
    said.scrollIntoView({ block: "nearest" });
  } catch (/** @type {any} */ error) {
    if (mine === asked) said.textContent = `The path from ${name}: ${error.message}`;
  }
}

/** section is the place of the path in the panel of the order. */
export function section() {
  offers = make("p", { class: "buttons" });
  box = make("div", {});
  App.command({ id: "between", key: "C", title: "The critical path between the selected events A and B", group: "events", run: () => {
    const { a, b } = App.selection;
    App.show("order");
    if (!a || !b) return App.announce("select two events first: a click selects A, Shift and a click B");
    const [first] = order ? ways(order, a, b) : [];
    if (first) show(first);
  } });
  return make("div", {}, offers, box);
}

/**
 * offer has the ways for an answer, null while there is none; a path that was shown is let go of.
 * @param {{ answer: string, why: string } | null} of
 */
export function offer(of) {
  const { a, b } = App.selection;
  asked++;
  order = of;
  if (box.firstChild && Path.shown?.request.kind === "between") Path.show(null, box);
  box.replaceChildren();
  offers.replaceChildren(...(of && a && b ? ways(of, a, b) : []).map((way) => button(way.undecided ? `critical path, if ${way.name[0]} was first` : `critical path from ${way.name}`, () => show(way))));
}
