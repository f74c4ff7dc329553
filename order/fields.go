package order

import "meridian/trace"

// fields is the values of events in memory of their own, which is used again after a reset.
type fields struct {
	values []trace.Value
	items  []trace.Value
	data   []byte
}

func (f *fields) reset() { f.values, f.items, f.data = f.values[:0], f.items[:0], f.data[:0] }

// add appends the values of an event to values.
func (f *fields) add(values []trace.Value) {
	n := len(f.values)
	f.values = append(f.values, values...)
	for i := range f.values[n:] {
		f.own(&f.values[n+i])
	}
}

// own copies what a value refers to. Memory that grows moves, but what was copied before stays where it was, and is not
// changed.
func (f *fields) own(v *trace.Value) {
	if len(v.Data) > 0 {
		n := len(f.data)
		f.data = append(f.data, v.Data...)
		v.Data = f.data[n:len(f.data):len(f.data)]
	}
	if len(v.Items) > 0 {
		n, m := len(f.items), len(f.items)+len(v.Items)
		f.items = append(f.items, v.Items...)
		items := f.items[n:m:m]
		for i := range items {
			f.own(&items[i])
		}
		v.Items = items
	}
}
