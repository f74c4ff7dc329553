// Package chromium starts the browser in which the timeline is tested and measured: a Chromium of the system, without a
// window, driven by chromedp.
//
//	b, err := chromium.Start(ctx)        a process and a folder of its own, both gone after b.Stop
//	b, err := chromium.StartShell(ctx)   the same without the parts that make a browser of the engine: half of the processor time
//	tab, stop := b.Tab(ctx)              what chromedp.Run and chromedp.Do are given
//
// Elements are named by chromedp.CSS: a plain string is looked for in the text of the page too, its style sheet included, and an
// action that waits until all it found are visible then never ends.
//
// Everything that Chromium leaves behind (a profile, sockets, org.chromium.* folders) lies in that folder. Starting takes
// about a second, a tab some milliseconds: tests share one browser. Nothing is fetched: what is shown is served on loopback
// or lies on the disk.
package chromium

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/chromedp/chromedp"
)

// ErrNone is returned where no Chromium is installed.
var ErrNone = errors.New("no Chromium is installed (apt-get install chromium)")

// maxStart is how long a Chromium may take to print where it listens: on a busy machine more than chromedp's 20 s.
const maxStart = 3 * time.Minute

var (
	// shells are the names of an engine without a browser around it.
	shells = []string{"chromium-headless-shell", "headless-shell"}
	// browsers are the names of whole browsers.
	browsers = []string{"chromium", "chromium-browser", "google-chrome", "chrome"}
)

// find returns the path of the first program that is installed, or ErrNone.
func find(names []string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNone
}

// Browser is one that runs.
type Browser struct {
	ctx  context.Context
	stop func()
}

// Start starts a whole browser where one is installed, as users have it: for measurements. The browser ends with ctx, or when it is
// stopped.
func Start(ctx context.Context) (*Browser, error) { return start(ctx, slices.Concat(browsers, shells)) }

// StartShell starts the engine alone where it is installed, and a whole browser elsewhere: for tests.
func StartShell(ctx context.Context) (*Browser, error) {
	return start(ctx, slices.Concat(shells, browsers))
}

func start(ctx context.Context, names []string) (*Browser, error) {
	path, err := find(names)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "meridian-chromium-")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Env("TMPDIR="+dir),
		chromedp.Flag("force-color-profile", "srgb"), chromedp.UserDataDir(dir+"/profile"), chromedp.WSURLReadTimeout(maxStart))
	all, end := chromedp.NewExecAllocator(ctx, options...)
	first, cancel := chromedp.NewContext(all)
	b := &Browser{ctx: first, stop: func() {
		cancel()
		end()
		os.RemoveAll(dir)
	}}
	if err := chromedp.Do(first, chromedp.Navigate("about:blank")); err != nil {
		b.stop()
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return b, nil
}

// Stop ends the browser with all its tabs, and removes its folder.
func (b *Browser) Stop() { b.stop() }

// Tab opens a tab, which is closed by close.
func (b *Browser) Tab() (tab context.Context, close func()) { return chromedp.NewContext(b.ctx) }
