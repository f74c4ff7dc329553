package timeline

import (
	"cmp"
	"slices"

	"meridian/trace"
)

// OpenSlice is a numbered slice that has begun and not ended. Number counts the begins, from 1; it is unique in the file,
// unlike the number that its stream gave it.
type OpenSlice[T any] struct {
	Stream int
	Number uint64
	Value  T // what the writer has to remember of the begin
}

// OpenSlices holds the numbered slices that have begun and not ended. The zero value is ready.
type OpenSlices[T any] struct {
	open  map[sliceKey]OpenSlice[T]
	begun uint64
}

type sliceKey struct {
	stream int
	id     uint64
}

// Begin opens the slice that e begins. One of the same stream and number must have been ended before.
func (o *OpenSlices[T]) Begin(e *trace.TimelineEvent, v T) OpenSlice[T] {
	if o.open == nil {
		o.open = make(map[sliceKey]OpenSlice[T])
	}
	o.begun++
	s := OpenSlice[T]{Stream: e.Stream, Number: o.begun, Value: v}
	o.open[sliceKey{e.Stream, e.Slice}] = s
	return s
}

// End removes the open slice of the stream and number of e and returns it; ok is false if there is none.
func (o *OpenSlices[T]) End(e *trace.TimelineEvent) (s OpenSlice[T], ok bool) {
	key := sliceKey{e.Stream, e.Slice}
	if s, ok = o.open[key]; ok {
		delete(o.open, key)
	}
	return s, ok
}

// EndAll removes all open slices and returns them, the last begun first.
func (o *OpenSlices[T]) EndAll() []OpenSlice[T] {
	all := make([]OpenSlice[T], 0, len(o.open))
	for _, s := range o.open {
		all = append(all, s)
	}
	clear(o.open)
	slices.SortFunc(all, func(a, b OpenSlice[T]) int { return cmp.Compare(b.Number, a.Number) })
	return all
}
