//go:build !race

package viewtest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"meridian/internal/show/index/indextest"
	"meridian/internal/show/view"
)

// shows waits until the view is from one instant to another, up to a few pixels.
func (p *panelPage) shows(from, to float64, otherwise string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`(({ from, to }) => { const off = (to - from) / 300; return Math.abs(from - %v) < off && Math.abs(to - %v) < off; })(meridian.view)`, from, to), otherwise)
}

// now is the view as it is.
func (p *panelPage) now() (from, to float64) {
	p.t.Helper()
	v := drawnNow[[]float64](p, `[meridian.view.from, meridian.view.to]`)
	return v[0], v[1]
}

func (b *panelBrowser) WheelRulerAndButtonsZoomAndMove(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	p.still()
	wheel := func(x, y, dx, dy float64, modifiers chromedp.Modifier) {
		p.mouse(chromedp.MouseWheel, x, y, func(e *input.DispatchMouseEventParams) {
			e.DeltaX, e.DeltaY, e.Modifiers = dx+0.01, dy, int64(modifiers)
		})
	}
	plot := p.box("#over")
	length := viewTo - viewFrom
	wheel(plot.X+plot.Width/2, plot.Y+60, 0, 200, chromedp.ModifierShift)
	p.shows(viewFrom+200*length/plot.Width, viewTo+200*length/plot.Width, "Shift and wheel do not move")
	wheel(plot.X+plot.Width/2, plot.Y+60, -200, 0.01, 0)
	p.shows(viewFrom, viewTo, "a sideways wheel does not move")
	// All rows fit: the wheel zooms where the pointer is.
	wheel(plot.X+plot.Width/4, plot.Y+60, 0, -240, 0)
	factor := math.Exp(-0.6)
	p.shows(viewFrom+length/4*(1-factor), viewFrom+length/4*(1-factor)+length*factor, "the wheel does not zoom at the pointer")
	p.click("#do-fit", "")
	p.shows(-0.02*sceneSpan, 1.02*sceneSpan, "fit does not show all")
	// A drag along the ruler, and Alt with a drag on the rows, zoom to a stretch.
	ruler := p.box("#ruler")
	p.drag(ruler.X+ruler.Width*0.25, ruler.Y+20, ruler.X+ruler.Width*0.5, ruler.Y+20, 0)
	p.shows(sceneSpan*(-0.02+0.26), sceneSpan*(-0.02+0.52), "a drag along the ruler does not zoom to it")
	p.shot("ruler")
	from, to := p.now()
	p.drag(plot.X+plot.Width*0.5, plot.Y+60, plot.X+plot.Width, plot.Y+60, chromedp.ModifierAlt)
	p.shows((from+to)/2, to, "Alt and drag do not zoom to the stretch")
	p.click("#do-zoom-out", "")
	p.shows((from+to)/2-(to-from)/4, to+(to-from)/4, "the button does not zoom out")
	p.click("#do-zoom-in", "")
	p.shows((from+to)/2, to, "the button does not zoom in")
	// An address is gone to, even if the page was busy and what it wants to write there, the view until now, is due already.
	value[bool](p.logic, `new Promise((done) => {
		document.getElementById("do-zoom-out").click();
		setTimeout(() => { for (const until = performance.now() + 800; performance.now() < until;); }, 200);
		setTimeout(() => { location.hash = "v=1&t=19900000,21100001"; done(true); }, 250);
	})`)
	p.shows(viewFrom, viewTo, "the address is not followed")
	x, y := p.spot("worker", 20_300_000, viewFrom, viewTo, onFirst)
	p.mouse(chromedp.MouseMoved, x, y, nil)
	for n := range int64(2) {
		click := func(e *input.DispatchMouseEventParams) { e.Button, e.ClickCount = input.MouseButtonLeft, n+1 }
		p.mouse(chromedp.MousePressed, x, y, click)
		p.mouse(chromedp.MouseReleased, x, y, click)
	}
	p.shows(20_150_000-47_000, 20_620_000+47_000, "a double click does not zoom to the slice")
}

