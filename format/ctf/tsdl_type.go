package ctf

import "strings"

// specifier reads what stands before a declared name: integer {...}, struct ..., unsigned long, uint8_t. Alone is one
// that no name follows: it declares what it names and may be nothing else.
func (p *tsdlParser) specifier(alone bool) *fieldClass {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.tok.line, "types nested deeper than %d levels", maxDepth)
	}
	defer func() { p.depth-- }()
	for p.word("const") {
		p.advance()
	}
	line := p.tok.line
	switch {
	case p.err != nil || p.tok.kind != tokenName:
		p.fail(line, "expected a type, found %s", p.found())
		return nil
	case p.word("struct"):
		return p.structure(line)
	case p.word("variant"):
		return p.variant(line)
	case p.word("enum"):
		return p.enumeration(line)
	case p.word("integer"), p.word("floating_point"), p.word("string"):
		return p.scalar(line)
	}
	if alone {
		p.fail(line, "expected a declaration, found %s", p.found())
		return nil
	}
	name := p.typeName(false)
	s := p.lookup(name)
	if s == nil && p.err == nil {
		p.fail(line, "undeclared type %.60q", name)
	}
	if s != nil && s.kind == Variant && s.location == nil && p.is("<") {
		s = p.tagged(s, line)
	}
	return s
}

// isTypeWord says which words are C's own of types.
func isTypeWord(s string) bool {
	switch s {
	case "unsigned", "signed", "long", "short", "int", "char", "float", "double", "void", "_Bool", "_Complex", "_Imaginary":
		return true
	}
	return false
}

// typeName reads the name of a type: C's words in a row, or one other name, then a star for each pointer. Const is not
// part of it. An alias's name may be both, up to the semicolon.
func (p *tsdlParser) typeName(alias bool) string {
	name := ""
	own := true
	for p.tok.kind == tokenName && p.err == nil {
		if p.word("const") {
			p.advance()
			continue
		}
		if word := isTypeWord(p.tok.text); !word && (name != "" && !alias || !own) {
			break
		} else if !word {
			own = false
		}
		if name != "" {
			name += " "
		}
		if name += p.advance().text; len(name) > maxPath {
			p.fail(p.tok.line, "type name longer than %d bytes", maxPath)
		}
		if !own && !alias {
			break
		}
	}
	if name == "" {
		p.fail(p.tok.line, "expected a type name, found %s", p.found())
	}
	for p.is("*") && len(name) <= maxPath {
		p.advance()
		for p.word("const") {
			p.advance()
		}
		name += " *"
	}
	return name
}

// typeDeclaration reads a typealias or typedef, if one is next.
func (p *tsdlParser) typeDeclaration() bool {
	line := p.tok.line
	switch {
	case p.word("typealias"):
		p.advance()
		s := p.typeUse()
		p.expect(":=")
		p.declare(p.typeName(true), s, line)
	case p.word("typedef"):
		p.advance()
		base := p.specifier(false)
		for {
			name, s := p.declarator(base)
			p.declare(name, s, line)
			if p.err != nil || !p.accept(",") {
				break
			}
		}
	default:
		return false
	}
	p.semicolon()
	return true
}

// typeUse reads a type with the lengths behind it, without a name.
func (p *tsdlParser) typeUse() *fieldClass {
	return p.lengths(p.specifier(false))
}

// declarator reads a name with what changes the type around it: stars before, lengths behind.
func (p *tsdlParser) declarator(base *fieldClass) (string, *fieldClass) {
	name := p.name()
	return name, p.lengths(base)
}

// lengths reads [4][n] behind a type: four times n times it.
func (p *tsdlParser) lengths(of *fieldClass) *fieldClass {
	line := p.tok.line
	if !p.accept("[") {
		return of
	}
	if p.depth++; p.depth > maxDepth {
		p.fail(line, "types nested deeper than %d levels", maxDepth)
	}
	s := &fieldClass{kind: FixedArray, line: line}
	if p.tok.kind == tokenNumber {
		s.length = p.advance().number
	} else {
		s.kind = Sequence
		s.location = p.location(line)
	}
	p.expect("]")
	s.elem = p.lengths(of)
	p.depth--
	return p.measured(s)
}

