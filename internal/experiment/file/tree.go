package file

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"meridian/internal/yamltext"
)

// node is a value of the file. Aliases are resolved.
type node struct {
	kind   kind
	text   string // of a scalar, as it means
	quoted bool   // a scalar that is text whatever it looks like
	at     Position
	keys   []*node // of a mapping, each a scalar
	values []*node // of a mapping or a list
}

type kind uint8

const (
	scalar kind = iota
	mapping
	list
	null
)

// get returns the value of a key of a mapping; nil if there is none.
func (n *node) get(key string) *node {
	if n == nil || n.kind != mapping {
		return nil
	}
	for i, k := range n.keys {
		if k.text == key {
			return n.values[i]
		}
	}
	return nil
}

// what names a node's kind in messages.
func (n *node) what() string {
	switch n.kind {
	case mapping:
		return "a mapping"
	case list:
		return "a list"
	case null:
		return "nothing"
	}
	return "\"" + cut(n.text) + "\""
}

func cut(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}

// parse returns the mapping that a file is; nil after a problem.
func (r *reader) parse(text []byte) *node {
	text, ok := r.readable(text)
	if !ok {
		return nil
	}
	var f *ast.File
	if err := yamltext.Guard(func() (err error) {
		f, err = parser.ParseBytes(text, 0)
		return err
	}); err != nil {
		r.syntax(err)
		return nil
	}
	var bodies []ast.Node
	for _, d := range f.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType {
			bodies = append(bodies, d.Body)
		}
	}
	switch len(bodies) {
	case 0:
		r.problem(Position{1, 1}, "the file is empty: 'meridian run --new' writes a start")
		return nil
	case 1:
	default:
		r.problem(position(bodies[1]), "a second document: want one")
		return nil
	}
	b := &builder{r: r, anchors: make(map[string]ast.Node)}
	root := b.build(bodies[0], 0)
	switch {
	case root == nil || len(r.problems) > 0:
		return nil
	case root.kind != mapping:
		r.problem(root.at, "got %s, want a mapping with hosts, daemons and schedule", root.what())
		return nil
	}
	return root
}

// syntax notes a text that is no YAML.
func (r *reader) syntax(err error) {
	at, what := Position{1, 1}, err.Error()
	var known yaml.Error
	if errors.As(err, &known) {
		what = known.GetMessage()
		if t := known.GetToken(); t != nil && t.Position != nil {
			at = Position{max(t.Position.Line, 1), max(t.Position.Column, 1)}
		}
	}
	r.problem(at, "invalid YAML: %s", strings.TrimSpace(what))
}

func position(n ast.Node) Position {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return position(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return position(n.Key)
	}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return Position{1, 1}
	}
	return Position{max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

// builder makes nodes of the parser's.
type builder struct {
	r       *reader
	anchors map[string]ast.Node
	nodes   int
	full    bool
}

func (b *builder) build(from ast.Node, depth int) *node {
	n := &node{kind: null, at: Position{1, 1}}
	if from == nil {
		return n
	}
	n.at = position(from)
	if b.nodes++; depth > yamltext.MaxDepth || b.nodes > yamltext.MaxValues {
		if !b.full {
			b.full = true
			b.r.problem(n.at, "too deep or too much: at most %d levels and %d values", yamltext.MaxDepth, yamltext.MaxValues)
		}
		return n
	}
	switch from := from.(type) {
	case *ast.AnchorNode:
		b.anchors[from.Name.GetToken().Value] = from.Value
		return b.build(from.Value, depth+1)
	case *ast.AliasNode:
		name := from.Value.GetToken().Value
		if b.anchors[name] == nil {
			b.r.problem(n.at, "unknown alias *%s: no &%[1]s stands before it", name)
			return n
		}
		return b.build(b.anchors[name], depth+1)
	case *ast.TagNode:
		b.r.problem(n.at, "tags such as %s are not read: leave it out", from.Start.Value)
	case *ast.MappingNode:
		n.kind = mapping
		for _, v := range from.Values {
			b.entry(n, v, depth)
		}
	case *ast.MappingValueNode:
		n.kind = mapping
		b.entry(n, from, depth)
	case *ast.SequenceNode:
		n.kind = list
		for _, v := range from.Values {
			n.values = append(n.values, b.build(v, depth+1))
		}
	case *ast.StringNode:
		n.kind, n.text = scalar, from.Value
		n.quoted = strings.HasPrefix(from.Token.Origin, "\"") || strings.HasPrefix(from.Token.Origin, "'") || isQuote(from)
	case *ast.LiteralNode:
		n.kind, n.text, n.quoted = scalar, from.Value.Value, true
	case *ast.NullNode:
	default: // numbers, true and false, as they were written
		n.kind, n.text = scalar, from.GetToken().Value
	}
	return n
}

func isQuote(n *ast.StringNode) bool {
	kind := n.Token.Type.String()
	return kind == "SingleQuote" || kind == "DoubleQuote"
}

func (b *builder) entry(to *node, v *ast.MappingValueNode, depth int) {
	if v.Key.IsMergeKey() {
		b.r.problem(position(v.Key), "<< is not read: write the keys out, or use vars")
		return
	}
	key := b.build(v.Key, depth+1)
	if key.kind != scalar {
		b.r.problem(key.at, "got %s as a key, want a word", key.what())
		return
	}
	value := b.build(v.Value, depth+1)
	if value.kind == null && v.Value == nil {
		value.at = key.at
	}
	to.keys, to.values = append(to.keys, key), append(to.values, value)
}
