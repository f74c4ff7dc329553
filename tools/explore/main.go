// Command explore runs the random tests and the fuzz targets on new seeds until its time is over. For each failure it prints the seed and
// the command that repeats it, and goes on with other seeds.
//
//	explore [-for 10m] [-rounds N] [-only RE] [-seed N] [-p 2] [PACKAGE...]
//
// A test is random if it reaches package testseed or a testrand by the functions of its package's tests. The packages' tests are built
// once. In each round every package gets a seed of its own. Inputs that rapid or a fuzz target name in the output become a file of the
// corpus (testdata/rapid, testdata/fuzz) or a test, together with the mend.
//
// The exit code is 0 if nothing failed, 1 if something did, and 2 for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"meridian/internal/testseed"
	"meridian/tools/golist"
)

func main() {
	var o options
	flag.DurationVar(&o.length, "for", 10*time.Minute, "go on for this long")
	flag.Func("only", "run only tests whose package and name, with a space between, match `RE`", func(text string) (err error) {
		o.only, err = regexp.Compile(text)
		return err
	})
	flag.Uint64Var(&o.seed, "seed", 0, "begin with seed `N` instead of a new one")
	flag.IntVar(&o.most, "rounds", 0, "end after `N` runs of each package, even if time is left")
	flag.IntVar(&o.parallel, "p", runtime.GOMAXPROCS(0), "run the tests of `N` packages at once")
	flag.Parse()
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"work"}
	}
	if o.length <= 0 || o.parallel < 1 {
		fmt.Fprintln(os.Stderr, "explore: -for and -p must be positive")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, err := o.explore(ctx, patterns)
	if err != nil {
		fmt.Fprintln(os.Stderr, "explore:", err)
	}
	if err != nil || failed > 0 {
		os.Exit(1)
	}
}

// options are the command's flags.
type options struct {
	length   time.Duration
	only     *regexp.Regexp // nil for all tests
	seed     uint64         // of the first run; 0 for a new one
	most     int            // rounds; 0 for as many as there is time for
	parallel int
}

// listed is what go list prints of a package.
type listed struct {
	ImportPath, Dir           string
	TestGoFiles, XTestGoFiles []string
}

// suite is a package with its random tests.
type suite struct {
	pkg    string
	dir    string
	binary string
	tests  []string
}

// explore runs the random tests of the packages round by round, and returns the number of runs that failed.
func (o options) explore(ctx context.Context, patterns []string) (failed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.length)
	defer cancel()
	packages, err := golist.Packages[listed](patterns)
	if err != nil {
		return 0, err
	}
	binaries, err := os.MkdirTemp("", "explore")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(binaries)
	var suites []suite
	for i, l := range packages {
		tests, err := randomTests(l.Dir, append(l.TestGoFiles, l.XTestGoFiles...))
		if err != nil {
			return 0, err
		}
		s := suite{pkg: l.ImportPath, dir: l.Dir, binary: filepath.Join(binaries, fmt.Sprintf("%d.test", i))}
		for _, test := range tests {
			if o.only == nil || o.only.MatchString(s.pkg+" "+test) {
				s.tests = append(s.tests, test)
			}
		}
		if len(s.tests) > 0 {
			suites = append(suites, s)
		}
	}
	if len(suites) == 0 {
		return 0, errors.New("no random test matches")
	}
	if err := o.build(ctx, suites); err != nil {
		return 0, err
	}
	return o.rounds(ctx, suites)
}

// build builds the tests of all suites.
func (o options) build(ctx context.Context, suites []suite) error {
	for _, s := range suites {
		c := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-w", "-o", s.binary, s.pkg)
		out, err := c.CombinedOutput()
		if ctx.Err() != nil {
			return fmt.Errorf("the time was over before all tests were built: give more than -for %v", o.length)
		}
		if err != nil {
			return fmt.Errorf("the tests of %s do not build: %w\n%s", s.pkg, err, out)
		}
	}
	return nil
}

// rounds runs all suites again and again until the context ends.
func (o options) rounds(ctx context.Context, suites []suite) (failed int, err error) {
	var (
		all   sync.WaitGroup
		mutex sync.Mutex // of runs, failed and the output
		runs  int
	)
	work := make(chan run)
	for range o.parallel {
		all.Go(func() {
			for r := range work {
				out, err := r.do(ctx)
				mutex.Lock()
				if ctx.Err() == nil || err == nil {
					runs++
				}
				if ctx.Err() == nil && err != nil {
					failed++
					fmt.Print(r.report(out, err))
				}
				mutex.Unlock()
			}
		})
	}
	seed := o.seed
	for round := 0; ctx.Err() == nil && (round < o.most || o.most == 0); round++ {
		for _, s := range suites {
			if o.seed == 0 {
				seed = 2 + rand.Uint64N(1<<32)
			}
			select {
			case work <- run{s, seed}:
			case <-ctx.Done():
			}
			seed++
		}
	}
	close(work)
	all.Wait()
	fmt.Printf("%d packages with random tests, %d runs, %d failed\n", len(suites), runs, failed)
	return failed, nil
}

// run is one run of a suite.
type run struct {
	suite
	seed uint64
}

// do runs the tests and returns what they printed.
func (r run) do(ctx context.Context) (string, error) {
	c := exec.CommandContext(ctx, r.binary, "-test.run=^("+strings.Join(r.tests, "|")+")$", "-test.timeout=40m")
	c.Dir = r.dir
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", testseed.Variable, r.seed))
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	out, err := c.CombinedOutput()
	return string(out), err
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// report returns what is printed of a run that failed: the commands that repeat it, and its output.
func (r run) report(out string, err error) string {
	var s strings.Builder
	tests := failedTest.FindAllStringSubmatch(out, -1)
	if len(tests) == 0 { // it ended in a panic or was stopped
		tests = [][]string{{"", strings.Join(r.tests, "|")}}
	}
	fmt.Fprintf(&s, "\nFAIL %s with seed %d: %v\n", r.pkg, r.seed, err)
	for _, test := range tests {
		fmt.Fprintf(&s, "  %s=%d go test -count=1 -run '^(%s)$' %s\n", testseed.Variable, r.seed, test[1], r.pkg)
	}
	s.WriteString(out)
	return s.String()
}
