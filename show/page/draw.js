// draw: one frame. What is drawn costs rows times pixels, never events: each pixel column of a row asks the model for
// its count.

const arrowLimit = 1500; // beyond this many messages in view, arrows are a hairball and become a wash

class Plot {
  constructor(model, view) {
    this.model = model;
    this.view = view;
    this.canvas = document.getElementById("plot");
    this.ruler = document.getElementById("ruler");
    this.still = document.createElement("canvas"); // what only changes with the view
    this.stillOf = "";
    this.arrows = []; // as drawn, for the pointer to find
    this.recolor();
  }

  recolor() {
    const style = getComputedStyle(document.documentElement);
    this.color = {};
    for (const name of ["ground", "lane", "line", "text", "dim", "event", "message", "inverted", "bound", "span"]) {
      this.color[name] = style.getPropertyValue("--" + name).trim();
    }
  }

  // begin sizes a canvas for the screen's pixels and returns its context, cleared.
  begin(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
    }
    const g = canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    return g;
  }

  x(t) { return (t - this.view.from) / this.view.perPixel; }
  y(row) { return (row + 0.5) * this.view.rowHeight - this.view.scroll; }

  // frame draws the picture of the view, and over it what belongs to the cursor. It returns how messages are drawn.
  frame(state) {
    const { view, model } = this;
    const g = this.begin(this.canvas, view.width, view.height);
    const first = Math.max(0, Math.floor(view.scroll / view.rowHeight));
    const last = Math.min(model.rows.length - 1, Math.floor((view.scroll + view.height) / view.rowHeight));
    const ticks = this.scales(state);
    const key = [view.from, view.perPixel, view.scroll, view.rowHeight, view.width, view.height, window.devicePixelRatio,
      state.showMessages, this.color.ground].join();
    if (key !== this.stillOf) {
      const still = this.begin(this.still, view.width, view.height);
      this.lanes(still, first, last);
      this.grid(still, ticks);
      this.drawn = drawMessages(this, still, state);
      this.events(still, first, last);
      this.stillOf = key;
    }
    g.drawImage(this.still, 0, 0, view.width, view.height);
    if (state.measured) this.span(g, state.measured);
    if (state.cursor) this.bands(g, state.cursor.t, first, last);
    this.emphasis(g, state.pinned ?? state.hit);
    if (state.cursor) {
      g.strokeStyle = this.color.bound;
      g.beginPath();
      g.moveTo(Math.round(state.cursor.x) + 0.5, 0);
      g.lineTo(Math.round(state.cursor.x) + 0.5, view.height);
      g.stroke();
    }
    return this.drawn;
  }

  grid(g, ticks) {
    g.fillStyle = this.color.line;
    g.globalAlpha = 0.55;
    for (const x of ticks) g.fillRect(Math.round(x), 0, 1, this.view.height);
    g.globalAlpha = 1;
  }

  emphasis(g, hit) {
    if (!hit) return;
    if (hit.kind === "message") return emphasize(this, g, hit);
    const x = this.x(this.model.rows[hit.row].times[hit.index]), y = this.y(hit.row);
    g.fillStyle = this.color.text;
    g.fillRect(x - 1.5, y - 15, 3, 30);
  }

  lanes(g, first, last) {
    const { view } = this;
    for (let row = first; row <= last; row++) {
      const top = row * view.rowHeight - view.scroll;
      if (row % 2) {
        g.fillStyle = this.color.lane;
        g.fillRect(0, top, view.width, view.rowHeight);
      }
      g.fillStyle = this.color.line;
      g.fillRect(0, Math.round(top + view.rowHeight) - 1, view.width, 1);
      g.fillRect(0, Math.round(this.y(row)), view.width, 1);
    }
  }

  // scales draws absolute time above relative time, each with ticks at its own round numbers, and returns where the
  // relative ones are.
  scales(state) {
    const { view, model } = this;
    const g = this.begin(this.ruler, view.width, 42);
    g.font = "11px ui-monospace, Menlo, Consolas, monospace";
    g.textBaseline = "middle";
    const times = model.times;
    const ticks = (origin, epoch, y, color, label) => {
      const probe = stepFor(Math.max(1, view.perPixel * 60), epoch);
      const wide = g.measureText(label(view.from + view.width * view.perPixel, probe)).width + 26;
      const step = stepFor(Math.max(1, view.perPixel * wide), epoch);
      const places = [];
      // The first tick: a multiple of the step, counted from the origin, which may be exact only as a BigInt.
      const start = BigInt(Math.floor(view.from)) + origin, big = BigInt(Math.round(step));
      let t = Number((start / big) * big - origin) - step;
      for (; (t - view.from) / view.perPixel < view.width; t += step) {
        const x = this.x(t);
        places.push(x);
        g.fillStyle = this.color.line;
        g.fillRect(Math.round(x), y - 10, 1, 20);
        g.fillStyle = color;
        const text = label(t, step);
        if (x > -4 && x + 4 + g.measureText(text).width <= view.width) g.fillText(text, x + 4, y);
      }
      return places;
    };
    ticks(times.base, times.epoch, 11, this.color.text, (t, step) => times.clock(t, decimalsOf(step)));
    const places = ticks(0n, false, 31, this.color.dim, (t, step) => relative(t, step));
    if (state.measured) {
      const { a, b } = state.measured, x0 = this.x(Math.min(a.t, b.t)), x1 = this.x(Math.max(a.t, b.t));
      g.fillStyle = this.color.span;
      g.globalAlpha = 0.3;
      g.fillRect(x0, 0, Math.max(1, x1 - x0), 42);
      g.globalAlpha = 1;
    }
    if (state.cursor) {
      g.fillStyle = this.color.bound;
      g.fillRect(Math.round(state.cursor.x), 0, 1, 42);
    }
    return places;
  }

  // bands shades where the instant under the cursor may truly lie, row by row.
  bands(g, t, first, last) {
    const { view, model } = this;
    g.fillStyle = this.color.bound;
    for (let row = first; row <= last; row++) {
      const { below, above } = model.bounds(row, t);
      const x0 = below === null ? 0 : Math.max(0, this.x(t - below));
      const x1 = above === null ? view.width : Math.min(view.width, this.x(t + above));
      const top = row * view.rowHeight - view.scroll + 3, height = view.rowHeight - 7;
      g.globalAlpha = below === null || above === null ? 0.1 : 0.22;
      g.fillRect(x0, top, Math.max(1, x1 - x0), height);
      if (x1 - x0 < 3) continue;
      g.globalAlpha = 0.8;
      if (below !== null) g.fillRect(x0, top, 1, height);
      if (above !== null) g.fillRect(x1 - 1, top, 1, height);
    }
    g.globalAlpha = 1;
  }

  // events draws ticks while they can be told apart, else a bar per pixel column as high as there are many; paler
  // where the count comes from the density.
  events(g, first, last) {
    const { view, model } = this;
    const n = Math.ceil(view.width), reach = Math.max(5, Math.min(15, view.rowHeight * 0.24));
    const lanes = [];
    let max = 1;
    const to = view.from + n * view.perPixel;
    for (let row = first; row <= last; row++) {
      const counts = new Float64Array(n);
      max = Math.max(max, model.columns(row, view.from, view.perPixel, n, counts));
      lanes.push(counts);
    }
    g.fillStyle = this.color.event;
    for (let row = first; row <= last; row++) {
      const counts = lanes[row - first], y = this.y(row), times = model.rows[row].times;
      const single = model.embedded(view.from, to, model.facts.embedded.all_events);
      const i0 = lowerBound(times, view.from), i1 = lowerBound(times, to);
      if (single && i1 - i0 < n / 2) {
        for (let i = i0; i < i1; i++) g.fillRect(this.x(times[i]) - 0.75, y - reach * 0.7, 1.5, reach * 1.4);
        continue;
      }
      for (let x = 0; x < n; x++) {
        if (counts[x] <= 0) continue;
        const from = view.from + x * view.perPixel;
        const h = Math.max(1, reach * (Math.min(1, counts[x]) * 0.2 + 0.8 * Math.sqrt(counts[x] / max)));
        g.globalAlpha = model.embedded(from, from + view.perPixel, model.facts.embedded.all_events) ? 1 : 0.6;
        g.fillRect(x, y - h, 1, 2 * h);
      }
      g.globalAlpha = 1;
    }
  }

  // span draws what is being measured: the stretch, and at each end the interval of its instant.
  span(g, { a, b }) {
    const { view, model } = this;
    const x0 = this.x(Math.min(a.t, b.t)), x1 = this.x(Math.max(a.t, b.t));
    g.fillStyle = this.color.span;
    g.globalAlpha = 0.1;
    g.fillRect(x0, 0, x1 - x0, view.height);
    for (const end of [a, b]) {
      const { below, above } = model.bounds(end.row, end.t);
      const from = below === null ? 0 : this.x(end.t - below), to = above === null ? view.width : this.x(end.t + above);
      g.globalAlpha = 0.3;
      g.fillRect(from, this.y(end.row) - 12, Math.max(1, to - from), 24);
      g.globalAlpha = 1;
      g.fillRect(Math.round(this.x(end.t)), 0, 1, view.height);
      g.fillRect(this.x(end.t) - 3, this.y(end.row) - 3, 7, 7);
    }
  }
}

// relative writes a tick of the relative scale with the decimals that its step needs.
function relative(t, step) {
  const size = Math.max(Math.abs(t), step);
  const [name, unit] = size < 1e3 ? units[0] : size < 1e6 ? units[1] : size < 1e9 ? units[2] : units[3];
  const decimals = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
  if (t === 0) return "0";
  return `${t < 0 ? "−" : "+"}${(Math.abs(t) / unit).toFixed(decimals)} ${name}`;
}
