//go:build !race

package viewtest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"golang.org/x/sync/errgroup"

	"meridian/internal/show/view"
	"meridian/internal/testneed"
	"meridian/tools/chromium"
)

// panelBrowser gives every test a Chromium for itself, as long as it runs: the focus, the clipboard and what a page stores
// belong to one test at a time. There are as many as tests run at once; starting one takes longer than most tests, so that
// they are used again.
type panelBrowser struct {
	idle  chan *chromium.Browser
	taken sync.Map // the name of a test -> its *chromium.Browser
}

// browsers are started for the first test that asks, as many as tests may run at once.
var browsers = sync.OnceValues(func() (*panelBrowser, error) {
	n, err := strconv.Atoi(flag.Lookup("test.parallel").Value.String())
	if err != nil {
		return nil, err
	}
	b := &panelBrowser{idle: make(chan *chromium.Browser, n)}
	var group errgroup.Group
	for range n {
		group.Go(func() error {
			one, err := chromium.StartShell(context.Background())
			if err == nil {
				b.idle <- one
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		b.stop()
		return nil, err
	}
	started.Store(true)
	return b, nil
})

var started atomic.Bool

func (b *panelBrowser) stop() {
	close(b.idle)
	for one := range b.idle {
		one.Stop()
	}
}

// A test waits for frames and answers more than it computes: two tests for each core keep the cores busy.
func TestMain(m *testing.M) {
	flag.Parse()
	parallel := false
	flag.Visit(func(f *flag.Flag) { parallel = parallel || f.Name == "test.parallel" })
	if !parallel {
		if err := flag.Set("test.parallel", strconv.Itoa(min(2*goruntime.NumCPU(), 8))); err != nil {
			panic(err) // the flag is testing's
		}
	}
	code := m.Run()
	if started.Load() {
		b, _ := browsers()
		b.stop()
	}
	os.Exit(code)
}

// rule is a test of its own name, run by run.
type rule struct {
	name string
	test func(*testing.T)
}

// run runs rules, several at once.
func run(t *testing.T, rules []rule) {
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			rule.test(t)
		})
	}
}

// startPanelBrowser skips a test where there is no Chromium, but not in CI.
func startPanelBrowser(t *testing.T) *panelBrowser {
	t.Helper()
	testneed.Long(t, "needs a browser")
	b, err := browsers()
	switch {
	case errors.Is(err, chromium.ErrNone):
		testneed.Missing(t, "%v", err)
	case err != nil:
		t.Fatal(err)
	}
	return b
}

// tab opens a tab in the test's own browser, for as long as the test runs.
func (b *panelBrowser) tab(t *testing.T) context.Context {
	t.Helper()
	one, is := b.taken.Load(t.Name())
	if !is {
		one = <-b.idle
		b.taken.Store(t.Name(), one)
		t.Cleanup(func() { // runs when the tabs are closed
			b.taken.Delete(t.Name())
			b.idle <- one.(*chromium.Browser)
		})
	}
	ctx, closed := one.(*chromium.Browser).Tab()
	t.Cleanup(closed)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// value evaluates an expression; a promise is waited for.
func value[T any](l *logic, script string) T {
	l.t.Helper()
	v, err := chromedp.Run(l.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		l.t.Fatalf("%.200s: %v", script, err)
	}
	return v
}

// literal writes a value as JavaScript.
func literal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// panelPage is the page of a scene, served, in a real Chromium.
type panelPage struct {
	*logic
	mu      sync.Mutex
	trouble []string
	awaited map[int]bool // statuses of answers that are no trouble
}

// bears takes no log of an answer of this status for trouble: the test causes it.
func (p *panelPage) bears(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.awaited == nil {
		p.awaited = make(map[int]bool)
	}
	p.awaited[status] = true
}

// open serves the scene and opens its page; fragment goes behind the address.
func (b *panelBrowser) open(t *testing.T, s *scene, scheme, fragment string) *panelPage {
	t.Helper()
	server := httptest.NewServer(view.Handler(s))
	t.Cleanup(server.Close)
	return b.address(t, server.URL+"/"+fragment, scheme)
}

func (b *panelBrowser) address(t *testing.T, address, scheme string) *panelPage {
	t.Helper()
	ctx := b.tab(t)
	p := &panelPage{logic: &logic{t, ctx}}
	if err := chromedp.Listen(ctx, p.listen); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		enable(ctx, log.Enable, cdp.Empty{}), enable(ctx, runtime.Enable, cdp.Empty{}),
		enable(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}),
		chromedp.Do(ctx, chromedp.EmulateViewport(1400, 860), chromedp.Navigate(address)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p.ready()
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, text := range p.trouble {
			t.Errorf("the page is not quiet: %s", text)
		}
	})
	return p
}

