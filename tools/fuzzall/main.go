// Command fuzzall runs every fuzz target of the packages a number of times each.
//
//	fuzzall [-n 10000] [-p 2] [-exact] [-limit 1h] [-target RE] PACKAGES
//
// A package's tests are built once for all of its targets, and several packages are fuzzed at once, each by one worker: go
// test would build and link them again for each target. What fails is kept where go test keeps it, in the package's folder
// testdata/fuzz, and printed. A target whose inputs are costly says so in a line of its comment and gets fewer of them:
//
//	//fuzzall:cost 20
//	func FuzzSolve(f *testing.F) {
//
// With -exact every target gets the same number of inputs, whatever its cost. With -limit a target is stopped after that time. Each line
// says how many inputs the target got. With -target only targets are run whose package and name match.
//
// Only our packages and those of libraries that decode (the list decoders) are instrumented. go test -fuzz instruments all that a test
// imports. The fuzzer walks all counters after each input: with a NATS server among the imports that took most of the time. A package that
// imports much of ours that does not decode has a target with the line //fuzzall:own, and is instrumented alone.
//
// Temporary files of the targets are in memory (/dev/shm) where the system has that: on a disk, targets that write their input to a file
// took up to a thousand times as long.
//
// The exit code is 0 if nothing failed and 1 otherwise.
package main

import (
	"bytes"
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
	corpus, temp   string
	ours           []string // patterns of our packages
	exact          bool
	only           *regexp.Regexp
	limit          time.Duration // of one target; 0 for none
}

func main() {
	var o options
	// A count, not a time: up to Go 1.26 a fuzz target can fail for its time being up (go.dev/issue/75804).
	flag.IntVar(&o.runs, "n", 10000, "run each target on `N` inputs")
	flag.IntVar(&o.parallel, "p", runtime.GOMAXPROCS(0), "fuzz `N` packages at once")
	flag.BoolVar(&o.exact, "exact", false, "run every target on N inputs, whatever its cost")
	flag.DurationVar(&o.limit, "limit", 0, "stop a target after this time, and say how many inputs it got")
	flag.Func("target", "run only targets whose package and name, with a space between, match `RE`", func(text string) (err error) {
		o.only, err = regexp.Compile(text)
		return err
	})
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
	packages, err := list(patterns, o.only)
	if err != nil {
		return false, err
	}
	if o.ours, err = modules(); err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "fuzzall")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	o.corpus = filepath.Join(scratch, "corpus")
	if o.temp, err = os.MkdirTemp("/dev/shm", "fuzzall"); err != nil {
		o.temp = scratch
	}
	defer os.RemoveAll(o.temp)
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
			failures := p.fuzz(o, filepath.Join(scratch, fmt.Sprintf("%d.test", i)), func(format string, args ...any) {
				mutex.Lock()
				defer mutex.Unlock()
				fmt.Printf(format, args...)
			})
			mutex.Lock()
			defer mutex.Unlock()
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
	own  bool // of our code, only the target's own package guides the fuzzer
}

var declared = regexp.MustCompile(`(?m)^(?://fuzzall:(?:cost ([1-9]\d*)|(own))\n)?func (Fuzz\w+)\(`)

// list returns the packages that have fuzz targets which match only, if that is not nil.
func list(patterns []string, only *regexp.Regexp) ([]pkg, error) {
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
				f := target{name: string(m[3]), cost: 1, own: len(m[2]) > 0}
				if len(m[1]) > 0 {
					f.cost, _ = strconv.Atoi(string(m[1])) // digits alone
				}
				if only == nil || only.MatchString(p.ImportPath+" "+f.name) {
					p.targets = append(p.targets, f)
				}
			}
		}
		if len(p.targets) > 0 {
			all = append(all, p)
		}
	}
	return all, nil
}

// decoders are the packages of libraries that turn bytes into values for ours.
var decoders = []string{
	"encoding/json", "github.com/klauspost/compress/...", "github.com/goccy/go-yaml/...", "golang.org/x/exp/trace/...", "golang.org/x/net/http2/hpack",
	"google.golang.org/protobuf/encoding/...", "google.golang.org/protobuf/internal/encoding/...", "go.opentelemetry.io/proto/...",
}

// modules returns patterns of the packages of our modules.
func modules() (patterns []string, err error) {
	paths, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m: %w", err)
	}
	for path := range strings.Lines(string(paths)) {
		patterns = append(patterns, strings.TrimSpace(path)+"/...")
	}
	return patterns, nil
}

