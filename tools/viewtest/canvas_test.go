//go:build !race

package viewtest

import (
	"fmt"
	"math"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"meridian/internal/show/view"
)

// TestCanvas runs what is tested of the timeline itself, by what people do with wheel, mouse and keys.
func TestCanvas(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"TheWheelZoomsAtThePointerAndDraggingMoves", b.TheWheelZoomsAtThePointerAndDraggingMoves},
		{"KeysMoveZoomAndShowAll", b.KeysMoveZoomAndShowAll},
		{"EveryViolationIsOneKeyAway", b.EveryViolationIsOneKeyAway},
		{"TheNextEventIsTheNextOneOfTheRow", b.TheNextEventIsTheNextOneOfTheRow},
		{"HostsAreFoldedAndMovedByKeys", b.HostsAreFoldedAndMovedByKeys},
		{"TheFilterKeepsRowsAndWhatTheyLieUnder", b.TheFilterKeepsRowsAndWhatTheyLieUnder},
		{"RawTimeIsWhatTheHostsClockSaid", b.RawTimeIsWhatTheHostsClockSaid},
		{"ViolationsAreDrawnAtEveryScale", b.ViolationsAreDrawnAtEveryScale},
		{"TheBoundIsABandAroundTheCursor", b.TheBoundIsABandAroundTheCursor},
		{"WhatIsHoveredIsTold", b.WhatIsHoveredIsTold},
	})
}

func (p *panelPage) number(script string) float64 {
	p.t.Helper()
	return value[float64](p.logic, script)
}

func (p *panelPage) mouse(kind input.DispatchMouseEventType, x, y float64, change func(*input.DispatchMouseEventParams)) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.MouseEvent(kind, x, y, func(e *input.DispatchMouseEventParams) {
		if change != nil {
			change(e)
		}
	})); err != nil {
		p.t.Fatal(err)
	}
}

// at is the instant shown at a place of the screen.
func (p *panelPage) at(x float64) float64 {
	return p.number(fmt.Sprintf(`meridian.at(%v - meridian.plot.left)`, x))
}

const length = `(meridian.view.to - meridian.view.from)`

func (b *panelBrowser) TheWheelZoomsAtThePointerAndDraggingMoves(t *testing.T) {
	p := b.open(t, newScene(""), "light", "")
	before, under := p.number(length), p.at(700)
	for range 5 {
		p.mouse(chromedp.MouseWheel, 700, 400, func(e *input.DispatchMouseEventParams) {
			e.DeltaX, e.DeltaY, e.Modifiers = 0.01, -240, int64(chromedp.ModifierCtrl) // a zero would be left out
		})
	}
	p.until(fmt.Sprintf(`%s < %v / 5`, length, before), "the wheel does not zoom")
	if moved := math.Abs(p.at(700) - under); moved > p.number(length)/500 {
		t.Errorf("the instant under the pointer moved by %v ns", moved)
	}
	under = p.at(700)
	p.mouse(chromedp.MousePressed, 700, 400, func(e *input.DispatchMouseEventParams) { e.Button, e.ClickCount = input.MouseButtonLeft, 1 })
	p.mouse(chromedp.MouseMoved, 600, 400, func(e *input.DispatchMouseEventParams) { e.Button, e.Buttons = input.MouseButtonLeft, 1 })
	p.mouse(chromedp.MouseMoved, 500, 400, func(e *input.DispatchMouseEventParams) { e.Button, e.Buttons = input.MouseButtonLeft, 1 })
	p.mouse(chromedp.MouseReleased, 500, 400, func(e *input.DispatchMouseEventParams) { e.Button, e.ClickCount = input.MouseButtonLeft, 1 })
	if moved := math.Abs(p.at(500) - under); moved > p.number(length)/500 {
		t.Errorf("what was dragged is %v ns from the pointer", moved)
	}
}

