// Sensorbench measures the cost of an event, of Meridian's sensors and of other tools, in one run on one machine.
//
// All contenders record the same: an event of six 64-bit integers, with a time. The limit is reading the cycle counter and
// storing 64 bytes, which no such tool can do without. All are measured in turn, a sample of some milliseconds each, for many
// rounds, so that other work on the machine affects all alike. The output is medians, and their ratios to the limit.
//
//	round 1   limit | sensor | slog | ... | LTTng-UST (a C program that is told to)
//	round 2   sensor | slog | ... | LTTng-UST | limit
//	...
//
//	go run ./tools/sensorbench [-rounds 41] [-sample 2ms] [-only TEXT] [-check] [-markdown]
//
// A contender that keeps the data does it in its cheapest way: Meridian and LTTng in a ring of 1 MiB whose oldest part
// is overwritten, loggers in a file through a buffer. The column "keeps" says what is left of an event. LTTng needs gcc and
// the Debian packages lttng-tools and liblttng-ust-dev; without them its lines are missing, and with -check that fails. With
// -check the exit code is 1 if a bar is missed (bars.go). Nothing here is a test: other work on the machine may not break
// the build.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 41, "samples of each contender")
	sample := flag.Duration("sample", 2*time.Millisecond, "duration of a sample")
	only := flag.String("only", "", "measure only the limit and the contenders whose names contain this text")
	check := flag.Bool("check", false, "exit with 1 if a bar is missed")
	markdown := flag.Bool("markdown", false, "print the table as Markdown")
	flag.Parse()
	missed, err := run(*rounds, *sample, *only, *markdown)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sensorbench:", err)
		os.Exit(1)
	}
	if *check && missed > 0 {
		fmt.Fprintf(os.Stderr, "sensorbench: %d bars missed\n", missed)
		os.Exit(1)
	}
}

// bench is the contenders, and what must be cleaned up afterwards.
type bench struct {
	dir     string
	all     []*contender
	closing []func() error // in the order of making
	missing []string       // contenders that cannot be measured here, and why
}

// inside adds a contender of this process.
func (b *bench) inside(name, keeps string, run func(int) (time.Duration, error)) {
	b.all = append(b.all, &contender{name: name, keeps: keeps, run: run, inside: true})
}

// other adds a tool that a Go program could use instead.
func (b *bench) other(name, keeps string, run func(int) (time.Duration, error)) {
	b.all = append(b.all, &contender{name: name, keeps: keeps, run: run, inside: true, other: true})
}

// outside adds a contender that runs in a process of its own.
func (b *bench) outside(name, keeps string, run func(int) (time.Duration, error)) {
	b.all = append(b.all, &contender{name: name, keeps: keeps, run: run})
}

func (b *bench) close() (err error) {
	for i := len(b.closing) - 1; i >= 0; i-- {
		err = errors.Join(err, b.closing[i]())
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

func run(rounds int, sample time.Duration, only string, markdown bool) (missed int, err error) {
	dir, err := os.MkdirTemp("", "sensorbench")
	if err != nil {
		return 0, err
	}
	b := &bench{dir: dir}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.assemble(); err != nil {
		return 0, err
	}
	wanted := b.all[:0]
	for _, c := range b.all {
		if c.name == limitName || strings.Contains(c.name, only) {
			wanted = append(wanted, c)
		}
	}
	b.all = wanted
	if err := measure(b.all, rounds, sample); err != nil {
		return 0, err
	}
	b.print(os.Stdout, markdown)
	return b.judge(os.Stdout), nil
}

// assemble adds the contenders that can be measured here.
func (b *bench) assemble() error {
	for _, part := range []func() error{b.limits, b.sensors, b.header, b.lttng, b.executionTrace, b.logs, b.openTelemetry, b.handmade} {
		var a absent
		if err := part(); errors.As(err, &a) {
			b.missing = append(b.missing, a.what)
		} else if err != nil {
			return err
		}
	}
	return nil
}
