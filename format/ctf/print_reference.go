package ctf

import "slices"

// namedScope is a dynamic scope under its name in CTF 1.8, such as "stream.event.context".
type namedScope struct {
	name string
	root *Type
}

// openStruct is a structure that is being printed, and how many of its fields precede this point.
type openStruct struct {
	t    *Type
	done int
}

// tagOption is a label that a variant needs of its tag: the name of an option for the values of the ranges.
type tagOption struct {
	label    string
	ranges   []Range
	optional bool // it is the presence of an optional field; all other values mean its absence
}

// collectTags finds the labels that every selector field needs, so that they can be printed with it: the
// enumeration precedes the variant that refers to it.
func (p *printer) collectTags() {
	p.tags = map[int][]tagOption{}
	var walk func(t *Type, depth int)
	walk = func(t *Type, depth int) {
		if t == nil || depth > maxTypeDepth {
			return
		}
		switch t.Kind {
		case Variant:
			names := p.fieldNames(t)
			for i := range t.Fields {
				if i < len(t.Select) {
					p.wantLabel(t.TagSlot, tagOption{label: names[i], ranges: t.Select[i]})
				}
			}
		case Optional:
			if len(t.Select) == 1 {
				p.wantLabel(t.TagSlot, tagOption{label: "_present", ranges: t.Select[0], optional: true})
			}
		}
		for i := range t.Fields {
			walk(t.Fields[i].Type, depth+1)
		}
		walk(t.Elem, depth+1)
	}
	p.m.eachScope(func(t *Type) { walk(t, 0) })
}

// maxTypeDepth limits how deep types may nest. No tracer comes near it.
const maxTypeDepth = 200

func (p *printer) wantLabel(slot int, want tagOption) {
	if slot < 0 {
		return
	}
	for _, o := range p.tags[slot] {
		if o.label == want.label && slices.Equal(o.ranges, want.ranges) {
			return
		}
	}
	p.tags[slot] = append(p.tags[slot], want)
}

// reference returns the path of the field that stores into a slot, as the type at this point of the text refers to it.
func (p *printer) reference(slot int) string {
	if slot < 0 {
		p.fail("length or selector without a field")
		return "none"
	}
	// Outwards through the structures around: the first component of a relative path is looked for in each, and the
	// nearest that has it wins, be it meant or not.
	passed := map[string]bool{}
	for i := len(p.frames) - 1; i >= 0; i-- {
		f := &p.frames[i]
		names := p.fieldNames(f.t)
		for j := f.done - 1; j >= 0; j-- {
			if path, ok := p.find(f.t.Fields[j].Type, slot, names[j], 0); ok && !passed[names[j]] {
				return path
			}
		}
		for _, name := range names[:f.done] {
			passed[name] = true
		}
	}
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if path, ok := p.find(p.scopes[i].root, slot, p.scopes[i].name, 0); ok {
			return path
		}
	}
	p.fail("TSDL cannot refer to the length or selector field from here")
	return "none"
}

// find searches the field of a slot in t, whose own path is given, through structures alone: no path leads into an
// array or a variant.
func (p *printer) find(t *Type, slot int, path string, depth int) (string, bool) {
	if t == nil || depth > maxTypeDepth {
		return "", false
	}
	if t.Slot == slot && t.Kind != Struct {
		return path, true
	}
	if t.Kind == Struct {
		names := p.fieldNames(t)
		for i := range t.Fields {
			if found, ok := p.find(t.Fields[i].Type, slot, path+"."+names[i], depth+1); ok {
				return found, true
			}
		}
	}
	return "", false
}
