//go:build !race

package viewtest

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"meridian/internal/show/view"
)

// The bound is there at every zoom: on the headers of the hosts, and around the pointer as wide as it is.
func (b *panelBrowser) TheBoundIsABandAtEveryZoom(t *testing.T) {
	p := b.open(t, newScene(""), "light", "")
	p.still()
	for _, length := range []float64{40e6, 4e6, 1e6, 300e3, 60e3} {
		from, to := 20.4e6-length/2, 20.4e6+length/2
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`void (location.hash = "v=1&t=%v,%v")`, int64(from), int64(to))))
		p.shows(from, to, "the view is elsewhere")
		p.draws(`[...Array(20)].filter((_, i) => { const x = meridian.plot.left + meridian.plot.width * (i + 0.5) / 20, h = document.querySelector("#line-h2").getBoundingClientRect();
			return [...Array(12)].some((_, y) => near(pixel("rows", x, h.top + 22 + y), [201, 138, 27], 110)); }).length > 12`, fmt.Sprintf("over %v ns the header of a host has no bound", length))
		x, y := p.spot("engine", 20.4e6, from, to, 18)
		p.mouse(chromedp.MouseMoved, x, y, nil)
		wide := min(100e3/length*p.box("#over").Width, p.box("#over").Width) // ±50 us
		got := fmt.Sprintf(`(() => { %s const b = document.getElementById("over").getBoundingClientRect(), row = document.getElementById("line-3").getBoundingClientRect();
			let n = 0; for (let x = b.left; x < b.right; x++) if (pixel("over", x, row.bottom - 2)[3] > 24) n++; return n; })()`, canvas)
		if length < 100e3 { // wider than what is in sight: a tint
			got = fmt.Sprintf(`(() => { %s const b = document.getElementById("over").getBoundingClientRect(), row = document.getElementById("line-4").getBoundingClientRect();
				let n = 0; for (let x = b.left; x < b.right; x++) if (pixel("over", x, row.bottom - 2)[3] > 8) n++; return n; })()`, canvas)
		}
		p.until(fmt.Sprintf(`Math.abs(%s - %v) <= 4`, got, max(wide, 1)), fmt.Sprintf("over %v ns the band is not %v pixels wide", length, wide))
		p.until(`document.querySelector("#line-h2 .bound").textContent === "±50 µs"`, "the bound is not told")
		p.shot(fmt.Sprintf("bound-%v", length))
	}
}

func (b *panelBrowser) RawTimeMovesWhatIsDrawnByTheOffset(t *testing.T) {
	for kind, open := range map[string]func(*testing.T, view.Data, string, string) *panelPage{"served": b.serve, "file": b.file} {
		p := open(t, newScene(""), "light", "#v=1&t=19500000,23500000")
		p.still()
		const edge = `(at) => { const x = meridian.plot.left + (at - meridian.view.from) / (meridian.view.to - meridian.view.from) * meridian.plot.width, y = meridian.plot.top + meridian.rowY(1).top + 23;
			return near(pixel("rows", x + 3, y), css(meridian.color(8)), 30) && !near(pixel("rows", x - 6, y), css(meridian.color(8)), 30); }`
		p.draws(`(`+edge+`)(20150000)`, kind+": corrected, the slice is elsewhere")
		p.click("#do-raw", "")
		p.until(`document.getElementById("do-raw").getAttribute("aria-pressed") === "true"`, kind+": the switch is not on")
		// The web server's clock is 2 ms ahead: the request before last is where this one was.
		p.draws(`(`+edge+`)(22150000) && Math.abs(meridian.x(20150000, 1) - meridian.x(22150000, -1)) < 0.01`, kind+": raw, the slice is not where its clock said")
		p.draws(`Math.abs(meridian.x(20150000, 2) - meridian.x(20150000 - 350000, -1)) < 0.01`, kind+": raw, the database is not where its clock said")
		p.shot("raw-" + kind)
		p.click("#do-raw", "")
		p.draws(`(`+edge+`)(20150000)`, kind+": the switch does not go back")
	}
}

// breach is a violation of the scene: where it is received.
type breach struct {
	kind    string
	at, row float64
}

var breaches = []breach{{"undecidable", 10_170_000, 3}, {"certain", 20_355_000, 1}, {"quick", 30_102_000, 1}}

// mask is which of the first 15 by 15 pixels differ from the ground, by eye.
func mask(picture image.Image, ground color.Color) (m [15 * 15]bool) {
	for i := range m {
		m[i] = contrast(picture.At(i%15, i/15), ground) > 1.9
	}
	return m
}

