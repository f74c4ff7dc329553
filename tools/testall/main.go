// Command suite runs the house's tests: it installs the programs that they need where that is possible, runs go test,
// shows what failed and ends with one summary that names every skipped test and why it was skipped.
//
//	suite [go test's flags and packages]       suite -race ./...
//	suite -install                             only installs
//
// With MERIDIAN_CI=1 in the environment everything must run: a program that cannot be installed or a skipped test is a
// failure. The exit code is 0 if all is well and 1 otherwise.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	"meridian/internal/corpus"
)

func main() {
	strict := os.Getenv("MERIDIAN_CI") == "1"
	args := os.Args[1:]
	if err := install(slices.Contains(args, "-race")); err != nil {
		fmt.Fprintf(os.Stderr, "some tests will be skipped:\n%v\n", err)
		if strict {
			os.Exit(1)
		}
	}
	if slices.Equal(args, []string{"-install"}) {
		return
	}
	// Ten minutes for a package, as go test has it, are few under the race detector on a busy machine.
	c := exec.Command("go", append([]string{"test", "-json", "-timeout=40m"}, args...)...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
	r := newResult(os.Stdout)
	if err := r.read(out); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		// What cannot be read must still be drained, or go test would wait for ever.
		io.Copy(os.Stderr, out)
		r.failed++
	}
	failed := c.Wait() != nil || r.failed > 0
	r.summary()
	delete(r.skips, corpus.Absent) // which a clean machine may lack
	if strict && len(r.skips) > 0 {
		fmt.Println("FAIL: with MERIDIAN_CI=1 no test may be skipped")
		failed = true
	}
	if failed {
		os.Exit(1)
	}
}
