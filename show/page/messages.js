// messages: arrows while they can be told apart; beyond that a wash, whose strength between two neighbouring rows is how
// many messages pass there. Inversions are drawn on top of both in any case: density never hides one.

// visible calls each with every embedded message that crosses the view, of channels that touch the rows in sight.
function visible(plot, each) {
  const { view, model } = plot;
  const from = view.from, to = view.from + view.width * view.perPixel;
  const first = Math.floor(view.scroll / view.rowHeight), last = Math.floor((view.scroll + view.height) / view.rowHeight);
  model.channels.forEach((channel, c) => {
    if (Math.max(channel.from, channel.to) < first || Math.min(channel.from, channel.to) > last) return;
    const { sent, received } = channel;
    const end = lowerBound(sent, to + channel.deepest + 1);
    for (let i = lowerBound(sent, from - channel.longest); i < end; i++) {
      const s = sent[i], r = received[i];
      if (Math.max(s, r) >= from && Math.min(s, r) <= to) each(channel, c, i, s, r);
    }
  });
}

function drawMessages(plot, g, state) {
  const { view, model } = plot;
  plot.arrows = [];
  if (!state.showMessages) return { arrows: 0, washed: 0, inverted: 0 };
  const gaps = Math.max(0, model.rows.length - 1), n = Math.ceil(view.width);
  const normal = [], wrong = [];
  let count = 0, invertedCount = 0;
  visible(plot, (channel, c, i, s, r) => {
    if (inverted(channel, s, r)) {
      invertedCount++;
      if (wrong.length < arrowLimit) wrong.push({ channel: c, index: i, s, r, from: channel.from, to: channel.to });
      return;
    }
    count++;
    if (normal.length < arrowLimit) normal.push({ channel: c, index: i, s, r, from: channel.from, to: channel.to });
  });
  const many = count > arrowLimit;
  const wash = many || !model.facts.embedded.all_messages ? new Wash(gaps, n) : null;
  if (wash) {
    if (many) {
      visible(plot, (channel, c, i, s, r) => {
        if (!inverted(channel, s, r)) wash.add(channel, Math.floor(plot.x((s + r) / 2)), 1);
      });
    }
    if (!model.facts.embedded.all_messages) washDensity(plot, wash);
    wash.draw(plot, g);
  }
  if (!many) drawArrows(plot, g, normal, plot.color.message, normal.length > 600 ? 0.4 : normal.length > 200 ? 0.6 : 0.9);
  drawArrows(plot, g, wrong, plot.color.inverted, 1);
  return { arrows: many ? 0 : count, washed: many ? count : 0, inverted: invertedCount };
}

class Wash {
  constructor(gaps, n) {
    this.n = n;
    this.counts = Array.from({ length: gaps }, () => new Float32Array(n));
    this.inverted = Array.from({ length: gaps }, () => new Uint8Array(n));
  }

  // add lets count messages of a channel pass at pixel column x, through every gap between its two rows.
  add(channel, x, count) {
    if (x < 0) x = 0;
    if (x >= this.n) x = this.n - 1;
    const low = Math.min(channel.from, channel.to), high = Math.max(channel.from, channel.to);
    for (let gap = low; gap < high; gap++) this.counts[gap][x] += count;
  }

  mark(channel, x) {
    const low = Math.min(channel.from, channel.to), high = Math.max(channel.from, channel.to);
    for (let gap = low; gap < high; gap++) this.inverted[gap][x] = 1;
  }

  draw(plot, g) {
    const { view, color } = plot, levels = 16;
    let max = 1;
    for (const counts of this.counts) for (const c of counts) if (c > max) max = c;
    const scale = levels / Math.log1p(max);
    for (let gap = 0; gap < this.counts.length; gap++) {
      const top = plot.y(gap), bottom = plot.y(gap + 1), counts = this.counts[gap];
      if (bottom < 0 || top > view.height) continue;
      const level = (x) => (counts[x] > 0 ? Math.max(1, Math.ceil(Math.log1p(counts[x]) * scale)) : 0);
      g.fillStyle = color.message;
      for (let x = 0; x < this.n;) {
        const here = level(x), start = x;
        while (x < this.n && level(x) === here) x++;
        if (!here) continue;
        g.globalAlpha = 0.08 + 0.42 * here / levels;
        g.fillRect(start, top, x - start, bottom - top);
      }
      g.globalAlpha = 0.9;
      g.fillStyle = color.inverted;
      for (let x = 0; x < this.n; x++) if (this.inverted[gap][x]) g.fillRect(x, top, 1, bottom - top);
    }
    g.globalAlpha = 1;
  }
}

