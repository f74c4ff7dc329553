package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"meridian/tools/golist"
)

// plan says how the tests of each package run. A package is in plain, in raced, or in plain and one of the others.
type plan struct {
	plain      []string
	raced      []string // all their tests, under the race detector alone
	racedShort []string // the tests of -short, which share all that the goroutines of the package share
}

// computes are the folders whose tests compute for long, which the race detector makes five to ten times slower. All their tests run
// without it, and those of -short under it: the others compute longer, not differently.
var computes = []string{
	"align", "cmd/meridian", "format", "internal/cause", "internal/live", "internal/pipeline", "internal/show", "match", "order",
}

// differs are the folders whose code is another under the race detector. All their tests run both ways.
var differs = []string{"sensor"}

// racedByOthers are the folders whose goroutines run in the tests of others, with all that they share: those of align run the stages that
// it is made of. Those of tools are laboratories and benchmarks of code that has tests of its own.
var racedByOthers = []string{
	"align/bound", "align/envelope", "align/pair", "align/steps", "clock", "tools",
}

// racedAllTheSame are folders of racedByOthers that are no such laboratory.
var racedAllTheSame = []string{"tools/sensorkill"}

// listed is what go list prints of a package.
type listed struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// newPlan makes the plan of the packages of a checkout that match the patterns and have tests.
func newPlan(checkout string, patterns ...string) (plan, error) {
	packages, err := golist.Packages[listed](patterns)
	if err != nil {
		return plan{}, err
	}
	top, err := filepath.Abs(checkout)
	if err != nil {
		return plan{}, err
	}
	var p plan
	for _, l := range packages {
		if len(l.TestGoFiles)+len(l.XTestGoFiles) == 0 {
			continue
		}
		folder, err := filepath.Rel(top, l.Dir)
		if err != nil {
			return plan{}, err
		}
		shares, err := l.sharesMemory()
		if err != nil {
			return plan{}, err
		}
		switch {
		case !shares, within(folder, racedByOthers) && !within(folder, racedAllTheSame):
			p.plain = append(p.plain, l.ImportPath)
		case within(folder, computes):
			p.plain = append(p.plain, l.ImportPath)
			p.racedShort = append(p.racedShort, l.ImportPath)
		case within(folder, differs):
			p.plain = append(p.plain, l.ImportPath)
			p.raced = append(p.raced, l.ImportPath)
		default:
			p.raced = append(p.raced, l.ImportPath)
		}
	}
	return p, nil
}

// all returns the packages of the plan, each once.
func (p plan) all() []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.plain, p.raced))))
}

// within says whether a folder is one of the others or lies under one.
func within(folder string, others []string) bool {
	return slices.ContainsFunc(others, func(other string) bool {
		return strings.HasPrefix(filepath.ToSlash(folder)+"/", other+"/")
	})
}

// sharesMemory says whether a package's code, tests aside, starts goroutines or imports what protects memory that goroutines share.
func (l listed) sharesMemory() (bool, error) {
	for _, name := range l.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		for _, i := range f.Imports {
			switch i.Path.Value {
			case `"sync"`, `"sync/atomic"`, `"golang.org/x/sync/errgroup"`:
				return true, nil
			}
		}
		starts := false
		ast.Inspect(f, func(n ast.Node) bool {
			_, isGo := n.(*ast.GoStmt)
			starts = starts || isGo
			return !starts
		})
		if starts {
			return true, nil
		}
	}
	return false, nil
}
