// dock: the header with its buttons, and the dock at the side in which panels lie as tabs. A panel is an element; what
// is in it is its maker's. The dock is as wide as people drag it.

import { byId } from "./dom.js";
import { App } from "./app.js";
import * as Groups from "./groups.js";
import * as Keys from "./keys.js";
import * as Time from "./time.js";
import * as View from "./view.js";

/** @import { About, Command } from "./types.js" */

const panels = new Map();
/**
 * @param {string} id
 */
let current = "";

/**
 * make makes an element with a class and a text.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {string} [className]
 * @param {string} [text]
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/**
 * button puts a command into the header; pressed says whether it is a switch that is on.
 * @param {Command} entry
 */
export function button(entry) {
  const made = make("button", "tool", entry.label || entry.title);
  made.type = "button";
  made.id = `do-${entry.id}`;
  made.title = entry.key ? `${entry.title} (${Keys.label(entry.key)})` : entry.title;
  // What is said has what is seen in it: people who speak to their machine say what they see.
  const { label, title } = entry, seen = /\w/.test(label) && !title.toLowerCase().includes(label.toLowerCase());
  if (label) made.setAttribute("aria-label", seen ? `${label}: ${title}` : title);
  const show = () => { if (entry.pressed) made.setAttribute("aria-pressed", String(Boolean(entry.pressed()))); };
  made.addEventListener("click", () => { entry.run?.(); show(); });
  for (const name of ["raw", "theme", "panel", "follow"]) App.on(name, show);
  show();
  byId("tools").append(made);
}

/**
 * panel makes one, closed; show opens it. options: key, a key that opens and closes it; hint, what it is for.
 * @param {string} id
 * @param {string} title
 * @param {{ key?: string, hint?: string }} [options2]
 */
export function panel(id, title, { key = "", hint = "" } = {}) {
  if (panels.has(id)) return panels.get(id).body;
  const body = make("section", "panel");
  body.id = `panel-${id}`;
  body.hidden = true;
  body.setAttribute("role", "tabpanel");
  const tab = make("button", "tab", title);
  tab.type = "button";
  tab.id = `tab-${id}`;
  tab.setAttribute("role", "tab");
  tab.setAttribute("aria-controls", body.id);
  tab.title = [hint, key && `(${Keys.label(key)})`].filter(Boolean).join(" ");
  tab.addEventListener("click", () => show(id, true));
  body.setAttribute("aria-labelledby", tab.id);
  byId("tabs").append(tab);
  byId("panels").append(body);
  panels.set(id, { body, tab, title });
  App.command({ id: `panel-${id}`, key, title: `${title}${hint ? `: ${hint}` : ""}`, group: "panels", run: () => show(id, current !== id || Boolean(byId("dock").hidden)) });
  byId("do-dock").hidden = false;
  mark();
  return body;
}

function mark() {
  for (const [id, p] of panels) {
    const on = id === current && !byId("dock").hidden;
    p.body.hidden = !on;
    p.tab.setAttribute("aria-selected", String(on));
    p.tab.tabIndex = on ? 0 : -1;
  }
  byId("do-dock").setAttribute("aria-pressed", String(!byId("dock").hidden));
}

/**
 * @param {string} id
 * @param {boolean} [yes]
 */
export function show(id, yes = true) {
  if (yes && panels.has(id)) current = id;
  byId("dock").hidden = !yes;
  if (yes && !current && panels.size) [current] = panels.keys();
  mark();
  panels.get(current)?.tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  App.emit("panel", current, yes);
  App.redraw();
}

/**
 * tabsByKeys is what people expect of tabs: arrows go along them.
 * @param {KeyboardEvent} event
 */
function tabsByKeys(event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  const ids = [...panels.keys()], next = ids[(ids.indexOf(current) + step + ids.length) % ids.length];
  show(next);
  panels.get(next).tab.focus();
  event.preventDefault();
  event.stopPropagation();
}

/**
 * widen makes a bar move an edge, by pointer and by arrows; to is told where the bar shall be, now says where it is.
 * @param {HTMLElement} bar
 * @param {(x: number) => void} to
 * @param {() => number} now
 */
