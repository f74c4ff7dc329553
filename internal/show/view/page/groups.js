// groups: hosts that messages connect share a time base; hosts that nothing connects do not. The groups stand apart: a band
// lies between them, with the ruler of the group below it, and a notice says what cannot be compared.

import { byId } from "./dom.js";
import * as Axis from "./axis.js";
import * as Colors from "./colors.js";
import * as Dock from "./dock.js";
import * as Layout from "./layout.js";
import * as Time from "./time.js";
import * as View from "./view.js";

/** @import { About, Line } from "./types.js" */

const MaxNamed = 4;
/** @type {Map<string, HTMLElement>} */
const shown = new Map();
let noticed = "";

/**
 * names lists some names, and how many others there are.
 * @param {string[]} all
 */
export const names = (all) => (all.length <= MaxNamed ? all.join(", ") : `${all.slice(0, MaxNamed - 1).join(", ")} and ${all.length - MaxNamed + 1} others`);

/**
 * of lists the groups of hosts with events, the first host's group first.
 * @param {About} about
 * @returns {{ component: number, hosts: number[] }[]}
 */
export function of(about) {
  const groups = new Map();
  about.hosts.forEach((host, h) => {
    if (!groups.has(host.component)) groups.set(host.component, []);
    groups.get(host.component).push(h);
  });
  return [...groups].map(([component, hosts]) => ({ component, hosts }));
}

/**
 * notice says once which hosts are not connected.
 * @param {About} about
 */
export function notice(about) {
  const groups = of(about), key = groups.map((g) => g.hosts.join()).join("|");
  if (groups.length < 2 || key === noticed) return;
  noticed = key;
  const all = groups.map(({ hosts }) => names(hosts.map((h) => about.hosts[h].name)));
  const list = all.length <= MaxNamed ? all.map((text) => `(${text})`).join(" and ") : `${all.length} groups of hosts`;
  Dock.notice(`Not connected: no messages lead between ${list}. Each group has a time base of its own; times of two groups cannot be compared.`);
}

/**
 * clockName is the host whose clock a group's time base follows.
 * @param {About} about
 * @param {Line} line
 */
const clockName = (about, line) => about.hosts[line.host].reference || about.hosts[line.host].name;

/**
 * draw paints the bands in sight, each with the ruler of the group below it.
 * @param {CanvasRenderingContext2D} g
 * @param {number} ratio
 * @param {number} scrolled
 * @param {About} about
 */
export function draw(g, ratio, scrolled, about) {
  for (const line of Layout.banded) {
    const top = line.y - scrolled - Layout.BandHeight, { theme } = Colors, width = View.plot.width;
    if (top > View.plot.height || top + Layout.BandHeight < 0) continue;
    g.save();
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.beginPath();
    g.rect(0, top, width, Layout.BandHeight);
    g.clip();
    g.fillStyle = theme.panel;
    g.fillRect(0, top, width, Layout.BandHeight);
    g.strokeStyle = theme.undecidable;
    g.globalAlpha = 0.35;
    g.lineWidth = 2;
    g.beginPath();
    for (let x = -12; x < width; x += 12) { g.moveTo(x, top + 8); g.lineTo(x + 8, top); }
    g.stroke();
    g.globalAlpha = 1;
    const { list, anchor } = Axis.ticks();
    g.font = "11px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
    g.textBaseline = "alphabetic";
    g.fillStyle = theme.dim;
    for (const [x] of list) g.fillRect(x, top + Layout.BandHeight - 9, 1, 9);
    for (const [x, text] of list) g.fillText(text, x + 4, top + Layout.BandHeight - 4);
    g.fillStyle = theme.text;
    g.fillText(`not connected with the hosts above: times cannot be compared  ·  0 = ${Time.full(anchor)} by the clock of ${clockName(about, line)}`, 6, top + 20);
    g.restore();
  }
}

/**
 * paint brings the bands' names to where they belong.
 * @param {number} scrolled
 */
export function paint(scrolled) {
  const seen = new Set();
  for (const line of Layout.banded) {
    const top = line.y - scrolled - Layout.BandHeight, id = String(line.id);
    if (top > View.plot.height || top + Layout.BandHeight < 0) continue;
    let element = shown.get(id);
    if (!element) {
      element = Dock.make("div", "band", "not connected");
      element.style.height = `${Layout.BandHeight}px`;
      element.setAttribute("aria-hidden", "true"); // the notice says it to screen readers
      byId("names").append(element);
      shown.set(id, element);
    }
    element.style.transform = `translateY(${top}px)`;
    seen.add(id);
  }
  for (const [id, element] of shown) if (!seen.has(id)) { element.remove(); shown.delete(id); }
}

/**
 * stretch is from where to where a group's lines are in the plot: what holds of one instant holds no further.
 * @param {About} about
 * @param {number} component
 * @param {number} scrolled
 * @returns {[top: number, bottom: number]}
 */
export function stretch(about, component, scrolled) {
  if (!Layout.banded.length) return [0, View.plot.height];
  const own = Layout.lines.filter((l) => l.type === "host" && about.hosts[l.host].component === component);
  if (!own.length) return [0, 0];
  const after = Layout.banded.find((l) => l.y > own[own.length - 1].y);
  return [Math.max(0, own[0].y - scrolled), Math.min(View.plot.height, after ? after.y - Layout.BandHeight - scrolled : View.plot.height)];
}
