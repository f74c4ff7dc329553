package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// event is a line of go test -json (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64 // s
}

// result is what is known of a run so far.
type result struct {
	out    io.Writer
	said   map[[2]string][]string // output of each package and of each test that has not ended
	skips  map[string][]string    // reason to tests
	passed int
	failed int // tests, and packages that failed without one
	broken map[string]bool
	took   []took
}

// took is how long a test took, with those within it that did not run beside it.
type took struct {
	test    string
	seconds float64
}

func newResult(out io.Writer) *result {
	return &result{
		out: out, said: make(map[[2]string][]string), skips: make(map[string][]string), broken: make(map[string]bool),
	}
}

// read takes go test's events to their end and shows what a person wants to see on the way.
func (r *result) read(in io.Reader) error {
	for d := json.NewDecoder(in); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("go test's output: %w", err)
		}
		r.take(e)
	}
}

func (r *result) take(e event) {
	key := [2]string{e.Package, e.Test}
	if e.Test != "" && e.Elapsed >= slow {
		r.took = append(r.took, took{e.Package + "." + e.Test, e.Elapsed})
	}
	switch {
	case e.Action == "build-output":
		fmt.Fprint(r.out, e.Output)
	case e.Action == "output":
		r.said[key] = append(r.said[key], e.Output)
	case e.Test != "":
		switch e.Action {
		case "pass":
			r.passed++
		case "skip":
			reason := because(r.said[key])
			r.skips[reason] = append(r.skips[reason], e.Package+"."+e.Test)
		case "fail":
			r.failed++
			r.broken[e.Package] = true
			r.show(key)
		default:
			return
		}
		delete(r.said, key)
	case e.Action == "fail":
		if !r.broken[e.Package] {
			r.failed++ // it did not build, or ended outside of any test
		}
		// A test that was running when its package died has had no end of its own.
		for other := range r.said {
			if other[0] == e.Package && other[1] != "" {
				r.show(other)
				delete(r.said, other)
			}
		}
		r.show(key)
		delete(r.said, key)
	case e.Action == "pass", e.Action == "skip":
		for _, line := range r.said[key] {
			if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "Benchmark") {
				fmt.Fprint(r.out, line)
			}
		}
		delete(r.said, key)
	}
}

func (r *result) show(key [2]string) {
	for _, line := range r.said[key] {
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

func (r *result) summary() {
	slices.SortStableFunc(r.took, func(x, y took) int { return cmp.Compare(y.seconds, x.seconds) })
	for i, t := range r.took[:min(len(r.took), slowest)] {
		if i == 0 {
			fmt.Fprintln(r.out, "\nThe slowest tests:")
		}
		fmt.Fprintf(r.out, "%7.1f s  %s\n", t.seconds, t.test)
	}
	skipped := 0
	var reasons []string
	for reason, tests := range r.skips {
		skipped += len(tests)
		reasons = append(reasons, reason)
	}
	sort.Strings(reasons)
	fmt.Fprintf(r.out, "\n%d tests passed, %d failed, %d skipped\n", r.passed, r.failed, skipped)
	for _, reason := range reasons {
		tests := r.skips[reason]
		fmt.Fprintf(r.out, "  skipped, %s: %s", reason, tests[0])
		if more := len(tests) - 1; more > 0 {
			fmt.Fprintf(r.out, " and %d more", more)
		}
		fmt.Fprintln(r.out)
	}
}