// ready waits until the page has started; a page that throws an error does not.
func (p *panelPage) ready() {
	p.t.Helper()
	const soon = `new Promise((done) => {
		const until = performance.now() + 1000;
		(function look() { const is = document.documentElement.dataset.ready === "true"; if (is || performance.now() > until) done(is); else setTimeout(look, 5); })();
	})`
	for range 100 {
		if value[bool](p.logic, soon) {
			return
		}
		p.mu.Lock()
		trouble := slices.Clone(p.trouble)
		p.mu.Unlock()
		if len(trouble) > 0 {
			p.t.Fatalf("the page does not start: %s", strings.Join(trouble, "\n"))
		}
	}
	p.t.Fatal("the page does not start")
}

func enable[P, R any](ctx context.Context, command cdp.Command[P, R], params P) error {
	_, err := chromedp.Call(ctx, command, params)
	return err
}

func (p *panelPage) listen(event any) {
	text := ""
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		text = fmt.Sprintf("console %s:", e.Type)
		for _, a := range e.Args {
			text += " " + string(a.Value) + a.Description
		}
	case *runtime.EventExceptionThrown:
		text = "exception: " + e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
	case *log.EventEntryAdded:
		if !strings.Contains(e.Entry.Text, "willReadFrequently") { // it is the tests that read pixels
			text = "log: " + e.Entry.Text
		}
	}
	if text != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		for status := range p.awaited {
			if strings.Contains(text, fmt.Sprintf("status of %d ", status)) {
				return
			}
		}
		p.trouble = append(p.trouble, text)
	}
}

// key presses a key, as a person does.
func (p *panelPage) key(keys string) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.KeyEvent(keys)); err != nil {
		p.t.Fatal(err)
	}
}

// typed writes into a box. A selector is a chromedp.CSS: a plain string is also searched for in the page's text, where the
// style sheet has it too, and that it be visible would be waited for in vain.
func (p *panelPage) typed(selector, text string) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.SendKeys(chromedp.CSS(selector), text)); err != nil {
		p.t.Fatal(err)
	}
}

// clear empties a box. A key that brings the focus to a box is not typed into it, but by way of the debugger it is.
func (p *panelPage) clear(selector string) {
	p.t.Helper()
	value[bool](p.logic, fmt.Sprintf(`(document.querySelector(%s).value = "", true)`, literal(selector)))
}

// panel opens the panels and one of them.
func (p *panelPage) panel(id string) {
	p.t.Helper()
	value[bool](p.logic, `(document.getElementById("dock").hidden && document.getElementById("do-dock").click(), true)`) // at once: a selection opens it too
	p.click("#tab-"+id, "")
}

