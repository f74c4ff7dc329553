// C is an example: a C program that records itself with meridian.h, and a trace made of what it leaves.
//
//	work/work.c --- cc ---> work --- runs ---> /dev/shm/meridian-....ring --- sensor.Recover ---> trace/
//
//	go run ./examples/c [-dir DIR]
//
// does all of it, from the directory of the project. It needs a C compiler: CC in the environment, or gcc or clang.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"meridian/sensor"
)

func main() {
	dir := flag.String("dir", "", "where the program and its trace go and stay; empty: a new temporary directory")
	flag.Parse()
	if err := run(*dir, ".", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "c:", err)
		os.Exit(1)
	}
}

// run does it in a directory; project is where this project is.
func run(dir, project string, out io.Writer) error {
	cc, err := compiler()
	if err != nil {
		return err
	}
	if dir == "" {
		dir, err = os.MkdirTemp("", "meridian-c")
	} else {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return err
	}
	work, trace := filepath.Join(dir, "work"), filepath.Join(dir, "trace")
	build := exec.Command(cc, "-O2", "-pthread", "-I", filepath.Join(project, "sensor", "c"),
		filepath.Join(project, "examples", "c", "work", "work.c"), "-o", work)
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w; run it in the directory of the project\n%s", build, err, said)
	}
	program := exec.Command(work)
	program.Stderr = os.Stderr
	said, err := program.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", work, err)
	}
	ring := strings.TrimSpace(string(said))
	if err := sensor.Recover(ring, trace, sensor.Options{}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "the program's trace is %s\nlook at it:   go run ./cmd/meridian convert %s -o %s.pftrace   (ui.perfetto.dev)\nor:           babeltrace2 %s\n",
		trace, trace, trace, trace)
	return err
}

func compiler() (string, error) {
	for _, name := range []string{os.Getenv("CC"), "gcc", "clang", "cc"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path, nil
		}
	}
	return "", errors.New("no C compiler: install gcc or clang, or name one by CC")
}
