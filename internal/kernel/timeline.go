package kernel

import (
	"meridian/clock"
	"meridian/trace"
)

// timeline is the output: rows, the slices open on them, and the events made of the current one, which wait in queue.
type timeline struct {
	classTable
	streams []trace.Stream
	open    [][]slice // of each stream, outermost first
	slices  uint64    // begun so far
	queue   []queuedEvent
	given   int            // events of queue that Next returned
	own     map[int]int    // rows of src's own streams
	devices map[string]int // rows of network interfaces
	lost    int64          // slices closed because the event that ends them is missing
}

// queuedEvent is an event for the timeline, and where its values come from.
type queuedEvent struct {
	trace.Event
	values valueSource
}

type valueSource uint8

const (
	noValues   valueSource = iota // the slice was closed without an event of its own
	ownValues                     // those of src's event
	withNumber                    // and the processor's number after them
)

// slice is one that began on a row and has not ended.
type slice struct {
	kind  int
	class int
	id    uint64
}

// maxOpen bounds the slices open on a row.
const maxOpen = 1024

// firstSlice separates the numbers of slices made here from those of src's events.
const firstSlice = 1 << 40

var noDevice = []byte("(no device)")

// emit puts an event of a row out at the time of src's event.
func (t *timeline) emit(row, class int, phase trace.Phase, id uint64, values valueSource) {
	if values == ownValues && t.meanings[t.event.Class].wide {
		values = withNumber
	}
	e := t.event
	e.Stream, e.Class, e.Phase, e.Slice = row, class, phase, id
	t.queue = append(t.queue, queuedEvent{e, values})
}

// instant puts src's event on a row as it is.
func (t *timeline) instant(row int, m *meaning) {
	t.emit(row, m.out, t.event.Phase, t.event.Slice, ownValues)
}

// begin opens a slice. If alone, its kind has one open slice on a row: one still open has lost its end.
func (t *timeline) begin(row, kind, class int, alone bool) {
	if alone {
		if at := t.find(row, kind); at >= 0 {
			t.cut(row, at)
		}
	}
	if len(t.open[row]) == maxOpen {
		t.cut(row, 0)
	}
	t.slices++
	id := firstSlice + t.slices
	t.open[row] = append(t.open[row], slice{kind, class, id})
	t.emit(row, class, trace.Begin, id, ownValues)
}

// find returns the index of the innermost open slice of a kind, or -1.
func (t *timeline) find(row, kind int) int {
	open := t.open[row]
	for i := len(open) - 1; i >= 0; i-- {
		if open[i].kind == kind {
			return i
		}
	}
	return none
}

// end closes the innermost slice of a kind, and reports whether there is one.
func (t *timeline) end(row int, m *meaning) bool {
	at := t.find(row, m.kind)
	if at < 0 {
		return false
	}
	s := t.drop(row, at)
	t.emit(row, t.named(m, t.classes[s.class].Name), trace.End, s.id, ownValues)
	return true
}

// drop takes an open slice off its row.
func (t *timeline) drop(row, at int) slice {
	open := t.open[row]
	s := open[at]
	t.open[row] = append(open[:at], open[at+1:]...)
	return s
}

// close ends a slice without an event of its own for the end.
func (t *timeline) close(row, at int) {
	s := t.drop(row, at)
	t.emit(row, s.class, trace.End, s.id, noValues)
}

// cut ends a slice whose end event is missing, and counts it.
func (t *timeline) cut(row, at int) {
	t.close(row, at)
	t.lost++
}

// closeAll ends the open slices at the end of the trace, innermost first.
func (t *timeline) closeAll(at clock.HostTime) {
	t.event = trace.Event{Time: at}
	for row := range t.open {
		for i := len(t.open[row]) - 1; i >= 0; i-- {
			s := t.open[row][i]
			t.emit(row, s.class, trace.End, s.id, noValues)
		}
		t.open[row] = nil
	}
}

// row adds a row.
func (t *timeline) row(s trace.Stream) int {
	if streams := t.src.Streams(); s.Host == "" && t.event.Stream >= 0 && t.event.Stream < len(streams) {
		s.Host = streams[t.event.Stream].Host
	}
	t.streams = append(t.streams, s)
	t.open = append(t.open, nil)
	return len(t.streams) - 1
}

// ownRow returns the row that is src's own.
func (t *timeline) ownRow(stream int) int {
	if row, ok := t.own[stream]; ok {
		return row
	}
	s := trace.Stream{Name: "?", Parent: none}
	if all := t.src.Streams(); stream >= 0 && stream < len(all) {
		s = all[stream]
		if s.Parent >= 0 && s.Parent < stream {
			s.Parent = t.ownRow(s.Parent)
		} else {
			s.Parent = none
		}
	}
	row := t.row(s)
	t.own[stream] = row
	return row
}

// device returns the row of a network interface.
func (t *timeline) device(name []byte) int {
	if len(name) == 0 {
		name = noDevice // a processor's queue of packets is polled as one that has no device
	}
	row, ok := t.devices[string(name)]
	if !ok {
		if len(t.devices) == maxNames {
			return t.ownRow(t.event.Stream)
		}
		row = t.row(trace.Stream{Name: string(name), Kind: trace.Device, Parent: none})
		t.devices[string(name)] = row
	}
	return row
}