// click presses what a selector finds, or the button in it whose text is given. A frame before settles where things are.
func (p *panelPage) click(selector, text string) {
	p.t.Helper()
	found := value[bool](p.logic, fmt.Sprintf(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => {
		const all = [...document.querySelectorAll(%s)].filter((e) => !%s || e.textContent.trim() === %[2]s || e.getAttribute("aria-label") === %[2]s);
		const e = all.find((e) => e.getClientRects().length && !e.disabled);
		if (!e) return false;
		document.querySelectorAll("[data-pressed]").forEach((e) => { delete e.dataset.pressed; });
		e.dataset.pressed = "1";
		e.scrollIntoView({ block: "nearest" });
		return true;
	})`, literal(selector), literal(text)))
	if !found {
		p.t.Fatalf("there is no %s %q to press", selector, text)
	}
	if err := chromedp.Do(p.ctx, chromedp.Click(chromedp.CSS(`[data-pressed]`))); err != nil {
		p.t.Fatal(err)
	}
}

// until waits for a condition; what is said then is for the failure.
func (p *panelPage) until(condition, otherwise string) {
	p.t.Helper()
	done := value[bool](p.logic, fmt.Sprintf(`new Promise((done) => {
		const until = performance.now() + 100000;
		const look = () => { let is = false; try { is = Boolean(%s); } catch { is = false; } if (is || performance.now() > until) done(is); else requestAnimationFrame(look); };
		look();
	})`, condition))
	if !done {
		p.shot("failed-" + strings.ReplaceAll(p.t.Name(), "/", "-"))
		p.t.Fatalf("%s: %s\n%s", otherwise, condition, value[string](p.logic, `document.getElementById("dock").innerText`))
	}
}

// text is the text of the panel that is shown.
func (p *panelPage) text() string {
	p.t.Helper()
	return value[string](p.logic, `[...document.querySelectorAll(".panel")].filter((e) => !e.hidden).map((e) => e.innerText).join("\n")`)
}

// shots is the folder for pictures: that of MERIDIAN_SHOTS, or in CI one that git ignores; empty: none are kept.
func shots() string {
	dir := os.Getenv("MERIDIAN_SHOTS")
	if dir == "" && os.Getenv("MERIDIAN_CI") == "1" {
		dir = "screenshots"
	}
	return dir
}

// shot keeps a picture.
func (p *panelPage) shot(name string) {
	p.t.Helper()
	dir := shots()
	if dir == "" {
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	value[bool](p.logic, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// spot is where an instant of a row lies on the screen, below the row's top, in the view that the address names.
func (p *panelPage) spot(row string, at, from, to float64, below float64) (x, y float64) {
	p.t.Helper()
	p.until(`meridian.data.busy() === 0 && meridian.data.decoded > 0`, "the tiles do not come, so there is nothing to be pressed")
	// A frame settles where things are, after what was pressed before.
	xy := value[[]float64](p.logic, fmt.Sprintf(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => {
		const box = document.getElementById("over").getBoundingClientRect();
		const name = [...document.querySelectorAll(".name")].find((e) => e.querySelector(".text").textContent === %[1]s).getBoundingClientRect();
		return [box.left + (%[2]v - %[3]v) / (%[4]v - %[3]v) * box.width, name.top + %[5]v];
	})`, literal(row), at, from, to, below))
	return xy[0], xy[1]
}

// press clicks.
func (p *panelPage) press(x, y float64, modifiers chromedp.Modifier) {
	p.t.Helper()
	with := func(e *input.DispatchMouseEventParams) { e.Modifiers = int64(modifiers) }
	if err := chromedp.Do(p.ctx, chromedp.MouseEvent(chromedp.MouseMoved, x, y), chromedp.MouseClickXY(x, y, with)); err != nil {
		p.t.Fatal(err)
	}
}

// drawn says whether anything lies over the rows within a few pixels of a place.
func (p *panelPage) drawn(x, y float64) bool {
	p.t.Helper()
	return value[bool](p.logic, fmt.Sprintf(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
		const c = document.getElementById("over"), box = c.getBoundingClientRect(), r = c.width / box.width;
		const d = c.getContext("2d").getImageData((%v - box.left) * r - 2, (%v - box.top) * r - 2, 5, 5).data;
		done(d.some((v, i) => i %% 4 === 3 && v > 200));
	})))`, x, y))
}
