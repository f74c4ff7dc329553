// Package eventbuffer keeps the events of a file whose order is not that of time, or whose classes are known only at its end, and
// brings them as a [trace.Source].
//
//	reader --> Builder: Stream, Class, fields, Add --> Done --> Trace --> Events: slices cut into Begin and End, by time
//
//	    in the file            A |-----------|            as events   A( B( )B C( )C )A
//	(slices, any order)          B |--| C |--|                        t ------------->
//
// A slice is one [Item] of 64 bytes with its fields encoded behind it; only while events are brought does it become two.
// Slices of one row that nest are brought without a Slice number, outer ones beginning first and ending last; one that
// overlaps another without nesting gets a number of its own. Begun slices whose end is unknown stay begun.
//
// The fields of a class are all that its items ever had, of the type that holds all their values.
//
// The cost is O(n log n) for n items out of order, O(n) in order.
package eventbuffer

import (
	"cmp"
	"encoding/binary"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// Kind is what an item is.
type Kind uint8

const (
	Instant Kind = iota
	Slice        // from Time to End
	Open         // a slice that began at Time and of which the end is unknown
	Counter
)

// Item is one thing in the file.
type Item struct {
	Time          clock.HostTime
	End           clock.HostTime // of an instant, the beginning of the slice within which it happened, 0 for none
	Slice         uint64         // not 0: a slice that need not nest with others of its row
	Flow, EndFlow uint64         // see [trace.Event]; of a slice's begin and of its end
	fields        int            // where its fields begin in the trace's bytes, plus 1; 0 for none
	Stream, Class int32
	Kind          Kind
	Role, EndRole trace.Role
	step, endStep uint8 // of Time and End: places in the trace's steps
}

// maxFields is how many fields a class may have; more are left out and counted.
const maxFields = 256

// Flow returns the number by which events tell of which message they are an end, for a message with a key.
func Flow(k trace.Key) uint64 { return max(1, binary.LittleEndian.Uint64(k[:8])) }

// Builder takes what a file holds.
type Builder struct {
	// Dropped counts the fields that were left out since their class had too many.
	Dropped int64

	t       *Trace
	classes map[string]int
	fields  []map[string]int // by class
	pending []pending
	name    []byte
}

type pending struct {
	name  []byte
	value trace.Value
}

// New returns a builder of an empty trace.
func New() *Builder { return &Builder{t: &Trace{}, classes: make(map[string]int)} }

// Stream adds a row.
func (b *Builder) Stream(s trace.Stream) int {
	b.t.streams = append(b.t.streams, s)
	return len(b.t.streams) - 1
}

// Streams returns the rows so far, to be changed in place.
func (b *Builder) Streams() []trace.Stream { return b.t.streams }

// Class returns the class of a name and a category.
func (b *Builder) Class(name, category []byte) int32 {
	b.name = append(append(append(b.name[:0], category...), 0), name...)
	c, known := b.classes[string(b.name)]
	if !known {
		c = len(b.t.classes)
		b.classes[string(b.name)] = c
		b.t.classes = append(b.t.classes, trace.Class{Name: string(name), Category: string(category)})
		b.fields = append(b.fields, nil)
	}
	return int32(c)
}

// Field gives the next item that is added a field; name and value last until then. A field given twice has its last value.
func (b *Builder) Field(name []byte, v trace.Value) {
	b.pending = append(b.pending, pending{name, v})
}

// Drop forgets the fields of an item that is not added after all.
func (b *Builder) Drop() { b.pending = b.pending[:0] }

// Add adds an item and returns its number.
func (b *Builder) Add(it Item) int {
	it.fields = b.encode(int(it.Class), 0)
	b.t.items = append(b.t.items, it)
	return len(b.t.items) - 1
}

// Item returns an item to be changed in place; it lasts until the next Add.
func (b *Builder) Item(n int) *Item { return &b.t.items[n] }

// Len returns how many items there are.
func (b *Builder) Len() int { return len(b.t.items) }

// Close ends an open slice, and gives it the fields that are pending in addition to its own.
func (b *Builder) Close(n int, end clock.HostTime) {
	it := &b.t.items[n]
	it.Kind, it.End = Slice, end
	if len(b.pending) > 0 {
		it.fields = b.encode(int(it.Class), it.fields)
	}
}

// Shift moves all instants; what would leave the range of a clock stays at its end.
func (b *Builder) Shift(ns int64) {
	for i := range b.t.items {
		it := &b.t.items[i]
		it.Time, it.End = Add(it.Time, ns), Add(it.End, ns)
	}
}

// Done ends the building.
func (b *Builder) Done() *Trace {
	t := b.t
	t.sort()
	t.number()
	*b = Builder{Dropped: b.Dropped}
	return t
}

// Trace holds the events of a file.
type Trace struct {
	streams []trace.Stream
	classes []trace.Class
	items   []Item
	bytes   []byte   // fields of items
	steps   []uint32 // of timestamps, ns; those of items are places here, and the first is that of items of which nothing is known
}

// Len returns how many items there are.
func (t *Trace) Len() int { return len(t.items) }

// sort brings the items into the order of their beginnings, outer slices before inner ones; among equals that of the file.
func (t *Trace) sort() {
	order := func(a, b *Item) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(b.last(), a.last()))
	}
	for i := 1; i < len(t.items); i++ {
		if order(&t.items[i-1], &t.items[i]) > 0 {
			slices.SortStableFunc(t.items, func(a, b Item) int { return order(&a, &b) })
			return
		}
	}
}

func (it *Item) last() clock.HostTime {
	switch it.Kind {
	case Slice:
		return it.End
	case Open:
		return 1<<63 - 1
	}
	return it.Time
}

// number gives slices a number that overlap another of their row without nesting. The invariant: the ends on a row's stack
// only become earlier towards its top.
func (t *Trace) number() {
	next := uint64(1)
	for i := range t.items {
		next = max(next, t.items[i].Slice+1)
	}
	ends := make([][]clock.HostTime, len(t.streams))
	for i := range t.items {
		it := &t.items[i]
		if it.Kind != Slice && it.Kind != Open || it.Slice != 0 {
			continue
		}
		stack := ends[it.Stream]
		for len(stack) > 0 && stack[len(stack)-1] <= it.Time {
			stack = stack[:len(stack)-1]
		}
		if n := len(stack); n > 0 && it.last() > stack[n-1] {
			it.Slice = next
			next++
		} else {
			stack = append(stack, it.last())
		}
		ends[it.Stream] = stack
	}
}

// Add adds to an instant; what would leave the range of a clock stays at its end.
func Add(t clock.HostTime, ns int64) clock.HostTime {
	const limit = clock.Limit - 1
	return min(max(min(max(t, -limit), limit)+clock.HostTime(min(max(ns, -limit), limit)), -limit), limit)
}
