// bars: the columns of a histogram of delays. A press on one, or Enter, lists its messages; arrows go along the columns.

import { App } from "./app.js";
import { make, button, svg, table, grouped, plural } from "./elements.js";
import * as Save from "./save.js";
import * as Time from "./time.js";
import * as Violations from "./violations.js";

/** @import { Bar, Column, DelayedMessage, Histogram } from "./types.js" */

const Most = 1000; // messages that are listed

/**
 * columns draws bars, one of which the tab key reaches.
 * @param {Bar[]} bars
 * @param {number} height
 * @param {(bar: Bar) => void} pick
 * @returns {SVGGElement[]}
 */
export function columns(bars, height, pick) {
  /** @type {SVGGElement[]} */
  const all = bars.map((b, i) => {
    const told = `${plural(b.n, "message")} from ${App.duration(b.from)} to ${App.duration(b.to)}`;
    const whole = svg("g", { class: "bar", role: "button", tabindex: i ? -1 : 0, "aria-label": `list ${told}` },
      svg("title", {}, `${told}; a press lists them`),
      svg("rect", { class: "hit", x: (b.x - 1).toFixed(2), y: 0, width: (Math.max(1, b.width) + 2).toFixed(2), height }),
      svg("rect", { class: b.to <= 0 ? "column inverted" : "column", x: b.x.toFixed(2), y: b.y.toFixed(2), width: Math.max(1, b.width - 0.6).toFixed(2), height: b.height.toFixed(2) }));
    whole.addEventListener("click", () => pick(b));
    whole.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => {
      const next = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: all.length - 1 }[e.key];
      if (e.key === "Enter" || e.key === " ") pick(b);
      else if (next === undefined) return;
      else if (all[next]) {
        whole.setAttribute("tabindex", "-1");
        all[next].setAttribute("tabindex", "0");
        all[next].focus();
      }
      e.preventDefault();
      e.stopPropagation();
    });
    return whole;
  });
  return all;
}

/**
 * list shows the messages of a bar, the first ones, in order of their sending.
 * @param {Histogram} pair
 * @param {Bar} bar
 * @param {HTMLElement} box
 */
export async function list({ from, to }, bar, box) {
  const said = make("p", { class: "said", "aria-live": "polite" }, "loading…");
  box.replaceChildren(said);
  try {
    const found = await App.data.questions().messages({ from, to, least: bar.from, most: bar.to, n: Most });
    said.textContent = `From ${App.duration(bar.from)} to ${App.duration(bar.to)}: ${plural(found.count, "message")}${found.list.length < found.count ? `, of which the first ${grouped(found.list.length)} are listed` : ""}${found.gone ? "; the index has only a part of the timeline any more" : ""}.`;
    const links = new Map(App.about.links.map((l) => [l.lane, l]));
    const row = (/** @type {number | undefined} */ n) => (n === undefined ? "" : App.about.rows[n].name);
    /** @type {Column<DelayedMessage>[]} */
    const shown = [
      { title: "sent", text: (m) => Time.since(m.sent), value: (m) => m.sent, number: true },
      { title: "delay", text: (m) => App.duration(m.delay), value: (m) => m.delay, number: true },
      { title: "verdict", text: (m) => { const v = Violations.verdicts[m.verdict] ?? Violations.verdicts[0]; return `${v.mark} ${v.name}`; }, value: (m) => m.verdict },
      { title: "from", text: (m) => row(links.get(m.link)?.from), value: (m) => row(links.get(m.link)?.from) },
      { title: "to", text: (m) => row(links.get(m.link)?.to), value: (m) => row(links.get(m.link)?.to) },
    ];
    const sheet = table({ caption: "Messages of the bar", rows: found.list, columns: shown, pick: async (/** @type {DelayedMessage} */ m) => {
      sheet.mark(m);
      const [sent] = await App.data.events(m.from, 1);
      if (sent) App.go(sent, { span: Math.max(m.delay, 1000) * 4 });
      await App.select(m.from, "a");
      await App.select(m.to, "b");
    } });
    box.replaceChildren(said, make("p", { class: "buttons" }, button("CSV", () => Save.text("messages.csv", Save.csv(shown, sheet.order())), { "aria-label": "save the messages of the bar as CSV" }),
      button("close", () => box.replaceChildren(), { "aria-label": "close the list of messages" })), sheet);
  } catch (/** @type {any} */ error) {
    said.textContent = `The messages of the bar: ${error.message}`;
  }
}
