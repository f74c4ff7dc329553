package ctf

import (
	"math/bits"
	"strconv"
	"strings"
)

// word returns a text, "" for anything else.
func (v *jsonValue) word() string {
	if v == nil || v.kind != jsonText {
		return ""
	}
	return v.text
}

func (v *jsonValue) unsigned(name string) (uint64, error) {
	if v == nil {
		return 0, v.fail("%s is missing", name)
	}
	n, err := strconv.ParseUint(v.text, 10, 64)
	if v.kind != jsonNumber || err != nil {
		return 0, v.fail("%s is no whole number from 0 to 2^64", name)
	}
	return n, nil
}

func (v *jsonValue) signed(name string) (int64, error) {
	n, err := strconv.ParseInt(v.text, 10, 64)
	if v.kind != jsonNumber || err != nil {
		return 0, v.fail("%s is no whole number of 64 bits", name)
	}
	return n, nil
}

// root returns the structure that a member of a fragment declares, nil without it.
func (p *fragments) root(v *jsonValue, name string) (*shape, error) {
	c := v.member(name)
	if c == nil {
		return nil, nil
	}
	s, err := p.class(c, v, 0)
	if err == nil && s.kind != Struct {
		err = c.fail("%s is no structure", name)
	}
	return s, err
}

// class reads a field class, or the name of one declared before.
func (p *fragments) class(v, in *jsonValue, depth int) (*shape, error) {
	if v == nil {
		return nil, in.fail("a field class is missing")
	}
	if v.kind == jsonText {
		if s := p.aliases[v.text]; s != nil {
			return s, nil
		}
		return nil, v.fail("the field class %.60q is not declared", v.text)
	}
	if depth > maxDepth {
		return nil, v.fail("field classes are nested deeper than %d", maxDepth)
	}
	s := &shape{line: v.line, align: 1, scalar: scalar{base: 10}}
	if err := p.classOf(s, v.member("type").word(), v, depth); err != nil {
		return nil, err
	}
	if roles := v.member("roles"); roles != nil {
		for _, r := range roles.items {
			s.roles = append(s.roles, r.word())
		}
	}
	s.scalar.kind = s.kind
	if p.spent += 320 + 48*len(s.fields) + 80*len(s.labels); p.spent > maxSpend {
		return nil, v.fail("the field classes need more than %d MiB", maxSpend>>20)
	}
	if !s.measure() {
		return nil, v.fail("a field class is nested deeper than %d or has more than %d parts", maxDepth, maxNodes)
	}
	return s, nil
}

