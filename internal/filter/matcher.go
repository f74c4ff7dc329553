package filter

import "meridian/trace"

// Matcher evaluates conditions on the events of one class, without a timeline. It is for one goroutine.
type Matcher struct {
	where   []Condition
	fields  []trace.Field
	paths   []fieldPath
	scratch []byte
}

// NewMatcher returns the matcher of conditions for events with these fields; nil if they lack one of the conditions' fields, so
// that no event can fulfil all.
func NewMatcher(where []Condition, fields []trace.Field) *Matcher {
	m := &Matcher{where: where, fields: fields}
	for i := range where {
		path := find(fields, where[i].Field)
		if path == nil {
			return nil
		}
		m.paths = append(m.paths, path)
	}
	return m
}

// Holds reports whether an event with these values fulfils all conditions.
func (m *Matcher) Holds(values []trace.Value) bool {
	for i := range m.where {
		v, t := m.paths[i].of(m.fields, values)
		if v == nil || !m.where[i].holds(v, t, &m.scratch) {
			return false
		}
	}
	return true
}
