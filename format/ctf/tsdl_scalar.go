package ctf

import (
	"math/bits"
	"strings"
)

var scalarKinds = map[string]Kind{"integer": Integer, "floating_point": Float, "string": CString}

// scalar reads integer {...}, floating_point {...} and string {...}.
func (p *tsdlParser) scalar(line int) *fieldClass {
	what := p.advance().text
	s := &fieldClass{kind: scalarKinds[what], line: line, scalar: scalar{base: 10}}
	if s.kind == CString {
		s.scalar.align, s.scalar.size = 8, 8
	}
	s.scalar.kind = s.kind
	if p.is("{") || s.kind != CString {
		p.expect("{")
		p.enter()
		p.entries(func(e *entry) { p.sizedEntry(s, what, e) })
		p.leave()
		p.expect("}")
	}
	switch c := &s.scalar; {
	case p.err != nil:
	case s.kind == Integer && c.size == 0:
		p.fail(line, "integer without a size")
	case s.kind == Integer && c.align == 0:
		if c.align = 1; c.size%8 == 0 {
			c.align = 8
		}
	case s.kind == Float:
		if c.exponent == 0 || c.mantissa == 0 {
			p.fail(line, "floating_point without exp_dig or mant_dig")
		}
		c.size = c.exponent + c.mantissa
		c.align = max(c.align, 1)
		switch c.size {
		case 16, 32, 64, 80, 96, 128:
		default:
			p.fail(line, "invalid floating_point size of %d bits (16, 32, 64, 80, 96, 128)", c.size)
		}
	}
	if known := p.scalars[s.scalar]; known != nil && p.err == nil {
		return known
	}
	if p.err == nil {
		p.scalars[s.scalar] = s
	}
	return p.measured(s)
}

func (p *tsdlParser) sizedEntry(s *fieldClass, what string, e *entry) {
	c := &s.scalar
	switch what + " " + e.name {
	case "integer size":
		c.size = p.between(e, 1, 64)
	case "integer signed":
		c.signed = p.truth(e)
	case "integer base":
		c.base = p.base(e)
	case "integer map":
		c.clock = p.mapped(e)
	case "integer encoding", "string encoding":
		c.encoding = p.encoding(e)
	case "integer align", "floating_point align":
		c.align = p.alignment(e)
	case "integer byte_order", "floating_point byte_order":
		c.order = p.byteOrder(e)
	case "floating_point exp_dig":
		c.exponent = p.between(e, 1, 30)
	case "floating_point mant_dig":
		c.mantissa = p.between(e, 1, 113)
	default:
		p.unknown(what, e)
	}
}

// alignment returns a number of bits that is a power of two.
func (p *tsdlParser) alignment(e *entry) int {
	n := p.count(e)
	if bits.OnesCount64(n) != 1 || n > 1<<30 {
		p.fail(e.line, "invalid align %d (powers of two up to 2^30)", n)
		return 1
	}
	return int(n)
}

func (p *tsdlParser) base(e *entry) int {
	name := strings.ToLower(e.value.text)
	if e.value.kind == tokenNumber {
		switch e.value.number {
		case 2, 8, 10, 16:
			return int(e.value.number)
		}
		name = strings.ToLower(string(rune(min(e.value.number, 127)))) // 'x'
	}
	switch name {
	case "decimal", "dec", "d", "i", "u":
		return 10
	case "hexadecimal", "hex", "x", "p":
		return 16
	case "octal", "oct", "o":
		return 8
	case "binary", "bin", "b":
		return 2
	}
	p.fail(e.line, "invalid base (2, 8, 10, 16)")
	return 10
}

func (p *tsdlParser) encoding(e *entry) Encoding {
	switch strings.ToLower(p.text(e)) {
	case "none":
		return NoEncoding
	case "utf8", "utf-8":
		return UTF8
	case "ascii":
		return ASCII
	}
	p.fail(e.line, "unknown encoding %.40q (none, UTF8, ASCII)", e.value.text)
	return NoEncoding
}

// mapped returns the clock of clock.NAME.value.
func (p *tsdlParser) mapped(e *entry) string {
	name, begins := strings.CutPrefix(p.text(e), "clock.")
	name, ends := strings.CutSuffix(name, ".value")
	if !begins || !ends || name == "" {
		p.w.Add(p.file, "invalid clock mapping of an integer ignored", e.value.text)
		return ""
	}
	return name
}

// enumeration reads enum NAME : container { labels }; name and container may be missing.
func (p *tsdlParser) enumeration(line int) *fieldClass {
	p.advance()
	name := p.optionalName()
	var in *fieldClass
	if p.accept(":") {
		in = p.specifier(false)
	}
	if !p.is("{") {
		if in != nil {
			p.fail(line, "enumeration without labels")
		}
		return p.declared("enum", name, line)
	}
	if in == nil && p.err == nil {
		if in = p.lookup("int"); in == nil {
			p.fail(line, "enumeration without a container type, and no type \"int\" is declared")
		}
	}
	if p.err == nil && (in.kind != Integer || in.labels != nil) {
		p.fail(line, "container type of an enumeration is not an integer")
	}
	if p.err != nil {
		return nil
	}
	s := &fieldClass{kind: Integer, scalar: in.scalar, line: line, labels: p.enumerators(in.scalar.signed)}
	s = p.measured(s)
	if name != "" {
		p.declare("enum "+name, s, line)
	}
	return s
}

// enumerators reads { a, b = 3, c = 5 ... 9 }. What has no value is one more than the last before it; a label that
// comes again has all its ranges.
func (p *tsdlParser) enumerators(signed bool) []Label {
	labels := []Label{}
	at := map[string]int{}
	next := int64(0)
	p.expect("{")
	for p.err == nil && !p.is("}") {
		line := p.tok.line
		if p.tok.kind != tokenName && p.tok.kind != tokenText {
			p.fail(line, "expected a label, found %s", p.found())
			break
		}
		name := p.advance().text
		r := Range{next, next}
		if p.accept("=") {
			r.Low = p.enumerator(signed)
			r.High = r.Low
			if p.accept("...") {
				r.High = p.enumerator(signed)
			}
		}
		if !signed && uint64(r.Low) > uint64(r.High) || signed && r.Low > r.High {
			p.fail(line, "label %.60q has a range that ends before it begins", name)
		}
		next = r.High + 1
		p.allocate(64)
		if i, again := at[name]; again {
			labels[i].Ranges = append(labels[i].Ranges, r)
		} else {
			at[name] = len(labels)
			labels = append(labels, Label{name, []Range{r}})
			p.allocate(64)
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect("}")
	return labels
}

func (p *tsdlParser) enumerator(signed bool) int64 {
	line := p.tok.line
	v := p.value()
	if v.kind != tokenNumber || !signed && v.negative && v.number > 0 || signed && !v.negative && v.number > 1<<63-1 {
		p.fail(line, "label value out of range of the enumeration")
	}
	return v.signed()
}
