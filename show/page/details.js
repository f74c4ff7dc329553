// details: everything that is text. Names come from files that anybody may have written: they only ever become text
// nodes, each isolated in a <bdi>, so that neither markup nor direction marks of a name reach beyond it.

function element(tag, className, ...content) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  e.append(...content);
  return e;
}

const isolated = (text) => element("bdi", "", String(text));

function table(headers, rows, textColumns) {
  const cell = (tag) => (text, i) => element(tag, textColumns.includes(i) ? "text" : "", isolated(text));
  const head = element("thead", "", element("tr", "", ...headers.map(cell("th"))));
  const body = element("tbody", "", ...rows.map((row) => element("tr", "", ...row.map((text, i) => {
    const td = cell("td")(text, i);
    td.title = text;
    return td;
  }))));
  return element("table", "", head, body);
}

function fillHeader(model) {
  const { facts } = model;
  document.getElementById("title").append(isolated(facts.title || "timeline"));
  const totals = document.getElementById("totals");
  const total = (n, one, many, bad) => totals.append(element("li", bad ? "bad" : "", element("b", "", grouped(n)), " " + (n === 1 ? one : many)));
  total(facts.rows.length, "host", "hosts");
  total(facts.events, "event", "events");
  total(facts.messages, "message", "messages");
  total(facts.inversions, "inversion", "inversions", facts.inversions > 0);
  if (facts.within) total(facts.within, "within a stamp's step", "within a stamp's step");
  totals.append(element("li", "", "over ", element("b", "", duration(facts.span))));
  const notice = document.getElementById("notice");
  if (facts.left.length) {
    notice.textContent = `Not all is drawn one by one: ${facts.left.join("; ")}.`;
    notice.hidden = false;
  }
  for (const id of ["prev", "next"]) document.getElementById(id).disabled = !model.inversions.length;
}

// fillNames makes the column of hosts and returns, for each, the place of the figures at the cursor.
function fillNames(model) {
  const names = document.getElementById("names");
  const several = new Set(model.rows.map((row) => row.component)).size > 1;
  return model.rows.map((row) => {
    const name = element("span", "name", isolated(row.name));
    if (several) name.append(element("span", "group", ` · component ${row.component}`));
    const here = element("span", "here");
    const reference = row.name === row.reference;
    const fixed = row.bound === "unbounded" ? row.bound : reference ? "reference" : `≤ ${row.bound}`;
    const host = element("div", "host",
      element("div", "", name, element("span", "offset", row.offset)),
      element("div", "", element("span", "fixed", fixed), here));
    host.title = [row.name, ...row.addresses, `offset ${row.offset}`, `skew ${row.skew}`, `bound ${row.bound}`,
      `follows ${row.reference || "nothing"}`, `${grouped(row.events)} events`].join("\n");
    names.append(host);
    return here;
  });
}

function fillReport(model) {
  const { facts } = model, sheets = document.getElementById("sheets");
  const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  document.getElementById("headline").textContent =
    `Report: ${plural(facts.rows.length, "host")}, ${plural(facts.pairs.length, "pair")}, ${plural(facts.warnings.length, "warning")}`;
  const section = (title, ...content) => sheets.append(element("h2", "", title), ...content);
  const summary = facts.summary.split("\n").map((line) => element("p", "", isolated(line)));
  if (facts.method) summary.push(element("p", "", "method: ", isolated(facts.method)));
  section("Quality", ...summary);
  if (facts.left.length) section("Not drawn one by one", element("ul", "", ...facts.left.map((line) => element("li", "", line))));
  if (facts.warnings.length) section("Warnings", element("ul", "", ...facts.warnings.map((line) => element("li", "", isolated(line)))));
  section("Hosts", table(["host", "reference", "component", "offset", "skew", "bound", "events", "addresses"],
    facts.rows.map((r) => [r.name, r.reference, r.component, r.offset, r.skew, r.bound, grouped(r.events), r.addresses.join(" ")]), [0, 1, 7]));
  if (facts.pairs.length) {
    section("Pairs", table(["a", "b", "a to b", "b to a", "min RTT", "fit", "offset b−a", "skew b−a", "bound"], facts.pairs, [0, 1, 5]));
  }
}

