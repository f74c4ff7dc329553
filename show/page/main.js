// main: the state of the page, and the few ways in which it changes. Every change ends in refresh, which draws once per
// frame of the screen.

class App {
  constructor(model) {
    this.model = model;
    this.state = { cursor: null, hit: null, pinned: null, measured: null, measuring: false, showMessages: true };
    const view = { from: 0, perPixel: 1, width: 1, height: 1, scroll: 0, rowHeight: 64 };
    this.plot = new Plot(model, view);
    this.overview = new Overview(this.plot, (t) => this.centre(t));
    fillHeader(model);
    fillReport(model);
    fillClocks(model.facts.clocks);
    fillKeys();
    this.here = fillNames(model);
    this.scroller = document.getElementById("scroll");
    this.pointer = new Pointer(this);
    for (const [id, act] of Object.entries({
      fit: () => this.fit(), in: () => this.zoom(1 / 1.6), out: () => this.zoom(1.6), next: () => this.jump(1), prev: () => this.jump(-1),
      measure: () => this.toggleMeasuring(), help: () => document.getElementById("keys").showModal(),
    })) document.getElementById(id).addEventListener("click", act);
    this.scroller.addEventListener("scroll", () => this.refresh());
    new ResizeObserver(() => this.resize()).observe(document.getElementById("stage"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.plot.recolor(); this.refresh(); });
    this.resize();
    this.fit();
  }

  resize() {
    const { view, canvas } = this.plot, whole = this.fitted;
    const height = this.scroller.clientHeight;
    view.rowHeight = Math.max(48, Math.min(200, Math.floor(height / Math.max(1, this.model.rows.length))));
    document.documentElement.style.setProperty("--row", `${view.rowHeight}px`);
    view.width = Math.max(50, document.getElementById("hold").clientWidth);
    view.height = height;
    canvas.style.height = `${height}px`;
    if (whole) this.fit();
    this.draw(); // at once: until the next frame the old picture would be stretched to the new size
  }

  fit() {
    const { view } = this.plot, { span } = this.model.facts;
    const length = span > 0 ? span * 1.04 : 2e6;
    view.perPixel = length / view.width;
    view.from = span > 0 ? -span * 0.02 : -1e6;
    this.fitted = true;
    this.refresh();
  }

  // clamp keeps the view where the model knows bounds, and no finer than what a nanosecond can be seen in.
  clamp() {
    const { view } = this.plot, { first, last } = this.model;
    view.perPixel = Math.max(0.02, Math.min((last - first) / view.width, view.perPixel));
    view.from = Math.max(first, Math.min(last - view.width * view.perPixel, view.from));
  }

  move(dx, dy) {
    const { view } = this.plot;
    view.from += dx * view.perPixel;
    this.scroller.scrollTop += dy;
    this.changed();
  }

  zoom(factor, x = this.state.cursor?.x ?? this.plot.view.width / 2) {
    const { view } = this.plot;
    const t = view.from + x * view.perPixel;
    view.perPixel *= factor;
    this.clamp();
    view.from = t - x * view.perPixel;
    this.changed();
  }

  centre(t) {
    const { view } = this.plot;
    view.from = t - view.width * view.perPixel / 2;
    this.changed();
  }

  changed() {
    this.fitted = false;
    this.clamp();
    if (this.state.cursor) this.state.cursor.t = this.time(this.state.cursor.x);
    if (!this.state.pinned) this.state.hit = null;
    this.refresh();
  }

  time(x) { return this.plot.view.from + x * this.plot.view.perPixel; }

  row(y) {
    const { view } = this.plot;
    return Math.max(0, Math.min(this.model.rows.length - 1, Math.floor((y + view.scroll) / view.rowHeight)));
  }

  // end returns the instant of a measurement at a point: an event's if one is close.
  end(x, y) {
    const row = this.row(y), t = this.time(x);
    const i = this.model.nearest(row, t, 6 * this.plot.view.perPixel);
    return { row, t: i < 0 ? t : this.model.rows[row].times[i], index: i };
  }

  hitAt({ x, y }) {
    if (!this.model.rows.length) return null;
    const row = this.row(y), near = Math.abs(y - this.plot.y(row)) < 16;
    const index = near ? this.model.nearest(row, this.time(x), 4 * this.plot.view.perPixel) : -1;
    if (index >= 0) return { kind: "event", row, index };
    return arrowAt(this.plot, x, y, 5);
  }

  point(place) {
    this.state.cursor = place && { x: place.x, y: place.y, t: this.time(place.x) };
    this.state.hit = place && !this.pointer.drag?.moved ? this.hitAt(place) : null;
    this.refresh();
  }

  pin(place, measuring) {
    this.state.pinned = this.hitAt(place);
    if (!this.state.pinned && !measuring) this.state.measured = null;
    this.refresh();
  }

  measure(a, b) {
    this.state.measured = { a, b };
    this.refresh();
  }

  letGo() {
    Object.assign(this.state, { pinned: null, measured: null, measuring: false });
    this.refresh();
  }

