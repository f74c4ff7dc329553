package ctf

import (
	"strconv"
	"strings"
)

// entry is one line of a block: a name with a value or with a type.
type entry struct {
	name  string
	line  int
	value value
	class *fieldClass
}

// value is what stands right of an equals sign.
type value struct {
	kind     tokenKind // tokenNumber, tokenText; tokenName for words and paths
	text     string
	number   uint64
	negative bool
}

// entries calls use for every entry of a block up to its brace; types declared among them are declared.
func (p *tsdlParser) entries(use func(e *entry)) {
	for p.err == nil && !p.is("}") && p.tok.kind != tokenEnd {
		if p.accept(";") || p.typeDeclaration() {
			continue
		}
		if p.word("struct") || p.word("enum") || p.word("variant") {
			p.specifier(true)
			p.semicolon()
			continue
		}
		e := entry{line: p.tok.line}
		e.name = p.path()
		if p.accept(":=") {
			e.class = p.typeUse()
		} else {
			p.expect("=")
			e.value = p.value()
		}
		if !p.is("}") {
			p.semicolon()
		}
		if p.err == nil {
			use(&e)
		}
	}
}

const maxPath = 1000

// path reads names with dots between them.
func (p *tsdlParser) path() string {
	s := p.name()
	for p.err == nil && (p.accept(".") || p.accept("->")) {
		if s += "." + p.name(); len(s) > maxPath {
			p.fail(p.tok.line, "path longer than %d bytes", maxPath)
		}
	}
	return s
}

func (p *tsdlParser) value() value {
	negative := false
	for p.is("-") || p.is("+") {
		negative = negative != (p.advance().text == "-")
	}
	v := value{kind: p.tok.kind, negative: negative}
	switch p.tok.kind {
	case tokenNumber:
		v.number = p.advance().number
		if negative && v.number > 1<<63 {
			p.fail(p.tok.line, "number -%d exceeds 64 bits", v.number)
		}
	case tokenText:
		v.text = p.advance().text
	case tokenName:
		v.text = p.path()
	default:
		p.fail(p.tok.line, "expected a value, found %s", p.found())
	}
	return v
}

// signed returns the number as it stands in 64 bits.
func (v *value) signed() int64 {
	if v.negative {
		return -int64(v.number)
	}
	return int64(v.number)
}

// count returns the value as a number that is not negative.
func (p *tsdlParser) count(e *entry) uint64 {
	if e.value.kind != tokenNumber || e.value.negative && e.value.number != 0 {
		p.fail(e.line, "%s is not a non-negative integer", e.name)
	}
	return e.value.number
}

// between returns a count that must lie within bounds.
func (p *tsdlParser) between(e *entry, low, high uint64) int {
	n := p.count(e)
	if n < low || n > high {
		p.fail(e.line, "invalid %s %d (%d to %d)", e.name, n, low, high)
		return int(low)
	}
	return int(n)
}

// text returns the value as a text or a bare word.
func (p *tsdlParser) text(e *entry) string {
	if e.value.kind == tokenNumber || e.class != nil {
		p.fail(e.line, "%s is not a string", e.name)
	}
	return e.value.text
}

func (p *tsdlParser) truth(e *entry) bool {
	switch {
	case e.value.kind == tokenNumber:
		return e.value.number != 0
	case strings.EqualFold(e.value.text, "true"):
		return true
	case strings.EqualFold(e.value.text, "false"):
		return false
	}
	p.fail(e.line, "%s is not a boolean (true, false)", e.name)
	return false
}

// unknown warns of an entry that means nothing to us. It costs nothing else.
func (p *tsdlParser) unknown(what string, e *entry) {
	p.w.Add(p.file, "unknown "+what+" attributes ignored", "line "+strconv.Itoa(e.line)+", "+e.name)
}
