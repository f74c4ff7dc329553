// Command mutate measures what a package's own tests catch. It changes one operator, sign, constant or result of the
// package's code at a time, runs the tests, and prints whether they failed ("caught") or passed ("survived").
//
//	go run ./tools/mutate -n 25 -least 23 ./clock ./match
//
// The sites are chosen at random; the same seed on the same code chooses the same ones. The tree is not touched: the
// go command gets each changed file as an overlay (go help build, -overlay). Changes that do not compile are left out and
// others take their places. A change that cannot alter what the code does is equivalent: tests cannot catch it. Such
// changes are named in a file of equivalents, one a line, as mutate prints them without the position:
//
//	clock/map.go Map.At: `i < n` -> `i <= n`  # the last segment is extended to infinity
//
// They are printed and not counted, and others take their places.
//
// The exit code is 0 if in every package at least -least changes were caught, 1 if not, 2 for wrong usage or a package
// whose tests fail without any change.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// options are the command's flags.
type options struct {
	number, least int
	seed          uint64
	equivalents   string
	run           string
	memory        int
	timeout       time.Duration
	list          bool
}

func main() {
	var o options
	flag.IntVar(&o.number, "n", 25, "judge `N` changes in each package")
	flag.IntVar(&o.least, "least", 0, "fail if fewer than `N` changes are caught in a package")
	flag.Uint64Var(&o.seed, "seed", 1, "choose the changes by `SEED`; 0 takes a fresh one")
	flag.StringVar(&o.equivalents, "equivalents", "", "`FILE` of equivalent changes (default tools/mutate/equivalents.txt of this workspace)")
	flag.StringVar(&o.run, "run", "", "run only tests that match `REGEXP`, as go test does")
	flag.IntVar(&o.memory, "memory", 4, "let a test binary take at most `GiB` of address space; 0 sets no limit")
	flag.DurationVar(&o.timeout, "timeout", 0, "longest run of the tests (default 20 s and four times the run without a change)")
	flag.BoolVar(&o.list, "list", false, "only list all changes that could be made")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "usage: mutate [flags] PACKAGE...\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 || o.number < 1 || o.least > o.number {
		flag.Usage()
		os.Exit(2)
	}
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	enough, err := mutate(o, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if !enough {
		os.Exit(1)
	}
}

// mutate judges all packages and returns whether enough changes were caught in each.
func mutate(o options, patterns []string) (enough bool, err error) {
	packages, top, err := load(patterns)
	if err != nil {
		return false, err
	}
	if o.equivalents == "" {
		o.equivalents = filepath.Join(top, "tools/mutate/equivalents.txt")
	}
	equivalent, err := readEquivalents(o.equivalents)
	if err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	enough = true
	for _, p := range packages {
		sites, err := p.sites()
		if err != nil {
			return false, err
		}
		if o.list {
			for _, s := range sites {
				for _, c := range s {
					fmt.Println(c.where(), c.name())
				}
			}
			continue
		}
		j := judge{options: o, pkg: p, scratch: scratch, equivalent: equivalent}
		caught, err := j.judge(sites)
		if err != nil {
			return false, err
		}
		enough = enough && caught >= o.least
	}
	return enough, nil
}
