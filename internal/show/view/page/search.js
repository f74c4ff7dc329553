// search: events by name, field and value, in the language of query.js. Answers come in pieces, so that the first are there
// at once and a long search can be called off; what was found is marked on the rows, and listed.

import { canvasById, context } from "./dom.js";
import { App } from "./app.js";
import { make, button, table, plural } from "./elements.js";
import * as Minimap from "./minimap.js";
import * as Query from "./query.js";
import * as Time from "./time.js";
import * as View from "./view.js";

/** @import { Hit } from "./types.js" */

const most = 10000; // hits that are kept
/** @type {Hit[]} */
export let hits = [];
export let text = "";
/** @type {{ over: boolean } | null} */
let running = null;
/** @type {any} */
let list;
/** @type {HTMLElement} */
let said;
/** @type {HTMLInputElement} */
let box;
/** @type {HTMLButtonElement} */
let cancel;
let current = -1;
let searched = 0; // events; of a timeline that grows there are more later

const hint = "name  field=value  field>5  host=web  \"two words\"  -not  a | b";

/**
 * run searches; what an earlier search still brings is left alone.
 * @param {string} query
 * @param {{ quiet?: boolean }} [options1]
 */
export async function run(query, { quiet = false } = {}) {
  if (running) running.over = true;
  const mine = running = { over: false };
  text = query.trim();
  box.value = query;
  hits = [];
  current = -1;
  list.update(hits);
  box.removeAttribute("aria-invalid");
  App.emit("search", text, hits);
  if (text === "") {
    said.textContent = "";
    cancel.hidden = true;
    running = null;
    return App.redraw();
  }
  try {
    Query.parse(text);
  } catch (/** @type {any} */ error) {
    box.setAttribute("aria-invalid", "true");
    said.textContent = `Invalid search: ${error.message}.`;
    running = null;
    return App.redraw();
  }
  if (!quiet) App.show("search");
  searched = App.about.events;
  said.setAttribute("aria-live", "polite");
  cancel.hidden = false;
  said.textContent = "searching…";
  let after = -1, shown = 0, failed = "";
  try {
    while (!mine.over && hits.length < most) {
      const { found, next } = await App.data.search(text, after, 500);
      if (mine.over) break;
      hits.push(...found);
      if (performance.now() - shown > 250) {
        shown = performance.now();
        said.textContent = `searching… ${plural(hits.length, "hit")}`;
        list.update(hits);
        App.redraw();
      }
      if (next < 0 || !(next > after)) break;
      after = next;
    }
  } catch (/** @type {any} */ error) {
    failed = `The search failed: ${error.message}. `;
  }
  if (running !== mine) return;
  running = null;
  cancel.hidden = true;
  list.update(hits);
  const where = App.data.served() ? "" : " among what this file holds";
  said.textContent = `${failed}${hits.length >= most ? `the first ${plural(most, "hit")}` : hits.length ? plural(hits.length, "hit") : "nothing found"}${where}${mine.over ? ", stopped" : ""}`;
  App.emit("search", text, hits);
  App.redraw();
}

// goOn looks through the events that have come since.
async function goOn() {
  const of = text, from = searched, to = App.about.events;
  if (!of || running || hits.length >= most || to <= from) return;
  const mine = running = { over: false }, /** @type {Hit[]} */ more = [];
  try {
    for (let after = from - 1; after >= -1 && hits.length + more.length < most && !mine.over;) {
      const { found, next } = await App.data.search(of, after, 500);
      more.push(...found);
      if (!(next > after)) break;
      after = next;
    }
    // Events that came while it was searched may have been found, too: they are not looked through again.
    searched = Math.max(to, ...more.slice(-1).map((h) => h.event + 1));
  } catch (/** @type {any} */ error) {
    console.error(error); // it is tried again
  }
  if (running !== mine) return;
  running = null;
  if (!more.length) return;
  hits.push(...more);
  if (!list.contains(document.activeElement)) list.update(hits);
  said.setAttribute("aria-live", "off"); // a screen reader is not told of each
  said.textContent = current >= 0 ? `${current + 1} of ${plural(hits.length, "hit")}` : hits.length >= most ? `the first ${plural(most, "hit")}` : plural(hits.length, "hit");
  App.emit("search", text, hits);
  App.redraw();
}

/**
 * @param {number} i
 */
async function go(i) {
  if (!hits[i]) return;
  current = i;
  list.mark(hits[i]);
  said.textContent = `${i + 1} of ${plural(hits.length, "hit")}`;
  App.go(hits[i]);
  await App.select(hits[i].event, "a").catch(() => {});
}

/**
 * next goes to the hit behind the current one, else behind the middle of the view.
 * @param {number} step
 */
