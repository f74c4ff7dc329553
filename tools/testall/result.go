package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"meridian/internal/corpus"
	"meridian/internal/testneed"
)

// event is a line of go test -json (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64 // s
}

// result is what is known of the stages so far. Its methods may be called by several goroutines at once.
type result struct {
	mutex  sync.Mutex
	out    io.Writer
	skips  map[string][]string // reason to tests
	passed int
	failed int // tests, and packages or stages that failed without one
	took   []took

	processor time.Duration // of all stages
}

// took is how long a test took, with those within it that did not run beside it.
type took struct {
	test    string
	seconds float64
}

// run is one run of go test.
type run struct {
	*result
	label  string                 // of a test's name
	output map[[2]string][]string // of each package and of each test that has not ended
	broken map[string]bool        // packages with a test that failed
}

func newResult(out io.Writer) *result { return &result{out: out, skips: make(map[string][]string)} }

func (r *result) newRun(label string) *run {
	return &run{result: r, label: label, output: make(map[[2]string][]string), broken: make(map[string]bool)}
}

// notInlined and ours are flags of the compiler for the race detector: packages of others are compiled without inlining, which takes a third
// less time. The last flag that matches a package counts.
const (
	notInlined = "-gcflags=all=-dwarf=false -l"
	ours       = "-gcflags=./...=-dwarf=false"
)

// test runs go test on packages with these flags, and waits for it.
func (r *result) test(packages []string, flags ...string) {
	if len(packages) == 0 {
		return
	}
	label, cgo := "", "0"
	if slices.Contains(flags, "-race") {
		// The race detector needs cgo. Programs that tests build need neither.
		label, cgo = "race: ", "1"
		flags = append(flags, "-exec=env CGO_ENABLED=0", notInlined, ours)
	}
	// Ten minutes for a package, as go test has it, are few on a busy machine. make lint runs go vet. Nobody debugs these binaries:
	// linking them without symbols for debuggers takes half as long, and compiling without them an eighth less (.ci/run).
	c := exec.Command("go", slices.Concat([]string{"test", "-json", "-timeout=40m", "-vet=off", "-ldflags=-w"}, flags, packages)...)
	c.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		r.fail("go test: %v", err)
		return
	}
	failed := r.failures()
	if err := r.newRun(label).read(out); err != nil {
		r.fail("%v", err)
		io.Copy(os.Stderr, out) // until all is read, go test does not end
	}
	err = c.Wait()
	if err != nil && r.failures() == failed {
		r.fail("%sgo test: %v", label, err)
	}
	r.spent(c)
}

// buildCommand builds the command that many tests run. They begin at about the same time: on a fresh machine each would compile all of
// it. An error is theirs to report.
func (r *result) buildCommand() {
	c := exec.Command("go", "run", "-exec", "true", "meridian/cmd/meridian")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	_ = c.Run()
	r.spent(c)
}

// make makes a target with the least priority and shows its output when it has ended.
func (r *result) make(target string) {
	begin := time.Now()
	c := exec.Command("nice", "-n", "19", "make", "--no-print-directory", target)
	out, err := c.CombinedOutput()
	r.spent(c)
	r.mutex.Lock()
	fmt.Fprintf(r.out, "%s== make %s: %d s\n", out, target, int(time.Since(begin).Seconds()))
	r.mutex.Unlock()
	if err != nil {
		r.fail("make %s: %v", target, err)
	}
}

// spent adds the processor time of a command that has ended, and of all that it waited for.
func (r *result) spent(c *exec.Cmd) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if c.ProcessState != nil {
		r.processor += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
}

// fail counts a failure that no test has reported.
func (r *result) fail(format string, args ...any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.failed++
	fmt.Fprintf(r.out, "FAIL: "+format+"\n", args...)
}

func (r *result) failures() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.failed
}

// leaveOut counts a stage that cannot run. Where everything must run that is a failure.
func (r *result) leaveOut(stage, reason string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.skips[reason] = append(r.skips[reason], "stage "+stage)
}

// read takes go test's events to their end and shows what a person wants to see on the way.
func (r *run) read(in io.Reader) error {
	for d := json.NewDecoder(in); ; {
		var e event
		err := d.Decode(&e)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("go test's output: %w", err)
		}
		r.add(e)
	}
}

