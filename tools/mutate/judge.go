package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pkg is what go list prints of a package.
type pkg struct {
	ImportPath, Dir string
	GoFiles         []string
	top             string
}

func (p pkg) files() []string {
	var all []string
	for _, name := range p.GoFiles {
		all = append(all, filepath.Join(p.Dir, name))
	}
	return all
}

// fromTop returns a file's path from the top of the workspace.
func (p pkg) fromTop(file string) string {
	if short, err := filepath.Rel(p.top, file); err == nil {
		return filepath.ToSlash(short)
	}
	return file
}

// load returns the packages that match the patterns and the folder of the workspace.
func load(patterns []string) ([]pkg, string, error) {
	work, err := command("", "go", "env", "GOWORK")
	if err != nil {
		return nil, "", err
	}
	top := filepath.Dir(strings.TrimSpace(string(work)))
	if !filepath.IsAbs(top) { // no workspace
		if top, err = os.Getwd(); err != nil {
			return nil, "", err
		}
	}
	out, err := command("", "go", append([]string{"list", "-json=ImportPath,Dir,GoFiles", "--"}, patterns...)...)
	if err != nil {
		return nil, "", err
	}
	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		p := pkg{top: top}
		if err := d.Decode(&p); err != nil {
			return nil, "", fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, "", fmt.Errorf("no package matches %s", strings.Join(patterns, " "))
	}
	return all, top, nil
}

// command runs a command in a folder and returns its standard output.
func command(dir, name string, args ...string) ([]byte, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, failed.Stderr)
	}
	return out, err
}

// readEquivalents reads a file of equivalent changes: their names with the reasons. A missing file names none.
func readEquivalents(name string) (map[string]string, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	all := make(map[string]string)
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndex(line, "` #")
		if at < 0 {
			at = strings.LastIndex(line, "`  #")
		}
		if at < 0 {
			return nil, fmt.Errorf("%s:%d: want PATH FUNCTION: `BEFORE` -> `AFTER`  # REASON", name, i+1)
		}
		all[line[:at+1]] = strings.TrimLeft(line[at+1:], " #")
	}
	return all, nil
}

// judge runs the tests of one package on changed code.
type judge struct {
	options
	pkg        pkg
	scratch    string
	equivalent map[string]string
	flags      []string // of the test binary
	limit      time.Duration
}

// judge makes changes until enough of them have been judged, prints each and returns how many were caught.
func (j *judge) judge(sites [][]change) (caught int, err error) {
	if err := j.baseline(); err != nil {
		return 0, err
	}
	random := rand.New(rand.NewPCG(j.seed, 0))
	random.Shuffle(len(sites), func(a, b int) { sites[a], sites[b] = sites[b], sites[a] })
	judged, left := 0, 0
	for _, s := range sites {
		if judged == j.number {
			break
		}
		c := s[random.IntN(len(s))]
		if reason, ok := j.equivalent[c.name()]; ok {
			fmt.Printf("equivalent %s %s  # %s\n", c.where(), c.name(), reason)
			left++
			continue
		}
		verdict, err := j.try(c)
		if err != nil {
			return 0, err
		}
		switch verdict {
		case broken:
			continue
		case killed:
			caught++
		}
		judged++
		fmt.Printf("%-10s %s %s\n", verdict, c.where(), c.name())
	}
	fmt.Printf("%s: %d of %d caught, %d equivalent (seed %d)\n\n", j.pkg.ImportPath, caught, judged, left, j.seed)
	if judged < j.number {
		return 0, fmt.Errorf("%s: only %d changes can be made", j.pkg.ImportPath, judged)
	}
	return caught, nil
}

// baseline runs the tests on the code as it is. They must pass.
func (j *judge) baseline() error {
	binary := filepath.Join(j.scratch, "test")
	if _, err := command(j.pkg.Dir, "go", "test", "-c", "-vet=off", "-o", binary, "."); err != nil {
		return err
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("%s has no tests", j.pkg.ImportPath)
	}
	j.flags = []string{"-test.failfast"}
	if j.run != "" {
		j.flags = append(j.flags, "-test.run="+j.run)
	}
	// Where the tests use package rapid, it must not leave files of failures in the tree.
	if exec.Command(binary, "-test.run=^$", "-rapid.nofailfile").Run() == nil {
		j.flags = append(j.flags, "-rapid.nofailfile")
	}
	j.limit = max(j.timeout, 10*time.Minute)
	begin := time.Now()
	if out, err := j.test(binary); err != nil {
		return fmt.Errorf("%s fails without a change: %w\n%s", j.pkg.ImportPath, err, out)
	}
	j.limit = j.timeout
	if j.limit == 0 {
		j.limit = 20*time.Second + 4*time.Since(begin)
	}
	return nil
}

// verdict is what became of a change.
type verdict string

const (
	broken   verdict = "broken" // does not compile
	killed   verdict = "caught"
	survived verdict = "SURVIVED"
)

// try makes a change, builds the tests and runs them.
func (j *judge) try(c change) (verdict, error) {
	text, err := os.ReadFile(c.file)
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(j.scratch, "changed.go"), filepath.Join(j.scratch, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {c.file: changed}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(changed, c.apply(text), 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		return "", err
	}
	binary := filepath.Join(j.scratch, "test")
	if _, err := command(j.pkg.Dir, "go", "test", "-c", "-vet=off", "-overlay="+overlay, "-o", binary, "."); err != nil {
		return broken, nil
	}
	if _, err := j.test(binary); err != nil {
		return killed, nil
	}
	return survived, nil
}

// test runs a test binary in the package's folder. Endless recursion, loops and growth end with an error as well.
func (j *judge) test(binary string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), j.limit)
	defer cancel()
	c := exec.CommandContext(ctx, binary, j.flags...)
	if j.memory > 0 {
		limit := fmt.Sprintf(`ulimit -v %d && exec "$0" "$@"`, j.memory<<20)
		c = exec.CommandContext(ctx, "sh", append([]string{"-c", limit, binary}, j.flags...)...)
	}
	c.Dir = j.pkg.Dir
	c.WaitDelay = time.Second
	return c.CombinedOutput()
}
