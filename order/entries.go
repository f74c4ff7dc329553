package order

import (
	"fmt"
	"reflect"
	"slices"

	"meridian/trace"
)

// Entries enters what the events of several sources refer to, their streams, classes and maps, into one schema. Classes that sources have in
// common are entered once.
type Entries struct {
	schema *trace.Schema
	named  map[string][]int
}

// NewEntries returns the entries of a schema, with the classes that it has.
func NewEntries(schema *trace.Schema) *Entries {
	e := &Entries{schema: schema, named: make(map[string][]int)}
	for i := range schema.Classes {
		name := schema.Classes[i].Name
		e.named[name] = append(e.named[name], i)
	}
	return e
}

// Of returns the entries of one source, whose events are of a host of the schema.
func (e *Entries) Of(source trace.Source, host int) *SourceEntries {
	return &SourceEntries{shared: e, source: source, host: host, unknown: -1}
}

// SourceEntries numbers the streams and classes of one source as the schema does. What the source does not know yet is entered
// when its first event comes: a kernel's trace declares hundreds of classes of which it has no event.
type SourceEntries struct {
	shared    *Entries
	source    trace.Source
	host      int
	streams   []int // of the source's streams, the schema's number
	unknown   int   // the schema's number of the row for events of streams that the source does not have; -1 before the first
	refreshed int   // how many streams there were when names were last taken over
	classes   []int
	earlier   []int // streams that were entered for the source by entries before these
}

// Numbers returns the schema's numbers of the streams entered so far, in the order of the source.
func (l *SourceEntries) Numbers() []int { return slices.Clone(l.streams) }

// Resume says which of the schema's streams are the source's own already: those that entries of an earlier reading of the same
// source returned as Numbers. A stream of the same kind and number is not entered again.
func (l *SourceEntries) Resume(numbers []int) { l.earlier = slices.Clone(numbers) }

// enter returns the schema's number of stream i of the source.
func (l *SourceEntries) enter(i int, s *trace.Stream) int {
	host := l.shared.schema.Hosts[l.host]
	same := func(k int) bool {
		if k < 0 || k >= len(l.shared.schema.Streams) {
			return false
		}
		x := &l.shared.schema.Streams[k]
		return x.Host == host && x.Kind == s.Kind && x.ID == s.ID
	}
	k := -1
	if i < len(l.earlier) && same(l.earlier[i]) {
		k = i
	} else {
		k = slices.IndexFunc(l.earlier, func(n int) bool { return same(n) && l.shared.schema.Streams[n].Name == s.Name })
	}
	if k < 0 {
		return l.shared.stream(s, l.host)
	}
	n := l.earlier[k]
	l.earlier[k] = -1
	return n
}

// Stream returns the schema's number of a stream of the source; of one that the source does not have, that of a row named "?".
func (l *SourceEntries) Stream(i int) int {
	if i >= len(l.streams) {
		l.extend()
	}
	if i < 0 || i >= len(l.streams) {
		// A source that brings an event before its stream is at fault; the event is worth more than the row.
		if l.unknown < 0 {
			l.unknown = l.shared.stream(&trace.Stream{Name: "?", Parent: -1}, l.host)
		}
		return l.unknown
	}
	return l.streams[i]
}

// extend enters new streams into the schema. Names that were completed since are taken over whenever there are twice as
// many streams, so that the whole costs no more than each stream twice.
func (l *SourceEntries) extend() {
	streams := l.source.Streams()
	if len(streams) >= 2*l.refreshed {
		l.Refresh()
	}
	for i := len(l.streams); i < len(streams); i++ {
		s := streams[i]
		if s.Parent >= 0 && s.Parent < i {
			s.Parent = l.streams[s.Parent]
		} else {
			s.Parent = -1
		}
		l.streams = append(l.streams, l.enter(i, &s))
	}
}

// Refresh takes over what was completed of the streams entered. A list of the schema's streams that was taken before keeps the names
// that it had: what changes is a copy.
func (l *SourceEntries) Refresh() {
	schema, streams := l.shared.schema, l.source.Streams()
	l.refreshed = len(streams)
	own := false
	for i := range min(len(l.streams), len(streams)) {
		s, k := &streams[i], l.streams[i]
		name, parent := s.Name, schema.Streams[k].Parent
		if s.Parent >= 0 && s.Parent < len(l.streams) {
			parent = l.streams[s.Parent]
		}
		if of := &schema.Streams[k]; of.Name == name && of.Parent == parent {
			continue
		}
		if !own {
			schema.Streams, own = slices.Clone(schema.Streams), true
		}
		schema.Streams[k].Name, schema.Streams[k].Parent = name, parent
	}
}

// Class returns the schema's number of a class of the source. It is an error if the source has no such class.
func (l *SourceEntries) Class(i int) (int, error) {
	if i >= 0 && i < len(l.classes) && l.classes[i] >= 0 {
		return l.classes[i], nil
	}
	classes := l.source.Classes()
	if i < 0 || i >= len(classes) {
		return 0, fmt.Errorf("an event of class %d; the source has %d classes", i, len(classes))
	}
	for i >= len(l.classes) {
		l.classes = append(l.classes, -1)
	}
	l.classes[i] = l.shared.class(&classes[i])
	return l.classes[i], nil
}

func (e *Entries) stream(s *trace.Stream, host int) int {
	entry := *s
	entry.Host = e.schema.Hosts[host]
	e.schema.Streams = append(e.schema.Streams, entry)
	return len(e.schema.Streams) - 1
}

// mapOf returns the schema's number of a source's map, which sources may have in common; -1 for none.
func (e *Entries) mapOf(s *EventSource) int {
	if s.Map == nil {
		return -1
	}
	m := trace.HostMap{Host: s.Host, Component: s.Component, Map: s.Map}
	if i := slices.Index(e.schema.Maps, m); i >= 0 {
		return i
	}
	e.schema.Maps = append(e.schema.Maps, m)
	return len(e.schema.Maps) - 1
}

func (e *Entries) class(c *trace.Class) int {
	for _, i := range e.named[c.Name] {
		if reflect.DeepEqual(&e.schema.Classes[i], c) {
			return i
		}
	}
	e.schema.Classes = append(e.schema.Classes, *c)
	i := len(e.schema.Classes) - 1
	e.named[c.Name] = append(e.named[c.Name], i)
	return i
}
