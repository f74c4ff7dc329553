// Command sorter measures what the time frame of order.Sorter trades: late events against latency.
//
//	sorter [-duration 10m] [-hosts 8] [-rate 1000] [-seed 1]
//
// Hosts emit events at random instants (a Poisson process each), which come to the sorter after random delays, those of one host in
// order, as over a stream connection:
//
//	exponential   1 ms, and an exponential delay of 4 ms in the mean
//	bursty        the same, and every 5 s in the mean a host is held up for 100 ms in the mean (both exponential): what it
//	              emitted meanwhile comes at once
//
// This repeats the experiment of Bakić, Mutka and Rover with BRISK: artificially delayed streams, the time frame set to the
// lateness of the latest late event and halved with different half-lives. All time is simulated; the table is the same on
// every machine. A last line has the time that a core takes for an event of six integers, of 64 streams.
//
// Lines that begin with PASS or FAIL say what must hold: every event was emitted once, those that followed a later one were
// noted as late, and a million events take less than a second of a core. Any FAIL makes the exit status 1.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"meridian/order"
)

// experiment is what is asked for.
type experiment struct {
	duration time.Duration
	hosts    int
	rate     float64 // events a second of each host
	seed     uint64
}

// settings are those of the knob.
var settings = []struct {
	name    string
	options order.SorterOptions
}{
	{"halved after 100 ms", order.SorterOptions{HalveAfter: 100 * time.Millisecond}},
	{"halved after 1 s", order.SorterOptions{HalveAfter: time.Second}},
	{"halved after 10 s", order.SorterOptions{HalveAfter: 10 * time.Second}},
	{"never halved", order.SorterOptions{HalveAfter: -1}},
	{"fixed at 20 ms", order.SorterOptions{MostFrame: 20 * time.Millisecond, HalveAfter: -1}},
}

func main() {
	var e experiment
	flag.DurationVar(&e.duration, "duration", 10*time.Minute, "simulated time of each row")
	flag.IntVar(&e.hosts, "hosts", 8, "hosts, a stream each")
	flag.Float64Var(&e.rate, "rate", 1000, "events a second of each host")
	flag.Uint64Var(&e.seed, "seed", 1, "seed of the events and their delays")
	speed := flag.Int("events", 5_000_000, "events whose time is measured; 0 for none")
	flag.Parse()
	if flag.NArg() > 0 || e.hosts < 1 || e.rate <= 0 || e.duration <= 0 || *speed < 0 {
		flag.Usage()
		os.Exit(2)
	}
	ok, err := e.print(os.Stdout)
	if err == nil && *speed > 0 {
		var fast bool
		fast, err = printSpeed(os.Stdout, *speed)
		ok = ok && fast
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sorter:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

// print prints the table, and reports whether what must hold does.
func (e *experiment) print(w io.Writer) (ok bool, err error) {
	fmt.Fprintf(w, "%-12s %-20s %9s %9s %10s %10s %10s %10s %10s\n", "delays", "time frame", "late", "behind", "frame", "latency", "latency", "latency", "latency")
	fmt.Fprintf(w, "%-12s %-20s %9s %9s %10s %10s %10s %10s %10s\n", "", "", "ppm", "mean, ms", "mean, ms", "mean, ms", "p50, ms", "p99, ms", "max, ms")
	var all outcome
	for _, d := range []struct {
		name  string
		every time.Duration
	}{{"exponential", 0}, {"bursty", 5 * time.Second}} {
		for _, s := range settings {
			o, err := e.run(s.options, d.every)
			if err != nil {
				return false, err
			}
			st := &o.stats
			fmt.Fprintf(w, "%-12s %-20s %9.0f %9.2f %10.1f %10.1f %10.1f %10.1f %10.1f\n", d.name, s.name, o.latePPM(), o.behindMean(), o.frameMean(), o.latencyMean(),
				inMS(st.Latency.Quantile(0.5)), inMS(st.Latency.Quantile(0.99)), inMS(st.Latency.Max()))
			all.add(o)
		}
	}
	verdict(w, all.missing == 0 && all.twice == 0, "%d events emitted once (%d missing, %d twice)", all.events, all.missing, all.twice)
	verdict(w, all.unnoted == 0, "%d events followed a later one; %d of them were not noted as late", all.inversions, all.unnoted)
	return all.missing == 0 && all.twice == 0 && all.unnoted == 0, nil
}

func verdict(w io.Writer, met bool, format string, a ...any) {
	word := "PASS"
	if !met {
		word = "FAIL"
	}
	fmt.Fprintf(w, "%s  %s\n", word, fmt.Sprintf(format, a...))
}

func inMS(d time.Duration) float64 { return float64(d) / 1e6 }
