package order

import (
	"encoding/binary"

	"meridian/clock"
	"meridian/trace"
)

// eventStore holds copies of events in memory that is used again, without pointers that the garbage collector would have to
// follow. An event is a slot; its fields are bytes in a chain of cells:
//
//	slot: event, times, size --> cell: 60 bytes, next --> cell: 60 bytes, next
//
// The bytes of a value are a tag (its kind, and which of the parts it has), then as far as they are there: 8 bytes of Bits; a
// length of 4 bytes and Data; a count of 4 bytes and Items, each a value. All are little-endian.
//
// Slots and cells come in chunks, which are not given back: the memory is that of the most that was ever held, and at most half more.
type eventStore struct {
	slots                  []*[slotsPerChunk]heldEvent
	cells                  []*[cellsPerChunk]cell
	slotPlaces, cellPlaces chunks
	encoded                []byte        // fields of one event
	values, items          []trace.Value // of the event read last
}

const (
	none          = -1
	slotsPerChunk = 512
	cellsPerChunk = 1024
	cellSize      = 60
	slotBytes     = 128 // of a heldEvent
	cellBytes     = 64
)

// Tags of values: the kind, and what follows.
const (
	hasBits  = 0x80
	hasData  = 0x40
	hasItems = 0x20
)

type cell struct {
	data [cellSize]byte
	next int32
}

// heldEvent is an event in the store. Its record's Values are in cells.
type heldEvent struct {
	event           trace.Event
	time, low, high clock.TimelineTime
	key             clock.TimelineTime // its place in the order; at least time
	number          uint64             // counts events as they were pushed
	mapNumber       int
	host, row       int32 // row is an index into the sorter's rows
	next            int32 // the event behind it in its row
	nextWaiting     int32 // the next consequence that waits for the same reason
	firstCell, size int32 // of its fields
	values          int32 // how many
	state           eventState
	bounded         bool
}

func newEventStore() eventStore {
	return eventStore{slotPlaces: newChunks(slotsPerChunk), cellPlaces: newChunks(cellsPerChunk)}
}

// events returns how many there are.
func (s *eventStore) events() int { return s.slotPlaces.used }

func (s *eventStore) at(i int32) *heldEvent {
	return &s.slots[uint32(i)/slotsPerChunk][uint32(i)%slotsPerChunk]
}

func (s *eventStore) cell(i int32) *cell {
	return &s.cells[uint32(i)/cellsPerChunk][uint32(i)%cellsPerChunk]
}

// bytes is how much the events take.
func (s *eventStore) bytes() int { return s.slotPlaces.used*slotBytes + s.cellPlaces.used*cellBytes }

// encode makes the fields' bytes and returns what the event will take.
func (s *eventStore) encode(values []trace.Value) (bytes int) {
	s.encoded = s.encoded[:0]
	for i := range values {
		s.encoded = appendValue(s.encoded, &values[i])
	}
	return slotBytes + (len(s.encoded)+cellSize-1)/cellSize*cellBytes
}

// add copies an event whose fields were encoded last.
func (s *eventStore) add(r *trace.TimelineEvent) (int32, *heldEvent) {
	i, grown := s.slotPlaces.take()
	if grown {
		s.slots = append(s.slots, new([slotsPerChunk]heldEvent))
	}
	h := s.at(i)
	*h = heldEvent{
		event: r.Event, time: r.Time, low: r.Low, high: r.High, key: r.Time, bounded: r.Bounded, mapNumber: r.Map, host: int32(r.Host),
		next: none, nextWaiting: none, firstCell: none, size: int32(len(s.encoded)), values: int32(len(r.Values)),
	}
	rest := s.encoded
	for link := &h.firstCell; len(rest) > 0; {
		j, grown := s.cellPlaces.take()
		if grown {
			s.cells = append(s.cells, new([cellsPerChunk]cell))
		}
		c := s.cell(j)
		rest = rest[copy(c.data[:], rest):]
		c.next = none
		*link, link = j, &c.next
	}
	return i, h
}

// read fills r with an event. What r refers to is void after the next read.
func (s *eventStore) read(h *heldEvent, r *trace.TimelineEvent) {
	*r = trace.TimelineEvent{Event: h.event, Time: h.shown(), Host: int(h.host), Map: h.mapNumber, Low: h.low, High: h.high, Bounded: h.bounded}
	data := s.encoded[:0]
	for j, left := h.firstCell, int(h.size); left > 0; left -= cellSize {
		c := s.cell(j)
		data = append(data, c.data[:min(left, cellSize)]...)
		j = c.next
	}
	s.encoded = data
	s.values, s.items = s.values[:0], s.items[:0]
	for range h.values {
		s.values = append(s.values, trace.Value{})
		data = s.decode(data, &s.values[len(s.values)-1])
	}
	r.Values = s.values
}

// free gives an event's memory back.
func (s *eventStore) free(i int32) {
	h := s.at(i)
	for j := h.firstCell; j != none; {
		next := s.cell(j).next
		s.cellPlaces.free(j)
		j = next
	}
	h.number = 0
	s.slotPlaces.free(i)
}

func appendValue(b []byte, v *trace.Value) []byte {
	tag := len(b)
	b = append(b, byte(v.Kind))
	if v.Bits != 0 {
		b[tag] |= hasBits
		b = binary.LittleEndian.AppendUint64(b, v.Bits)
	}
	if len(v.Data) > 0 {
		b[tag] |= hasData
		b = binary.LittleEndian.AppendUint32(b, uint32(len(v.Data)))
		b = append(b, v.Data...)
	}
	if len(v.Items) > 0 {
		b[tag] |= hasItems
		b = binary.LittleEndian.AppendUint32(b, uint32(len(v.Items)))
		for i := range v.Items {
			b = appendValue(b, &v.Items[i])
		}
	}
	return b
}

// decode reads a value from the start of b and returns the rest. The value's Data are in b.
func (s *eventStore) decode(b []byte, v *trace.Value) []byte {
	tag := b[0]
	v.Kind = trace.ValueKind(tag &^ (hasBits | hasData | hasItems))
	b = b[1:]
	if tag&hasBits != 0 {
		v.Bits, b = binary.LittleEndian.Uint64(b), b[8:]
	}
	if tag&hasData != 0 {
		n := binary.LittleEndian.Uint32(b)
		v.Data, b = b[4:4+n:4+n], b[4+n:]
	}
	if tag&hasItems != 0 {
		n, m := len(s.items), len(s.items)+int(binary.LittleEndian.Uint32(b))
		b = b[4:]
		for len(s.items) < m {
			s.items = append(s.items, trace.Value{})
		}
		// Items that grow move, but those of earlier values stay where they are.
		items := s.items[n:m:m]
		for i := range items {
			b = s.decode(b, &items[i])
		}
		v.Items = items
	}
	return b
}
