// axis: the ruler above the plot. Its first line names a whole instant in full, its ticks count from there, so that they
// stay short at every scale, from nanoseconds to months.

import { canvasById, context } from "./dom.js";
import * as Colors from "./colors.js";
import * as Time from "./time.js";
import * as View from "./view.js";

const canvas = canvasById("ruler");
const g = context(canvas);
const Apart = 116; // pixels between ticks with text, at least

// ticks lists where ticks are in sight: [x, text], and the step between them.
export function ticks() {
  const { from, to } = View.state, step = Time.stepFor(View.perPixel() * Apart), anchor = Time.anchor(from, to);
  /** @type {[x: number, text: string][]} */
  const list = [];
  for (let n = Math.ceil((from - anchor.at) / step); list.length < 100; n++) {
    const t = anchor.at + n * step;
    if (t > to) break;
    list.push([(t - from) / View.perPixel(), Time.mark(n * step)]);
  }
  return { list, step, anchor: anchor.at };
}

export function draw() {
  const ratio = devicePixelRatio, width = canvas.clientWidth, height = canvas.clientHeight, { theme } = Colors;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.fillStyle = theme.panel;
  g.fillRect(0, 0, width, height);
  const { list, step, anchor } = ticks(), hair = 1 / ratio;
  g.font = "11px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
  g.textBaseline = "alphabetic";
  g.fillStyle = theme.line;
  const minor = step / View.perPixel() / 5;
  if (list.length) for (let x = list[0][0] - 5 * minor; x < width; x += minor) g.fillRect(Math.round(x * ratio) / ratio, height - 5, hair, 5);
  g.fillStyle = theme.dim;
  for (const [x] of list) g.fillRect(Math.round(x * ratio) / ratio, height - 11, hair, 11);
  g.fillStyle = theme.text;
  for (const [x, text] of list) g.fillText(text, x + 4, height - 7);
  const zero = `0 = ${Time.full(anchor)}`, raw = "raw: every host by its own clock", since = `origin ${Time.since(anchor)}`;
  const notes = View.state.raw ? [`${zero}  ·  ${raw}`, raw] : anchor ? [`${zero}  ·  ${since}`, `0 = ${since}`] : [zero];
  const note = notes.find((text) => g.measureText(text).width + 12 < width) ?? notes[notes.length - 1];
  g.fillStyle = theme.dim;
  g.fillText(note, 6, 14);
  const wide = `${Time.duration(View.state.to - View.state.from)} in sight`, w = g.measureText(wide).width;
  if (g.measureText(note).width + w + 40 < width) g.fillText(wide, width - w - 8, 14);
}
