// perfetto: what is in view, event by event, for the Perfetto UI: as the JSON that it reads, given to a tab of ui.perfetto.dev by
// its protocol of messages between windows (PING, PONG, then the trace). The trace stays in the browser. Where that site does
// not answer, the file is saved, to be opened there or in another viewer of Chrome traces.

import { App } from "./app.js";
import { plural } from "./elements.js";
import * as Save from "./save.js";
import * as Tables from "./tables.js";

/** @import { InView } from "./types.js" */

const Site = "https://ui.perfetto.dev";
const Wait = 30000; // ms for which the site may take to answer
const Again = 100; // ms between two PINGs

/**
 * trace makes the JSON. Instants are µs since the timeline's origin, exact to the ns; a host is a process, a row a thread. The ends
 * of messages are slices without length, between which Perfetto draws its arrows.
 * @param {Pick<InView, "events" | "messages">} view
 */
export function trace({ events, messages }) {
  const { hosts, rows } = App.about, us = (/** @type {number} */ ns) => Number((ns / 1000).toFixed(3));
  /** @type {Record<string, unknown>[]} */
  const list = [];
  const used = new Set([...events.map((e) => e.of.row), ...messages.flatMap((m) => [m.of.from, m.of.to])]);
  for (const row of used) list.push({ ph: "M", name: "thread_name", pid: rows[row].host + 1, tid: row + 1, args: { name: rows[row].name } });
  for (const host of new Set([...used].map((row) => rows[row].host))) list.push({ ph: "M", name: "process_name", pid: host + 1, args: { name: hosts[host].name } });
  const on = (/** @type {number} */ row) => ({ pid: rows[row].host + 1, tid: row + 1 });
  for (const { of, at, lane, i } of events) {
    if (of.kind === "counter") list.push({ ph: "C", name: `${rows[of.row].name} ${of.name ?? ""}`.trim(), ts: us(at), ...on(of.row), args: { value: lane.value[i] } });
    else if (of.kind === "slices") list.push({ ph: "X", name: App.className(lane.name[i]), ts: us(at), dur: us(lane.length[i]), ...on(of.row), args: { event: lane.event[i] } });
    else list.push({ ph: "i", s: "t", name: App.className(lane.name[i]), ts: us(at), ...on(of.row), args: { event: lane.event[i] } });
  }
  messages.forEach(({ of, at, lane, i }, id) => {
    const received = at + lane.delay[i];
    list.push({ ph: "X", name: `to ${hosts[rows[of.to].host].name}`, cat: "message", ts: us(at), dur: 0, ...on(of.from) }, { ph: "s", name: "message", cat: "message", id, ts: us(at), ...on(of.from) },
      { ph: "X", name: `from ${hosts[rows[of.from].host].name}`, cat: "message", ts: us(received), dur: 0, ...on(of.to) }, { ph: "f", bp: "e", name: "message", cat: "message", id, ts: us(received), ...on(of.to) });
  });
  return JSON.stringify({ traceEvents: list, displayTimeUnit: "ns", otherData: { title: App.about.title, origin_ns: App.about.origin } });
}

/**
 * give hands a trace to a tab; it returns whether the tab took it.
 * @param {Pick<Window, "postMessage"> | null} tab
 * @param {string} text
 * @param {number} wait
 */
function give(tab, text, wait) {
  return new Promise((done) => {
    if (!tab) return done(false);
    const until = performance.now() + wait;
    const end = (/** @type {boolean} */ taken) => { clearInterval(timer); removeEventListener("message", heard); done(taken); };
    const heard = (/** @type {MessageEvent} */ e) => {
      if (e.origin !== Site || e.data !== "PONG") return;
      const { buffer } = new TextEncoder().encode(text);
      tab.postMessage({ perfetto: { buffer, title: App.about.title || "Meridian", fileName: "timeline.json" } }, Site);
      end(true);
    };
    addEventListener("message", heard);
    const timer = setInterval(() => { if (performance.now() > until) end(false); else tab.postMessage("PING", Site); }, Again);
  });
}

/**
 * open shows what is in view in the Perfetto UI. The tab is opened first: browsers allow that only at once after a press.
 * @param {(words: string) => void} say
 * @param {number} [wait]
 */
export async function open(say, wait = Wait) {
  const tab = window.open(Site);
  say("reading what is in view…");
  const view = await Tables.inView(), text = trace(view), parts = `${plural(view.events.length, "event")} and ${plural(view.messages.length, "message")}`;
  const without = view.counted ? `; ${plural(view.counted, "event")} of what is only counted at this scale are not in it: zoom in` : "";
  say(`${parts}${without}. Waiting for ui.perfetto.dev…`);
  if (await give(tab, text, wait)) return say(`ui.perfetto.dev has ${parts}${without}`);
  Save.file("timeline.json", new Blob([text], { type: "application/json" }));
  say(`ui.perfetto.dev did not answer: timeline.json is saved, with ${parts}${without}. Open it there, or in another viewer of Chrome traces`);
}
