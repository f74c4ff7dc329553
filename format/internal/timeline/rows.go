package timeline

import (
	"fmt"

	"meridian/trace"
)

// RanksPerKind is how many ranks each kind of row has.
const RanksPerKind = 1 << 23

// kindOrder is how kinds of rows follow each other.
var kindOrder = [trace.StreamKinds]int64{
	trace.Bounds: 0, trace.Messages: 1, trace.CPU: 2, trace.Interrupt: 3, trace.Device: 4,
	trace.Process: 5, trace.Thread: 6, trace.OtherStream: 7,
}

// RowName returns the name of a stream's row; a stream without a name is named after its kind and number.
func RowName(s *trace.Stream) string {
	if s.Name == "" {
		return fmt.Sprintf("%s %d", s.Kind, s.ID)
	}
	return s.Name
}

// RowRank returns the rank of a stream's row among all rows, below 8*RanksPerKind; index is the stream's in its schema.
// Rows are ordered by kind (bounds, messages, processors, interrupts, devices, processes, threads, others), processors and
// interrupts then by their numbers, all else by index.
func RowRank(s *trace.Stream, index int) int64 {
	rank := int64(index)
	if (s.Kind == trace.CPU || s.Kind == trace.Interrupt) && s.ID >= 0 {
		rank = s.ID
	}
	kind := kindOrder[trace.OtherStream]
	if s.Kind < trace.StreamKinds {
		kind = kindOrder[s.Kind]
	}
	return kind*RanksPerKind + min(rank, RanksPerKind-1)
}

// Hosts knows which hosts of a schema were described. The zero value is ready.
type Hosts struct {
	described []bool
	named     map[string]int
}

// Describe returns the name under which a host is to be described; first is false if that was done before.
func (h *Hosts) Describe(s *trace.Schema, host int) (name string, first bool) {
	for len(h.described) <= host {
		h.described = append(h.described, false)
	}
	if h.described[host] {
		return "", false
	}
	if h.named == nil {
		h.named = make(map[string]int)
	}
	h.described[host] = true
	name = s.Hosts[host]
	h.named[name] = host
	if name == "" {
		name = fmt.Sprintf("host %d", host+1)
	}
	return name, true
}

// Of returns the described host that a stream names, or else the host of its event.
func (h *Hosts) Of(s *trace.Stream, event int) int {
	if host, ok := h.named[s.Host]; ok {
		return host
	}
	return event
}