func (b *panelBrowser) KeysMoveZoomAndShowAll(t *testing.T) {
	p := b.open(t, newScene(""), "dark", viewed)
	before, from := p.number(length), p.number(`meridian.view.from`)
	p.key("+")
	if got := p.number(length); math.Abs(got-before/2) > 1 {
		t.Errorf("+ shows %v ns of %v", got, before)
	}
	p.key("-")
	p.key("\u0303") // right
	if p.number(`meridian.view.from`) <= from {
		t.Error("the right arrow did not move the view")
	}
	from = p.number(`meridian.view.from`)
	p.key("a")
	p.until(fmt.Sprintf(`meridian.view.from < %v`, from), "a does not move the view to the left")
	p.key("0")
	if p.number(`meridian.view.from`) > 0 || p.number(`meridian.view.to`) < sceneSpan {
		t.Error("0 does not show all")
	}
	p.shot("canvas-all")
}

func (b *panelBrowser) EveryViolationIsOneKeyAway(t *testing.T) {
	p := b.open(t, newScene(""), "light", "")
	p.key("0")
	seen := map[string]bool{}
	for range 4 {
		was := value[string](p.logic, `String(meridian.selection.a?.event)`)
		p.key("n")
		p.until(fmt.Sprintf(`meridian.selection.a && String(meridian.selection.a.event) !== %s && meridian.selection.b?.event === meridian.selection.a.flow.received`, literal(was)), "n selects no violation")
		x := p.number(`meridian.x(meridian.selection.a.at, meridian.clockOf(meridian.selection.a.row)) / meridian.plot.width`)
		if x < 0 || x > 1 {
			t.Errorf("the violation is at %v of the plot", x)
		}
		seen[value[string](p.logic, `String(meridian.selection.a.event)`)] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d of 3 violations came up", len(seen))
	}
	p.shot("canvas-violation")
}

// The events are of a real index, in which they lie far below the bins that are seen first.
func (b *panelBrowser) TheNextEventIsTheNextOneOfTheRow(t *testing.T) {
	server := httptest.NewServer(view.Handler(twoHosts(t, filepath.Join(t.TempDir(), "index"), 100_000, func(s string) string { return s })))
	t.Cleanup(server.Close)
	p := b.address(t, server.URL, "light")
	p.number(`(meridian.focus(1), 0)`)
	p.number(`(document.getElementById("over").focus(), 0)`)
	p.key(".")
	p.until(`meridian.selection.a`, "no event is found")
	first := p.number(`meridian.selection.a.event`)
	for i := range 3 {
		p.key(".")
		p.until(fmt.Sprintf(`meridian.selection.a.event === %v`, first+2*float64(i+1)), "the next event of every second is not next")
	}
	p.key(",")
	p.until(fmt.Sprintf(`meridian.selection.a.event === %v`, first+4), "the previous event is not previous")
	if row := p.number(`meridian.selection.a.row`); row != 1 {
		t.Errorf("the event is of row %v", row)
	}
}

func (b *panelBrowser) HostsAreFoldedAndMovedByKeys(t *testing.T) {
	p := b.open(t, newScene(""), "light", "")
	hosts := `[...document.querySelectorAll(".name.host")].sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).map((e) => e.querySelector(".text").textContent).join()`
	before := value[string](p.logic, hosts)
	p.click(".name.host .text", "")
	p.until(`document.activeElement.classList.contains("host")`, "a click on a name does not take the focus")
	p.key("\u0302") // left
	p.until(`document.activeElement.getAttribute("aria-expanded") === "false" && meridian.rowY(0) === null`, "left does not fold the host")
	if got := p.number(`meridian.endY(0)`); got <= 0 || got >= 34 {
		t.Errorf("messages of a folded host end at %v, its header is from 0 to 34", got)
	}
	p.key("\u0303") // right
	p.until(`meridian.rowY(0) !== null`, "right does not unfold the host")
	if err := chromedp.Do(p.ctx, chromedp.KeyEvent("\u0301", chromedp.KeyModifiers(chromedp.ModifierAlt))); err != nil { // down
		t.Fatal(err)
	}
	p.until(fmt.Sprintf(`%s !== %s`, hosts, literal(before)), "Alt and down do not move the host")
}

