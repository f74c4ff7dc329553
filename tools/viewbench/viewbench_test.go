//go:build !race

package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/load"
	"meridian/internal/testneed"
	"meridian/tools/chromium"
)

// What make bench-view does, small and without a clock: every move draws, tiles come, and nothing goes wrong in the page.
func TestEveryMoveIsDrawnServedAndInOneFile(t *testing.T) {
	testneed.Long(t, "needs a browser")
	browser, err := chromium.StartShell(t.Context())
	if errors.Is(err, chromium.ErrNone) {
		testneed.Missing(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer browser.Stop()
	o := options{Options: load.Options{Events: 120_000, Hosts: 3, Messages: 12_000}, path: filepath.Join(t.TempDir(), "load.mvx"), tiles: 5}
	x, _, err := indexed(o)
	if err != nil {
		t.Fatal(err)
	}
	timeline, err := opened(x)
	if err != nil {
		t.Fatal(err)
	}
	defer timeline.Close()
	o.loads, o.moves = 1, 20
	pages, err := browse(t.Context(), browser, timeline, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range pages {
		if len(f.failed) > 0 {
			t.Errorf("%s: %s", f.name, strings.Join(f.failed, "; "))
		}
		if f.paints[0] <= 0 || f.complete[0] < f.paints[0] {
			t.Errorf("%s: first painted at %v, complete at %v", f.name, f.paints, f.complete)
		}
		if len(f.work) < 20 || f.decoded < 4 || f.drawn < 0.05 {
			t.Errorf("%s: %d frames, %d tiles, %.3f of the picture drawn", f.name, len(f.work), f.decoded, f.drawn)
		}
	}
}

func TestRequestsAreComparedWithTheIndexAlone(t *testing.T) {
	if _, err := requestsOf(5_000); err != nil {
		t.Error(err)
	}
}