// People who confuse colours, or see none, tell the kinds of violations apart by their shapes, in light and dark.
func (b *panelBrowser) ViolationsDifferByShapeForEveryEye(t *testing.T) {
	eyes := map[string][]emulation.SetEmulatedVisionDeficiencyType{"light": {"none", "protanopia", "deuteranopia", "achromatopsia"}, "dark": {"deuteranopia", "achromatopsia"}}
	for scheme, visions := range eyes {
		p := b.open(t, newScene(""), scheme, "")
		p.still()
		p.key("e")
		p.typed(`section[aria-label="Event types"] input[type=search]`, "e") // every type but "load": only messages are left
		p.click(`section[aria-label="Event types"] button`, "none: hide all event types")
		p.key("e")
		for _, vision := range visions {
			if err := enable(p.ctx, emulation.SetEmulatedVisionDeficiency, emulation.SetEmulatedVisionDeficiencyParams{Type: vision}); err != nil {
				t.Fatal(err)
			}
			masks := map[string][15 * 15]bool{}
			for _, v := range breaches {
				p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`void (location.hash = "v=1&t=%d,%d")`, int64(v.at-60e3), int64(v.at+60e3))))
				p.shows(v.at-60e3, v.at+60e3, "the view is elsewhere")
				p.still()
				at := drawnNow[[]float64](p, fmt.Sprintf(`[meridian.plot.left + meridian.x(%v), meridian.plot.top + meridian.endY(%v)]`, v.at, v.row))
				picture := p.screenshot(int(math.Round(at[0]))-7, int(math.Round(at[1]))-7, 48, 15)
				ground := picture.At(7+40, 7-1)
				m := mask(picture, ground)
				n := 0
				for _, on := range m {
					if on {
						n++
					}
				}
				if n < 12 {
					t.Errorf("%s, %s: of the mark of a violation that is %s %d pixels can be seen", scheme, vision, v.kind, n)
				}
				masks[v.kind] = m
			}
			for i, v := range breaches {
				for _, w := range breaches[:i] {
					differ := 0
					for k := range masks[v.kind] {
						if masks[v.kind][k] != masks[w.kind][k] {
							differ++
						}
					}
					if differ < 16 {
						t.Errorf("%s, %s: %s and %s differ in %d of 225 pixels", scheme, vision, v.kind, w.kind, differ)
					}
				}
			}
			p.shot(fmt.Sprintf("vision-%s-%s", scheme, vision))
		}
	}
}

// What the picture says by colour has enough contrast to be seen, in light and dark and by every eye.
func (b *panelBrowser) ColoursCanBeToldFromTheGround(t *testing.T) {
	for _, scheme := range []string{"light", "dark"} {
		p := b.open(t, newScene(""), scheme, viewed)
		p.still()
		low := value[[]string](p.logic, `(() => {
			const linear = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
			const read = (text) => text[0] === "#" ? [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16)) : text.match(/[\d.]+/g).slice(0, 3).map(Number);
			const eyes = { any: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
				deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]] }; // Machado, Oliveira, Fernandes 2009
			const light = (c, eye) => { const [r, g, b] = eye.map((row) => Math.max(0, Math.min(1, row.reduce((s, m, i) => s + m * linear(c[i]), 0)))); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
			const contrast = (a, b, eye) => { const [x, y] = [light(a, eye), light(b, eye)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
			const { theme } = meridian, wrong = [], need = (what, a, b, least) => { for (const [name, eye] of Object.entries(eyes)) { const c = contrast(read(a), read(b), eye); if (c < least) wrong.push(what + " " + name + " " + c.toFixed(2)); } };
			for (const name of ["certain", "undecidable", "quick", "message", "accent", "a", "b"]) need(name, theme[name], theme.ground, 3);
			need("inverted", theme.inverted, theme.ground, 4.5);
			need("inverted on a host", theme.inverted, theme.panel, 4.5);
			need("text", theme.text, theme.ground, 7);
			need("dim", theme.dim, theme.ground, 4.5);
			need("dim on panel", theme.dim, theme.panel, 4.5);
			meridian.about.classes.forEach((c, i) => { need("name on " + c.name, meridian.ink(i), meridian.color(i), 4.5); need(c.name, meridian.color(i), theme.ground, 1.4); });
			return wrong;
		})()`)
		for _, text := range low {
			t.Errorf("%s: too little contrast: %s", scheme, text)
		}
	}
}

func (b *panelBrowser) LightAndDarkAreChosenByTheSystemAndByHand(t *testing.T) {
	for _, scheme := range []string{"light", "dark"} {
		p := b.open(t, newScene(""), scheme, viewed)
		p.still()
		bright := func() bool { return luminance(p.screenshot(700, 700, 1, 1).At(0, 0)) > 0.5 }
		if bright() != (scheme == "light") {
			t.Errorf("the system says %s, and the page is not", scheme)
		}
		p.draws(`near(pixel("rows", meridian.plot.left + 5, meridian.plot.top + meridian.plot.height - 20), css(meridian.theme.ground))`, "the canvas has another ground than the page")
		p.shot("theme-" + scheme)
		p.click("#do-theme", "")
		p.until(fmt.Sprintf(`meridian.theme.dark === %v`, scheme == "light"), "the button does not change it")
		p.draws(colored(1, 20_300_000, onFirst, handled), "the slices have not their colour in "+scheme+" by hand")
		if bright() == (scheme == "light") {
			t.Errorf("by hand %s is not changed", scheme)
		}
		if p.do(chromedp.Reload()); true {
			p.until(fmt.Sprintf(`document.documentElement.dataset.ready === "true" && meridian.theme.dark === %v`, scheme == "light"), "after a reload the choice is forgotten")
		}
		value[bool](p.logic, `(localStorage.clear(), true)`)
	}
}
