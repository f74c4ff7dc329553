// Command crosscheck says whether packages compile for other platforms, without compiling them and all that they import: it parses
// and type-checks our packages, and reads of all others only what they declare. That takes a tenth of a build. Code that exists on
// one platform alone is found wherever another platform uses it, and so is a package that has no file for a platform.
//
//	crosscheck [-C DIR] PLATFORM PACKAGE... [, PLATFORM PACKAGE...]
//	crosscheck darwin/arm64 ./cmd/meridian , windows/amd64 ./cmd/meridian
//
// It knows no assembly: functions whose body is in assembly need a build. The exit code is 0 if all is well, 1 if something is wrong and
// 2 for wrong usage.
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	dir := flag.String("C", ".", "check the packages of `DIR`")
	flag.Parse()
	targets, err := parse(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "crosscheck:", err)
		os.Exit(2)
	}
	wrong := false
	for _, t := range targets {
		problems, checked, err := check(*dir, t)
		if err != nil {
			problems = append(problems, err.Error())
		}
		for _, p := range problems {
			fmt.Fprintf(os.Stderr, "%s: %s\n", t.platform, p)
			wrong = true
		}
		fmt.Printf("%s: %d packages of ours, %d problems\n", t.platform, checked, len(problems))
	}
	if wrong {
		os.Exit(1)
	}
}

// target is a platform (GOOS/GOARCH) and the packages that must compile for it.
type target struct {
	platform string
	patterns []string
}

func parse(args []string) ([]target, error) {
	var targets []target
	for len(args) > 0 {
		end := slices.Index(args, ",")
		if end < 0 {
			end = len(args)
		}
		if end < 2 || strings.Count(args[0], "/") != 1 {
			return nil, fmt.Errorf("want GOOS/GOARCH PACKAGE..., not %q", args[:end])
		}
		targets = append(targets, target{args[0], args[1:end]})
		args = args[min(end+1, len(args)):]
	}
	if len(targets) == 0 {
		return nil, errors.New("no platform and no package")
	}
	return targets, nil
}

// check returns what is wrong with the packages of a target and with those of our modules that they import, and the number of
// packages that it checked.
func check(dir string, t target) (problems []string, checked int, err error) {
	system, processor, _ := strings.Cut(t.platform, "/")
	parseFile, err := newParser()
	if err != nil {
		return nil, 0, err
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule,
		Dir:       dir,
		Env:       append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
		ParseFile: parseFile,
	}, t.patterns...)
	if err != nil {
		return nil, 0, err
	}
	packages.Visit(loaded, nil, func(p *packages.Package) {
		if p.Module != nil && !p.Module.Main || p.Module == nil && !slices.Contains(loaded, p) {
			return // without the bodies of its functions it seems to import in vain
		}
		checked++
		for _, e := range p.Errors {
			problems = append(problems, e.Error())
		}
	})
	return problems, checked, nil
}

// newParser returns a function that parses a file. Of a file of Go itself or of the module cache it leaves out the bodies of functions.
func newParser() (func(set *token.FileSet, name string, source []byte) (*ast.File, error), error) {
	out, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	foreign := strings.Split(strings.TrimSpace(string(out)), "\n")
	return func(set *token.FileSet, name string, source []byte) (*ast.File, error) {
		f, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
		within := func(dir string) bool { return strings.HasPrefix(name, dir+string(filepath.Separator)) }
		if f == nil || !slices.ContainsFunc(foreign, within) {
			return f, err
		}
		for _, d := range f.Decls {
			if function, ok := d.(*ast.FuncDecl); ok {
				function.Body = nil
			}
		}
		return f, err
	}, nil
}
