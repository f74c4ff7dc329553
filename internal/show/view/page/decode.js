// decode: a tile's bytes (docs/viewer.md) become typed arrays, a lane at a time, so that a frame stops when its time is
// up and the next one goes on. What does not follow the format is refused: tiles are untrusted input.
//
//   lane: { number, mode, n, at (begin or bin), length, name (class), event, flags, value, least, greatest, verdict, to }

/** @import { TileLane } from "./types.js" */

export const Instants = 0;
export const Slices = 1;
export const Counter = 2;
export const Messages = 3;
export const BinnedInstants = 4;
export const BinnedSlices = 5;
export const BinnedCounter = 6;
export const BinnedMessages = 7;
// bytes of a typed array beside what it holds
export const Bins = 1024;
const MaxEntries = 1024;
const Overhead = 200;

let serials = 0;

class Reader {
  constructor(/** @type {Uint8Array} */ bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.p = 0;
  }
  byte() {
    if (this.p >= this.bytes.length) throw new Error("truncated tile");
    return this.bytes[this.p++];
  }
  u() {
    const bytes = this.bytes;
    let b = bytes[this.p++];
    if (b < 128) return b;
    let value = b & 127, unit = 128;
    do {
      b = bytes[this.p++];
      value += (b & 127) * unit;
      unit *= 128;
    } while (b > 127);
    if (b === undefined || unit > 2 ** 70) throw new Error("truncated tile");
    return value;
  }
  s() {
    const u = this.u();
    return u % 2 ? -(u + 1) / 2 : u / 2;
  }
  d() {
    if (this.p + 8 > this.bytes.length) throw new Error("truncated tile");
    this.p += 8;
    return this.view.getFloat64(this.p - 8, true);
  }
}

// Tile is filled by steps; it can be drawn once whole is true.
export class Tile {
  constructor(/** @type {string} */ key, /** @type {Uint8Array} */ bytes) {
    this.key = key;
    const [group, level, index] = key.split(".").map(Number);
    this.group = group;
    this.level = level;
    this.index = index;
    const length = 2 ** this.level * Bins;
    this.from = this.index * length;
    this.to = this.from + length;
    /** @type {Map<number, TileLane>} */
    this.lanes = new Map();
    this.size = bytes.length; // what it takes of memory; it grows while it is decoded
    /** @type {Reader | null} */
    this.reader = new Reader(bytes);
    const flags = this.reader.byte();
    this.final = Boolean(flags & 1);
    this.shift = (flags >> 1) & 15; // of a tile with too many lanes, whose bins are fewer and longer
    this.lacks = Boolean(flags & 32); // even so some lanes are missing
    this.settled = !(flags & 64); // of a timeline that grows: what comes is later than this tile
    this.stale = false; // though settled, it has changed
    this.version = 0; // of the timeline, when it was asked for
    this.asked = 0; // when that was
    this.edge = Infinity; // where the timeline ended then
    this.serial = ++serials; // tells it from another one in its place
    this.width = 2 ** (this.level + this.shift);
    this.left = this.reader.u();
    this.number = -1;
    /** @type {{ count: Float32Array, worst: Uint8Array, most: number } | null} */
    this.sum = null;
  }
  get whole() { return this.left === 0; }

  // step decodes lanes until the time is up.
  step(/** @type {number} */ until) {
    while (this.left > 0) {
      this.lane();
      this.left--;
      if (this.left && (this.left & 3) === 0 && performance.now() > until) return;
    }
    this.reader = null;
  }

  lane() {
    const r = /** @type {Reader} */ (this.reader), ahead = r.u();
    this.number += ahead;
    const mode = r.byte(), n = r.u();
    if (n > MaxEntries || mode > BinnedMessages) throw new Error(`tile ${this.key} has a lane of mode ${mode} with ${n} entries`);
    const lane = /** @type {TileLane} */ (/** @type {unknown} */ ({ number: this.number, mode, n, from: this.from, width: this.width })); // its columns follow
    kinds[mode](r, lane, n, this.from);
    for (const list of Object.values(lane)) if (ArrayBuffer.isView(list)) this.size += Overhead + list.byteLength;
    this.lanes.set(this.number, lane);
  }
}

const floats = (/** @type {number} */ n) => new Float64Array(n), words = (/** @type {number} */ n) => new Uint32Array(n), octets = (/** @type {number} */ n) => new Uint8Array(n);

/**
 * bin reads the number of the next bin, counted from the one before.
 * @param {Reader} r
 * @param {number} before
 */
function bin(r, before) {
  const next = before + r.u();
  if (next >= Bins) throw new Error("a bin lies beyond the end of its tile");
  return next;
}

/**
 * before is the value that stood when the tile begins, null if there was none.
 * @param {Reader} r
 * @param {TileLane} lane
 */
const before = (r, lane) => { lane.before = r.byte() ? r.d() : null; };

