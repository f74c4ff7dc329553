// overview: the whole timeline in a strip, all rows together, with the view as a box. Inversions stand in it one by one,
// and stretches embedded event by event are underlined if not all are.

class Overview {
  constructor(plot, moved) {
    this.plot = plot;
    this.canvas = document.getElementById("overview");
    this.picture = document.createElement("canvas");
    this.drawnFor = "";
    const centre = (e) => moved(this.first + (e.offsetX / this.canvas.clientWidth) * this.length);
    this.canvas.addEventListener("pointerdown", (e) => {
      this.canvas.setPointerCapture(e.pointerId);
      centre(e);
    });
    this.canvas.addEventListener("pointermove", (e) => { if (e.buttons) centre(e); });
    const { facts } = plot.model;
    const pad = Math.max(facts.span * 0.02, 1);
    this.first = -pad;
    this.length = facts.span + 2 * pad;
  }

  paint(width, height) {
    const { model, color } = this.plot;
    const g = this.plot.begin(this.picture, width, height);
    const n = Math.ceil(width), per = this.length / width;
    const total = new Float64Array(n), counts = new Float64Array(n);
    model.rows.forEach((_, row) => {
      model.columns(row, this.first, per, n, counts);
      counts.forEach((c, x) => { total[x] += c; });
    });
    const max = Math.log1p(total.reduce((a, b) => Math.max(a, b), 1));
    g.fillStyle = color.event;
    g.globalAlpha = 0.75;
    total.forEach((c, x) => {
      if (c <= 0) return;
      const h = Math.max(1, (height - 10) * Math.log1p(c) / max);
      g.fillRect(x, height - 4 - h, 1, h);
    });
    g.globalAlpha = 1;
    g.fillStyle = color.message;
    for (const [from, to] of model.facts.windows) {
      g.fillRect((from - this.first) / per, height - 3, Math.max(2, (to - from) / per), 2);
    }
    g.fillStyle = color.inverted;
    const columns = new Set(model.inversions.map((v) => Math.floor((v.at - this.first) / per)));
    for (const x of columns) g.fillRect(x, 0, 1.5, height - 4);
    if (!model.facts.embedded.all_messages) {
      for (const channel of model.channels) {
        for (const step of channel.invertedLane.step) g.fillRect((step * model.facts.step_width - this.first) / per, 0, 1.5, height - 4);
      }
    }
  }

  draw() {
    const { view, color } = this.plot;
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    const key = [width, height, window.devicePixelRatio, color.ground].join();
    if (key !== this.drawnFor) {
      this.paint(width, height);
      this.drawnFor = key;
    }
    const g = this.plot.begin(this.canvas, width, height);
    g.drawImage(this.picture, 0, 0, width, height);
    const x0 = (view.from - this.first) / this.length * width;
    const w = Math.max(4, view.width * view.perPixel / this.length * width);
    g.fillStyle = color.bound;
    g.globalAlpha = w >= width * 0.95 ? 0.06 : 0.16;
    g.fillRect(x0, 0, w, height);
    g.globalAlpha = 1;
    g.strokeStyle = color.bound;
    g.strokeRect(Math.max(0.5, Math.round(x0) + 0.5), 0.5, Math.min(width - 1, Math.round(w)), height - 1);
  }
}
