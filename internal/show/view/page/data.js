// data: what the page knows of the timeline. It asks `meridian view`, or takes what one file holds: the two differ only in
// their source (Served, Held). Tiles are kept while they are drawn, and asked for many at once; what a frame no longer
// wants is called off. Answers never reach the page but through here, so that a live session can push into it too.

import { App } from "./app.js";
import * as Decode from "./decode.js";
import * as Dock from "./dock.js";
import { Held } from "./held.js";
import * as Time from "./time.js";

/** @import { About, DataSource, Growth, LiveUpdate, Tile, TimelineRequest } from "./types.js" */

const FirstKeys = 3;
const MaxKeys = 8;
const MaxUnder = 3;
const MaxBytes = 192 << 20;
const Patience = 5000;
const MaxTiles = 4000;
const MaxEvents = 4000;
const MinPause = 80; // ms until a tile of a timeline that grows is asked for again
const MaxPause = 1000;
const Grace = 1e9; // ns before its end in which a timeline changes all the time
const held = new Map(); // key -> Tile, the least recently used first
const coming = new Map(); // key -> the Tile that takes the place of a held one when it is decoded
const requests = new Set();
const asked = new Map(); // key -> request
const waiting = new Map(); // key -> the callbacks that wait for it
const missing = new Map(); // what cannot be had, and until when it is not asked for again
const known = new Map(); // the number of an event -> the event
/** @type {any} */
let source;
/** @type {About} */
export let about;
let bytes = 0;
/** @type {Tile[]} */
const toDecode = [];
/** @type {string[]} */
let wanted = [];
let slow = new Set(); // of these, what need not be new
let under = 0;
export let decoded = 0;
/** @type {Record<string, Promise<any>>} */
const once = {};
let lacking = false;
/** @type {Growth | null} */
let growth = null; // of a timeline that grows
let answered = 0; // ms that the last tiles took
let timer = 0;

// Served asks over HTTP, relative to the page's own address.
const Served = {
  async open() {
    const answer = await this.ask("about", { wait: 1 });
    return answer.status === 204 ? Promise.reject(Object.assign(new Error("nothing yet"), { early: true })) : answer.json();
  },
  async ask(/** @type {string} */ name, /** @type {Record<string, any>} */ query = {}, /** @type {AbortSignal | null} */ signal = null) {
    const url = `api/${name}${Object.keys(query).length ? `?${new URLSearchParams(query)}` : ""}`;
    return this.good(name, await fetch(url, { signal }));
  },
  async send(/** @type {string} */ name, /** @type {any} */ body) {
    return this.good(name, await fetch(`api/${name}`, { method: "PUT", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }));
  },
  async good(/** @type {string} */ name, /** @type {Response} */ answer) {
    if (answer.ok) return answer;
    let reason = `${answer.status}`;
    try { reason = (await answer.json()).error; } catch { /* it has no reason to give */ }
    throw Object.assign(new Error(`${name}: ${reason}`), { changed: answer.status === 409 });
  },
  async json(/** @type {string} */ name, /** @type {Record<string, any>} */ query = {}) { return (await this.ask(name, query)).json(); },
  has: () => true,
  nearest: (/** @type {string} */ key) => key,
  // The first request is small, so that there soon is something to see.
  batch: (/** @type {string[]} */ keys) => keys.slice(0, decoded + under ? MaxKeys : FirstKeys),
  async tiles(/** @type {string[]} */ keys, /** @type {AbortSignal} */ signal) {
    // Where hosts may have come meanwhile, the server is told by how many hosts the keys are.
    const answer = await this.ask("tiles", { ...(growth ? { hosts: about.hosts.length } : {}), keys: keys.join(",") }, signal);
    return Decode.split(new Uint8Array(await answer.arrayBuffer()), keys);
  },
  events(/** @type {number} */ from, /** @type {number} */ count) { return this.json("events", { from, count }); },
  search(/** @type {any} */ q, /** @type {number} */ after, /** @type {number} */ limit) { return this.json("search", { q, after, limit }); },
  requests(/** @type {any} */ query) { return this.json("requests", query); },
  states(/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ without) { return this.json("states", { from, to, ...(without ? { without } : {}) }); },
  traffic(/** @type {number} */ from, /** @type {number} */ to) { return this.json("traffic", { from, to }); },
  numbers(/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ without) { return this.json("numbers", { from, to, ...(without ? { without } : {}) }); },
  // The number of a request changes while the timeline grows, those of its events do not.
  path(/** @type {TimelineRequest} */ { id, event, last }) { return this.json("path", about.live ? { request: id, event, last } : { request: id }); },
  between(/** @type {number} */ from, /** @type {number} */ to) { return this.json("path", { from, to }); },
  messages(/** @type {Record<string, number>} */ query) { return this.json("messages", query); },
  notes() { return this.json("notes"); },
  async keepNotes(/** @type {any} */ held) { return (await this.send("notes", held)).json(); },
};

