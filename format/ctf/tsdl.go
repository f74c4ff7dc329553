package ctf

import (
	"fmt"
	"strings"

	"meridian/trace"
)

// tsdlParser reads TSDL, the language in which CTF 1.8 describes a trace: C's declarations of types, and blocks that say what has
// which. It goes down by recursion, one function for each rule of the grammar, and looks one token ahead. Types are
// bound to names here, as a name means what was declared before it; native byte order and clocks, which may be
// declared later, are bound by resolver, and so are lengths and selectors.
type tsdlParser struct {
	lexer
	tok          token // the next, not yet taken
	err          error // the first; after it there are no more tokens, so that every loop ends
	file         string
	w            *trace.Warnings
	names        *typeScope
	depth        int
	allocated    int
	firstSkipped error                  // of the first skipped declaration
	scalars      map[scalar]*fieldClass // most fields of a trace are one of a dozen integers

	trace   traceDecl
	streams []streamDecl
	events  []eventDecl
	clocks  []Clock
	env     []Env
}

type traceDecl struct {
	there        bool
	line         int
	major, minor uint8
	order        order
	uuid         string
	header       *fieldClass
}

type streamDecl struct {
	line                                     int
	id                                       uint64
	name                                     string
	packetContext, eventHeader, eventContext *fieldClass
}

type eventDecl struct {
	line             int
	class            EventClass
	stream           uint64
	hasID, hasStream bool
	context, payload *fieldClass
}

func (p *tsdlParser) fail(line int, format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s:%d: "+format, append([]any{p.file, line}, args...)...)
	}
	p.tok = token{line: p.tok.line, at: p.tok.at}
}

// advance takes the next token and returns it.
func (p *tsdlParser) advance() token {
	t := p.tok
	if p.err != nil {
		return t
	}
	p.tok = p.next()
	if p.tok.kind == tokenBad {
		p.fail(p.tok.line, "%s", p.tok.text)
	}
	return t
}

func (p *tsdlParser) is(sign string) bool   { return p.tok.kind == tokenSign && p.tok.text == sign }
func (p *tsdlParser) word(name string) bool { return p.tok.kind == tokenName && p.tok.text == name }

// accept takes a sign if it is next.
func (p *tsdlParser) accept(sign string) bool {
	if p.is(sign) {
		p.advance()
		return true
	}
	return false
}

// expect takes a sign that must be next.
func (p *tsdlParser) expect(sign string) {
	if !p.accept(sign) {
		p.fail(p.tok.line, "expected %q, found %s", sign, p.found())
	}
}

// found names the next token in messages.
func (p *tsdlParser) found() string {
	switch p.tok.kind {
	case tokenEnd:
		return "end of file"
	case tokenNumber:
		return fmt.Sprint(p.tok.number)
	}
	return fmt.Sprintf("%.60q", p.tok.text)
}

// name takes a name that must be next.
func (p *tsdlParser) name() string {
	if p.tok.kind != tokenName {
		p.fail(p.tok.line, "expected an identifier, found %s", p.found())
		return ""
	}
	return p.advance().text
}

// optionalName takes a name if it is next.
func (p *tsdlParser) optionalName() string {
	if p.tok.kind != tokenName {
		return ""
	}
	return p.advance().text
}

// allocate counts memory that declarations take and rejects metadata that needs more than maxAllocation.
func (p *tsdlParser) allocate(bytes int) {
	if p.allocated += bytes; p.allocated > maxAllocation {
		p.fail(p.tok.line, "declarations need more than %d MiB", maxAllocation>>20)
	}
}

// typeScope holds the names of types; one declared inside hides one outside.
type typeScope struct {
	outer *typeScope
	names map[string]*fieldClass
}

func (p *tsdlParser) enter() { p.names = &typeScope{outer: p.names} }
func (p *tsdlParser) leave() { p.names = p.names.outer }

