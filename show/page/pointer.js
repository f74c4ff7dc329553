// pointer: mouse, pen, fingers and keys become moves of the view. All pointers that are down are kept, so that two of
// them pinch.

class Pointer {
  constructor(app) {
    this.app = app;
    this.down = new Map();
    this.drag = null;
    const { canvas, ruler } = app.plot;
    canvas.addEventListener("pointerdown", (e) => this.press(e, e.shiftKey || app.state.measuring));
    ruler.addEventListener("pointerdown", (e) => this.press(e, true));
    for (const target of [canvas, ruler]) {
      target.addEventListener("pointermove", (e) => this.move(e));
      target.addEventListener("pointerup", (e) => this.release(e));
      target.addEventListener("pointercancel", (e) => this.release(e));
      target.addEventListener("pointerleave", () => { if (!this.down.size) app.point(null); });
      target.addEventListener("dblclick", () => app.fit());
      target.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    }
    addEventListener("keydown", (e) => this.key(e));
  }

  // place returns a pointer's position on the plot, from wherever it was pressed.
  place(e) {
    const box = this.app.plot.canvas.getBoundingClientRect();
    return { x: e.clientX - box.left, y: e.clientY - box.top };
  }

  press(e, measure) {
    if (e.button !== 0) return;
    e.currentTarget.setPointerCapture(e.pointerId);
    this.down.set(e.pointerId, this.place(e));
    const { x, y } = this.place(e);
    this.drag = { measure, x, y, moved: false, start: this.app.end(x, y) };
    this.app.plot.canvas.focus({ preventScroll: true });
  }

  move(e) {
    const { app } = this, here = this.place(e), before = this.down.get(e.pointerId);
    if (!before) return app.point(here);
    if (this.down.size === 2) {
      this.pinch(e.pointerId, before, here);
    } else if (this.drag) {
      if (Math.hypot(here.x - this.drag.x, here.y - this.drag.y) > 3) this.drag.moved = true;
      if (this.drag.moved && this.drag.measure) {
        app.measure(this.drag.start, app.end(here.x, here.y));
      } else if (this.drag.moved) {
        document.body.classList.add("dragging");
        app.move(before.x - here.x, before.y - here.y);
      }
    }
    this.down.set(e.pointerId, here);
    app.point(here);
  }

  pinch(id, before, here) {
    const other = [...this.down].find(([key]) => key !== id)[1];
    const was = Math.abs(before.x - other.x), is = Math.abs(here.x - other.x);
    this.drag.moved = true;
    if (was > 8 && is > 8) this.app.zoom(was / is, (here.x + other.x) / 2);
    this.app.move((before.x - here.x) / 2, 0);
  }

  release(e) {
    const { drag, app } = this;
    this.down.delete(e.pointerId);
    document.body.classList.remove("dragging");
    if (drag && !drag.moved && e.type === "pointerup") app.pin(this.place(e), drag.measure);
    if (!this.down.size) this.drag = null;
  }

  wheel(e) {
    e.preventDefault();
    const unit = e.deltaMode === 1 ? 18 : e.deltaMode === 2 ? 400 : 1;
    const { app } = this;
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      app.move((e.deltaX || e.deltaY) * unit, 0);
    } else {
      app.zoom(Math.exp(Math.max(-240, Math.min(240, e.deltaY * unit)) * (e.ctrlKey ? 0.01 : 0.0022)), this.place(e).x);
    }
    app.point(this.place(e));
  }

  key(e) {
    const { app } = this, typing = e.target.closest?.("dialog, summary, button");
    if (e.ctrlKey || e.metaKey || e.altKey || (typing && (e.key === " " || e.key === "Enter"))) return;
    if (e.key.startsWith("Arrow") && e.target.closest?.("#sheets, #pictures")) return; // they scroll what they are in
    const toggle = (id) => { const d = document.getElementById(id); d.open = !d.hidden && !d.open; };
    const step = app.plot.view.width * (e.shiftKey ? 0.9 : 0.12);
    const actions = {
      ArrowLeft: () => app.move(-step, 0), ArrowRight: () => app.move(step, 0),
      ArrowUp: () => app.move(0, -app.plot.view.rowHeight), ArrowDown: () => app.move(0, app.plot.view.rowHeight),
      "+": () => app.zoom(1 / 1.6), "=": () => app.zoom(1 / 1.6), "-": () => app.zoom(1.6), _: () => app.zoom(1.6),
      0: () => app.fit(), n: () => app.jump(1), p: () => app.jump(-1), m: () => app.toggleMeasuring(),
      h: () => app.toggleMessages(), r: () => toggle("report"), c: () => toggle("clocks"),
      "?": () => document.getElementById("keys").showModal(), Escape: () => app.letGo(),
    };
    if (!actions[e.key] || document.getElementById("keys").open) return;
    e.preventDefault();
    actions[e.key]();
  }
}
