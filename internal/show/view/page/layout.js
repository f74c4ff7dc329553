// layout: the tree of hosts, kinds and rows becomes a list of lines, each with its place from the top. It is made anew
// when something is folded, hidden, filtered or moved, never for a frame; what is in sight is then found by halving.
//
//   line: { id, type "host|kind|row", host, row, name, level, y, h, folds, folded, lanes: [{ lane, kind, y, h, ... }], more, below }
//
// below are the rows that a host stands over, or that are folded into a kind or row: what its strip (kind "summary") sums up.
//
// The id is what App.hidden.collapsed holds: "h" and the host's number, "k" host "." kind, or the number of a row.

/** @import { About, DrawnLane, HiddenKind, Line, LineId } from "./types.js" */

export const HostHeight = 34;
export const BandHeight = 42; // between groups of hosts that nothing connects
const KindHeight = 19;
const StripHeight = 16;
const Pad = 3;
const Least = 22;
const Depths = 5;
const laneHeight = { instants: 12, slices: 17, counter: 30 };
/** @type {About} */
let about;
/** @type {number[]} */
let parents = [];
/** @type {boolean[]} */
let talks = [];
/** @type {number[][]} */
let children = [];
/** @type {number[][]} */
let byHost = [];
/** @type {Float64Array} */
let position;
/** @type {Line[]} */
export let lines = [];
/** @type {Line[]} the hosts above which a band lies: the first of each further group */
export let banded = [];
let lineOf = new Map();
const ranks = new Map(); // of a timeline that grows: the place of a host's kinds, which stay where they came
export let height = 0;

/**
 * @param {About} facts
 */
export function open(facts) {
  about = facts;
  children = about.rows.map(() => []);
  byHost = about.hosts.map(() => []);
  parents = about.rows.map((row) => (about.rows[row.parent]?.host === row.host ? row.parent : -1));
  about.rows.forEach((row, n) => {
    if (under(parents[n], n)) parents[n] = -1;
    if (parents[n] >= 0) children[parents[n]].push(n);
    else byHost[row.host]?.push(n);
  });
  // What messages go to or come from stands first, so that arrows are short.
  const ends = new Set(about.links.flatMap((l) => [l.from, l.to])), within = (/** @type {number} */ row) => ends.has(row) || children[row].some(within);
  talks = about.rows.map((_, n) => within(n));
  if (!about.live) ranks.clear();
}

/**
 * under says whether following parents from a row leads to another one, or round in a circle: a file could say so.
 * @param {number} row
 * @param {number} to
 */
function under(row, to) {
  for (let steps = 0; row >= 0; row = parents[row]) if (row === to || ++steps > 64) return true;
  return false;
}

/**
 * apart gives the hosts room for what goes between them, where there is some to spare.
 * @param {number} room
 */
function apart(room) {
  const hosts = lines.filter((l) => l.type === "host").length, gap = Math.min(120, Math.floor((room - height) / (hosts - 1)));
  if (hosts < 2 || gap < 2) return;
  let moved = -gap;
  for (const line of lines) {
    if (line.type === "host") moved += gap;
    line.y += moved;
  }
  height += moved;
}

/**
 * lanesOf stacks a row's lanes: instants above, slices by depth, then counters, then the strip of what is folded into it.
 * @param {number} row
 * @param {boolean} expanded
 * @param {boolean} folded
 */
function lanesOf(row, expanded, folded) {
  /** @type {DrawnLane[]} */
  const list = [];
  const rank = { instants: 0, slices: 1, counter: 2 };
  const all = [...about.rows[row].lanes].sort((a, b) => rank[a.kind] - rank[b.kind] || (a.depth ?? 0) - (b.depth ?? 0) || a.lane - b.lane);
  let y = Pad, more = 0;
  for (const lane of all) {
    if (lane.kind === "slices" && (lane.depth ?? 0) >= Depths && !expanded) { more++; continue; }
    const h = laneHeight[lane.kind] ?? 12;
    list.push({ ...lane, y, h: h - 1 });
    y += h;
  }
  if (folded) {
    list.push({ kind: "summary", y, h: StripHeight - 1 });
    y += StripHeight;
  } else if (all.length === 1 && y < Least - Pad) list[0].y += (Least - Pad - y) / 2 | 0;
  return { list, h: Math.max(Least, y + Pad), more };
}

/**
 * make lays out everything in a room of so many pixels, if that is enough; filter keeps what it accepts, with what that lies under.
 * @param {{ order: number[], hidden: Record<HiddenKind, Set<any>>, filter: ((name: string) => boolean) | null, expanded: Set<number>, idle?: Set<number>, room: number }} options
 */
