//go:build unix

package record

import (
	"context"
	"path/filepath"
	"testing"

	"meridian/sensor/ring"
)

// TestARecorderThatEndsAtOnceReadsRingsThatItsPredecessorStillHolds: the system ends a process that was killed step by step.
func TestARecorderThatEndsAtOnceReadsRingsThatItsPredecessorStillHolds(t *testing.T) {
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var held *ring.Reader
	looks := 0
	only := func(ring.Info) bool {
		if looks++; looks == 2 {
			held.Close()
		}
		return true
	}
	for range 2 {
		r, err := New(Options{Dir: dir, Rings: []string{rings}, Only: only})
		if err != nil {
			t.Fatal(err)
		}
		if held == nil {
			if _, err := r.Run(ctx); err != nil {
				t.Fatal(err)
			}
			p := program(t, "left", rings, "GOROUTINES=1", "EVENTS=100")
			p.emitted(t)
			p.end(t)
			paths, err := ring.Find(rings)
			if err != nil || len(paths) != 1 {
				t.Fatalf("the rings %v: %v", paths, err)
			}
			if held, err = ring.Open(paths[0]); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if _, err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := ring.Find(rings); looks != 2 || len(left) > 0 {
		t.Errorf("after %d looks the rings %v are left", looks, left)
	}
}
