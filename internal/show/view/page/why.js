// why: the reasons, in words, for which the bound of a host is as wide as it is at an instant, and what would make it
// narrower. What is looked at: how many messages went each way, the quickest messages both ways, the messages next to the instant,
// the steps of the stamps, and whether the clock was set.

import { App } from "./app.js";
import { make, name } from "./elements.js";
import * as Jump from "./jump.js";
import * as Order from "./order.js";

/** @import { Histogram, Link } from "./types.js" */

/**
 * @typedef {{ width: number | null, least: number | null, reference: string, isReference: boolean, names: (host: number) => string, host: number,
 *   pairs: { other: number, out: number, back: number, bothWays: number | null }[], before: number | null, after: number | null,
 *   granularity: number, set: boolean, low: boolean, high: boolean, connected: number[] }} Known
 */

const MaxLinks = 24; // of a host, whose nearest messages are looked for
const wide = 1.5; // times its least, from which a bound counts as widened by a pause

/**
 * reasons says them: [why, what would help], in the order of their weight. Lengths are ns.
 * @param {Known} known
 * @param {(ns: number) => string} duration
 * @returns {[why: string, mend: string][]}
 */
export function reasons(known, duration) {
  const { width, least, host, names, pairs, granularity } = known, /** @type {[string, string][]} */ list = [], me = names(host);
  if (known.isReference) return list;
  if (!pairs.length) {
    list.push([`No messages connect ${me} with another host.`, `Record messages between ${me} and another host: packets on both, spans, or tags.`]);
    return list;
  }
  const ways = pairs.filter((p) => p.out && p.back), oneWay = pairs.filter((p) => !p.out || !p.back);
  if (!ways.length && (!known.low || !known.high || width === null)) {
    for (const p of oneWay.slice(0, 3)) {
      const [from, to] = p.out ? [me, names(p.other)] : [names(p.other), me];
      list.push([`Messages went one way only, from ${from} to ${to}: a clock is bounded on one side by them.`, `Record what came back from ${to} to ${from}.`]);
    }
  }
  if (known.set) list.push(["The clock was set while it was recorded: what it showed before says nothing of what it showed after.", "Record while the clock is not set, or with steering recorded (meridian record)."]);
  const gaps = [known.before, known.after].flatMap((g) => (g === null ? [] : [g])), gap = gaps.length ? Math.min(...gaps) : null;
  if (width !== null && least !== null && width > wide * least && gap !== null) {
    const parts = [known.before !== null && `${duration(known.before)} before`, known.after !== null && `${duration(known.after)} after`].filter(Boolean);
    list.push([`The nearest messages are ${parts.join(" and ")}; in a pause the clock may wander (${duration(least)} where messages are dense).`, "Exchange messages more often, for example with meridian record --probes."]);
  }
  const quick = ways.filter((p) => p.bothWays !== null).sort((a, b) => (a.bothWays ?? 0) - (b.bothWays ?? 0))[0];
  if (quick && quick.bothWays !== null && width !== null && (least ?? width) >= quick.bothWays / 4) {
    list.push([`The quickest message to ${names(quick.other)} and the quickest back took ${duration(quick.bothWays)} together, which may be of two exchanges (the least round trip is of one): no bound is narrower than half of that.`,
      "A shorter route, or stamps nearer to the wire, would narrow it."]);
  }
  if (known.connected.length && !known.connected.some((h) => names(h) === known.reference)) {
    list.push([`The way to ${known.reference} leads over ${known.connected.slice(0, 3).map(names).join(", ")}: the bounds of each part add up.`, `Messages straight between ${me} and ${known.reference} would narrow it.`]);
  }
  if (width !== null && granularity > 1 && width <= 8 * granularity) list.push([`Stamps are in steps of ${duration(granularity)}.`, "Record with finer stamps."]);
  return list;
}

/**
 * pairsOf lists with whom a host exchanged messages, and the least delays of both ways together: what the clocks are off cancels
 * out. They may be of two exchanges, so the least round trip, which is of one, is longer (docs/report.md, min_rtt_ns).
 * @param {number} host
 * @param {Histogram[]} delays
 */
export function pairsOf(host, delays) {
  const others = [...new Set(delays.flatMap((d) => (d.from === host ? [d.to] : d.to === host ? [d.from] : [])))].filter((h) => h !== host);
  return others.map((other) => {
    const out = delays.find((d) => d.from === host && d.to === other), back = delays.find((d) => d.from === other && d.to === host);
    return { other, out: out?.messages ?? 0, back: back?.messages ?? 0, bothWays: out && back && out.least + back.least > 0 ? out.least + back.least : null };
  });
}

/**
 * nearest finds how far the messages of a host are from an instant: before it, and after it.
 * @param {number} host
 * @param {number} at
 */
async function nearest(host, at) {
  const { about } = App, hostOf = (/** @type {number} */ row) => about.rows[row]?.host;
  const links = about.links.filter((/** @type {Link} */ l) => (hostOf(l.from) === host) !== (hostOf(l.to) === host)).sort((a, b) => b.messages - a.messages).slice(0, MaxLinks);
  const seek = async (/** @type {number} */ dir) => {
    const found = await Promise.all(links.map((l) => Jump.seek(about.hosts.length, l.lane, at, dir > 0 ? -1 : Infinity, dir).catch(() => null)));
    const gaps = found.flatMap((item) => (item ? [Math.abs(item.at - at)] : []));
    return gaps.length ? Math.min(...gaps) : null;
  };
  const [before, after] = await Promise.all([seek(-1), seek(1)]);
  return { before, after };
}

/**
 * ask gathers what is known of a host's bound at an instant, and gives the reasons.
 * @param {number} host
 * @param {number} clock
 * @param {number} at
 */
export async function ask(host, clock, at) {
  const { about } = App, facts = about.clocks[clock], of = about.hosts[host], { low, high } = Order.boundsAt(clock, at);
  const pairs = pairsOf(host, about.delays ?? []), { before, after } = await nearest(host, at);
  const widths = (facts?.corners ?? []).map((c) => Math.max(c[1], c[2]));
  return reasons({
    width: low === null || high === null ? null : Math.max(at - low, high - at), least: widths.length && facts.low && facts.high ? Math.min(...widths) : null,
    reference: of.reference, isReference: of.reference === of.name && low === high, names: (h) => about.hosts[h].name, host, pairs, before, after,
    granularity: Order.granularityOf(clock), set: Boolean(facts?.set), low: facts?.low ?? true, high: facts?.high ?? true, connected: pairs.map((p) => p.other),
  }, App.duration);
}

/**
 * list writes reasons as a list; empty where there are none.
 * @param {[string, string][]} found
 */
export const list = (found) => (found.length ? make("ul", { class: "why" }, ...found.map(([why, mend]) => make("li", {}, name(why), make("span", { class: "mend" }, " ", name(mend))))) : make("span", {}));

/**
 * section writes why a host's bound is as wide as it is, as soon as it is known.
 * @param {number} host
 * @param {number} clock
 * @param {number} at
 */
export function section(host, clock, at) {
  const made = make("div", { class: "why-of" });
  if (clock < 0) return made;
  ask(host, clock, at).then((found) => { if (found.length) made.replaceChildren(list(found)); }).catch(() => {});
  return made;
}