// measured rejects a field class that would become too many types.
func (p *tsdlParser) measured(s *fieldClass) *fieldClass {
	p.allocate(256 + 32*len(s.fields))
	if p.err == nil && !s.measure() {
		p.fail(s.line, "type nested deeper than %d levels or with more than %d members", maxDepth, maxNodes)
	}
	return s
}

// location reads where a length or a selector stands.
func (p *tsdlParser) location(line int) *fieldLocation {
	path := p.path()
	l := &fieldLocation{scope: inAnyScope, line: line}
	for _, d := range [...]struct {
		prefix string
		scope  dynamicScope
	}{
		{"trace.packet.header.", inPacketHeader}, {"stream.packet.context.", inPacketContext},
		{"stream.event.header.", inEventHeader}, {"stream.event.context.", inStreamEventContext},
		{"event.context.", inEventContext}, {"event.fields.", inEventPayload},
		{"env.", inEnvironment}, {"trace.env.", inEnvironment},
	} {
		if rest, ok := strings.CutPrefix(path, d.prefix); ok {
			path, l.scope = rest, d.scope
			break
		}
	}
	l.names = strings.Split(path, ".")
	return l
}

// structure reads struct NAME { fields } align(N), or struct NAME for one declared before.
func (p *tsdlParser) structure(line int) *fieldClass {
	p.advance()
	name := ""
	if !p.word("align") {
		name = p.optionalName()
	}
	if !p.is("{") {
		return p.declared("struct", name, line)
	}
	s := &fieldClass{kind: Struct, line: line, align: 1}
	p.members(s)
	if p.word("align") {
		p.advance()
		p.expect("(")
		e := entry{name: "align", line: p.tok.line, value: p.value()}
		s.align = p.alignment(&e)
		p.expect(")")
	}
	s = p.measured(s)
	if name != "" {
		p.declare("struct "+name, s, line)
	}
	return s
}

// declared finds the type of a name that stands without a body.
func (p *tsdlParser) declared(kind, name string, line int) *fieldClass {
	if name == "" {
		p.fail(line, "%s without a name or a body", kind)
		return nil
	}
	s := p.lookup(kind + " " + name)
	if s == nil && p.err == nil {
		p.fail(line, "undeclared %s %.60q", kind, name)
	}
	return s
}

// members reads the braces of a structure or a variant.
func (p *tsdlParser) members(s *fieldClass) {
	p.expect("{")
	p.enter()
	for p.err == nil && !p.is("}") && p.tok.kind != tokenEnd {
		if p.accept(";") || p.typeDeclaration() {
			continue
		}
		base := p.specifier(false)
		if p.accept(";") {
			continue // it only declared a name
		}
		for p.err == nil {
			name, of := p.declarator(base)
			s.fields = append(s.fields, memberClass{name, of})
			p.allocate(48)
			if !p.accept(",") {
				break
			}
		}
		p.expect(";")
	}
	p.expect("}")
	p.leave()
}

// variant reads variant NAME <tag> { options }; name, tag or body may be missing.
func (p *tsdlParser) variant(line int) *fieldClass {
	p.advance()
	name := p.optionalName()
	var tag *fieldLocation
	if p.accept("<") {
		tag = p.location(line)
		p.expect(">")
	}
	if !p.is("{") {
		s := p.declared("variant", name, line)
		if s != nil && tag != nil {
			tied := *s
			tied.location, tied.line = tag, line
			return p.measured(&tied)
		}
		return s
	}
	s := &fieldClass{kind: Variant, line: line, align: 1}
	p.members(s)
	s = p.measured(s)
	if name != "" {
		p.declare("variant "+name, s, line) // without its tag: each use has its own
	}
	if tag != nil {
		tied := *s
		tied.location = tag
		s = p.measured(&tied)
	}
	return s
}

// tagged gives a tag to a variant that came by an alias without one.
func (p *tsdlParser) tagged(s *fieldClass, line int) *fieldClass {
	p.expect("<")
	tied := *s
	tied.location, tied.line = p.location(line), line
	p.expect(">")
	return p.measured(&tied)
}
