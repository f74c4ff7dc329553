// clocks: how the hosts' clocks stood and wandered: pictures of offset, bounds, hulls and residuals over time, each shown as
// an image, in which nothing of a name can run; and the figures as tables.

import { App } from "./app.js";
import { make, button, name, table, choice, section, facts } from "./elements.js";
import * as Elements from "./elements.js";
import * as Rows from "./rows.js";
import * as Time from "./time.js";
import * as Why from "./why.js";

/** @import { Plot } from "./types.js" */

const most = 24; // hosts that are explained
const pairColumns = ["a", "b", "a to b", "b to a", "min RTT", "fit", "offset b−a", "skew b−a", "bound", "if all true"];
/** @type {Plot[] | null} */
let plots = null;
/** @type {HTMLElement} */
let pictures;
/** @type {any} */
let which;
/** @type {HTMLElement} */
let body;

/**
 * @param {any} svg
 */
export const address = (svg) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;

/**
 * @param {any} options
 */
function picture({ title, svg }) {
  const image = make("img", { src: address(svg), alt: title, loading: "lazy" });
  return make("figure", { class: "plot" }, make("figcaption", {}, name(title)), make("button", { type: "button", class: "zoom", "aria-label": `enlarge: ${title}`, onclick: () => enlarge(title, svg) }, image));
}

/**
 * enlarge shows one picture as large as the window, and at a click at its own size, to be scrolled.
 * @param {string} title
 * @param {any} svg
 */
function enlarge(title, svg) {
  const image = make("img", { src: address(svg), alt: title });
  const frame = make("div", { class: "frame", tabIndex: 0, role: "region", "aria-label": title }, image);
  let scale = 1;
  const zoom = (/** @type {number} */ by) => {
    scale = Math.max(1, Math.min(8, scale * by));
    image.style.width = `${100 * scale}%`;
  };
  const dialog = Elements.dialog(title, { class: "enlarged" });
  dialog.append(make("header", {}, make("b", {}, name(title)),
    button("−", () => zoom(1 / 1.5), { "aria-label": "smaller" }), button("+", () => zoom(1.5), { "aria-label": "larger" }), button("close", () => dialog.close())), frame);
  frame.addEventListener("wheel", (e) => {
    if (e.shiftKey) return;
    e.preventDefault();
    const box = image.getBoundingClientRect(), x = (e.clientX - box.left) / box.width, y = (e.clientY - box.top) / box.height;
    zoom(Math.exp(-e.deltaY * 0.002));
    const after = image.getBoundingClientRect();
    frame.scrollBy(x * (after.width - box.width), y * (after.height - box.height));
  }, { passive: false });
  dialog.addEventListener("keydown", (e) => { if (e.key === "+" || e.key === "=") zoom(1.5); if (e.key === "-") zoom(1 / 1.5); });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
  frame.focus();
}

/**
 * concerns says whether a picture is of a host: titles name the host, or both of a pair.
 * @param {string} title
 * @param {string} host
 */
export const concerns = (title, host) => title.split(/[\s,:;()→↔–-]+/).includes(host) || title === host || title.startsWith(`${host} `) || title.includes(` ${host} `) || title.endsWith(` ${host}`);

function fill() {
  const host = which.list.value === "" ? null : App.about.hosts[Number(which.list.value)].name;
  const chosen = (plots ?? []).filter((p) => host === null || concerns(p.title, host));
  pictures.replaceChildren(...chosen.map(picture), chosen.length ? "" : make("p", { class: "none" }, host === null ? "There are no pictures: no clock was aligned to another." : "There is no picture of this host: it may be the reference."));
}

async function open() {
  if (plots) return;
  pictures.replaceChildren(make("p", {}, "loading…"));
  try {
    plots = await App.data.plots();
    fill();
  } catch (/** @type {any} */ error) {
    plots = null;
    pictures.replaceChildren(make("p", {}, `Loading the pictures failed: ${error.message}`));
  }
}

function hosts() {
  return table({
    caption: "Hosts", rows: App.about.hosts, empty: "No hosts.",
    columns: [
      { title: "host", text: (h) => h.name, value: (h) => h.name },
      { title: "bound", text: (h) => h.bound ?? "", number: true },
      { title: "offset", text: (h) => h.offset ?? "", number: true },
      { title: "skew", text: (h) => h.skew ?? "", number: true },
      { title: "reference", text: (h) => h.reference ?? "" },
      { title: "component", text: (h) => String(h.component), value: (h) => h.component, number: true },
      { title: "events", text: (h) => Elements.grouped(h.events ?? 0), value: (h) => h.events ?? 0, number: true },
      { title: "addresses", text: (h) => (h.addresses ?? []).join(" ") },
    ],
  });
}

export function start() {
  body = App.panel("clocks", "Clocks", { key: "k", hint: "offsets, bounds and how they wandered" });
  const { about } = App, told = make("div"), reasons = make("div");
  // explain says for each host, in the middle of the view, why its bound is as wide as it is.
  const explain = () => {
    const at = Math.max(0, Math.min(about.span, (App.view.from + App.view.to) / 2)), off = about.hosts.map((h, i) => ({ h, i, clock: Rows.clockOfHost(i) })).filter(({ clock }) => clock >= 0);
    reasons.replaceChildren(make("p", { class: "dim" }, `in the middle of the view, at ${Time.since(at)}`), ...off.slice(0, most).map(({ h, i, clock }) => {
      const { low, high } = Rows.boundsOfHost(i, at);
      return make("div", {}, make("p", {}, make("b", {}, name(h.name)), " ", Time.bound(low, high)), Why.section(i, clock, at));
    }), off.length > most ? make("p", { class: "note" }, `${most} of ${off.length} hosts`) : "");
  };
  which = choice("pictures of", [["", "all hosts"], ...about.hosts.map((h, i) => /** @type {[string, string]} */ ([String(i), h.name]))], () => { if (plots) fill(); });
  pictures = make("div", { class: "figures" });
  const tell = () => told.replaceChildren(
    facts([about.method ? ["method", about.method] : null, about.assumption ? ["assumption", about.assumption] : null]),
    ...(about.summary ?? "").split("\n").filter((line) => line && !(about.assumption && line.includes(about.assumption))).map((line) => make("p", { class: "dim" }, name(line))),
    section("Hosts", hosts()),
    section("Why the bounds are as wide", reasons),
    about.pairs?.length ? section("Pairs", table({ caption: "Pairs of hosts", rows: about.pairs, columns: pairColumns.map((title, i) => ({ title, text: (p) => String(p[i] ?? ""), number: i > 1 && i !== 5, value: i < 2 ? (p) => String(p[i]) : undefined })) })) : "");
  tell();
  body.append(make("h2", {}, "Clocks"), told,
    section("Over time", make("p", { class: "options" }, which), pictures));
  let shown = false, stale = false;
  // Of a timeline that grows the figures are renewed while they are seen, but not what has the focus.
  const renew = () => { if (shown && stale && !told.contains(document.activeElement)) { stale = false; tell(); } };
  App.on("panel", (id, yes) => { shown = id === "clocks" && yes; if (shown) { open(); explain(); } renew(); });
  App.on("grown", () => {
    about.hosts.slice(which.list.options.length - 1).forEach((h) => which.list.append(make("option", { value: String(which.list.options.length - 1) }, h.name)));
    stale = true;
    renew();
  });
}
