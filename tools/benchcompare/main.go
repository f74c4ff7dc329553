// Command benchcompare measures the benchmarks of this tree and of another revision in one run on one machine, and fails where
// something has become slower.
//
//	benchcompare -base REV                       the stages: clock, format/ctf, format/pcap, match, align/..., order, sensor
//	benchcompare -base REV -bench Emit ./sensor  some of them
//
// The revision is checked out into a temporary worktree of git. Every package's test program is built from both trees. Then they
// run in turn, each benchmark as often as -count says, so that what else the machine does meets both. The table is benchstat's.
// A benchmark is slower if its time differs with p < 0.05 (Mann-Whitney) and the ratio of the medians is above -most.
// Exit codes: 0 none is slower, 1 some are, or the measurement failed, 2 wrong usage.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

// stages are the packages whose benchmarks are those of a stage from a file to a timeline, and of the sensor.
var stages = []string{"./clock", "./format/pcap", "./format/ctf", "./match", "./align/envelope", "./align/bound", "./align/pair", "./order", "./internal/show/index", "./sensor", "./sensor/ring"}

// options are what the command line says.
type options struct {
	base     string
	bench    string
	time     string
	count    int
	most     float64
	packages []string
}

func main() {
	var o options
	flag.StringVar(&o.base, "base", "", "the revision to compare with, as git names it")
	flag.StringVar(&o.bench, "bench", ".", "the benchmarks, a regular expression as of go test -bench")
	flag.StringVar(&o.time, "benchtime", "0.3s", "how long or how often one runs, as of go test -benchtime")
	flag.IntVar(&o.count, "count", 8, "runs of each benchmark, 4 or more")
	flag.Float64Var(&o.most, "most", 1.1, "the ratio of medians above which one is slower, above 1")
	flag.Parse()
	if o.packages = flag.Args(); len(o.packages) == 0 {
		o.packages = stages
	}
	if o.base == "" || o.count < 4 || o.most <= 1 { // fewer than 4 runs cannot differ with p < 0.05
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := 0
	if err := compare(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "benchcompare:", err)
		code = 1
	}
	stop()
	os.Exit(code)
}

// compare measures both trees and prints what differs. Its error names what is slower, or what failed.
func compare(ctx context.Context, o *options) (err error) {
	dir, err := os.MkdirTemp("", "meridian-benchcompare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	top, err := command(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	here := strings.TrimSpace(top)
	base := filepath.Join(dir, "base")
	if _, err := command(ctx, here, "git", "worktree", "add", "--detach", base, o.base); err != nil {
		return err
	}
	defer func() { // also after an interrupt
		_, removing := command(context.WithoutCancel(ctx), here, "git", "worktree", "remove", "--force", base)
		if err == nil {
			err = removing
		}
	}()
	trees := []*tree{{name: "base", root: base}, {name: "here", root: here}}
	for _, t := range trees {
		t.results = filepath.Join(dir, t.name+".txt")
		if err := t.build(ctx, o.packages, filepath.Join(dir, t.name+".tests")); err != nil {
			return err
		}
	}
	if err := measure(ctx, trees, o); err != nil {
		return err
	}
	table, err := command(ctx, here, "go", "tool", "benchstat", "base="+trees[0].results, "here="+trees[1].results)
	if err != nil {
		return err
	}
	fmt.Print(table)
	slower, err := slowerOf(trees[0].results, trees[1].results, o.most)
	if err != nil {
		return err
	}
	if len(slower) > 0 {
		return fmt.Errorf("slower than %s by more than %.2fx:\n\t%s", o.base, o.most, strings.Join(slower, "\n\t"))
	}
	return nil
}

// command runs a program in a directory and returns what it printed to stdout. Its error has what it printed to stderr.
func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, said.String())
	}
	return string(out), nil
}
