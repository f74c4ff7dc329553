// Viewbench makes large timelines for the viewer and measures how fast their index is built and read.
//
// It builds the index of a busy timeline (internal/load), generated meanwhile, then reads tiles at random. It prints the
// events indexed a second, the peak memory (VmHWM), the size of the file, and the time of a tile, of searches and of the
// numbers of stretches (ask.go). With -browser it then shows the timeline in Chromium, served and as one file. It measures
// the time to the first frame with events. The page measures the cost of frames during zooms and moves by wheel, drag and
// keys (page.go, moves.go).
//
//	go run ./tools/viewbench [-events 10000000] [-hosts 8] [-messages 1000000] [-o FILE.mvx] [-tiles 200] [-spans 1000000] [-switches 10000000] [-browser] [-check]
//
// With -grow 10000 the timeline is one that grows by so many events a second while the page is measured (grow.go); with -requests 20s the list of requests is.
//
// FILE.mvx can be looked at: meridian view FILE.mvx; -index FILE.mvx measures the browser with it and builds nothing.
// With -check it fails if the index is built at less than a million events a second or takes more than 512 MiB, or if
// the p99 of a tile is 10 ms or more, or a search takes a second, or numbers or states of threads 300 ms (states.go), or the list of requests of a million spans more than twice
// their index (spans.go). It also fails if
// the first paint takes a second, or a frame 16 ms (median) or 50 ms (p99). All is of the wall clock: on a machine that does other things, read them with that in mind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"meridian/internal/load"
	"meridian/internal/show/index"
	"meridian/internal/show/view"
	"meridian/tools/chromium"
)

func main() {
	var o options
	flag.IntVar(&o.Events, "events", 10_000_000, "how many events the timeline has")
	flag.IntVar(&o.Hosts, "hosts", 8, "on how many hosts")
	flag.IntVar(&o.Messages, "messages", 1_000_000, "how many messages go between them")
	flag.StringVar(&o.path, "o", "", "where the index is left; empty: nowhere")
	flag.StringVar(&o.index, "index", "", "an index that is there already, for the browser alone")
	flag.IntVar(&o.spans, "spans", 1_000_000, "how many spans a list of requests is made of; 0: none is")
	flag.IntVar(&o.switches, "switches", 10_000_000, "of how many events of kernels states of threads are summed up; 0: of none")
	flag.IntVar(&o.tiles, "tiles", 200, "how many tiles are read")
	flag.BoolVar(&o.check, "check", false, "fail below the bars")
	flag.StringVar(&o.profile, "cpuprofile", "", "where a profile of the building is written")
	flag.BoolVar(&o.browser, "browser", false, "measure the page in Chromium too")
	flag.IntVar(&o.loads, "loads", 5, "how often the page is loaded")
	flag.IntVar(&o.moves, "moves", 200, "how many zooms and moves are made")
	flag.StringVar(&o.shots, "shots", "", "a folder for pictures of the page")
	flag.StringVar(&o.pageProfile, "pageprofile", "", "a folder for profiles of the page's code")
	flag.IntVar(&o.grow, "grow", 0, "measure the page of a timeline that grows by so many events a second instead")
	flag.DurationVar(&o.requests, "requests", 0, "with -grow, ask for the list of requests each second for so long, instead of the page")
	flag.BoolVar(&o.verbose, "v", false, "print every move")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // the browser's folder goes too
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "viewbench:", err)
		os.Exit(1)
	}
}

type options struct {
	load.Options
	path, index, profile string
	tiles, loads, moves  int
	spans, switches      int
	grow                 int
	requests             time.Duration
	check, browser       bool
	verbose              bool
	shots, pageProfile   string
}

func run(ctx context.Context, o options) error {
	if o.grow > 0 {
		f, err := watchGrowing(ctx, o)
		if err != nil || f == nil {
			return err
		}
		f.print()
		if missed := f.missed(); o.check && len(missed) > 0 {
			return errors.New(strings.Join(missed, "; "))
		}
		return nil
	}
	x, missed, err := indexed(o)
	if err != nil {
		return err
	}
	t, err := opened(x)
	if err != nil {
		return err
	}
	defer t.Close()
	if o.spans > 0 && o.index == "" {
		slow, err := requestsOf(o.spans)
		if err != nil {
			return err
		}
		missed = append(missed, slow...)
	}
	if o.index == "" {
		slow, err := statesOf(o.switches, o.Hosts)
		if err != nil {
			return err
		}
		missed = append(missed, slow...)
	}
	if o.browser || o.index != "" {
		pages, err := browseWhole(ctx, t, o)
		if err != nil {
			return err
		}
		for _, f := range pages {
			missed = append(missed, f.missed()...)
		}
	}
	if !o.check || len(missed) == 0 {
		return nil
	}
	return errors.New(strings.Join(missed, "; "))
}

func opened(x *index.Index) (*view.Timeline, error) {
	t, err := view.NewTimeline(x)
	if err != nil {
		x.Close()
	}
	return t, err
}

