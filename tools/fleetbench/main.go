//go:build linux

// Fleetbench measures how many events agents bring into a server's files, while these are recorded:
//
//	writers --packets of events of 48 bytes--> directories --> ship, one for each host --NATS--> 'meridian server' --> files
//	        '--packets of marks, each 50 ms, to the first host --------------------------------------> how late in the server's file
//
//	go run ./tools/fleetbench [-agents 2] [-rate 1500000] [-length 10s] [-backlog 0] [-least 0] [-memory 0] [-urgent 0]
//
// Events are numbered: those in the server's files must be all, in their order. With -backlog so many MiB of events are there before the agents
// begin, and marks are measured while these are sent. The exit code is 1 if an event is missing, or a bar is missed: -least events a second of all
// agents, from the first event until all are acknowledged; -memory MiB of the server at most; -urgent, the greatest time until a mark is in the file.
// Writers and agents run in this process. Nothing here is a test: other work on the machine may not break the build.
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

type bench struct {
	meridian string
	agents   int
	rate     int // events a second of each
	length   time.Duration
	backlog  int64 // bytes of each
}

func main() {
	b := new(bench)
	flag.StringVar(&b.meridian, "meridian", "bin/meridian", "the command to measure")
	flag.IntVar(&b.agents, "agents", 2, "how many hosts")
	flag.IntVar(&b.rate, "rate", 1_500_000, "events a second of each")
	flag.DurationVar(&b.length, "length", 10*time.Second, "how long events are written")
	backlog := flag.Int64("backlog", 0, "MiB of events that each host has at first")
	least := flag.Float64("least", 0, "events a second of all that are wanted")
	memory := flag.Float64("memory", 0, "MiB that the server may take; 0 for any")
	urgent := flag.Duration("urgent", 0, "how late a mark may be; 0 for any")
	flag.Parse()
	b.backlog = *backlog << 20
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := b.run(ctx)
	if err != nil {
		exit(err)
	}
	r.print(b)
	switch {
	case r.rate() < *least:
		err = fmt.Errorf("missed: %.0f events a second, not %.0f", r.rate(), *least)
	case *memory > 0 && r.memory > *memory:
		err = fmt.Errorf("missed: the server takes %.0f MiB, not %.0f", r.memory, *memory)
	case *urgent > 0 && r.late(1) > *urgent:
		err = fmt.Errorf("missed: a mark arrives after %v, not %v", r.late(1), *urgent)
	}
	exit(err)
}

func exit(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "fleetbench:", err)
	os.Exit(1)
}

type result struct {
	events int64         // in the server's files, all in order
	took   time.Duration // from the first until all are acknowledged
	memory float64       // of the server at most, MiB
	marks  []time.Duration
}

func (r *result) rate() float64 { return float64(r.events) / r.took.Seconds() }

// late is a quantile of how late marks are.
func (r *result) late(q float64) time.Duration {
	if len(r.marks) == 0 {
		return 0
	}
	slices.Sort(r.marks)
	return r.marks[min(int(q*float64(len(r.marks))), len(r.marks)-1)]
}

func (r *result) print(b *bench) {
	fmt.Printf("%d agents, %d events in the server's files, none lost, in order: %.0f events/s, %.0f MB/s, %v; the server takes %.0f MiB at most\n",
		b.agents, r.events, r.rate(), r.rate()*eventBytes/1e6, r.took.Round(time.Millisecond), r.memory)
	fmt.Printf("%d marks in the server's file after %v (median), %v (p99), %v (most)\n", len(r.marks), r.late(0.5).Round(10*time.Microsecond),
		r.late(0.99).Round(10*time.Microsecond), r.late(1).Round(10*time.Microsecond))
}

var errOrder = errors.New("events are missing or out of order")
