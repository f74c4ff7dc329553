// elements: how text comes into the panels. Names and values are untrusted input: they only ever
// become text nodes, each isolated in a <bdi>, so that neither markup nor direction marks of a name reach beyond it.

import * as Time from "./time.js";

/** @import { Child, Column, Fact, Sheet, TableOptions } from "./types.js" */

/**
 * make builds an element: make("button", {class: "go", onclick: run}, "go"). Children are elements or text.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") e.className = value;
    else if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (name in e && !name.startsWith("aria")) Object.assign(e, { [name]: value });
    else e.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) if (child !== null && child !== undefined && child !== false) e.append(child);
  return e;
}

/**
 * svg builds an element of a picture.
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {...any} children
 * @returns {any}
 */
export function svg(tag, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, String(v));
  e.append(...children);
  return e;
}

/**
 * @param {unknown} text
 */
export const name = (text) => make("bdi", {}, String(text));
/**
 * @param {Child} label
 * @param {() => unknown} run
 * @param {Record<string, any>} [props]
 */
export const button = (label, run, props = {}) => make("button", { type: "button", onclick: run, ...props }, label);
/**
 * @param {number} n
 */
export const grouped = (n) => Time.grouped(n);
/**
 * @param {number} n
 * @param {string} word
 */
export const plural = (n, word) => `${grouped(n)} ${word}${n === 1 ? "" : "s"}`;

/**
 * interval writes between which two lengths or instants something lies; null is a side without a bound.
 * @param {number | null} low
 * @param {number | null} high
 * @param {(ns: number) => string} write
 */
export function interval(low, high, write) {
  if (low === null && high === null) return "without bounds";
  return `${low === null ? "−∞" : write(low)} … ${high === null ? "+∞" : write(high)}`;
}

/**
 * facts makes a list of names and values; a value is text, or elements that stand for themselves.
 * @param {Fact[]} pairs
 */
export function facts(pairs) {
  return make("dl", { class: "facts" }, ...pairs.flatMap((pair) => (pair ? [pair] : [])).flatMap(([label, value]) => [
    make("dt", {}, name(label)), make("dd", {}, ...(Array.isArray(value) ? value : [value instanceof Node ? value : name(value)]))]));
}

/**
 * section makes a headed part of a panel; its heading names it to screen readers.
 * @param {string} title
 * @param {...Child} content
 */
export function section(title, ...content) {
  return make("section", { class: "part", "aria-label": title }, make("h3", {}, title), ...content);
}

const page = 200; // rows that a table shows at once; more come at a press

/**
 * table makes an accessible table: {caption, columns, rows, pick, sort, empty}. A column is {title, text(row), node(row),
 * value(row): what to sort by, number: right-aligned}. With pick, the first column is a button that goes there, and so is
 * a click anywhere on the row. The table's own update(rows, left) replaces what it shows,
 * left of which are not held: sorting a column says so; update([], 0, words) says something else than `empty`, such as nothing while it is
 * not known what there is. mark(row) says which one is current.
 * @template R
 * @param {TableOptions<R>} options
 * @returns {Sheet<R>}
 */