  toggleMeasuring() {
    this.state.measuring = !this.state.measuring;
    this.refresh();
  }

  toggleMessages() {
    this.state.showMessages = !this.state.showMessages;
    this.refresh();
  }

  // jump shows the next or previous inversion from the one shown last, wide enough to see the bounds of its ends.
  jump(direction) {
    const { inversions, channels, facts } = this.model, { view } = this.plot;
    if (!inversions.length) return;
    this.inversion = this.inversion === undefined
      ? (direction > 0 ? 0 : inversions.length - 1)
      : (this.inversion + direction + inversions.length) % inversions.length;
    const { channel, index } = inversions[this.inversion], c = channels[channel];
    const s = c.sent[index], r = c.received[index];
    const x = this.model.bounds(c.from, s), y = this.model.bounds(c.to, r);
    const reach = Math.max(s - r, x.below ?? 0, x.above ?? 0, y.below ?? 0, y.above ?? 0, 200);
    view.perPixel = Math.min(reach * 8, facts.span || reach * 8) / view.width;
    const middle = (Math.min(c.from, c.to) + Math.max(c.from, c.to) + 1) / 2 * view.rowHeight;
    this.scroller.scrollTop = middle - view.height / 2;
    view.scroll = this.scroller.scrollTop;
    this.centre((s + r) / 2 + 0.12 * view.width * view.perPixel); // left of the middle: the tip needs room
    this.state.pinned = { kind: "message", channel, index };
    this.refresh();
  }

  // placeOf says where on the plot something pinned is, as far as its bounds reach; null if that is out of sight.
  placeOf(hit) {
    const { model, plot } = this, c = model.channels[hit.channel];
    const ends = hit.kind === "event" ? [[hit.row, model.rows[hit.row].times[hit.index]]]
      : [[c.from, c.sent[hit.index]], [c.to, c.received[hit.index]]];
    const xs = ends.flatMap(([row, t]) => {
      const { below, above } = model.bounds(row, t);
      return [plot.x(t - (below ?? 0)), plot.x(t + (above ?? 0))];
    });
    const left = Math.min(...xs), x = Math.max(...xs), y = ends.reduce((sum, [row]) => sum + plot.y(row), 0) / ends.length;
    return x < 0 || left > plot.view.width || y < 0 || y > plot.view.height ? null : { x: Math.min(x, plot.view.width), left: Math.max(left, 0), y };
  }

  refresh() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const start = performance.now();
    const { state, model } = this, { view, canvas } = this.plot;
    view.scroll = this.scroller.scrollTop;
    const drawn = this.plot.frame(state);
    this.overview.draw();
    this.figures(drawn);
    const hit = state.pinned ?? state.hit, place = state.pinned ? this.placeOf(state.pinned) : state.cursor;
    const box = canvas.getBoundingClientRect();
    showTip(model, hit && place ? hit : null, 4 * view.perPixel,
      box.left + (place?.x ?? 0), box.top + (place?.y ?? 0), box.left + (place?.left ?? place?.x ?? 0));
    document.body.classList.toggle("measuring", state.measuring);
    document.getElementById("measure").setAttribute("aria-pressed", String(state.measuring));
    Object.assign(document.getElementById("stage").dataset, {
      from: view.from, length: view.width * view.perPixel, arrows: drawn.arrows, washed: drawn.washed, inverted: drawn.inverted,
      ms: performance.now() - start,
    });
  }

  // figures writes what is known at the cursor, in numbers.
  figures(drawn) {
    const { state, model } = this, { view } = this.plot, { times } = model;
    const at = (id, text) => { document.getElementById(id).textContent = text; };
    const length = view.width * view.perPixel;
    at("date", times.epoch ? `${times.date(view.from)} UTC` : "seconds of the reference's clock");
    at("scale", `view ${duration(Math.max(1, Math.round(length)))}`);
    this.here.forEach((figure, row) => {
      if (!state.cursor) {
        figure.textContent = "";
        return;
      }
      const { below, above } = model.bounds(row, state.cursor.t);
      figure.textContent = margin(below, above);
    });
    at("now", state.cursor ? `${times.full(state.cursor.t)}  ${times.since(state.cursor.t)}` : "point at the timeline for the time and its bounds");
    const found = document.getElementById("found");
    found.className = state.measured || !drawn.inverted ? "" : "bad";
    found.textContent = state.measured ? measurement(model, state.measured)
      : drawn.inverted ? `${grouped(drawn.inverted)} inverted in view`
      : drawn.washed ? `${grouped(drawn.washed)} messages in view, drawn as a wash` : state.showMessages ? "" : "messages hidden (h)";
  }
}

const text = (id) => document.getElementById(id).textContent;
const facts = JSON.parse(text("facts"));
decode(facts, text("columns")).then((data) => {
  document.getElementById("columns").remove();
  new App(new Model(facts, data));
  document.documentElement.dataset.ready = "true";
}).catch((error) => {
  const notice = document.getElementById("notice");
  notice.textContent = `This timeline cannot be shown: ${error.message}`;
  notice.hidden = false;
  document.documentElement.dataset.ready = "failed";
});
