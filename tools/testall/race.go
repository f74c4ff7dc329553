package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"meridian/tools/golist"
)

// listed is what go list prints of a package.
type listed struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// wholeUnderRace are the folders whose tests all run under the race detector: their goroutines meet programs, kernels and
// killed processes. Elsewhere the race detector runs the tests of -short: the others compute longer, not differently.
var wholeUnderRace = []string{"/internal/record", "/internal/netlab", "/sensor", "/tools/sensorkill"}

// racedByOthers are the packages whose goroutines run in the tests of others, with all that they share: those of align run the
// stages that it is made of.
var racedByOthers = []string{
	"/align/bound", "/align/envelope", "/align/pair", "/align/steps", "/clock", "/tools/study",
}

// raceRuns turns the arguments of one run of go test into those of up to two: packages of wholeUnderRace, and the others with
// -short; only the latter if -short is among the arguments. Packages without goroutines are left out, and those of racedByOthers.
func raceRuns(args []string) ([][]string, error) {
	var flags, patterns []string
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			flags = append(flags, a)
		} else {
			patterns = append(patterns, a)
		}
	}
	packages, err := golist.Packages[listed](patterns)
	if err != nil {
		return nil, err
	}
	rest := slices.Contains(flags, "-short") // alone
	flags = slices.DeleteFunc(flags, func(flag string) bool { return flag == "-short" })
	whole, short := slices.Clone(flags), append(slices.Clone(flags), "-short")
	left := 0
	for _, p := range packages {
		shares, err := p.sharesMemory()
		switch {
		case err != nil:
			return nil, err
		case !shares, slices.ContainsFunc(racedByOthers, func(folder string) bool { return strings.HasSuffix(p.ImportPath, folder) }):
			left++
		case slices.ContainsFunc(wholeUnderRace, func(folder string) bool { return strings.Contains(p.ImportPath+"/", folder+"/") }):
			whole = append(whole, p.ImportPath)
		default:
			short = append(short, p.ImportPath)
		}
	}
	fmt.Printf("%d packages without goroutines of their own, or whose goroutines the tests of others run, are not tested with -race\n", left)
	var runs [][]string
	if len(whole) > len(flags) && !rest {
		runs = append(runs, whole)
	}
	if len(short) > len(flags)+1 {
		runs = append(runs, short)
	}
	return runs, nil
}

// sharesMemory says whether a package has tests and its code, tests aside, starts goroutines or imports what protects
// memory that goroutines share.
func (p listed) sharesMemory() (bool, error) {
	if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
		return false, nil
	}
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
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
