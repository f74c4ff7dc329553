package ctf

import (
	"fmt"
	"strings"
)

// resolver makes types of field classes: it binds native byte order and clocks, finds the fields in which lengths and
// selectors stand, and gives those slots.
//
// A field is searched outwards: in the structure around the field that refers to it, as far as it is declared there, then in
// the one around that, up to the root; then in the other structures of the event and its packet, the nearest before
// first. While a structure is made, its Type has only the fields before the one that is being made, so that what is
// found is what a reader has decoded already.
//
// Equal types are shared: most fields of a trace are one of a dozen integers. One that is given a
// slot or a role is copied for its field first.
type resolver struct {
	m          *Metadata
	file       string
	bigEndian  bool // big-endian
	exactNames bool // CTF 2: names are what they are
	clocks     map[string]int
	roots      [dynamicScopes]resolvedClass // what is complete of the event being resolved
	scope      dynamicScope                 // what is being made
	enclosing  []resolvedClass              // the structures around the place, outermost first
	shared     map[scalar]*Type
	names      map[string]string
	labels     map[*Label]map[string][]Range // of enumerations that select, by their first label
	slots      int
	merged     map[int]int // slots that turned out to be another
	allocated  int
	steps      int // of searching
	// role gives a field its role, by its scope and name or, in CTF 2, by its class.
	role func(r *resolver, s *fieldClass, t *Type, name string) *Type
}

// resolvedClass is a type with the field class it came from, whose names still have their underscores.
type resolvedClass struct {
	t     *Type
	class *fieldClass
}

func (r *resolver) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: "+format, append([]any{r.file, line}, args...)...)
}

// root makes the type of one of the dynamic scopes and keeps it for those that refer to it.
func (r *resolver) root(scope dynamicScope, s *fieldClass) (*Type, error) {
	r.roots[scope] = resolvedClass{}
	if s == nil {
		return nil, nil
	}
	r.scope, r.enclosing = scope, r.enclosing[:0]
	t, err := r.make(s)
	if err != nil {
		return nil, err
	}
	r.roots[scope] = resolvedClass{t, s}
	return t, nil
}

// forget drops the roots from a scope on, before those of another stream or event are made.
func (r *resolver) forget(from dynamicScope) {
	for i := from; i < dynamicScopes; i++ {
		r.roots[i] = resolvedClass{}
	}
}

func (r *resolver) make(s *fieldClass) (*Type, error) {
	switch s.kind {
	case Struct:
		return r.structure(s)
	case Variant:
		return r.variant(s)
	case FixedArray, Sequence, Optional:
		return r.container(s)
	case TextArray, BlobArray, TextSeq, BlobSeq:
		return r.octets(s)
	}
	return r.scalar(s)
}

// scalar returns the type of a value by itself, shared with all that look the same.
func (r *resolver) scalar(s *fieldClass) (*Type, error) {
	if s.resolved != nil {
		return s.resolved, nil
	}
	key := s.scalar
	if key.order == nativeOrder {
		key.order = littleEndian
		if r.bigEndian {
			key.order = bigEndian
		}
	}
	t := r.shared[key]
	if t != nil && s.labels == nil {
		return t, nil
	}
	clock := -1
	if key.clock != "" {
		i, ok := r.clocks[key.clock]
		if !ok {
			return nil, r.errorf(s.line, "undeclared clock %.60q", key.clock)
		}
		clock = i
	}
	t, err := r.new(s)
	if err != nil {
		return nil, err
	}
	t.Size, t.Align, t.BigEndian, t.Reversed = key.size, max(key.align, 1), key.order == bigEndian, key.reversed
	t.Signed, t.Base, t.Encoding, t.Clock = key.signed, key.base, key.encoding, clock
	t.Exponent, t.Mantissa, t.Labels = key.exponent, key.mantissa, s.labels
	for i := range t.Labels {
		t.Labels[i].Name = r.own(t.Labels[i].Name)
	}
	if s.labels != nil {
		s.resolved = t
	} else {
		r.shared[key] = t
	}
	return t, nil
}

// own returns a copy of a name, one of all that are equal: a part of the text would keep all of the text in memory.
func (r *resolver) own(name string) string {
	if own, ok := r.names[name]; ok {
		return own
	}
	if r.names == nil {
		r.names = make(map[string]string)
	}
	own := strings.Clone(name)
	r.names[own] = own
	return own
}

// new returns an empty type, as long as there is memory for it.
func (r *resolver) new(s *fieldClass) (*Type, error) {
	if r.allocated += 272 + 24*len(s.fields); r.allocated > maxAllocation {
		return nil, r.errorf(s.line, "field classes need more than %d MiB", maxAllocation>>20)
	}
	return &Type{Kind: s.kind, Align: 1, Base: 10, Clock: -1, Slot: -1, LengthSlot: -1, TagSlot: -1,
		MediaType: s.media}, nil
}

func (r *resolver) structure(s *fieldClass) (*Type, error) {
	t, err := r.new(s)
	if err != nil {
		return nil, err
	}
	t.Align = max(s.align, 1)
	t.Fields = make([]Field, 0, len(s.fields))
	r.enclosing = append(r.enclosing, resolvedClass{t, s})
	for i := range s.fields {
		if err := r.member(t, s, i); err != nil {
			return nil, err
		}
		t.Align = max(t.Align, t.Fields[i].Type.Align)
	}
	r.enclosing = r.enclosing[:len(r.enclosing)-1]
	return t, nil
}

