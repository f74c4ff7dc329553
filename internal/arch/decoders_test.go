package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A decoder turns bytes from outside this program into values: a function whose name says so and that takes bytes, text, a reader or a
// file, or one that hands them to a decoder of a library. Each must be reached by a fuzz target, or stand in trusted with a reason.
//
// Reached is: called by the target, or by a function that it reaches. Calls of functions are followed exactly. Of a call of a method only
// its name is known here, so that every method of that name counts that the calling package declares or could have imported. Methods that
// many types have (unnamed) are followed within their package only.

// decoderName matches names of decoders: the word alone or before a capital letter or digit.
var decoderName = regexp.MustCompile(`^(?i:parse|read|decode|unmarshal|load)(?:$|[A-Z0-9])`)

// outsideTypes are the types of parameters in which bytes from outside come.
var outsideTypes = map[string]bool{
	"[]byte": true, "string": true, "io.Reader": true, "io.ReaderAt": true, "io.ReadSeeker": true, "*bufio.Reader": true, "*bufio.Scanner": true,
	"*os.File": true, "fs.FS": true, "fs.File": true, "*json.Decoder": true,
}

// libraryDecoders are functions of others that turn bytes into values.
var libraryDecoders = map[string]bool{
	"json.Unmarshal": true, "json.NewDecoder": true, "xml.Unmarshal": true, "xml.NewDecoder": true, "proto.Unmarshal": true, "protojson.Unmarshal": true,
	"yaml.Unmarshal": true, "yaml.NewDecoder": true, "parser.ParseBytes": true, "csv.NewReader": true, "gob.NewDecoder": true, "binary.Read": true,
	"asn1.Unmarshal": true, "pem.Decode": true, "x509.ParseCertificate": true, "gzip.NewReader": true, "zstd.NewReader": true, "flate.NewReader": true,
}

// unnamed are methods of interfaces of the standard library.
var unnamed = map[string]bool{"Read": true, "ReadAt": true, "ReadFrom": true, "ReadByte": true, "Write": true, "Close": true, "Error": true, "String": true,
	"Len": true, "ReadDir": true, "Load": true, "Store": true, "Next": true, "Get": true, "Add": true, "Done": true, "Wait": true, "Open": true, "Run": true, "Decode": true, "UnmarshalJSON": true}

// function is a function or method with a body.
type function struct {
	name    string // dir.Name or dir.Type.Name
	dir     string
	decl    *ast.FuncDecl
	imports map[string]string // of its file: name to path from the top, or to the path of a package of others
	test    bool
}

// program is all functions of some source files.
type program struct {
	functions map[string][]*function            // by name: several where a function is declared for each system
	methods   map[string]map[string][]*function // dir, name
}

// parse adds a file of the program.
func (p *program) parse(t *testing.T, files *token.FileSet, name string, text []byte) {
	t.Helper()
	f, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	imports := make(map[string]string)
	for _, i := range f.Imports {
		full := strings.Trim(i.Path.Value, `"`)
		short := path.Base(full)
		if i.Name != nil {
			short = i.Name.Name
		}
		if ours, ok := strings.CutPrefix(full, module+"/"); ok {
			full = ours
		}
		imports[short] = full
	}
	test := strings.HasSuffix(name, "_test.go")
	for _, d := range f.Decls {
		d, ok := d.(*ast.FuncDecl)
		if !ok || d.Body == nil {
			continue
		}
		x := &function{dir: path.Dir(name), decl: d, imports: imports, test: test}
		x.name = x.dir + "." + d.Name.Name
		if on := receiver(d); on != "" {
			x.name = x.dir + "." + on + "." + d.Name.Name
			if p.methods[x.dir] == nil {
				p.methods[x.dir] = make(map[string][]*function)
			}
			p.methods[x.dir][d.Name.Name] = append(p.methods[x.dir][d.Name.Name], x)
		}
		p.functions[x.name] = append(p.functions[x.name], x)
	}
}

// calls returns what a function may call or hand on.
func (p *program) calls(f *function) (all []*function) {
	named := func(name string) { all = append(all, p.functions[name]...) }
	ast.Inspect(f.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			named(f.dir + "." + n.Name)
			// A value of a type may be decoded by it: json.Unmarshal(b, &x) calls its UnmarshalJSON.
			named(f.dir + "." + n.Name + ".UnmarshalJSON")
			named(f.dir + "." + n.Name + ".UnmarshalText")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && f.imports[x.Name] != "" {
				named(f.imports[x.Name] + "." + n.Sel.Name)
				return false
			}
			all = append(all, p.methods[f.dir][n.Sel.Name]...)
			if unnamed[n.Sel.Name] {
				return true
			}
			for _, dir := range f.imports {
				all = append(all, p.methods[dir][n.Sel.Name]...)
			}
		}
		return true
	})
	return all
}

// reached returns the names of all functions that fuzz targets reach.
func (p *program) reached() map[string]bool {
	var todo []*function
	for _, named := range p.functions {
		for _, f := range named {
			if f.test && strings.HasPrefix(f.decl.Name.Name, "Fuzz") && f.decl.Recv == nil {
				todo = append(todo, f)
			}
		}
	}
	done, found := make(map[*function]bool), make(map[string]bool)
	for len(todo) > 0 {
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !done[f] {
			done[f], found[f.name] = true, true
			todo = append(todo, p.calls(f)...)
		}
	}
	return found
}