// add takes one event.
func (r *run) add(e event) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	key := [2]string{e.Package, e.Test}
	if e.Test != "" && e.Elapsed >= slow {
		r.took = append(r.took, took{r.label + e.Package + "." + e.Test, e.Elapsed})
	}
	switch {
	case e.Action == "build-output":
		fmt.Fprint(r.out, e.Output)
	case e.Action == "output":
		r.output[key] = append(r.output[key], e.Output)
	case e.Test != "":
		switch e.Action {
		case "pass":
			r.passed++
		case "skip":
			reason := because(r.output[key])
			r.skips[reason] = append(r.skips[reason], r.label+e.Package+"."+e.Test)
		case "fail":
			r.failed++
			r.broken[e.Package] = true
			r.show(key)
		default:
			return
		}
		delete(r.output, key)
	case e.Action == "fail":
		if !r.broken[e.Package] {
			r.failed++ // it did not build, or ended outside of any test
		}
		// A test that was running when its package died has had no end of its own.
		for other := range r.output {
			if other[0] == e.Package && other[1] != "" {
				r.show(other)
				delete(r.output, other)
			}
		}
		r.show(key)
		delete(r.output, key)
	case e.Action == "pass", e.Action == "skip":
		for _, line := range r.output[key] {
			if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "Benchmark") {
				fmt.Fprint(r.out, r.label+line)
			}
		}
		delete(r.output, key)
	}
}

// show prints what a test or a package has printed.
func (r *run) show(key [2]string) {
	for _, line := range r.output[key] {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(r.out, line)
		}
	}
}

// logged matches what the testing package writes before a message: the file and the line that logged it.
var logged = regexp.MustCompile(`^\s*\w+\.go:\d+: `)

// says matches a message of at least two words: a reason, and not a list without elements or a variable of a script.
var says = regexp.MustCompile(`[a-zA-Z]+.* .*[a-zA-Z]+`)

const noReason = "no reason given"

// because finds the reason of a skipped test in its output: the last message that says something. Package testscript
// logs a script's environment (WORK=...) after the reason, and brackets around it.
func because(output []string) string {
	reason := noReason
	for _, line := range output {
		if !logged.MatchString(line) {
			continue
		}
		message := strings.Trim(strings.TrimSpace(logged.ReplaceAllString(line, "")), "[]")
		if says.MatchString(message) && !strings.HasPrefix(message, "WORK=") {
			reason = message
		}
	}
	return reason
}

const (
	slow = 10.0 // s, from which on a test is listed
	// slowest is how many are.
	slowest = 25
)

// summary prints the slowest tests, the skipped ones and the counts, and reports whether all is well.
func (r *result) summary(strict bool) bool {
	slices.SortStableFunc(r.took, func(x, y took) int { return cmp.Compare(y.seconds, x.seconds) })
	for i, t := range r.took[:min(len(r.took), slowest)] {
		if i == 0 {
			fmt.Fprintln(r.out, "\nThe slowest tests:")
		}
		fmt.Fprintf(r.out, "%7.1f s  %s\n", t.seconds, t.test)
	}
	skipped := 0
	for _, reason := range slices.Sorted(maps.Keys(r.skips)) {
		tests := r.skips[reason]
		skipped += len(tests)
		fmt.Fprintf(r.out, "skipped, %s: %s", reason, tests[0])
		if more := len(tests) - 1; more > 0 {
			fmt.Fprintf(r.out, " and %d more", more)
		}
		fmt.Fprintln(r.out)
	}
	wrong := r.wronglySkipped(strict)
	for _, text := range wrong {
		fmt.Fprintln(r.out, "FAIL:", text)
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, skipped)
	return r.failed == 0 && len(wrong) == 0
}

// wronglySkipped says what was skipped that must not be.
func (r *result) wronglySkipped(strict bool) (wrong []string) {
	if tests := r.skips[noReason]; len(tests) > 0 {
		wrong = append(wrong, "skipped without a reason: "+strings.Join(tests, ", "))
	}
	for _, reason := range slices.Sorted(maps.Keys(r.skips)) {
		// A clean machine may lack the traces of others. What -short leaves out runs without it.
		if !strict || reason == noReason || reason == corpus.Absent || strings.HasPrefix(reason, testneed.LeftOut) {
			continue
		}
		wrong = append(wrong, "with MERIDIAN_CI=1 no test may be skipped: "+reason)
	}
	return wrong
}
