package show

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a page open in a real Chromium, with everything that it complained about or asked of a network.
type browser struct {
	t       *testing.T
	ctx     context.Context
	dir     string
	mu      sync.Mutex
	trouble []string
}

// open writes the timeline's page and opens it from the disk. MERIDIAN_SHOTS names a directory that keeps pictures.
func open(t *testing.T, timeline *Timeline, width, height int64, scheme string) *browser {
	t.Helper()
	path := chromium(t)
	b := &browser{t: t, dir: t.TempDir()}
	if shots := os.Getenv("MERIDIAN_SHOTS"); shots != "" {
		b.dir = shots
	}
	page := filepath.Join(t.TempDir(), "page.html")
	var out bytes.Buffer
	if err := timeline.WritePage(&out); err != nil {
		t.Fatal(err)
	}
	t.Logf("the page has %d KiB", out.Len()>>10)
	if err := os.WriteFile(page, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("force-color-profile", "srgb"))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancelAllocator := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancelAllocator)
	ctx, cancelBrowser := chromedp.NewContext(ctx)
	t.Cleanup(cancelBrowser)
	b.ctx = ctx
	if err := chromedp.Listen(ctx, b.listen("file://"+page)); err != nil {
		t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	media := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: media})
	b.run(
		chromedp.EmulateViewport(width, height),
		chromedp.Navigate("file://"+page),
		chromedp.WaitVisible(`html[data-ready="true"]`),
		b.settle(),
	)
	t.Cleanup(b.checkTrouble)
	return b
}

func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("MERIDIAN_CI") == "1" {
		t.Fatal("no Chromium, and MERIDIAN_CI=1 says there must be one")
	}
	t.Skip("no Chromium on this machine")
	return ""
}

func (b *browser) listen(page string) func(event any) {
	return func(event any) {
		text := ""
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			text = fmt.Sprintf("console %s: %v", e.Type, e.Args)
		case *runtime.EventExceptionThrown:
			text = fmt.Sprintf("exception: %+v", e.ExceptionDetails)
		case *log.EventEntryAdded:
			text = "log: " + e.Entry.Text
		case *network.EventRequestWillBeSent:
			if e.Request.URL != page && !strings.HasPrefix(e.Request.URL, "data:") {
				text = "request: " + e.Request.URL
			}
		}
		if text != "" {
			b.mu.Lock()
			b.trouble = append(b.trouble, text)
			b.mu.Unlock()
		}
	}
}

func (b *browser) checkTrouble() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.trouble {
		b.t.Errorf("the page is not quiet: %s", text)
	}
}

func call[P, R any](b *browser, command cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// settle waits until what was asked for is drawn: two frames on.
func (b *browser) settle() chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`,
		chromedp.EvalAwaitPromise)
}

func evaluate[T any](b *browser, script string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return value
}

func (b *browser) eval(script string) string {
	b.t.Helper()
	return evaluate[string](b, "String("+script+")")
}
func (b *browser) number(script string) float64 {
	b.t.Helper()
	return evaluate[float64](b, "Number("+script+")")
}

func (b *browser) mouse(kind input.DispatchMouseEventType, x, y float64, more ...chromedp.MouseOption) {
	b.t.Helper()
	b.run(chromedp.MouseEvent(kind, x, y, more...), b.settle())
}

func (b *browser) wheel(x, y, delta float64) {
	b.mouse(input.DispatchMouseEventTypeMouseWheel, x, y, func(p *input.DispatchMouseEventParams) {
		p.DeltaX, p.DeltaY = 1e-6, delta // both are required, and a zero is not sent
	})
}

// drag goes from one point to another with the left button held.
func (b *browser) drag(x0, y0, x1, y1 float64, modifiers chromedp.Modifier) {
	b.t.Helper()
	held := func(p *input.DispatchMouseEventParams) {
		p.Modifiers, p.Buttons, p.Button, p.ClickCount = int64(modifiers), 1, input.MouseButtonLeft, 1
	}
	b.mouse(chromedp.MousePressed, x0, y0, held)
	for i := 1.0; i <= 4; i++ {
		b.mouse(chromedp.MouseMoved, x0+(x1-x0)*i/4, y0+(y1-y0)*i/4, held)
	}
	b.mouse(chromedp.MouseReleased, x1, y1, held, func(p *input.DispatchMouseEventParams) { p.Buttons = 0 })
}

func (b *browser) key(keys string) { b.t.Helper(); b.run(chromedp.KeyEvent(keys), b.settle()) }

func (b *browser) shot(name string) {
	b.t.Helper()
	b.run(b.settle())
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

const (
	viewFrom   = `document.getElementById("stage").dataset.from`
	viewLength = `document.getElementById("stage").dataset.length`
)
