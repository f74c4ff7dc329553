// Package yamltext refuses text that a YAML parser cannot read in bounded memory and time.
//
// In comes a file, out the text without a byte order mark, or the place of what is wrong with it. Readable looks at the text before the
// parser does: the parser takes time and memory by the square of how deep values nest. Expand looks at what was parsed: few lines of
// aliases of aliases stand for more values than any memory holds.
package yamltext

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
)

// Limits of a text.
const (
	MaxBytes  = 4 << 20
	MaxDepth  = 50      // of values within values, aliases resolved
	MaxValues = 200_000 // aliases resolved

	// maxOpen bounds the brackets that are open at a time, and the marks in a row of one line.
	maxOpen = 1000
)

// bom is the byte order mark that editors of Windows write at the start of UTF-8.
const bom = "\ufeff"

// Problem is what is wrong, and where: lines and columns count from 1.
type Problem struct {
	Line, Column int
	What         string
}

func (p *Problem) Error() string { return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.What) }

// Readable returns the text without a byte order mark, or a problem that the YAML parser would not say well.
func Readable(text []byte) ([]byte, *Problem) {
	text = bytes.TrimPrefix(text, []byte(bom))
	at, open := Problem{Line: 1, Column: 1}, 0
	for rest := text; len(rest) > 0; {
		c, n := utf8.DecodeRune(rest)
		if c == utf8.RuneError && n == 1 {
			at.What = fmt.Sprintf("byte %#x is not UTF-8: save the file as UTF-8", rest[0])
			return nil, &at
		}
		switch rest = rest[n:]; c {
		case '[', '{':
			open++
		case ']', '}':
			open = max(open-1, 0)
		}
		if open > maxOpen {
			at.What = fmt.Sprintf("more than %d brackets are open", maxOpen)
			return nil, &at
		}
		if at.Column++; c == '\n' {
			at.Line, at.Column = at.Line+1, 1
		}
	}
	line := 0
	for text := range bytes.Lines(text) {
		line++
		marks := 0
		for word := range bytes.FieldsSeq(text) {
			if marks++; !isMark(word) {
				marks = 0
			}
			if marks > maxOpen {
				return nil, &Problem{line, 1, fmt.Sprintf("more than %d values begin within each other in one line", maxOpen)}
			}
		}
	}
	return text, nil
}

// isMark says whether a word only begins a value, so that the next word may begin another within it: "-", "?", "key:", "&anchor", "!tag".
func isMark(word []byte) bool {
	return word[0] == '&' || word[0] == '!' || word[len(word)-1] == ':' || len(word) == 1 && (word[0] == '-' || word[0] == '?')
}

// Guard calls a function of the YAML library and returns what makes it panic as an error: the library follows values that are not there, as
// those of the tags in "a: !! ! b, c".
func Guard(decode func() error) (err error) {
	defer func() {
		if what := recover(); what != nil {
			err = fmt.Errorf("no YAML that can be read: %v", what)
		}
	}()
	return decode()
}

// Expand returns the first place at which a file of values, with its aliases resolved, is deeper or larger than the limits; nil if there is
// none. It takes time by the limits, not by what the aliases stand for.
func Expand(f *ast.File) *Problem {
	e := expansion{anchors: make(map[string]ast.Node)}
	for _, d := range f.Docs {
		if p := e.walk(d.Body, 0); p != nil {
			return p
		}
	}
	return nil
}

type expansion struct {
	anchors map[string]ast.Node
	values  int
}

func (e *expansion) walk(n ast.Node, depth int) *Problem {
	if n == nil {
		return nil
	}
	if e.values++; depth > MaxDepth || e.values > MaxValues {
		p := &Problem{Line: 1, Column: 1, What: fmt.Sprintf("too deep or too much: at most %d levels and %d values", MaxDepth, MaxValues)}
		if t := n.GetToken(); t != nil && t.Position != nil {
			p.Line, p.Column = max(t.Position.Line, 1), max(t.Position.Column, 1)
		}
		return p
	}
	var within []ast.Node
	switch n := n.(type) {
	case *ast.AnchorNode:
		e.anchors[n.Name.GetToken().Value] = n.Value
		within = []ast.Node{n.Value}
	case *ast.AliasNode:
		within = []ast.Node{e.anchors[n.Value.GetToken().Value]}
	case *ast.TagNode:
		within = []ast.Node{n.Value}
	case *ast.MappingNode:
		for _, v := range n.Values {
			within = append(within, v)
		}
	case *ast.MappingValueNode:
		within = []ast.Node{n.Key, n.Value}
	case *ast.MappingKeyNode:
		within = []ast.Node{n.Value}
	case *ast.SequenceNode:
		within = n.Values
	}
	for _, x := range within {
		if p := e.walk(x, depth+1); p != nil {
			return p
		}
	}
	return nil
}