func (b *panelBrowser) HeldKeysMoveAndZoom(t *testing.T) {
	p := b.open(t, newScene(""), "dark", viewed)
	p.still()
	from, to := p.now()
	for _, c := range []struct{ key, is string }{
		{"d", `meridian.view.from > %[1]v && meridian.view.to > %[2]v`}, {"a", `meridian.view.from < %[1]v && meridian.view.to < %[2]v`},
		{"w", `meridian.view.to - meridian.view.from < (%[2]v - %[1]v) * 0.95`}, {"s", `meridian.view.to - meridian.view.from > (%[2]v - %[1]v) * 1.02`},
	} {
		p.hold(c.key)
		p.until(fmt.Sprintf(c.is, from, to), c.key+" does not move the view")
		from, to = p.now()
		if again, _ := p.now(); again != from {
			t.Errorf("after %s was let go the view still moves", c.key)
		}
	}
	p.key(kb.PageDown)
	p.shows(from+0.9*(to-from), to+0.9*(to-from), "Page down does not move by what is in sight")
	p.key(kb.PageUp)
	p.shows(from, to, "Page up does not move back")
}

func (b *panelBrowser) TheMapMovesAndStretchesTheView(t *testing.T) {
	p := b.open(t, newScene(""), "light", "#v=1&t=10000000,14000000")
	p.still()
	box := p.box("#minimap")
	whole := 1.04 * sceneSpan
	x := func(at float64) float64 { return box.X + (at+0.02*sceneSpan)/whole*box.Width }
	y := box.Y + box.Height/2
	p.drag(x(12e6), y, x(22e6), y, 0)
	p.shows(20e6, 24e6, "the window is not dragged")
	p.drag(x(24e6), y, x(30e6), y, 0)
	p.shows(20e6, 30e6, "the window's edge is not dragged")
	p.press(x(5e6), y, 0)
	p.shows(0, 10e6, "a press beside the window does not bring it there")
	p.do(chromedp.Focus(chromedp.CSS("#minimap")))
	p.key(kb.ArrowRight)
	p.shows(2.5e6, 12.5e6, "an arrow does not move the window")
	p.until(`document.getElementById("minimap").getAttribute("aria-valuetext").startsWith("10.00 ms in sight")`, "what is in sight is not said")
	p.shot("map")
	p.key(kb.Home)
	p.shows(-0.02*sceneSpan, 1.02*sceneSpan, "Home does not show all")
}

func (b *panelBrowser) TheNextMessageIsSelectedWithBothEnds(t *testing.T) {
	for kind, open := range map[string]func(*testing.T, view.Data, string, string) *panelPage{"served": b.serve, "file": b.file} {
		p := open(t, newScene(""), "light", viewed+"&a=306")
		p.until(`meridian.selection.a?.event === 306`, "the event is not selected")
		p.still()
		ends := `((a, b) => [meridian.className(a.class), a.at, meridian.className(b.class), b.at].join())(meridian.selection.a, meridian.selection.b)`
		p.key("]")
		p.until(ends+` === "send rows,20455000,receive rows,20355000"`, kind+": the next message is another one")
		p.key("]")
		p.until(ends+` === "send query,21200000,receive query,21255000"`, kind+": the message after it is another one")
		p.key("[[")
		p.until(ends+` === "send query,20200000,receive query,20261000"`, kind+": the message before is another one")
		p.until(`meridian.x(meridian.selection.a.at) > 0 && meridian.x(meridian.selection.b.at) < meridian.plot.width`, kind+": its ends are not in sight")
		p.shot("message-" + kind)
		// Keys that come faster than answers are steps all the same.
		p.key("]]]][[")
		p.until(ends+` === "send query,21200000,receive query,21255000"`, kind+": of keys in quick succession some are lost")
	}
}

