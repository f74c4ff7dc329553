// Command picture draws the picture of README.md anew: a client and a server on one timeline.
//
//	picture [-size 1200x480] [-rounds 6] OUT.png
//
// It runs the example rpc, aligns its two traces by bin/meridian (make build), and opens the page in a Chromium without a window. The
// picture shows the rounds that followed each other fastest.
//
//	examples/rpc --> client/, server/ --> meridian align --> page.html --> Chromium --> OUT.png
//	                                                     \-> events.csv --> the instants to show
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/chromedp/chromedp"

	"meridian/tools/chromium"
)

func main() {
	size := flag.String("size", "1200x480", "`WIDTHxHEIGHT` of the picture in pixels")
	rounds := flag.Int("rounds", 6, "show `N` rounds of the client")
	flag.Parse()
	var width, height int64
	if _, err := fmt.Sscanf(*size, "%dx%d", &width, &height); err != nil || flag.NArg() != 1 || *rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := draw(flag.Arg(0), width, height, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func draw(to string, width, height int64, rounds int) error {
	dir, err := os.MkdirTemp("", "picture")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	page, events := filepath.Join(dir, "page.html"), filepath.Join(dir, "events.csv")
	program, traces := filepath.Join(dir, "rpc"), filepath.Join(dir, "traces")
	for _, args := range [][]string{
		{"go", "build", "-o", program, "./examples/rpc"}, // go run would give the processes' rows another name
		{program, "-calls", "100", "-dir", traces},
		{"bin/meridian", "align", "-q", filepath.Join(traces, "client"), filepath.Join(traces, "server"), "-o", page, "-o", events},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", args, err, out)
		}
	}
	from, end, err := fastest(events, rounds)
	if err != nil {
		return err
	}
	png, err := capture(fmt.Sprintf("file://%s#v=1&t=%d,%d", page, from, end), width, height)
	if err != nil {
		return err
	}
	return os.WriteFile(to, png, 0o666)
}

// fastest returns the instants, in ns since the first event, between which the given number of rounds is that began
// fastest one after the other.
func fastest(table string, rounds int) (from, end int64, err error) {
	f, err := os.Open(table)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return 0, 0, err
	}
	at, event, phase := slices.Index(rows[0], "time_ns"), slices.Index(rows[0], "event"), slices.Index(rows[0], "phase")
	if at < 0 || event < 0 || phase < 0 {
		return 0, 0, fmt.Errorf("columns %q", rows[0])
	}
	var begun []int64
	first := int64(1<<63 - 1)
	for _, row := range rows[1:] {
		ns, err := strconv.ParseInt(row[at], 10, 64)
		if err != nil {
			return 0, 0, err
		}
		first = min(first, ns)
		if row[event] == "example:round" && row[phase] == "begin" {
			begun = append(begun, ns)
		}
	}
	slices.Sort(begun)
	for i := range max(len(begun)-rounds, 0) {
		if a, b := begun[i]-first, begun[i+rounds]-first; end == 0 || b-a < end-from {
			from, end = a, b
		}
	}
	if end == 0 {
		return 0, 0, fmt.Errorf("%d rounds, fewer than %d", len(begun), rounds+1)
	}
	return from, end, nil
}

// settled waits until the page has started and drawn all that it shows.
const settled = `new Promise((done) => {
	let still = 0;
	(function look() {
		const ready = document.documentElement.dataset.ready === "true" && meridian.data.busy() === 0 && meridian.data.decoded > 0;
		still = ready ? still + 1 : 0;
		if (still > 30) done(true); else requestAnimationFrame(look);
	})();
})`

// capture returns the picture of a page.
func capture(address string, width, height int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	browser, err := chromium.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer browser.Stop()
	tab, closeTab := browser.Tab()
	defer closeTab()
	if err := chromedp.Do(tab, chromedp.EmulateViewport(width, height), chromedp.Navigate(address)); err != nil {
		return nil, err
	}
	if ok, err := chromedp.Run(tab, chromedp.Evaluate[bool](settled, chromedp.EvalAwaitPromise)); err != nil || !ok {
		return nil, errors.Join(err, errors.New("the page does not come to rest"))
	}
	return chromedp.Run(tab, chromedp.CaptureScreenshot())
}
