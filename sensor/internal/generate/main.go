// Generate writes the Go code of events, slices and marks, which is the same for every number of fields:
//
//	go generate ./sensor       writes sensor/*_gen.go
//
// Why it is written out and not called: a generic function for one field, called for each, would be too large for the
// inliner, whose budget is counted before constant branches are cut. Written out, all sizes but those of texts are constants, and
// only one branch for each field is compiled.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate DIR")
		os.Exit(2)
	}
	all, err := files()
	for name, text := range all {
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], name), text, 0o666)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

//go:embed events.go.tmpl
var source string

var text = template.Must(template.New("events").Parse(source))

// arity is a number of fields, and what the templates need of it.
type arity struct {
	N      int
	Word   string // "no fields", "one field", ...
	Fields []field
}

// field is one field: its type A, its value a.
type field struct {
	Type, Name string
	Last       bool
}

var words = []string{"no fields", "one field", "two fields", "three fields", "four fields", "five fields", "six fields", "seven fields", "eight fields"}

func arityOf(n int) arity {
	a := arity{N: n, Word: words[n]}
	for i := range n {
		a.Fields = append(a.Fields, field{string(rune('A' + i)), string(rune('a' + i)), i == n-1})
	}
	return a
}

// Suffix is what stands behind the name of a type of slices: nothing for no fields.
func (a arity) Suffix() string {
	if a.N == 0 {
		return ""
	}
	return fmt.Sprint(a.N)
}

// Declared is the list of type parameters, [A, B Field].
func (a arity) Declared() string {
	if a.N == 0 {
		return ""
	}
	return "[" + a.join(", ", func(f field) string { return f.Type }) + " Field]"
}

// Used is the list of type arguments, [A, B].
func (a arity) Used() string {
	if a.N == 0 {
		return ""
	}
	return "[" + a.join(", ", func(f field) string { return f.Type }) + "]"
}

// Names are the parameters of a constructor, nameA, nameB.
func (a arity) Names() string { return a.join(", ", func(f field) string { return "name" + f.Type }) }

// Members are the fields as they are declared.
func (a arity) Members() string {
	if a.N == 0 {
		return "nil"
	}
	return "[]member{" + a.join(", ", func(f field) string { return fmt.Sprintf("memberOf[%s](name%s)", f.Type, f.Type) }) + "}"
}

// Parameters are the values with their types, a A, b B.
func (a arity) Parameters() string {
	return a.join(", ", func(f field) string { return f.Name + " " + f.Type })
}

// Values are the values, a, b.
func (a arity) Values() string { return a.join(", ", func(f field) string { return f.Name }) }

// Sizes are added to the size of an event.
func (a arity) Sizes() string {
	return a.join("", func(f field) string { return " + size(" + f.Name + ")" })
}

func (a arity) join(separator string, one func(field) string) string {
	parts := make([]string, len(a.Fields))
	for i, f := range a.Fields {
		parts[i] = one(f)
	}
	return strings.Join(parts, separator)
}

// files returns the generated files.
func files() (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, f := range []struct {
		name, template string
		from, to       int
	}{{"events_gen.go", "events", 0, 5}, {"events_more_gen.go", "events", 6, 8}, {"slices_gen.go", "slices", 0, 3}} {
		var arities []arity
		for n := f.from; n <= f.to; n++ {
			arities = append(arities, arityOf(n))
		}
		var b bytes.Buffer
		if err := text.ExecuteTemplate(&b, f.template, arities); err != nil {
			return nil, err
		}
		formatted, err := format.Source(b.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		all[f.name] = formatted
	}
	return all, nil
}