// browseWhole measures the page of a timeline in a whole browser.
func browseWhole(ctx context.Context, t *view.Timeline, o options) ([]*figures, error) {
	browser, err := chromium.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer browser.Stop()
	return browse(ctx, browser, t, o)
}

// browse measures the page of a timeline in a browser, served and as one file.
func browse(ctx context.Context, browser *chromium.Browser, t *view.Timeline, o options) ([]*figures, error) {
	b := &bench{browser: browser, loads: o.loads, moves: o.moves, shots: o.shots, profile: o.pageProfile, verbose: o.verbose, rest: resting}
	served, err := b.served(ctx, t)
	if err != nil {
		return nil, err
	}
	served.print()
	file, err := b.file(t)
	if err != nil {
		return nil, err
	}
	file.print()
	return []*figures{served, file}, nil
}

// indexed opens an index, or builds one and says which bars it misses.
func indexed(o options) (*index.Index, []string, error) {
	if o.index != "" {
		x, err := index.Open(o.index)
		return x, nil, err
	}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return nil, nil, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, nil, err
		}
		defer pprof.StopCPUProfile()
	}
	l := load.Schema(o.Options)
	begin := time.Now()
	b, err := index.NewBuilder(l, index.Options{Path: o.path})
	if err != nil {
		return nil, nil, err
	}
	defer b.Discard()
	if err := load.Write(o.Options, l, b); err != nil {
		return nil, nil, err
	}
	if err := b.Close(); err != nil {
		return nil, nil, err
	}
	took, worked := time.Since(begin), processorTime()
	x, err := b.Index()
	if err != nil {
		return nil, nil, err
	}
	missed, err := built(x, o, took, worked)
	if err != nil {
		x.Close()
		return nil, nil, err
	}
	return x, missed, nil
}

// built prints how the index was built and is read, and says which bars that misses.
func built(x *index.Index, o options, took, worked time.Duration) (missed []string, err error) {
	a := x.About()
	rate := float64(a.Events) / took.Seconds()
	peak, err := peakMemory()
	if err != nil {
		return nil, err
	}
	fmt.Printf("%d events, %d messages %v in %.2f s: %.2f M events/s, peak %d MiB; %.2f s of CPU, including making the timeline\n",
		a.Events, a.Messages, a.Verdicts, took.Seconds(), rate/1e6, peak>>20, worked.Seconds())
	if o.path != "" {
		if info, err := os.Stat(o.path); err == nil {
			fmt.Printf("%d MiB, %.1f bytes an event\n", info.Size()>>20, float64(info.Size())/float64(a.Events))
		}
	}
	p99, err := read(x, o.tiles)
	if rate < 1e6 {
		missed = append(missed, fmt.Sprintf("the index is built at %.2f million events a second, bar 1", rate/1e6))
	}
	if peak > 512<<20 {
		missed = append(missed, fmt.Sprintf("building it takes %d MiB, bar 512", peak>>20))
	}
	if p99 >= 10*time.Millisecond {
		missed = append(missed, fmt.Sprintf("a tile of a hundred takes %v, bar 10 ms", p99))
	}
	if err != nil {
		return nil, err
	}
	slow, err := ask(x)
	return append(missed, slow...), err
}

// read reads tiles of all levels and groups at random.
func read(x *index.Index, n int) (p99 time.Duration, err error) {
	a := x.About()
	r := rand.New(rand.NewPCG(3, 4))
	var times, work []time.Duration
	bytes := 0
	for range n {
		level := r.IntN(a.Top + 1)
		i := r.Int64N(a.Span>>(level+10) + 1)
		begin, worked := time.Now(), processorTime()
		tile, err := x.Tile(r.IntN(len(a.Hosts)+1), level, i)
		if err != nil {
			return 0, err
		}
		times, work = append(times, time.Since(begin)), append(work, processorTime()-worked)
		bytes += len(tile)
	}
	if n == 0 {
		return 0, nil
	}
	slices.Sort(times)
	slices.Sort(work)
	p99 = times[min(n*99/100, n-1)]
	fmt.Printf("%d tiles of all levels: median %v, p99 %v, most %v (CPU: %v, %v, %v), %d bytes on average\n",
		n, times[n/2], p99, times[n-1], work[n/2], work[min(n*99/100, n-1)], work[n-1], bytes/n)
	for level := a.Top; level > max(a.Top-6, 0); level-- {
		var most time.Duration
		for group := range len(a.Hosts) + 1 {
			worked := processorTime()
			if _, err := x.Tile(group, level, 0); err != nil {
				return 0, err
			}
			most = max(most, processorTime()-worked)
		}
		fmt.Printf("level %d, tile 0 of each group: at most %v of CPU\n", level, most)
	}
	return p99, nil
}

// processorTime returns how long this process has had a processor, which other work on the machine disturbs less.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory returns the most that this process held.
func peakMemory() (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			return kb << 10, nil
		}
	}
	return 0, errors.New("/proc/self/status has no VmHWM")
}
