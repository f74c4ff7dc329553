// against: what differs from another run: the names that both have, paired by host, with the median of each and the interval
// that noise and the clocks' bounds leave. Two differ if their intervals do not meet. There is a panel for this only where
// the timeline was opened with another one.

import { App } from "./app.js";
import { make, button, check, section, table, grouped, plural } from "./elements.js";
import * as Save from "./save.js";
import * as Search from "./search.js";
import * as Time from "./time.js";

/** @import { Column, Compared, Comparison, Median, OnlyIn } from "./types.js" */

/**
 * percent writes a part, with its sign.
 * @param {number} part
 */
export const percent = (part) => `${part < 0 ? "−" : "+"}${Math.abs(part * 100) >= 1000 ? grouped(Math.round(Math.abs(part * 100))) : Math.abs(part * 100).toFixed(1)} %`;

/**
 * verdict says whether the durations of two runs differ.
 * @param {Pick<Compared, "differs" | "change">} row
 */
export const verdict = ({ differs, change }) => (differs === null ? "unknown" : !differs ? "within noise, bounds" : `${change[0] > 0 ? "▲" : "▼"} ${percent(change[0])}`);

/**
 * told writes a median and between which it truly is.
 * @param {Median} m
 * @param {(ns: number) => string} duration
 */
export const told = (m, duration) => `${duration(m.median)} (${m.low === m.high ? "exactly" : `${duration(m.low)} … ${duration(m.high)}`})`;

const where = (/** @type {{ host: string, to?: string }} */ x) => (x.to ? `${x.host} → ${x.to}` : x.host);
const what = (/** @type {{ kind: string, name: string }} */ x) => (x.kind === "message" ? "message on its way" : x.kind === "request" ? `request ${x.name}` : x.name);

/**
 * bars draws both intervals on one scale, A over B, with a tick at each median.
 * @param {Compared} row
 */
function bars({ a, b }) {
  const low = Math.min(a.low, b.low), width = Math.max(1, Math.max(a.high, b.high) - low), place = (/** @type {number} */ v) => 2 + 96 * (v - low) / width;
  const ns = "http://www.w3.org/2000/svg", svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 100 16");
  svg.setAttribute("class", "intervals");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `A ${told(a, App.duration)}, B ${told(b, App.duration)}`);
  for (const [m, y, name] of /** @type {[Median, number, string][]} */ ([[a, 2, "a"], [b, 9, "b"]])) {
    for (const [x, w, kind] of /** @type {[number, number, string][]} */ ([[place(m.low), Math.max(1, place(m.high) - place(m.low)), "interval"], [place(m.median) - 0.75, 1.5, "median"]])) {
      const rect = document.createElementNS(ns, "rect");
      for (const [key, value] of Object.entries({ x, y: kind === "median" ? y - 1 : y + 1, width: w, height: kind === "median" ? 7 : 3, class: `${kind} ${name}` })) rect.setAttribute(key, String(value));
      svg.append(rect);
    }
  }
  return svg;
}

