// Command liveclocks plays hours of clocks that wander, are set, come and go to align/live, and checks every place as it would
// have been shown against the truth:
//
//	liveclocks [-span 12h] [-period 1s] [-interval 5s] [-seed 1]      two hosts, and the offline run over the same messages
//	liveclocks -hosts 8 [-span 1h] [-period 500ms] [-stay]            a partial mesh with joins, leaves and restarts
//
// It prints a line for each hour, or twelfth of the span if that is less, with the heap in use, and what came out. Hosts of a mesh come and go
// in the first third. With -stay the one that the timeline follows does not leave: then all places compare with the offline run, without it
// those before it left. The exit code is 1 if a place was wrong outside the time between a step and its discovery, if the heap grew by more
// than 5% over the last half (a line through it: what maps hold goes up and down with the steps), or if the offline run disagrees.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"meridian/align/live"
	"meridian/internal/livetest"
)

func main() {
	var o live.Options
	span := flag.Duration("span", 12*time.Hour, "how long the clocks run")
	period := flag.Duration("period", time.Second, "mean time between exchanges of a link")
	between := flag.Duration("steps", 20*time.Minute, "mean time between steps of a clock")
	hosts := flag.Int("hosts", 2, "number of hosts")
	seed := flag.Uint64("seed", 1, "seed")
	flag.DurationVar(&o.Interval, "interval", 5*time.Second, "time between rounds")
	stay := flag.Bool("stay", false, "the first host of a mesh stays")
	lag := flag.Duration("lag", 0, "how long a round is solved while messages come")
	flag.Parse()
	s := livetest.Two(*seed, *span, *period, *between, o)
	if *hosts > 2 {
		s = livetest.Mesh(*seed, *hosts, *span, *span/3, *period, *between, o)
	}
	if *stay {
		s.Hosts[0].Leave = 0
	}
	s.Samples = 20_000
	s.Every = min(time.Hour, *span/12)
	s.Lag = *lag
	ok, err := run(s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "liveclocks:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(s *livetest.Scenario) (ok bool, err error) {
	var heaps []uint64
	began := time.Now()
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // pools let go at the second
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	s.Watch = func(at time.Duration, w *livetest.World) {
		heaps = append(heaps, heap())
		fmt.Printf("%4v after %v: heap %.2f MB, %d places, %d wrong\n", at, time.Since(began).Round(time.Second), float64(heaps[len(heaps)-1])/1e6, w.Bounded, w.Wrong)
	}
	w, err := livetest.Play(context.Background(), s)
	if err != nil {
		return false, err
	}
	fmt.Println(w.Tally.String())
	for _, f := range w.Failures {
		fmt.Println(f)
	}
	ok = w.Failed == 0
	if n := len(heaps); n >= 4 {
		half := heaps[n/2-1:]
		grown := trend(half)
		fmt.Printf("heap over the last half: %.2f to %.2f MB, by a line through all %+.1f%%\n", float64(slices.Min(half))/1e6, float64(slices.Max(half))/1e6, grown*100)
		ok = ok && grown <= 0.05
	}
	if s.Samples > 0 {
		a, err := w.Offline(context.Background())
		if err != nil {
			return false, err
		}
		fmt.Printf("offline: %d places compared, %d apart; at the end %d, %d apart; offline's own wrong %d\n", a.Compared, a.Apart, a.Last, a.LastApart, a.Wrong)
		ok = ok && a.Compared > 0 && a.Apart == 0 && a.LastApart == 0
	}
	return ok, nil
}

// trend returns by how much of their mean values at equal distances grow from the first to the last, by the line of least squares.
func trend(values []uint64) float64 {
	middle, mean := float64(len(values)-1)/2, 0.0
	for _, v := range values {
		mean += float64(v) / float64(len(values))
	}
	above, below := 0.0, 0.0
	for i, v := range values {
		x := float64(i) - middle
		above += x * (float64(v) - mean)
		below += x * x
	}
	return above / below * 2 * middle / mean
}
