package filter

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"meridian/trace"
)

// Condition is a comparison of a field with a value: FIELD OP VALUE.
type Condition struct {
	Field string // its name; a.b for what lies within a structure
	Op    string // = != < <= > >= ~ !~
	Value string
	text  []byte
	exact *big.Rat // the value, if it is a number
	match *regexp.Regexp
}

// String writes the condition as it can be read again.
func (c *Condition) String() string {
	if strings.HasSuffix(c.Field, "!") || strings.HasPrefix(c.Value, "=") { // together with the operator they would be another one
		return c.Field + " " + c.Op + " " + c.Value
	}
	return c.Field + c.Op + c.Value
}

// operators, longer ones before those that they begin with.
var operators = []string{"!=", "!~", "<=", ">=", "==", "=", "<", ">", "~"}

// ParseCondition reads a condition such as "pid=1234", "comm~^nginx", "len >= 1500". An event without the field does not
// fulfil it, whatever the operator.
func ParseCondition(s string) (Condition, error) {
	at, op := len(s), ""
	for _, o := range operators {
		if i := strings.Index(s, o); i > 0 && i < at {
			at, op = i, o
		}
	}
	field := strings.TrimSpace(s[:at])
	if slices.ContainsFunc(operators, func(o string) bool { return strings.HasPrefix(field, o) }) { // "=a=b": a name does not begin so
		field = ""
	}
	if op == "" || field == "" {
		return Condition{}, fmt.Errorf("invalid condition %q; want FIELD=VALUE or another operator of != < <= > >= ~ !~", s)
	}
	c := Condition{Field: field, Op: op, Value: strings.TrimSpace(s[at+len(op):])}
	if err := c.misspelt(s); err != nil {
		return c, err
	}
	if c.Op == "==" {
		c.Op = "="
	}
	c.text = []byte(c.Value)
	switch c.Op {
	case "~", "!~":
		m, err := regexp.Compile(c.Value)
		if err != nil {
			return c, fmt.Errorf("condition %q: %w", s, err)
		}
		c.match = m
	default:
		c.exact = number(c.Value)
		if c.exact == nil && c.Op != "=" && c.Op != "!=" {
			return c, fmt.Errorf("condition %q: %s compares numbers, and %q is not a number", s, c.Op, c.Value)
		}
	}
	return c, nil
}

// misspelt returns an error for what other languages or a slip write for an operator, such as "=>": read as "=", it would compare with the
// text ">3", which no number equals. Texts like <idle> may be compared with.
func (c *Condition) misspelt(s string) error {
	if c.Op != "=" && c.Op != "==" && c.Op != "!=" || c.Value == "" {
		return nil
	}
	instead := map[byte]string{'>': ">=", '<': "<=", '!': "!=", '=': "=", '~': "~"}[c.Value[0]]
	if c.Op == "!=" {
		instead = map[byte]string{'=': "!=", '~': "!~"}[c.Value[0]]
	}
	rest := strings.TrimSpace(c.Value[1:])
	if instead == "" || c.Value[0] != '~' && number(rest) == nil {
		return nil
	}
	return fmt.Errorf("condition %q: unknown operator %s%c; write %s%s%s", s, c.Op, c.Value[0], c.Field, instead, rest)
}

// maxNumber is how many characters of a fraction or a power are read as a number.
const maxNumber = 40

// number reads a number as people write fields: decimal, 0x and 0b, fractions and exponents. Huge exponents are none: a
// number of a million digits compares like text.
func number(s string) *big.Rat {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return new(big.Rat).SetInt64(n)
	}
	if n, err := strconv.ParseUint(s, 0, 64); err == nil {
		return new(big.Rat).SetInt(new(big.Int).SetUint64(n))
	}
	if _, err := strconv.ParseFloat(s, 64); err != nil || len(s) > maxNumber {
		return nil
	}
	if r, ok := new(big.Rat).SetString(s); ok { // not of NaN and infinities
		return r
	}
	return nil
}

// fieldPath is the way to a field: an index at each depth; nil for a field that the class does not have. Through a variant
// the alternative must be the right one.
type fieldPath []int

