// Package ranks says how the rows of a timeline are called and ordered where a format shows them: it goes from a
// [trace.Stream] to a name and a place among its siblings.
//
//	bounds, messages, processors, interrupts, devices, processes, threads, others
//
// Within a kind processors and interrupts follow their numbers, all else comes as it came.
package ranks

import (
	"fmt"

	"meridian/trace"
)

// PerKind is how many places each kind has.
const PerKind = 1 << 23

// order is how kinds of rows follow each other.
var order = [trace.StreamKinds]int64{
	trace.Bounds: 0, trace.Messages: 1, trace.CPU: 2, trace.Interrupt: 3, trace.Device: 4,
	trace.Process: 5, trace.Thread: 6, trace.OtherStream: 7,
}

// Name returns what a row is called; a stream without a name is called after its kind and number.
func Name(s *trace.Stream) string {
	if s.Name == "" {
		return fmt.Sprintf("%s %d", s.Kind, s.ID)
	}
	return s.Name
}

// Place returns the place of a stream, the one at the given index of its legend, among all: below 8*PerKind.
func Place(s *trace.Stream, index int) int64 {
	place := int64(index)
	if (s.Kind == trace.CPU || s.Kind == trace.Interrupt) && s.ID >= 0 {
		place = s.ID
	}
	kind := order[trace.OtherStream]
	if s.Kind < trace.StreamKinds {
		kind = order[s.Kind]
	}
	return kind*PerKind + min(place, PerKind-1)
}
