package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tree is one of the trees that are compared.
type tree struct {
	name     string
	root     string
	results  string            // file of what its benchmarks printed
	programs map[string]string // test program by package; none where the tree does not have the package
}

// build compiles the test programs of packages into a directory.
func (t *tree) build(ctx context.Context, packages []string, dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	t.programs = make(map[string]string)
	for i, p := range packages {
		if _, err := os.Stat(filepath.Join(t.root, p)); os.IsNotExist(err) {
			fmt.Fprintf(os.Stderr, "benchcompare: %s has no %s\n", t.name, p)
			continue
		}
		program := filepath.Join(dir, strconv.Itoa(i)+".test")
		if _, err := command(ctx, t.root, "go", "test", "-c", "-o", program, p); err != nil {
			return err
		}
		t.programs[p] = program
	}
	return nil
}

// measure runs the benchmarks of all trees in turn, and begins each round with another tree.
func measure(ctx context.Context, trees []*tree, o *options) error {
	measured := false
	for round := range o.count {
		for _, p := range o.packages {
			for i := range trees {
				t := trees[(i+round)%len(trees)]
				if t.programs[p] == "" {
					continue
				}
				out, err := command(ctx, filepath.Join(t.root, p), t.programs[p],
					"-test.run=^$", "-test.bench="+o.bench, "-test.benchtime="+o.time)
				if err != nil {
					return err
				}
				measured = measured || strings.Contains(out, "\nBenchmark")
				if err := add(t.results, out); err != nil {
					return err
				}
			}
		}
		fmt.Fprintf(os.Stderr, "benchcompare: round %d of %d\n", round+1, o.count)
	}
	if !measured {
		return fmt.Errorf("no benchmark of %s fits %q", strings.Join(o.packages, " "), o.bench)
	}
	return nil
}

// add adds text to a file.
func add(path, text string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if closing := f.Close(); err == nil {
			err = closing
		}
	}()
	_, err = f.WriteString(text)
	return err
}
