// Command defences takes the defences of docs/security.md away, one after the other, and runs the test of each, which must then fail.
//
//	defences [-only RE]
//
// A defence is a text of a source file, and what stands there without it. The file on the disk stays as it is (go build -overlay). It prints
// a row of a table for each. The exit code is 0 if every test fails without its defence, and 1 if one of them passes or does not build.
//
// Some tests need root. The cost is a build and a run of one test each: minutes for all.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	only := flag.String("only", "", "try only defences whose test matches `RE`")
	flag.Parse()
	ok, err := run(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "defences:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run tries all defences whose test matches. It reports whether all of their tests fail without them.
func run(only string) (ok bool, err error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "defences")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	ok = true
	for _, d := range defences {
		if !match.MatchString(d.test) {
			continue
		}
		fails, err := d.try(scratch)
		switch {
		case err != nil:
			ok = false
			fmt.Fprintln(os.Stderr, "defences:", err)
			continue
		case !fails:
			ok = false
			fmt.Printf("PASSES WITHOUT IT: ")
		}
		fmt.Printf("| %s | `%s` | `%s` |\n", d.what, d.file, d.test)
	}
	return ok, nil
}

// defence is a text of a file that keeps a promise, and a test that holds it.
type defence struct {
	what     string // words for people: what the program does without it
	file     string // from the module's directory
	old, new string
	test     string // in the file's package, if pkg is ""
	pkg      string
}

// without returns the file without the defence. The text must be there once.
func (d *defence) without() ([]byte, error) {
	text, err := os.ReadFile(filepath.FromSlash(d.file))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), d.old); n != 1 {
		return nil, fmt.Errorf("%s: %d places with %q, want one", d.file, n, d.old)
	}
	return []byte(strings.Replace(string(text), d.old, d.new, 1)), nil
}

// try reports whether the test fails without the defence.
func (d *defence) try(scratch string) (fails bool, err error) {
	text, err := d.without()
	if err != nil {
		return false, err
	}
	path, err := filepath.Abs(filepath.FromSlash(d.file))
	if err != nil {
		return false, err
	}
	changed, overlay := filepath.Join(scratch, "changed.go"), filepath.Join(scratch, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return false, err
	}
	if err := errors.Join(os.WriteFile(changed, text, 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		return false, err
	}
	pkg := d.pkg
	if pkg == "" {
		pkg = "./" + filepath.ToSlash(filepath.Dir(d.file))
	}
	out, err := exec.Command("go", "test", "-count=1", "-vet=off", "-overlay="+overlay, "-run=^"+d.test+"$", pkg).CombinedOutput()
	switch {
	case err == nil:
		return false, nil
	case strings.Contains(string(out), "--- FAIL: "+d.test), strings.Contains(string(out), "fatal error: "): // or the end of the process
		return true, nil
	}
	return false, fmt.Errorf("%s does not run without %q: %w\n%s", d.test, d.old, err, out)
}