export async function open() {
  source = document.getElementById("about") ? Held : Served;
  about = await source.open();
  Time.open(about.origin);
  return about;
}

/**
 * get returns a tile if it is there, whole.
 * @param {string} key
 */
export function get(key) {
  const tile = held.get(key);
  if (!tile) return null;
  held.delete(key); // to the end: it was used
  held.set(key, tile);
  return tile.whole ? tile : null;
}

/**
 * covered says that a coarser tile tells all of this one, or that this one cannot be had.
 * @param {number} group
 * @param {number} level
 * @param {number} index
 */
export function covered(group, level, index) {
  if (lacks(`${group}.${level}.${index}`)) return true;
  for (let l = level + 1, i = Math.floor(index / 2); l <= about.top; l++, i = Math.floor(i / 2)) {
    const tile = held.get(`${group}.${l}.${i}`);
    if (tile?.final && tile.settled) return true;
  }
  return false;
}

/**
 * best returns the tile that says most of a place: the one asked for, or the nearest coarser one.
 * @param {number} group
 * @param {number} level
 * @param {number} index
 */
export function best(group, level, index) {
  for (let l = level, i = index; l <= about.top; l++, i = Math.floor(i / 2)) {
    const tile = get(`${group}.${l}.${i}`);
    if (tile) return tile;
  }
  return null;
}

/**
 * want says what a frame would draw, what matters most first; hoped is what may be wanted next. Requests none of whose
 * tiles are wanted any more are called off; those that are hoped for only make room for what is wanted.
 * @param {string[]} keys
 * @param {string[]} hoped
 * @param {Set<string>} [calm] those of the keys that need not be new
 */
export function want(keys, hoped, calm = new Set()) {
  slow = calm;
  [keys, hoped] = [keys.map(nearest), hoped.map(nearest)];
  wanted = keys;
  const still = new Set(keys.some(fresh) ? keys : [...keys, ...hoped]);
  for (const request of requests) {
    if (request.kept || request.keys.some((/** @type {string} */ key) => still.has(key) || waiting.has(key))) continue;
    request.abort.abort();
    for (const key of request.keys) asked.delete(key);
  }
  ask(keys, false);
  if (under === 0) ask(hoped, false);
  if (growth) wake(keys);
}

/**
 * wake asks for a frame when the first of the tiles in sight may be asked for again.
 * @param {string[]} keys
 */
function wake(keys) {
  let soonest = Infinity;
  for (const key of keys) {
    const tile = held.get(key);
    if (tile && changed(tile) && !asked.has(key) && !coming.has(key)) soonest = Math.min(soonest, tile.asked + pause(tile));
  }
  clearTimeout(timer);
  if (soonest < Infinity) timer = setTimeout(() => App.redraw(1), Math.max(1, soonest - performance.now()));
}

/**
 * changed says that there may be more in the place of a tile than it holds.
 * @param {Tile} tile
 */
const changed = (tile) => growth !== null && (tile.stale || (!tile.settled && tile.version < growth.version && tile.from <= growth.span));

/**
 * pause is how long a tile is good enough, in ms: less than a bin of it takes nobody sees, and the server has other things to
 * do. Behind the end little changes: a slice may find its end.
 * @param {Tile} tile
 */
const pause = (tile) => (slow.has(tile.key) || (tile.to + Grace < tile.edge && !tile.stale) ? MaxPause : Math.max(Math.min(MaxPause, Math.max(MinPause, tile.width / 1e6)), 2 * answered));

/**
 * outdated says that a tile that is held is to be asked for again.
 * @param {string} key
 */
function outdated(key) {
  const tile = held.get(key);
  return Boolean(tile) && changed(tile) && !asked.has(key) && !coming.has(key) && !lacks(key) && performance.now() - tile.asked >= pause(tile);
}

/**
 * @param {string} key
 */
const nearest = (key) => source.nearest(key);
/**
 * @param {string} key
 */
const fresh = (key) => !held.has(key) && !asked.has(key) && !lacks(key) && source.has(key);
/**
 * @param {string} key
 */
const lacks = (key) => missing.get(key) > performance.now();

/**
 * @param {string[]} keys
 * @param {boolean} kept
 */
function ask(keys, kept) {
  let left = [...new Set(keys)].filter((key) => fresh(key) || (growth && outdated(key)));
  while (left.length && (kept || under < MaxUnder)) {
    const some = source.batch(left), rest = new Set(some);
    left = left.filter((key) => !rest.has(key));
    request(some, kept);
  }
}

