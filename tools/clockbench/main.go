//go:build linux

// Clockbench compares synchronisers where the truth is known: two namespaces of this machine share one clock, so the
// offset that a synchroniser finds between them is its error.
//
//	web (namespace) --- veth, tbf for bursts --- bridge --- veth --- db (namespace)
//	chronyd -x, one client a rate                chronyd -x, one server a rate
//	ptp4l, free running                          ptp4l, grandmaster
//	meridian clock watch, one a rate             meridian clock serve
//
//	go run ./tools/clockbench [-meridian FILE] [-chronyd FILE] [-chronyc FILE] [-ptp4l FILE] [-seconds 60] [-loads idle,busy,bursts,saturated] [-check]
//
// All synchronisers run at once, under one load after the other. Each is asked four times a second, from -settle after the
// load's start on, what the offset is. Its processor time is that of its processes at both ends; its packets and bytes, IP and UDP
// headers included, are counted by nftables in web. No process touches the machine's clock: chronyd runs with -x, ptp4l with
// free_running.
//
// With -low the synchronisers exchange once in 4 s (chronyd) and 5 s (ours), without load.
//
// With -warp ours run alone, with clocks at the other end that are seconds away, 44 ppm fast, and bend or jump: the truth is known,
// because they are doubles that follow this machine's clock. Doubles that are set show after how many exchanges that is noticed.
//
// With -hops N, N hosts stand in a row, and each asks the one before: the error of the sums over the hops is printed. With -hosts N,
// one host asks N others by `meridian clock compare`, BRISK's rounds among the methods.
//
// A synchroniser that is not installed is left out and named. With -check the exit code is 1 if a bar is missed. It needs root.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"meridian/internal/netlab"
)

// loadNames are the loads in the order in which they alternate.
var loadNames = []string{"idle", "busy", "bursts", "saturated"}

type bench struct {
	meridian, chronyd, chronyc, ptp4l string
	length, settle                    time.Duration
	loads                             []string
	low, warp                         bool
	dir, self                         string
}

func main() {
	netlab.Helper()
	if len(os.Args) > 1 && os.Args[1] == "load" {
		exit(runLoad(os.Args[2:]))
	}
	if len(os.Args) > 1 && (os.Args[1] == "serve" || os.Args[1] == "watch") {
		exit(runEnd(os.Args[1], os.Args[2:]))
	}
	b := &bench{}
	var err error
	if b.self, err = os.Executable(); err != nil {
		exit(err)
	}
	flag.StringVar(&b.meridian, "meridian", "bin/meridian", "the command to measure")
	flag.StringVar(&b.chronyd, "chronyd", "chronyd", "chronyd, version 4.2 or later")
	flag.StringVar(&b.chronyc, "chronyc", "chronyc", "chronyc of the same version")
	flag.StringVar(&b.ptp4l, "ptp4l", "ptp4l", "ptp4l of linuxptp, version 3 or later")
	flag.DurationVar(&b.length, "length", time.Minute, "how long each load is measured")
	flag.DurationVar(&b.settle, "settle", 20*time.Second, "how long synchronisers run under a load before they are measured")
	loads := flag.String("loads", strings.Join(loadNames, ","), "the loads: "+strings.Join(loadNames, ", "))
	flag.BoolVar(&b.low, "low", false, "exchange once in 4 or 5 s, without load")
	flag.BoolVar(&b.warp, "warp", false, "compare clocks that differ with clocks that do not, ours alone")
	hops := flag.Int("hops", 0, "measure nothing but a chain of so many hosts, of which each asks the one before")
	hosts := flag.Int("hosts", 0, "measure nothing but so many hosts that one asks")
	check := flag.Bool("check", false, "exit with 1 if a bar is missed")
	markdown := flag.Bool("markdown", false, "print tables as Markdown")
	flag.Parse()
	b.loads = strings.Split(*loads, ",")
	if b.low {
		b.loads = []string{"idle"}
	}
	for _, name := range b.loads {
		if !slices.Contains(loadNames, name) {
			exit(fmt.Errorf("unknown load %q (%s)", name, strings.Join(loadNames, ", ")))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *hops > 0 {
		exit(b.runHops(ctx, *hops, os.Stdout))
	}
	if *hosts > 0 {
		exit(b.runHosts(ctx, *hosts, os.Stdout))
	}
	results, err := b.run(ctx)
	if err != nil {
		exit(err)
	}
	if missed := report(os.Stdout, results, *markdown); *check && missed > 0 {
		exit(fmt.Errorf("%d bars are missed", missed))
	}
}

func exit(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "clockbench:", err)
	os.Exit(1)
}
