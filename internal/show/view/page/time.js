// time: instants and durations as people read them. Absolute instants pass through BigInt, so that every nanosecond
// shown is the one that was stamped; what is since the origin is a Number, exact up to 2^53 ns (104 days).

/** @type {[name: string, ns: number][]} */
const units = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9], ["min", 60e9], ["h", 3600e9], ["d", 86400e9]];
let base = 0n;
let epoch = false;

/**
 * @param {string} text
 */
const minus = (text) => text.replace("-", "−");
/**
 * @param {number} n
 */
export const grouped = (n) => minus(String(n).replace(/\B(?=(\d{3})+$)/g, "\u2009"));

/**
 * open sets the origin. Stamps between 2000 and 2116 are taken for time since 1970; others for a counter such as time
 * since boot.
 * @param {string} origin
 */
export function open(origin) {
  base = BigInt(origin);
  epoch = base >= 946684800000000000n && base < 4607452800000000000n;
}

/**
 * duration writes ns with four significant digits at most.
 * @param {number} ns
 */
export function duration(ns) {
  const size = Math.abs(ns);
  if (size < 999.5) return minus(`${Number.isInteger(ns) ? ns : size < 0.1 ? ns.toPrecision(1) : ns.toFixed(size < 10 ? 1 : 0)} ns`);
  let i = 1;
  while (i < units.length - 1 && size >= (i < 3 ? 999.95 * units[i][1] : 2 * units[i + 1][1])) i++;
  const v = ns / units[i][1], a = Math.abs(v);
  return minus(`${v.toFixed(a < 9.9995 ? 3 : a < 99.995 ? 2 : a < 999.95 ? 1 : 0)} ${units[i][0]}`);
}

/**
 * brief is a duration for a label: no zeros at its end.
 * @param {number} ns
 */
export const brief = (ns) => duration(ns).replace(/\.0+(?= )|(\.\d*?)0+(?= )/, "$1");

/**
 * exactly writes all nanoseconds, with a thin blank between thousands.
 * @param {number} ns
 */
export const exactly = (ns) => `${grouped(Math.round(ns))} ns`;

/**
 * margin writes the interval [-below, +above] around an instant; null stands for an unbounded side.
 * @param {number | null} below
 * @param {number | null} above
 */
export function margin(below, above) {
  if (below !== null && above !== null && Math.abs(below - above) <= 0.02 * Math.max(1, below, above)) {
    return Math.max(below, above) > 0 ? `±${brief(Math.ceil(Math.max(below, above)))}` : "exact";
  }
  const low = below === null ? "−∞" : below === 0 ? "0" : `−${brief(Math.ceil(below))}`.replace("−−", "+");
  const high = above === null ? "+∞" : above === 0 ? "0" : `+${brief(Math.ceil(above))}`.replace("+−", "−");
  return `${low} … ${high}`;
}

/**
 * bound is how far off an instant is at most, on either side: short enough to stand beside a name.
 * @param {number | null} low
 * @param {number | null} high
 */
export function bound(low, high) {
  if (low === null && high === null) return "no bound";
  if (low === null || high === null) return low === null ? `+${rough(high ?? 0)}, −∞` : `−${rough(low)}, +∞`;
  const most = Math.max(low, high);
  return most <= 0 ? "exact" : `±${rough(most)}`;
}

/**
 * rough has three digits at most, rounded up so that a bound stays one.
 * @param {number} ns
 */
function rough(ns) {
  const n = Math.ceil(ns), step = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, n))) - 2);
  return brief(Math.ceil(n / step) * step);
}

/**
 * split makes an instant whole seconds and the ns that are left.
 * @param {number} t
 */
function split(t) {
  const ns = base + BigInt(Math.round(t));
  let second = ns / 1000000000n, rest = ns % 1000000000n;
  if (rest < 0n) { second -= 1n; rest += 1000000000n; }
  return [second, rest];
}

/**
 * clock writes the time of day of an instant with as many decimals of the second as asked for.
 * @param {number} t
 * @param {number} [decimals]
 */
export function clock(t, decimals = 9) {
  let [second, rest] = split(t);
  const sign = !epoch && second < 0n ? "−" : "";
  if (sign) [second, rest] = rest ? [-second - 1n, 1000000000n - rest] : [-second, 0n];
  const fraction = decimals ? "." + String(rest).padStart(9, "0").slice(0, decimals) : "";
  if (!epoch) return `${sign}${second}${fraction} s`;
  return new Date(Number(second) * 1000).toISOString().slice(11, 19) + fraction;
}

/**
 * @param {number} t
 */
export const date = (t) => (epoch ? new Date(Number(split(t)[0]) * 1000).toISOString().slice(0, 10) : "");
/**
 * @param {number} t
 */
export const full = (t) => (epoch ? `${date(t)} ${clock(t, 9)} UTC` : clock(t, 9));

/**
 * since writes an instant relative to the origin, to the nanosecond.
 * @param {number} t
 */
export function since(t) {
  const ns = Math.round(t), size = Math.abs(ns);
  /** @type {[string, number, number]} */
  const [name, unit, decimals] = size < 1e3 ? ["ns", 1, 0] : size < 1e6 ? ["µs", 1e3, 3] : size < 1e9 ? ["ms", 1e6, 6] : ["s", 1e9, 9];
  const whole = Math.floor(size / unit), rest = decimals ? "." + String(size % unit).padStart(decimals, "0") : "";
  return `${ns < 0 ? "−" : "+"}${whole}${rest} ${name}`;
}

const coarse = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200].map((s) => s * 1e9);

/**
 * stepFor returns the distance of ticks that is at least ns: 1, 2 or 5 times a power of ten below a second and from a
 * day on, what clocks show between.
 * @param {number} ns
 */
export function stepFor(ns) {
  if (ns > 1e9) {
    const step = coarse.find((s) => s >= ns);
    if (step) return step;
  }
  const unit = ns > 1e9 ? 86400e9 : 1, want = ns / unit;
  const power = 10 ** Math.max(0, Math.floor(Math.log10(want)));
  return unit * ([1, 2, 5, 10].map((m) => m * power).find((s) => s >= want) ?? 10 * power);
}

/**
 * mark writes a tick: relative to a whole instant that the header names.
 * @param {number} ns
 */
export function mark(ns) {
  if (ns === 0) return "0";
  const size = Math.abs(ns), sign = ns < 0 ? "−" : "+";
  let i = 0;
  while (i < 3 && size >= units[i + 1][1]) i++;
  if (i === 3 && size >= 60e9) {
    const whole = Math.round(size), s = Math.floor(whole / 1e9), part = whole % 1e9 ? `.${String(whole % 1e9).padStart(9, "0").replace(/0+$/, "")}` : "", two = (/** @type {number} */ n) => String(n).padStart(2, "0");
    const days = Math.floor(s / 86400), clock = `${two(Math.floor(s / 3600) % 24)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}${part}`;
    return sign + (days ? `${days} d${whole % 86400e9 ? ` ${clock}` : ""}` : clock);
  }
  return `${sign}${Number((size / units[i][1]).toFixed(9))} ${units[i][0]}`;
}

/**
 * offset is the whole instant since which ticks count: the greatest multiple of a step that is wide enough.
 * @param {number} from
 * @param {number} to
 */
export function anchor(from, to) {
  const span = to - from;
  let step = 1e3;
  while (step < span * 2 && step < 1e9) step *= 1e3;
  // Where the origin is in sight, ticks count from there: a view that begins a little before it does not begin at "+1 s".
  return { at: span > 0.5e9 || (from <= 0 && to >= 0) ? 0 : Math.floor(from / step) * step, step };
}