func (p *tsdlParser) declare(name string, s *fieldClass, line int) {
	if p.err != nil {
		return
	}
	if p.names.names[name] != nil {
		p.fail(line, "duplicate type %.60q", name)
		return
	}
	if p.names.names == nil {
		p.names.names = map[string]*fieldClass{}
	}
	p.allocate(64)
	p.names.names[name] = s
}

func (p *tsdlParser) lookup(name string) *fieldClass {
	for s := p.names; s != nil; s = s.outer {
		if t := s.names[name]; t != nil {
			return t
		}
	}
	return nil
}

// read reads all declarations. It skips an invalid one with a warning, where the rest means the same
// without it; types that are missing then take only those with them that use them.
func (p *tsdlParser) read() error {
	p.enter()
	top, broken := p.names, 0
	p.advance()
	for {
		for p.accept(";") {
		}
		if p.tok.kind == tokenEnd && p.err == nil {
			return nil
		}
		start := p.tok
		kept := *p
		p.declaration()
		if p.err == nil {
			continue
		}
		err, spent := p.err, p.allocated
		if start.kind == tokenName && (start.text == "trace" || start.text == "clock") {
			return err // every stamp or byte depends on it
		}
		if broken++; broken > maxInvalid || spent > maxAllocation {
			return err
		}
		p.names, p.depth, p.err = top, 0, nil
		if p.firstSkipped == nil {
			p.firstSkipped = err
		}
		p.streams, p.events, p.clocks, p.env = kept.streams, kept.events, kept.clocks, kept.env
		p.w.Gap(p.file, "invalid declaration skipped", strings.TrimPrefix(err.Error(), p.file+":"), 1)
		p.resume(start)
	}
}

// resume goes on behind a declaration that failed: at the semicolon that ends it, or where a line begins with a word
// that starts a declaration if that comes first, for it may be a brace that is damaged.
func (p *tsdlParser) resume(start token) {
	p.at, p.line = start.at, start.line
	margin := start.at == 0 || p.src[start.at-1] == '\n'
	depth := 0
	for first := true; ; first = false {
		t := p.next()
		switch {
		case t.kind == tokenEnd:
			p.tok = t
			return
		case t.kind == tokenBad && p.src[t.at] == tornMark,
			t.kind == tokenSign && t.text == ";" && depth <= 0:
			p.advance()
			return
		case t.kind == tokenName && !first && margin && p.src[t.at-1] == '\n' && startsDeclaration(t.text):
			p.at, p.line = t.at, t.line
			p.advance()
			return
		case t.kind == tokenSign && t.text == "{":
			depth++
		case t.kind == tokenSign && t.text == "}":
			depth--
		}
	}
}

func startsDeclaration(word string) bool {
	switch word {
	case "trace", "env", "clock", "stream", "event", "callsite", "typealias", "typedef", "struct", "enum", "variant":
		return true
	}
	return false
}

// declaration reads one that stands outside all braces.
func (p *tsdlParser) declaration() {
	start := p.tok
	if start.kind == tokenName {
		if block := p.block(start.text); block != nil {
			p.advance()
			p.expect("{")
			p.enter()
			block(start.line)
			p.leave()
			p.expect("}")
			p.semicolon()
			return
		}
	}
	if !p.typeDeclaration() {
		p.specifier(true)
		p.semicolon()
	}
}

// block returns what reads the braces behind a word.
func (p *tsdlParser) block(word string) func(line int) {
	switch word {
	case "trace":
		return p.traceBlock
	case "env":
		return p.envBlock
	case "clock":
		return p.clockBlock
	case "stream":
		return p.streamBlock
	case "event":
		return p.eventBlock
	case "callsite":
		return p.callsiteBlock
	}
	return nil
}

// semicolon takes the end of a declaration; the last one of a file may lack it.
func (p *tsdlParser) semicolon() {
	if p.tok.kind != tokenEnd {
		p.expect(";")
	}
}
