// history: the way back. A view at which one rested is remembered when the next is gone to; going back brings it, and
// forward undoes that. A move that goes on (a drag, a held key) is one step.

import { App } from "./app.js";
import * as Follow from "./follow.js";
import * as View from "./view.js";

/** @typedef {{ from: number, to: number, raw: boolean }} Stop */

const Rest = 600; // ms after which a view counts as one that was looked at
const Most = 200;

/**
 * trail is a list of stops with a place in it. A stop behind the place is dropped when another is added.
 * @param {number} most
 */
export function trail(most) {
  /** @type {Stop[]} */
  let list = [];
  let at = -1;
  const same = (/** @type {Stop} */ a, /** @type {Stop} */ b) => a.raw === b.raw && Math.abs(a.from - b.from) < 0.01 * (a.to - a.from) && Math.abs(a.to - b.to) < 0.01 * (a.to - a.from);
  return {
    add(/** @type {Stop} */ stop) {
      if (at >= 0 && same(list[at], stop)) return;
      list = [...list.slice(Math.max(0, at + 2 - most), at + 1), stop];
      at = list.length - 1;
    },
    // step moves along, and returns where one then is; null at an end.
    step(/** @type {number} */ by) {
      if (at + by < 0 || at + by >= list.length) return null;
      at += by;
      return list[at];
    },
    get can() { return { back: at > 0, forward: at >= 0 && at < list.length - 1 }; },
  };
}

const stops = trail(Most);
let timer = 0;
let going = false;

function rest() {
  clearTimeout(timer);
  timer = 0;
  if (going || Follow.on()) return;
  const { from, to } = View.destination();
  stops.add({ from, to, raw: View.state.raw });
}

/**
 * @param {number} by
 */
function go(by) {
  if (timer) rest(); // what was only just gone to
  const stop = stops.step(by);
  if (!stop) return App.announce(by < 0 ? "there is no view before this" : "there is no view after this");
  going = true;
  try {
    App.setRaw(stop.raw, { fit: false });
    App.setView(stop.from, stop.to, { animate: true });
  } finally {
    going = false;
  }
}

export function start() {
  App.command({ id: "back", key: ["Backspace", "("], title: "Back to the view before", group: "view", button: true, label: "◂", run: () => go(-1) });
  App.command({ id: "forward", key: [")"], title: "Forward to the view after", group: "view", button: true, label: "▸", run: () => go(1) });
  for (const name of ["view", "raw"]) {
    App.on(name, () => {
      if (going) return;
      clearTimeout(timer);
      timer = setTimeout(rest, Rest);
    });
  }
  rest();
}