func (b *panelBrowser) TheRowOfWhatIsSelectedIsFocusedBeforeAFrameIsDrawn(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed+"&a=306")
	p.until(`meridian.selection.a?.event === 306`, "the event is not selected")
	p.still()
	row := value[string](p.logic, `(async () => {
		const frame = () => new Promise((done) => requestAnimationFrame(done));
		meridian.setHidden("collapsed", "h2", true);
		await frame(); await frame();
		meridian.setHidden("collapsed", "h2", false); // no frame has shown it yet
		await meridian.select(306, "a");
		return meridian.about.rows[meridian.focused.row]?.name ?? "none";
	})()`)
	if row != "engine" {
		t.Errorf("row %s is focused", row)
	}
}

func (b *panelBrowser) AViewIsSharedAndOutlivesAReload(t *testing.T) {
	for kind, open := range map[string]func(*testing.T, view.Data, string, string) *panelPage{"served": b.serve, "file": b.file} {
		p := open(t, newScene(""), "dark", "#v=1")
		p.still()
		ruler := p.box("#ruler")
		p.drag(ruler.X+ruler.Width*0.4, ruler.Y+20, ruler.X+ruler.Width*0.6, ruler.Y+20, 0)
		p.click("#line-h2 .fold", "")
		p.key("r")
		p.until(`location.hash.includes("raw=1") && location.hash.includes("fold=h2") && location.hash.includes("t=")`, kind+": the address does not say what is shown")
		from, to := p.now()
		p.until(fmt.Sprintf(`location.hash.includes("t=" + Math.round(%v * 1000) / 1000 + ",")`, from), kind+": the address is behind")
		p.do(chromedp.Reload())
		p.until(`document.documentElement.dataset.ready === "true" && meridian.view.raw`, kind+": after a reload it is shown corrected")
		p.shows(from, to, kind+": after a reload the view is elsewhere")
		p.until(names+` === "client app web worker CPU 0 db"`, kind+": after a reload other rows are folded")
	}
}

// What is copied of a served page brings another page of the same timeline there, and nothing of another.
func (b *panelBrowser) AViewIsFollowedOnlyOfTheSameTimeline(t *testing.T) {
	p := b.serve(t, newScene(""), "light", viewed+"&a=309")
	p.until(`meridian.selection.a?.event === 309`, "the event is not selected")
	p.key("l")
	p.until(`document.querySelector("#share input").value.includes("a=309")`, "the view is not shared")
	shared := value[string](p.logic, `document.querySelector("#share input").value`)
	if address := value[string](p.logic, `location.host`); strings.Contains(shared, address) || !strings.HasPrefix(shared, "#v=1&id=") {
		t.Errorf("%s has more in it than the view", shared)
	}
	file := b.file(t, newScene(""), "light", "")
	file.still()
	file.key("l")
	file.typed(`#share input[aria-label="a view that was shared"]`, "nothing\r")
	file.until(`document.querySelector("#share .said").textContent.startsWith("Not a shared view")`, "nothing is taken for a view")
	file.clear(`#share input[aria-label="a view that was shared"]`)
	file.typed(`#share input[aria-label="a view that was shared"]`, "http://127.0.0.1/else/"+shared+"\r")
	file.until(`meridian.selection.a?.event === 309 && !document.getElementById("share").open`, "a file does not follow what a served page shared")
	file.shows(viewFrom, viewTo, "the view is elsewhere")
	for kind, open := range map[string]func(*testing.T, view.Data, string, string) *panelPage{"served": b.serve, "file": b.file} {
		p := open(t, twoHosts(t, "", 3000, indextest.Plain), "dark", shared)
		p.until(`[...document.querySelectorAll("#notice p")].filter((e) => e.textContent === "The address describes a view of another timeline. It was ignored.").length === 1`, kind+": that it is of another timeline is not said")
		p.still()
		if value[bool](p.logic, `meridian.selection.a !== null`) {
			t.Errorf("%s: an event of another timeline is selected", kind)
		}
		p.until(`meridian.view.from < 0 && meridian.view.to > meridian.about.span`, kind+": the view is that of another timeline")
		p.shot("refused-" + kind)
	}
}
