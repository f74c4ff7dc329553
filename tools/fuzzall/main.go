// Command fuzzall runs every fuzz target of the packages a number of times each.
//
//	fuzzall [-n 10000] [-p 2] [-plain] PACKAGES
//
// A package's tests are built once for all of its targets, and several packages are fuzzed at once, each by one worker: go
// test would build and link them again for each target. What fails is kept where go test keeps it, in the package's folder
// testdata/fuzz. A target whose inputs are costly says so in a line of its comment and gets fewer of them:
//
//	//fuzzall:cost 20
//	func FuzzSolve(f *testing.F) {
//
// With -plain the inputs are drawn without the fuzzer's knowledge of which code they reach. Then nothing has to be compiled that
// go test does not compile as well, which is most of the time of few inputs.
//
// The exit code is 0 if nothing failed and 1 otherwise.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"meridian/tools/golist"
)

// options are the command's flags.
type options struct {
	runs, parallel int
	corpus         string
	plain          bool
}

func main() {
	var o options
	// A count, not a time: up to Go 1.26 a fuzz target can fail for its time being up (go.dev/issue/75804).
	flag.IntVar(&o.runs, "n", 10000, "run each target on `N` inputs")
	flag.IntVar(&o.parallel, "p", runtime.GOMAXPROCS(0), "fuzz `N` packages at once")
	flag.BoolVar(&o.plain, "plain", false, "draw inputs without knowledge of the code that they reach")
	flag.Parse()
	ok, err := fuzz(o, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzzall:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// pkg is what go list prints of a package, and its fuzz targets.
type pkg struct {
	ImportPath, Dir           string
	TestGoFiles, XTestGoFiles []string
	targets                   []target
}

// fuzz runs all targets of the packages and says whether none failed.
func fuzz(o options, patterns []string) (bool, error) {
	packages, err := list(patterns)
	if err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "fuzzall")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	o.corpus = filepath.Join(scratch, "corpus")
	var (
		wait   sync.WaitGroup
		mutex  sync.Mutex // of failed and of the output
		failed int
	)
	room := make(chan struct{}, max(o.parallel, 1))
	for i, p := range packages {
		room <- struct{}{}
		wait.Go(func() {
			defer func() { <-room }()
			report, failures := p.fuzz(o, filepath.Join(scratch, fmt.Sprintf("%d.test", i)))
			mutex.Lock()
			defer mutex.Unlock()
			fmt.Print(report)
			failed += failures
		})
	}
	wait.Wait()
	targets := 0
	for _, p := range packages {
		targets += len(p.targets)
	}
	fmt.Printf("%d fuzz targets, %d failed\n", targets, failed)
	return failed == 0 && targets > 0, nil
}

// target is a fuzz target. It gets the options' number of inputs divided by its cost.
type target struct {
	name string
	cost int
}

var declared = regexp.MustCompile(`(?m)^(?://fuzzall:cost ([1-9]\d*)\n)?func (Fuzz\w+)\(`)

// list returns the packages that have fuzz targets.
func list(patterns []string) ([]pkg, error) {
	listed, err := golist.Packages[pkg](patterns)
	if err != nil {
		return nil, err
	}
	var all []pkg
	for _, p := range listed {
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			for _, m := range declared.FindAllSubmatch(text, -1) {
				f := target{name: string(m[2]), cost: 1}
				if len(m[1]) > 0 {
					f.cost, _ = strconv.Atoi(string(m[1])) // digits alone
				}
				p.targets = append(p.targets, f)
			}
		}
		if len(p.targets) > 0 {
			all = append(all, p)
		}
	}
	return all, nil
}

// fuzz builds a package's tests with the instrumentation of the fuzzer and runs its targets. It returns what a person wants
// to read and the number of targets that failed.
func (p pkg) fuzz(o options, binary string) (report string, failed int) {
	var b strings.Builder
	begin := time.Now()
	build := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}
	if !o.plain {
		build = append(build, "-fuzz=^"+p.targets[0].name+"$")
	}
	if out, err := run(p.Dir, "go", append(build, ".")...); err != nil {
		fmt.Fprintf(&b, "FAIL %s does not build\n%s", p.ImportPath, out)
		return b.String(), len(p.targets)
	}
	defer os.Remove(binary)
	fmt.Fprintf(&b, "%s built in %.1f s\n", p.ImportPath, time.Since(begin).Seconds())
	for _, f := range p.targets {
		begin, runs := time.Now(), max(o.runs/f.cost, 1)
		out, err := run(p.Dir, binary, "-test.run=^$", "-test.fuzz=^"+f.name+"$", fmt.Sprintf("-test.fuzztime=%dx", runs),
			"-test.fuzzminimizetime=10x", "-test.parallel=1", "-test.fuzzcachedir="+filepath.Join(o.corpus, p.ImportPath), "-test.timeout=20m")
		verdict := "ok  "
		if err != nil {
			verdict = "FAIL"
			failed++
		}
		fmt.Fprintf(&b, "%s %-32s %6d inputs %6.1f s\n", verdict, f.name, runs, time.Since(begin).Seconds())
		if err != nil {
			fmt.Fprintf(&b, "%v\n%s", err, out)
		}
	}
	return b.String(), failed
}

// run runs a command in a folder and returns all that it printed.
func run(dir, name string, args ...string) ([]byte, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	return c.CombinedOutput()
}
