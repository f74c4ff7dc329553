// tally: exact items, which come in order of time, painted as in bins: how much there is, in the colour of what takes most (of
// equals the first class, as the index names it).

/** @import { Piece } from "./types.js" */

export class Tally {
  /**
   * @param {number} wide
   * @param {Piece} piece
   * @param {(name: number, amount: number, x0: number, x1: number) => void} shade
   */
  constructor(wide, piece, shade) {
    this.wide = wide;
    this.piece = piece;
    this.shade = shade;
    this.bin = -1;
    this.sums = new Map(); // class -> how much the bin has of it
  }

  /**
   * @param {number} bin
   * @param {number} amount
   * @param {number} name
   */
  add(bin, amount, name) {
    if (bin !== this.bin) this.paint();
    this.bin = bin;
    this.sums.set(name, (this.sums.get(name) ?? 0) + amount);
  }

  /**
   * slice adds one that is shorter than a bin, so that it lies in two at most.
   * @param {number} at
   * @param {number} length
   * @param {number} name
   */
  slice(at, length, name) {
    const bin = Math.floor(at / this.wide), over = Math.max(0, at + length - (bin + 1) * this.wide);
    this.add(bin, (length - over) / this.wide, name);
    if (over) this.add(bin + 1, over / this.wide, name);
  }

  paint() {
    let all = 0, most = -1, best = 0;
    for (const [name, sum] of this.sums) {
      all += sum;
      if (sum > most || (sum === most && name < best)) [most, best] = [sum, name];
    }
    this.sums.clear();
    if (most < 0) return;
    const { from, k, x } = this.piece, at = x + (this.bin * this.wide - from) * k;
    this.shade(best, all, at, at + this.wide * k);
  }
}
