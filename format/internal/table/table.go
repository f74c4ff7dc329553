// Package table makes rows of equal columns of records whose classes have different fields, for formats that are tables.
// In goes a schema, out comes a [Layout]: the columns, and for each record where its values go.
//
//	class sched_switch {prev_tid int, next_tid int}      columns   prev_tid  next_tid  ret
//	class open_exit    {ret int}                         row       17        23        -
//	                                                     row       -         -         3
//
// A field's column is named after it; members of structures and alternatives of choices follow with a dot. Fields of one
// name share a column, whose kind holds all of them: integers with integers are Integer, with other numbers Real, anything
// else is Text. What comes back from a table must be what went in: a value that its column cannot hold exactly, a field
// of a class that was not known in the beginning, and what is beyond the most columns asked for go as JSON into the rest.
//
// The cost is a step for each field of a record; memory is a plan for each class.
package table

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"meridian/trace"
)

// Fixed are the columns that every table has in front of those of fields, and Rest the one behind them.
var Fixed = []string{"time", "time_ns", "low_ns", "high_ns", "recorded_ns", "host", "row", "row_kind", "event", "category",
	"phase", "slice", "flow", "role", "component"}

const Rest = "fields"

// Kind is what a column holds.
type Kind uint8

const (
	unset   Kind = iota
	Boolean      // bool
	Integer      // int64
	Real         // float64
	Text         // text, labels of enumerations, arrays and bytes as people read them
)

// Column is one field of any number of classes.
type Column struct {
	Name string
	Kind Kind
}

// Cell is what a record has for a column; Value is nil where it has nothing.
type Cell struct {
	Value *trace.Value
	Field *trace.Field // the innermost one, whose name is its own
}

// Layout says where fields go.
type Layout struct {
	Columns []Column
	Cells   []Cell // of the record placed last, one for each column
	Rest    []byte // its JSON object of what has no cell; empty if there is nothing

	schema *trace.Schema
	index  map[string]int // from key to column
	plans  []plan         // for each class
	used   []int          // the cells that are to be emptied
}

// plan is where the fields of a class go; those without a column have -1.
type plan []place

type place struct {
	key     string // dotted name, with a mark for a repetition
	json    []byte // the same as the name of a member, with its colon
	column  int
	members []place // Struct, Choice
}

// deepest is how many structures within each other get columns of their own.
const deepest = 8

// New lays out the fields of the classes known so far in at most so many columns: those that most classes have, in
// the order in which classes name them.
func New(l *trace.Schema, most int) *Layout {
	t := &Layout{schema: l, index: make(map[string]int)}
	type wish struct {
		key   string
		kind  Kind
		count int
	}
	var wishes []wish
	met := make(map[string]int)
	for c := range l.Classes {
		p := planOf(l.Classes[c].Fields, "", 0)
		t.plans = append(t.plans, p)
		p.each(l.Classes[c].Fields, func(leaf *place, of *trace.Type) {
			i, ok := met[leaf.key]
			if !ok {
				i = len(wishes)
				met[leaf.key] = i
				wishes = append(wishes, wish{key: leaf.key})
			}
			wishes[i].kind = joined(wishes[i].kind, kindOf(of))
			wishes[i].count++
		})
	}
	chosen := make([]int, len(wishes))
	for i := range chosen {
		chosen[i] = i
	}
	if most < len(chosen) {
		slices.SortStableFunc(chosen, func(a, b int) int { return wishes[b].count - wishes[a].count })
		chosen = chosen[:max(most, 0)]
		slices.Sort(chosen)
	}
	taken := map[string]bool{Rest: true}
	for _, name := range Fixed {
		taken[name] = true
	}
	for _, i := range chosen {
		t.index[wishes[i].key] = len(t.Columns)
		t.Columns = append(t.Columns, Column{Name: unique(wishes[i].key, taken), Kind: wishes[i].kind})
	}
	t.Cells = make([]Cell, len(t.Columns))
	for _, p := range t.plans {
		t.bind(p)
	}
	return t
}

// unique makes a name that no other column has, also for databases that take upper and lower case for equal.
func unique(key string, taken map[string]bool) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(key, string(unicode.ReplacementChar)))
	if name == "" {
		name = "field"
	}
	free := name
	for n := 2; taken[strings.ToLower(free)]; n++ {
		free = name + "_" + strconv.Itoa(n)
	}
	taken[strings.ToLower(free)] = true
	return free
}

// planOf names the leaves of fields. A name that occurs again in one class, as those of a payload do in its context, is
// another key.
func planOf(fields []trace.Field, prefix string, depth int) plan {
	p := make(plan, len(fields))
	met := make(map[string]int, len(fields))
	for i := range fields {
		f := &fields[i]
		key := prefix + f.Name
		if met[f.Name]++; met[f.Name] > 1 {
			key += "_" + strconv.Itoa(met[f.Name])
		}
		p[i] = place{key: key, json: append(AppendString(nil, key), ':'), column: -1}
		if nested(&f.Type) && depth < deepest {
			p[i].members = planOf(f.Type.Fields, key+".", depth+1)
		}
	}
	return p
}

