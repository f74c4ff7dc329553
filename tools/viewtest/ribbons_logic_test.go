//go:build !race

package viewtest

import (
	"fmt"
	"testing"

	"meridian/internal/testseed"
)

// TestRibbonsTakeTheLightThatEachTakesByItself holds what is painted at once against what would be if each ribbon was
// painted by itself, pixel by pixel; and where a ribbon that leans stands against the line that it leans along.
func TestRibbonsTakeTheLightThatEachTakesByItself(t *testing.T) {
	seed := 1 + testseed.New(t).IntN(1<<31-2)
	got := value[[]any](startPanelBrowser(t).load(t), fmt.Sprintf(`(() => {
		let state = %d;
		const next = (n) => { state = (state * 48271) %% 2147483647; return state %% n; };
		let pixels, lines;
		const scene = () => {
			const ratio = 1 + next(2);
			globalThis.View = { plot: { width: 40 + next(60), height: 30 + next(60) } };
			const W = View.plot.width * ratio, H = View.plot.height * ratio;
			pixels = new Uint32Array(2000 * W);
			lines = 0;
			globalThis.Lanes = { take: (n) => { lines += n; return (lines - n) * W; }, get pixels() { return pixels; }, canvas: null };
			globalThis.Colors = { theme: { packed: { message: 0xff112233 } }, faded: (c, a) => ((c & 0xffffff) | (a << 24)) >>> 0 };
			Ribbons.begin(W);
			return { ratio, W, H };
		};
		const add = (W, lean, line) => {
			const base = Ribbons.take(), r = { line, top: next(View.plot.height) - 10, h: 1 + next(View.plot.height), from: lean ? next(9) - 4 : 0, lean };
			line.forEach((a, x) => { if (a) Ribbons.alphas[base + x] = a; }); // the rest is empty, whatever the frame before had, and however wide it was
			Ribbons.add(base, r.top, r.h, r.from, r.lean);
			return r;
		};
		const painted = (W, H) => {
			const picture = Array.from({ length: H }, () => new Uint8Array(W));
			Ribbons.prepare();
			Ribbons.draw({ drawImage: (from, sx, line, sw, sh, x, y, w, h) => {
				for (let i = y; i < y + h; i++) for (let p = 0; p < W; p++) picture[i][p] += pixels[line * W + p] >>> 24;
			} });
			return picture;
		};
		let light = 0, worst = 0, leaning = 0, astray = 0, lost = 0;
		for (let round = 0; round < 40; round++) {
			const { ratio, W, H } = scene(), all = Array.from({ length: 1 + next(9) }, () => add(W, 0, Array.from({ length: W }, () => (next(3) ? 4 + next(77) : 0))));
			painted(W, H).forEach((row, y) => row.forEach((alpha, x) => {
				const over = all.filter((r) => y >= r.top * ratio && y < (r.top + r.h) * ratio);
				const want = 255 * (1 - over.reduce((through, r) => through * (1 - r.line[x] / 255), 1));
				if (want) light++;
				worst = Math.max(worst, Math.abs(alpha - want));
			}));
		}
		for (let round = 0; round < 40; round++) {
			const { ratio, W, H } = scene(), r = add(W, next(41) - 20, Array.from({ length: W }, (_, x) => (x === W >> 1 ? 80 : 0)));
			painted(W, H).forEach((row, y) => {
				const part = ((y + 0.5) / ratio - r.top) / r.h, at = (W >> 1) + (r.from + r.lean * part) * ratio;
				if (part < 0 || part > 1 || at < 2 || at > W - 2) return;
				leaning++;
				const lit = row.findIndex((alpha) => alpha);
				if (lit < 0) lost++;
				else if (Math.abs(lit - at) > 1.5 + Math.abs(r.lean / r.h)) astray++;
			});
		}
		return [light > 1000, worst < 2, leaning > 500, lost, astray, worst];
	})()`, seed))
	if s := fmt.Sprint(got[:5]); s != "[true true true 0 0]" {
		t.Errorf("seed %d: there is light, it is right, lines lean, of them are lost and astray: %s; the worst is off by %v of 255", seed, s, got[5])
	}
}