// find looks a field up by its name, dots leading into structures and variants. A name that itself has dots is found too.
func find(fields []trace.Field, name string) fieldPath {
	for i := range fields {
		if fields[i].Name == name {
			return fieldPath{i}
		}
	}
	for i := range fields {
		rest, ok := strings.CutPrefix(name, fields[i].Name+".")
		if !ok {
			continue
		}
		if inner := find(fields[i].Type.Fields, rest); inner != nil {
			return append(fieldPath{i}, inner...)
		}
	}
	// Alternatives of a variant may be passed over: network_header.ttl for network_header.ipv4.ttl.
	for i := range fields {
		t := &fields[i].Type
		if t.Kind != trace.Variant {
			continue
		}
		rest, ok := strings.CutPrefix(name, fields[i].Name+".")
		if !ok {
			continue
		}
		for k := range t.Fields {
			if inner := find(t.Fields[k].Type.Fields, rest); inner != nil {
				return append(fieldPath{i, k}, inner...)
			}
		}
	}
	return nil
}

// of returns the field's value and type in an event, nil where it is absent. The path was found in the same fields, the
// values may be anything.
func (p fieldPath) of(fields []trace.Field, values []trace.Value) (*trace.Value, *trace.Type) {
	if len(p) == 0 || p[0] >= len(values) {
		return nil, nil
	}
	v, t := &values[p[0]], &fields[p[0]].Type
	for _, i := range p[1:] {
		switch v.Kind {
		case trace.Struct:
			if i >= len(v.Items) {
				return nil, nil
			}
			v, t = &v.Items[i], &t.Fields[i].Type
		case trace.Variant:
			if v.Bits != uint64(i) || len(v.Items) != 1 {
				return nil, nil
			}
			v, t = &v.Items[0], &t.Fields[i].Type
		default:
			return nil, nil
		}
	}
	if v.Kind == trace.Variant && len(v.Items) == 1 && v.Bits < uint64(len(t.Fields)) {
		v, t = &v.Items[0], &t.Fields[v.Bits].Type
	}
	if v.Kind == trace.None {
		return nil, nil
	}
	return v, t
}

// holds reports whether an event fulfils all conditions.
func (f *Filter) holds(c *class, r *trace.TimelineEvent) bool {
	for i := range f.o.Where {
		v, t := c.conditions[i].of(f.schema.Classes[r.Class].Fields, r.Values)
		if v == nil || !f.o.Where[i].holds(v, t, &f.scratch) {
			return false
		}
	}
	return true
}

func (c *Condition) holds(v *trace.Value, t *trace.Type, scratch *[]byte) bool {
	if c.exact != nil {
		if n, ok := compare(v, c.exact); ok {
			switch c.Op {
			case "=":
				return n == 0
			case "!=":
				return n != 0
			case "<":
				return n < 0
			case "<=":
				return n <= 0
			case ">":
				return n > 0
			case ">=":
				return n >= 0
			}
		}
	}
	*scratch = v.Append((*scratch)[:0], t)
	switch c.Op {
	case "=":
		return bytes.Equal(*scratch, c.text)
	case "!=":
		return !bytes.Equal(*scratch, c.text)
	case "~":
		return c.match.Match(*scratch)
	case "!~":
		return !c.match.Match(*scratch)
	}
	return false // an order is only between numbers
}

// compare compares a number exactly; ok is false for what is none.
func compare(v *trace.Value, to *big.Rat) (n int, ok bool) {
	switch v.Kind {
	case trace.Bool, trace.Uint:
		if to.IsInt() && to.Num().IsUint64() {
			return cmp.Compare(v.Uint(), to.Num().Uint64()), true
		}
		return new(big.Rat).SetInt(new(big.Int).SetUint64(v.Uint())).Cmp(to), true
	case trace.Int:
		if to.IsInt() && to.Num().IsInt64() {
			return cmp.Compare(v.Int(), to.Num().Int64()), true
		}
		return new(big.Rat).SetInt64(v.Int()).Cmp(to), true
	case trace.Float:
		x := v.Float()
		switch {
		case math.IsNaN(x):
			return 0, false
		case math.IsInf(x, 0):
			return cmp.Compare(x, 0), true
		}
		return new(big.Rat).SetFloat64(x).Cmp(to), true
	}
	return 0, false
}
