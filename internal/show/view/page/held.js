// held: the timeline that one file holds, in elements of the page (docs/viewer.md): what data.js asks where there is no server.

import * as Count from "./count.js";
import * as Data from "./data.js";
import * as Decode from "./decode.js";
import * as Query from "./query.js";
import { unranged } from "./ranges.js";

/** @import { RequestQuery, TimelineRequest } from "./types.js" */

// Held takes the elements of one file, each unpacked when it is first needed.
export const Held = {
  /** @type {Map<string, number>} a tile's key -> the number of its element */
  chunk: new Map(),
  /** @type {string[][]} the keys of each element */
  keys: [],
  /** @type {Map<number, [number, number]>} a block of events -> its element, and its place there */
  block: new Map(),
  /** @type {Map<string, Promise<any>>} an element's id -> what it holds */
  parts: new Map(),
  async open() {
    const facts = await this.json("held");
    facts.tiles.forEach((/** @type {string[]} */ keys, /** @type {number} */ n) => keys.forEach((/** @type {string} */ key) => this.chunk.set(key, n)));
    this.keys = facts.tiles;
    facts.events.forEach((/** @type {any} */ blocks, /** @type {number} */ n) => blocks.forEach((/** @type {any} */ block, /** @type {number} */ i) => this.block.set(block, [n, i])));
    return this.json("about");
  },
  async json(/** @type {string} */ id) {
    const bytes = await this.element(id);
    return JSON.parse(new TextDecoder().decode(bytes));
  },
  async element(/** @type {string} */ id) {
    const element = document.getElementById(id);
    if (!element) throw new Error(`the file has no element ${id}`);
    const bytes = await Decode.inflate(element.textContent.trim());
    element.remove(); // the text would only take memory
    return bytes;
  },
  part(/** @type {string} */ id, /** @type {(bytes: Uint8Array<ArrayBuffer>) => any} */ make) {
    if (!this.parts.has(id)) this.parts.set(id, this.element(id).then(make));
    return this.parts.get(id);
  },
  has(/** @type {string} */ key) { return this.chunk.has(key); },
  // nearest is what is held of a tile's place: below a final tile, and where the file ends, that is a coarser one.
  nearest(/** @type {string} */ key) {
    let [group, level, index] = key.split(".").map(Number);
    for (; level <= Data.about.top; level++, index = Math.floor(index / 2)) {
      const coarser = `${group}.${level}.${index}`;
      if (this.has(coarser)) return coarser;
    }
    return key;
  },
  batch(/** @type {string[]} */ keys) {
    const n = this.chunk.get(keys[0]);
    return keys.filter((/** @type {string} */ key) => this.chunk.get(key) === n);
  },
  async tiles(/** @type {string[]} */ keys) {
    const n = this.chunk.get(keys[0]) ?? -1;
    const all = await this.part(`tiles-${n}`, (/** @type {Uint8Array<ArrayBuffer>} */ bytes) => Decode.split(bytes, this.keys[n]));
    return new Map(keys.map((/** @type {string} */ key) => [key, all.get(key)]));
  },
  async blockOf(/** @type {number} */ event) {
    const found = this.block.get(Math.floor(event / 256));
    if (!found) return null;
    const all = await this.part(`events-${found[0]}`, (/** @type {Uint8Array<ArrayBuffer>} */ bytes) => JSON.parse(new TextDecoder().decode(bytes)));
    return all[found[1]];
  },
  async events(/** @type {number} */ from, /** @type {number} */ count) {
    const found = [];
    for (let e = from; e < from + count; e++) {
      const block = await this.blockOf(e);
      const event = block?.find((/** @type {any} */ x) => x.event === e);
      if (event) found.push(event);
    }
    return found;
  },
  // requests chooses among the slowest that the file holds; percentiles are of all.
  async requests(/** @type {RequestQuery} */ { sort = "total", q = "", n = 100, from, to }) {
    if (!this.parts.has("requests") && !document.getElementById("requests")) return { count: 0, matched: 0, requests: [], groups: [] };
    const all = await this.part("requests", (/** @type {Uint8Array<ArrayBuffer>} */ bytes) => JSON.parse(new TextDecoder().decode(bytes)));
    const words = q.toLowerCase().split(/\s+/).filter(Boolean), host = (/** @type {number} */ h) => Data.about.hosts[h].name, hostOf = (/** @type {number} */ row) => host(Data.about.rows[row].host);
    const holds = (/** @type {string} */ text) => words.every((w) => text.toLowerCase().includes(w));
    const value = { total: (/** @type {any} */ r) => r.total, beyond: (/** @type {any} */ r) => r.beyond, server: (/** @type {any} */ r) => r.serverTime, network: (/** @type {any} */ r) => r.network, client: (/** @type {any} */ r) => r.clientTime, transfer: (/** @type {any} */ r) => r.transfer, begin: (/** @type {any} */ r) => -r.begin }[sort] ?? ((/** @type {any} */ r) => r.total);
    const chosen = all.requests.filter((/** @type {any} */ r) => holds(`${r.name} ${hostOf(r.client)} ${hostOf(r.server)}`) && (from === undefined || to === undefined || (r.begin < to && r.begin + r.total >= from)));
    chosen.sort((/** @type {any} */ a, /** @type {any} */ b) => value(b) - value(a) || a.id - b.id);
    return { count: all.count, matched: chosen.length, held: all.requests.length, upTo: all.upTo, names: all.names, lost: all.lost, requests: chosen.slice(0, n), groups: all.groups.filter((/** @type {any} */ g) => holds(`${g.name} ${host(g.client)} ${host(g.server)}`)) };
  },
  async states() { throw new Error("One file does not hold all events; meridian view has states of threads."); },
  async traffic() { return { ways: [], none: "One file does not hold all packets; meridian view adds their bytes up." }; },
  async numbers(/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ without) {
    const found = await Count.numbers(from, to, new Set(unranged(without, Data.about.rows.length)));
    if (!found) throw new Error("This file does not hold all events of the stretch, so nothing is counted: choose a shorter one; meridian view counts all.");
    return found;
  },
  async path(/** @type {TimelineRequest} */ { id }) {
    const all = await this.part("requests", (/** @type {Uint8Array<ArrayBuffer>} */ bytes) => JSON.parse(new TextDecoder().decode(bytes)));
    const found = all.paths[id];
    if (!found) throw new Error("this file holds the paths of the slowest requests only; meridian view shows all");
    return found;
  },
  async between() { throw new Error("one file does not hold all events; meridian view finds paths between two"); },
  async messages() { throw new Error("one file does not hold all messages; meridian view lists them"); },
  // search looks at the events that the file holds, a block at a time; it gives up after a while, to be asked again.
  async search(/** @type {any} */ q, /** @type {number} */ after, /** @type {number} */ limit) {
    const query = Query.parse(q), found = [], until = performance.now() + 200;
    const blocks = [...this.block.keys()].sort((a, b) => a - b);
    for (const block of blocks) {
      if (block * 256 + 255 <= after) continue;
      if (found.length >= limit || performance.now() > until) return { found, next: block * 256 - 1 };
      for (const e of await this.blockOf(block * 256)) {
        if (e.event <= after) continue;
        const { name, category } = Data.about.classes[e.class] ?? { name: "", category: "" }, row = Data.about.rows[e.row];
        if (Query.matches(query, { name, category, host: Data.about.hosts[row.host].name, row: row.name, fields: e.fields ?? [] })) {
          found.push({ event: e.event, at: e.at, row: e.row, class: e.class });
        }
      }
    }
    return { found, next: -1 };
  },
};
