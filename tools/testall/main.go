// Command testall runs the tests: it installs the programs that they need where that is possible, runs go test, shows
// what failed and ends with a summary that names every skipped test and the reason.
//
//	testall [flags of go test] PACKAGES      testall -race work, in parts testall -race PACKAGES and testall -race -short work
//	testall -short PACKAGES                  the daily tests: no other programs, no browser, no root, fewer cases
//	testall -install                         only installs
//
// With -race, only packages that start goroutines or share memory between them are tested: in the others the race detector
// finds nothing and makes every test five to ten times slower. Most run with -short there, since
// the others compute longer, not differently.
//
// With MERIDIAN_CI=1 in the environment everything must run: a program that cannot be installed or a skipped test is a
// failure, except with -short. A test that is skipped without a reason always is one. The exit code is 0 if all is well and 1
// otherwise.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"meridian/internal/corpus"
	"meridian/internal/testneed"
)

func main() {
	args := os.Args[1:]
	has := func(flag string) bool { return slices.Contains(args, flag) }
	strict := os.Getenv("MERIDIAN_CI") == "1" && !has("-short")
	if !has("-short") {
		if err := install(has("-race")); err != nil {
			fmt.Fprintf(os.Stderr, "some tests will be skipped:\n%v\n", err)
			if strict {
				os.Exit(1)
			}
		}
	}
	if slices.Equal(args, []string{"-install"}) {
		return
	}
	runs := [][]string{args}
	if has("-race") {
		var err error
		if runs, err = raceRuns(args); err != nil {
			fmt.Fprintln(os.Stderr, "testall:", err)
			os.Exit(1)
		}
	}
	r := newResult(os.Stdout)
	failed := false
	for _, run := range runs {
		if err := test(r, run); err != nil {
			failed = true
		}
	}
	r.summary()
	if failed || r.failed > 0 || r.wrong(strict) {
		os.Exit(1)
	}
}

// test runs go test with the arguments.
func test(r *result, args []string) error {
	// Ten minutes for a package, as go test has it, are few under the race detector on a busy machine. make lint runs go vet.
	fixed := []string{"test", "-json", "-timeout=40m", "-vet=off"}
	if slices.Contains(args, "-short") && !slices.Contains(args, "-race") { // these wait about as often as they compute
		fixed = append(fixed, fmt.Sprintf("-p=%d", 2*runtime.GOMAXPROCS(0)))
	}
	c := exec.Command("go", append(fixed, args...)...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testall:", err)
		return err
	}
	if err := r.read(out); err != nil {
		fmt.Fprintln(os.Stderr, "testall:", err)
		// What cannot be read must still be drained, or go test would wait for ever.
		io.Copy(os.Stderr, out)
		r.failed++
	}
	return c.Wait()
}

// wrong says whether tests were skipped that must not be.
func (r *result) wrong(strict bool) bool {
	wrong := false
	if tests := r.skips[noReason]; len(tests) > 0 {
		fmt.Println("FAIL: skipped without a reason:", strings.Join(tests, ", "))
		wrong = true
	}
	skipped := len(r.skips)
	for reason := range r.skips {
		// A clean machine may lack the traces of others; with -race, some packages are tested with -short, and some tests leave
		// what goroutines share to others.
		if reason == corpus.Absent || strings.HasPrefix(reason, testneed.LeftOut) || strings.HasPrefix(reason, testneed.Raced) {
			skipped--
		}
	}
	if strict && skipped > 0 {
		fmt.Println("FAIL: with MERIDIAN_CI=1 no test may be skipped")
		wrong = true
	}
	return wrong
}
