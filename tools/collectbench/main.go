//go:build linux

// Collectbench measures how fast a trace is copied to servers, beside a TCP connection into a file that is never synced, and beside JetStream
// that syncs before it acknowledges. All ways carry the same files, in turns, over the loopback:
//
//	tcp         the files, a chunk a write --> a process that writes them and syncs never
//	meridian    ship, as in 'meridian agent' --> 'meridian server', which acknowledges after fdatasync
//	two         the same to two servers, both of which must have everything
//	jetstream   a message a chunk --> nats-server with sync_interval: always
//
//	go run ./tools/collectbench [-mib 512] [-rounds 5] [-kib 64,1024] [-ways tcp,meridian,two,jetstream] [-sync 0] [-check]
//
// With -sync each fsync and fdatasync of a server takes so much longer, as on a disk that is slower than this one: strace delays their return.
// What a way takes of processors is that of its processes at both ends, children of this one. Ratios are of medians. With -check the exit code
// is 1 if a bar of docs/benchmarks.md is missed. Nothing here is a test: other work on the machine may not break the build.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"
)

type bench struct {
	meridian, self string
	size           int64
	rounds         int
	chunks         []int64
	ways           []string
	sync           time.Duration // by which each sync takes longer
}

func main() {
	if len(os.Args) > 1 {
		if end, is := programs[os.Args[1]]; is {
			exit(end(os.Args[2:]))
		}
	}
	b := new(bench)
	flag.StringVar(&b.meridian, "meridian", "bin/meridian", "the command to measure")
	flag.IntVar(&b.rounds, "rounds", 5, "how often each way is measured")
	size := flag.Int64("mib", 512, "how many MiB are copied in a round")
	chunks := flag.String("kib", "64,1024", "KiB in a message, or a write, at most")
	only := flag.String("ways", strings.Join(ways, ","), "what is measured")
	dir := flag.String("dir", "", "where the files are written; a directory of the disk to measure (default: that of temporary files)")
	flag.DurationVar(&b.sync, "sync", 0, "how much longer each sync of a server takes than on this disk; needs strace")
	check := flag.Bool("check", false, "exit with 1 if a bar is missed")
	flag.Parse()
	if err := b.prepare(*size<<20, *chunks, *only); err != nil {
		exit(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := b.run(ctx, *dir)
	if err != nil {
		exit(err)
	}
	missed := r.print(b)
	if *check && len(missed) > 0 {
		exit(errors.New("missed: " + strings.Join(missed, "; ")))
	}
}

func (b *bench) prepare(size int64, chunks, only string) (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	b.size = size
	for text := range strings.SplitSeq(chunks, ",") {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 1 || n > 1024 {
			return fmt.Errorf("chunks of %q KiB: 1 to 1024", text)
		}
		b.chunks = append(b.chunks, n<<10)
	}
	for way := range strings.SplitSeq(only, ",") {
		if !slices.Contains(ways, way) {
			return fmt.Errorf("unknown way %q: %s", way, strings.Join(ways, ", "))
		}
		b.ways = append(b.ways, way)
	}
	return nil
}

func exit(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "collectbench:", err)
	os.Exit(1)
}

// taken is what a round took.
type taken struct {
	wall, cpu time.Duration
}

// rate is in MB/s.
func (t taken) rate(size int64) float64 { return float64(size) / 1e6 / t.wall.Seconds() }

type method struct {
	way   string
	chunk int64
}

type results struct{ of map[method][]taken }

// median returns the medians of both, one by one.
func (r *results) median(c method) taken {
	middle := func(of func(taken) time.Duration) time.Duration {
		var all []time.Duration
		for _, t := range r.of[c] {
			all = append(all, of(t))
		}
		if len(all) == 0 {
			return 0
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return taken{middle(func(t taken) time.Duration { return t.wall }), middle(func(t taken) time.Duration { return t.cpu })}
}

// Bars, as shares of the TCP sink's rate, multiples of JetStream's, and multiples of the sink's processor time.
const (
	leastOfTCP       = 0.3
	leastOfTCPTwo    = 0.18
	leastOfJetStream = 5
	mostCPU          = 5
)

func kib(bytes int64) string { return fmt.Sprintf("%d KiB", bytes>>10) }

// print writes the table, and returns the bars that were missed.
func (r *results) print(b *bench) (missed []string) {
	fmt.Printf("%-10s %9s %10s %18s %14s %10s %12s\n", "way", "chunk", "MB/s", "least to most", "s of cpu/GB", "of tcp", "of its cpu")
	for _, chunk := range b.chunks {
		tcp, jet := r.median(method{"tcp", chunk}), r.median(method{"jetstream", chunk})
		for _, way := range b.ways {
			m := r.median(method{way, chunk})
			all := slices.Clone(r.of[method{way, chunk}])
			slices.SortFunc(all, func(x, y taken) int { return int(y.wall - x.wall) })
			fmt.Printf("%-10s %9s %10.0f %8.0f to %6.0f", way, kib(chunk), m.rate(b.size), all[0].rate(b.size), all[len(all)-1].rate(b.size))
			share, work := tcp.wall.Seconds()/m.wall.Seconds(), m.cpu.Seconds()/tcp.cpu.Seconds()
			fmt.Printf(" %14.2f", m.cpu.Seconds()*1e9/float64(b.size))
			if tcp.wall > 0 {
				fmt.Printf(" %10.2f %12.1f", share, work)
			}
			fmt.Println()
			miss := func(is bool, format string, args ...any) {
				if is {
					missed = append(missed, fmt.Sprintf("%s of %s: ", way, kib(chunk))+fmt.Sprintf(format, args...))
				}
			}
			switch {
			case tcp.wall == 0:
			case way == "meridian":
				miss(share < leastOfTCP, "%.2f of tcp, not %.2f", share, leastOfTCP)
				miss(work > mostCPU, "%.1f times the processor time of tcp, not %d", work, mostCPU)
				if jet.wall > 0 {
					more := jet.wall.Seconds() / m.wall.Seconds()
					miss(more < leastOfJetStream, "%.1f times jetstream, not %d", more, leastOfJetStream)
				}
			case way == "two":
				miss(share < leastOfTCPTwo, "%.2f of tcp, not %.2f", share, leastOfTCPTwo)
			}
		}
	}
	return missed
}
