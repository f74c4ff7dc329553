// model: questions about the decoded columns, each answered by binary search or running sums, whatever the zoom.

// lowerBound returns the first index between from and to whose time is not before t.
function lowerBound(times, t, from = 0, to = times.length) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (times[middle] < t) from = middle + 1;
    else to = middle;
  }
  return from;
}

// inverted tells a message received before it was sent by more than the step of the receiver's stamps explains.
function inverted(channel, sent, received) {
  return received + channel.step < sent;
}

class Model {
  constructor(facts, data) {
    this.facts = facts;
    this.rows = data.rows;
    this.channels = data.channels;
    this.steps = data.steps;
    this.times = new Times(facts.base);
    this.first = -facts.margin;
    this.last = facts.span + facts.margin;
    this.inversions = [];
    this.channels.forEach((channel, c) => {
      for (let i = 0; i < channel.sent.length; i++) {
        if (inverted(channel, channel.sent[i], channel.received[i])) this.inversions.push({ channel: c, index: i, at: channel.sent[i] });
      }
    });
    this.inversions.sort((a, b) => a.at - b.at);
    for (const channel of this.channels) if (channel.lane) channel.lane = this.beyondWindows(channel.lane);
    this.decoder = new TextDecoder();
  }

  // beyondWindows leaves out the steps of a lane in which every message is embedded anyway.
  beyondWindows(lane) {
    const width = this.facts.step_width;
    const keep = Array.from(lane.step.keys()).filter((i) => !this.embedded(lane.step[i] * width, (lane.step[i] + 1) * width, false));
    return { step: Float64Array.from(keep, (i) => lane.step[i]), count: Float64Array.from(keep, (i) => lane.count[i]) };
  }

  // bounds returns how far before and after t the true time of that instant of the row may lie; null: unbounded.
  bounds(row, t) {
    const { band, low_ok, high_ok } = this.rows[row];
    const last = band.at.length - 1;
    const i = Math.max(0, Math.min(last - 1, lowerBound(band.at, t) - 1));
    const length = last ? band.at[i + 1] - band.at[i] : 0;
    const part = length > 0 ? Math.max(0, Math.min(1, (t - band.at[i]) / length)) : 0;
    const between = (column) => (last ? column[i] + part * (column[i + 1] - column[i]) : column[0]);
    return { below: low_ok ? Math.ceil(between(band.below)) : null, above: high_ok ? Math.ceil(between(band.above)) : null };
  }

  comparable(a, b) { return this.rows[a].component === this.rows[b].component; }

  // difference returns how much later b is than a, each {row, t}, and between which two lengths that lies for certain.
  difference(a, b) {
    const x = this.bounds(a.row, a.t), y = this.bounds(b.row, b.t), delta = b.t - a.t;
    const comparable = this.comparable(a.row, b.row);
    const low = comparable && y.below !== null && x.above !== null ? delta - y.below - x.above : null;
    const high = comparable && y.above !== null && x.below !== null ? delta + y.above + x.below : null;
    return { delta, low, high, comparable };
  }

  // embedded says whether every event (or message) between two instants is there one by one.
  embedded(from, to, all) {
    if (all) return true;
    const i = this.facts.windows.findIndex((w) => w[1] >= from);
    return i >= 0 && this.facts.windows[i][0] <= from && this.facts.windows[i][1] >= to;
  }

  // density returns about how many events of a row lie in [from, to), from the running sums.
  density(row, from, to) {
    const before = this.rows[row].before, width = this.facts.step_width;
    const upTo = (t) => {
      const x = Math.max(0, Math.min(this.steps, t / width)), i = Math.min(Math.floor(x), this.steps - 1);
      return before[i] + (x - i) * (before[i + 1] - before[i]);
    };
    return upTo(to) - upTo(from);
  }

  // columns counts the events of a row in n equal columns from t on. The counts are exact where events are embedded.
  columns(row, t, width, n, counts) {
    const { times, before } = this.rows[row];
    const all = this.facts.embedded.all_events || !before;
    let max = 0, i = lowerBound(times, t);
    for (let x = 0; x < n; x++) {
      const from = t + x * width, to = from + width;
      const end = lowerBound(times, to, i);
      let count = end - i;
      if (!all && !this.embedded(from, to, false)) count = Math.max(count, this.density(row, from, to));
      i = end;
      counts[x] = count;
      if (count > max) max = count;
    }
    return max;
  }

  // count returns how many events of a row lie in [from, to], exactly if they are embedded.
  count(row, from, to) {
    const { times, before } = this.rows[row];
    if (before && !this.embedded(from, to, this.facts.embedded.all_events)) return Math.ceil(this.density(row, from, to));
    return lowerBound(times, to) - lowerBound(times, from);
  }

  // nearest returns the event of a row that is closest to t, or -1 if none is within reach.
  nearest(row, t, reach) {
    const times = this.rows[row].times, i = lowerBound(times, t);
    let best = -1;
    for (const k of [i - 1, i]) {
      if (k >= 0 && k < times.length && Math.abs(times[k] - t) <= reach) {
        best = k;
        reach = Math.abs(times[k] - t);
      }
    }
    return best;
  }

  describe(row, index) {
    const { texts, numbers } = this.rows[row];
    if (texts) {
      const text = this.decoder.decode(texts.bytes.subarray(index ? texts.ends[index - 1] : 0, texts.ends[index]));
      if (text) return text;
    }
    return `event ${numbers[index]}`;
  }
}