func nested(t *trace.Type) bool { return t.Kind == trace.Struct || t.Kind == trace.Variant }

// each calls yield with every leaf that can have a column.
func (p plan) each(fields []trace.Field, yield func(*place, *trace.Type)) {
	for i := range p {
		switch t := &fields[i].Type; {
		case p[i].members != nil:
			plan(p[i].members).each(t.Fields, yield)
		case !nested(t):
			yield(&p[i], t)
		}
	}
}

// bind finds the leaves' columns.
func (t *Layout) bind(p plan) {
	for i := range p {
		if p[i].members != nil {
			t.bind(p[i].members)
		} else if c, ok := t.index[p[i].key]; ok {
			p[i].column = c
		}
	}
}

func kindOf(t *trace.Type) Kind {
	switch t.Kind {
	case trace.Bool:
		return Boolean
	case trace.Int, trace.Uint:
		if len(t.Labels) > 0 {
			return Text
		}
		return Integer
	case trace.Float:
		return Real
	}
	return Text
}

// joined is the kind that holds both.
func joined(a, b Kind) Kind {
	switch {
	case a == unset || a == b:
		return b
	case a == Text || b == Text || a == Boolean || b == Boolean:
		return Text
	}
	return Real
}

// Place fills Cells and Rest with the values of a record.
func (t *Layout) Place(r *trace.TimelineEvent) {
	for _, c := range t.used {
		t.Cells[c] = Cell{}
	}
	t.used, t.Rest = t.used[:0], t.Rest[:0]
	if r.Class < 0 || r.Class >= len(t.schema.Classes) {
		return
	}
	for len(t.plans) <= r.Class { // a class that came later uses the columns that there are
		p := planOf(t.schema.Classes[len(t.plans)].Fields, "", 0)
		t.bind(p)
		t.plans = append(t.plans, p)
	}
	t.place(t.plans[r.Class], t.schema.Classes[r.Class].Fields, r.Values)
	if len(t.Rest) > 0 {
		t.Rest = append(t.Rest, '}')
	}
}

func (t *Layout) place(p plan, fields []trace.Field, values []trace.Value) {
	for i := range min(len(p), len(fields), len(values)) {
		v, of := &values[i], &fields[i].Type
		switch {
		case v.Kind == trace.None:
		case p[i].members == nil:
			t.put(&p[i], v, &fields[i])
		case v.Kind == trace.Struct:
			t.place(p[i].members, of.Fields, v.Items)
		case v.Kind == trace.Variant:
			if k := v.Bits; k < uint64(len(p[i].members)) && len(v.Items) == 1 {
				// The alternative stands alone among places of its own.
				t.place(p[i].members[k:k+1], of.Fields[k:k+1], v.Items)
			}
		}
	}
}

// put gives a value its cell, or a place in the rest.
func (t *Layout) put(p *place, v *trace.Value, of *trace.Field) {
	if c := p.column; c >= 0 && t.Cells[c].Value == nil && fits(t.Columns[c].Kind, v) {
		t.Cells[c] = Cell{v, of}
		t.used = append(t.used, c)
		return
	}
	if len(t.Rest) == 0 {
		t.Rest = append(t.Rest, '{')
	} else {
		t.Rest = append(t.Rest, ',')
	}
	t.Rest = append(t.Rest, p.json...)
	t.Rest = appendField(t.Rest, v, of)
}

// fits says whether a column gives the value back exactly. What a value is may differ from what its class said, in a
// damaged trace.
func fits(k Kind, v *trace.Value) bool {
	switch k {
	case Boolean:
		return v.Kind == trace.Bool
	case Integer:
		return v.Kind == trace.Int || v.Kind == trace.Uint && v.Bits <= math.MaxInt64
	case Real:
		switch v.Kind {
		case trace.Float:
			return true
		case trace.Int:
			return within(v.Int() == int64(float64(v.Int())), float64(v.Int()))
		case trace.Uint:
			return within(v.Uint() == uint64(float64(v.Uint())), float64(v.Uint()))
		}
		return false
	}
	return true
}

// within holds against conversions at the end of the range, whose result is the machine's own.
func within(same bool, f float64) bool { return same && math.Abs(f) < 1<<63 }

// AppendText appends what a cell shows in a column of texts, and in a table without kinds: numbers in decimal, labels
// for enumerations, addresses as such. Plain says that it is a number or a truth, which no program takes for something else.
func (c Cell) AppendText(b []byte) (text []byte, plain bool) {
	v, t := c.Value, &c.Field.Type
	if a, ok := c.Field.Address(v); ok {
		return a.AppendTo(b), false
	}
	switch v.Kind {
	case trace.Bool:
		return v.Append(b, t), true
	case trace.Int, trace.Uint:
		if label := t.Label(v); label != "" {
			return append(b, label...), false
		}
		if v.Kind == trace.Int {
			return strconv.AppendInt(b, v.Int(), 10), true
		}
		return strconv.AppendUint(b, v.Uint(), 10), true
	case trace.Float:
		return v.Append(b, t), true
	}
	return v.Append(b, t), false
}