const keys = [
  ["wheel, pinch", "zoom at the pointer"], ["drag, ← →", "move in time; with Shift + arrow, by a whole view"], ["↑ ↓, wheel over names", "scroll the hosts"],
  ["+ −", "zoom"], ["0, double click", "show all"], ["n p", "next, previous inversion"],
  ["Shift + drag, drag on the ruler, m", "measure between two instants, with the uncertainty of each"],
  ["click", "pin what is under the pointer; Esc lets go"], ["h", "hide or show messages"], ["r c", "open the report, the clocks over time"], ["?", "this help"],
];

function fillKeys() {
  const dialog = document.getElementById("keys");
  const rows = keys.map(([key, what]) => element("tr", "", element("td", "", element("kbd", "", key)), element("td", "", what)));
  const close = element("button", "", "close");
  close.addEventListener("click", () => dialog.close());
  dialog.append(element("h2", "", "Keys and gestures"), element("table", "", element("tbody", "", ...rows)), close);
}

// interval writes what is known of a length: between which two it lies.
function interval({ low, high, comparable }) {
  if (!comparable) return "not comparable: the hosts share no timeline";
  if (low === null && high === null) return "unbounded";
  if (low === high) return "exact";
  return `${low === null ? "−∞" : duration(low)} … ${high === null ? "+∞" : duration(high)}`;
}

// describeHit lists what is known of an event or a message: a headline and pairs of label and value.
function describeHit(model, hit, reach) {
  const { times } = model;
  if (hit.kind === "event") {
    const t = model.rows[hit.row].times[hit.index], { below, above } = model.bounds(hit.row, t);
    const lines = [["host", model.rows[hit.row].name], ["at", times.full(t)], ["since start", times.since(t)], ["within", margin(below, above)]];
    const others = model.count(hit.row, t - reach, t + reach) - 1;
    if (others > 0) lines.push(["beside it", `${grouped(others)} more within ${duration(reach)}: zoom in to tell them apart`]);
    return { className: "event", lead: model.describe(hit.row, hit.index), lines };
  }
  const c = model.channels[hit.channel], s = c.sent[hit.index], r = c.received[hit.index];
  const delay = model.difference({ row: c.from, t: s }, { row: c.to, t: r });
  const lines = [["sent", `${times.full(s)}  (${times.since(s)})`], ["received", `${times.full(r)}  (${times.since(r)})`],
    ["delay", `${duration(delay.delta)}  (${exactly(delay.delta)})`], ["within", interval(delay)]];
  const wrong = inverted(c, s, r);
  if (r < s && !wrong) {
    lines.push(["early", "by less than the step of the receiver's stamps: no inversion"]);
  }
  if (wrong) {
    lines.push(["inversion", delay.high !== null && delay.high < 0 ? "certain: no clocks within the bounds explain it" : "undecided: the bounds allow the right order"]);
  }
  return { className: wrong ? "inverted" : "message", lead: `${model.rows[c.from].name} → ${model.rows[c.to].name}`, lines };
}

// showTip places the tip to the right of x, or to the left of left where there is no room.
function showTip(model, hit, reach, x, y, left = x) {
  const tip = document.getElementById("tip");
  tip.hidden = !hit;
  if (!hit) return;
  const { className, lead, lines } = describeHit(model, hit, reach);
  tip.className = className;
  const grid = element("div", "", element("span", "lead", isolated(lead)));
  for (const [label, value] of lines) grid.append(element("span", "label", label), element("span", "value", isolated(value)));
  tip.replaceChildren(grid);
  const { width, height } = tip.getBoundingClientRect();
  const beside = x + 16 + width > innerWidth ? left - 16 - width : x + 16;
  let under = y + 16 + height > innerHeight ? y - 16 - height : y + 16;
  if (beside < 4) under = innerHeight - height - 64; // no room on either side: below, out of the way
  tip.style.left = `${Math.max(4, Math.min(beside, innerWidth - width - 4))}px`;
  tip.style.top = `${Math.max(4, under)}px`;
}

// measurement says how long the measured span is, how sure that is, and whether the order of its ends is certain.
function measurement(model, { a, b }) {
  const [early, late] = a.t <= b.t ? [a, b] : [b, a];
  const d = model.difference(early, late), name = (end) => model.rows[end.row].name;
  const order = !d.comparable ? "" : d.low !== null && d.low > 0 ? "; the order is certain" : d.low === d.high ? "" : "; the order is undecided";
  return `span ${duration(d.delta)} (${exactly(d.delta)}) from \u2068${name(early)}\u2069 to \u2068${name(late)}\u2069, truly ${interval(d)}${order}`;
}
