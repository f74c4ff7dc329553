//go:build !race

package viewtest

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"meridian/internal/load"
	"meridian/internal/show"
	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
	"meridian/internal/show/view"
)

// canvas gives scripts of tests what they read of the picture: pixel(id, x, y) is what a canvas has at a place of the
// screen, near(color, other) whether two are the same but for rounding, css(text) a colour of the page as numbers.
const canvas = `
	const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
	const pixel = (id, x, y) => { const c = document.getElementById(id), b = c.getBoundingClientRect(), r = c.width / b.width;
		return [...c.getContext("2d").getImageData(Math.round((x - b.left) * r), Math.floor((y - b.top) * r), 1, 1).data]; };
	const css = (text) => text[0] === "#" ? [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16)) : text.match(/\d+/g).slice(0, 3).map(Number);
	const near = (a, b, by = 12) => [0, 1, 2].every((i) => Math.abs(a[i] - b[i]) <= by);
	// inked is how much of a colour lies on the ground in a column of pixels around a place.
	const inked = (color, x, y) => { const m = css(color), g = css(meridian.theme.ground), d = m.map((v, i) => v - g[i]), all = d.reduce((s, v) => s + v * v, 0);
		return [-4, -3, -2, -1, 0, 1, 2, 3, 4].reduce((sum, dy) => sum + Math.max(0, pixel("rows", x, y + dy).slice(0, 3).reduce((s, v, i) => s + (v - g[i]) * d[i], 0) / all), 0); };
	const place = (at, row, below) => [meridian.plot.left + meridian.x(at, meridian.clockOf(row)), meridian.plot.top + meridian.rowY(row).top + below];
`

// draws waits until an expression over canvas is true of what is drawn.
func (p *panelPage) draws(condition, otherwise string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`(() => { %s return %s; })()`, canvas, condition), otherwise)
}

// drawnNow evaluates an expression over canvas after the next frame.
func drawnNow[T any](p *panelPage, expression string) T {
	p.t.Helper()
	return value[T](p.logic, fmt.Sprintf(`(async () => { %s await frame(); return %s; })()`, canvas, expression))
}

// colored says that a row has the colour of a class, so far below its top at an instant.
func colored(row int, at, below float64, class int) string {
	return fmt.Sprintf(`near(pixel("rows", ...place(%v, %d, %v)), css(meridian.color(%d)))`, at, row, below, class)
}

// written lists the texts that a frame draws on the rows.
func (p *panelPage) written() string {
	p.t.Helper()
	return value[string](p.logic, `new Promise((done) => {
		const proto = CanvasRenderingContext2D.prototype, draw = proto.fillText, texts = [];
		proto.fillText = function(text, ...where) { if (this.canvas.id === "rows") texts.push(text); return draw.call(this, text, ...where); };
		meridian.redraw();
		requestAnimationFrame(() => requestAnimationFrame(() => { proto.fillText = draw; done(texts.join("|")); }));
	})`)
}

// screenshot is a part of the page as it is seen, every emulation included. Its first pixel is at (0, 0).
func (p *panelPage) screenshot(x, y, width, height int) image.Image {
	p.t.Helper()
	fast := true
	got, err := chromedp.Call(p.ctx, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{OptimizeForSpeed: &fast,
		Clip: &cdppage.Viewport{X: float64(x), Y: float64(y), Width: float64(width), Height: float64(height), Scale: 1}})
	if err != nil {
		p.t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(got.Data))
	if err != nil {
		p.t.Fatal(err)
	}
	return picture
}

