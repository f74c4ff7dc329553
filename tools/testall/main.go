// Command testall runs what CI runs: it installs the programs that tests need, where that is possible, runs the stages, shows
// what failed and ends with a summary that names every skipped test and the reason.
//
//	testall                        all stages
//	testall -stages test,lint      only these
//	testall -short                 the daily tests: no other programs, no browser, no root, fewer cases
//	testall -install               only installs
//	testall -- -count=1 -run X     what follows -- goes to go test
//
// The stages are
//
//	test     the tests of packages without goroutines, and of those that compute (plan.go)
//	race     all tests of the other packages under the race detector, and some of those that compute
//	lint     make lint
//	cross    make cross
//
// A package is compiled once for each of the first two. The stage test builds without cgo, as releases do, so that the command of a
// release, README.md's and that of the tests are made of the same compiled packages.
//
// With MERIDIAN_CI=1 in the environment everything must run: a program that cannot be installed or a skipped test is a
// failure, except with -short. A test that is skipped without a reason always is one. The exit code is 0 if all is well and 1
// otherwise.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"meridian/internal/testseed"
)

// lanes are the stages that run beside each other. The last ones take what processor time the tests leave: these wait at times.
var lanes = [][]string{{"test"}, {"race"}, {"lint", "cross"}}

func main() {
	var o options
	only := flag.String("stages", "test,race,lint,cross", "run only these `stages`, separated by commas")
	installs := flag.Bool("install", false, "only install the programs that tests need")
	flag.BoolVar(&o.short, "short", false, "run the daily tests")
	flag.Parse()
	o.flags = flag.Args()
	o.strict = os.Getenv("MERIDIAN_CI") == "1" && !o.short
	o.stages = strings.Split(*only, ",")
	if o.short {
		o.stages = []string{"test"}
	}
	for _, name := range o.stages {
		if !slices.ContainsFunc(lanes, func(lane []string) bool { return slices.Contains(lane, name) }) {
			fmt.Fprintf(os.Stderr, "testall: unknown stage %q: want some of test, race, lint, cross\n", name)
			os.Exit(2)
		}
	}
	if !o.short {
		err := install()
		if err != nil {
			fmt.Fprintf(os.Stderr, "some tests will be skipped:\n%v\n", err)
		}
		if err != nil && o.strict {
			os.Exit(1)
		}
	}
	if *installs {
		return
	}
	if !o.run() {
		os.Exit(1)
	}
}

// options are what the command line and the environment ask for.
type options struct {
	stages        []string
	flags         []string // of go test
	short, strict bool
}

// run runs the stages in their lanes and prints the summary. It reports whether all went well.
func (o options) run() bool {
	begin := time.Now()
	fmt.Printf("random tests draw from seed %d (%s)\n", testseed.Run(), testseed.Variable)
	p, err := newPlan(".", "work")
	if err != nil {
		fmt.Fprintln(os.Stderr, "testall:", err)
		return false
	}
	r := newResult(os.Stdout)
	if !o.short {
		r.buildCommand()
	}
	var all sync.WaitGroup
	for _, lane := range lanes {
		all.Go(func() {
			for _, name := range lane {
				if slices.Contains(o.stages, name) {
					o.stage(name, p, r)
				}
			}
		})
	}
	all.Wait()
	ok := r.summary(o.strict)
	fmt.Printf("%d s, %d s of processor time\n", int(time.Since(begin).Seconds()), int(r.processor.Seconds()))
	return ok
}

// stage runs one stage. Tests wait about as often as they compute, so more of them run at once than there are processors.
func (o options) stage(name string, p plan, r *result) {
	processors := runtime.GOMAXPROCS(0)
	flags := slices.Concat([]string{fmt.Sprintf("-p=%d", max(3, processors)), fmt.Sprintf("-parallel=%d", max(4, processors))}, o.flags)
	switch name {
	case "test":
		if o.short {
			r.test(p.all(), slices.Concat([]string{"-short", fmt.Sprintf("-p=%d", 2*processors)}, o.flags)...)
			return
		}
		r.test(p.plain, flags...)
	case "race":
		if !installed("gcc clang") {
			r.leaveOut("race", "the race detector needs a C compiler (apt-get install gcc libc6-dev)")
			return
		}
		r.test(p.raced, slices.Concat([]string{"-race"}, flags)...)
		r.test(p.racedSome, slices.Concat([]string{"-race", someTests()}, flags)...)
	default:
		r.make(name)
	}
}
