package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"meridian/format/ctf"
	"meridian/trace"
)

// readStreams reads each stream by itself, as many at once as there are processors, and decodes all fields.
func readStreams(dir string, events, processors int) error {
	runtime.GOMAXPROCS(processors)
	var w trace.Warnings
	t, err := ctf.Open(dir, &w)
	if err != nil {
		return err
	}
	defer t.Close()
	var g errgroup.Group
	g.SetLimit(processors)
	for _, s := range t.Streams {
		r := s.Reader()
		g.Go(func() error {
			for r.Next() == nil {
				r.Values()
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if n := t.Tally().Events; n != int64(events) || len(w.Lines()) > 0 {
		return fmt.Errorf("read %d of %d events; warnings: %q", n, events, w.Lines())
	}
	return nil
}

// sideBySide returns the medians of the elapsed times of two commands, run in turn.
func sideBySide(runs int, one, two []string) (oneSeconds, twoSeconds float64, err error) {
	var times [2][]float64
	for range runs {
		for i, args := range [][]string{one, two} {
			begin := time.Now()
			if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				return 0, 0, fmt.Errorf("%q: %w: %s", args, err, out)
			}
			times[i] = append(times[i], time.Since(begin).Seconds())
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	return times[0][runs/2], times[1][runs/2], nil
}
