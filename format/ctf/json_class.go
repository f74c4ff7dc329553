package ctf

import "strconv"

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
		return 0, v.fail("%s is not an integer from 0 to 2^64-1", name)
	}
	return n, nil
}

func (v *jsonValue) signed(name string) (int64, error) {
	n, err := strconv.ParseInt(v.text, 10, 64)
	if v.kind != jsonNumber || err != nil {
		return 0, v.fail("%s is not a signed 64-bit integer", name)
	}
	return n, nil
}

// root returns the structure that a member of a fragment declares, nil without it.
func (p *fragmentParser) root(v *jsonValue, name string) (*fieldClass, error) {
	c := v.member(name)
	if c == nil {
		return nil, nil
	}
	s, err := p.class(c, v, 0)
	if err == nil && s.kind != Struct {
		err = c.fail("%s is not a structure field class", name)
	}
	return s, err
}

// class reads a field class, or the name of one declared before.
func (p *fragmentParser) class(v, in *jsonValue, depth int) (*fieldClass, error) {
	if v == nil {
		return nil, in.fail("missing field class")
	}
	if v.kind == jsonText {
		if s := p.aliases[v.text]; s != nil {
			return s, nil
		}
		return nil, v.fail("undeclared field class alias %.60q", v.text)
	}
	if depth > maxDepth {
		return nil, v.fail("field classes nested deeper than %d levels", maxDepth)
	}
	s := &fieldClass{line: v.line, align: 1, scalar: scalar{base: 10}}
	if err := p.classOf(s, v.member("type").word(), v, depth); err != nil {
		return nil, err
	}
	if roles := v.member("roles"); roles != nil {
		for _, r := range roles.items {
			s.roles = append(s.roles, r.word())
		}
	}
	s.scalar.kind = s.kind
	if p.allocated += 320 + 48*len(s.fields) + 80*len(s.labels); p.allocated > maxAllocation {
		return nil, v.fail("field classes need more than %d MiB", maxAllocation>>20)
	}
	if !s.measure() {
		return nil, v.fail("field class nested deeper than %d levels or with more than %d members", maxDepth, maxNodes)
	}
	return s, nil
}

func (p *fragmentParser) classOf(s *fieldClass, kind string, v *jsonValue, depth int) error {
	switch kind {
	case "fixed-length-bit-array", "fixed-length-bit-map":
		s.kind = BitArray
		return s.fixed(v)
	case "fixed-length-boolean":
		s.kind = Boolean
		return s.fixed(v)
	case "fixed-length-unsigned-integer", "fixed-length-unsigned-enumeration":
		s.kind = Integer
		return firstError(s.fixed(v), s.integer(v))
	case "fixed-length-signed-integer", "fixed-length-signed-enumeration":
		s.kind, s.scalar.signed = Integer, true
		return firstError(s.fixed(v), s.integer(v))
	case "fixed-length-floating-point-number":
		s.kind = Float
		return firstError(s.fixed(v), s.float(v))
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
		return firstError(s.encoded(v), s.static(v))
	case "dynamic-length-string":
		s.kind = TextSeq
		return firstError(s.encoded(v), s.located(v, "length-field-location"))
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
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// compound reads the classes that contain others.
func (p *fragmentParser) compound(s *fieldClass, kind string, v *jsonValue, depth int) (err error) {
	switch kind {
	case "structure":
		s.kind = Struct
		if err = s.aligned(v); err == nil {
			err = p.fields(s, v.member("member-classes"), depth)
		}
	case "variant":
		s.kind, s.selectors = Variant, [][]Range{}
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
			s.selectors = [][]Range{set}
		}
		s.elem, err = p.class(v.member("field-class"), v, depth+1)
	default:
		return v.fail("unknown field class type %.60q", kind)
	}
	return err
}

// fields reads the members of a structure or the options of a variant.
func (p *fragmentParser) fields(s *fieldClass, list *jsonValue, depth int) error {
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
			s.selectors = append(s.selectors, set)
		}
		s.fields = append(s.fields, memberClass{v.member("name").word(), c})
	}
	return nil
}