export function start() {
  if (!App.about.against) return;
  const body = App.panel("against", "Against", { key: "V", hint: `what differs from ${App.about.against}` });
  const said = make("output", { class: "said", "aria-live": "polite" });
  /** @type {Comparison | null} */
  let all = null;
  let asked = false, certain = false;
  const only = check("only what differs", false, (on) => { certain = on; fill(); });

  /** @type {Column<Compared>[]} */
  const columns = [
    { title: "what", text: what, value: what },
    { title: "where", text: where, value: where },
    { title: "verdict", text: verdict, value: (x) => (x.differs === null ? 1 : x.differs ? 2 : 0), node: (x) => make("span", { class: x.differs ? (x.change[0] > 0 ? "longer" : "shorter") : "" }, verdict(x)) },
    { title: "A over B", text: () => "", node: bars },
    { title: "change", text: (x) => percent(x.change[0]), value: (x) => x.change[0], number: true },
    { title: "at least", text: (x) => (x.differs ? percent(Math.sign(x.change[0]) * x.change[1]) : ""), value: (x) => (x.differs ? x.change[1] : 0), number: true },
    { title: "median A", text: (x) => told(x.a, Time.brief), value: (x) => x.a.median, number: true },
    { title: "median B", text: (x) => told(x.b, Time.brief), value: (x) => x.b.median, number: true },
    { title: "number A", text: (x) => grouped(x.a.count), value: (x) => x.a.count, number: true },
    { title: "number B", text: (x) => grouped(x.b.count), value: (x) => x.b.count, number: true },
    { title: "time A", text: (x) => (x.kind === "slice" ? App.duration(x.sums[0]) : ""), value: (x) => x.sums[0], number: true },
    { title: "time B", text: (x) => (x.kind === "slice" ? App.duration(x.sums[1]) : ""), value: (x) => x.sums[1], number: true },
  ];
  /** @type {Column<OnlyIn>[]} */
  const onlyColumns = [
    { title: "what", text: what, value: what },
    { title: "where", text: where, value: where },
    { title: "only in", text: (x) => x.in.toUpperCase(), value: (x) => x.in },
    { title: "number", text: (x) => grouped(x.count), value: (x) => x.count, number: true },
  ];
  const quoted = (/** @type {string} */ text) => `"${text.replace(/[\\"]/g, "\\$&")}"`;
  const find = (/** @type {{ kind: string, name: string, host: string }} */ x) => {
    Search.run(x.kind === "message" ? `host=${quoted(x.host)}` : `name=${quoted(x.name)} host=${quoted(x.host)}`, { quiet: true });
    App.announce(`${what(x)} of ${x.host} is marked on the rows; > goes to the next`);
  };
  const rows = table({ caption: "What both have", rows: /** @type {Compared[]} */ ([]), columns, empty: "They have no names in common.", pick: find });
  const alone = table({ caption: "What one alone has", rows: /** @type {OnlyIn[]} */ ([]), columns: onlyColumns, empty: "Both have the same names." });

  function fill() {
    if (!all) return;
    const differing = all.rows.filter((r) => r.differs).length, unknown = all.rows.filter((r) => r.differs === null).length;
    rows.update(certain ? all.rows.filter((r) => r.differs) : all.rows);
    alone.update(all.only);
    said.textContent = [`A is ${all.a}, B is ${all.b}. Of ${plural(all.rows.length, "name")} that both have, ${differing} differ${differing === 1 ? "s" : ""} beyond noise and bounds (▲ longer, ▼ shorter in B)`,
      unknown ? `; of ${unknown} it is not known` : "", `; ${plural(all.only.length, "name")} only one has`, all.left ? `; ${grouped(all.left)} more are left out` : "", "."].join("");
  }
  async function ask() {
    if (asked) return;
    asked = true;
    said.textContent = "comparing…";
    try {
      all = /** @type {Comparison} */ (await App.data.against());
      fill();
    } catch (/** @type {any} */ error) {
      asked = false;
      said.textContent = error.message;
    }
  }
  const save = (/** @type {string} */ name, /** @type {any} */ of, /** @type {any} */ sheet) => button("CSV", () => Save.text(`${name}.csv`, Save.csv(of, sheet.order())), { "aria-label": `save ${name} as CSV` });
  body.append(make("h2", {}, "Against another run"), said, make("p", { class: "options" }, only),
    section("In both", make("p", { class: "buttons" }, save("comparison", columns.filter((c) => c.title !== "A over B"), rows)), rows,
      make("p", { class: "note" }, "Medians, and where they lie but for 1 chance in 1 000, if one duration says nothing of the next. How runs differ among themselves is not known from one run of each: “meridian compare” takes repeats. ",
        "Lengths of slices are exact to 1/32. Delays are by the estimate of the clocks, widened by the worst bounds of both.")),
    section("Only in one", alone));
  App.on("panel", (id, yes) => { if (id === "against" && yes) ask(); });
}
