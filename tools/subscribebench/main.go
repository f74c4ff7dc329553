//go:build linux

// Subscribebench measures how long after its emission an event of a program is with a subscriber of the server's timeline:
//
//	subscribebench emit --ring--> meridian record --file--> meridian agent --NATS--> meridian server: broker --> file --> timeline
//	        |                                                                          '--> broker --NATS--> subscribebench
//	        '-- the time of day, in a field of each event ----------------------------------------------------------^
//
//	go run ./tools/subscribebench [-rate 10000] [-length 10s] [-latency 1ms] [-flush 2ms] [-batch 2ms] [-parts] [-check]
//
// The same events are read where they are on their way, and the medians of both say what each part takes: the recorder's file on the host, and
// the server's file, each by 'meridian tail --latency 1ms'. What agent, recorder and server take of a core is printed beside it.
//
// With -check the exit code is 1 if the median is above 5 ms or the p99 above 40 ms, or an event is missing. Nothing here is a test: other work
// on the machine may not break the build.
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

// Bars.
const (
	maxMedian = 5 * time.Millisecond
	maxP99    = 40 * time.Millisecond
)

type bench struct {
	meridian, self string
	rate           int
	length         time.Duration
	flush, latency time.Duration
	batch          time.Duration
	parts          bool
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "emit" {
		exit(emit(os.Args[2:]))
	}
	b := new(bench)
	flag.StringVar(&b.meridian, "meridian", "bin/meridian", "the command to measure")
	flag.IntVar(&b.rate, "rate", 10_000, "events a second of the program")
	flag.DurationVar(&b.length, "length", 10*time.Second, "how long it is measured")
	flag.DurationVar(&b.latency, "latency", time.Millisecond, "how long events of the timeline wait for earlier ones")
	flag.DurationVar(&b.flush, "flush", 2*time.Millisecond, "how long the recorder keeps events to itself")
	flag.DurationVar(&b.batch, "batch", 2*time.Millisecond, "how long the agent keeps bytes to itself")
	flag.BoolVar(&b.parts, "parts", false, "measure how late the events are in the files, too; that takes processor time")
	check := flag.Bool("check", false, "exit with 1 if a bar is missed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := b.run(ctx)
	if err != nil {
		exit(err)
	}
	r.print()
	if median, p99 := r.end.quantile(0.5), r.end.quantile(0.99); *check && (median > maxMedian || p99 > maxP99 || r.missing() != 0) {
		exit(fmt.Errorf("missed: the median is to be %v at most, p99 %v, and no event missing", maxMedian, maxP99))
	}
}

func exit(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "subscribebench:", err)
	os.Exit(1)
}

// latencies are those of events, by a way.
type latencies []time.Duration

func (l latencies) quantile(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	slices.Sort(l)
	return l[min(int(q*float64(len(l))), len(l)-1)]
}

func (l latencies) print(name string) {
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	fmt.Printf("%-24s %8d  %7.2f  %7.2f  %7.2f  %7.2f\n", name, len(l), ms(l.quantile(0.5)), ms(l.quantile(0.9)), ms(l.quantile(0.99)), ms(l.quantile(1)))
}

type result struct {
	recorded, stored, end   latencies
	first, last             int64   // numbers of the events at the subscriber
	recorder, agent, server float64 // shares of a core
}

// missing is how many events between the first and the last did not come.
func (r *result) missing() int64 { return r.last - r.first + 1 - int64(len(r.end)) }

func (r *result) print() {
	fmt.Println("from emission until       events   median      p90      p99     most  ms")
	if len(r.recorded) > 0 {
		r.recorded.print("in the host's file")
		r.stored.print("in the server's file")
	}
	r.end.print("at the subscriber")
	fmt.Printf("missing %d; of a core: recorder %.1f%%, agent %.2f%%, server with broker and timeline %.1f%%\n", r.missing(), 100*r.recorder, 100*r.agent, 100*r.server)
}

var errNoEvents = errors.New("no events came")
