// idle: rows that have nothing in the stretch in sight are left out, while a switch is on. What is there is read from the tiles
// that the view is drawn from, once the view has come to rest; of a row whose tile is not held nothing is known, and it stays.

import { App } from "./app.js";
import { byId } from "./dom.js";
import * as Data from "./data.js";
import * as Decode from "./decode.js";
import * as Lanes from "./lanes.js";
import * as Rows from "./rows.js";
import * as Runs from "./runs.js";
import * as View from "./view.js";

/** @import { Tile, TileLane } from "./types.js" */

const Rest = 200; // ms after which a view counts as one that is looked at
const Most = 200; // hosts that are looked through
let yes = false;
let timer = 0;
let turn = 0; // which look is the last one

export const on = () => yes;

/**
 * holds says whether a lane of a tile has something in [from, to). A counter has, if it has a value there.
 * @param {TileLane} lane
 * @param {Pick<Tile, "from" | "width">} tile
 * @param {number} from
 * @param {number} to
 */
export function holds(lane, tile, from, to) {
  const { at, n, mode } = lane, exact = mode < Decode.BinnedInstants, counter = mode === Decode.Counter || mode === Decode.BinnedCounter;
  if (counter && lane.before !== null) return true;
  for (let i = 0; i < n; i++) {
    const begin = exact ? at[i] : tile.from + at[i] * tile.width;
    if (begin >= to) return false;
    if (counter) return true;
    const end = exact ? begin + (lane.length ? lane.length[i] : 0) : begin + tile.width;
    if (end > from || begin >= from) return true;
  }
  return false;
}

/**
 * idleOf lists the rows of a host that have nothing in sight.
 * @param {number} host
 */
async function idleOf(host) {
  const { about } = App, rows = about.rows.flatMap((r, n) => (r.host === host ? [n] : []));
  const level = Lanes.levelFor((View.destination().to - View.destination().from) / View.plot.width), /** @type {Map<string, Promise<Tile | null>>} */ tiles = new Map();
  const tile = (/** @type {number} */ i) => {
    const key = `${level}.${i}`;
    if (!tiles.has(key)) tiles.set(key, Data.load(host, level, i));
    return /** @type {Promise<Tile | null>} */ (tiles.get(key));
  };
  /** @type {number[]} */
  const idle = [];
  for (const row of rows) {
    let busy = false;
    for (const run of Runs.of(row)) {
      const reach = Lanes.reach(run.clock, View.destination()), from = Math.max(reach[0], run.from), to = Math.min(reach[1], run.to);
      if (!(to > from)) continue;
      const width = 2 ** level * Decode.Bins;
      for (let i = Math.floor(from / width); !busy && i <= Math.floor(to / width) && i * width <= about.span; i++) {
        const there = await tile(i);
        busy = !there || there.lacks || about.rows[row].lanes.some(({ lane }) => { const l = there.lanes.get(lane); return l && holds(l, there, from, to); });
      }
    }
    if (!busy) idle.push(row);
  }
  return idle;
}

async function look() {
  const mine = ++turn, hosts = App.about.hosts.flatMap((_, h) => (App.hidden.hosts.has(h) ? [] : [h])).slice(0, Most);
  const lists = yes ? await Promise.all(hosts.map(idleOf)) : [];
  if (mine === turn) Rows.setIdle(new Set(lists.flat()));
}

// soon looks again when the view has come to rest.
function soon() {
  if (!yes) return;
  turn++; // what is being looked through is not in sight any more
  clearTimeout(timer);
  timer = setTimeout(look, Rest);
}

/**
 * set turns the switch.
 * @param {boolean} to
 */
export function set(to) {
  if (yes === to) return;
  yes = to;
  byId("do-idle").setAttribute("aria-pressed", String(yes));
  clearTimeout(timer);
  App.emit("idle", yes);
  look();
}

export function start() {
  App.command({ id: "idle", key: "x", title: "Leave out rows without events in sight", group: "rows", button: true, label: "busy rows", pressed: on, run: () => {
    set(!yes);
    App.announce(yes ? "rows without events in sight are left out" : "all rows are shown");
  } });
  for (const name of ["view", "raw", "hidden", "grown"]) App.on(name, soon);
  // On in the first view. An address says whether it was; rows of what grows are not known yet.
  if (!App.about.live && !/[#&]v=/.test(location.hash)) set(true);
}