/** @type {((r: Reader, lane: any, n: number, from: number) => void)[]} */
const kinds = [
  function instants(r, lane, n, from) {
    const at = lane.at = floats(n), name = lane.name = words(n), event = lane.event = floats(n);
    for (let i = 0, t = from, e = 0; i < n; i++) {
      at[i] = t += r.u();
      name[i] = r.u();
      event[i] = e += r.s();
    }
  },
  function slices(r, lane, n, from) {
    const at = lane.at = floats(n), length = lane.length = floats(n), name = lane.name = words(n);
    const event = lane.event = floats(n), flags = lane.flags = octets(n);
    for (let i = 0, t = from, e = 0; i < n; i++) {
      at[i] = t + r.s();
      length[i] = r.u();
      t = at[i] + length[i];
      flags[i] = r.byte();
      name[i] = r.u();
      event[i] = e += r.s();
    }
  },
  function counter(r, lane, n, from) {
    before(r, lane);
    const at = lane.at = floats(n), value = lane.value = floats(n), event = lane.event = floats(n);
    for (let i = 0, t = from, e = 0; i < n; i++) {
      at[i] = t += r.u();
      value[i] = r.d();
      event[i] = e += r.s();
    }
  },
  function messages(r, lane, n, from) {
    const at = lane.at = floats(n), delay = lane.delay = floats(n), verdict = lane.verdict = octets(n);
    const event = lane.event = floats(n), to = lane.to = floats(n);
    for (let i = 0, t = from, e = 0, f = 0; i < n; i++) {
      at[i] = t += r.s();
      delay[i] = r.s();
      verdict[i] = r.byte();
      event[i] = e += r.s();
      to[i] = f += r.s();
    }
  },
  function binnedInstants(r, lane, n) {
    const at = lane.at = new Uint16Array(n), count = lane.count = floats(n), name = lane.name = words(n);
    for (let i = 0, b = -1; i < n; i++) {
      at[i] = b = bin(r, b);
      count[i] = r.u();
      name[i] = r.u();
    }
  },
  function binnedSlices(r, lane, n) {
    const at = lane.at = new Uint16Array(n), count = lane.count = floats(n), busy = lane.busy = octets(n), name = lane.name = words(n);
    for (let i = 0, b = -1; i < n; i++) {
      at[i] = b = bin(r, b);
      count[i] = r.u();
      busy[i] = r.byte();
      name[i] = r.u();
    }
  },
  function binnedCounter(r, lane, n) {
    before(r, lane);
    const at = lane.at = new Uint16Array(n), least = lane.least = floats(n), greatest = lane.greatest = floats(n), last = lane.last = floats(n);
    for (let i = 0, b = -1; i < n; i++) {
      at[i] = b = bin(r, b);
      least[i] = r.d();
      greatest[i] = r.d();
      last[i] = r.d();
    }
  },
  function binnedMessages(r, lane, n) {
    const at = lane.at = new Uint16Array(n), count = lane.count = floats(n), verdict = lane.verdict = octets(n);
    const least = lane.least = floats(n), greatest = lane.greatest = floats(n);
    for (let i = 0, b = -1; i < n; i++) {
      at[i] = b = bin(r, b);
      count[i] = r.u();
      least[i] = r.s();
      greatest[i] = r.s();
      verdict[i] = r.byte();
    }
  },
];

/**
 * density adds up what happens in each bin of a tile, over all its lanes; worst is each bin's worst verdict.
 * @param {Tile} tile
 */
export function density(tile) {
  if (tile.sum) return tile.sum;
  const count = new Float32Array(Bins), worst = octets(Bins);
  let most = 0;
  for (const lane of tile.lanes.values()) {
    for (let i = 0; i < lane.n; i++) {
      const b = lane.mode < BinnedInstants ? Math.floor((lane.at[i] - tile.from) / tile.width) : lane.at[i];
      if (b < 0 || b >= Bins) continue;
      count[b] += lane.count ? lane.count[i] : lane.mode === Counter || lane.mode === BinnedCounter ? 0 : 1;
      if (count[b] > most) most = count[b];
      if (lane.verdict && lane.verdict[i] > worst[b]) worst[b] = lane.verdict[i];
    }
  }
  return (tile.sum = { count, worst, most });
}

/**
 * @param {string} base64
 */
export async function inflate(base64) {
  const text = atob(base64), small = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) small[i] = text.charCodeAt(i);
  const stream = new Blob([small]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * split cuts an answer of several tiles.
 * @param {Uint8Array} all
 * @param {string[]} keys
 */
export function split(all, keys) {
  const view = new DataView(all.buffer, all.byteOffset, all.byteLength), parts = new Map();
  let p = 0;
  for (const key of keys) {
    if (p + 4 > all.length || p + 4 + view.getUint32(p, true) > all.length) throw new Error("truncated answer");
    const n = view.getUint32(p, true);
    if (n) parts.set(key, all.subarray(p + 4, p + 4 + n));
    p += 4 + n;
  }
  return parts;
}