export function next(step) {
  if (!hits.length) return void App.announce(text ? "nothing found" : "search for something first");
  if (current < 0) {
    const middle = (App.view.from + App.view.to) / 2, later = hits.findIndex((h) => h.at > middle);
    const i = step > 0 ? later : (later < 0 ? hits.length : later) - 1;
    return go((i + hits.length) % hits.length);
  }
  return go((current + step + hits.length) % hits.length);
}

/**
 * draw marks hits with small triangles at the top of their rows: no more than one for a pixel of a row.
 * @param {CanvasRenderingContext2D} ctx
 */
function draw(ctx) {
  if (!hits.length) return;
  const { plot, theme } = App, seen = new Set();
  ctx.save();
  ctx.fillStyle = theme.accent;
  ctx.strokeStyle = theme.ground;
  ctx.lineWidth = 1;
  for (const h of hits) {
    const x = Math.round(App.x(h.at, App.clockOf(h.row, h.at)));
    if (x < -5 || x > plot.width + 5) continue;
    const key = x + h.row * 1e5;
    if (seen.has(key)) continue;
    seen.add(key);
    const box = App.rowY(h.row);
    if (!box) continue;
    const y = box.top + 1;
    ctx.beginPath();
    ctx.moveTo(x - 4.5, y);
    ctx.lineTo(x + 4.5, y);
    ctx.lineTo(x, y + 7);
    ctx.closePath();
    ctx.fill();
    ctx.stroke();
  }
  ctx.restore();
}

// minimap marks hits over the map of all: a canvas of its own that lies on it and lets the pointer through.
/** @type {HTMLCanvasElement | null} */
let over = null;
let drawn = "";
function minimap() {
  const map = canvasById("minimap");
  if (!hits.length && !over) return;
  if (!over) {
    over = make("canvas", { class: "hits", "aria-hidden": "true" });
    document.body.append(over);
  }
  const box = map.getBoundingClientRect(), ratio = devicePixelRatio || 1, { theme, view } = App;
  const key = [box.left, box.top, box.width, box.height, ratio, hits.length, text, theme.accent, view.raw, ...Minimap.whole()].join();
  if (key === drawn) return;
  drawn = key;
  Object.assign(over.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${box.height}px` });
  over.width = Math.max(1, Math.round(box.width * ratio));
  over.height = Math.max(1, Math.round(box.height * ratio));
  const g = context(over), [first, last] = Minimap.whole(), seen = new Set();
  g.scale(ratio, ratio);
  g.fillStyle = theme.accent;
  for (const h of hits) {
    const x = Math.round((View.shown(h.at, App.clockOf(h.row, h.at)) - first) / (last - first) * box.width);
    if (seen.has(x)) continue;
    seen.add(x);
    g.beginPath();
    g.moveTo(x - 3, 0);
    g.lineTo(x + 3, 0);
    g.lineTo(x, 5);
    g.fill();
  }
}

export function start() {
  const body = App.panel("search", "Search", { hint: "events by name, field and value" });
  box = make("input", { type: "search", placeholder: "name, field=value, …", "aria-label": "search events", spellcheck: false, autocomplete: "off", maxLength: 1000 });
  said = make("output", { class: "said", "aria-live": "polite" });
  cancel = button("cancel", () => { if (running) running.over = true; }, { hidden: true });
  list = table({
    caption: "Found events", rows: /** @type {Hit[]} */ ([]), empty: "", pick: (hit) => go(hits.indexOf(hit)),
    columns: [
      { title: "time", text: (h) => Time.since(h.at), value: (h) => h.at },
      { title: "name", text: (h) => App.className(h.class), value: (h) => App.className(h.class) },
      { title: "host", text: (h) => App.hostOf(h.row).name, value: (h) => App.hostOf(h.row).name },
      { title: "row", text: (h) => App.about.rows[h.row].name, value: (h) => App.about.rows[h.row].name },
    ],
  });
  const form = make("form", { class: "buttons", role: "search", onsubmit: (/** @type {any} */ e) => {
    e.preventDefault();
    if (box.value.trim() === text && hits.length) next(1);
    else run(box.value);
  } }, box, make("button", { type: "submit", class: "main" }, "search"));
  box.addEventListener("search", () => { if (box.value === "" && text !== "") run(""); });
  body.append(make("h2", {}, "Search"), form, make("p", { class: "note" }, make("code", {}, hint)),
    make("p", { class: "buttons" }, button("◂ previous", () => next(-1)), button("next ▸", () => next(1)), cancel, said), list);
  let shown = false;
  App.on("panel", (id, yes) => { shown = id === "search" && yes; });
  App.on("tick", () => { if (shown) goOn(); });
  App.overlay(draw);
  App.on("redraw", minimap);
  App.command({ id: "search", key: "/", title: "Search events", group: "search", run: () => { App.show("search"); box.focus(); box.select(); } });
  App.command({ id: "next-hit", key: ">", title: "Next hit of the search", group: "search", run: () => next(1) });
  App.command({ id: "previous-hit", key: "<", title: "Previous hit of the search", group: "search", run: () => next(-1) });
}
