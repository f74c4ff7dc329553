package yamltext

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

func TestTextThatParsersTakeTheSquareOfIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{bom + "a: [1, {b: c}]\n- x\n", ""},
		{"a: \xff", "1:4: byte 0xff is not UTF-8"},
		{"a:\n " + strings.Repeat("[", 1001), "2:1002: more than 1000 brackets are open"},
		{strings.Repeat("[] {} ", 10_000), ""},
		{strings.Repeat("- ", 1000) + "a", ""},
		{"a:\n  " + strings.Repeat("- ", 1001) + "a", "2:1: more than 1000 values begin within each other"},
		{strings.Repeat("? - &a !b c: ", 201), "1:1: more than 1000 values begin within each other"},
		{strings.Repeat("- a\n", 10_000) + strings.Repeat(`"a": 1, `, 10_000), ""},
	} {
		text, p := Readable([]byte(c.text))
		switch {
		case c.want == "" && (p != nil || string(text) != strings.TrimPrefix(c.text, bom)):
			t.Errorf("%.30q: %v", c.text, p)
		case c.want != "" && (p == nil || !strings.HasPrefix(p.Error(), c.want)):
			t.Errorf("%.30q: %v, want %s", c.text, p, c.want)
		}
	}
}

func TestAliasesCountForWhatTheyStandFor(t *testing.T) {
	t.Parallel()
	doubled := func(line string, n int) string {
		var b strings.Builder
		b.WriteString("k0: &a0 {x: y}\n")
		for i := range n {
			fmt.Fprintf(&b, line, i+1, i+1, i, i)
		}
		return b.String()
	}
	for _, c := range []struct{ text, want string }{
		{"a: &x [1, 2]\nb: [*x, *x]\nc: {<<: &y {d: e}, f: *y}\n", ""},
		{doubled("k%d: &a%d [*a%d, *a%d]\n", 12), ""},
		{doubled("k%d: &a%d [*a%d, *a%d]\n", 22), "too deep"},
		{doubled("k%d: &a%d {<<: [*a%d, *a%d]}\n", 22), "too deep"},
		{"a: &x [*x]\n", "too deep"},
		{"a: *nowhere\n", ""},
		{"a: " + strings.Repeat("[", 60) + strings.Repeat("]", 60), "1:"},
		{"a: [" + strings.Repeat("b, ", MaxValues) + "]", "1:"},
	} {
		f, err := parser.ParseBytes([]byte(c.text), 0)
		if err != nil {
			t.Fatal(err)
		}
		if p := Expand(f); (p == nil) != (c.want == "") || p != nil && !strings.Contains(p.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.text, p, c.want)
		}
	}
}

func TestWhatMakesTheLibraryPanicIsAnError(t *testing.T) {
	var into struct {
		A []string `yaml:"a"`
	}
	decode := func(text string) error {
		return Guard(func() error { return yaml.Unmarshal([]byte(text), &into) })
	}
	if err := decode("a: !!!!!!!!!!tf, s"); err == nil || !strings.Contains(err.Error(), "no YAML that can be read") {
		t.Error(err)
	}
	if err := decode("a: [b, c]"); err != nil || len(into.A) != 2 {
		t.Error(into, err)
	}
}
