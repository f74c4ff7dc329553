package ctf

import (
	"strings"

	"meridian/trace"
)

// restorer restores the values that a [Writer] was given from those in its trace: lengths, selectors and
// presences are removed, and so are the structures around them and their value; context fields that had to
// stand in the payload go behind the other context fields.
type restorer struct {
	fields  restoration
	context int // the index of the field that holds context fields, or -1
	values  []trace.Value
}

// restoration says how to restore the values of one type.
type restoration struct {
	drop     bool // the value only says something of the next
	boolean  bool // an enumeration of false and true
	optional bool // a variant of absent and present
	wrapped  bool // a structure around one value
	needed   bool // something is to be done, here or below
	items    []restoration
}

// newRestorer returns the class that a Writer was given for one of its trace, and the restorer of its values;
// nil if they are what they were.
func newRestorer(c trace.Class) (trace.Class, *restorer) {
	r := &restorer{context: -1}
	n := len(c.Fields) - c.Context
	if n > 0 && c.Fields[n-1].Name == "_context" && c.Fields[n-1].Type.Kind == trace.Struct {
		r.context = n - 1
	}
	made := c
	made.Fields, made.Context = nil, 0
	own, back := restoreFields(c.Fields)
	r.fields = back
	if !back.needed && r.context < 0 {
		return c, nil
	}
	var last []trace.Field
	next := 0
	for i := range c.Fields {
		if back.items[i].drop {
			continue
		}
		f := own[next]
		next++
		if i == r.context {
			last = f.Type.Fields
			continue
		}
		made.Fields = append(made.Fields, f)
		if i >= n {
			made.Context++
		}
	}
	made.Fields = append(made.Fields, last...)
	made.Context += len(last)
	return made, r
}

// restore restores the values of one event. It changes them in place, so call it once; the result is valid until
// the next event.
func (r *restorer) restore(values []trace.Value) []trace.Value {
	if r == nil {
		return values
	}
	if r.context < 0 || r.context >= len(values) {
		return restoreItems(r.fields.items, values)
	}
	last := values[r.context]
	r.fields.items[r.context].restore(&last)
	r.values = append(r.values[:0], restoreItems(r.fields.items[:r.context], values[:r.context])...)
	r.values = append(r.values, restoreItems(r.fields.items[r.context+1:], values[r.context+1:])...)
	r.values = append(r.values, last.Items...)
	return r.values
}

// restoreFields returns the fields that the Writer was given, and how to restore each of those that are in the trace.
func restoreFields(fields []trace.Field) ([]trace.Field, restoration) {
	var own []trace.Field
	back := restoration{items: make([]restoration, len(fields))}
	for i := 0; i < len(fields); i++ {
		about := i + 1
		if about < len(fields) && isHelperOf(&fields[i], &fields[about]) {
			back.items[i], back.needed = restoration{drop: true, needed: true}, true
			if strings.HasSuffix(fields[i].Name, "_present") {
				f := fields[about]
				present := f.Type.Fields[1].Type
				var there restoration
				f.Type, there = restoreType(&present)
				back.items[about] = restoration{optional: true, needed: true, items: []restoration{there}}
				own = append(own, f)
				i++
				continue
			}
			i++
		}
		f := fields[i]
		f.Type, back.items[i] = restoreType(&fields[i].Type)
		back.needed = back.needed || back.items[i].needed
		own = append(own, f)
	}
	return own, back
}

// isHelperOf reports whether a field is the length, the selector or the presence of the next.
func isHelperOf(f, next *trace.Field) bool {
	what, ok := strings.CutPrefix(f.Name, "_"+next.Name+"_")
	if !ok || f.Type.Kind != trace.Uint {
		return false
	}
	switch what {
	case "length":
		return next.Type.Kind == trace.Array || next.Type.Kind == trace.Bytes
	case "tag":
		return next.Type.Kind == trace.Variant
	case "present":
		return next.Type.Kind == trace.Variant && len(next.Type.Fields) == 2 && next.Type.Fields[0].Name == "absent"
	}
	return false
}

func restoreType(t *trace.Type) (trace.Type, restoration) {
	own := *t
	var back restoration
	switch t.Kind {
	case trace.Uint:
		if l := t.Labels; t.Bits == 8 && len(l) == 2 && l[0] == (trace.Label{Name: "false"}) && l[1] == (trace.Label{Name: "true", Low: 1, High: 1}) {
			return trace.Type{Kind: trace.Bool}, restoration{boolean: true, needed: true}
		}
	case trace.Struct:
		own.Fields, back = restoreFields(t.Fields)
		if len(t.Fields) == 2 && len(own.Fields) == 1 && own.Fields[0].Name == "value" {
			return own.Fields[0].Type, restoration{wrapped: true, needed: true, items: back.items[1:]}
		}
	case trace.Variant:
		own.Fields = make([]trace.Field, len(t.Fields))
		back.items = make([]restoration, len(t.Fields))
		for i := range t.Fields {
			own.Fields[i].Name = t.Fields[i].Name
			own.Fields[i].Type, back.items[i] = restoreType(&t.Fields[i].Type)
			back.needed = back.needed || back.items[i].needed
		}
	case trace.Array:
		if t.Elem != nil {
			elem, part := restoreType(t.Elem)
			own.Elem, back.items, back.needed = &elem, []restoration{part}, part.needed
		}
	}
	return own, back
}

// restoreItems restores the values of a structure, in place.
func restoreItems(parts []restoration, items []trace.Value) []trace.Value {
	kept := items[:0]
	for i := range items {
		v := items[i]
		if i < len(parts) {
			if parts[i].drop {
				continue
			}
			parts[i].restore(&v)
		}
		kept = append(kept, v)
	}
	return kept
}

func (r *restoration) restore(v *trace.Value) {
	if !r.needed {
		return
	}
	switch {
	case r.boolean:
		if v.Kind == trace.Uint {
			v.Kind = trace.Bool
		}
	case r.optional:
		if v.Kind != trace.Variant || v.Bits != 1 || len(v.Items) != 1 {
			*v = trace.Value{}
			return
		}
		*v = v.Items[0]
		r.items[0].restore(v)
	case r.wrapped:
		if v.Kind != trace.Struct || len(v.Items) != 2 {
			return // cut short
		}
		*v = v.Items[1]
		r.items[0].restore(v)
	case v.Kind == trace.Struct:
		v.Items = restoreItems(r.items, v.Items)
	case v.Kind == trace.Array:
		for i := range v.Items {
			r.items[0].restore(&v.Items[i])
		}
	case v.Kind == trace.Variant:
		if v.Bits < uint64(len(r.items)) && len(v.Items) == 1 {
			r.items[v.Bits].restore(&v.Items[0])
		}
	}
}
