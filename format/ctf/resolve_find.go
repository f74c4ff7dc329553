package ctf

import (
	"slices"
	"strings"
)

// maxSteps bounds the time that searching takes, which in hostile metadata grows with the square of its length.
const maxSteps = 1 << 28

// find returns the fields that a location may mean, as pointers to their types. There is more than one where a
// variant leads there; a reader meets one of them.
func (r *resolver) find(l *fieldLocation, what string) ([]**Type, error) {
	if r.allocated += 1024; r.allocated > maxAllocation || r.steps > maxSteps { // a copy and a slot
		return nil, r.errorf(l.line, "field classes need more than %d MiB or take too long to resolve", maxAllocation>>20)
	}
	path := strings.Join(l.names, ".")
	targets := r.search(l)
	if len(targets) == 0 {
		return nil, r.errorf(l.line, "invalid field reference: %s %.60q is not an earlier field", what, path)
	}
	for _, t := range targets {
		switch (*t).Kind {
		case Integer, VarInt, Boolean, BitArray:
		default:
			return nil, r.errorf(l.line, "invalid field reference: %s %.60q is not an integer", what, path)
		}
		if (*t).Signed != (*targets[0]).Signed {
			return nil, r.errorf(l.line, "invalid field reference: %s %.60q may be signed or unsigned", what, path)
		}
	}
	return targets, nil
}

// slot returns the one slot of the fields that a location may mean.
func (r *resolver) slot(targets []**Type) int {
	slot := -1
	for _, t := range targets {
		if slot = (*t).Slot; slot >= 0 {
			break
		}
	}
	if slot < 0 {
		slot = r.slots
		r.slots++
	}
	for _, t := range targets {
		switch old := (*t).Slot; {
		case old == slot:
			continue
		case old >= 0:
			if r.merged == nil {
				r.merged = map[int]int{}
			}
			r.merged[old] = slot // others read it under its old number
		}
		own := **t
		own.Slot = slot
		*t = &own
	}
	return slot
}

// renumberSlots gives merged slots one number.
func (r *resolver) renumberSlots() {
	if r.merged == nil {
		return
	}
	settled := func(s *int) {
		for range len(r.merged) { // no chain is longer
			to, ok := r.merged[*s]
			if !ok {
				return
			}
			*s = to
		}
	}
	var visit func(t *Type)
	visit = func(t *Type) {
		if t == nil {
			return
		}
		settled(&t.Slot)
		settled(&t.LengthSlot)
		settled(&t.TagSlot)
		for i := range t.Fields {
			visit(t.Fields[i].Type)
		}
		visit(t.Elem)
	}
	r.m.eachScope(visit)
}

func (r *resolver) search(l *fieldLocation) []**Type {
	switch {
	case l.scope == r.scope:
		return r.descend(r.enclosing[0], l.names, l.strict)
	case l.scope < dynamicScopes:
		return r.descend(r.roots[l.scope], l.names, l.strict)
	case l.scope != inAnyScope:
		return nil
	case l.strict:
		if i := len(r.enclosing) - 1 - l.up; i >= 0 {
			return r.descend(r.enclosing[i], l.names, true)
		}
		return nil
	}
	for _, n := range slices.Backward(r.enclosing) {
		if found := r.descend(n, l.names, false); found != nil {
			return found
		}
	}
	for scope := r.scope - 1; scope >= 0; scope-- {
		if found := r.descend(r.roots[scope], l.names, false); found != nil {
			return found
		}
	}
	return nil
}

// descend goes from a structure down by names. Strict, as in CTF 2, names are exact, and what is optional or one of a
// variant's is passed through to all that it can be.
func (r *resolver) descend(n resolvedClass, names []string, strict bool) []**Type {
	if n.t == nil {
		return nil
	}
	switch {
	case n.t.Kind == Struct, n.t.Kind == Variant && !strict:
		i := r.field(n.class.fields[:min(len(n.t.Fields)+1, len(n.class.fields))], names[0], strict)
		switch {
		case i < 0:
			return nil
		case i == len(n.t.Fields): // the one being made: go on at the structure within it
			k := slices.IndexFunc(r.enclosing, func(c resolvedClass) bool { return c.t == n.t })
			if k < 0 || k+1 >= len(r.enclosing) || len(names) == 1 {
				return nil
			}
			return r.descend(r.enclosing[k+1], names[1:], strict)
		case len(names) == 1:
			return r.leaves(&n.t.Fields[i].Type, strict)
		}
		return r.descend(resolvedClass{n.t.Fields[i].Type, n.class.fields[i].class}, names[1:], strict)
	case n.t.Kind == Variant:
		var found []**Type
		for i := range n.t.Fields {
			found = append(found, r.descend(resolvedClass{n.t.Fields[i].Type, n.class.fields[i].class}, names, strict)...)
		}
		return found
	case n.t.Kind == Optional && strict:
		return r.descend(resolvedClass{n.t.Elem, n.class.elem}, names, strict)
	}
	return nil
}

// leaves returns the fields that can end a location.
func (r *resolver) leaves(at **Type, strict bool) []**Type {
	r.steps++
	switch t := *at; {
	case t.Kind == Optional && strict:
		return r.leaves(&t.Elem, strict)
	case t.Kind == Variant && strict:
		var found []**Type
		for i := range t.Fields {
			found = append(found, r.leaves(&t.Fields[i].Type, strict)...)
		}
		return found
	}
	return []**Type{at}
}

// field returns the index of a field by name, -1 without one.
func (r *resolver) field(fields []memberClass, name string, exact bool) int {
	r.steps += len(fields)
	for i := range fields {
		if fields[i].name == name {
			return i
		}
	}
	if exact {
		return -1
	}
	for _, like := range spellings(name)[1:] {
		for i := range fields {
			if fields[i].name == like {
				return i
			}
		}
	}
	return -1
}
