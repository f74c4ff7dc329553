//go:build !race

package viewtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"meridian/internal/show/index"
)

// TestFrame runs what stands around the rows: notices, actions, the axis.
func TestFrame(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"ManyWarningsLeaveRoomForTheTimeline", b.ManyWarningsLeaveRoomForTheTimeline},
		{"ANarrowWindowHasItsActionsInOneLine", b.ANarrowWindowHasItsActionsInOneLine},
		{"TheAxisSaysWhereItCountsFromHoweverNarrowItIs", b.TheAxisSaysWhereItCountsFromHoweverNarrowItIs},
	})
}

// warned is a scene with so many warnings.
type warned struct {
	*scene
	n int
}

func (w warned) About() *index.About {
	a := w.scene.About()
	for i := range w.n {
		a.Warnings = append(a.Warnings, fmt.Sprint("warning ", i))
	}
	a.Left = []string{"left out"}
	return a
}

func (b *panelBrowser) ManyWarningsLeaveRoomForTheTimeline(t *testing.T) {
	const lines = `[...document.querySelectorAll("#notice p, #notice summary")].filter((e) => !e.closest("details:not([open]) > p")).map((e) => e.textContent).join(",")`
	for n, want := range map[int]string{0: "left out", 2: "warning 0,warning 1,left out", 3: "warning 0,warning 1,2 more warnings", 9: "warning 0,warning 1,8 more warnings"} {
		p := b.serve(t, warned{newScene(""), n}, "light", "")
		if got := value[string](p.logic, lines); got != want {
			t.Errorf("of %d warnings there stand %q, want %q", n, got, want)
		}
		if n < 9 {
			continue
		}
		before := p.box("#scroll").Height
		p.click("#notice summary", "")
		p.until(lines+`.startsWith("warning 0,warning 1,8 more warnings,warning 2,") && `+lines+`.endsWith("warning 8,left out")`, "a press does not show the others")
		p.until(fmt.Sprintf(`document.getElementById("scroll").getBoundingClientRect().height < %v && meridian.plot.height <= document.getElementById("scroll").clientHeight`, before), "the rows are not laid out anew")
		p.shots("warnings")
	}
}

func (b *panelBrowser) ANarrowWindowHasItsActionsInOneLine(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	p.do(chromedp.EmulateViewport(820, 900))
	p.until(`innerWidth === 820`, "the window is as wide as before")
	if got := value[[]float64](p.logic, `[...new Set([...document.querySelectorAll("#head .tool")].filter((e) => e.getClientRects().length).map((e) => Math.round(e.getBoundingClientRect().top)))]`); len(got) != 1 {
		t.Errorf("the actions stand in lines at %v", got)
	}
}

func (b *panelBrowser) TheAxisSaysWhereItCountsFromHoweverNarrowItIs(t *testing.T) {
	p := b.open(t, newScene(""), "light", "#v=1&t=3000000,3000900")
	p.still()
	first := func() string {
		return value[string](p.logic, `new Promise((done) => {
			const proto = CanvasRenderingContext2D.prototype, draw = proto.fillText, texts = [];
			proto.fillText = function(text, x, y) { if (this.canvas.id === "ruler" && x === 6) texts.push(text, this.measureText(text).width < this.canvas.getBoundingClientRect().width - 6); return draw.call(this, text, x, y); };
			meridian.redraw();
			requestAnimationFrame(() => requestAnimationFrame(() => { proto.fillText = draw; done(texts.slice(0, 2).join("|")); }));
		})`)
	}
	if got := first(); !strings.Contains(got, " UTC  ·  origin +3.000000 ms|true") {
		t.Errorf("the axis says %q", got)
	}
	p.do(chromedp.EmulateViewport(820, 900))
	p.panel("details")
	p.until(`document.getElementById("ruler").getBoundingClientRect().width < 320`, "the window is not narrow")
	if got, want := first(), "0 = origin +3.000000 ms|true"; got != want {
		t.Errorf("narrow, the axis says %q, want %q", got, want)
	}
	p.key("r")
	p.until(`meridian.view.raw`, "time is not raw")
	if got := first(); got != "raw: every host by its own clock|true" {
		t.Errorf("narrow and raw, the axis says %q", got)
	}
}