// instrument returns the flags of go build by which the fuzzer learns what code of the package and of the decoders an input reaches: also
// that of ours, unless a target says otherwise.
func (p pkg) instrument(ours []string) (flags []string) {
	if slices.ContainsFunc(p.targets, func(t target) bool { return t.own }) {
		ours = []string{p.ImportPath}
	}
	for _, pattern := range slices.Concat(decoders, ours) {
		flags = append(flags, "-gcflags="+pattern+"=-d=libfuzzer") // as go test -fuzz does for every package
	}
	return flags
}

// fuzz builds a package's tests with the instrumentation of the fuzzer and runs its targets. It prints a line for each and
// returns the number of targets that failed.
func (p pkg) fuzz(o options, binary string, print func(format string, args ...any)) (failed int) {
	begin := time.Now()
	build := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}, p.instrument(o.ours)...)
	if out, err := run(options{}, p.Dir, "go", append(build, ".")...); err != nil {
		print("FAIL %s does not build\n%s", p.ImportPath, out)
		return len(p.targets)
	}
	defer os.Remove(binary)
	print("%s built in %.1f s\n", p.ImportPath, time.Since(begin).Seconds())
	for _, f := range p.targets {
		begin, runs := time.Now(), max(o.runs/f.cost, 1)
		if o.exact {
			runs = o.runs
		}
		out, err := run(o, p.Dir, binary, "-test.run=^$", "-test.fuzz=^"+f.name+"$", fmt.Sprintf("-test.fuzztime=%dx", runs),
			"-test.fuzzminimizetime=10x", "-test.parallel=1", "-test.fuzzcachedir="+filepath.Join(o.corpus, p.ImportPath), "-test.timeout=20m")
		verdict := "ok  "
		if err != nil {
			verdict = "FAIL"
			failed++
		}
		inputs := fmt.Sprint(runs)
		if got := executions(out); got < runs {
			inputs = fmt.Sprintf("%d of %d", got, runs)
		}
		print("%s %-48s %7s inputs %7.1f s\n", verdict, p.ImportPath+" "+f.name, inputs, time.Since(begin).Seconds())
		if err != nil {
			print("%v\n%s%s", err, out, p.kept(out))
		}
	}
	return failed
}

var keptIn = regexp.MustCompile(`Failing input written to (testdata/fuzz/\S+)`)

// kept returns the input that failed: of a run elsewhere only what was printed is at hand.
func (p pkg) kept(out []byte) []byte {
	m := keptIn.FindSubmatch(out)
	if m == nil {
		return nil
	}
	input, err := os.ReadFile(filepath.Join(p.Dir, filepath.FromSlash(string(m[1]))))
	if err != nil {
		return []byte(err.Error() + "\n")
	}
	return input
}

var execs = regexp.MustCompile(`execs: (\d+)`)

// executions returns the number of inputs in the last line of the fuzzer's progress, 0 if there is none.
func executions(out []byte) int {
	all := execs.FindAllSubmatch(out, -1)
	if len(all) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(string(all[len(all)-1][1])) // digits alone
	return n
}

// run runs a command in a folder, with its temporary files where the options say, and returns all that it printed. It interrupts the
// command after the options' limit, and not before the fuzzer has begun: only then does it end as if it had run all of its inputs.
func run(o options, dir, name string, args ...string) ([]byte, error) {
	out := output{begun: make(chan struct{})}
	out.begin = sync.OnceFunc(func() { close(out.begun) })
	c := exec.Command(name, args...)
	c.Dir, c.Stdout, c.Stderr = dir, &out, &out
	if o.temp != "" {
		c.Env = append(os.Environ(), "TMPDIR="+o.temp)
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	if o.limit > 0 {
		stop := time.AfterFunc(o.limit, func() {
			<-out.begun
			_ = c.Process.Signal(os.Interrupt) // it fails where the command has ended
		})
		defer stop.Stop()
	}
	err := c.Wait()
	out.begin()
	return out.text.Bytes(), err
}

// output is what a command prints. begun is closed when that says that the fuzzer runs.
type output struct {
	text  bytes.Buffer
	begin func()
	begun chan struct{}
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.text.Write(b)
	if bytes.Contains(o.text.Bytes(), []byte("fuzz: elapsed:")) {
		o.begin()
	}
	return n, err
}