/**
 * @param {string[]} keys
 * @param {boolean} kept
 */
async function request(keys, kept) {
  const one = { keys, kept, abort: new AbortController(), version: growth?.version ?? 0, begun: performance.now(), edge: growth?.span ?? Infinity, changed: Infinity };
  /** @type {string[]} */
  let left = []; // what the answer had no room for
  for (const key of keys) asked.set(key, one);
  requests.add(one);
  under++;
  try {
    const got = await source.tiles(keys, one.abort.signal);
    if (!got.size) throw new Error("the answer has no tile");
    answered = performance.now() - one.begun;
    for (const [key, part] of got) put(key, part, one);
    if (growth) work(performance.now() + 5); // so that the next frame draws it, not the one after
    left = keys.filter((key) => !got.has(key));
  } catch (/** @type {any} */ error) {
    if (error.name !== "AbortError") {
      console.error(error);
      // The server may be asleep with the machine it is on.
      for (const key of keys) fail(key, error, performance.now() + Patience);
      setTimeout(() => App.redraw(1), Patience + 50);
    }
  } finally {
    under--;
    requests.delete(one);
    for (const key of keys) if (asked.get(key) === one) asked.delete(key);
    ask(left.filter((key) => waiting.has(key)), true);
    App.redraw(1); // its frame asks again for those that are still wanted
  }
}

/**
 * @param {string} key
 * @param {Error} error
 * @param {number} [until]
 */
function fail(key, error, until = Infinity) {
  missing.set(key, until);
  for (const { reject } of waiting.get(key) ?? []) reject(error);
  waiting.delete(key);
}

/**
 * @param {string} key
 * @param {Uint8Array<ArrayBuffer>} part
 * @param {{ version: number, begun: number, edge: number, changed: number }} request
 */
function put(key, part, request) {
  missing.delete(key);
  const before = coming.get(key) ?? held.get(key);
  if (before && before.version >= request.version) return; // called off too late, and asked for again
  try {
    const tile = new Decode.Tile(key, part);
    tile.version = request.version;
    tile.asked = request.begun;
    tile.edge = request.edge;
    tile.stale = tile.to > request.changed;
    if (before && held.get(key)?.whole) { // that one is drawn until this one can be
      if (before === coming.get(key)) bytes -= before.size;
      coming.set(key, tile);
    } else {
      if (before) drop(before);
      held.set(key, tile);
    }
    bytes += tile.size;
    toDecode.push(tile);
    if (tile.lacks && !lacking) { lacking = true; Dock.notice("Not all rows or messages are drawn: one host has more than fit into a tile. Filter the events or the hosts of the timeline."); }
  } catch (/** @type {any} */ error) {
    fail(key, error);
  }
  forget();
}

/**
 * @param {Tile} tile
 */
function drop(tile) {
  if (held.get(tile.key) !== tile) return;
  bytes -= tile.size;
  held.delete(tile.key);
}

// forget lets the least recently used go; the coarsest stay, so that there is always something to draw.
function forget() {
  if (bytes < MaxBytes && held.size < MaxTiles) return;
  const still = new Set(wanted);
  for (const [key, tile] of held) {
    if (bytes < MaxBytes * 0.9 && held.size < MaxTiles * 0.9) break;
    if (tile.level >= about.top - 1 || still.has(key) || waiting.has(key)) continue;
    drop(tile);
  }
}

/**
 * work decodes until the time is up, and says whether there is something new to draw or more to do.
 * @param {number} until
 */
export function work(until) {
  if (!toDecode.length) return false;
  const still = new Set(wanted);
  toDecode.sort((a, b) => Number(still.has(b.key)) - Number(still.has(a.key)));
  while (toDecode.length && performance.now() < until) {
    const tile = toDecode[0], was = tile.size;
    if (held.get(tile.key) !== tile && coming.get(tile.key) !== tile) { // forgotten meanwhile
      toDecode.shift();
      continue;
    }
    try {
      tile.step(until);
      bytes += tile.size - was;
    } catch (/** @type {any} */ error) {
      console.error(error);
      tile.size = was;
      if (coming.get(tile.key) === tile) { coming.delete(tile.key); bytes -= was; } else drop(tile);
      toDecode.shift();
      fail(tile.key, error);
      continue;
    }
    if (!tile.whole) break;
    if (coming.get(tile.key) === tile) {
      coming.delete(tile.key);
      if (held.has(tile.key)) drop(/** @type {Tile} */ (held.get(tile.key)));
      held.set(tile.key, tile);
    }
    decoded++;
    toDecode.shift();
    for (const { resolve } of waiting.get(tile.key) ?? []) resolve(tile);
    waiting.delete(tile.key);
  }
  return true;
}