export function make({ order, hidden, filter, expanded, idle = new Set(), room }) {
  position = new Float64Array(about.rows.length);
  order.forEach((row, i) => { position[row] = i; });
  const inOrder = (/** @type {number[]} */ rows) => [...rows].sort((a, b) => position[a] - position[b]);
  const first = (/** @type {number} */ host) => inOrder(allOf(host)).reduce((least, row) => Math.min(least, position[row]), Infinity);
  // Hosts of one component stand together, in the order in which the first of each stands.
  const group = (/** @type {number} */ host) => about.hosts[host].component ?? 0, place = about.hosts.map((_, h) => first(h));
  /** @type {Map<number, [number, number]>} */
  const lead = new Map();
  place.forEach((at, h) => { const l = lead.get(group(h)); if (!l || at < l[0]) lead.set(group(h), [at, h]); });
  const leads = (/** @type {number} */ host) => /** @type {[number, number]} */ (lead.get(group(host)));
  const hosts = about.hosts.map((_, h) => h).sort((a, b) => (leads(a)[0] - leads(b)[0]) || (leads(a)[1] - leads(b)[1]) || (place[a] - place[b]) || a - b);
  lines = [];
  banded = [];
  lineOf = new Map();
  let y = 0;
  const push = (/** @type {Omit<Line, "y" | "h">} */ placeless, /** @type {number} */ h) => {
    const line = Object.assign(placeless, { y, h });
    y += h;
    lines.push(line);
    lineOf.set(line.id, line);
    return line;
  };
  // kept says which rows are shown: those that the filter takes, all below them, and all above them.
  const kept = new Uint8Array(about.rows.length);
  let left = 0; // rows of a host that are idle
  const mark = (/** @type {number} */ row, /** @type {boolean} */ taken) => {
    const { name, kind, host } = about.rows[row];
    let shown = taken || !filter || filter(`${about.hosts[host].name}\n${kind}\n${name}`);
    const below = shown;
    for (const child of children[row]) if (mark(child, below)) shown = true;
    if (shown && idle.has(row) && !hidden.rows.has(row) && !children[row].some((child) => kept[child])) {
      shown = false;
      left++;
    }
    if (hidden.rows.has(row)) shown = false;
    kept[row] = shown ? 1 : 0;
    return shown;
  };
  for (const h of hosts) {
    if (hidden.hosts.has(h)) continue;
    left = 0;
    const top = inOrder(byHost[h]).filter((row) => mark(row, false));
    if (filter && !top.length) continue;
    const band = lines.length > 0 && group(lines[lines.length - 1].host) !== group(h);
    if (band) y += BandHeight;
    const folded = hidden.collapsed.has(`h${h}`) && !filter;
    const head = push({ id: `h${h}`, type: "host", host: h, row: -1, name: about.hosts[h].name, level: 1, folds: top.length > 0, folded, lanes: [], more: 0, idle: left, below: top.flatMap(within) }, HostHeight);
    if (band) banded.push(head);
    if (folded) continue;
    const kinds = new Map();
    for (const row of top) {
      const { kind } = about.rows[row];
      if (!kinds.has(kind)) kinds.set(kind, []);
      kinds.get(kind).push(row);
    }
    const many = kinds.size > 1 && top.length > 6;
    for (const [kind, rows] of ranked(h, kinds)) {
      const headed = many && rows.length > 1; // one row alone says by its name what it is
      const id = `k${h}.${kind}`, shut = headed && hidden.collapsed.has(id) && !filter;
      if (headed) push({ id, type: "kind", host: h, row: -1, name: kind, level: 2, folds: true, folded: shut, count: rows.length, lanes: shut ? [{ kind: "summary", y: 2, h: KindHeight - 3 }] : [], more: 0, below: shut ? rows.flatMap(within) : null }, KindHeight);
      if (shut) continue;
      for (const row of rows) branch(row, headed ? 3 : 2);
    }
  }
  height = y;
  apart(room);

  function branch(/** @type {number} */ row, /** @type {number} */ level) {
    const below = inOrder(children[row]).filter((child) => kept[child]);
    const folded = below.length > 0 && hidden.collapsed.has(row) && !filter;
    const { list, h, more } = lanesOf(row, expanded.has(row), folded);
    push({ id: row, type: "row", host: about.rows[row].host, row, name: about.rows[row].name, level: Math.min(level, 12), folds: below.length > 0, folded, lanes: list, more, below: folded ? below.flatMap(within) : null }, h);
    if (!folded) for (const child of below) branch(child, level + 1);
  }

  /**
   * within is a row and all that is shown below it.
   * @param {number} row
   * @returns {number[]}
   */
  function within(row) { return [row, ...children[row].filter((child) => kept[child]).flatMap(within)]; }
}

