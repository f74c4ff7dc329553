package live

import (
	"path/filepath"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/trace"
)

func TestFirstDropOfTheIndexIsToldOnceWhileTheViewGoesOn(t *testing.T) {
	const perSeal, seals = 100, 60
	for name, keep := range map[string]int64{"some is dropped": 1e9, "nothing is": 0} {
		t.Run(name, func(t *testing.T) {
			schema := &trace.Schema{Hosts: []string{"a"}, Classes: []trace.Class{{Name: "tick"}},
				Streams: []trace.Stream{{Name: "row", Host: "a", Kind: trace.Thread, Parent: -1}}}
			x, err := index.NewLive(filepath.Join(t.TempDir(), "index"), schema, index.Options{KeepTime: keep})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			var w trace.Warnings
			told, at, done := 0, 0, 0
			p := &pictures{index: x, dir: "index", warnings: &w, work: make(chan func() error, seals), failed: make(chan error, 1)}
			p.dropped = func() { told, at = told+1, done }
			for range seals {
				p.work <- func() error {
					for i := range perSeal {
						e := trace.TimelineEvent{Map: -1, Time: clock.TimelineTime((done*perSeal + i) * 1e6)}
						if err := x.Write(&e); err != nil {
							return err
						}
					}
					done++
					return x.Seal([]byte("x"))
				}
			}
			close(p.work)
			p.seal()
			select {
			case err := <-p.failed:
				t.Fatal(err)
			default:
			}
			warned := strings.Contains(strings.Join(w.Lines(), "\n"), "as --keep says")
			switch {
			case keep == 0 && (told > 0 || warned):
				t.Errorf("told %d times of what was not dropped, warnings %q", told, w.Lines())
			case keep > 0 && (told != 1 || !warned):
				t.Errorf("told %d times, want once; warnings %q", told, w.Lines())
			case keep > 0 && at >= seals/2:
				t.Errorf("told after %d of %d seals", at, seals)
			}
		})
	}
}
