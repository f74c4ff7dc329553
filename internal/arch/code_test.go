package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

const (
	maxFunction = 80 // lines
	maxMethods  = 15
	minCases    = 6  // of a switch that is a table
	maxCase     = 20 // lines of a case of such a switch
)

// fewMethods are the rooms whose types must stay small: the stages of the pipeline are values and functions between
// them, which a type with many methods would undo.
var fewMethods = []string{"align", "internal/pipeline", "internal/record"}

// tooLong and tooLarge are the functions and types that break the rules and are still to be divided. Delete the line with
// the offence; add none.
var (
	tooLong  = map[string]bool{}
	tooLarge = map[string]bool{}
)

// code parses every Go file that people write, test files aside, and calls check with the package's path from the top.
func code(t *testing.T, check func(pkg string, files *token.FileSet, f *ast.File)) {
	t.Helper()
	files := token.NewFileSet()
	sources(t, func(name string, text []byte) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return
		}
		f, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if ast.IsGenerated(f) {
			return
		}
		check(path.Dir(name), files, f)
	})
}

// receiver returns the name of the type that has the method, "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	expr := f.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return "?"
		}
	}
}

// codeLines returns a function's lines without those of tables. Tables are:
//   - composite literals and raw strings (lines of function literals in them count);
//   - switches of at least minCases cases of which none has more than maxCase lines.
//
// The line on which a table begins counts.
func codeLines(files *token.FileSet, f ast.Node) int {
	line := func(p token.Pos) int { return files.Position(p).Line }
	span := func(n ast.Node) int { return line(n.End()) - line(n.Pos()) }
	lines := span(f) + 1
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			lines -= span(n)
			ast.Inspect(n, func(inner ast.Node) bool {
				if literal, ok := inner.(*ast.FuncLit); ok {
					lines += codeLines(files, literal) - 1
					return false
				}
				return true
			})
			return false
		case *ast.BasicLit:
			lines -= span(n)
		case *ast.SwitchStmt:
			if isTable(n.Body, span) {
				lines -= span(n)
				return false
			}
		case *ast.TypeSwitchStmt:
			if isTable(n.Body, span) {
				lines -= span(n)
				return false
			}
		}
		return true
	})
	return lines
}

func isTable(body *ast.BlockStmt, span func(ast.Node) int) bool {
	for _, c := range body.List {
		if span(c) >= maxCase {
			return false
		}
	}
	return len(body.List) >= minCases
}

func TestFunctionsStayShort(t *testing.T) {
	offends := make(map[string]bool)
	code(t, func(pkg string, files *token.FileSet, file *ast.File) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := strings.TrimPrefix(receiver(f)+"."+f.Name.Name, ".")
			if n := codeLines(files, f); n > maxFunction {
				offends[pkg+"."+name] = true
				if !tooLong[pkg+"."+name] {
					t.Errorf("%s: %s has %d lines of code, at most %d", files.Position(f.Pos()), name, n, maxFunction)
				}
			}
		}
	})
	noneLeft(t, tooLong, offends)
}

func TestTypesHaveFewMethods(t *testing.T) {
	methods := make(map[string]int)
	code(t, func(pkg string, _ *token.FileSet, file *ast.File) {
		if !withinAny(pkg, fewMethods) {
			return
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[pkg+"."+receiver(f)]++
			}
		}
	})
	if len(methods) == 0 {
		t.Fatal("no methods found")
	}
	offends := make(map[string]bool)
	for name, n := range methods {
		if n > maxMethods {
			offends[name] = true
			if !tooLarge[name] {
				t.Errorf("%s has %d methods, at most %d", name, n, maxMethods)
			}
		}
	}
	noneLeft(t, tooLarge, offends)
}

// noneLeft reports the names of a list of known offenders that offend no more.
func noneLeft(t *testing.T, known, offends map[string]bool) {
	t.Helper()
	for name := range known {
		if !offends[name] {
			t.Errorf("%s keeps the rule now: delete it from the list of offenders", name)
		}
	}
}

func TestTablesAreNotCountedAsCode(t *testing.T) {
	rows := strings.Repeat("\t\t1,\n", 50)
	cases := func(n, lines int) string {
		return "\tswitch x {\n" + strings.Repeat("\tcase 1:\n"+strings.Repeat("\t\tx++\n", lines-1), n) + "\t}\n"
	}
	for _, test := range []struct {
		name, body string
		want       int
	}{
		{"statements", strings.Repeat("\tx++\n", 10), 12},
		{"composite literal", "\t_ = []int{\n" + rows + "\t}\n", 3},
		{"raw string", "\t_ = `" + strings.Repeat("\n", 30) + "`\n", 3},
		{"function in a literal", "\t_ = []func(){\n\t\tfunc() {\n\t\t\tx++\n\t\t\tx++\n\t\t},\n\t}\n", 6},
		{"switch of short cases", cases(minCases, 2), 3},
		{"switch of the longest cases", cases(minCases, maxCase), 3},
		{"switch of long cases", cases(minCases, maxCase+1), 2 + 2 + minCases*(maxCase+1)},
		{"switch of few cases", cases(minCases-1, 2), 2 + 2 + (minCases-1)*2},
	} {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, "x.go", "package p\nfunc f() {\n"+test.body+"}\n", 0)
		if err != nil {
			t.Fatal(test.name, err)
		}
		if n := codeLines(files, f.Decls[0]); n != test.want {
			t.Errorf("%s: %d lines, want %d", test.name, n, test.want)
		}
	}
}
