package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
)

// change replaces the bytes of a file from begin to end.
type change struct {
	file       string // absolute
	path       string // from the top of the workspace
	begin, end int    // byte offsets
	with       string
	line       int
	function   string // that is changed: Type.Method, or "-" outside of functions
	from, to   string // what a reader sees: the expression before and after
}

// name identifies a change for as long as its function stays as it is.
func (c change) name() string {
	return fmt.Sprintf("%s %s: `%s` -> `%s`", c.path, c.function, c.from, c.to)
}

func (c change) where() string { return fmt.Sprintf("%s:%d", c.path, c.line) }

// swaps are the operators and what each is replaced by: the change of sign or direction, and the border.
var swaps = map[token.Token][]token.Token{
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.QUO},
	token.AND: {token.OR}, token.OR: {token.AND}, token.XOR: {token.OR}, token.AND_NOT: {token.AND},
	token.SHL: {token.SHR}, token.SHR: {token.SHL},
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.MUL_ASSIGN: {token.QUO_ASSIGN}, token.QUO_ASSIGN: {token.MUL_ASSIGN},
	token.AND_ASSIGN: {token.OR_ASSIGN}, token.OR_ASSIGN: {token.AND_ASSIGN},
	token.SHL_ASSIGN: {token.SHR_ASSIGN}, token.SHR_ASSIGN: {token.SHL_ASSIGN},
	token.INC: {token.DEC}, token.DEC: {token.INC},
	token.BREAK: {token.CONTINUE}, token.CONTINUE: {token.BREAK},
}

// words are predeclared names and what each is replaced by.
var words = map[string]string{"true": "false", "false": "true", "min": "max", "max": "min"}

// finder collects the changes of one file. Changes of one place form one site, of which at most one is made.
type finder struct {
	files      *token.FileSet
	text       []byte
	file, path string
	function   string
	sites      [][]change
}

// sites returns all places of the package's code where a change can be made, and the changes of each.
func (p pkg) sites() ([][]change, error) {
	var all [][]change
	for _, name := range p.files() {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		sites, err := find(name, p.fromTop(name), text)
		if err != nil {
			return nil, err
		}
		all = append(all, sites...)
	}
	return all, nil
}

// find returns the sites of one file. Generated files have none.
func find(file, path string, text []byte) ([][]change, error) {
	f := finder{files: token.NewFileSet(), text: text, file: file, path: path}
	tree, err := parser.ParseFile(f.files, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(tree) {
		return nil, err
	}
	for _, d := range tree.Decls {
		f.function = "-"
		switch d := d.(type) {
		case *ast.FuncDecl:
			f.function = d.Name.Name
			if d.Recv != nil {
				f.function = receiver(d.Recv.List[0].Type) + "." + d.Name.Name
			}
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue
			}
		}
		ast.PreorderStack(d, nil, f.visit)
	}
	return f.sites, nil
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// visit adds the changes of one node and says whether to go on into it.
func (f *finder) visit(n ast.Node, stack []ast.Node) bool {
	around := n
	if len(stack) > 0 {
		around = stack[len(stack)-1]
	}
	if isCapacity(n, around) {
		return false
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.swap(n, n.OpPos, n.Op)
	case *ast.AssignStmt:
		f.swap(n, n.TokPos, n.Tok)
	case *ast.IncDecStmt:
		f.swap(n, n.TokPos, n.Tok)
	case *ast.BranchStmt:
		if n.Label == nil {
			f.swap(n, n.TokPos, n.Tok)
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB {
			f.site(f.edit(around, n.OpPos, len(n.Op.String()), ""))
		}
	case *ast.BasicLit:
		if f.function != "-" {
			f.number(n, around)
		}
	case *ast.Ident:
		selected, ok := around.(*ast.SelectorExpr) // x.min is a field or a method
		if with := words[n.Name]; with != "" && !(ok && selected.Sel == n) {
			f.site(f.edit(around, n.Pos(), len(n.Name), with))
		}
	case *ast.ReturnStmt:
		f.results(n)
	case *ast.Field, *ast.ArrayType: // types: names, tags and lengths
		return false
	}
	return true
}

// isCapacity says whether a node is the capacity in a call of make: it only reserves memory.
func isCapacity(n, around ast.Node) bool {
	c, ok := around.(*ast.CallExpr)
	if !ok || len(c.Args) < 3 || c.Args[2] != n {
		return false
	}
	name, ok := c.Fun.(*ast.Ident)
	return ok && name.Name == "make"
}

// swap adds the changes of an operator.
func (f *finder) swap(n ast.Node, at token.Pos, op token.Token) {
	var changes []change
	for _, with := range swaps[op] {
		changes = append(changes, f.edit(n, at, len(op.String()), with.String()))
	}
	f.site(changes...)
}

// number adds the changes of a constant: one more and one less. Named constants are spared: they are limits and sizes, and
// one more or less of them is as good.
func (f *finder) number(n *ast.BasicLit, around ast.Node) {
	edit := func(with string) change { return f.edit(around, n.Pos(), len(n.Value), with) }
	switch n.Kind {
	case token.INT:
		if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			f.site(edit(strconv.FormatInt(v+1, 10)), edit(strconv.FormatInt(v-1, 10)))
		}
	case token.FLOAT:
		f.site(edit("("+n.Value+" + 1)"), edit("("+n.Value+" - 1)"))
	}
}

// results adds the exchange of two neighbouring results. Where their types differ it does not compile.
func (f *finder) results(n *ast.ReturnStmt) {
	var changes []change
	for i := 1; i < len(n.Results); i++ {
		a, b := n.Results[i-1], n.Results[i]
		first, second := f.source(a.Pos(), a.End()), f.source(b.Pos(), b.End())
		if first != second {
			changes = append(changes, f.edit(n, a.Pos(), int(b.End()-a.Pos()), second+", "+first))
		}
	}
	f.site(changes...)
}

func (f *finder) site(changes ...change) {
	if len(changes) > 0 {
		f.sites = append(f.sites, changes)
	}
}

func (f *finder) offset(p token.Pos) int { return f.files.Position(p).Offset }

func (f *finder) source(from, to token.Pos) string {
	return string(f.text[f.offset(from):f.offset(to)])
}

const maxShown = 60 // bytes of an expression to each side of a change

// edit returns the change of n bytes at a position, shown within the node that holds them.
func (f *finder) edit(node ast.Node, at token.Pos, n int, with string) change {
	begin := f.offset(at)
	end := begin + n
	head, tail := f.text[f.offset(node.Pos()):begin], f.text[end:max(end, f.offset(node.End()))]
	if len(head) > maxShown {
		head = slices.Concat([]byte("…"), head[len(head)-maxShown:])
	}
	if len(tail) > maxShown {
		tail = slices.Concat(tail[:maxShown], []byte("…"))
	}
	show := func(middle string) string {
		all := strings.ToValidUTF8(string(head)+middle+string(tail), "")
		return strings.ReplaceAll(strings.Join(strings.Fields(all), " "), "`", "'")
	}
	return change{
		file: f.file, path: f.path, begin: begin, end: end, with: with, function: f.function,
		line: f.files.Position(at).Line, from: show(string(f.text[begin:end])), to: show(with),
	}
}

// apply returns the text with the change made.
func (c change) apply(text []byte) []byte {
	return slices.Concat(text[:c.begin], []byte(c.with), text[c.end:])
}