export function table({ caption, columns, rows, pick = null, sort = null, empty = "nothing" }) {
  let all = rows, shown = page, by = sort, /** @type {any} */ current = null;
  const head = make("tr"), body = make("tbody"), more = button("more", () => { shown += page; fill(); }, { class: "more" });
  const none = make("p", { class: "none" }, empty), partial = make("p", { class: "note partial", hidden: true });
  const made = make("table", {}, make("caption", {}, caption), make("thead", {}, head), body);
  const whole = /** @type {Sheet<R>} */ (/** @type {unknown} */ (make("div", { class: "sheet" }, make("div", { class: "scroll", role: "region", tabIndex: 0, "aria-label": caption }, made), none, more)));
  whole.prepend(partial);

  columns.forEach((column, i) => {
    const th = make("th", { scope: "col", class: column.number ? "number" : "" });
    if (column.value) {
      th.append(button(column.title, () => { by = { column: i, down: by?.column === i ? !by.down : Boolean(column.number) }; fill(); }, { class: "sort" }));
    } else {
      th.append(column.title);
    }
    head.append(th);
  });

  function sorted() {
    if (!by) return all;
    const { value = () => 0 } = columns[by.column], sign = by.down ? -1 : 1;
    return [...all].sort((a, b) => {
      const x = value(a), y = value(b);
      return x < y ? -sign : x > y ? sign : 0;
    });
  }

  /** @type {WeakMap<Element, R>} */
  const lineOf = new WeakMap();
  const content = (/** @type {Column<R>} */ column, /** @type {R} */ row) => (column.node ? column.node(row) : name(column.text(row)));

  function line(/** @type {R} */ row) {
    const tr = make("tr", {}, ...columns.map((column, i) => {
      const cell = make(i ? "td" : "th", { class: column.number ? "number" : "", scope: i ? null : "row" });
      cell.append(pick && !i ? button(content(column, row), () => pick(row), { class: "pick" }) : /** @type {Node | string} */ (content(column, row)));
      if (!column.node) cell.title = column.text(row);
      return cell;
    }));
    if (pick) {
      tr.className = "picks";
      tr.addEventListener("click", (e) => { if (!(/** @type {Element} */ (e.target)).closest("button")) pick(row); });
    }
    if (row === current) tr.setAttribute("aria-current", "true");
    lineOf.set(tr, row);
    return tr;
  }

  function fill() {
    [...head.children].forEach((th, i) => {
      if (by?.column === i) th.setAttribute("aria-sort", by.down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    });
    const lines = sorted();
    body.replaceChildren(...lines.slice(0, shown).map(line));
    columns.forEach((column, i) => {
      if (!column.spare) return;
      const empty = !lines.some((row) => column.text(row));
      for (const tr of [head, ...body.children]) /** @type {HTMLElement} */ (tr.children[i]).hidden = empty;
    });
    made.hidden = !lines.length;
    none.hidden = lines.length > 0;
    more.hidden = lines.length <= shown;
    more.textContent = `show more (${grouped(lines.length - shown)} left)`;
  }

  whole.update = (/** @type {R[]} */ rows, left = 0, words = empty) => {
    all = rows;
    none.textContent = words;
    shown = page;
    partial.hidden = left <= 0;
    partial.textContent = left > 0 ? `A column sorts the ${grouped(rows.length)} listed here; ${grouped(left)} more are not.` : "";
    fill();
  };
  whole.order = sorted;
  // mark shows the row even if it is beyond those shown, and brings it into sight.
  whole.mark = (/** @type {R | null} */ row, scroll = true) => {
    current = row;
    const at = row ? sorted().indexOf(row) : -1;
    if (at >= shown) { shown = at + page; fill(); }
    for (const tr of body.children) {
      if (lineOf.get(tr) === row) {
        tr.setAttribute("aria-current", "true");
        if (scroll) tr.scrollIntoView({ block: "nearest" });
      } else {
        tr.removeAttribute("aria-current");
      }
    }
  };
  fill();
  return whole;
}

/**
 * check makes a labelled box to tick.
 * @param {Child} label
 * @param {boolean} checked
 * @param {(on: boolean) => void} change
 */
export function check(label, checked, change) {
  const box = make("input", { type: "checkbox", checked, onchange: () => change(box.checked) });
  const whole = make("label", { class: "check" }, box, label);
  return Object.assign(whole, { box });
}

/**
 * choice makes a labelled list of [value, text] to choose from.
 * @param {string} label
 * @param {[value: string | number, text: string][]} options
 * @param {(value: string) => void} change
 */
export function choice(label, options, change) {
  const list = make("select", { onchange: () => change(list.value) }, ...options.map(([value, text]) => make("option", { value }, text)));
  const whole = make("label", { class: "choice" }, make("span", {}, label), list);
  return Object.assign(whole, { list });
}

/**
 * copy puts text on the clipboard; pages from a disk may not have one, and then a selection of old does it.
 * @param {string} text
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { value: text, class: "aside", readOnly: true });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/**
 * dialog makes one that closes by its button, by Escape, and by a press beside it. Keys pressed in it are its own.
 * @param {string} title
 * @param {Record<string, any>} [props]
 */
export function dialog(title, props = {}) {
  const whole = make("dialog", { "aria-label": title, ...props });
  whole.addEventListener("keydown", (e) => {
    e.stopPropagation();
    if (e.key !== "Escape") return;
    e.preventDefault();
    whole.close();
  });
  whole.addEventListener("pointerdown", (e) => {
    const box = whole.getBoundingClientRect();
    if (e.target === whole && (e.clientX < box.left || e.clientX > box.right || e.clientY < box.top || e.clientY > box.bottom)) whole.close();
  });
  document.body.append(whole);
  return whole;
}