func (b *panelBrowser) TheFilterKeepsRowsAndWhatTheyLieUnder(t *testing.T) {
	p := b.open(t, newScene(""), "dark", "")
	p.click("#filter", "")
	p.key("engine")
	p.until(`[...document.querySelectorAll(".name .text")].map((e) => e.textContent).join() === "db,engine"`, "other rows than engine and its host are left")
	p.key("\u001b")
	p.until(`document.querySelectorAll(".name").length > 4`, "Escape does not bring all rows back")
}

func (b *panelBrowser) RawTimeIsWhatTheHostsClockSaid(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	x := `meridian.x(20_000_000, 2)`
	before := p.number(x)
	p.key("r") // the view goes along
	p.until(fmt.Sprintf(`(({ from, to }) => Math.abs(from + %s / meridian.plot.width * (to - from) - 20_000_000 + 350_000) < 2)(meridian.view)`, x), "the host's events are not where its clock put them")
	p.shot("canvas-raw")
	p.key("r")
	p.until(fmt.Sprintf(`Math.abs(%s - %v) < 0.1`, x, before), "the corrected time does not come back")
}

func (b *panelBrowser) ViolationsAreDrawnAtEveryScale(t *testing.T) {
	for _, view := range []string{"", viewed, "#v=1&t=20340000,20470000"} {
		p := b.open(t, newScene(""), "light", view)
		p.until(`(() => {
			const c = document.getElementById("rows"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, w = meridian.theme.certain;
			const [r, g, b] = [1, 3, 5].map((i) => parseInt(w.slice(i, i + 2), 16));
			let n = 0;
			for (let i = 0; i < d.length; i += 4) if (d[i] === r && d[i + 1] === g && d[i + 2] === b) n++;
			return n > 12;
		})()`, "the certain violation is not drawn in "+view)
	}
}

func (b *panelBrowser) TheBoundIsABandAroundTheCursor(t *testing.T) {
	p := b.open(t, newScene(""), "light", "#v=1&t=20000000,20800000")
	x, y := p.spot("db", 20_400_000, 20_000_000, 20_800_000, 10)
	p.mouse(chromedp.MouseMoved, x, y, nil)
	band := fmt.Sprintf(`(() => {
		const c = document.getElementById("over"), box = c.getBoundingClientRect(), r = c.width / box.width, d = c.getContext("2d").getImageData(0, Math.round((%v - box.top) * r), c.width, 1).data;
		const on = []; for (let i = 0; i < c.width; i++) if (d[4 * i + 3] > 35) on.push(i / r);
		return (on[on.length - 1] - on[0]) / meridian.plot.width * 800000;
	})()`, y)
	p.until(fmt.Sprintf(`Math.abs(%s - 100000) < 2500`, band), "the band is not 100 us wide, which is ±50 us")
	p.until(`[...document.querySelectorAll(".name.host .bound")].map((e) => e.textContent).join().includes("±50 µs")`, "the bound is not told")
	p.shot("canvas-band")
}

func (b *panelBrowser) WhatIsHoveredIsTold(t *testing.T) {
	p := b.open(t, newScene(""), "dark", viewed)
	x, y := p.spot("worker", 20_250_000, viewFrom, viewTo, 24)
	p.mouse(chromedp.MouseMoved, x, y, nil)
	p.until(`!document.getElementById("tip").hidden && document.querySelector("#tip .lead").textContent.includes("handle")`, "the slice under the pointer is not told")
	if n := p.number(`document.querySelectorAll("#tip b").length`); n != 0 {
		t.Error("a name became markup")
	}
	p.shot("canvas-hover")
}