func (p *fragments) classOf(s *shape, kind string, v *jsonValue, depth int) error {
	switch kind {
	case "fixed-length-bit-array", "fixed-length-bit-map":
		s.kind = BitArray
		return s.fixed(v)
	case "fixed-length-boolean":
		s.kind = Boolean
		return s.fixed(v)
	case "fixed-length-unsigned-integer", "fixed-length-unsigned-enumeration":
		s.kind = Integer
		return first(s.fixed(v), s.integer(v))
	case "fixed-length-signed-integer", "fixed-length-signed-enumeration":
		s.kind, s.scalar.signed = Integer, true
		return first(s.fixed(v), s.integer(v))
	case "fixed-length-floating-point-number":
		s.kind = Float
		return first(s.fixed(v), s.float(v))
	case "variable-length-unsigned-integer", "variable-length-unsigned-enumeration":
		s.kind, s.scalar.align, s.scalar.order = VarInt, 8, littleEndian
		return s.integer(v)
	case "variable-length-signed-integer", "variable-length-signed-enumeration":
		s.kind, s.scalar.align, s.scalar.order, s.scalar.signed = VarInt, 8, littleEndian, true
		return s.integer(v)
	case "null-terminated-string":
		s.kind, s.scalar.align, s.scalar.order = CString, 8, littleEndian
		return s.encoded(v)
	case "static-length-string":
		s.kind = TextArray
		return first(s.encoded(v), s.static(v))
	case "dynamic-length-string":
		s.kind = TextSeq
		return first(s.encoded(v), s.located(v, "length-field-location"))
	case "static-length-blob":
		s.kind, s.media = BlobArray, v.member("media-type").word()
		return s.static(v)
	case "dynamic-length-blob":
		s.kind, s.media = BlobSeq, v.member("media-type").word()
		return s.located(v, "length-field-location")
	}
	return p.compound(s, kind, v, depth)
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// compound reads the classes that contain others.
func (p *fragments) compound(s *shape, kind string, v *jsonValue, depth int) (err error) {
	switch kind {
	case "structure":
		s.kind = Struct
		if err = s.aligned(v); err == nil {
			err = p.fields(s, v.member("member-classes"), depth)
		}
	case "variant":
		s.kind, s.choices = Variant, [][]Range{}
		if err = s.located(v, "selector-field-location"); err == nil {
			err = p.fields(s, v.member("options"), depth)
		}
	case "static-length-array", "dynamic-length-array":
		if err = s.aligned(v); err != nil {
			return err
		}
		if s.kind = FixedArray; kind == "dynamic-length-array" {
			s.kind = Sequence
			err = s.located(v, "length-field-location")
		} else {
			err = s.static(v)
		}
		if err == nil {
			s.elem, err = p.class(v.member("element-field-class"), v, depth+1)
		}
	case "optional":
		s.kind = Optional
		if err = s.located(v, "selector-field-location"); err != nil {
			return err
		}
		if ranges := v.member("selector-field-ranges"); ranges != nil {
			set, err := ranges.ranges()
			if err != nil {
				return err
			}
			s.choices = [][]Range{set}
		}
		s.elem, err = p.class(v.member("field-class"), v, depth+1)
	default:
		return v.fail("field classes of type %.60q are not known", kind)
	}
	return err
}

// fields reads the members of a structure or the options of a variant.
func (p *fragments) fields(s *shape, list *jsonValue, depth int) error {
	if list == nil {
		return nil
	}
	for _, v := range list.items {
		c, err := p.class(v.member("field-class"), v, depth+1)
		if err != nil {
			return err
		}
		if s.kind == Variant {
			set, err := v.member("selector-field-ranges").ranges()
			if err != nil {
				return err
			}
			s.choices = append(s.choices, set)
		}
		s.fields = append(s.fields, shapeField{v.member("name").word(), c})
	}
	return nil
}

// alignment returns a member that is a power of two, 1 without it.
func (v *jsonValue) alignment(name string) (int, error) {
	a := v.member(name)
	if a == nil {
		return 1, nil
	}
	n, err := a.unsigned(name)
	if err == nil && (bits.OnesCount64(n) != 1 || n > 1<<30) {
		err = a.fail("%s %d is no power of two up to 2^30", name, n)
	}
	return int(n), err
}

func (s *shape) aligned(v *jsonValue) (err error) {
	s.align, err = v.alignment("minimum-alignment")
	return err
}

func (s *shape) static(v *jsonValue) (err error) {
	s.length, err = v.member("length").unsigned("length")
	return err
}

// fixed reads what all classes of a fixed number of bits have.
func (s *shape) fixed(v *jsonValue) error {
	n, err := v.member("length").unsigned("length")
	if err != nil {
		return err
	}
	if n == 0 || n > 64 && (s.kind != Float || n > 128) {
		return v.fail("a field of %d bits; up to 64 are read, of floating point numbers up to 128", n)
	}
	s.scalar.size = int(n)
	if s.scalar.align, err = v.alignment("alignment"); err != nil {
		return err
	}
	usual := "first-to-last"
	switch v.member("byte-order").word() {
	case "little-endian":
		s.scalar.order = littleEndian
	case "big-endian":
		s.scalar.order, usual = bigEndian, "last-to-first"
	default:
		return v.fail("the byte order is neither big-endian nor little-endian")
	}
	switch order := v.member("bit-order"); order.word() {
	case "first-to-last", "last-to-first":
		s.scalar.reversed = order.text != usual
	default:
		if order != nil {
			return order.fail("the bit order is neither first-to-last nor last-to-first")
		}
	}
	return nil
}

func (s *shape) integer(v *jsonValue) error {
	if b := v.member("preferred-display-base"); b != nil {
		switch n, _ := b.unsigned(""); n {
		case 2, 8, 10, 16:
			s.scalar.base = int(n)
		default:
			return b.fail("the base is none of 2, 8, 10, 16")
		}
	}
	m := v.member("mappings")
	if m == nil || len(m.names) == 0 {
		return nil
	}
	s.labels = make([]Label, 0, len(m.names))
	for i, name := range m.names {
		set, err := m.items[i].ranges()
		if err != nil {
			return err
		}
		s.labels = append(s.labels, Label{name, set})
	}
	return nil
}

func (s *shape) float(v *jsonValue) error {
	switch s.scalar.size {
	case 16:
		s.scalar.exponent = 5
	case 32:
		s.scalar.exponent = 8
	case 64:
		s.scalar.exponent = 11
	case 128:
		s.scalar.exponent = 15
	default:
		return v.fail("a floating point number of %d bits; 16, 32, 64 and 128 are read", s.scalar.size)
	}
	s.scalar.mantissa = s.scalar.size - s.scalar.exponent
	return nil
}

func (s *shape) encoded(v *jsonValue) error {
	c := &s.scalar
	switch e := v.member("encoding"); strings.ToLower(e.word()) {
	case "utf-8", "utf8":
		c.encoding, c.size = UTF8, 8
	case "utf-16be":
		c.encoding, c.size = UTF16BE, 16
	case "utf-16le":
		c.encoding, c.size = UTF16LE, 16
	case "utf-32be":
		c.encoding, c.size = UTF32BE, 32
	case "utf-32le":
		c.encoding, c.size = UTF32LE, 32
	default:
		if e != nil {
			return e.fail("the encoding %.40q is not known", e.text)
		}
		c.encoding, c.size = UTF8, 8
	}
	return nil
}

// ranges reads [[low, high], ...]. Numbers beyond the signed ones stand for the bits of unsigned ones.
func (v *jsonValue) ranges() ([]Range, error) {
	if v == nil || v.kind != jsonArray || len(v.items) == 0 {
		return nil, v.fail("a set of ranges is missing or empty")
	}
	set := make([]Range, len(v.items))
	for i, r := range v.items {
		if r.kind != jsonArray || len(r.items) != 2 {
			return nil, r.fail("a range is no pair of numbers")
		}
		for j, at := range []*int64{&set[i].Low, &set[i].High} {
			n, err := r.items[j].signed("an end of a range")
			if err != nil {
				var u uint64
				if u, err = r.items[j].unsigned("an end of a range"); err != nil {
					return nil, err
				}
				n = int64(u)
			}
			*at = n
		}
	}
	return set, nil
}

// located reads where a length or a selector stands: {"origin": scope, "path": [names]}, or a draft's [scope, names].
func (s *shape) located(v *jsonValue, name string) error {
	at := v.member(name)
	if at == nil {
		return v.fail("%s is missing", name)
	}
	l := &location{scope: inAnyScope, strict: true, line: at.line}
	path := at
	if at.kind == jsonObject {
		path = at.member("path")
		if o := at.member("origin"); o != nil {
			if l.scope = originOf(o.word()); l.scope == inAnyScope {
				return o.fail("the origin %.60q is not known", o.text)
			}
		}
	}
	if path == nil || path.kind != jsonArray {
		return at.fail("%s has no path", name)
	}
	steps := path.items
	if path == at && len(steps) > 1 {
		if l.scope = originOf(steps[0].word()); l.scope != inAnyScope {
			steps = steps[1:]
		}
	}
	for _, x := range steps {
		switch {
		case x.kind == jsonText:
			l.names = append(l.names, x.text)
		case x.kind == jsonNull && len(l.names) > 0:
			l.names = l.names[:len(l.names)-1]
		case x.kind == jsonNull:
			l.up++
		default:
			return x.fail("a step of a path is neither a name nor null")
		}
	}
	if len(l.names) == 0 || l.up > 0 && l.scope != inAnyScope {
		return at.fail("the path of %s leads nowhere", name)
	}
	s.place = l
	return nil
}

func originOf(name string) dynamicScope {
	switch name {
	case "packet-header":
		return inPacketHeader
	case "packet-context":
		return inPacketContext
	case "event-record-header":
		return inEventHeader
	case "event-record-common-context":
		return inStreamEventContext
	case "event-record-specific-context":
		return inEventContext
	case "event-record-payload":
		return inEventPayload
	}
	return inAnyScope
}