/**
 * load waits for a tile, or for the coarser one that says the same; null if nothing is held of it. One that has changed is
 * waited for once more.
 * @param {number} group
 * @param {number} level
 * @param {number} index
 */
export async function load(group, level, index) {
  for (let waited = false; ; waited = true) {
    const here = best(group, level, index);
    const known = here && (here.level === level || (here.final && here.settled));
    if (known && (waited || !(outdated(here.key) || asked.has(here.key)))) return here;
    const key = nearest(known ? here.key : `${group}.${level}.${index}`);
    if ((here?.key === key && !known) || !source.has(key) || lacks(key)) return here;
    ask([key], true);
    await new Promise((resolve, reject) => {
      if (!waiting.has(key)) waiting.set(key, []);
      waiting.get(key).push({ resolve, reject });
      App.redraw(1); // its frame decodes it
    }).catch(() => {});
  }
}

/**
 * events brings events with their fields; one that was asked for before is remembered.
 * @param {number} from
 * @param {number} count
 */
export async function events(from, count) {
  if (count === 1 && known.has(from) && !growth) return [known.get(from)]; // where it grows, an end may have come to it
  const found = await source.events(from, count);
  for (const e of found) known.set(e.event, e);
  while (known.size > MaxEvents) known.delete(known.keys().next().value);
  return found;
}

/**
 * @param {string} name
 */
const again = (name) => (once[name] ??= source.json(name).catch((/** @type {Error} */ error) => { delete once[name]; throw error; }));

/**
 * listen has the server tell of growth since a version, until it is closed.
 * @param {number} since
 * @param {(update: LiveUpdate) => void} hear
 * @param {() => void} lose
 * @returns {{ close(): void }}
 */
export function listen(since, hear, lose) {
  const stream = new EventSource(`api/live?since=${since}`);
  stream.onmessage = (e) => hear(JSON.parse(e.data));
  stream.onerror = lose;
  return stream;
}

/**
 * grow takes what the server says of how far the timeline has grown: the tiles that may have changed are asked for again as
 * long as they are in sight.
 * @param {Growth} to
 */
export function grow(to) {
  const from = growth && to.version < growth.version ? 0 : to.changed; // a server that has begun anew
  if (from >= 0) {
    for (const tile of [...held.values(), ...coming.values()]) tile.stale ||= tile.to > from;
    for (const request of requests) request.changed = Math.min(request.changed, from);
  }
  growth = to;
  measure();
  ask(wanted, false); // no frame is waited for
}

// measure lays how far the timeline has grown over an `about` that is older.
function measure() {
  if (!growth) return;
  about.span = Math.max(about.span, growth.span);
  about.top = Math.max(about.top, growth.top);
  about.events = Math.max(about.events, growth.events);
}

// reopen asks for about again, which stays the same object. Tiles of links are numbered behind those of hosts: where hosts have
// come, they get other numbers.
export async function reopen() {
  const hosts = about.hosts.length;
  Object.assign(about, await source.open());
  measure();
  if (about.hosts.length === hosts) return;
  const own = (/** @type {string} */ key) => key.startsWith(`${hosts}.`);
  for (const request of requests) {
    if (!request.keys.some(own)) continue;
    request.abort.abort();
    for (const key of request.keys) asked.delete(key);
  }
  for (const tiles of [held, coming]) {
    for (const [key, tile] of [...tiles]) {
      if (!own(key)) continue;
      tiles.delete(key);
      tile.group = about.hosts.length;
      tile.key = `${tile.group}.${tile.level}.${tile.index}`;
      tiles.set(tile.key, tile);
    }
  }
  for (const [key, list] of [...waiting]) {
    if (!own(key)) continue;
    waiting.delete(key);
    for (const { reject } of list) reject(new Error("other hosts have come")); // who waits asks again
  }
}

// forgetAnswers has what is asked for once asked for again.
export function forgetAnswers() { for (const name of Object.keys(once)) delete once[name]; }

export function served() { return source === Served; }

export function memory() { return { bytes, tiles: held.size }; }

export function busy() { return asked.size + toDecode.length; }

/**
 * tiles says what a frame or a panel wants soon, without waiting for it.
 * @param {string[]} keys
 */
export const tiles = (keys) => ask(keys.map(nearest), true);

/**
 * @param {string} q
 * @param {number} [after]
 * @param {number} [limit]
 */
export const search = (q, after = -1, limit = 100) => source.search(q, after, limit);

export const violations = () => again("violations");

export const plots = () => again("plots");

/**
 * questions answers what panels ask at once: requests, paths, numbers, messages; served, notes of a file.
 * @returns {DataSource}
 */
export const questions = () => source;

export const against = () => source.json("against");
