// count: numbers of a stretch from the tiles that one file holds, as a server counts them (index.Numbers). Only a lane whose items are
// all there, each by itself, is counted: where the file ends at bins, nothing is.

import * as Data from "./data.js";
import * as Decode from "./decode.js";

/** @import { LinkNumbers, NameNumbers, StretchNumbers, Tile, TileLane } from "./types.js" */

/**
 * items calls see for each item of a group that is there in [from, to), once, and says whether all of them are held.
 * @param {number} group
 * @param {number} from
 * @param {number} to
 * @param {Set<number>} lanes
 * @param {(lane: TileLane, i: number) => void} see
 * @param {(group: number, level: number, index: number) => Promise<Tile | null | undefined>} load
 * @param {number} top
 */
export async function items(group, from, to, lanes, see, load, top) {
  const met = new Map(); // lane -> its items that other tiles may hold as well
  const visit = async (/** @type {number} */ level, /** @type {number} */ index, /** @type {Set<number>} */ of) => {
    const tile = await load(group, level, index), length = 2 ** level * Decode.Bins;
    if (!tile || tile.lacks || tile.level !== level) return false;
    /** @type {Set<number>} */
    const below = new Set();
    for (const lane of tile.lanes.values()) {
      if (!of.has(lane.number)) continue;
      if (lane.mode >= Decode.BinnedInstants) { below.add(lane.number); continue; }
      for (let i = 0; i < lane.n; i++) {
        if (!there(lane, i, from, to)) continue;
        const key = lane.to ? `${lane.event[i]} ${lane.to[i]}` : lane.event[i], seen = met.get(lane.number) ?? met.set(lane.number, new Set()).get(lane.number);
        if (seen.has(key)) continue;
        seen.add(key);
        see(lane, i);
      }
    }
    if (!below.size) return true;
    if (!level) return false;
    for (const child of [2 * index, 2 * index + 1]) {
      // Messages that are received within the stretch, or seem to be, may have been sent before it or behind it: their tile holds them too.
      if (child * length / 2 < to && (child + 1) * length / 2 >= from && !await visit(level - 1, child, below)) return false;
    }
    return true;
  };
  return lanes.size ? visit(top, 0, lanes) : true;
}

/**
 * there is index.item.touches.
 * @param {TileLane} lane
 * @param {number} i
 * @param {number} from
 * @param {number} to
 */
function there(lane, i, from, to) {
  const at = lane.at[i], other = at + (lane.length?.[i] ?? lane.delay?.[i] ?? 0), a = Math.min(at, other), b = Math.max(at, other);
  return a < to && (b > from || a >= from || (lane.delay !== undefined && b >= from));
}

/**
 * lengths are the extremes and percentiles, of the nearest rank.
 * @param {number[]} list
 */
function lengths(list) {
  list.sort((a, b) => a - b);
  const at = (/** @type {number} */ percent) => list[Math.ceil(list.length * percent / 100) - 1];
  return { least: list[0], p50: at(50), p90: at(90), p99: at(99), greatest: list[list.length - 1] };
}

/**
 * numbers counts what is there in [from, to), but on some rows; null if the file does not hold all of it.
 * @param {number} from
 * @param {number} to
 * @param {Set<number>} without
 * @returns {Promise<StretchNumbers | null>}
 */
export async function numbers(from, to, without) {
  const { about } = Data, names = new Map(), links = new Map(), rowOf = new Map(), linkOf = new Map();
  let values = 0;
  about.rows.forEach((r, row) => { if (!without.has(row)) for (const { lane } of r.lanes) rowOf.set(lane, row); });
  about.links.forEach((l) => { if (!without.has(l.from) && !without.has(l.to)) linkOf.set(l.lane, l); });
  const see = (/** @type {TileLane} */ lane, /** @type {number} */ i) => {
    if (lane.mode === Decode.Counter) { values++; return; }
    const row = rowOf.get(lane.number), instant = lane.mode === Decode.Instants, key = `${row} ${lane.name[i]} ${instant}`;
    if (!names.has(key)) names.set(key, { row, class: lane.name[i], ...(instant ? { instant } : {}), sum: 0, all: [] });
    const n = names.get(key), length = instant ? 0 : lane.length[i];
    n.sum += Math.max(0, Math.min(lane.at[i] + length, to) - Math.max(lane.at[i], from));
    n.all.push(length);
  };
  const sent = (/** @type {TileLane} */ lane, /** @type {number} */ i) => {
    if (!links.has(lane.number)) links.set(lane.number, { verdicts: [0, 0, 0, 0, 0], all: [] });
    const n = links.get(lane.number);
    n.verdicts[lane.verdict[i]]++;
    n.all.push(lane.delay[i]);
  };
  for (let host = 0; host < about.hosts.length; host++) {
    const own = new Set([...rowOf].filter(([, row]) => about.rows[row].host === host).map(([lane]) => lane));
    if (!await items(host, from, to, own, see, Data.load, about.top)) return null;
  }
  if (!await items(about.hosts.length, from, to, new Set(linkOf.keys()), sent, Data.load, about.top)) return null;
  /** @type {NameNumbers[]} */
  const list = [...names.values()].map(({ all, ...n }) => ({ ...n, count: all.length, ...(n.instant ? { least: 0, p50: 0, p90: 0, p99: 0, greatest: 0 } : lengths(all)) }));
  /** @type {LinkNumbers[]} */
  const ways = [...links].map(([lane, { verdicts, all }]) => ({ lane, from: linkOf.get(lane).from, to: linkOf.get(lane).to, count: all.length, verdicts, ...lengths(all) }));
  list.sort((a, b) => b.sum - a.sum || b.count - a.count || a.row - b.row || a.class - b.class || Number(a.instant ?? 0) - Number(b.instant ?? 0));
  ways.sort((a, b) => b.count - a.count || a.lane - b.lane);
  return { names: list, links: ways, left: 0, skipped: values ? { counter: values } : {} };
}
