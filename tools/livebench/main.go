//go:build linux

// Livebench measures how long after its emission an event of a program is seen in the page, while it is recorded:
//
//	livebench emit --rings--> meridian record --flush 10ms --kernel sched,syscalls --files--> meridian view --follow --> Chromium
//	100,000 events/s, 50 marks/s                                                              tiles, server-sent events
//
//	go run ./tools/livebench [-rate 100000] [-length 20s] [-kernel sched,syscalls] [-latency 100ms] [-flush 10ms] [-check]
//	go run ./tools/livebench -tail json [-latency 20ms] ...
//
// A mark is a slice among the program's other events with a field of its own: the time of day at which it was emitted. It is
// seen when the frame that draws it is over and the next one begins. So the latency holds all that lies between: ring, recorder,
// files, sorter, index, server, decoding, drawing. What the frames of the page cost, and what the viewer's process and
// the recorder take of a core, is printed beside it.
//
// With -tail meridian tail takes the place of viewer and browser: every line goes into a pipe, and is read. Then --latency is 20 ms unless it is given.
//
// With -check the exit code is 1 if the median is above 300 ms or the p99 above 1 s; with -tail, if the p99 is above 40 ms or tail takes more than
// 15% of a core. Nothing here is a test: other work on the
// machine may not break the build. It needs Chromium without -tail, and root for kernel events.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"
)

// Bars, in ms.
const (
	maxMedian = 300
	maxP99    = 1000
)

type bench struct {
	meridian         string
	rate             int
	length           time.Duration
	kernel           string
	latency, flush   time.Duration
	shot             string
	self             string
	recorder, viewer cost
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "emit" {
		exit(emit(os.Args[2:]))
	}
	b := &bench{}
	flag.StringVar(&b.meridian, "meridian", "bin/meridian", "the command to measure")
	flag.IntVar(&b.rate, "rate", 100_000, "events a second of the program")
	flag.DurationVar(&b.length, "length", 20*time.Second, "how long it is measured")
	flag.StringVar(&b.kernel, "kernel", "sched,syscalls", "the kernel events that are recorded too; empty for none")
	flag.DurationVar(&b.latency, "latency", 100*time.Millisecond, "how long the viewer waits for late events")
	flag.DurationVar(&b.flush, "flush", 10*time.Millisecond, "how long the recorder keeps events to itself")
	flag.StringVar(&b.shot, "shot", "", "keep a picture of the page as this FILE")
	tail := flag.String("tail", "", "measure meridian tail in a `FORMAT` instead of the page: json or text")
	check := flag.Bool("check", false, "exit with 1 if a bar is missed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *tail != "" {
		b.runTail(ctx, *tail, *check)
		return
	}
	r, err := b.run(ctx)
	if err != nil {
		exit(err)
	}
	median, p99 := b.print(r)
	if *check && (median > maxMedian || p99 > maxP99) {
		exit(fmt.Errorf("missed: the median is to be %d ms at most, p99 %d ms", maxMedian, maxP99))
	}
}

// runTail measures tail.
func (b *bench) runTail(ctx context.Context, format string, check bool) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "latency" })
	if !given {
		b.latency = 20 * time.Millisecond
	}
	t, err := b.tail(ctx, format)
	if err != nil {
		exit(err)
	}
	if p99, share := b.printTail(t, format); check && (p99 > maxTailP99 || share > maxTailShare) {
		exit(fmt.Errorf("missed: p99 is to be %d ms at most, tail to take %.0f%% of a core", maxTailP99, 100*maxTailShare))
	}
}

func exit(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "livebench:", err)
	os.Exit(1)
}

// print writes the figures and returns those that have bars, in ms.
func (b *bench) print(r *result) (median, p99 float64) {
	all := make([]float64, 0, len(r.Marks))
	for _, m := range r.Marks {
		all = append(all, m[1]-m[0])
	}
	if len(all) == 0 {
		exit(errors.New("no mark was seen"))
	}
	slices.Sort(all)
	median, p99 = part(all, 0.5), part(all, 0.99)
	fmt.Printf("%d events/s, kernel events %q, latency %v, flush %v, %v\n", b.rate, b.kernel, b.latency, b.flush, b.length)
	fmt.Printf("from emission until seen, ms: least %.0f, median %.0f, p90 %.0f, p99 %.0f, most %.0f; %d marks seen of %d emitted\n",
		all[0], median, part(all, 0.9), p99, all[len(all)-1], len(all), r.Emitted)
	fmt.Printf("work of a frame, ms: median %.1f, p99 %.1f, worst %.1f; %.0f frames/s\n", r.Work.Median, r.Work.P99, r.Work.Worst, float64(r.Work.Frames)/b.length.Seconds())
	fmt.Printf("of a core: recorder %.1f%%, viewer %.1f%%; viewer's memory of its own %d MiB\n", 100*b.recorder.share, 100*b.viewer.share, b.viewer.own>>20)
	fmt.Printf("the timeline: %d events; %s\n", r.Events, r.Chip)
	return median, p99
}

func part(sorted []float64, p float64) float64 {
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}
