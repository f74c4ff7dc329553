// Package source makes events of what is known of clocks beside the events that were recorded: the packets of captures,
// the endpoints of messages, operations such as collectives, and the bounds of the clocks.
//
// Each is a [trace.Source] of one stream whose stamps are host time of one clock, in order but for [Packets], which come
// as they were captured. A source is read once and by one goroutine.
package source

import "meridian/trace"

// row is the parts of a source that has one stream, and classes that are known beforehand.
type row struct {
	stream  [1]trace.Stream
	classes []trace.Class
}

func newRow(name string, kind trace.StreamKind, classes []trace.Class) row {
	return row{stream: [1]trace.Stream{{Name: name, Kind: kind, Parent: -1}}, classes: classes}
}

func (r *row) Streams() []trace.Stream { return r.stream[:] }
func (r *row) Classes() []trace.Class  { return r.classes }
func (r *row) Close() error            { return nil }
