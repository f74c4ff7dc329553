package timeline

import "meridian/trace"

// ClassName holds the names of a class as a format encodes them.
type ClassName[T any] struct {
	Name, Category T
	Fields         []FieldName[T]

	known bool
}

// FieldName holds the name of a field and those of the fields within it.
type FieldName[T any] struct {
	Name   T
	Fields []FieldName[T]
	Elem   *FieldName[T]
}

// ClassNames holds the encoded names of a schema's classes. The zero value is ready.
type ClassNames[T any] struct{ classes []ClassName[T] }

// Class returns the names of class i, which is in the schema. Name and Category are encoded by describe, the names of
// fields by field; both are called again only when the class has got more fields. The result is valid until the next call.
func (n *ClassNames[T]) Class(s *trace.Schema, i int, describe func(*ClassName[T], *trace.Class), field func(string) T) *ClassName[T] {
	if i >= len(n.classes) {
		n.classes = append(n.classes, make([]ClassName[T], len(s.Classes)-len(n.classes))...)
	}
	c, class := &n.classes[i], &s.Classes[i]
	if !c.known || len(c.Fields) != len(class.Fields) {
		c.known = true
		describe(c, class)
		c.Fields = fieldNames(class.Fields, field)
	}
	return c
}

// NameOf returns the name of a class; viewers show nothing for an event without one.
func NameOf(c *trace.Class) string {
	if c.Name == "" {
		return "event"
	}
	return c.Name
}

func fieldNames[T any](fields []trace.Field, encode func(string) T) []FieldName[T] {
	out := make([]FieldName[T], len(fields))
	for i := range fields {
		out[i] = typeNames(&fields[i].Type, encode)
		out[i].Name = encode(fields[i].Name)
	}
	return out
}

func typeNames[T any](t *trace.Type, encode func(string) T) (f FieldName[T]) {
	if len(t.Fields) > 0 {
		f.Fields = fieldNames(t.Fields, encode)
	}
	if t.Elem != nil {
		e := typeNames(t.Elem, encode)
		f.Elem = &e
	}
	return f
}