// decoders returns the names of the decoders, in order.
func (p *program) decoders() []string {
	found := make(map[string]bool)
	for name, named := range p.functions {
		if slices.ContainsFunc(named, func(f *function) bool { return !f.test && f.decodes() }) {
			found[name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (f *function) decodes() bool {
	if decoderName.MatchString(f.decl.Name.Name) && !f.isReader() {
		for _, p := range f.decl.Type.Params.List {
			if outsideTypes[typeText(p.Type)] {
				return true
			}
		}
	}
	hands := false
	ast.Inspect(f.decl.Body, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && f.imports[x.Name] != "" && libraryDecoders[x.Name+"."+s.Sel.Name] {
				hands = true
			}
		}
		return !hands
	})
	return hands
}

// isReader says whether a method fills bytes that its caller gives, as io.Reader and io.ReaderAt do, or reads all of a reader.
func (f *function) isReader() bool {
	r := f.decl.Type.Results
	return f.decl.Recv != nil && slices.Contains([]string{"Read", "ReadAt", "ReadFrom"}, f.decl.Name.Name) && r != nil && r.NumFields() == 2 &&
		slices.Contains([]string{"int", "int64"}, typeText(r.List[0].Type))
}

// typeText returns a type as it is written, for those that outsideTypes has.
func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + typeText(e.X)
	case *ast.SelectorExpr:
		return typeText(e.X) + "." + e.Sel.Name
	case *ast.ArrayType:
		if e.Len == nil {
			return "[]" + typeText(e.Elt)
		}
	case *ast.Ellipsis:
		return "[]" + typeText(e.Elt)
	}
	return ""
}

// undecoded returns the decoders that no target reaches and that are not trusted, and the entries of trusted that nothing needs.
func (p *program) undecoded(trusted map[string]string) (open, needless []string) {
	reached := p.reached()
	used := make(map[string]bool)
	for _, name := range p.decoders() {
		if reached[name] {
			continue
		}
		last, _, _ := strings.Cut(path.Base(name), ".")
		dir := path.Join(path.Dir(name), last)
		switch {
		case trusted[name] != "":
			used[name] = true
		case trusted[dir] != "":
			used[dir] = true
		default:
			open = append(open, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(trusted)) {
		if !used[name] {
			needless = append(needless, name)
		}
	}
	return open, needless
}

func newProgram() *program {
	return &program{functions: make(map[string][]*function), methods: make(map[string]map[string][]*function)}
}

func TestEveryDecoderIsFuzzed(t *testing.T) {
	p, files := newProgram(), token.NewFileSet()
	sources(t, func(name string, text []byte) {
		if strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, "tools/") && !strings.HasPrefix(name, "examples/") {
			p.parse(t, files, name, text)
		}
	})
	if n := len(p.decoders()); n < 100 {
		t.Fatalf("only %d decoders found", n)
	}
	open, needless := p.undecoded(trustedDecoders)
	for _, name := range open {
		t.Errorf("%s decodes what comes from outside, and no fuzz target reaches it: add one, or a line to trustedDecoders with the reason", name)
	}
	for _, name := range needless {
		t.Errorf("trustedDecoders: %s is fuzzed, or is no decoder any more: delete its line", name)
	}
}

func TestADecoderThatNoTargetReachesIsFound(t *testing.T) {
	const product = "package p\n\nimport (\n\t\"encoding/json\"\n\t\"io\"\n)\n\n" +
		"func Read(r io.Reader) error { return parseHead(nil) }\n\nfunc parseHead(b []byte) error { return nil }\n\n" +
		"func parseRow(b []byte) error { return nil }\n\nfunc state(b []byte) (x int) { _ = json.Unmarshal(b, &x); return x }\n\n" +
		"func parsed(b []byte) {}\n\ntype T struct{}\n\nfunc (T) Read(b []byte) (int, error) { return 0, nil }\n\nfunc (T) loadRow(b []byte) {}\n"
	const target = "package p\n\nimport \"testing\"\n\nfunc FuzzRead(f *testing.F) { f.Fuzz(func(t *testing.T, b []byte) { check(b) }) }\n\nfunc check(b []byte) { _ = Read(nil) }\n"
	for _, test := range []struct {
		more           string // of the target's file
		trusted        map[string]string
		open, needless []string
	}{
		{"", nil, []string{"p.T.loadRow", "p.parseRow", "p.state"}, nil},
		{"func FuzzRow(f *testing.F) { parseRow(nil); T{}.loadRow(nil) }\n", nil, []string{"p.state"}, nil},
		{"func TestRow(t *testing.T) { parseRow(nil) }\n", map[string]string{"p.state": "a reason", "p.T.loadRow": "a reason"}, []string{"p.parseRow"}, nil},
		{"", map[string]string{"p": "a reason", "p.Read": "it is fuzzed", "p.gone": "it was"}, nil, []string{"p.Read", "p.gone"}},
	} {
		p, files := newProgram(), token.NewFileSet()
		p.parse(t, files, "p/p.go", []byte(product))
		p.parse(t, files, "p/p_test.go", []byte(target+test.more))
		if open, needless := p.undecoded(test.trusted); !slices.Equal(open, test.open) || !slices.Equal(needless, test.needless) {
			t.Errorf("%q: open %v, needless %v; want %v and %v", test.more, open, needless, test.open, test.needless)
		}
	}
}