export function widen(bar, to, now) {
  const say = () => bar.setAttribute("aria-valuenow", String(Math.round(now())));
  const move = (/** @type {any} */ x) => { to(x); say(); App.redraw(); };
  bar.setAttribute("aria-valuemin", "0");
  bar.setAttribute("aria-valuemax", String(screen.width));
  say();
  bar.addEventListener("pointerdown", (e) => { bar.setPointerCapture(e.pointerId); e.preventDefault(); });
  bar.addEventListener("pointermove", (e) => { if (e.buttons) move(e.clientX); });
  bar.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: -24, ArrowRight: 24 }[e.key];
    if (step) { move(now() + step); e.preventDefault(); e.stopPropagation(); }
  });
}

/**
 * notice says a line above the timeline, until it is closed.
 * @param {string} line
 */
export function notice(line) {
  const box = byId("notice");
  if (!box.querySelector(".close")) {
    const close = make("button", "close", "×");
    close.setAttribute("aria-label", "close this notice");
    close.addEventListener("click", () => { box.replaceChildren(); box.hidden = true; App.redraw(); });
    box.append(close);
  }
  const said = make("p", "", line);
  /** @type {Element} */ (box.lastChild).before(said);
  box.hidden = false;
  App.redraw();
  return said;
}

const MaxWarnings = 3; // lines; the rest of more stands below a press

/**
 * warnings notices lines of the trace, of which many do not take the place of the timeline.
 * @param {string[]} lines
 */
function warnings(lines) {
  const box = byId("notice"), had = box.querySelectorAll(".warning").length;
  const said = lines.map((line) => { const p = notice(line); p.classList.add("warning"); return p; });
  if (had + said.length <= MaxWarnings) return;
  let more = box.querySelector("details");
  if (!more) {
    more = document.createElement("details");
    more.append(document.createElement("summary"));
    more.addEventListener("toggle", () => App.redraw());
    const all = box.querySelectorAll(".warning");
    all[MaxWarnings - 2].after(more);
    more.append(...[...all].slice(MaxWarnings - 1));
  } else {
    more.append(...said);
  }
  /** @type {Element} */ (more.firstChild).textContent = `${more.children.length - 1} more warnings`;
}

/**
 * @param {About} about
 */
export function open(about) {
  byId("title").textContent = about.title;
  totals(about);
  warn(about);
  if (!about.live) Groups.notice(about); // while it grows, a group may still be connected
  App.on("raw", () => totals(App.about));
  byId("do-dock").addEventListener("click", () => show(current, Boolean(byId("dock").hidden)));
  byId("undock").addEventListener("click", () => show(current, false));
  byId("tabs").addEventListener("keydown", tabsByKeys);
  const dock = byId("dock");
  widen(byId("sash"), (x) => { dock.style.width = `${Math.max(220, Math.min(innerWidth * 0.7, innerWidth - x))}px`; }, () => innerWidth - dock.offsetWidth);
}

/**
 * totals says how much there is.
 * @param {About} about
 */
export function totals(about) {
  const many = (/** @type {number} */ n, /** @type {string} */ one) => `${Time.grouped(n)} ${one}${n === 1 ? "" : "s"}`;
  const list = [many(about.hosts.length, "host"), many(about.events, "event"), many(about.messages, "message")].map((t) => make("li", "", t));
  for (const [verdict, name, what, why] of /** @type {[number, string, string, string][]} */ ([
    [4, "certain", "certain", "messages received before they were sent, beyond the bounds of the clocks"],
    [3, "undecidable", "undecidable", "messages received before they were sent, but within the bounds of the clocks"],
    [2, "quick", "too fast", "messages quicker than the least delay"]])) {
    const n = about.verdicts?.[verdict];
    if (!n) continue;
    const item = make("li", name, `${Time.grouped(n)} ${what}`);
    item.title = `${Time.grouped(n)} ${why}`;
    list.push(item);
  }
  if (View.state.raw && about.inverted !== undefined) {
    const item = make("li", about.inverted ? "certain" : "", `${Time.grouped(about.inverted)} inverted in raw time`);
    item.title = "messages received before they were sent by the clocks of their hosts, as they were recorded; the panel Violations lists them";
    list.push(item);
  }
  byId("totals").replaceChildren(...list);
}

const warned = new Set();

/**
 * warn notices each warning once, whatever its numbers are.
 * @param {About} about
 */
export function warn(about) {
  const fresh = [...(about.warnings ?? []), ...(about.left ?? [])].filter((line) => {
    const kind = about.live ? line.replace(/\d+/g, "#") : line, known = about.live && warned.has(kind);
    warned.add(kind);
    return !known;
  });
  if (fresh.length) warnings(fresh);
}

export function shown() { return byId("dock").hidden ? "" : current; }
