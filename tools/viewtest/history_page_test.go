//go:build !race

package viewtest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"meridian/internal/load"
	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
)

// TestWaysAround runs what leads from one view to another and out of the page.
func TestWaysAround(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"AViewIsGoneBackTo", b.AViewIsGoneBackTo},
		{"EscapeLeavesAField", b.EscapeLeavesAField},
		{"WhatIsInSightIsSavedAsAPicture", b.WhatIsInSightIsSavedAsAPicture},
		{"ManyViolationsAreADensity", b.ManyViolationsAreADensity},
	})
}

func (b *panelBrowser) AViewIsGoneBackTo(t *testing.T) {
	l := b.load(t)
	if got := value[string](l, `(() => {
		const t = History.trail(3), v = (from, raw = false) => ({ from, to: from + 100, raw }), out = [], step = (by) => out.push(t.step(by)?.from ?? "none");
		t.add(v(0)); t.add(v(0.5)); t.add(v(200)); step(-1); step(-1); step(1); step(1); // one that is nearly the same is none
		step(-1); t.add(v(400)); step(1); step(-1); // what was ahead is gone
		t.add(v(500)); t.add(v(500, true)); t.add(v(600)); step(-1); step(-1); step(-1); // three are kept
		return out.join(" ");
	})()`); got != "0 none 200 none 0 none 0 500 500 none" {
		t.Errorf("the trail goes %s", got)
	}
	if got := value[string](l, `[[-2e6, 1e8], [-2e6, 4.6e8], [3e6, 1e8], [1.5e9, 1.6e9], [-5e9, 9e9]].map(([a, b]) => Time.anchor(a, b).at).join(" ")`); got != "0 0 0 1000000000 0" {
		t.Errorf("ticks count from %s", got)
	}
	p := b.open(t, newScene(""), "light", viewed)
	p.still()
	rested := func() { value[bool](p.logic, `new Promise((done) => setTimeout(() => done(true), 700))`) }
	rested()
	p.key("v")
	p.click("#panel-violations tbody .pick", "◆ certain")
	p.shows(20_075_000, 20_735_000, "a press does not go there")
	rested()
	p.do(chromedp.Focus(chromedp.CSS("#over")))
	p.key("0")
	p.until(`meridian.view.to - meridian.view.from > 3.9e7`, "not all is shown")
	p.key("\b")
	p.shows(20_075_000, 20_735_000, "the view before does not come back")
	p.key("\b")
	p.shows(viewFrom, viewTo, "the first view does not come back")
	p.click("#do-forward", "")
	p.shows(20_075_000, 20_735_000, "forward does not undo it")
}

func (b *panelBrowser) EscapeLeavesAField(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed+"&a=309")
	p.until(`meridian.selection.a`, "nothing is selected")
	p.key("q")
	p.do(chromedp.Focus(chromedp.CSS("#panel-requests select")))
	p.key("\u001b")
	p.until(`document.activeElement === document.getElementById("over")`, "Escape does not leave the field")
	if !value[bool](p.logic, `Boolean(meridian.selection.a)`) {
		t.Error("Escape in a field lets the selection go")
	}
	// The filter of rows: Escape empties and leaves it, also where no row is left; Enter leaves it as it is.
	for key, want := range map[string]string{"\u001b": "", "\r": "worker"} {
		for _, text := range []string{"nothing like this", "worker"} {
			p.do(chromedp.Focus(chromedp.CSS("#filter")))
			p.clear("#filter")
			p.typed("#filter", text)
			p.key(key)
			p.until(`document.activeElement !== document.getElementById("filter")`, "the key does not leave the filter")
			if got := value[string](p.logic, `document.getElementById("filter").value`); text == "worker" && got != want {
				t.Errorf("%q leaves the filter %q, want %q", key, got, want)
			}
		}
	}
}

func (b *panelBrowser) WhatIsInSightIsSavedAsAPicture(t *testing.T) {
	p := b.open(t, newScene(""), "dark", viewed)
	p.still()
	value[bool](p.logic, `(() => { globalThis.saved = null; URL.createObjectURL = (blob) => { globalThis.saved = blob; return "about:blank#"; }; HTMLAnchorElement.prototype.click = function () { globalThis.savedName = this.download; }; return true; })()`)
	p.key("P")
	p.until(`globalThis.saved`, "nothing is saved")
	got := value[string](p.logic, `createImageBitmap(globalThis.saved).then((image) => {
		const c = document.createElement("canvas"), g = c.getContext("2d"), stage = document.getElementById("stage").getBoundingClientRect();
		c.width = image.width; c.height = image.height; g.drawImage(image, 0, 0);
		const r = image.width / stage.width, inked = (x, y, w, h) => { const d = g.getImageData(x * r, y * r, w * r, h * r).data, set = new Set(); for (let i = 0; i < d.length; i += 4) set.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return set.size > 3; };
		return [globalThis.savedName, globalThis.saved.type, Math.abs(image.height / r - stage.height) < 2, inked(0, 50, 200, 60), inked(400, 60, 300, 300), inked(260, 0, 300, 40)].join(" ");
	})`)
	if want := "timeline.png image/png true true true true"; got != want {
		t.Errorf("saved %s, want %s", got, want)
	}
	if strings.Contains(got, "false") {
		p.shots("saved")
	}
}

// Where more violations are in sight than could be told apart, a density says where they are, and leaves the rows to be seen.
func (b *panelBrowser) ManyViolationsAreADensity(t *testing.T) {
	o := load.Options{Events: 400_000, Hosts: 3, Messages: 180_000}
	l := load.Schema(o)
	timeline := timelineOf(t, indextest.Build(t, l, filepath.Join(t.TempDir(), "load.mvx"), nil, func(b *index.Builder) error { return load.Write(o, l, b) }))
	total := int64(0)
	for _, n := range timeline.About().Verdicts[1:] {
		total += n
	}
	if total < 300 {
		t.Fatalf("only %d violations", total)
	}
	p := b.serve(t, timeline, "light", "")
	p.still()
	const strong = `(() => { const c = document.getElementById("rows"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, near = (i, t) => { const [r, g, b] = [1, 3, 5].map((k) => parseInt(t.slice(k, k + 2), 16)); return Math.abs(d[i] - r) + Math.abs(d[i + 1] - g) + Math.abs(d[i + 2] - b) < 60; };
		let n = 0; for (let i = 0; i < d.length; i += 4) if (near(i, meridian.theme.certain) || near(i, meridian.theme.undecidable)) n++; return 100 * n / (d.length / 4); })()`
	p.shots("density")
	if share := drawnNow[float64](p, strong); share < 0.02 || share > 3 {
		t.Errorf("violations cover %.2f %% of the rows", share)
	}
}