// member makes the i-th field of a structure or a variant.
func (r *resolver) member(t *Type, s *fieldClass, i int) error {
	f := &s.fields[i]
	ft, err := r.make(f.class)
	if err != nil {
		return err
	}
	if r.role != nil {
		ft = r.role(r, f.class, ft, f.name)
	}
	name := f.name
	if !r.exactNames {
		name = strings.TrimPrefix(name, "_")
	}
	t.Fields = append(t.Fields, Field{r.own(name), ft})
	return nil
}

func (r *resolver) variant(s *fieldClass) (*Type, error) {
	t, err := r.new(s)
	if err != nil {
		return nil, err
	}
	if s.location == nil {
		return nil, r.errorf(s.line, "variant without a tag")
	}
	tags, err := r.find(s.location, "selector")
	if err != nil {
		return nil, err
	}
	t.TagSlot, t.TagSigned = r.slot(tags), (*tags[0]).Signed
	if t.Select = s.selectors; t.Select == nil {
		if t.Select, err = r.labelled(s, *tags[0]); err != nil {
			return nil, err
		}
	}
	t.Fields = make([]Field, 0, len(s.fields))
	for i := range s.fields {
		if err := r.member(t, s, i); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// labelled returns for each option of a variant the values of the tag that have its name. An option whose name the tag
// lacks is never selected.
func (r *resolver) labelled(s *fieldClass, tag *Type) ([][]Range, error) {
	if tag.Labels == nil {
		return nil, r.errorf(s.location.line, "selector %.60q is not an enumeration", strings.Join(s.location.names, "."))
	}
	if len(tag.Labels) == 0 {
		return make([][]Range, len(s.fields)), nil
	}
	at := r.labels[&tag.Labels[0]]
	if at == nil {
		at = make(map[string][]Range, len(tag.Labels))
		for i := range tag.Labels {
			at[tag.Labels[i].Name] = tag.Labels[i].Ranges
		}
		r.allocated += 64 * len(tag.Labels)
		r.labels[&tag.Labels[0]] = at
	}
	r.allocated += 24 * len(s.fields)
	chosen := make([][]Range, len(s.fields))
	for i := range s.fields {
		for _, n := range spellings(s.fields[i].name) {
			if chosen[i] = at[n]; chosen[i] != nil {
				break
			}
		}
	}
	return chosen, nil
}

// spellings returns a name as it is, then without and with the underscore that guards it against keywords:
// references may have either.
func spellings(n string) []string {
	return []string{n, strings.TrimPrefix(n, "_"), "_" + n}
}

// container makes what holds another type some times over.
func (r *resolver) container(s *fieldClass) (*Type, error) {
	t, err := r.new(s)
	if err != nil {
		return nil, err
	}
	switch {
	case s.kind == FixedArray:
		t.Length = s.length
	case s.location.scope == inEnvironment:
		if t.Length, err = r.constant(s.location); err != nil {
			return nil, err
		}
		t.Kind = FixedArray
	case s.kind == Sequence:
		targets, err := r.find(s.location, "length")
		if err != nil {
			return nil, err
		}
		t.LengthSlot = r.slot(targets)
	default:
		targets, err := r.find(s.location, "selector")
		if err != nil {
			return nil, err
		}
		t.TagSlot, t.TagSigned, t.Select = r.slot(targets), (*targets[0]).Signed, s.selectors
		if s.selectors == nil { // any bit
			t.TagSigned, t.Select = false, [][]Range{{{1, -1}}}
			if k := (*targets[0]).Kind; k != Boolean {
				return nil, r.errorf(s.line, "optional field class without selector-field-ranges, whose selector is not a boolean")
			}
		}
	}
	if t.Elem, err = r.make(s.elem); err != nil {
		return nil, err
	}
	if s.kind == Optional && r.role != nil {
		t.Elem = r.role(r, s.elem, t.Elem, "")
	}
	if s.kind != Optional { // what may be absent cannot move what comes after it
		t.Align = max(s.align, t.Elem.Align)
	}
	return t, nil
}

// constant returns a length that stands in the environment.
func (r *resolver) constant(l *fieldLocation) (uint64, error) {
	for i := range r.m.Env {
		if e := &r.m.Env[i]; e.Name == strings.Join(l.names, ".") && !e.IsText && e.Number >= 0 {
			return uint64(e.Number), nil
		}
	}
	return 0, r.errorf(l.line, "no non-negative integer %.60q in the environment for a length", strings.Join(l.names, "."))
}

// run makes bytes in a row: text or a blob.
func (r *resolver) octets(s *fieldClass) (*Type, error) {
	t, err := r.new(s)
	if err != nil {
		return nil, err
	}
	t.Align, t.Length, t.Encoding, t.Size = 8, s.length, s.scalar.encoding, 8
	if s.kind == TextSeq || s.kind == BlobSeq {
		targets, err := r.find(s.location, "length")
		if err != nil {
			return nil, err
		}
		t.LengthSlot = r.slot(targets)
	}
	return t, nil
}
