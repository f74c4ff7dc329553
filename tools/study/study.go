// Command study repeats the measurements of docs/benchmarks.md: how exact the alignment is, how honest its bounds are,
// and how fast it runs. All traces are simulated, with known truth.
//
//	go run ./tools/study TABLE [flags]
//
//	accuracy      the error of the envelope smoother beside older methods, over 8 environments, 4 clocks, 3 durations
//	bounds        how often strict bounds hold the truth, and how wide they are
//	calibration   how often the truth lies within two of the stated deviations
//	coverage      the same for traces of 20 to 1000 messages each way
//	falsehood     bounds where messages are false, and what that costs where none is
//	networks      many hosts: trees, least squares over the graph, all clocks at once
//	speed         time and memory by the number of messages
//	clement       Clément and Dagenais (2009), tables 3, 4, 6 and 7
//	poirier       Poirier (2010), tables 3.2 to 3.6 and figure 3.9
//
// A table is printed as plain text. Where it has a limit to keep, lines that begin with PASS or FAIL follow; any FAIL makes
// the exit status 1. Every trace has a seed of its own, counted up from -first-seed. The same flags print the same, times
// and memory aside, with any number of workers.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// table is one table of the study.
type table struct {
	name  string
	seeds int // how many by default
	print func(*study) error
}

var tables = []table{
	{"accuracy", 1000, accuracy},
	{"bounds", 1000, bounds},
	{"calibration", 1000, calibration},
	{"coverage", 2000, coverage},
	{"falsehood", 200, falsehood},
	{"networks", 10, networks},
	{"speed", 5, speed},
	{"clement", 10, clement},
	{"poirier", 5, poirier},
}

// study is one run: what was asked for, and where the table goes.
type study struct {
	out       io.Writer
	seeds     int
	firstSeed uint64
	workers   int
	small     bool
	only      string
	failed    bool
}

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	for _, t := range tables {
		if t.name != os.Args[1] {
			continue
		}
		s := &study{out: os.Stdout}
		flags := flag.NewFlagSet("study "+t.name, flag.ExitOnError)
		flags.IntVar(&s.seeds, "seeds", t.seeds, "traces in all, or repetitions of each row")
		flags.Uint64Var(&s.firstSeed, "first-seed", 20_000, "seed of the first trace; each has its own")
		flags.IntVar(&s.workers, "workers", 2, "traces at a time")
		flags.BoolVar(&s.small, "small", false, "leave out the largest sizes")
		flags.StringVar(&s.only, "only", "", "accuracy, falsehood and networks: only what contains this, such as \"4 h, thermal\" or \"32 full alike\"")
		flags.Parse(os.Args[2:])
		if s.seeds < 1 || s.workers < 1 || flags.NArg() > 0 {
			flags.Usage()
			os.Exit(2)
		}
		start := time.Now()
		if err := t.print(s); err != nil {
			fmt.Fprintln(os.Stderr, "study:", err)
			os.Exit(1)
		}
		fmt.Fprintf(os.Stderr, "%s took %v\n", t.name, time.Since(start).Round(time.Second))
		if s.failed {
			os.Exit(1)
		}
		return
	}
	usage()
}

func usage() {
	var names []string
	for _, t := range tables {
		names = append(names, t.name)
	}
	fmt.Fprintf(os.Stderr, "usage: study TABLE [flags]; tables: %s\n", strings.Join(names, ", "))
	os.Exit(2)
}

func (s *study) printf(format string, a ...any) { fmt.Fprintf(s.out, format, a...) }

// bar prints whether a limit was met.
func (s *study) bar(met bool, format string, a ...any) {
	verdict := "PASS"
	if !met {
		verdict, s.failed = "FAIL", true
	}
	s.printf("%s  %s\n", verdict, fmt.Sprintf(format, a...))
}
