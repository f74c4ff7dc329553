// decode: the columns that show/columns.go wrote become sorted arrays of instants. An instant is a Number of
// nanoseconds since the first one, exact up to 2^53 (104 days); only when it is shown does the base, a BigInt, join it.

class Varints {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  unsigned() {
    let value = 0, unit = 1, byte;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * unit;
      unit *= 128;
    } while (byte > 127);
    return value;
  }
  signed() {
    const u = this.unsigned();
    return u % 2 ? -(u + 1) / 2 : u / 2;
  }
  // rising reads n differences as a sorted column.
  rising(n, first = 0) {
    const column = new Float64Array(n);
    for (let i = 0, value = first; i < n; i++) column[i] = value += this.unsigned();
    return column;
  }
  // wandering reads n signed differences.
  wandering(n) {
    const column = new Float64Array(n);
    for (let i = 0, value = 0; i < n; i++) column[i] = value += this.signed();
    return column;
  }
  take(n) {
    this.at += n;
    return this.bytes.subarray(this.at - n, this.at);
  }
}

async function inflate(base64) {
  const text = atob(base64);
  const small = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) small[i] = text.charCodeAt(i);
  const stream = new Blob([small]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function decodeRow(input) {
  const corners = input.unsigned();
  const at = new Float64Array(corners);
  for (let i = 0, value = 0; i < corners; i++) at[i] = value = i ? value + input.unsigned() : input.signed();
  const band = { at, below: input.wandering(corners), above: input.wandering(corners) };
  const n = input.unsigned();
  const row = { band, times: input.rising(n), numbers: input.wandering(n), texts: null };
  if (input.unsigned()) {
    const ends = input.rising(n);
    row.texts = { ends, bytes: input.take(n ? ends[n - 1] : 0) };
  }
  return row;
}

function decodeChannel(input) {
  const n = input.unsigned();
  const sent = input.rising(n), received = new Float64Array(n);
  let longest = 0, deepest = 0;
  for (let i = 0; i < n; i++) {
    const delay = input.signed();
    received[i] = sent[i] + delay;
    longest = Math.max(longest, delay);
    deepest = Math.max(deepest, -delay);
  }
  return { sent, received, longest, deepest };
}

function decodeLane(input) {
  const n = input.unsigned();
  return { step: input.rising(n), count: Float64Array.from({ length: n }, () => input.unsigned()) };
}

// sums turns a lane into running sums: how many lie in the steps before each.
function sums(lane, steps) {
  const before = new Float64Array(steps + 1);
  lane.step.forEach((step, i) => { before[step + 1] = lane.count[i]; });
  for (let i = 1; i <= steps; i++) before[i] += before[i - 1];
  return before;
}

async function decode(facts, base64) {
  const input = new Varints(await inflate(base64));
  const rows = facts.rows.map((fact) => ({ ...fact, ...decodeRow(input) }));
  const channels = facts.channels.map(([from, to, step]) => ({ from, to, step, ...decodeChannel(input) }));
  const steps = input.unsigned();
  if (steps) {
    for (const row of rows) row.before = sums(decodeLane(input), steps);
    for (const channel of channels) {
      channel.lane = decodeLane(input);
      channel.invertedLane = decodeLane(input);
    }
  }
  return { rows, channels, steps };
}
