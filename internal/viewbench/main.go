// Viewbench makes large timelines for the viewer and measures how fast their index is built and read.
//
// It builds the index of a busy timeline (internal/viewbench/busy), which is made as it goes, then reads tiles at random and
// prints how many events a second went in, what the process held at most (VmHWM), how large the file is and how long tiles
// took.
//
//	go run ./internal/viewbench [-events 10000000] [-hosts 8] [-messages 1000000] [-o FILE.index] [-tiles 200]
//
// The file is what the browser is measured with: meridian view FILE.index. With -bars it fails where the index is built at
// less than a million events a second, or takes more than 512 MiB, or one tile of a hundred takes 10 ms or more.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"meridian/internal/viewbench/busy"
	"meridian/show/index"
)

func main() {
	var o busy.Options
	flag.IntVar(&o.Events, "events", 10_000_000, "how many events the timeline has")
	flag.IntVar(&o.Hosts, "hosts", 8, "on how many hosts")
	flag.IntVar(&o.Messages, "messages", 1_000_000, "how many messages go between them")
	path := flag.String("o", "", "where the index is left; empty: nowhere")
	tiles := flag.Int("tiles", 200, "how many tiles are read")
	bars := flag.Bool("bars", false, "fail below the bars")
	profile := flag.String("cpuprofile", "", "where a profile of the building is written")
	flag.Parse()
	if err := run(o, *path, *tiles, *bars, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "viewbench:", err)
		os.Exit(1)
	}
}

func run(o busy.Options, path string, tiles int, bars bool, profile string) error {
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	l := busy.Legend(o)
	begin := time.Now()
	b, err := index.NewBuilder(l, index.Options{Path: path})
	if err != nil {
		return err
	}
	defer b.Discard()
	if err := busy.Write(o, l, b); err != nil {
		return err
	}
	if err := b.Close(); err != nil {
		return err
	}
	took, worked := time.Since(begin), processorTime()
	x, err := b.Index()
	if err != nil {
		return err
	}
	defer x.Close()
	a := x.About()
	rate := float64(a.Events) / took.Seconds()
	peak, err := peakMemory()
	if err != nil {
		return err
	}
	fmt.Printf("%d events, %d messages %v in %.2f s: %.2f M events/s, peak %d MiB; %.2f s of processors, the making of the timeline included\n",
		a.Events, a.Messages, a.Verdicts, took.Seconds(), rate/1e6, peak>>20, worked.Seconds())
	if path != "" {
		if info, err := os.Stat(path); err == nil {
			fmt.Printf("%d MiB, %.1f bytes an event\n", info.Size()>>20, float64(info.Size())/float64(a.Events))
		}
	}
	p99, err := read(x, tiles)
	if err != nil || !bars {
		return err
	}
	switch {
	case rate < 1e6:
		err = errors.New("less than a million events a second")
	case peak > 512<<20:
		err = errors.New("more than 512 MiB")
	case p99 >= 10*time.Millisecond:
		err = errors.New("a tile of a hundred takes 10 ms or more")
	}
	return err
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
	fmt.Printf("%d tiles of all levels: median %v, p99 %v, most %v (of processors: %v, %v, %v), %d bytes on average\n",
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
		fmt.Printf("level %d, tile 0 of each group: at most %v of processors\n", level, most)
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
	return 0, errors.New("the system does not say how much memory was used")
}