// busiest is the order in which processes and threads stand by their events, among those of their host, parent and kind.
export function busiest() {
  const order = about.rows.map((_, n) => n), /** @type {Map<string, number[]>} */ groups = new Map();
  const events = (/** @type {number} */ row) => { let n = 0; for (const list = [row]; list.length;) { const r = /** @type {number} */ (list.pop()); n += about.rows[r].events; list.push(...children[r]); } return n; };
  about.rows.forEach(({ host, kind }, n) => {
    if (kind !== "process" && kind !== "thread") return;
    const key = `${host} ${parents[n]} ${kind}`;
    groups.get(key)?.push(n) ?? groups.set(key, [n]);
  });
  for (const places of groups.values()) {
    const sums = new Map(places.map((row) => [row, events(row)])), sum = (/** @type {number} */ row) => sums.get(row) ?? 0;
    [...places].sort((a, b) => sum(b) - sum(a) || a - b).forEach((row, i) => { order[places[i]] = row; });
  }
  return order;
}

/**
 * ranked orders the kinds of a host's rows: those that messages go to first, but none moves that was laid out before.
 * @param {number} host
 * @param {Map<string, number[]>} kinds
 */
function ranked(host, kinds) {
  const later = (/** @type {[string, number[]]} */ [, rows]) => (rows.some((row) => talks[row]) ? 0 : 1);
  const sorted = [...kinds].sort((a, b) => later(a) - later(b));
  if (!about.live) return sorted;
  const rank = (/** @type {[string, number[]]} */ [kind]) => {
    const id = `${host}.${kind}`;
    if (!ranks.has(id)) ranks.set(id, ranks.size);
    return ranks.get(id);
  };
  sorted.forEach(rank);
  return sorted.sort((a, b) => rank(a) - rank(b));
}

/**
 * @param {number} host
 */
const allOf = (host) => about.rows.map((r, n) => (r.host === host ? n : -1)).filter((n) => n >= 0);

/**
 * find returns the line at a height, or the nearest.
 * @param {number} y
 */
export function find(y) {
  let low = 0, high = lines.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lines[middle].y <= y) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * standsFor is the line that shows a row, or what it is folded into; null if it is hidden.
 * @param {number} row
 */
export function standsFor(row) {
  const { host } = about.rows[row];
  let top = row;
  for (; !lineOf.has(top); top = parents[top]) if (parents[top] < 0) break;
  if (lineOf.has(top)) return lineOf.get(top);
  return lineOf.get(`k${host}.${about.rows[top].kind}`) ?? lineOf.get(`h${host}`) ?? null;
}

/**
 * siblings are the lines that one can be moved among, in the order in which they stand.
 * @param {Line} line
 */
export function siblings(line) {
  const parent = (/** @type {any} */ l) => (l.type === "row" ? parents[l.row] : -1);
  const kind = (/** @type {any} */ l) => (l.type === "row" && parent(l) < 0 ? about.rows[l.row].kind : "");
  return lines.filter((l) => l.type === line.type && (line.type === "host" || l.host === line.host) && parent(l) === parent(line) && kind(l) === kind(line));
}

/**
 * moved returns the order of rows in which a line stands where another stood.
 * @param {number[]} order
 * @param {Line} line
 * @param {number} to
 */
export function moved(order, line, to) {
  const among = siblings(line), from = among.indexOf(line);
  if (line.type === "kind" || from < 0 || to < 0 || to >= among.length || from === to) return order;
  among.splice(to, 0, ...among.splice(from, 1));
  if (line.type === "host") {
    const shown = among.map((l) => l.host), rest = about.hosts.map((_, h) => h).filter((h) => !shown.includes(h));
    return [...shown, ...rest].flatMap((h) => order.filter((row) => about.rows[row].host === h));
  }
  const rows = among.map((l) => l.row), slots = new Set(rows), next = [...order];
  let i = 0;
  order.forEach((row, at) => { if (slots.has(row)) next[at] = rows[i++]; });
  return next;
}

/**
 * @param {number} row
 */
export const parent = (row) => parents[row];

/**
 * @param {LineId} id
 */
export const line = (id) => lineOf.get(id) ?? null;
