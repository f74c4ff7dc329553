//go:build linux

// Recordstart measures whether a recording has the first events of a fast program: 1,000,000 events a second of six integers from
// its first instant on, 60 MB/s in a ring whose shards have 1 MiB each.
//
//	go run ./tools/recordstart [-runs 21] [-seconds 0.5] [-busy 2] [-meridian bin/meridian] [-check] [-markdown]
//
//	started by the recorder         meridian record -- PROGRAM
//	started while it records        meridian record &, ready, PROGRAM
//	there before it                 PROGRAM makes its ring; meridian record &, ready; PROGRAM emits
//
// in Go (package sensor) and in C (sensor/c, compiled by cc), on the machine as it is and beside -busy programs that take all the
// time they get. A run is whole if nothing is counted as lost and as many events are in the trace as the program emitted. A
// program that got no processor for a while emits at once what it did not. With -check the exit code is 1 unless all are whole.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == emitWord {
		exit(emit(os.Args[2:]))
	}
	var b bench
	flag.IntVar(&b.runs, "runs", 21, "how many times each way is measured")
	flag.Float64Var(&b.seconds, "seconds", 0.5, "how long the program emits")
	flag.IntVar(&b.busy, "busy", 2, "programs that never sleep, beside the second half of the measurements; 0 leaves that half out")
	flag.StringVar(&b.meridian, "meridian", "bin/meridian", "the command to measure")
	check := flag.Bool("check", false, "exit with 1 unless all runs are whole")
	markdown := flag.Bool("markdown", false, "print the table as Markdown")
	flag.Parse()
	if err := b.run(); err != nil {
		exit(err)
	}
	printResults(os.Stdout, b.results, *markdown)
	for _, r := range b.results {
		if *check && r.whole < r.runs {
			exit(fmt.Errorf("%s: whole in %d of %d runs", r.way.name, r.whole, r.runs))
		}
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "recordstart:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// bench is what is to be measured, and what came out.
type bench struct {
	meridian, dir string
	runs, busy    int
	seconds       float64

	programs []program
	results  []*result
}

// program is one that emits. MERIDIAN names the directory of its ring, and EVENTS and WAIT follow the command (emit.go).
type program struct {
	name    string // of its language
	command []string
}

func (b *bench) run() (err error) {
	if b.meridian, err = filepath.Abs(b.meridian); err != nil {
		return err
	}
	if _, err := os.Stat(b.meridian); err != nil {
		return fmt.Errorf("%w; run make build", err)
	}
	if b.dir, err = os.MkdirTemp("/dev/shm", "recordstart"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	inC, err := compiled(b.dir)
	if err != nil {
		return err
	}
	b.programs = []program{{"Go", []string{self, emitWord}}, {"C", []string{inC}}}
	if err := b.all(0); err != nil || b.busy == 0 {
		return err
	}
	end, err := keepBusy(b.busy)
	if err != nil {
		return err
	}
	defer end()
	return b.all(b.busy)
}

// all measures every way, in turn, so that a change of the machine's load meets them all.
func (b *bench) all(busy int) error {
	var all []*result
	for _, w := range ways {
		for _, p := range b.programs {
			all = append(all, &result{way: w, program: p, busy: busy})
		}
	}
	for run := range b.runs {
		fmt.Fprintf(os.Stderr, "run %d of %d, beside %d busy programs\n", run+1, b.runs, busy)
		for _, r := range all {
			if err := b.one(r); err != nil {
				return fmt.Errorf("%s, %s: %w", r.program.name, r.way.name, err)
			}
		}
	}
	b.results = append(b.results, all...)
	return nil
}

// events returns how many a program emits.
func (b *bench) events() uint64 { return uint64(b.seconds * rate) }

// timeLimit limits one run.
const timeLimit = time.Minute
