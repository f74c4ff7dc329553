package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// sources are the packages by whose use a test is random: their names, which end their paths.
var sources = []string{"testseed", "testrand"}

// randomTests returns the tests and fuzz targets of a package's test files from which a use of one of the sources is reached, by
// functions and variables of these files.
func randomTests(dir string, files []string) ([]string, error) {
	uses := make(map[string]map[string]bool) // names of the package that a declaration mentions
	random := make(map[string]bool)          // declarations that mention a source
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		imported := sourceNames(f)
		for _, d := range f.Decls {
			for _, declared := range declaredNames(d) {
				if uses[declared] == nil {
					uses[declared] = make(map[string]bool)
				}
				ast.Inspect(d, func(n ast.Node) bool {
					id, ok := n.(*ast.Ident)
					if !ok {
						return true
					}
					uses[declared][id.Name] = true
					if slices.Contains(imported, id.Name) {
						random[declared] = true
					}
					return true
				})
			}
		}
	}
	for grown := true; grown; {
		grown = false
		for declared, names := range uses {
			if random[declared] {
				continue
			}
			for name := range names {
				if random[name] {
					random[declared], grown = true, true
					break
				}
			}
		}
	}
	var tests []string
	for name := range random {
		if strings.HasPrefix(name, "Test") && name != "TestMain" || strings.HasPrefix(name, "Fuzz") {
			tests = append(tests, name)
		}
	}
	slices.Sort(tests)
	return tests, nil
}

// sourceNames returns the names by which a file imports the sources. The package of a fuzz target's inputs uses them too.
func sourceNames(f *ast.File) (names []string) {
	for _, i := range f.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		base := path.Base(imported)
		if slices.Contains(sources, base) || base == "fuzztest" {
			names = append(names, base)
		}
	}
	return names
}

// declaredNames returns the functions, methods, variables and types that a declaration declares.
func declaredNames(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return []string{d.Name.Name}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			}
		}
	}
	return names
}
