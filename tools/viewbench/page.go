package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"meridian/internal/show/view"
	"meridian/tools/chromium"
)

// Bars of the page, in ms as the page measures them.
const (
	paintBar  = 1000.0
	medianBar = 16.0
	p99Bar    = 50.0
)

// figures are what was measured of one page.
type figures struct {
	name      string
	paints    []float64 // ms from asking for the page to the first frame with events, of each load
	complete  []float64 // ms until nothing of the first picture was missing
	moves     int
	work      []float64 // ms that the page worked for each frame with rows, sorted
	between   []float64 // ms from each such frame to the next frame, sorted
	processor []float64 // ms of a processor that the page's thread took for a frame of each move, on average, sorted
	worst     string    // in which move the longest frame was
	decoded   int       // tiles
	drawn     float64   // share of the rows' pixels that are not background, at the end
	failed    []string  // what went wrong in the page
}

// part is the value below which a part of sorted values lies.
func part(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

// missed says which bars the figures are beyond.
func (f *figures) missed() (list []string) {
	check := func(what string, value, bar float64) {
		if value > bar || value == 0 {
			list = append(list, fmt.Sprintf("%s: %s %.1f ms, bar %.0f ms", f.name, what, value, bar))
		}
	}
	check("first paint", median(f.paints), paintBar)
	check("median frame", part(f.work, 0.5), medianBar)
	check("p99 frame", part(f.work, 0.99), p99Bar)
	for _, reason := range f.failed {
		list = append(list, f.name+": "+reason)
	}
	return list
}

func median(values []float64) float64 { return part(slices.Sorted(slices.Values(values)), 0.5) }

func (f *figures) print() {
	fmt.Printf("\n%s, %d loads, %d moves\n", f.name, len(f.paints), f.moves)
	row := func(what string, value float64, bar string) { fmt.Printf("  %-44s %9.1f  %s\n", what, value, bar) }
	row("first paint with events, median, ms", median(f.paints), fmt.Sprintf("bar %.0f", paintBar))
	row("first paint with events, worst, ms", slices.Max(f.paints), "")
	row("first picture complete, median, ms", median(f.complete), "")
	row("frames", float64(len(f.work)), "")
	row("work of a frame, median, ms", part(f.work, 0.5), fmt.Sprintf("bar %.0f", medianBar))
	row("work of a frame, p99, ms", part(f.work, 0.99), fmt.Sprintf("bar %.0f", p99Bar))
	row("work of a frame, worst, ms", part(f.work, 1), f.worst)
	row("processor for a frame, median of moves, ms", part(f.processor, 0.5), "whatever else the machine does")
	row("processor for a frame, p99 of moves, ms", part(f.processor, 0.99), "")
	row("from frame to frame, median, ms", part(f.between, 0.5), "")
	row("from frame to frame, p99, ms", part(f.between, 0.99), "")
	row("tiles decoded", float64(f.decoded), "")
}

// watch runs in the page before its own code: it notes when frames with events come, and how far frames are apart.
const watch = `(() => {
	const seen = globalThis.seen = { paint: 0, complete: 0, between: [], wrong: [] };
	let app, drew = false, before = 0;
	addEventListener("error", (e) => seen.wrong.push(String(e.message)));
	addEventListener("unhandledrejection", (e) => seen.wrong.push(String(e.reason)));
	addEventListener("securitypolicyviolation", (e) => seen.wrong.push("policy: " + e.violatedDirective));
	const shown = (name) => requestAnimationFrame(() => { seen[name] ||= performance.now(); });
	Object.defineProperty(globalThis, "meridian", { configurable: true, get: () => app, set: (value) => {
		app = value;
		app.on("redraw", () => {
			drew = true;
			if (!seen.paint && app.data.decoded) shown("paint");
			if (!seen.complete && app.data.decoded && !app.data.busy()) shown("complete");
		});
	} });
	requestAnimationFrame(function each(now) {
		if (drew && before) seen.between.push(now - before);
		drew = false;
		before = now;
		requestAnimationFrame(each);
	});
})()`

// resting waits until the page has nothing more to draw or to read.
const resting = `new Promise((done) => {
	let still = 0, last = -1;
	const until = performance.now() + 120000;
	requestAnimationFrame(function look() {
		const { all } = meridian.stats(), same = all === last && !meridian.data.busy();
		last = all;
		still = same ? still + 1 : 0;
		if (still > 2 || performance.now() > until) done(still > 2);
		else requestAnimationFrame(look);
	});
})`

// settled waits until the page of a timeline that grows, which never rests, has what it asked for.
const settled = `new Promise((done) => {
	let frames = 0, had = false;
	const until = performance.now() + 120000;
	requestAnimationFrame(function look() {
		had ||= !meridian.data.busy();
		if ((had && ++frames > 6) || performance.now() > until) done(had);
		else requestAnimationFrame(look);
	});
})`

// bench measures pages in one browser.
type bench struct {
	browser *chromium.Browser
	loads   int
	moves   int
	shots   string // where pictures go; empty: nowhere
	profile string // where a profile of the page's code goes; empty: nowhere
	verbose bool   // print every move
	rest    string // JavaScript that waits until a move is over
}

// served measures the page of a timeline as it is served.
func (b *bench) served(ctx context.Context, t *view.Timeline) (*figures, error) {
	s, err := view.Listen("127.0.0.1:0", t, nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	defer func() { cancel(); <-ended }()
	return b.measure("served", s.URL())
}

// file measures the page as one file.
func (b *bench) file(t *view.Timeline) (*figures, error) {
	dir, err := os.MkdirTemp("", "viewbench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "timeline.html")
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	err = view.WriteFile(f, t, view.Options{})
	if end := f.Close(); err == nil {
		err = end
	}
	if err != nil {
		return nil, err
	}
	return b.measure("one file", "file://"+path)
}

// measure loads a page several times, then moves about in the last one.
func (b *bench) measure(name, address string) (*figures, error) {
	f := &figures{name: name, moves: b.moves}
	for i := range b.loads {
		if err := b.load(f, address, i == b.loads-1); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	slices.Sort(f.work)
	slices.Sort(f.between)
	slices.Sort(f.processor)
	return f, nil
}

func (b *bench) load(f *figures, address string, last bool) error {
	ctx, closed := b.browser.Tab()
	defer closed()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1600, 900)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch}); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		return err
	}
	stop := func() error { return nil }
	if last {
		var err error
		if stop, err = b.profiled(ctx, f.name); err != nil {
			return err
		}
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(address), chromedp.WaitReady(`html[data-ready="true"]`)); err != nil {
		return err
	}
	if _, err := evaluate[bool](ctx, b.rest); err != nil {
		return err
	}
	first, err := evaluate[struct{ Paint, Complete float64 }](ctx, `({ paint: seen.paint, complete: seen.complete })`)
	if err != nil {
		return err
	}
	f.paints, f.complete = append(f.paints, first.Paint), append(f.complete, first.Complete)
	if !last {
		return nil
	}
	if err := b.shot(ctx, f.name+"-0"); err != nil {
		return err
	}
	if err := b.move(ctx, f); err != nil {
		return err
	}
	if err := stop(); err != nil {
		return err
	}
	end, err := evaluate[struct {
		Between []float64
		Wrong   []string
		Decoded int
		Drawn   float64
	}](ctx, `(() => {
		const c = document.getElementById("rows"), d = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer), plain = d[d.length - 1];
		return { between: seen.between, wrong: seen.wrong, decoded: meridian.stats().decoded, drawn: d.filter((v) => v !== plain).length / d.length };
	})()`)
	if err != nil {
		return err
	}
	f.between, f.decoded, f.drawn, f.failed = end.Between, end.Decoded, end.Drawn, append(f.failed, end.Wrong...)
	return nil
}

// shot keeps a picture of the page.
func (b *bench) shot(ctx context.Context, name string) error {
	if b.shots == "" {
		return nil
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.shots, name+".png"), png, 0o644)
}

func evaluate[T any](ctx context.Context, script string) (T, error) {
	return chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

func call[P any](ctx context.Context, command cdp.Command[P, cdp.Empty], params P) error {
	_, err := chromedp.Call(ctx, command, params)
	return err
}