// washDensity adds the messages that are not embedded, step by step of the density.
function washDensity(plot, wash) {
  const { view, model } = plot, width = model.facts.step_width;
  const end = view.from + view.width * view.perPixel;
  const columns = (step) => {
    const x0 = Math.max(0, Math.floor(plot.x(step * width))), x1 = Math.min(wash.n, Math.ceil(plot.x((step + 1) * width)));
    return [x0, Math.max(x0 + 1, x1)];
  };
  for (const channel of model.channels) {
    const { step, count } = channel.lane;
    for (let i = lowerBound(step, Math.floor(view.from / width)); i < step.length && step[i] * width <= end; i++) {
      const [x0, x1] = columns(step[i]), share = count[i] * Math.min(1, view.perPixel / width);
      for (let x = x0; x < x1 && x < wash.n; x++) wash.add(channel, x, share);
    }
    const inverted = channel.invertedLane.step;
    for (let i = lowerBound(inverted, Math.floor(view.from / width)); i < inverted.length && inverted[i] * width <= end; i++) {
      // Where a step is wider than a few pixels, the worst inversions are there as arrows, and a block would lie.
      const [x0, x1] = columns(inverted[i]);
      if (x1 - x0 <= 3 && x0 < wash.n) wash.mark(channel, x0);
    }
  }
}

function drawArrows(plot, g, arrows, color, alpha) {
  const heads = arrows.length <= 400;
  g.strokeStyle = g.fillStyle = color;
  g.globalAlpha = alpha;
  g.lineWidth = 1;
  g.beginPath();
  for (const arrow of arrows) {
    const a = arrow.placed = { x0: plot.x(arrow.s), y0: plot.y(arrow.from), x1: plot.x(arrow.r), y1: plot.y(arrow.to) };
    g.moveTo(a.x0, a.y0);
    g.lineTo(a.x1, a.y1);
    plot.arrows.push(arrow);
  }
  g.stroke();
  if (heads) for (const { placed } of arrows) head(g, placed, 6);
  g.globalAlpha = 1;
}

function head(g, { x0, y0, x1, y1 }, size) {
  const angle = Math.atan2(y1 - y0, x1 - x0);
  g.beginPath();
  g.moveTo(x1, y1);
  g.lineTo(x1 - size * Math.cos(angle - 0.35), y1 - size * Math.sin(angle - 0.35));
  g.lineTo(x1 - size * Math.cos(angle + 0.35), y1 - size * Math.sin(angle + 0.35));
  g.fill();
}

// emphasize draws one message thick, with the intervals of its two ends.
function emphasize(plot, g, { channel, index }) {
  const { model } = plot, c = model.channels[channel];
  const s = c.sent[index], r = c.received[index];
  const place = { x0: plot.x(s), y0: plot.y(c.from), x1: plot.x(r), y1: plot.y(c.to) };
  const color = inverted(c, s, r) ? plot.color.inverted : plot.color.message;
  for (const [row, t] of [[c.from, s], [c.to, r]]) {
    const { below, above } = model.bounds(row, t);
    const from = below === null ? 0 : Math.max(0, plot.x(t - below));
    const to = above === null ? plot.view.width : Math.min(plot.view.width, plot.x(t + above));
    g.globalAlpha = 0.5;
    g.fillStyle = plot.color.bound;
    g.fillRect(from, plot.y(row) - 4, Math.max(1, to - from), 9);
  }
  g.globalAlpha = 1;
  g.strokeStyle = g.fillStyle = color;
  g.lineWidth = 2.5;
  g.beginPath();
  g.moveTo(place.x0, place.y0);
  g.lineTo(place.x1, place.y1);
  g.stroke();
  head(g, place, 10);
  g.lineWidth = 1;
}

// arrowAt returns the drawn message closest to a point, inversions first, if one is within reach.
function arrowAt(plot, x, y, reach) {
  let best = null;
  for (const arrow of plot.arrows) {
    const { x0, y0, x1, y1 } = arrow.placed, dx = x1 - x0, dy = y1 - y0;
    const part = Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1)));
    const distance = Math.hypot(x - x0 - part * dx, y - y0 - part * dy);
    if (distance <= reach) {
      best = { kind: "message", channel: arrow.channel, index: arrow.index };
      reach = distance;
    }
  }
  return best;
}