// luminance is that of WCAG 2, of which contrast is made.
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	linear := func(v uint32) float64 {
		x := float64(v) / 0xffff
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

func contrast(a, b color.Color) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// drag moves the pointer with its button held, from one place to another.
func (p *panelPage) drag(x0, y0, x1, y1 float64, modifiers chromedp.Modifier) {
	p.t.Helper()
	held := func(e *input.DispatchMouseEventParams) {
		e.Button, e.Buttons, e.ClickCount, e.Modifiers = input.MouseButtonLeft, 1, 1, int64(modifiers)
	}
	p.mouse(chromedp.MouseMoved, x0, y0, nil)
	p.mouse(chromedp.MousePressed, x0, y0, held)
	for _, part := range []float64{0.3, 0.7, 1} {
		p.mouse(chromedp.MouseMoved, x0+(x1-x0)*part, y0+(y1-y0)*part, held)
	}
	p.mouse(chromedp.MouseReleased, x1, y1, held)
}

// box is where an element is: left, top, width, height.
func (p *panelPage) box(selector string) (b struct{ X, Y, Width, Height float64 }) {
	p.t.Helper()
	v := drawnNow[[]float64](p, fmt.Sprintf(`(({ x, y, width, height }) => [x, y, width, height])(document.querySelector(%s).getBoundingClientRect())`, literal(selector)))
	b.X, b.Y, b.Width, b.Height = v[0], v[1], v[2], v[3]
	return b
}

// file writes a timeline as one file and opens it from the disk.
func (b *panelBrowser) file(t *testing.T, d view.Data, scheme, fragment string) *panelPage {
	t.Helper()
	return b.fileOf(t, d, view.Options{}, scheme, fragment)
}

func (b *panelBrowser) fileOf(t *testing.T, d view.Data, o view.Options, scheme, fragment string) *panelPage {
	t.Helper()
	path := filepath.Join(t.TempDir(), "timeline.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := view.WriteFile(f, d, o); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return b.address(t, "file://"+path+fragment, scheme)
}

// serve opens the page of a timeline as it is served.
func (b *panelBrowser) serve(t *testing.T, d view.Data, scheme, fragment string) *panelPage {
	t.Helper()
	server := httptest.NewServer(view.Handler(d))
	t.Cleanup(server.Close)
	return b.address(t, server.URL+"/"+fragment, scheme)
}

// busyTimeline is a real index, with rows enough to be moved and events enough to be drawn in bins.
func busyTimeline(t *testing.T, events int) *view.Timeline {
	t.Helper()
	o := load.Options{Events: events, Hosts: 3, Messages: events / 20}
	l := load.Schema(o)
	return timelineOf(t, indextest.Build(t, l, filepath.Join(t.TempDir(), "load.mvx"), nil, func(b *index.Builder) error { return load.Write(o, l, b) }))
}

// timelineOf is the timeline of an index, closed at the end of the test.
func timelineOf(t *testing.T, x *index.Index) *view.Timeline {
	t.Helper()
	timeline, err := view.NewTimeline(x)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { timeline.Close() })
	return timeline
}

// twoHosts is a timeline of indextest.TwoHosts, with a report whose every text is made with name.
func twoHosts(t *testing.T, path string, events int, name func(string) string) *view.Timeline {
	t.Helper()
	report := view.Report{Method: name("method"), Assumption: name("assumption"), Summary: name("summary"), Warnings: []string{name("warning")},
		Pairs: [][]string{{name("a"), name("b")}}, Left: []string{name("left")}, Plots: []show.Drawing{{Title: name("plot"), SVG: name("<svg/>")}},
		Hosts: []index.HostReport{{Reference: name("reference"), Offset: "1 s", Skew: "2 ppm", Bound: "3 s"}}}
	return timelineOf(t, indextest.TwoHosts(t, path, events, name, &report))
}

// names lists the names of the rows as they stand on the screen.
const names = `[...document.querySelectorAll(".name .text")].sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).map((e) => e.textContent).join(" ")`

// still waits until the picture is complete.
func (p *panelPage) still() {
	p.t.Helper()
	p.until(`meridian.data.busy() === 0 && meridian.data.decoded > 0`, "the tiles do not come: "+value[string](p.logic, `meridian.data.busy() + " " + meridian.data.decoded`))
	drawnNow[bool](p, `true`)
}

func (p *panelPage) do(action chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, action); err != nil {
		p.t.Fatal(err)
	}
}

// hold presses a key and lets go of it some frames later.
func (p *panelPage) hold(key string) {
	p.t.Helper()
	send := func(ctx context.Context, kind input.DispatchKeyEventType) {
		code := strings.ToUpper(key)
		params := input.DispatchKeyEventParams{Type: kind, Key: key, Code: "Key" + code, WindowsVirtualKeyCode: int64(code[0])}
		if err := enable(ctx, input.DispatchKeyEvent, params); err != nil {
			p.t.Fatal(err)
		}
	}
	send(p.ctx, input.DispatchKeyEventTypeKeyDown)
	value[bool](p.logic, `new Promise((done) => { let n = 8; requestAnimationFrame(function each() { if (n-- > 0) requestAnimationFrame(each); else done(true); }); })`)
	send(p.ctx, input.DispatchKeyEventTypeKeyUp)
}
