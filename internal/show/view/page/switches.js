// switches: what is shown at all: event types by category, hosts, rows, and the links between rows. Each list has a box to
// filter it, and all and none for what the filter leaves.

import { App } from "./app.js";
import { make, button, name, check, grouped, plural } from "./elements.js";

/** @import { HiddenKind } from "./types.js" */

const most = 1000; // boxes at once; a filter finds the others
/** @type {any[]} */
const lists = [];

/**
 * state of several boxes: all on, all off, or mixed.
 * @param {number[]} ids
 * @param {Set<number>} hidden
 */
export const state = (ids, hidden) => {
  const off = ids.reduce((n, id) => n + Number(hidden.has(id)), 0);
  return off === 0 ? "on" : off === ids.length ? "off" : "mixed";
};

/**
 * filtered keeps the groups {title, items: [{id, text, count}]} whose title or items hold all words.
 * @param {any} groups
 * @param {string} text
 */
export function filtered(groups, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean), holds = (/** @type {any} */ s) => { const low = s.toLowerCase(); return words.every((w) => low.includes(w)); };
  if (!words.length) return groups;
  return groups.map((/** @type {any} */ g) => (holds(g.title) ? g : { ...g, items: g.items.filter((/** @type {any} */ item) => holds(`${g.title} ${item.text}`)) })).filter((/** @type {any} */ g) => g.items.length);
}

/**
 * @param {HiddenKind} kind
 * @param {string} title
 * @param {() => any} groupsNow
 * @param {any} [options3]
 */
function listOf(kind, title, groupsNow, { color = null } = {}) {
  let groups = groupsNow();
  const box = make("input", { type: "search", placeholder: `filter ${title.toLowerCase()}`, "aria-label": `filter ${title.toLowerCase()}`, spellcheck: false });
  const list = make("div", { class: "groups" }), said = make("output", { class: "said", "aria-live": "polite" });
  const hidden = () => App.hidden[kind], open = new Set();
  const set = (/** @type {any} */ ids, /** @type {boolean} */ on) => { for (const id of ids) App.setHidden(kind, id, !on); };
  const chosen = () => filtered(groups, box.value).flatMap((/** @type {any} */ g) => g.items.map((/** @type {any} */ item) => item.id));

  function item(/** @type {any} */ { id, text, count }) {
    /** @type {any} */
    const swatch = color ? make("span", { class: "swatch", "aria-hidden": "true" }) : "";
    if (color) swatch.style.background = color(id);
    /** @type {any} */
    const whole = check(make("span", { class: "what" }, swatch, name(text), count === undefined ? "" : make("span", { class: "count" }, grouped(count))), !hidden().has(id), (on) => set([id], on));
    whole.show = () => { whole.box.checked = !hidden().has(id); };
    return whole;
  }

  /** @type {any[]} */
  let boxes = [];
  function fill() {
    let left = most;
    boxes = [];
    const shown = filtered(groups, box.value), alone = groups.length === 1;
    list.replaceChildren(...shown.map((/** @type {any} */ g) => {
      const ids = g.items.map((/** @type {any} */ i) => i.id), content = make("div", { class: "items" });
      const inside = () => {
        if (content.childElementCount || left <= 0) return;
        const made = g.items.slice(0, left).map(item);
        left -= made.length;
        boxes.push(...made);
        content.append(...made, made.length < g.items.length ? make("p", { class: "note" }, `${grouped(g.items.length - made.length)} more: filter to find them`) : "");
      };
      if (alone) { inside(); return content; }
      /** @type {any} */
      const all = check(make("span", { class: "what" }, make("b", {}, name(g.title)), make("span", { class: "count" }, g.count === undefined ? plural(ids.length, "item") : grouped(g.count))), true, (on) => set(ids, on));
      all.show = () => { const s = state(ids, hidden()); all.box.checked = s !== "off"; all.box.indeterminate = s === "mixed"; };
      boxes.push(all);
      all.show();
      const fold = make("details", { open: Boolean(box.value) || open.has(g.title) || shown.length === 1 }, make("summary", { "aria-label": `${g.title}: its ${ids.length}` }), content);
      fold.addEventListener("toggle", () => { if (fold.open) { open.add(g.title); inside(); } else { open.delete(g.title); } });
      if (fold.open) inside();
      return make("div", { class: "group" }, all, fold);
    }), shown.length ? "" : make("p", { class: "none" }, "Nothing of that name."));
  }

  function show() {
    for (const one of boxes) one.show();
    const n = hidden().size;
    said.textContent = n ? `${grouped(n)} hidden` : "all shown";
  }

  box.addEventListener("input", fill);
  fill();
  show();
  lists.push({ kind, show, renew: () => { groups = groupsNow(); fill(); show(); } });
  return make("section", { class: "part", "aria-label": title }, make("h3", {}, title),
    make("p", { class: "buttons" }, box, button("all", () => set(chosen(), true), { "aria-label": `show all ${title.toLowerCase()}` }),
      button("none", () => set(chosen(), false), { "aria-label": `none: hide all ${title.toLowerCase()}` }), said), list);
}

/**
 * grouping collects items by a title, in the order in which titles come up.
 * @param {any} items
 * @param {any} titleOf
 */
export function grouping(items, titleOf) {
  const groups = new Map();
  for (const item of items) {
    const title = titleOf(item);
    if (!groups.has(title)) groups.set(title, { title, items: [], count: 0 });
    const g = groups.get(title);
    g.items.push(item);
    g.count += item.count ?? 0;
  }
  return [...groups.values()];
}

export function start() {
  const body = App.panel("switches", "Show", { key: "e", hint: "event types, hosts, rows and links on and off" });
  const { about } = App;
  body.append(make("h2", {}, "What is shown"));
  let made = false;
  // It is made when somebody looks: there may be many thousand rows.
  function open() {
    if (made) return;
    made = true;
    const host = (/** @type {number} */ row) => about.hosts[about.rows[row].host].name, rowName = (/** @type {number} */ row) => `${host(row)} ${about.rows[row].name}`;
    const types = () => grouping(about.classes.map((c, id) => ({ id, text: c.name, count: c.events, category: c.category || "without a category" })), (/** @type {any} */ i) => i.category);
    const links = () => grouping(about.links.map((l) => ({ id: l.lane, text: `${rowName(l.from)} → ${rowName(l.to)}`, count: l.messages, title: `${host(l.from)} → ${host(l.to)}` })), (/** @type {any} */ i) => i.title);
    body.append(
      listOf("classes", "Event types", types, { color: (/** @type {any} */ c) => App.color(c) }),
      listOf("hosts", "Hosts", () => [{ title: "hosts", items: about.hosts.map((h, id) => ({ id, text: h.name, count: h.events })) }]),
      listOf("rows", "Rows", () => grouping(about.rows.map((r, id) => ({ id, text: r.name, count: r.events, host: about.hosts[r.host].name })), (/** @type {any} */ i) => i.host)),
      listOf("links", "Messages", links));
  }
  let shown = false, stale = false;
  // What has come is listed, but never while a box has the focus or text is typed.
  const renew = () => {
    if (!shown || !stale || body.contains(document.activeElement)) return;
    stale = false;
    for (const list of lists) list.renew();
  };
  App.on("panel", (id, yes) => { shown = id === "switches" && yes; if (shown) { open(); renew(); } });
  App.on("grown", () => { stale = made; renew(); });
  let waiting = false;
  App.on("hidden", () => {
    if (waiting) return;
    waiting = true; // "none" hides many at once
    queueMicrotask(() => { waiting = false; for (const list of lists) list.show(); });
  });
}
