// time: instants and durations as people read them. Absolute instants pass through BigInt, so that every nanosecond
// shown is the one that was stamped.

const units = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];

// duration writes ns with four significant digits, as show/units.go does.
function duration(ns) {
  const size = Math.abs(ns);
  if (size < 999.5) return minus(`${Number.isInteger(ns) ? ns : ns.toFixed(size < 10 ? 1 : 0)} ns`);
  const [name, unit] = size < 999.95e3 ? units[1] : size < 999.95e6 ? units[2] : units[3];
  const v = ns / unit, a = Math.abs(v);
  return minus(`${v.toFixed(a < 9.9995 ? 3 : a < 99.995 ? 2 : a < 999.95 ? 1 : 0)} ${name}`);
}

const minus = (text) => text.replace("-", "−");

// exactly writes all nanoseconds, with a blank between thousands.
const exactly = (ns) => `${grouped(Math.round(ns))} ns`;

const grouped = (n) => minus(String(n).replace(/\B(?=(\d{3})+$)/g, " "));

// margin writes the interval [-below, +above] around an instant; null stands for an unbounded side.
function margin(below, above) {
  const low = below === null ? "−∞" : below === 0 ? "0" : `−${duration(Math.ceil(below))}`.replace("−−", "+");
  const high = above === null ? "+∞" : above === 0 ? "0" : `+${duration(Math.ceil(above))}`.replace("+−", "−");
  return low === "0" && high === "0" ? "exact" : `${low} … ${high}`;
}

class Times {
  constructor(base) {
    this.base = BigInt(base);
    // Stamps between 2000 and 2116 are taken for time since 1970; others for a counter such as time since boot.
    this.epoch = this.base >= 946684800000000000n;
  }

  // clock writes the time of day of an instant with as many decimals of the second as asked for.
  clock(t, decimals) {
    const ns = this.base + BigInt(Math.round(t));
    let second = ns / 1000000000n, rest = ns % 1000000000n;
    if (rest < 0n) { second -= 1n; rest += 1000000000n; }
    const fraction = decimals ? "." + String(rest).padStart(9, "0").slice(0, decimals) : "";
    if (!this.epoch) return `${second < 0n && rest ? `-${-second - 1n}` : second}${second < 0n && rest ? complement(rest, decimals) : fraction} s`;
    return new Date(Number(second) * 1000).toISOString().slice(11, 19) + fraction;
  }

  date(t) {
    if (!this.epoch) return "";
    const second = (this.base + BigInt(Math.round(t))) / 1000000000n;
    return new Date(Number(second) * 1000).toISOString().slice(0, 10);
  }

  full(t) {
    return this.epoch ? `${this.date(t)} ${this.clock(t, 9)} UTC` : this.clock(t, 9);
  }

  // since writes an instant relative to the first, to the nanosecond.
  since(t) {
    const ns = Math.round(t), size = Math.abs(ns);
    const [name, unit, decimals] = size < 1e3 ? ["ns", 1, 0] : size < 1e6 ? ["µs", 1e3, 3] : size < 1e9 ? ["ms", 1e6, 6] : ["s", 1e9, 9];
    const whole = Math.floor(size / unit), rest = decimals ? "." + String(size % unit).padStart(decimals, "0") : "";
    return `${ns < 0 ? "−" : "+"}${whole}${rest} ${name}`;
  }
}

// complement is the fraction of a negative number whose floor and positive rest are known.
function complement(rest, decimals) {
  return decimals ? "." + String(1000000000n - rest).padStart(9, "0").slice(0, decimals) : "";
}

const coarse = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400].map((s) => s * 1e9);

// stepFor returns the distance of ticks that is at least ns: 1, 2 or 5 times a power of ten below a second, what clocks
// show above it.
function stepFor(ns, epoch) {
  if (ns > 1e9 && epoch) {
    const step = coarse.find((s) => s >= ns);
    if (step) return step;
    return 86400e9 * stepFor(ns / 86400e9, false);
  }
  const power = 10 ** Math.max(0, Math.floor(Math.log10(ns)));
  return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= ns) ?? 10 * power;
}

const decimalsOf = (step) => Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(step) + 1e-9)));
