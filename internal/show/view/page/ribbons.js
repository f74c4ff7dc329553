// ribbons: links with more messages than arrows can show. Each is a veil between the heights of its two rows, the denser
// along time the more messages there are, and leaning by what they took on the way. Dozens lie over each other, and to paint
// each by itself would cost a frame more than all else does. So it is added up how much light they take, in logarithms, going
// down the picture: where a ribbon begins, ends or has leaned by a pixel (by more where there are too many) its line is added or
// taken away, and what lies between two such heights is painted once, from one line of pixels.

import * as Colors from "./colors.js";
import * as Lanes from "./lanes.js";
import * as View from "./view.js";

/** @import { Ribbon } from "./types.js" */

const Unit = 256;
const Most = 6 * Unit;
const MaxSteps = 800;
// thick is how much light an opacity (of 255) takes; opacity is the way back, as the upper eight bits of a colour.
const thick = Int32Array.from({ length: 256 }, (_, a) => Math.round(-Math.log(1 - Math.min(a, 254) / 255) * Unit));
const opacity = Uint32Array.from({ length: Most + 1 }, (_, sum) => (Math.round(255 * (1 - Math.exp(-sum / Unit))) << 24) >>> 0);
let width = 0;
export let alphas = new Uint8Array(0);
let used = 0;
let sum = new Int32Array(0);
/** @type {Ribbon[]} */
let list = [];
/** @type {[line: number, y: number, h: number][]} */
let bands = [];

/**
 * begin forgets the ribbons of the frame before, for one of so many device pixels across.
 * @param {number} across
 */
export function begin(across) {
  alphas.fill(0, 0, used * width); // as wide as that frame was
  used = 0;
  if (across !== width) {
    width = across;
    sum = new Int32Array(width);
  }
  list = [];
  bands = [];
}

// take returns where in alphas a line of opacities begins.
export function take() {
  if ((used + 1) * width > alphas.length) {
    const was = alphas;
    alphas = new Uint8Array(Math.max(8, 2 * used) * width);
    alphas.set(was.subarray(0, used * width));
  }
  return used++ * width;
}

/**
 * add notes a ribbon: from a height so far down that many pixels of the page, where it stands off its line by `from` at its top
 * and has leaned by `lean` more at its end.
 * @param {number} base
 * @param {number} top
 * @param {number} h
 * @param {number} from
 * @param {number} lean
 */
export const add = (base, top, h, from, lean) => list.push({ base, top, h, from, lean });

/**
 * shed adds a ribbon's line, moved by some pixels, to the sum, or takes it away.
 * @param {number} base
 * @param {number} moved
 * @param {number} sign
 */
function shed(base, moved, sign) {
  const end = Math.min(width, width + moved);
  for (let x = Math.max(0, moved), i = base + x - moved; x < end; x++, i++) sum[x] += sign * thick[alphas[i]];
}

// prepare makes the lines of pixels.
export function prepare() {
  const ratio = width / View.plot.width, bottom = Math.round(View.plot.height * ratio), most = Math.max(1, Math.floor(MaxSteps / list.length));
  const changes = [];
  for (const { base, top, h, from, lean } of list) {
    const steps = Math.max(1, Math.min(most, Math.ceil(Math.abs(lean * ratio))));
    for (let i = 0; i < steps; i++) {
      const y0 = Math.max(0, Math.round((top + h * i / steps) * ratio)), y1 = Math.min(bottom, Math.round((top + h * (i + 1) / steps) * ratio));
      if (y1 <= y0) continue;
      const moved = Math.round((from + lean * (i + 0.5) / steps) * ratio);
      changes.push({ y: y0, base, moved, sign: 1 }, { y: y1, base, moved, sign: -1 });
    }
  }
  changes.sort((a, b) => a.y - b.y);
  sum.fill(0);
  let y = 0, over = 0;
  for (const change of changes) {
    if (change.y > y) {
      if (over) band(y, change.y);
      y = change.y;
    }
    shed(change.base, change.moved, change.sign);
    over += change.sign;
  }
}

/**
 * @param {number} y0
 * @param {number} y1
 */
function band(y0, y1) {
  const base = Lanes.take(1), { pixels } = Lanes, color = Colors.faded(Colors.theme.packed.message, 0);
  for (let x = 0; x < width; x++) if (sum[x]) pixels[base + x] = color | opacity[Math.min(sum[x], Most)];
  bands.push([base / width, y0, y1 - y0]);
}

/**
 * draw puts them on a canvas, once all lines of the frame are uploaded.
 * @param {CanvasRenderingContext2D} g
 */
export function draw(g) {
  g.imageSmoothingEnabled = false;
  for (const [line, y, h] of bands) g.drawImage(Lanes.canvas, 0, line, width, 1, 0, y, width, h);
}
